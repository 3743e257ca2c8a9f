"""Queries of other programs: what is asked stays, whatever the engine and the driver."""

from __future__ import annotations

from contextlib import suppress

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.databases.types import Dialect
from agro_data.sql.forms.foreign import as_ours, engines
from agro_data.sql.parse import LONGEST, SqlRefused


@pytest.mark.parametrize(
    ("read", "condition"),
    [
        ("postgres", "x > $1 AND y LIKE $2 AND z IN ($3, $4)"),
        ("postgres", "x > %s AND y LIKE %(pattern)s AND z IN (%s, %s)"),
        ("duckdb", "x > ? AND y LIKE $pattern AND z IN (?, ?)"),
        ("sqlite", "x > ?1 AND y LIKE :pattern AND z IN (@one, $other)"),
        ("mysql", "x > ? AND y LIKE %s AND z IN (?, ?)"),
        ("oracle", "x > :1 AND y LIKE :2 AND z IN (:a, :b)"),
        ("tsql", "x > @p0 AND y LIKE @p1 AND z IN (@p2, @p3)"),
    ],
)
def test_parameters_are_blanks(read: str, condition: str) -> None:
    found = as_ours(f"SELECT a FROM t WHERE {condition}", read, "duckdb")
    assert found == "SELECT a FROM t WHERE x > '?' AND y LIKE '%?%' AND z IN ('?', '?')"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE x = ANY($1)", "SELECT a FROM t WHERE x IN ('?')"),
        ("SELECT a FROM t WHERE d::date = $1::date", "SELECT a FROM t WHERE CAST(d AS DATE) = CAST('?' AS DATE)"),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > $1", "SELECT a FROM t GROUP BY a HAVING COUNT(*) > 1"),
        ("SELECT a FROM t LIMIT $1", "SELECT a FROM t LIMIT 3"),
        ("SELECT a * $1 FROM t", "SELECT a * 1 FROM t"),
        ("SELECT a FROM t WHERE d > now() - interval '30 days'", "SELECT a FROM t WHERE d > '?'"),
        ("SELECT a FROM t WHERE d BETWEEN current_date - $1 AND now()", "SELECT a FROM t WHERE d BETWEEN '?' AND '?'"),
        ("SELECT to_char(d, 'YYYY-MM') FROM t", "SELECT STRFTIME(d, '%Y-%m') FROM t"),
        ('SELECT "public"."t"."a" FROM "public"."t"', 'SELECT "t"."a" FROM "t"'),
        (
            "WITH t AS (SELECT * FROM shop.t) SELECT t.a FROM t",
            "WITH t_asked AS (SELECT * FROM t) SELECT t.a FROM t_asked AS t",
        ),
    ],
)
def test_what_is_asked_stays(sql: str, expected: str) -> None:
    assert as_ours(sql, "postgres", "duckdb") == expected


@pytest.mark.parametrize(
    ("read", "condition", "expected"),
    [
        ("postgres", "now() - d < interval '7 days'", "d > '?'"),
        ("postgres", "d + interval '30 days' > now()", "d > '?'"),
        ("postgres", "age(now(), d) > interval '1 year'", "d < '?'"),
        ("postgres", "current_date - d::date between 0 and 7", "d >= '?'"),
        ("postgres", "date_trunc('month', d) = date_trunc('month', now())", "STRFTIME(d, '%Y-%m') = '?'"),
        ("postgres", "date_trunc('month', d) >= date_trunc('month', now()) - interval '6 months'", "d >= '?'"),
        ("postgres", "date_trunc('week', d) = date_trunc('week', now())", "d >= '?'"),
        ("mysql", "DATEDIFF(NOW(), d) < 30", "d > '?'"),
        ("mysql", "DATEDIFF(d, NOW()) < 30", "d < '?'"),
        ("snowflake", "30 > DATEDIFF('day', d, CURRENT_TIMESTAMP())", "d > '?'"),
        ("tsql", "DATEDIFF(day, d, GETDATE()) <= 30", "d >= '?'"),
        ("bigquery", "DATE_TRUNC(d, YEAR) = DATE_TRUNC(CURRENT_DATE(), YEAR)", "STRFTIME(d, '%Y') = '?'"),
        ("bigquery", "TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), d, HOUR) = 24", "d = '?'"),
        ("sqlite", "julianday('now') - julianday(d) < 30", "d > '?'"),
        ("duckdb", "date_diff('day', d, current_date) <> 30", "d <> '?'"),
        ("duckdb", "date_diff('day', d, e) < 30", "date_diff('day', d, e) < 30"),
        ("duckdb", "d - 1 < (SELECT MAX(d) FROM t)", "d - 1 < (SELECT MAX(d) FROM t)"),
        ("duckdb", "MAX(d) + INTERVAL 1 DAY > now()", "MAX(d) + INTERVAL '1' DAY > 1"),
    ],
)
def test_how_long_ago_it_is_becomes_a_moment(read: str, condition: str, expected: str) -> None:
    found = as_ours(f"SELECT a FROM t WHERE {condition}", read, "duckdb")
    assert found == f"SELECT a FROM t WHERE {expected}"


