"""What names the engine's state in a DuckDB statement, and what only looks like it."""

from __future__ import annotations

import duckdb
import pytest

from agro_data.databases.hostile.engine_state import duckdb_state_named

# Functions that a FROM may call: they make rows of what they are given, or summarise a query that is written there.
_OF_DATA = {"generate_series", "range", "repeat", "repeat_row", "unnest", "json_each", "json_tree", "summary"}
_OF_NOTHING = {"test_all_types", "test_vector_types"}


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
        ("SELECT path FROM a: 'duckdb_databases'", "duckdb_databases"),
        ("SELECT sql FROM a: 'sqlite_master'", "sqlite_master"),
        ("UNPIVOT 'duckdb_databases' ON database_name", "duckdb_databases"),
        ("PIVOT 'duckdb_databases' ON database_name USING count(*)", "duckdb_databases"),
        ("SELECT bin FROM histogram_values('duckdb_'||'databases', path)", "histogram_values"),
        ("SELECT bin FROM histogram(source := 'duckdb_' || 'databases', col_name := path)", "histogram"),
        ("FROM t, system.main.histogram(lower('PG_SETTINGS'), name)", "histogram"),
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
        "SELECT b FROM t WHERE b LIKE 'sqlite_master'",
        "SELECT histogram(a), histogram(greatest(a, 1)), [1, 2] FROM t",
        "WITH histogram(a, b) AS (SELECT 1, 2) SELECT a FROM histogram",
        "SELECT stats, setseed FROM t",
        "WITH stats(n) AS (SELECT 1) SELECT n FROM stats",
        "WITH RECURSIVE read_counts (n) AS (SELECT 1) SELECT n FROM read_counts",
        "WITH a AS (SELECT 1), stats(n) AS NOT MATERIALIZED (SELECT (1)) SELECT n FROM stats",
        "SELECT count(*) AS current_user FROM t AS query(a, b)",
    ],
)
def test_what_looks_like_it_is_let_through(sql: str) -> None:
    assert duckdb_state_named(sql) == ""


def test_no_function_of_a_from_is_let_through_unless_it_is_known_to_read_no_state() -> None:
    """A release of DuckDB that brings another one has it looked at here."""
    found = duckdb.sql("SELECT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'table_macro')")
    free = {name for (name,) in found.fetchall() if not duckdb_state_named(f"FROM {name}('t', a)")}
    assert free <= _OF_DATA | _OF_NOTHING
