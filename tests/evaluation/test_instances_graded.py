"""Which instances a gold is graded on, and that a -ts metric without them does not pass for one."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from making import run_sqlite

from agro_data import verify_pairs
from agro_data.cli import data
from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.discovery.content import instance_at
from agro_data.databases.types import Database
from agro_data.evaluation import instances
from agro_data.evaluation.building import built
from agro_data.evaluation.evaluate import evaluate
from agro_data.evaluation.instances import Instances, given
from agro_data.evaluation.loaded import Prediction
from agro_data.hashing import stable_hash
from agro_data.records import INSTANCE_INDEX

OLD = "SELECT name FROM member WHERE age > 40"
ALL = "SELECT name FROM member"
TIED = "SELECT name FROM member WHERE age < 40 LIMIT 1"


def write_club(path: Path, *members: tuple[str, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE member (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)")
        connection.executemany("INSERT INTO member (name, age) VALUES (?, ?)", members)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two clubs in `db`, and in `suite` the instances `a`, with an old member, and `b`, without one, of each."""
    for name in ("chess", "rowing"):
        write_club(tmp_path / "db" / name / f"{name}.sqlite", ("Ada", 30), ("Bo", 50))
        write_club(tmp_path / "suite" / name / "a.sqlite", ("Cy", 20), ("Di", 60))
        write_club(tmp_path / "suite" / name / "b.sqlite", ("Ed", 20), ("Flo", 30))
    return tmp_path


def asked(db_id: str, gold: str, predicted: str, identity: str = "") -> Prediction:
    return Prediction(f"{db_id} {identity}", db_id, "Who?", gold, (predicted,), identity=identity)


def indexed(folder: Path, *rows: tuple[str, str, str]) -> None:
    full = [(db_id, example, f"{db_id}/{file}", "digest") for db_id, example, file in rows]
    pl.DataFrame(full, schema=INSTANCE_INDEX, orient="row").write_parquet(folder / "index.parquet")


def of(place: Path, rows: list[Prediction]) -> tuple[Instances, list[list[str]]]:
    databases = {database.db_id: database for database in find_databases(place / "db").databases}
    found = given(place / "suite", databases, rows)
    return found, [[file.path.name for file in found.of(row.db_id, row.gold, row.identity)] for row in rows]


def test_equal_ids_of_two_databases_have_files_of_their_own(place: Path) -> None:
    rows = [asked("chess", OLD, OLD, "1"), asked("rowing", OLD, OLD, "1")]
    indexed(place / "suite", ("chess", "1", "a.sqlite"), ("rowing", "1", "b.sqlite"))
    found, names = of(place, rows)
    assert names == [["a.sqlite"], ["b.sqlite"]]
    assert not found.notes
    assert not found.problems


def test_without_an_index_all_files_of_a_database_count(place: Path) -> None:
    rows = [asked("chess", OLD, OLD, "1")]
    assert of(place, rows)[1] == [["a.sqlite", "b.sqlite"]]
    indexed(place / "suite", ("rowing", "1", "b.sqlite"))  # it says nothing of the chess club
    assert of(place, rows)[1] == [["a.sqlite", "b.sqlite"]]


def test_a_gold_that_an_index_does_not_list_is_graded_on_the_database_itself_and_told(place: Path) -> None:
    rows = [asked("chess", OLD, OLD), asked("chess", TIED, "SELECT name FROM member WHERE age < 40 ORDER BY age DESC")]
    indexed(place / "suite", ("chess", stable_hash(["chess", OLD])[:16], "a.sqlite"))
    found, names = of(place, rows)
    assert names == [["a.sqlite"], []]
    suite = place / "suite"
    assert found.notes == (
        f"chess: no instance in {suite} is valid for 1 of its 2 golds, graded on the database itself",
    )
    assert not found.problems
    graded = evaluate(rows, place / "db", metric="strict-ts", instances=suite)
    assert [verdict.score for verdict in graded.verdicts] == [1, 1]  # on b, LIMIT cuts between two


