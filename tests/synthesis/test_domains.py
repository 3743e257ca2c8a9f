"""New databases from a model's proposal: filled with keys that hold, or refused with the reason."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import Scripted

from agro_data.cli import data
from agro_data.databases.discovery.catalog import find_databases
from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed
from agro_data.populate.samples import build_domain
from agro_data.prompts.propose_database import ProposedDatabase, parse_database
from agro_data.synthesis.domains import invent
from bench.parts.scripted_server import ScriptedServer


def column(name: str, kind: str = "TEXT", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "references": None, "nullable": False, "unique": False, "values": None} | more


FERRY = {
    "name": "ferry_company",
    "tables": [
        {"name": "port", "description": "Where ships land.", "rows": 12, "columns": [
            column("port_id", "INTEGER"), column("port_name", unique=True, values={"words": "city"}),
            column("country", values={"choice": {"Norway": 3, "Denmark": 2}})]},
        {"name": "crossing", "rows": 90, "columns": [
            column("crossing_id", "INTEGER"), column("from_port", "INTEGER", references="port"),
            column("day", "DATE", values={"dates": ["2021-01-01", "2023-12-31"]}),
            column("fare", "REAL", values={"money": [20, 300]}), column("late", "BOOLEAN", values={"boolean": 0.2}),
            column("ticket", values={"code": "{0.__class__}"}), column("mood", values={"feeling": 3})]},
        {"name": "sighting", "rows": 4, "columns": [
            column("sighting_id", "INTEGER"), column("crossing_id", "INTEGER", references="crossing.crossing_id"),
            column("animal", nullable=True, description="What was seen."),
            column("size", "INTEGER", values={"integer": [1, 9]})]},
    ],
}  # fmt: skip


def told(reply: object) -> Client:
    return Client(Scripted(lambda request: reply if isinstance(reply, str) else json.dumps(reply)))


def made(reply: object, folder: Path) -> Any:
    return invent(told(reply), ["a ferry company"], folder, tables=3, rows=90, seed=3)[0]


def test_a_proposal_becomes_a_database_whose_keys_hold(tmp_path: Path) -> None:
    found = made(FERRY, tmp_path / "definitions")
    assert found.domain is not None, found.detail
    assert len(found.notes) == 2, "a format that reaches for more than a number, and a hint that nobody knows"
    path, _ = build_domain(found.domain, tmp_path, seed=3)
    first = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        counts = [
            connection.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0] for t in ("port", "crossing", "sighting")
        ]
        assert counts == [12, 90, 8], "a table has rows enough to ask about"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        days = connection.execute("SELECT MIN(day), MAX(day), AVG(late) FROM crossing").fetchone()
        assert "2021-01-01" <= days[0] < days[1] <= "2023-12-31"
        assert 0.05 < days[2] < 0.4
        children = connection.execute("SELECT COUNT(*) FROM crossing GROUP BY from_port").fetchall()
        assert len(set(children)) > 2, "some ports have many crossings, some few"
    assert "Where ships land." in (tmp_path / "ferry_company.semantics.yml").read_text()
    assert [database.db_id for database in find_databases(tmp_path).databases] == ["ferry_company"]
    path.unlink()
    assert build_domain(found.domain, tmp_path, seed=3)[0].read_bytes() == first


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"tables": []}, "too_large"),
        ({"tables": "many"}, "not_schema"),
        ({"name": "Robert'); DROP TABLE x"}, "bad_name"),
        ({"tables": [{"name": "a", "rows": 9, "columns": [column("x", "INTEGER"), column("x")]}]}, "not_filled"),
        ({"tables": [{"name": "a", "rows": 9, "columns": [column("x", "BLOB")]}]}, "not_schema"),
    ],
)
def test_what_does_not_hold_together_is_refused(change: dict[str, Any], kind: str, tmp_path: Path) -> None:
    found = made(FERRY | change, tmp_path)
    assert (found.domain, found.kind) == (None, kind)
    assert found.detail
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "hint",
    [
        {"real": [float("nan"), 1]},
        {"money": [1, float("inf")]},
        {"real": [-1e308, 1e308]},
        {"integer": [0, 10**30]},
        {"integer": [9, 1]},
        {"integer": ["1", "5"]},
        {"choice": []},
        {"choice": {}},
        {"choice": {"a": 0}},
        {"choice": {"a": 5, "b": -1}},
        {"choice": "gold"},
        {"dates": ["2020-01-01"]},
        {"dates": "2020"},
        {"words": "feelings"},
        {"words": ["city"]},
        {"boolean": float("nan")},
    ],
    ids=str,
)
def test_a_hint_that_cannot_be_drawn_is_left_out_and_the_rest_is_filled(hint: dict[str, Any], tmp_path: Path) -> None:
    port = FERRY["tables"][0] | {"columns": [*FERRY["tables"][0]["columns"], column("x", values=hint)]}
    found = made(FERRY | {"tables": [port, *FERRY["tables"][1:]]}, tmp_path)
    assert found.domain is not None, found.detail
    assert [note.partition(":")[0] for note in found.notes] == ["port.x", "crossing.ticket", "crossing.mood"]
    build_domain(found.domain, tmp_path, seed=3)


def test_half_a_character_in_a_proposal_is_a_class_of_its_own(tmp_path: Path) -> None:
    assert made(FERRY | {"name": "ferry\ud83d"}, tmp_path).kind == "unwritable"


def test_a_definition_that_somebody_changed_is_filled_as_it_is(tmp_path: Path) -> None:
    assert made(FERRY, tmp_path).domain is not None
    file = tmp_path / "ferry_company.yml"
    file.write_text(file.read_text().replace("rows: 90", "rows: 40"))
    found = made(FERRY, tmp_path)
    assert found.domain is not None
    assert len(found.domain.rows(3)["crossing"]["day"]) == 40
    assert [note for note in found.notes if str(file) in note]
    for broken in (b"tables: [", b"tables: [a]", b"", b"tables: {port: 3}", b"semantics: 3\ntables: {}", b"caf\xe9: 1"):
        file.write_bytes(broken)
        assert made(FERRY, tmp_path).kind == "not_filled"
        assert file.read_bytes() == broken, "what is not ours stays"


def test_a_database_of_another_topic_is_not_written_over(tmp_path: Path) -> None:
    made(FERRY, tmp_path)
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    other = invent(told(FERRY), ["boats"], tmp_path, tables=3, rows=90, seed=3)[0]
    assert (other.domain, other.kind) == (None, "same_name")
    assert "a ferry company" in other.detail
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


FIELDS = st.sampled_from(["name", "tables", "rows", "columns", "type", "values", "references"])
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
REPLIES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=12
)


@given(REPLIES)
def test_every_reply_is_read(found: object) -> None:
    assert isinstance(parse_database(json.dumps(found)), ProposedDatabase | Unparsed)


def test_the_verb_lists_what_was_made_and_what_was_not(tmp_path: Path) -> None:
    with ScriptedServer(
        lambda body: json.dumps(FERRY) if "ferry" in body["messages"][-1]["content"] else "no"
    ) as server:
        arguments = ["invent", "a ferry company", "nothing", "--writer", server.base, "--out", str(tmp_path / "out")]
        done = CliRunner().invoke(data, [*arguments, "--json"])
        again = CliRunner().invoke(data, [*arguments, "--json"])
    assert done.exit_code == 1
    result = json.loads(done.stdout)
    assert [Path(one["path"]).name for one in result["databases"]] == ["ferry_company.sqlite"]
    assert [one["reason"] for one in result["failed"]] == ["no_json"]
    assert json.loads(again.stdout) == result
