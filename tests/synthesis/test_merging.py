"""Queries laid out in named parts are read as the one question that they are, and give the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from intent import shop
from synthesis.running import rows

from agro_data.databases.types import Dialect
from agro_data.sql.names.scope import Schema
from agro_data.sql.parse import parse_select
from agro_data.synthesis.literals import anonymised
from agro_data.synthesis.read_back.merging import merged

ONE_SELECT = [
    'WITH orders AS (SELECT * FROM "order"), late AS (SELECT * FROM orders WHERE total > 400)'
    " SELECT status, COUNT(*) AS n FROM late GROUP BY 1 ORDER BY n DESC, 1",
    'WITH o AS (SELECT * FROM "order"), c AS (SELECT customer_id AS id, name, city FROM customers), final AS ('
    "SELECT c.id, c.name, COUNT(o.order_id) AS orders FROM c LEFT JOIN o ON o.customer_id = c.id GROUP BY 1, 2)"
    " SELECT * FROM final",
    "WITH o AS (SELECT customer_id, total FROM \"order\"), c AS (SELECT customer_id, name FROM customers)"
    " SELECT name, SUM(total) FROM c JOIN o USING (customer_id) GROUP BY name",
    'WITH r AS (SELECT status AS s, SUM(total) AS rev, COUNT(*) AS n FROM "order" GROUP BY status)'
    " SELECT rev, s FROM r WHERE n > 20 AND s <> 'open' ORDER BY rev DESC LIMIT 1",
    'SELECT q.s, COUNT(*) FROM (SELECT status AS s, total * 2 AS t FROM "order" WHERE total > 50) AS q'
    " WHERE q.t > 300 OR q.s = 'open' GROUP BY q.s",
    'SELECT c.name, o.total FROM customers c LEFT JOIN (SELECT * FROM "order" WHERE total > 800) o'
    " ON o.customer_id = c.customer_id",
    'SELECT c.name, x.title FROM (SELECT i.price, o.customer_id, p.title FROM "order" o JOIN order_items i USING'
    " (order_id) JOIN products p ON p.product_id = i.product_id WHERE o.total > 700) x JOIN customers c"
    " ON c.customer_id = x.customer_id WHERE c.city = 'Oslo' OR x.price < 40",
    'SELECT name FROM customers WHERE customer_id IN (SELECT customer_id FROM (SELECT * FROM "order") AS q'
    " WHERE total > 800)",
    'SELECT total FROM (SELECT status, total FROM "order" ORDER BY total DESC LIMIT 3) AS q',
    "WITH k (a, b) AS (SELECT name, city FROM customers) SELECT a FROM k WHERE b = 'Oslo'",
]  # fmt: skip
AS_WRITTEN = [
    'SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM "order" GROUP BY customer_id) AS q',
    "SELECT city FROM (SELECT DISTINCT city, birth_year FROM customers) AS q",
    "SELECT total FROM (SELECT status, total FROM \"order\" ORDER BY total DESC LIMIT 9) AS q WHERE status = 'open'",
    "SELECT c.name, q.flag FROM customers c LEFT JOIN (SELECT customer_id, COALESCE(status, 'none') AS flag"
    ' FROM "order" WHERE total > 880) q ON q.customer_id = c.customer_id',
    'SELECT n FROM (SELECT COUNT(*) AS n FROM "order") AS q WHERE n > 1000',
    "WITH RECURSIVE u (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM u WHERE n < 3) SELECT n FROM u",
    'SELECT k, COUNT(*) FROM (SELECT 1 AS k FROM "order") AS q GROUP BY k',
    'SELECT c.name, q.last_name FROM customers c JOIN (SELECT e.employee_id AS k, e.last_name FROM "order" o RIGHT JOIN'
    " employees e ON e.employee_id = o.employee_id AND o.total > 850) q ON q.k = c.customer_id",
    "SELECT quantity, (SELECT name FROM customers WHERE customer_id = q.n) FROM (SELECT quantity, COUNT(*) AS n"
    " FROM order_items GROUP BY quantity) AS q",
]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(shop.build_duckdb()) as opened:
        yield opened


def selects(sql: str, dialect: Dialect, schema: Schema) -> tuple[int, str]:
    tree = merged(parse_select(sql, dialect), dialect, schema)
    text = tree.sql(dialect)
    return text.count("SELECT"), text


@pytest.mark.parametrize("sql", ONE_SELECT)
def test_queries_in_a_from_are_written_in_their_place(
    sql: str, database: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    for dialect in ("sqlite", "duckdb"):
        number, text = selects(sql, dialect, shop.profile(dialect).schema)
        assert number == 1 + sql.count(" IN (SELECT"), text
        both = [
            connection.execute(one).fetchall() if dialect == "duckdb" else rows(database, one) for one in (sql, text)
        ]
        assert sorted(map(repr, both[0])) == sorted(map(repr, both[1])) != []


@pytest.mark.parametrize("sql", AS_WRITTEN)
def test_what_would_be_another_query_stays_as_it_is(sql: str) -> None:
    tree = parse_select(sql, "duckdb")
    assert merged(tree, "duckdb", shop.profile("duckdb").schema) is tree


def test_a_value_is_found_behind_the_names_of_queries() -> None:
    sql = (
        "WITH o AS (SELECT *, total AS t FROM \"order\"), p AS (SELECT * FROM o WHERE status = 'open') SELECT t FROM p"
    )
    assert "open" not in anonymised(sql, "sqlite", shop.profile().schema)


def test_a_place_among_rows_is_a_condition_only_where_it_is_asked_for() -> None:
    sql = (
        "SELECT name FROM (SELECT name, ROW_NUMBER() OVER (PARTITION BY city ORDER BY birth_year) AS n FROM customers)"
    )
    tree, schema = parse_select(f"{sql} AS q WHERE n = 1", "duckdb"), shop.profile("duckdb").schema
    assert merged(tree, "duckdb", schema) is tree
    assert "QUALIFY" in merged(tree, "duckdb", schema, ranks=True).sql("duckdb")
