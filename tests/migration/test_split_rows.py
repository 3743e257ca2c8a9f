"""What else of an example follows: steps, other right SQL, facts, evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from migration.shop import ASKED, make_shop, rows

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.migration.evidence import of_database, of_profile
from agro_data.migration.migrate import Certification, ExampleFate, Migration
from agro_data.profiling.profiler import profile_database

RENAMES = ("ALTER TABLE customer RENAME TO client", "ALTER TABLE client RENAME COLUMN birth_year TO born")


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1) as opened:
        yield opened


def followed(folder: Path, sandbox: Sandbox, changes: tuple[str, ...], **other: Any) -> ExampleFate:
    """The example `aliased`, with other columns as given, on a shop that has changed."""
    before = make_shop(folder / "before", "sqlite")
    database = make_shop(folder / "now", "sqlite", changes)
    row = rows(before, sandbox, {"aliased": ASKED["aliased"]})["aliased"] | other
    after = of_database(database, profile_database(database))
    side = of_profile(profile_database(before))
    return Migration(side, after, database, sandbox, None, Certification(sandbox, None)).run([row]).fates[0]


def step(name: str, sql: str, inputs: list[str]) -> dict[str, Any]:
    columns = ["customer.birth_year", "customer.full_name"]
    return {"name": name, "intent": f"The {name}.", "sql": sql, "inputs": inputs, "columns": columns}


OLD = "SELECT full_name FROM customer WHERE birth_year < 1970"
INNER = step("old_ones", "SELECT customer_id FROM customer WHERE birth_year < 1970", [])
LAST = step("answer", ASKED["aliased"][1], ["old_ones"])


def test_steps_facts_and_other_sql_follow(tmp_path: Path, sandbox: Sandbox) -> None:
    fate = followed(tmp_path, sandbox, RENAMES, steps=[INNER, LAST], alternatives=[OLD, "SELECT nothing FROM customer"])
    new = fate.new
    assert new is not None
    assert [one["sql"] for one in new["steps"]] == ["SELECT customer_id FROM client WHERE born < 1970", new["sql"]]
    assert new["steps"][1]["inputs"] == ["old_ones"]
    assert new["steps"][0]["columns"] == ["client.born", "client.full_name"]
    assert new["alternatives"] == ["SELECT full_name FROM client WHERE born < 1970"]
    assert (new["tables"], new["columns"]) == (["client"], ["client.born", "client.full_name"])
    assert "client" in new["skeleton"]


def test_of_steps_that_cannot_follow_the_last_is_left(tmp_path: Path, sandbox: Sandbox) -> None:
    lost = step("cities", "SELECT city FROM customer", [])
    fate = followed(tmp_path, sandbox, (*RENAMES, "ALTER TABLE client DROP COLUMN city"), steps=[lost, INNER, LAST])
    assert fate.new is not None
    [left] = fate.new["steps"]
    assert (left["name"], left["inputs"]) == ("answer", [])
    assert left["intent"] == "The cities. The old_ones. The answer."  # what the others would have done, too


def test_evidence_follows_and_reworded_examples_are_nobodys_verified_ones(tmp_path: Path, sandbox: Sandbox) -> None:
    fate = followed(tmp_path, sandbox, RENAMES, evidence="birth_year is a year", alignment_method="verified")
    assert fate.new is not None
    assert fate.new["evidence"] == "born is a year"
    assert "question: 'birth_year' is 'born' now" in fate.says
    assert fate.new["alignment_method"] == "verified"  # the question stands as it was read
    told = followed(
        tmp_path / "more", sandbox, RENAMES, question="Whose birth_year is low?", alignment_method="verified"
    )
    assert told.new is not None
    assert (told.new["question"], told.new["alignment_method"]) == ("Whose born is low?", "construction")


def test_several_readings_are_built_again(tmp_path: Path, sandbox: Sandbox) -> None:
    reading = {"reading_id": "0" * 16, "sql": OLD, "says": "", "result_digest": "", "instances": []}
    assert followed(tmp_path, sandbox, RENAMES, readings=[reading]).reason == "several_readings"


def test_what_is_hidden_follows(tmp_path: Path, sandbox: Sandbox) -> None:
    hidden = [{"table": "customer", "column": "birth_year", "value": None}]
    says = "Nothing in this database says the birth year of customers."
    fate = followed(tmp_path, sandbox, RENAMES, answerable=False, hidden=hidden, clarification=says)
    assert fate.new is not None
    assert fate.new["clarification"] == "Nothing in this database says the year born of clients."
    assert fate.new["hidden"] == [{"table": "client", "column": "born", "value": None}]
    gone = [{"table": "customer", "column": "city", "value": None}]
    lost = followed(
        *(tmp_path / "more", sandbox, ("ALTER TABLE customer DROP COLUMN city",)),
        answerable=False,
        hidden=gone,
        clarification=says,
    )
    assert lost.reason == "column_gone"
