"""What SQLite means by a statement is what its tree is written as."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.forms.sqlite_meaning import affinity
from agro_data.sql.parse import SqlRefused, parse_expression, parse_select

VALUES = ("2020-05-01", "7", "7.9", "1e2", "abc", "", 7, 7.5, -3, None, b"12")
TYPES = (
    *("DATE", "DATETIME", "TIMESTAMP", "TIME", "DECIMAL(10, 2)", "NUMERIC", "BOOLEAN", "STRING", "money", "JSON"),
    *("INT", "unsigned big int", "TINYINT", "INT8", "POINT", "REAL", "FLOAT", "double precision", "FLOATING POINT"),
    *("TEXT", "VARCHAR(10)", "native character(70)", "CLOB", "CHAR", "BLOB", "VARBINARY", "BINARY"),
)


def written(sql: str) -> str:
    return sql_text(parse_select(sql, "sqlite"), "sqlite")


def answer(sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x, r REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(value, 2.5) for value in VALUES])
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize("name", TYPES)
def test_a_cast_is_written_with_the_affinity_of_its_type(name: str) -> None:
    sql = f"SELECT CAST(x AS {name}), typeof(CAST(x AS {name})), CAST(x AS {name}) / 2 FROM t"
    assert answer(written(sql)) == answer(sql)
    assert f"AS {affinity(name)})" in written(sql)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["CAST", "(", ")", "AS", "x", "INT", "DATE", "MOD", ",", "2", "%", "TEXT"]), max_size=14)
)
def test_what_is_written_is_read_as_itself(parts: list[str]) -> None:
    """Whatever the brackets, a statement that SQLite runs has one answer before and after."""
    sql = f"SELECT {' '.join(parts)} FROM t"
    try:
        expected = answer(sql)
        text = written(sql)
    except (sqlite3.Error, ValueError):
        return
    assert answer(text) == expected
    assert written(text) == text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MOD(r, 2), r % 2, mod(CAST(r AS DATE), 2) FROM t",
        "SELECT CAST((SELECT 1 AS n) AS DATE) AS cast FROM t AS mod",
        "SELECT CAST(CAST(x AS DATE) || 'a' AS STRING) FROM t",
    ],
)
def test_functions_and_nested_casts(sql: str) -> None:
    assert answer(written(sql)) == answer(sql)


def test_an_expression_that_a_person_wrote_keeps_its_meaning() -> None:
    """As a metric of `semantics.yml` has one."""
    tree = parse_expression("SUM(CAST(day AS DATE)) / COUNT(*)", "sqlite")
    assert sql_text(tree, "sqlite") == "SUM(CAST(day AS NUMERIC)) / COUNT(*)"
    with pytest.raises(SqlRefused):
        parse_expression("1, 2", "sqlite")
