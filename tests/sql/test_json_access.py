"""JSON access is read as the engine reads it, and written back as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import duckdb
import pytest

from agro_data.databases.types import Dialect
from agro_data.populate.schema import ColumnSpec, Schema, TableSpec
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.verify.proofs import proved_equivalent

ROWS = [
    ('{"a": 1, "a.b": "dotted", "b": {"c": "x"}, "l": [1, 2, 3]}', "a", 1),
    ('{"a": "q", "aa": "double", "b": {"c": null}}', "a", 0),
    (None, None, None),
]
BOTH = ["sqlite", "duckdb"]
READ = [
    "c ->> '$.a'",
    "c ->> 'a.b'",  # one key
    "c ->> '$.\"a.b\"'",
    "c -> 'b'",
    "c ->> k",
    "c -> 'l' -> 0",
    "c -> 'b' ->> 'c'",
    "json_extract(c, '$.b.c')",
    "json_extract(c, '$.l[#-1]')",
    "json_extract(c, '$.b') ->> 'c'",
    "json_array_length(c -> 'l')",
    "coalesce(c -> 'b' ->> 'c', 'none')",
    "count(c -> 'b')",
    "(c -> 'b') IS NULL",
    "json_extract(c, '$.a') BETWEEN '0' AND '9'",
    "c ->> 'a' || '!'",
    "(c ->> 'a') || (c ->> 'b')",
    "c ->> 'a' = '1' AND n = 1",
    "json_object('k', k)",
]


def answer(dialect: Dialect, sql: str) -> list[Any]:
    if dialect == "sqlite":
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE TABLE t (c TEXT, k TEXT, n INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
            return connection.execute(sql).fetchall()
    with duckdb.connect() as duck:
        duck.execute("CREATE TABLE t (c JSON, k VARCHAR, n INTEGER)")
        duck.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
        return duck.execute(sql).fetchall()


def of_one_table(kind: str) -> Schema:
    columns = (ColumnSpec("c", kind, "text"), ColumnSpec("k", "VARCHAR", "text"), ColumnSpec("n", "INTEGER", "integer"))
    return Schema("s", (TableSpec("t", columns),), (), "")


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize("access", READ)
def test_what_is_read_is_written_as_the_same_query(access: str, dialect: Dialect) -> None:
    sql = f"SELECT {access} FROM t"
    assert answer(dialect, sql_text(parse_select(sql, dialect), dialect)) == answer(dialect, sql)


@pytest.mark.parametrize(
    "access",
    ["c -> 'b' = 'x'", "c -> k || 'a'", "NOT c -> 'a'", "'x' = c -> 'a'", "c -> (k ->> 'a')", "c ->> n & 1"],
)
def test_an_arrow_that_duckdb_reads_otherwise_is_refused(access: str) -> None:
    with pytest.raises(SqlRefused, match="brackets"):
        parse_select(f"SELECT {access} FROM t", "duckdb")
    parse_select(f"SELECT {access} FROM t", "sqlite")


def test_nothing_is_proved_of_an_arrow_that_takes_in_more_than_it_seems() -> None:
    bare, tight = ("SELECT c -> k || 'a' FROM t", "SELECT (c -> k) || 'a' FROM t")
    assert answer("duckdb", bare) != answer("duckdb", tight)
    assert proved_equivalent(bare, tight, "duckdb", of_one_table("JSON")) is None
    assert proved_equivalent(tight, tight.lower(), "duckdb", of_one_table("JSON")) == "normal_form"


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize(
    ("one", "other"), [("c ->> 'a.b'", "c ->> '$.a.b'"), ("c -> 'a'", "c ->> 'a'"), ("c ->> 'a'", "c ->> 'b'")]
)
def test_nothing_is_proved_of_two_paths(one: str, other: str, dialect: Dialect) -> None:
    schema = of_one_table("JSON" if dialect == "duckdb" else "TEXT")
    assert proved_equivalent(f"SELECT {one} FROM t", f"SELECT {other} FROM t", dialect, schema) is None


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("list_transform([1], lambda x: x + 1)", [2]),
        ("list_transform([c], lambda x: x -> 'a')", ['"z"']),
        ("list_transform([c], lambda x: (x ->> 'a') || 'y')", ["zy"]),
        ("list_transform([1], lambda x: coalesce((c ->> 'a'), 'y'))", ["z"]),
    ],
)
def test_access_within_a_lambda_stays_what_it_is(call: str, found: list[object]) -> None:
    with duckdb.connect() as connection:
        connection.execute("""CREATE TABLE t AS SELECT '{"a": "z"}'::JSON AS c""")
        tree = parse_select(f"SELECT {call} FROM t", "duckdb")
        for sql in (f"SELECT {call} FROM t", tree.sql("duckdb")):
            assert connection.execute(sql).fetchall() == [(found,)]


@pytest.mark.parametrize("call", ["list_transform(l, x -> x + 1)", "list_filter(coalesce(c -> 'a'), lambda x: x > 1)"])
def test_an_arrow_is_no_lambda(call: str) -> None:
    with pytest.raises(SqlRefused, match="-> is access to JSON"):
        parse_select(f"SELECT {call} FROM t", "duckdb")
