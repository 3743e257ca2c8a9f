"""Joins that ask for a row, or for none, and outer joins that keep those without any."""

from __future__ import annotations

import re
from random import Random

import duckdb
import pytest
from analysts import questions, read

from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.tree import Aggregate, walk
from agro_data.prompts.vary_query import KINDS
from agro_data.synthesis.read_back.reading import Unread, read_intent
from agro_data.synthesis.variations import vary


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ('SELECT name FROM customers c ANTI JOIN "order" o ON o.customer_id = c.customer_id', "related_none"),
        ('SELECT name FROM customers ANTI JOIN "order" USING (customer_id) WHERE city = \'Oslo\'', "related_none"),
        ('SELECT name FROM customers c SEMI JOIN "order" o ON c.customer_id = o.customer_id AND status = \'open\'',
         "related_exists"),
        ('SELECT name FROM customers c LEFT JOIN "order" o USING (customer_id) WHERE o.order_id IS NULL',
         "related_none"),
        ('SELECT name FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id AND o.total > 400'
         " WHERE o.customer_id IS NULL AND (city = 'Oslo' OR birth_year > 1990)", "related_none"),
        ('SELECT COUNT(*) FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id'
         " WHERE o.order_id IS NULL", "related_none"),
    ],
)  # fmt: skip
def test_joins_that_ask_for_a_row_are_conditions(
    sql: str, shape: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    assert intent.shape == shape
    rows = [sorted(map(repr, connection.execute(s).fetchall())) for s in (sql, render_sql(intent, atlas.profile))]
    assert rows[0] == rows[1] != []


@pytest.mark.parametrize(
    "asked",
    [
        'o.status FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id WHERE o.order_id IS NULL',
        'name FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id'
        " WHERE o.order_id IS NULL OR c.city = 'Oslo'",
        "e.salary FROM employees e LEFT JOIN employees m ON m.employee_id = e.manager_id WHERE m.manager_id IS NULL",
        'name FROM customers c RIGHT JOIN "order" o ON o.customer_id = c.customer_id WHERE o.order_id IS NULL',
    ],
)
def test_other_outer_joins_are_not_conditions(asked: str, atlas: Atlas) -> None:
    found = read_intent(f"SELECT {asked}", atlas)
    assert isinstance(found, Unread)
    assert found.kind == "outer_join", found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('o.order_id, c.name FROM "order" o LEFT JOIN customers c USING (customer_id) WHERE total > 800', "800"),
        ('name FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id WHERE o.total > 880', "880"),
        ('name, quantity FROM customers c LEFT JOIN "order" o USING (customer_id) LEFT JOIN order_items i'
         " ON o.order_id = i.order_id WHERE quantity > 3", "3"),
        ('COUNT(*) FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id JOIN order_items i'
         " USING (order_id) WHERE c.city = 'Oslo'", "Oslo"),
        ('c.city, AVG(total) FROM "order" o LEFT JOIN customers c USING (customer_id) GROUP BY c.city', "at least one"),
        ('name, SUM(total) AS t FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY c.customer_id, name'
         " ORDER BY t DESC LIMIT 3", "3 customers"),
        ('name, COUNT(order_id) AS n FROM customers c LEFT JOIN "order" o USING (customer_id)'
         " GROUP BY c.customer_id, name HAVING n > 4", "more than (?:4|four)"),
        ('name, COUNT(order_id) AS n FROM customers c LEFT JOIN "order" o USING (customer_id)'
         " GROUP BY c.customer_id, name ORDER BY n DESC", "(?:including|with 0 for) (?:customers|those)"),
        ('c.customer_id, name, COUNT(DISTINCT order_id) FROM customers c LEFT JOIN "order" o USING (customer_id)'
         " GROUP BY 1, 2", "(?:including|with 0 for) (?:customers|those)"),
    ],
)  # fmt: skip
def test_outer_joins_that_are_said(asked: str, said: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection) -> None:
    intent = read(f"SELECT {asked}", atlas)
    rows = [connection.execute(s).fetchall() for s in (f"SELECT {asked}", render_sql(intent, atlas.profile))]
    assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1])) != []
    for question in questions(intent, atlas):
        assert re.search(said, question), question


@pytest.mark.parametrize(
    "asked",
    [
        'c.name, COUNT(*) FROM "order" o JOIN customers c USING (customer_id) GROUP BY c.name',
        'c.name FROM "order" o JOIN customers c USING (customer_id) GROUP BY c.name HAVING COUNT(*) > 3',
        'c.name, COUNT(o.order_id) FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY c.name',
        'c.name, o.total FROM "order" o JOIN customers c USING (customer_id)'
        " QUALIFY RANK() OVER (PARTITION BY c.name ORDER BY o.total DESC) = 1",
    ],
)
def test_customers_are_told_apart_by_their_key(asked: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection) -> None:
    sql = render_sql(read(f"SELECT {asked}", atlas), atlas.profile)
    assert re.search(r"(GROUP|PARTITION) BY \w+\.customer_id, \w+\.name", sql)
    rows = [sorted(connection.execute(one).fetchall()) for one in (f"SELECT {asked}", sql)]
    assert rows[0] == rows[1] != []


def test_a_count_with_those_without_any_is_varied_as_a_count(atlas: Atlas) -> None:
    sql = (
        'SELECT name, COUNT(order_id) FROM customers c LEFT JOIN "order" USING (customer_id) GROUP BY 1, c.customer_id'
    )
    intent = read(sql, atlas)
    counted = next(node for node in walk(intent.query) if isinstance(node, Aggregate))
    for kind in KINDS:
        for made in vary(intent, kind, atlas, Random(1), default_prior()) if kind != "advanced" else ():
            figures = [node for node in walk(made.query) if isinstance(node, Aggregate)]
            assert set(figures) == {counted}, render_sql(made, atlas.profile)


@pytest.mark.parametrize(
    "asked",
    [
        'name, COUNT(*) FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY c.customer_id, name',
        'name, SUM(total) FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY c.customer_id, name',
        'c.city, COUNT(o.order_id) FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY c.city',
        'name, COUNT(o.order_id) FROM customers c LEFT JOIN "order" o ON o.customer_id = c.customer_id AND total > 9'
        " GROUP BY c.customer_id, name",
        "e.first_name, m.last_name FROM employees e LEFT JOIN employees m ON m.employee_id = e.manager_id",
    ],
)
def test_what_else_keeps_rows_without_another_is_not_said(asked: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT {asked}", atlas), Unread)