def test_a_file_is_read_again_only_where_it_has_changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several models and metrics are graded on the same files, and to hash a DuckDB file is to read all its rows."""
    read = list[str]()

    def reading(source: Database, path: Path) -> Database:
        read.append(f"{path.parent.name}/{path.name}")
        return instance_at(source, path)

    monkeypatch.setattr(instances, "instance_at", reading)
    rows = [asked("chess", OLD, OLD, "1")]
    first = of(place, rows)[0].files["chess"]
    assert of(place, rows)[0].files["chess"] == first
    assert read == ["chess/a.sqlite", "chess/b.sqlite"]
    (place / "suite" / "chess" / "b.sqlite").unlink()
    write_club(place / "suite" / "chess" / "b.sqlite", ("Gil", 21), ("Hope", 31), ("Ivo", 41))
    again = of(place, rows)[0].files["chess"]
    assert read[2:] == ["chess/b.sqlite"]
    assert [one.content_hash == other.content_hash for one, other in zip(first, again, strict=True)] == [True, False]


@pytest.mark.slow
def test_what_verify_writes_is_what_evaluate_reads(place: Path) -> None:
    rows = [{"id": "1", "db_id": name, "question": f"Who of {name}?", "query": OLD} for name in ("chess", "rowing")]
    (place / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    suite = place / "suite-made"
    checked = verify_pairs(place / "a.json", place / "db", cache=place / "cache", instances=suite, workers=1).checked
    databases = {database.db_id: database for database in find_databases(place / "db").databases}
    found = given(suite, databases, [asked(name, OLD, OLD, "1") for name in ("chess", "rowing")])
    for one in checked:
        assert one.certificate is not None
        files = found.of(one.pair.db_id, OLD, one.pair.identity)
        assert {f"{one.pair.db_id}/{file.path.name}" for file in files} == set(one.certificate.instances)


def test_a_database_without_instances_is_a_problem_where_a_metric_is_on_instances(place: Path) -> None:
    rows = [asked("chess", OLD, OLD), asked("rowing", OLD, OLD)]
    for file in (place / "suite" / "rowing").iterdir():
        file.unlink()
    suite = place / "suite"
    found = evaluate(rows, place / "db", metric="strict-ts", instances=suite)
    assert [verdict.instances for verdict in found.verdicts] == [2, 1]
    assert found.problems == (f"rowing: no instances in {suite}, graded on the database itself",)
    assert not evaluate(rows[:1], place / "db", metric="strict-ts", instances=suite).problems  # no rowing is asked for


def test_an_index_that_serves_no_gold_of_a_database_is_a_problem(place: Path) -> None:
    indexed(place / "suite", ("chess", "of other questions", "a.sqlite"), ("rowing", "1", "gone.sqlite"))
    rows = [asked("chess", OLD, OLD, "1"), asked("rowing", OLD, OLD, "1")]
    found, names = of(place, rows)
    assert names == [[], []]
    assert [problem.split(": ")[0] for problem in found.problems] == ["chess", "rowing"]
    assert all("is valid for any of its golds" in problem for problem in found.problems)


def test_instances_that_cannot_be_built_end_with_1(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "cache").mkdir()
    (place / "cache" / "evaluation-instances").write_text("no folder")
    (place / "p.json").write_text(json.dumps([{"db_id": "chess", "question": "Who?", "gold": OLD, "pred": OLD}]))
    monkeypatch.setenv("AGRO_CACHE", str(place / "cache"))
    verb = ["evaluate", "--predictions", place / "p.json", "--databases", place / "db", "--metric", "strict-ts"]
    done = CliRunner().invoke(data, [*map(str, verb), "--fail-under", "1", "--workers", "1", "--json"])
    assert done.exit_code == 1, done.output
    figures = json.loads(done.stdout)
    assert figures["score"]["mean"] == 1
    assert figures["problems"][0].startswith("chess: no instances could be built, graded on the database itself: ")
    assert figures["problems"][0] in done.stderr


def test_a_database_of_whose_golds_none_can_be_certified_is_a_problem(place: Path) -> None:
    (chess,) = find_databases(place / "db" / "chess").databases
    found = built({chess: ["SELECT random()"]}, place / "cache", workers=1)
    assert found.problems == ("chess: no instance for any of its golds, graded on the database itself",)
    assert len(found.notes) == 1


def test_a_gold_on_which_a_fault_of_ours_left_no_instance_is_a_problem(place: Path) -> None:
    (chess,) = find_databases(place / "db" / "chess").databases
    built({chess: [OLD, "SELECT random()"]}, place / "cache", workers=1)
    (record,) = (place / "cache" / "evaluation-instances").glob("*/pool.json")
    golds = json.loads(record.read_text())["golds"]
    told = {"reason": "unexamined", "detail": "it could not be examined: a fault", "files": []}
    golds = [one if one["sql"] == OLD else {**one, **told} for one in golds]
    record.write_text(json.dumps({"golds": golds}))
    found = built({chess: [OLD, "SELECT random()"]}, place / "cache", workers=1)
    (problem,) = found.problems
    assert problem.endswith("graded on the database itself: it could not be examined: a fault: SELECT random()")


def test_instances_at_hand_are_not_made_elsewhere(place: Path) -> None:
    (chess,) = find_databases(place / "db" / "chess").databases
    first = built({chess: [OLD]}, place / "cache", workers=1)
    again = built({chess: [OLD]}, place / "cache", workers=1, made_in=place / "elsewhere")
    assert again == first
    assert not (place / "elsewhere").exists()


WRITING = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE'); print(1, flush=True); input()"
)


def test_why_a_database_is_missing(place: Path) -> None:
    sealed, locked = (place / "db" / name / f"{name}.sqlite" for name in ("sealed", "locked"))
    sealed.parent.mkdir()
    sealed.write_bytes(bytes(range(200)))
    write_club(locked, ("Ada", 30))
    rows = [asked(name, OLD, OLD) for name in ("chess", "sealed", "locked", "ches")]
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(locked)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:  # a lock is told to other processes only
        assert other.stdout is not None
        other.stdout.readline()
        found = evaluate(rows, place / "db")
        other.communicate(b"\n")
    reasons = [verdict.reason for verdict in found.verdicts]
    assert "sealed/sealed.sqlite: not a database" in reasons[1]
    assert "locked/locked.sqlite: locked: another program is writing to it" in reasons[2]
    assert reasons[3] == "no database ches in the folder given: there are chess, rowing"
    assert all(any(reason in problem for problem in found.problems) for reason in reasons[1:])
    with pytest.raises(Exception, match=r"sealed: sealed/sealed\.sqlite: not a database"):
        evaluate(rows[1:2], place / "db")


@pytest.mark.parametrize("suite", ["built", "suite", "another"])
def test_a_database_that_is_spelt_otherwise_is_held_against_its_instances(place: Path, suite: str) -> None:
    lucky = "SELECT name FROM member WHERE id = 2"
    shutil.copytree(place / "suite" / "chess", place / "another" / "CHESS")
    folder = None if suite == "built" else place / suite
    for db_id in ("chess", "CHESS"):
        if (suite, db_id) != ("another", "chess"):
            rows = [asked(db_id, OLD, lucky)]
            found = evaluate(rows, place / "db", metric="strict-ts", instances=folder, cache=place / "cache", workers=1)
            assert [(one.score, one.instances > 1) for one in found.verdicts] == [(0.0, True)], db_id


def test_a_file_on_which_a_gold_does_not_run_is_told_and_not_counted(place: Path) -> None:
    """It says nothing, and passed for one that agrees."""
    rows = [asked("chess", OLD, OLD + " AND id > 1"), asked("rowing", OLD, ALL)]
    whole = evaluate(rows, place / "db", metric="strict-ts", instances=place / "suite")
    assert [v.instances for v in whole.verdicts] == [2, 2]
    (place / "suite" / "chess" / "b.sqlite").write_bytes(b"")
    found = evaluate(rows, place / "db", metric="strict-ts", instances=place / "suite")
    assert [v.instances for v in found.verdicts] == [1, 2]
    (told,) = found.problems
    assert told.startswith("chess/b.sqlite: a gold does not run there")
    assert "no such table" in told


def test_instances_that_an_index_lists_and_are_gone_are_told(place: Path) -> None:
    indexed(place / "suite", ("chess", "1", "a.sqlite"), ("chess", "1", "b.sqlite"))
    (place / "suite" / "chess" / "b.sqlite").unlink()
    found = evaluate([asked("chess", OLD, OLD, "1")], place / "db", metric="strict-ts", instances=place / "suite")
    assert any("1 of the instances that" in told and "b.sqlite" in told for told in found.problems)


def test_an_index_of_nothing_is_none(place: Path) -> None:
    indexed(place / "suite")
    with pytest.raises(ConfigError, match="lists nothing"):
        evaluate([asked("chess", OLD, OLD)], place / "db", metric="strict-ts", instances=place / "suite")


def test_a_database_that_changes_while_it_is_graded_is_told_and_not_remembered(place: Path) -> None:
    """Its results would be found again under the hash of what it was, and wrong predictions right there."""
    path = place / "db" / "chess" / "chess.sqlite"
    intact = path.read_bytes()
    wrong = OLD + " AND id < 2"
    databases = {one.db_id: one for one in find_databases(place / "db").databases}
    run_sqlite(path, "DELETE FROM member WHERE age > 40")
    found = evaluate([asked("chess", OLD, wrong)], databases, cache=place / "cache")
    assert [v.score for v in found.verdicts] == [1]
    assert any("has changed since it was read" in told for told in found.problems)
    path.write_bytes(intact)
    again = evaluate([asked("chess", OLD, wrong)], place / "db", cache=place / "cache")
    assert [v.score for v in again.verdicts] == [0]
    assert not again.problems


@pytest.mark.parametrize(("collation", "score"), [("COLLATE NOCASE", 1.0), ("", 0.0)])
def test_instances_compare_texts_as_their_database_does(tmp_path: Path, collation: str, score: float) -> None:
    """Each of the answers is right on the database, whatever the collation."""
    with closing(sqlite3.connect(tmp_path / "towns.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT NOT NULL {collation}, land TEXT)")
        rows = [(town, land) for town in ("Oslo", "Bergen", "Rome") for land in ("Norge", "Italia")]
        connection.executemany("INSERT INTO town (name, land) VALUES (?, ?)", rows)
    gold = "SELECT id FROM town WHERE name = 'Oslo'"
    answers = [asked("towns", gold, f"SELECT id FROM town WHERE {test}") for test in ("name LIKE 'oslo'", "id <= 2")]
    found = evaluate(answers, tmp_path / "towns.sqlite", metric="strict-ts", cache=tmp_path / "cache", workers=1)
    assert [(one.score, one.instances > 1) for one in found.verdicts] == [(score, True), (0.0, True)]


SALES = """CREATE TABLE sale (
  id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, qty INTEGER NOT NULL, price {real} NOT NULL,
  total {real} GENERATED ALWAYS AS (qty * price), label VARCHAR GENERATED ALWAYS AS (upper(name)))"""


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("duckdb", marks=pytest.mark.ci)])
def test_instances_compute_columns_as_their_database_does(tmp_path: Path, engine: str) -> None:
    """Who writes the formula is right, whichever of the two the gold has, and who misreads the bound is not."""
    path = tmp_path / f"sales.{engine}"
    statement = SALES.format(real="REAL" if engine == "sqlite" else "DOUBLE")
    rows = [(number, f"item {number}", 1 + number % 7, 10.0 + number) for number in range(40)]
    if engine == "sqlite":
        with closing(sqlite3.connect(path)) as lite, lite:
            lite.execute(statement)
            lite.executemany("INSERT INTO sale (id, name, qty, price) VALUES (?, ?, ?, ?)", rows)
    else:
        with duckdb.connect(path) as duck:
            duck.execute(statement)
            duck.executemany("INSERT INTO sale (id, name, qty, price) VALUES (?, ?, ?, ?)", rows)
    golds = ("SELECT name FROM sale WHERE total > 100", "SELECT name FROM sale WHERE qty * price > 100")
    answers = [asked("sales", gold, other) for gold in golds for other in golds]
    answers += [asked("sales", golds[0], "SELECT name FROM sale WHERE total >= 100")]
    answers += [asked("sales", "SELECT label FROM sale WHERE qty = 2", "SELECT UPPER(name) FROM sale WHERE qty = 2")]
    found = evaluate(answers, path, metric="strict-ts", cache=tmp_path / "cache", workers=1)
    assert [one.score for one in found.verdicts] == [1, 1, 1, 1, 0, 1]
    assert all(one.instances > 3 for one in found.verdicts)


@pytest.mark.parametrize(
    ("column", "checked", "score"),
    [("car_count", "CHECK (car_count IN (0, 1))", 1.0), ("car_count", "", 0.0), ("active", "", 1.0)],
)
def test_instances_hold_what_their_database_checks(tmp_path: Path, column: str, checked: str, score: float) -> None:
    """`active <> 0` is `active = 1` where no other number may stand, or the column is a flag, and only there."""
    run_sqlite(
        tmp_path / "users.sqlite",
        f"CREATE TABLE user (id INTEGER PRIMARY KEY, {column} INTEGER NOT NULL {checked})",
        {"user": [(number, number % 2) for number in range(30)]},
    )
    gold = f"SELECT id FROM user WHERE {column} = 1"
    answers = [asked("users", gold, f"SELECT id FROM user WHERE {column} {test}") for test in ("<> 0", "< 1")]
    found = evaluate(answers, tmp_path / "users.sqlite", metric="strict-ts", cache=tmp_path / "cache", workers=1)
    assert [(one.score, one.instances > 1) for one in found.verdicts] == [(score, True), (0.0, True)]


SCHEMAS = """
CREATE SCHEMA hr; CREATE SCHEMA sales;
CREATE TABLE hr.employee (employee_id INTEGER PRIMARY KEY, name VARCHAR NOT NULL);
CREATE TABLE sales.orders (order_id INTEGER PRIMARY KEY, employee_id INTEGER NOT NULL, amount DOUBLE NOT NULL);
CREATE TABLE region (region_id INTEGER PRIMARY KEY, name VARCHAR NOT NULL);
CREATE VIEW sales.large AS SELECT order_id, amount FROM sales.orders WHERE amount > 50;
INSERT INTO hr.employee SELECT range, 'name ' || range FROM range(40);
INSERT INTO sales.orders SELECT range, range * 13 % 40, 10 + range * 37 % 101 FROM range(200);
INSERT INTO region SELECT range, 'region ' || range FROM range(20);
"""


@pytest.mark.ci
def test_instances_have_the_schemas_of_their_database(tmp_path: Path) -> None:
    """Queries may call a table with its schema or without it, and are as right on instances as on the database."""
    path = tmp_path / "firm.duckdb"
    with duckdb.connect(path) as duck:
        duck.execute(SCHEMAS)
    bare = "SELECT name, count(*) FROM employee AS e JOIN orders AS o USING (employee_id) GROUP BY employee_id, name"
    full = bare.replace("employee AS", "hr.employee AS").replace("orders", "sales.orders")
    wrong = full.replace("count(*)", "sum(o.amount)")
    pairs = [(bare, full), (full, bare), (full, full.replace("hr.", "sales.")), (bare, wrong)]
    pairs += [("SELECT name FROM main.region WHERE region_id > 7", "SELECT name FROM region WHERE region_id >= 8")]
    large = "SELECT count(*) FROM sales.large"
    pairs += [(large, "SELECT count(*) FROM large"), (large, "SELECT count(*) FROM orders WHERE amount > 50")]
    pairs += [(large, "SELECT count(*) FROM sales.orders WHERE amount >= 50")]
    answers = [asked("firm", gold, predicted) for gold, predicted in pairs]
    found = evaluate(answers, path, metric="strict-ts", cache=tmp_path / "cache", workers=1)
    assert [one.score for one in found.verdicts] == [1, 1, 0, 0, 1, 1, 1, 0], found.notes
    assert all(one.instances > 1 for one in found.verdicts), found.notes


def test_the_database_itself_is_held_against_a_prediction_where_its_answer_is_settled(tmp_path: Path) -> None:
    """A model of no maker breaks the reference that instances keep: only here does the join leave it out."""
    path = tmp_path / "cars" / "cars.sqlite"
    run_sqlite(
        path,
        """
        CREATE TABLE maker (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE model (id INTEGER PRIMARY KEY, name TEXT, maker INTEGER NOT NULL REFERENCES maker);
        INSERT INTO maker VALUES (1, 'Fiat'), (2, 'Seat');
        INSERT INTO model VALUES (1, 'Uno', 1), (2, 'Leon', 2), (3, 'Lost', 9);
        """,
    )
    joined = "SELECT model.name FROM model JOIN maker ON model.maker = maker.id"
    tied = "SELECT name FROM model ORDER BY LENGTH(name) LIMIT 2"
    rows = [asked("cars", "SELECT name FROM model", joined), asked("cars", tied, tied)]
    found = evaluate(rows, tmp_path, metric="strict-ts", cache=tmp_path / "cache", workers=1)
    assert [one.score for one in found.verdicts] == [0.0, 1.0]
    assert found.verdicts[0].instance == "cars.sqlite"
    run_sqlite(path, "DELETE FROM model WHERE id = 3")
    assert evaluate(rows[:1], tmp_path, metric="strict-ts", workers=1).verdicts[0].score == 1.0
