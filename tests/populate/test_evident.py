"""Instances keep what every row of their source shows, though no constraint says it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import duckdb
import pytest

from agro_data.databases.catalog import find_databases
from agro_data.databases.types import Cell
from agro_data.populate.instances import instance_schema, instances
from agro_data.populate.schema import Rows
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.trees import has_circle
from agro_data.sql.parse import parse_select
from agro_data.sql.scope import resolve


def profiled(folder: Path, dialect: str, statement: str, rows: list[tuple[Cell, ...]]) -> DatabaseProfile:
    """The profile of a database with one table, `kept`."""
    path = folder / f"evident.{dialect}"
    with closing(sqlite3.connect(path) if dialect == "sqlite" else duckdb.connect(path)) as connection:
        connection.execute(statement)
        connection.executemany(f"INSERT INTO kept VALUES ({', '.join('?' for _ in rows[0])})", rows)
        connection.commit()
    return profile_database(find_databases(folder).databases[0])


def made(profile: DatabaseProfile, *queries: str) -> Iterator[Rows]:
    schema = instance_schema(profile)
    for query in queries:
        found = resolve(parse_select(query, profile.dialect), profile.dialect, profile.schema)
        yield from islice(instances(found, schema, profile, seed=1), 8)


def held(profile: DatabaseProfile, column: str, *queries: str) -> set[Cell]:
    return {cell for rows in made(profile, *queries) for cell in rows["kept"][column]}


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_flag_has_one_of_its_two_values(dialect: str, tmp_path: Path) -> None:
    """`SUM(active)` is how often `active = 1`, and `paid <> 'N'` is `paid = 'Y'`."""
    statement = "CREATE TABLE kept (id INTEGER PRIMARY KEY, active INTEGER, paid TEXT, is_gone BOOLEAN, size TEXT)"
    profile = profiled(tmp_path, dialect, statement, [(n, n % 2, "NY"[n % 2], 0, "SML"[n % 3]) for n in range(20)])
    queries = ("SELECT SUM(active) FROM kept", "SELECT id FROM kept WHERE paid = 'Y' AND is_gone <> 1 AND size = 'S'")
    assert held(profile, "active", *queries) == {0, 1}
    assert held(profile, "paid", *queries) == {"N", "Y"}
    assert held(profile, "is_gone", *queries) == {0, 1}
    assert held(profile, "size", *queries) > {"S", "M", "L"}  # which another row may show next year


def circles(rows: Rows) -> int:
    """How many rows of `kept` lead back to themselves."""
    above = dict(zip(rows["kept"]["id"], rows["kept"]["boss"], strict=True))

    def leads_back(start: Cell) -> bool:
        place, seen = above[start], {None, start}
        while place not in seen:
            seen.add(place)
            place = above[place]
        return place == start

    return sum(map(leads_back, above))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_who_is_nobodys_own_boss_in_the_source_is_so_nowhere(dialect: str, tmp_path: Path) -> None:
    """A recursive query with UNION ALL would not end there, where one with UNION does."""
    statement = "CREATE TABLE kept (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES kept (id))"
    query = "SELECT a.name FROM kept a JOIN kept b ON a.boss = b.id JOIN kept c ON b.boss = c.id WHERE c.name <> 'n3'"
    looped = f"{query} AND a.id = c.boss"
    people: list[tuple[Cell, ...]] = [(n, f"n{n}", n // 2 or None) for n in range(1, 25)]
    profile = profiled(tmp_path, dialect, statement, people)
    assert profile.foreign_keys[0].tree
    assert [circles(rows) for rows in made(profile, query, looped)] == [0] * 16


@pytest.mark.parametrize(("above", "found"), [({1: 2, 2: 3}, False), ({1: 2, 2: 1, 3: 1}, True), ({1: 1}, True)])
def test_circles_are_found(above: dict[int, int], found: bool) -> None:
    assert has_circle({(below,): (up,) for below, up in above.items()}) is found


def test_spouses_are_no_tree(tmp_path: Path) -> None:
    """Whoever is somebody's spouse is married to them, and leads back to themselves over one row."""
    statement = "CREATE TABLE kept (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES kept (id))"
    people: list[tuple[Cell, ...]] = [(n, n + 1 if n % 2 else n - 1) for n in range(1, 25)]
    profile = profiled(tmp_path, "sqlite", statement, people)
    assert not profile.foreign_keys[0].tree
    query = "SELECT a.id FROM kept a JOIN kept b ON a.boss = b.id WHERE b.boss = a.id"
    assert any(map(circles, made(profile, query)))
