"""Instances keep what their database checks: the engine takes every row of theirs into the source's own tables."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import duckdb
import pytest
from making import profile_of

from agro_data.databases.types import Cell
from agro_data.populate.instances import instance_schema, instances, random_rows
from agro_data.populate.instances.directed.balance import balance
from agro_data.populate.schema import Rows
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

TABLES = (
    """CREATE TABLE film (id INTEGER PRIMARY KEY CHECK (id > 0), state {state}, stars INTEGER NOT NULL
       CHECK (stars BETWEEN 1 AND 5), seen INTEGER NOT NULL CHECK (seen IN (0, 1)), begun DATE NOT NULL, ended DATE,
       CHECK (ended >= begun))""",
    """CREATE TABLE sequel (first INTEGER NOT NULL REFERENCES film (id), next INTEGER NOT NULL REFERENCES film (id),
       gap INTEGER CHECK (gap > 0), PRIMARY KEY (first, next), CHECK (first <> next))""",
)
STATES = {"sqlite": "TEXT CHECK (state IN ('new', 'old'))", "duckdb": "ENUM ('new', 'old')"}
FILMS = [
    (n, ("new", "old")[n % 2], 1 + n % 5, n % 2, f"2020-01-{1 + n:02}", f"2021-01-{1 + n:02}") for n in range(1, 21)
]
SEQUELS = [(n, n + 1, n) for n in range(1, 20)]
QUERIES = (
    "SELECT state, COUNT(*) FROM film WHERE stars > 2 GROUP BY state",
    "SELECT f.id FROM film f JOIN sequel s ON s.first = f.id WHERE f.seen = 1 AND s.gap > 3",
    "SELECT begun FROM film WHERE ended < '2020-06-01' OR stars <> 7",
    "SELECT AVG(stars) FROM film WHERE stars > (SELECT AVG(stars) FROM film)",
    "SELECT id FROM film WHERE state <> 'gone'",
)


def connection_of(path: Path) -> closing[sqlite3.Connection] | closing[duckdb.DuckDBPyConnection]:
    return closing(sqlite3.connect(path)) if path.suffix == ".sqlite" else closing(duckdb.connect(path))


@pytest.fixture(params=["sqlite", "duckdb"])
def films(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseProfile:
    with connection_of(tmp_path / f"films.{request.param}") as connection:
        for statement in TABLES:
            connection.execute(statement.format(state=STATES[request.param]))
        connection.executemany("INSERT INTO film VALUES (?, ?, ?, ?, ?, ?)", FILMS)
        connection.executemany("INSERT INTO sequel VALUES (?, ?, ?)", SEQUELS)
        connection.commit()
    return profile_of(tmp_path)


def made(profile: DatabaseProfile) -> Iterator[Rows]:
    schema = instance_schema(profile)
    for seed in range(4):
        yield random_rows(schema, profile, seed, 20)
    for query in QUERIES:
        found = resolve(parse_select(query, profile.dialect), profile.dialect, profile.schema)
        yield from islice(instances(found, schema, profile, seed=1), 8)


def test_the_source_would_take_every_row(films: DatabaseProfile, tmp_path: Path) -> None:
    counts = {"film": 0, "sequel": 0}
    for number, rows in enumerate(made(films)):
        with connection_of(tmp_path / f"made-{number}.{films.dialect}") as connection:
            for statement in TABLES:
                connection.execute(statement.format(state=STATES[films.dialect]))
            for table in ("film", "sequel"):
                lines = list(zip(*rows[table].values(), strict=True))
                if lines:
                    marks = ", ".join("?" for _ in lines[0])
                    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", lines)
                counts[table] += len(lines)
    assert min(counts.values()) > 100


def test_all_that_a_column_may_hold_is_met(films: DatabaseProfile) -> None:
    met = {column: set[object]() for column in ("state", "stars", "seen")}
    for rows in made(films):
        for column, values in met.items():
            values |= {*rows["film"][column]}
    assert met["stars"] == {1, 2, 3, 4, 5}
    assert met["seen"] == {0, 1}
    assert {"new", "old"} <= met["state"] <= {"new", "old", None}


@pytest.mark.parametrize("seed", range(8))
def test_a_mean_is_met_where_few_numbers_may_stand(seed: int) -> None:
    """One rating of forty cannot move their mean to another."""
    rng = random.Random(seed)
    rows: list[dict[str, Cell]] = [{"stars": rng.choice((1, 2, 2, 5))} for _ in range(40)]
    free = [{"stars"} if number % 2 else set[str]() for number in range(40)]
    fixed = [row["stars"] for row in rows[::2]]
    balance(rows, "stars", lambda number: 1 <= number <= 5, free, rng)
    stars = [row["stars"] for row in rows]
    assert all(isinstance(number, int) and 1 <= number <= 5 for number in stars)
    assert stars[::2] == fixed
    assert sum(map(int, map(str, stars))) / 40 in stars


def test_a_key_of_some_rows_is_kept_by_those(tmp_path: Path) -> None:
    """One salary of an employee is the current one: how many there are is how many employees have one."""
    table = "CREATE TABLE salary (id INTEGER PRIMARY KEY, who INTEGER NOT NULL, amount REAL, active TEXT, ended DATE)"
    keys = (
        "CREATE UNIQUE INDEX current ON salary (who) WHERE active = 'yes'",
        "CREATE UNIQUE INDEX running ON salary (who, amount) WHERE ended IS NULL",
    )
    paid = [(n, n // 3, 1000 * n, ("no", "no", "yes")[n % 3], None if n % 3 else "2020-05-01") for n in range(90)]
    with connection_of(tmp_path / "pay.sqlite") as connection:
        for statement in (table, *keys):
            connection.execute(statement)
        connection.executemany("INSERT INTO salary VALUES (?, ?, ?, ?, ?)", paid)
        connection.commit()
    profile = profile_of(tmp_path)
    assert profile.table("salary").partial_keys == (
        (("who",), "\"active\" = 'yes'"),
        (("who", "amount"), '"ended" IS NULL'),
    )
    schema = instance_schema(profile)
    current = 0
    for query in (
        "SELECT COUNT(*) FROM salary WHERE active = 'yes'",
        "SELECT who, amount FROM salary WHERE ended IS NULL",
    ):
        found = resolve(parse_select(query, "sqlite"), "sqlite", profile.schema)
        for rows in islice(instances(found, schema, profile, seed=1), 8):
            with closing(sqlite3.connect(":memory:")) as made_of:
                for statement in (table, *keys):
                    made_of.execute(statement)
                lines = list(zip(*rows["salary"].values(), strict=True))
                made_of.executemany("INSERT INTO salary VALUES (?, ?, ?, ?, ?)", lines)
            current += sum(line[3] == "yes" for line in lines)
    assert current > 16