@pytest.mark.parametrize("text", ["$1 %s ? :a", "now", "it''s $$", "-- $1"])
def test_texts_are_no_parameters(text: str) -> None:
    sql = f"SELECT a, '{text}'   AS  b FROM t -- of $1"
    assert as_ours(sql, "duckdb", "duckdb") == sql, "nothing to change, so not even its blanks are"


@pytest.mark.parametrize("sql", ["DELETE FROM t", "SELECT 1; SELECT 2", "not sql", "", "(" * 900, "x" * (LONGEST + 1)])
def test_what_is_no_query_is_refused(sql: str) -> None:
    for read in ("postgres", "bigquery"):
        with pytest.raises(SqlRefused):
            as_ours(sql, read, "duckdb")


@given(st.text(alphabet="SELECT FROM t WHERE a=$1?:%s@'\"(),;-*[]{}\n", max_size=60), st.sampled_from(engines()))
def test_nothing_but_a_refusal_is_raised(sql: str, read: str) -> None:
    with suppress(SqlRefused):
        as_ours(sql, read, "duckdb")


def test_a_query_of_a_warehouse_runs_here() -> None:
    sql = """WITH orders AS (SELECT * FROM `prod.marts.orders`
          WHERE DATE(placed) >= DATE_SUB(CURRENT_DATE(), INTERVAL 7 DAY))
        SELECT FORMAT_DATE('%Y-%m', placed) AS month, COUNTIF(amount > @least) AS large FROM orders GROUP BY 1"""
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE orders AS SELECT DATE '2024-05-01' AS placed, 7 AS amount")
        ours = as_ours(sql, "bigquery", "duckdb").replace("amount > '?'", "amount > 8").replace("?", "2024-01-01")
        assert connection.execute(ours).fetchall() == [("2024-05", 0)]


@pytest.mark.parametrize(
    ("read", "write", "part", "expected"),
    [
        ("spark", "sqlite", "date_format(d, 'yyyy-MM')", "STRFTIME('%Y-%m', d)"),
        ("spark", "duckdb", "trunc(d, 'MM')", "DATE_TRUNC('MONTH', d)"),
        ("spark", "sqlite", "trunc(d, 'MM')", "STRFTIME('%Y-%m', d)"),
        ("postgres", "sqlite", "date_trunc('year', d)", "STRFTIME('%Y', d)"),
        ("oracle", "duckdb", "TRUNC(d, 'YYYY')", "DATE_TRUNC('YEAR', d)"),
        ("snowflake", "duckdb", "TO_CHAR(d, 'YYYY-MM')", "STRFTIME(d, '%Y-%m')"),
        ("oracle", "sqlite", "TO_CHAR(d, 'YYYY-MM-DD')", "STRFTIME('%Y-%m-%d', d)"),
        ("snowflake", "duckdb", "TO_CHAR(d, '999.99')", "CAST(d AS TEXT)"),
        ("snowflake", "duckdb", "TO_CHAR(d)", "CAST(d AS TEXT)"),
    ],
)
def test_parts_and_formats_of_dates_are_spelled_out(read: str, write: Dialect, part: str, expected: str) -> None:
    """sqlglot loses Snowflake's format, leaves Spark's as '%mstrict', and keeps 'MM', which DuckDB does not know."""
    assert as_ours(f"SELECT {part} FROM t", read, write) == f"SELECT {expected} FROM t"


def test_what_sqlglot_fails_to_write_is_refused() -> None:
    with pytest.raises(SqlRefused):
        as_ours("SELECT AVG(DATEDIFF(a, b)) FROM t", "fabric", "duckdb")
