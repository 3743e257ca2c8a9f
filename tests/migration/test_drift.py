"""A whole version held against databases of now, the version that is opened, and the verb."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from making import make_school
from migration.shop import ASKED, make_shop, rows
from typed import typed

import agro_data
from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.errors import DatabaseError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.migration.drift import Drift, lost_names, profile_now, verify_version
from agro_data.migration.migrate import ExampleFate, broken
from agro_data.migration.opening import open_migrated
from agro_data.migration.report import lines, summary
from agro_data.profiling.cache import encode, without_rows
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.publish.publication.checks import check_version
from agro_data.publish.read import DERIVED, Version, latest, list_versions, open_version
from agro_data.publish.version import Beside, write_version
from agro_data.records import EXAMPLE, REJECTED
from agro_data.rounds.next_round import shares_of
from agro_data.verbs.drift import version_named
from agro_data.verify.replay import replay

pytestmark = pytest.mark.ci

FEW = {name: ASKED[name] for name in ("in_paris", "dear", "tall", "bosses")}
CHANGES = (
    "ALTER TABLE customer RENAME TO client",
    "ALTER TABLE product RENAME COLUMN price TO unit_price",
    "DROP TABLE staff",
)


def write_shop(
    folder: Path, *, remembers: bool = True, hides: str = "", second: bool = False, **config: Any
) -> Version:
    """A version of the shop in `folder/out`; its databases lie in `folder/databases`. The city of customers is hidden
    from the question `hides`; with `second` there is a larger shop of that name, too.
    """
    make_shop(folder / "databases", "sqlite")
    if second:
        many = "WITH RECURSIVE s(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM s WHERE n < 4000) SELECT n, 'S' || n, 1"
        make_shop(folder / "larger", "sqlite", [f"INSERT INTO staff {many} FROM s"])
        (folder / "larger" / "shop.sqlite").rename(folder / "databases" / "second.sqlite")
    made = {database.db_id: database for database in find_databases(folder / "databases").databases}
    with Sandbox(workers=1) as sandbox:
        asked = rows(made["shop"], sandbox, FEW)
        others = rows(made["second"], sandbox, FEW) if second else {}
    if hides:
        column = {"table": "customer", "column": "city", "value": None}
        asked[hides] |= {
            "answerable": False,
            "hidden": [column],
            "clarification": "Nothing says the city of customers.",
        }
    facts = [
        {"db_id": one.db_id, "relative_path": one.relative_path, "content_hash": one.content_hash, "shareable": False}
        for one in made.values()
    ]
    settings = {"databases": str(folder / "databases"), "seed": 0, "certify": True, "min_kill_rate": 0.8, "only": []}
    profiles = {db_id: encode(without_rows(profile_database(one))) for db_id, one in made.items()}
    path = write_version(
        folder / "out",
        "shop",
        fingerprint="a" * 64,
        examples=pl.DataFrame([*asked.values(), *others.values()], schema=EXAMPLE),
        rejected=pl.DataFrame(schema=REJECTED),
        manifest={"config": settings | config, "databases": facts, "funnel": [], "seeds": {"build": 0}},
        beside=Beside(profiles=profiles if remembers else {}),
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
        (*CHANGES[:2], "UPDATE client SET city = 'Paris' WHERE customer_id = 2"),
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
    (version.path / "profiles").mkdir()
    (version.path / "profiles" / "shop.json").write_text("{}")  # of a format that is not known
    assert drift_of(version, tmp_path).counts == drift.counts
    with pytest.raises(FileNotFoundError, match="does not say what shop was"):
        lost_names(version, find_databases(tmp_path / "databases").databases[0])
    assert outcomes(drift_of(version, tmp_path, before=tmp_path / "old"))["dear"] == "repaired"


def test_names_that_are_gone_are_seen_without_reading_a_row(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    change(tmp_path, ("INSERT INTO staff VALUES (99, 'Max', 1)", "ALTER TABLE staff ADD COLUMN phone TEXT"))
    (now,) = find_databases(tmp_path / "databases").databases
    assert lost_names(version, now) == []
    change(tmp_path)
    (now,) = find_databases(tmp_path / "databases").databases
    assert lost_names(version, now) == ["customer", "product.price", "staff"]


def test_a_database_that_cannot_be_opened_just_now_is_not_gone(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    make_shop(tmp_path / "other", "sqlite", ["DROP TABLE staff"])
    (tmp_path / "other" / "shop.sqlite").rename(tmp_path / "databases" / "other.sqlite")
    shop = tmp_path / "databases" / "shop.sqlite"
    shop.write_bytes(shop.read_bytes()[:8192])  # it is being copied
    drift = drift_of(version, tmp_path)
    assert {fate.reason for fate in drift.fates} == {"database_unreadable"}
    assert [one.state for one in drift.databases] == ["unreadable"]
    assert "truncated SQLite file" in drift.fates[0].says
    assert "truncated SQLite file" in drift.problems[0]


def test_a_database_that_cannot_be_read_costs_only_its_own_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = write_shop(tmp_path, second=True)
    change(tmp_path)
    with closing(sqlite3.connect(tmp_path / "databases" / "second.sqlite")) as connection, connection:
        connection.execute("DELETE FROM staff WHERE staff_id = 300")

    def of_a_failing_disk(version: Version, database: Database, cache: Path) -> DatabaseProfile:
        if database.db_id == "second":
            raise DatabaseError("second: the disk fails")
        return profile_now(version, database, cache)

    monkeypatch.setattr("agro_data.migration.drift.profile_now", of_a_failing_disk)
    drift = drift_of(version, tmp_path)
    assert {one.db_id: one.state for one in drift.databases} == {"shop": "changed", "second": "unreadable"}
    assert ("second: the disk fails" in drift.problems[0], drift.counts["broken"]) == (True, 5)
    opened = open_migrated(drift, *(tmp_path / name for name in ("out", "databases", "made", "cache")))
    assert [fact["db_id"] for fact in opened.manifest["databases"]] == ["shop"]


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    version = write_shop(tmp_path, second=True)
    second = tmp_path / "databases" / "second.sqlite"
    content = second.read_bytes()
    second.write_bytes(content[: -4 * 4096] + b"\x55" * 4 * 4096)  # the last pages hold staff
    drift = drift_of(version, tmp_path)
    assert {fate.reason for fate in drift.fates} == {"", "table_gone"}
    assert "second: table 'staff': cannot be read" in drift.problems[0]


def test_a_database_that_stands_elsewhere_is_told_by_what_it_holds(tmp_path: Path) -> None:
    """A copy beside it gives both longer ids."""
    version = write_shop(tmp_path)
    for place in ("one", "two"):
        shutil.copytree(tmp_path / "databases", tmp_path / "now" / place)
    with closing(sqlite3.connect(tmp_path / "now" / "one" / "shop.sqlite")) as connection, connection:
        connection.execute("DROP TABLE staff")
    drift = drift_of(version, tmp_path, tmp_path / "now")
    assert drift.counts == {"kept": 0, "repaired": 4, "broken": 0}
    assert {fate.new["db_id"] for fate in drift.fates if fate.new is not None} == {"two.shop"}


def test_another_engine_is_another_matter(tmp_path: Path) -> None:
    """The same text may mean something else there: 30 / 7, LIKE, "Paris"."""
    version = write_shop(tmp_path)
    make_shop(tmp_path / "now", "duckdb")
    drift = drift_of(version, tmp_path, tmp_path / "now")
    assert {fate.reason for fate in drift.fates} == {"other_engine"}
    assert "written for sqlite, and shop is a duckdb database now" in drift.fates[0].says


def test_what_was_opened_by_other_knowledge_is_another_version(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    shutil.copytree(tmp_path / "databases", tmp_path / "old")
    change(tmp_path)
    given = (tmp_path / "out", tmp_path / "databases", tmp_path / "made", tmp_path / "cache")
    drift = drift_of(version, tmp_path)
    one = open_migrated(drift, *given)
    fewer = replace(drift, fates=tuple(broken(f.row, "x", "x") if f.outcome == "repaired" else f for f in drift.fates))
    other = open_migrated(fewer, *given)
    assert (one.examples().collect().height, other.examples().collect().height) == (3, 1)


def test_old_databases_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    with pytest.raises(ConfigError, match="nowhere: no such file or folder; --before names"):
        drift_of(version, tmp_path, before=tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"^the address of a server, "):  # which may hold a password
        drift_of(version, tmp_path, before=Path("postgresql://me:s3cret@localhost/shop"))
    change(tmp_path)
    with pytest.raises(ConfigError, match="--before holds none of the databases that the version was made from"):
        drift_of(version, tmp_path, before=tmp_path / "databases")


def test_a_version_of_trajectories_is_refused(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    manifest = version.manifest | {DERIVED: {"name": "shop", "version": version.name}}
    manifest.pop("databases")
    (tmp_path / "made-of-it").mkdir()
    (tmp_path / "made-of-it" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match="was made from a corpus"):
        drift_of(open_version(tmp_path / "made-of-it"), tmp_path)


def test_exactly_as_many_as_asked_for_are_enough(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    fates = [broken({}, "x", "x") for _ in range(34)] + [ExampleFate({}, "kept", new={}) for _ in range(66)]
    assert Drift(version, tuple(fates), ()).sound == 0.66


def test_a_database_that_was_chosen_by_name_is_chosen_by_its_new_one(tmp_path: Path) -> None:
    version = write_shop(tmp_path, only=["shop"])
    (tmp_path / "databases" / "shop.sqlite").rename(tmp_path / "databases" / "store.sqlite")
    opened = open_migrated(
        drift_of(version, tmp_path), *(tmp_path / name for name in ("out", "databases", "made", "cache"))
    )
    assert opened.manifest["config"]["only"] == ["store"]


def test_a_database_that_is_held_back_is_so_by_its_new_name(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    databases, clusters = {"shop": "test", "gone": "train"}, [["gone"], ["shop"]]
    split = {"method": "database", "mark": "", "counts": {"train": 9}, "clusters": clusters, "databases": databases}
    manifest = version.path / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_text(json.dumps(version.manifest | {"split": split}))
    (tmp_path / "databases" / "shop.sqlite").rename(tmp_path / "databases" / "store.sqlite")
    drift = drift_of(open_version(version.path), tmp_path)
    opened = open_migrated(drift, *(tmp_path / name for name in ("out", "databases", "made", "cache")))
    counts = {"train": 0, "validation": 0, "test": 0} | dict(opened.examples().collect()["split"].value_counts().rows())
    here = {"counts": counts, "clusters": [["store"]], "databases": {"store": "test"}}
    assert opened.manifest["split"] == split | here


def test_what_a_model_was_asked_for_is_remembered_for_the_next_round(tmp_path: Path) -> None:
    version = write_shop(tmp_path)
    gone = {"stage": "candidates", "db_id": "gone", "arm": "llm:simple", "requests": 9, "certified": 9}
    yields = [gone, *({**gone, "db_id": "shop", "arm": arm} for arm in ("grammar", "llm:simple"))]
    asked = {"candidates": {"requests": 27}}
    manifest = version.path / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_text(json.dumps(version.manifest | {"yields": yields, "asked_of_a_model": asked}))
    (tmp_path / "databases" / "shop.sqlite").rename(tmp_path / "databases" / "store.sqlite")
    drift = drift_of(open_version(version.path), tmp_path)
    opened = open_migrated(drift, *(tmp_path / name for name in ("out", "databases", "made", "cache")))
    assert opened.manifest["yields"] == [one | {"db_id": "store"} for one in yields[1:]]
    assert opened.manifest["asked_of_a_model"] == asked
    assert {one["arm"] for one in shares_of(opened.manifest["yields"])} == {"model"}


def test_surrogates_are_those_of_the_version(tmp_path: Path) -> None:
    """Of another seed they hold other rows; and what is written beside a database tells its values."""
    make_shop(tmp_path / "databases", "sqlite")
    (tmp_path / "databases" / "semantics.yml").write_text(
        "tables:\n  purchase:\n    columns:\n      status: {codes: {Xyzzy: secret}}\n"
    )
    for seed in (0, 1):
        version = write_shop(tmp_path / str(seed), values="synthetic", seed=seed)
        drift = verify_version(version, tmp_path / "databases", tmp_path / "made", cache=tmp_path / "cache", workers=1)
        (one,) = drift.databases
        assert one.database is not None
        assert profile_now(version, one.database, tmp_path / "cache").table("purchase").column("status").codes == ()
    assert len(list((tmp_path / "cache" / "surrogates").glob("*/shop.sqlite"))) == 2


def test_a_database_without_a_stand_in_is_not_gone(tmp_path: Path) -> None:
    version = write_shop(tmp_path, values="synthetic")
    (tmp_path / "databases" / "shop.sqlite").unlink()
    with duckdb.connect(tmp_path / "databases" / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE t (a BOOLEAN PRIMARY KEY)")  # no generator has one
        connection.execute("INSERT INTO t VALUES (true), (false)")
    drift = drift_of(version, tmp_path)
    assert {fate.reason for fate in drift.fates} == {"database_unreadable"}
    assert "no synthetic copy could be made" in drift.problems[0]


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


def test_a_version_is_meant_by_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = write_shop(tmp_path)
    for place in (version.path, version.path.parent):
        monkeypatch.chdir(place)
        found = version_named(Path("."))
        assert found is not None
        assert found.path == version.path


def agro(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return typed(folder, "verify", *arguments, "--workers", "1")


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
    assert "1 of 4 examples are broken; drift.jsonl says why of each" in done.stderr
    done = agro(tmp_path, "out/shop", "--databases", "databases", "--out", "out")  # the new one, which holds
    assert done.returncode == 0
    assert "no version is opened: databases and examples are as they were" in done.stderr
    assert len(list_versions(tmp_path / "out", "shop")) == 2


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
