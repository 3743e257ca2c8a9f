"""Instances keep what every row of their source shows, though no constraint says it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import islice
from pathlib import Path

import duckdb
import pytest
from making import profile_of

from agro_data.databases.types import Cell
from agro_data.populate.instances import instance_schema, instances
from agro_data.populate.schema import Rows
from agro_data.profiling.keys.trees import has_circle
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select


def profiled(folder: Path, dialect: str, statement: str, rows: list[tuple[Cell, ...]]) -> DatabaseProfile:
    """The profile of a database with one table, `kept`."""
    path = folder / f"evident.{dialect}"
    with closing(sqlite3.connect(path) if dialect == "sqlite" else duckdb.connect(path)) as connection:
        connection.execute(statement)
        connection.executemany(f"INSERT INTO kept VALUES ({', '.join('?' for _ in rows[0])})", rows)
        connection.commit()
    return profile_of(folder)


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


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_year_has_twelve_months(dialect: str, tmp_path: Path) -> None:
    statement = "CREATE TABLE kept (id INTEGER PRIMARY KEY, year INTEGER, month INTEGER, months INTEGER, hour INTEGER)"
    profile = profiled(tmp_path, dialect, statement, [(n, 2000 + n % 9, n % 12 + 1, n % 7, n % 24) for n in range(80)])
    query = "SELECT SUM(months) FROM kept WHERE year * 100 + month >= 200306 AND month <> 12 AND hour > 20"
    assert {*range(1, 13)} >= held(profile, "month", query) - {None} > set()
    assert {*range(24)} >= held(profile, "hour", query) - {None} > set()
    assert held(profile, "months", query) - {*range(7)}


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


def invoiced(folder: Path, dialect: str) -> DatabaseProfile:
    statement = """CREATE TABLE kept (code TEXT PRIMARY KEY, zip TEXT, day TEXT, price TEXT, clock TEXT, more TEXT,
        name TEXT)"""
    rows: list[tuple[Cell, ...]] = [
        (
            *(f"P{n:04}", f"{n * 37:05}", f"{n % 28 + 1:02}/{n % 12 + 1:02}/{2000 + n % 20}", f"${n * 612.5:,.2f}"),
            *(
                f"{n % 24:02}:{n % 60:02}",
                f'{{"colour": "{"red" if n % 3 else "blue"}", "n": {n}}}',
                f"{chr(97 + n % 26)}bc {n}",
            ),
        )
        for n in range(1, 60)
    ]
    return profiled(folder, dialect, statement, rows)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_texts_of_one_form_have_it_everywhere(dialect: str, tmp_path: Path) -> None:
    """`SUBSTR(day, 7, 4) = '2018'` is `day LIKE '%/2018'`, and a CAST of what is left of a price stops at no text."""
    profile = invoiced(tmp_path, dialect)
    number = "CAST(REPLACE(REPLACE(price, '$', ''), ',', '') AS REAL)"
    queries = (
        "SELECT code FROM kept WHERE SUBSTR(day, 7, 4) = '2018' AND zip < '00500'",
        f"SELECT MAX({number}) FROM kept WHERE {number} > 5000 AND clock >= '09:00' AND clock < '17:00'",
        "SELECT COUNT(*) FROM kept WHERE day LIKE '%/2018' OR code = 'P0010' OR name = 'dbc 3'",
    )
    forms = {
        "code": r"P\d{4}",
        "zip": r"\d{5}",
        "day": r"(0[1-9]|[12]\d|3[01])/(0[1-9]|1[0-2])/\d{4}",
        "price": r"\$\d{1,3}(,\d{3})?\.\d\d",
        "clock": r"([01]\d|2[0-3]):[0-5]\d",
    }
    for rows in made(profile, *queries):
        assert all(re.fullmatch(form, str(cell)) for c, form in forms.items() for cell in rows["kept"][c] if cell)
        assert all(isinstance(json.loads(str(cell)), dict) for cell in rows["kept"]["more"] if cell)
        assert all(datetime.strptime(str(cell), "%d/%m/%Y") for cell in rows["kept"]["day"] if cell)
    assert {"2018"} < {str(day)[-4:] for day in held(profile, "day", queries[0])}
    assert "$5,000.00" in held(profile, "price", queries[1])
    assert any("amber" in str(name) for name in held(profile, "name", queries[2]))


def test_a_column_that_refers_follows_its_parent(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "evident.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE kept (code TEXT PRIMARY KEY)")
        connection.execute("CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT REFERENCES kept (code))")
        connection.executemany("INSERT INTO kept VALUES (?)", [(f"{'PQ'[n % 2]}{n:04}",) for n in range(60)])
        connection.executemany("INSERT INTO part VALUES (?, ?)", [(n, f"P{2 * (n % 30):04}") for n in range(90)])
    schema = instance_schema(profile_of(tmp_path))
    assert schema.by_name["kept"].by_name["code"].form
    assert not schema.by_name["part"].by_name["code"].form


def test_numbers_beside_infinity_are_numbers(tmp_path: Path) -> None:
    """Else the mean of them is that of texts, which SQLite takes for 0."""
    rows: list[tuple[Cell, ...]] = [(n, float("inf") if n == 7 else n / 2) for n in range(40)]
    profile = profiled(tmp_path, "sqlite", "CREATE TABLE kept (id INTEGER PRIMARY KEY, score REAL)", rows)
    scores = held(profile, "score", "SELECT AVG(score) FROM kept") - {None}
    assert len(scores) > 3
    assert all(isinstance(score, int | float) for score in scores)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_table_without_rows_may_come_to_hold_null(dialect: str, tmp_path: Path) -> None:
    path = tmp_path / f"evident.{dialect}"
    with closing(sqlite3.connect(path) if dialect == "sqlite" else duckdb.connect(path)) as connection:
        connection.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, name TEXT, code TEXT NOT NULL)")
        connection.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO other VALUES (1)")
        connection.commit()
    schema = instance_schema(profile_of(tmp_path))
    assert [column.nullable for column in schema.by_name["kept"].columns] == [False, True, False]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_what_a_state_says_of_null_is_so_everywhere(dialect: str, tmp_path: Path) -> None:
    """What is pending is not shipped, and what is not shipped is pending."""
    statement = """CREATE TABLE kept (id INTEGER PRIMARY KEY, status TEXT, shipped DATE, alive INTEGER, died DATE,
        note TEXT)"""
    rows: list[tuple[Cell, ...]] = [
        (
            *(n, ("pending", "sent", "back")[n % 3], f"2020-01-{n % 28 + 1:02}" if n % 3 else None),
            *(n % 2, None if n % 2 else f"2021-02-{n % 28 + 1:02}", f"n{n}" if n % 5 else None),
        )
        for n in range(90)
    ]
    profile = profiled(tmp_path, dialect, statement, rows)
    found = {(rule.column, rule.state, rule.values, rule.null) for rule in profile.table("kept").null_rules}
    assert found == {("shipped", "status", ("pending",), True), ("died", "alive", (1,), True)}
    queries = (
        "SELECT id FROM kept WHERE status = 'sent' AND shipped > '2020-01-15'",
        "SELECT COUNT(*) FROM kept WHERE shipped IS NULL",
        "SELECT status, COUNT(died) FROM kept WHERE alive = 0 GROUP BY status",
        "SELECT id FROM kept WHERE alive > 2 * (SELECT AVG(alive) FROM kept)",
    )
    count = 0
    for made_rows in made(profile, *queries):
        columns = made_rows["kept"]
        for status, shipped, alive, died in zip(
            *(columns[c] for c in ("status", "shipped", "alive", "died")), strict=True
        ):
            assert (shipped is None) == (status == "pending")
            assert (died is None) == (alive == 1)
            count += 1
    assert count > 100
    assert None in held(profile, "note", *queries)  # of which no state says anything


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("year(strptime(day, '%d/%m/%Y')) = 1987", "1987"),
        ("month(CAST(strptime(day, '%d/%m/%Y') AS DATE)) = 12", "/12/"),
    ],
)
def test_what_is_asked_of_a_moment_that_strptime_reads_is_found(condition: str, part: str, tmp_path: Path) -> None:
    """Met by chance alone, a gold about a year has no instance on which it gives a row."""
    rows: list[tuple[Cell, ...]] = [(n, f"{n % 28 + 1:02}/{n % 9 + 1:02}/{1990 + n % 30}") for n in range(60)]
    profile = profiled(tmp_path, "duckdb", "CREATE TABLE kept (id INTEGER PRIMARY KEY, day VARCHAR)", rows)
    assert any(part in str(day) for day in held(profile, "day", f"SELECT id FROM kept WHERE {condition}"))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_table_without_keys_is_told_apart_by_its_first_column(dialect: str, tmp_path: Path) -> None:
    """As a dump of states is: `JOIN state` would be wrong for `IN (SELECT state_name FROM state ...)` where a state
    came twice. Few rows, or a number that is measured, tell nothing.
    """
    states = [(f"state {n}", n * 1.5) for n in range(12)]
    statement = "CREATE TABLE kept (state_name TEXT, area DOUBLE)"
    queries = ("SELECT COUNT(*) FROM kept WHERE area > 3", "SELECT state_name FROM kept WHERE area > 3")

    def repeats(folder: str, statement: str, rows: list[tuple[Cell, ...]], column: str) -> bool:
        (tmp_path / folder).mkdir()
        profile = profiled(tmp_path / folder, dialect, statement, rows)
        return any(len(rows["kept"][column]) > len(set(rows["kept"][column])) for rows in made(profile, *queries))

    assert not repeats("all", statement, states, "state_name")
    assert repeats("few", statement, states[:6], "state_name")
    turned = "CREATE TABLE kept (area DOUBLE, state_name TEXT)"
    assert repeats("measured", turned, [row[::-1] for row in states], "area")
