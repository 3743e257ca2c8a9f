"""What names the engine's state in a DuckDB statement, and what only looks like it."""

from __future__ import annotations

import pytest

from agro_data.databases.engine_state import duckdb_state_named


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("SHOW TABLES", "SHOW"),
        ("FROM (SHOW TABLES)", "SHOW"),
        ("SELECT 'x' UNION SHOW TABLES", "SHOW"),
        ("SELECT 'x' EXCEPT ALL SHOW TABLES", "SHOW"),
        ("SELECT 1 UNION ALL BY NAME SHOW TABLES", "SHOW"),
        ("SELECT * FROM t, 'pg_settings' s", "pg_settings"),
        ("FROM 'PG_SETTINGS'", "PG_SETTINGS"),
        ("SELECT setseed(0.5)", "setseed"),
        ("WITH a AS (SELECT 1), b(n) AS (SELECT 2) SELECT stats(n) AS x FROM b", "stats"),
        ("SELECT a, query('SELECT 1') FROM t", "query"),
        ("SELECT (SELECT 1 AS one), version()", "version"),
        ("SELECT * FROM query('SELECT 1') AS materialized", "query"),
        ("SELECT * FROM t, query('SELECT 1') AS materialized(a)", "query"),
        ("SELECT version() AS materialized", "version"),
    ],
)
def test_the_state_of_the_engine_is_named(sql: str, named: str) -> None:
    assert duckdb_state_named(sql) == named


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM t ORDER BY name DESC",
        "SELECT rank() OVER (PARTITION BY a ORDER BY name DESC) FROM t",
        "FROM t ORDER BY ALL DESC",
        "SELECT b FROM t WHERE b = 'pg_type'",
        "SELECT stats, setseed FROM t",
        "WITH stats(n) AS (SELECT 1) SELECT n FROM stats",
        "WITH RECURSIVE read_counts (n) AS (SELECT 1) SELECT n FROM read_counts",
        "WITH a AS (SELECT 1), stats(n) AS NOT MATERIALIZED (SELECT (1)) SELECT n FROM stats",
        "SELECT count(*) AS current_user FROM t AS query(a, b)",
    ],
)
def test_what_looks_like_it_is_let_through(sql: str) -> None:
    assert duckdb_state_named(sql) == ""
