"""What CHECK constraints say of a table, and that a row meets it exactly where the engine takes the row."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.schema.checks import allows, checks, columns_of, constants_of
from agro_data.databases.types import Cell, Dialect
from agro_data.profiling.hidden.concealing import without
from agro_data.profiling.profiler import profile_database
from agro_data.sql.concealing import Hidden

REVIEW = """CREATE TABLE review (
  id INTEGER PRIMARY KEY, Stars INTEGER CHECK (stars BETWEEN 1 AND 5), "its state" VARCHAR NOT NULL
  CONSTRAINT known CHECK ("its state" IN ('new', 'seen') AND id > 0), opened DATE, closed DATE, price DOUBLE,
  paid DOUBLE, CHECK (closed >= opened), CONSTRAINT late CHECK (opened > CAST('2001-01-01' AS DATE) OR price IS NULL),
  CHECK (length("its state") > 2), CHECK (paid = price * 2), CHECK (price >= 0 AND NOT price > 100))"""


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_conditions_are_told_one_by_one_with_names_as_the_columns_have_them(dialect: Dialect) -> None:
    said = {
        '"Stars" BETWEEN 1 AND 5',
        "\"its state\" IN ('new', 'seen')",
        '"id" > 0',
        '"closed" >= "opened"',
        '"opened" > \'2001-01-01\' OR "price" IS NULL',
        '"price" >= 0',
        'NOT "price" > 100',
    }
    assert {*checks(REVIEW, dialect)} == said  # neither a function, nor what a column is computed by


def test_duckdb_tells_them_of_what_it_wrote_and_lists_of_enums_besides(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "reviews.duckdb") as duck:
        duck.execute("CREATE TYPE mood AS ENUM ('it''s bad', 'good')")
        duck.execute("CREATE TABLE day (id INTEGER, felt mood, again mood[])")
        duck.execute(REVIEW)
        written = dict(duck.execute("SELECT table_name, sql FROM duckdb_tables()").fetchall())
    assert checks(written["day"], "duckdb") == ("\"felt\" IN ('it''s bad', 'good')",)
    told = checks(written["review"], "duckdb")  # with brackets of its own
    assert {one.replace("(", "").replace(")", "") for one in told} >= {'"Stars" BETWEEN 1 AND 5', '"id" > 0'}
    assert len(told) == 7


def test_a_quoted_word_that_is_no_column_is_a_text_to_sqlite_alone() -> None:
    sql = 'CREATE TABLE t (a TEXT CHECK (a IN ("x", "y")))'
    assert checks(sql, "sqlite") == ("\"a\" IN ('x', 'y')",)
    assert checks(sql, "duckdb") == ()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INTEGER)",
        "CREATE TABLE t AS SELECT 1 AS a",
        "no statement check (as such",
        "CREATE TABLE t (a INTEGER CHECK (a IN (SELECT 1)))",
        "CREATE TABLE t (a INTEGER CHECK (a > random()))",
        "CREATE TABLE t (a INTEGER CHECK (1 > 0))",
        "CREATE TABLE t (a INTEGER CHECK (a < CAST('1 day' AS INTERVAL YEAR)))",
        "CREATE TABLE t (a INTEGER CHECK (a = CAST('x' AS mood)))",
        "CREATE TABLE t (a INTEGER CHECK (a < " + "9" * 5000 + "))",
        "CREATE TABLE t (a INTEGER CHECK (" + "a + " * 3000 + "a > 0))",
    ],
)
def test_other_statements_say_nothing(sql: str) -> None:
    assert checks(sql, "sqlite") == ()


CONDITIONS = (
    "a BETWEEN 1 AND 3",
    "a IN (0, 1)",
    "a > 1 OR b IS NOT NULL",
    "NOT (a > 1 AND b > 1)",
    "a <> b",
    "a + b * 2 < 5",
    "a - b >= -1",
    "t IN ('x', 'y')",
    "t <> '' OR a IS NULL",
    "t > 'x' AND a > 0",
    "(a IS NULL) = (t IS NULL)",
    "a IS NOT NULL",
    "a OR b > 1",
    "NOT a OR b IS NULL",
    "a",
)
NUMBERS = st.one_of(st.none(), st.integers(-3, 4))
TEXTS = st.one_of(st.none(), st.sampled_from(["", "x", "y", "z"]))


@settings(max_examples=300)
@given(st.sampled_from(CONDITIONS), NUMBERS, NUMBERS, TEXTS)
def test_a_row_is_allowed_where_sqlite_takes_it(condition: str, a: Cell, b: Cell, t: Cell) -> None:
    sql = f"CREATE TABLE one (a INTEGER, b INTEGER, t TEXT, CHECK ({condition}))"
    found = checks(sql, "sqlite")
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute(sql)
        try:
            lite.execute("INSERT INTO one VALUES (?, ?, ?)", (a, b, t))
            taken = True
        except sqlite3.IntegrityError:
            taken = False
    said = all(allows(check, {"a": a, "b": b, "t": t}) for check in found)
    assert found or condition == "(a IS NULL) = (t IS NULL)"
    assert said == taken or not found


def test_what_is_not_known_of_a_row_fails_nothing() -> None:
    assert allows('"a" > 1', {"b": 0})
    assert allows('"a" > 1', {"a": None})
    assert allows('"a" > 1', {"a": "0"})  # engines order a text and a number each in its own way
    assert not allows('"a" > 1', {"a": 1})
    assert columns_of('"a b" > "c"') == {"a b", "c"}
    assert constants_of("\"a\" IN ('x', 2, 0.5)") == ("x", 2, 0.5)


def test_a_profile_tells_what_its_rows_keep_and_nothing_that_is_hidden(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as lite, lite:
        lite.execute(
            """CREATE TABLE item (id INTEGER PRIMARY KEY, kind TEXT CHECK (kind IN ('a', 'b')),
               low REAL, high REAL CHECK (high >= low), size INTEGER CHECK (size > 0))"""
        )
        lite.execute("PRAGMA ignore_check_constraints = ON")
        lite.executemany("INSERT INTO item VALUES (?, 'a', 1, 2, ?)", [(number, number - 3) for number in range(20)])
    [database] = find_databases(tmp_path).databases
    kind, order = "\"kind\" IN ('a', 'b')", '"high" >= "low"'
    profile = profile_database(database)
    assert profile.table("item").checks == (kind, order)  # sizes of 0 and less are there
    assert profile_database(database, values=False).table("item").checks == (order,)
    assert without(profile, [Hidden("item", "low")]).table("item").checks == (kind,)
    assert without(profile, [Hidden("item", "kind", "b")]).table("item").checks == (order,)
