"""SQLite lets a column of texts refer to the id of a row, which is a number: one row that does not costs the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from making import profile_of, run_sqlite
from small_databases import read

from agro_data.populate.instances import compose, focus_of, instance_schema, instances, witnesses
from agro_data.populate.writer import write_sqlite
from agro_data.profiling.profile import DatabaseProfile

CARS = """
CREATE TABLE country (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE maker (id INTEGER PRIMARY KEY, name TEXT, country TEXT REFERENCES country (id));
CREATE TABLE plant (id INTEGER PRIMARY KEY, maker TEXT REFERENCES maker (id), size REAL);
"""
ANSWERED = (
    "SELECT name FROM maker WHERE country = '6' ORDER BY name",
    "SELECT name FROM maker WHERE country > '5'",
    "SELECT name FROM maker WHERE country LIKE '%1%'",
    "SELECT country FROM maker GROUP BY country HAVING COUNT(*) > 2",
    "SELECT c.name FROM maker m JOIN country c ON m.country = c.id WHERE m.country <> '3'",
    "SELECT size FROM plant WHERE maker = '4'",
)
NEVER = (
    "SELECT name FROM maker WHERE country = 'Peru'",
    "SELECT name FROM country WHERE id = 'Peru'",
    "SELECT name FROM country WHERE id > 2.5",
)


@pytest.fixture
def cars(tmp_path: Path) -> DatabaseProfile:
    run_sqlite(
        tmp_path / "cars.sqlite",
        CARS,
        {
            "country": [(n, f"Land {n}") for n in range(1, 9)],
            "maker": [(n, f"Maker {n}", str(1 + n % 8)) for n in range(1, 20)],
            "plant": [(n, str(n), n / 2) for n in range(1, 15)],
        },
    )
    return profile_of(tmp_path)


@pytest.mark.parametrize("sql", [*ANSWERED, *NEVER])
def test_instances_can_be_written_and_have_rows_to_find(cars: DatabaseProfile, tmp_path: Path, sql: str) -> None:
    schema, said = instance_schema(cars), []
    for number, rows in enumerate(islice(instances(read(cars, sql), schema, cars, 7), 8)):
        with closing(sqlite3.connect(write_sqlite(schema, rows, tmp_path / f"{number}.sqlite"))) as con:
            said.append(bool(con.execute(sql).fetchall()))
    assert sql in NEVER or said.count(True) >= 6


def test_rows_of_many_queries_stand_together(cars: DatabaseProfile, tmp_path: Path) -> None:
    schema, asked = instance_schema(cars), [read(cars, sql) for sql in (*ANSWERED, *NEVER)]
    for seed in range(6):
        proposals = [one for query in asked for one in witnesses(query, schema, cars, seed)]
        rows = compose(schema, cars, {}, proposals, seed, focus_of(asked[0], schema))
        with closing(sqlite3.connect(write_sqlite(schema, rows, tmp_path / f"{seed}.sqlite"))) as con:
            assert all(con.execute(sql).fetchall() for sql in ANSWERED)
