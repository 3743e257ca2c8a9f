from __future__ import annotations

from contextlib import suppress
from time import process_time

import duckdb
import pytest

from agro_data.databases.types import Dialect
from agro_data.sql.facts import sql_facts
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.parse import DEEPEST, SqlRefused, parse_select


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT a FROM t;",
        "WITH c AS (SELECT a FROM t) SELECT * FROM c",
        "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1 LIMIT 3",
        "SELECT SUM(a) OVER (PARTITION BY b ORDER BY c ROWS UNBOUNDED PRECEDING) FROM t",
        "SELECT CASE WHEN a > 1 THEN 'x' END, a || b, CAST(a AS REAL) FROM t WHERE a IN (1, 2) AND b LIKE '%x'",
    ],
)
def test_one_query_is_parsed(sql: str, dialect: Dialect) -> None:
    assert parse_select(sql, dialect).key in {"select", "union"}


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("sql", ["SELECT COUNT() FROM t", "SELECT count( /* rows */ ) OVER () FROM t"])
def test_a_count_of_nothing_counts_rows(sql: str, dialect: Dialect) -> None:
    assert "COUNT(*)" in sql_text(parse_select(sql, dialect), dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("", "syntax"),
        ("SELECT", "syntax"),
        ("SELECT (", "syntax"),
        ("SELEC a FROM t", "syntax"),
        ("SELECT MAX() FROM t", "syntax"),
        ("SELECT MAX(DISTINCT) FROM t", "syntax"),
        ("SELECT COUNT(ORDER BY a) FROM t", "syntax"),
        ("SELECT 3.e FROM t", "syntax"),
        ("t INTERSECT SELECT 1", "syntax"),
        ("SELECT 1; SELECT 2", "multiple_statements"),
        ("SELECT 1; DROP TABLE t", "multiple_statements"),
        ("SELECT 1; -- and\nDROP TABLE t", "multiple_statements"),
        ("DROP TABLE t", "not_select"),
        ("DELETE FROM t", "not_select"),
        ("PRAGMA table_info(t)", "not_select"),
        ("ATTACH 'x' AS y", "not_select"),
        ("COPY t TO 'x'", "not_select"),
        ("SELECT 1 INTO x", "not_select"),
        ("SELECT ?", "not_select"),
        ("SELECT * FROM t TABLESAMPLE 5", "not_select"),
        ("PIVOT t ON a USING sum(b)", "not_select"),
        ("SELECT * FROM t UNPIVOT (v FOR n IN (a, b))", "not_select"),
        ("VALUES (1)", "not_select"),
        ("EXPLAIN SELECT 1", "not_select"),
    ],
)
def test_anything_else_is_refused_with_its_reason(sql: str, reason: str, dialect: Dialect) -> None:
    with pytest.raises(SqlRefused) as refused:
        parse_select(sql, dialect)
    # what one dialect cannot read at all, the other may know as a command
    assert refused.value.reason in {reason, "syntax"} if reason == "not_select" else refused.value.reason == reason
    assert refused.value.detail


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("PIVOT sale ON year USING sum(amount) GROUP BY city", "FILTER"),
        ("PIVOT sale ON year USING sum(amount) GROUP BY city ORDER BY city LIMIT 3", "FILTER"),
        ("SELECT * FROM (PIVOT sale ON year USING sum(amount) GROUP BY city ORDER BY city)", "FILTER"),
        ("SELECT * FROM sale PIVOT (sum(amount) FOR year IN (2020, 2021) GROUP BY city)", "FILTER"),
        ("UNPIVOT sale ON a, b INTO NAME n VALUE v", "UNION ALL"),
        ("UNPIVOT sale ON a, b INTO NAME n VALUE v ORDER BY v", "UNION ALL"),
        ("SELECT n FROM sale UNPIVOT (v FOR n IN (a, b)) AS u WHERE v > 2", "UNION ALL"),
    ],
)
def test_a_pivot_is_refused_with_what_to_write_instead(sql: str, why: str) -> None:
    with pytest.raises(SqlRefused, match=why) as refused:
        parse_select(sql, "duckdb")
    assert refused.value.reason == "not_select"


def test_a_column_may_be_called_pivot() -> None:
    assert parse_select("SELECT s.pivot, id AS pivot FROM sale AS s", "duckdb")
    with pytest.raises(SqlRefused) as refused:
        parse_select("SELECT s.pivot FROM sale AS s WHERE", "duckdb")
    assert refused.value.reason == "syntax"


@pytest.mark.parametrize(
    "sql",
    ["SELECT " + "(" * 5_000 + "1" + ")" * 5_000, f"SELECT {'+'.join('1' * 1_000)}", f"SELECT 1{' OR 1' * 3_900}"],
)
def test_deep_nesting_is_a_refusal_not_a_crash(sql: str) -> None:
    with pytest.raises(SqlRefused, match="too deeply"):
        parse_select(sql, "sqlite")


@pytest.mark.parametrize("times", [40, 700])
def test_comprehensions_within_each_other_take_no_time(times: int) -> None:
    start = process_time()
    with suppress(SqlRefused):
        parse_select("SELECT " + "[" * times + "1" + " FOR x IN l]" * times + " FROM t", "duckdb")
    assert process_time() - start < 2


def test_what_is_parsed_can_be_read_to_its_end() -> None:
    terms = DEEPEST - 5
    facts = sql_facts(f"SELECT {' + '.join(['a'] * terms)} FROM t", "sqlite", {"t": {"a": "INTEGER"}})
    assert facts.canonical.count("+") == terms - 1


def test_elements_of_elements_are_not_read_over_and_over() -> None:
    """sqlglot takes the cube of their number: 1,800 of them, which a turn has room for, half a minute."""
    parse_select("SELECT a" + "[1]" * 20 + " FROM t", "duckdb")
    parse_select("SELECT [[1], [2]][1][1], " + ", ".join(["a[1]"] * 200) + " FROM t", "duckdb")
    start = process_time()
    with pytest.raises(SqlRefused, match="elements"):
        parse_select("SELECT a" + "[1]" * 1_800 + " FROM t", "duckdb")
    assert process_time() - start < 5


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("SELECT year(day) AS y, kind, COUNT(*) FROM t GROUP BY ALL", "GROUP BY 1, 2"),
        ("SELECT COUNT(*), kind FROM t GROUP BY ALL HAVING COUNT(*) > 1", "GROUP BY 2 HAVING COUNT(*) > 1"),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", ""),
        ("SELECT *, COUNT(*) FROM t GROUP BY ALL", "GROUP BY ALL"),  # left as it is
        ("SELECT 'a', COUNT(*) FROM t GROUP BY ALL", "GROUP BY ALL"),  # of no rows no group, as without
    ],
)
def test_all_that_is_grouped_by_gets_its_places(sql: str, meant: str) -> None:
    said = parse_select(sql, "duckdb").sql("duckdb")
    assert said.partition(" FROM t")[2].strip() == meant


def test_what_is_grouped_by_all_is_what_its_places_say() -> None:
    rows = "(VALUES (1, 'a', 2), (1, 'b', 2), (3, 'a', 4)) AS t(x, k, n)"
    with duckdb.connect() as connection:
        for shown in ("x, COUNT(*)", "x + n AS s, k, SUM(n)", "k, x * 2", "COUNT(*), x IN (SELECT 1)"):
            sql = f"SELECT {shown} FROM {rows} GROUP BY ALL"
            meant = parse_select(sql, "duckdb").sql("duckdb")
            assert "ALL" not in meant
            assert sorted(connection.execute(sql).fetchall()) == sorted(connection.execute(meant).fetchall())
