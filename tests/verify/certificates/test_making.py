"""What is said of instances that could not be made: a line for each reason, and no value."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest
from making import database_at, run_sqlite

from agro_data.databases.types import Cell
from agro_data.populate.instances import instance_schema
from agro_data.populate.schema import Rows
from agro_data.profiling.profiler import profile_database
from agro_data.verify.certificates.answers import read_gold
from agro_data.verify.certificates.making import Files

UNSAID = " (the engine's words may quote a value and are not repeated)"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    with duckdb.connect(tmp_path / "shop.duckdb") as con:
        con.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, day DATE)")
        con.executemany("INSERT INTO visit VALUES (?, ?)", [[n, date(2024, 1, 1) + timedelta(n)] for n in range(9)])
    database = database_at(tmp_path)
    profile = profile_database(database)
    return Files(
        database, profile, instance_schema(profile), tmp_path / "pool", tmp_path / "scratch", 1, "", None, None
    )


def test_many_that_fail_for_one_reason_are_one_line_without_values(files: Files) -> None:
    gold = read_gold("SELECT id FROM visit", "duckdb", files.profile.schema)

    def made(ids: list[Cell], days: list[Cell]) -> int | None:
        return files.own(gold, {"visit": {"id": ids, "day": days}})

    assert made([1], ["2024-05-01"]) == 0
    assert [made([number], ["the secret day"]) for number in range(3)] == [None] * 3
    assert made([7, 7], ["2024-05-01", "2024-05-02"]) is None
    assert files.problems == [
        f"shop: 3 instances could not be made: visit: Conversion Error{UNSAID}",
        f"shop: 1 instance could not be made: visit: Constraint Error{UNSAID}",
    ]


def test_what_is_no_engine_fault_is_named_by_its_kind(files: Files) -> None:
    gold = read_gold("SELECT id FROM visit", "duckdb", files.profile.schema)
    assert files.own(gold, {"nowhere": {"id": [1]}}) is None
    assert files.problems == ["shop: 1 instance could not be made: KeyError: 'nowhere'"]


def test_what_is_withdrawn_makes_room_and_its_number_is_not_given_again(files: Files) -> None:
    files.most = 1
    gold = read_gold("SELECT id FROM visit", "duckdb", files.profile.schema)
    rows: Rows = {"visit": {"id": [1], "day": ["2024-05-01"]}}
    assert (files.own(gold, rows), files.own(gold, rows)) == (0, None)
    files.withdraw(0)
    assert not list(files.folder.glob("*.duckdb")) + list(files.scratch.glob("*.duckdb"))
    assert (files.own(gold, rows), files.kept, len({made.name for made in files.made})) == (1, [1], 2)


def test_where_no_parent_has_children_a_circle_of_references_ends(tmp_path: Path) -> None:
    run_sqlite(
        tmp_path / "firm.sqlite",
        """
            CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE team (id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city (id), head INTEGER REFERENCES
                person (id));
            CREATE TABLE person (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL REFERENCES team (id), boss INTEGER
                REFERENCES person (id));
            CREATE TABLE badge (id INTEGER PRIMARY KEY, team_id INTEGER REFERENCES team (id));
        """,
        {
            "city": [(n, f"City {n}") for n in range(1, 6)],
            "team": [(n, n, n) for n in range(1, 6)],
            "person": [(n, n, 1) for n in range(1, 6)],
            "badge": [(n, n) for n in range(1, 6)],
        },
    )
    found = database_at(tmp_path)
    profile = profile_database(found)
    made = Files(found, profile, instance_schema(profile), tmp_path / "pool", tmp_path / "scratch", 1, "", None, None)
    counts = []
    for number in made.childless():
        with closing(sqlite3.connect(made.made[number].database.path)) as con:
            tables = ("city", "team", "badge")
            counts.append([con.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables])
    assert counts == [[3, 0, 0], [3, 3, 0]]
