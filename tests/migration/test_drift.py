"""A whole version held against databases of now, the version that is opened, and the verb."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from making import make_school
from migration.shop import ASKED, make_shop, rows

import agro_data
from agro_data.config import ConfigError
from agro_data.databases.catalog import find_databases
from agro_data.databases.sandbox import Sandbox
from agro_data.migration.drift import Drift, lost_names, verify_version
from agro_data.migration.opening import open_migrated
from agro_data.migration.report import lines, summary
from agro_data.profiling.cache import encode, without_rows
from agro_data.profiling.profiler import profile_database
from agro_data.publish.checks import check_version
from agro_data.publish.read import Version, latest, open_version
from agro_data.publish.version import write_version
from agro_data.records import EXAMPLE, REJECTED
from agro_data.verify.replay import replay

ROOT = Path(__file__).resolve().parents[2]
FEW = {name: ASKED[name] for name in ("in_paris", "dear", "tall", "bosses")}
CHANGES = (
    "ALTER TABLE customer RENAME TO client",
    "ALTER TABLE product RENAME COLUMN price TO unit_price",
    "DROP TABLE staff",
)


def write_shop(folder: Path, *, remembers: bool = True, hides: str = "") -> Version:
    """A version of the shop in `folder/out`; its databases lie in `folder/databases`. The city of customers is hidden
    from the question `hides`.
    """
    database = make_shop(folder / "databases", "sqlite")
    with Sandbox(workers=1) as sandbox:
        asked = rows(database, sandbox, FEW)
    if hides:
        column = {"table": "customer", "column": "city", "value": None}
        asked[hides] |= {
            "answerable": False,
            "hidden": [column],
            "clarification": "Nothing says the city of customers.",
        }
    fact = {"db_id": "shop", "relative_path": "shop.sqlite", "content_hash": database.content_hash, "shareable": False}
    config = {"databases": str(folder / "databases"), "seed": 0, "certify": True, "min_kill_rate": 0.8, "only": []}
    profile = encode(without_rows(profile_database(database)))
    path = write_version(
        folder / "out",
        "shop",
        fingerprint="a" * 64,
        examples=pl.DataFrame(list(asked.values()), schema=EXAMPLE),
        rejected=pl.DataFrame(schema=REJECTED),
        manifest={"config": config, "databases": [fact], "funnel": [], "seeds": {"build": 0}},
        profiles={"shop": profile} if remembers else None,
    )
    return open_version(path)


def change(folder: Path, statements: tuple[str, ...] = CHANGES) -> None:
    with closing(sqlite3.connect(folder / "databases" / "shop.sqlite")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def drift_of(version: Version, folder: Path, databases: Path | None = None, before: Path | None = None) -> Drift:
    return verify_version(
        version, databases or folder / "databases", folder / "made", before=before, cache=folder / "cache", workers=1
    )


def outcomes(drift: Drift) -> dict[str, str]:
    names = {sql: name for name, (_, sql) in FEW.items()}
    return {names[fate.row["sql"]]: fate.outcome for fate in drift.fates}


def test_a_version_follows_its_database_into_a_version_of_its_own(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    change(tmp_path)
    drift = drift_of(version, tmp_path)
    truth = {"in_paris": "repaired", "dear": "repaired", "tall": "kept", "bosses": "broken"}
    assert outcomes(drift) == truth
    assert drift.sound == 0.75
    assert not any(fate.answer for fate in drift.fates if fate.new is not None)

    cache = tmp_path / "cache"
    opened = open_migrated(drift, tmp_path / "out", tmp_path / "databases", tmp_path / "made", cache)
    assert latest(tmp_path / "out", "shop") == opened.path != version.path
    assert opened.manifest["parent"] == version.name
    assert opened.manifest["migration"]["repaired"] == 2
    assert not version.verify_hashes()
    now = find_databases(tmp_path / "databases").databases
    examples = opened.examples().collect()
    assert replay(examples, now) == []
    assert set(examples["sql"]) == {
        "SELECT full_name FROM client WHERE city = 'Paris'",
        "SELECT title FROM product WHERE unit_price > 50",
        FEW["tall"][1],
    }
    assert examples["instances"].list.len().min() > 0
    assert [(c.name, c.says) for c in check_version(opened, now) if not c.passed] == []
    (refused,) = opened.rejected().collect().to_dicts()
    assert (refused["stage"], refused["reason"]) == ("migration", "table_gone")
    assert "table staff is gone" in refused["detail"]

    again = open_migrated(drift, tmp_path / "out", tmp_path / "databases", tmp_path / "made", cache)
    assert again.path == opened.path
    # The version that was opened remembers its databases in turn, and nothing has happened to them since.
    still = drift_of(opened, tmp_path)
    assert {one.state for one in still.databases} == {"unchanged"}
    assert still.counts == {"kept": 3, "repaired": 0, "broken": 0}


@pytest.mark.parametrize("changes", [CHANGES, ()], ids=["changed", "as it was"])
def test_examples_without_one_answer_are_held_against_it_as_well(tmp_path: Path, changes: tuple[str, ...]) -> None:
    version = write_shop(tmp_path, hides="in_paris")
    change(tmp_path, changes)
    drift = drift_of(version, tmp_path)
    assert outcomes(drift)["in_paris"] == ("repaired" if changes else "kept")
    opened = open_migrated(drift, *(tmp_path / name for name in ("out", "databases", "made", "cache")))
    (found,) = opened.examples().filter(~pl.col("answerable")).collect().to_dicts()
    table = "client" if changes else "customer"
    assert found["hidden"] == [{"table": table, "column": "city", "value": None}]
    assert found["clarification"] == f"Nothing says the city of {table}s."


def test_what_is_said_of_an_example(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    change(
        tmp_path,
        (*CHANGES[:2], "UPDATE customer SET city = 'Paris' WHERE customer_id = 2".replace("customer S", "client S")),
    )
    drift = drift_of(version, tmp_path)
    told = {line["sql"]: line for line in lines(drift)}
    paris = told[FEW["in_paris"][1]]
    assert (paris["class"], paris["score"]) == ("repaired", 1.0)
    assert "table customer is client now" in paris["says"]
    assert "'customers' says in words what is called client now" in paris["says"]
    assert paris["answer"].endswith("there were 11")
    dear = told[FEW["dear"][1]]
    assert [one["kind"] for one in dear["changes"]] == ["column_renamed"]
    assert dear["answer"] == ""
    figures = summary(drift)
    assert (figures["kept"], figures["repaired"], figures["other_answers"]) == (2, 2, 1)
    assert json.loads(json.dumps(figures)) == figures


def test_a_database_under_another_name_is_still_the_database(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    (tmp_path / "now").mkdir()
    shutil.copy(tmp_path / "databases" / "shop.sqlite", tmp_path / "now" / "store.sqlite")
    drift = drift_of(version, tmp_path, tmp_path / "now")
    assert set(outcomes(drift).values()) == {"repaired"}
    assert {fate.new["db_id"] for fate in drift.fates if fate.new is not None} == {"store"}


def test_a_database_that_is_gone_breaks_its_examples(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    for name in ("one", "two"):
        make_shop(tmp_path / "now" / name, "sqlite", ["DROP TABLE staff"])
        (tmp_path / "now" / name / "shop.sqlite").rename(tmp_path / "now" / f"{name}.sqlite")
        (tmp_path / "now" / name).rmdir()
    drift = drift_of(version, tmp_path, tmp_path / "now")
    assert {fate.reason for fate in drift.fates} == {"no_database"}
    with pytest.raises(ConfigError, match="every example is broken"):
        open_migrated(drift, tmp_path / "out", tmp_path / "now", tmp_path / "made", tmp_path / "cache")


def test_what_is_not_remembered_is_asked_for(tmp_path: Path) -> None:
    version = write_shop(tmp_path, remembers=False)
    shutil.copytree(tmp_path / "databases", tmp_path / "old")
    change(tmp_path)
    drift = drift_of(version, tmp_path)
    assert {fate.reason for fate in drift.fates} == {"not_known"}
    assert "--before" in drift.problems[0]
    assert outcomes(drift_of(version, tmp_path, before=tmp_path / "old"))["dear"] == "repaired"


def test_names_that_are_gone_are_seen_without_reading_a_row(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    change(tmp_path, ("INSERT INTO staff VALUES (99, 'Max', 1)", "ALTER TABLE staff ADD COLUMN phone TEXT"))
    (now,) = find_databases(tmp_path / "databases").databases
    assert lost_names(version, now) == []
    change(tmp_path)
    (now,) = find_databases(tmp_path / "databases").databases
    assert lost_names(version, now) == ["customer", "product.price", "staff"]


@pytest.mark.slow
def test_no_value_of_the_source_is_seen_where_the_build_saw_none(tmp_path: Path) -> None:
    (tmp_path / "databases").mkdir()
    make_school(tmp_path / "databases" / "school.sqlite")
    run = agro_data.RunConfig(out=tmp_path / "out", cache=tmp_path / "cache", workers=1)
    settings = {"name": "school", "size": 8, "embedding_model": "structural", "values": "synthetic"}
    version = agro_data.build(tmp_path / "databases", run=run, **settings).version
    drift = drift_of(version, tmp_path)
    assert [one.state for one in drift.databases] == ["unchanged"]
    assert drift.sound == 1.0

    with closing(sqlite3.connect(tmp_path / "databases" / "school.sqlite")) as connection:
        connection.execute("ALTER TABLE school ADD COLUMN motto TEXT")
        connection.execute("UPDATE school SET motto = 'Xyzzy ' || school_id")
        connection.commit()
    drift = drift_of(version, tmp_path)
    assert [one.state for one in drift.databases] == ["changed"]
    opened = open_migrated(drift, tmp_path / "out", tmp_path / "databases", tmp_path / "made", tmp_path / "cache")
    (fact,) = opened.manifest["databases"]
    assert fact["content_hash"] == find_databases(tmp_path / "databases").databases[0].content_hash
    assert not [path for path in opened.path.rglob("*") if path.is_file() and b"Xyzzy" in path.read_bytes()]


def agro(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from agro_train.cli import main; main()", "verify", *arguments, "--workers", "1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "COLUMNS": "200", "AGRO_CACHE": str(folder / "cache")},
    )


def test_the_verb_is_a_gate_and_opens_the_version(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    change(tmp_path)
    done = agro(tmp_path, "out/shop", "--databases", "databases", "--fail-under", "0.7", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["kept"], figures["repaired"], figures["broken"]) == (1, 2, 1)
    assert open_version(tmp_path / figures["opened"]).manifest["parent"] == version.name

    old = str(version.path)
    done = agro(tmp_path, old, "--databases", "databases", "--fail-under", "0.8")
    assert done.returncode == 1
    assert "0.7500 of the examples hold, asked for were 0.8" in done.stderr
    done = agro(tmp_path, old, "--databases", "databases", "--output", "drift.jsonl")
    assert done.returncode == 1
    assert "3 of 4 examples hold: 1 as they are, 2 repaired." in done.stdout
    assert "shop: table customer is client now" in done.stdout
    assert len((tmp_path / "drift.jsonl").read_text(encoding="utf-8").splitlines()) == 4
    assert agro(tmp_path, "out/shop", "--databases", "databases").returncode == 0  # the new one, which holds


def test_what_cannot_start_ends_with_2(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    for arguments, says in (
        ((str(version.path), "--databases", "nowhere"), "nowhere: no such file or folder"),
        ((str(version.path), "--databases", "databases", "--html", "a.html"), "--html is a page about pairs"),
        (("v0009-00000000", "--databases", "databases"), "no corpus here"),
    ):
        done = agro(tmp_path, *arguments)
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr
