"""Figures under a condition, rounded ones, and what is computed of them: read, and asked whole."""

from __future__ import annotations

import re
from dataclasses import replace

import duckdb
import pytest
from analysts import questions, read
from intent import shop

from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.steps.decompose import decompose
from agro_data.intent.tree import Intent
from agro_data.synthesis.read_back.reading import Unread, read_intent


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT COUNT(*) FILTER (WHERE status = 'open'), COUNT(*) FROM \"order\"", ["open", "all orders"]),
        ("SELECT COUNT_IF(status = 'open'), COUNT_IF(status = 'paid') FROM \"order\" WHERE total > 400",
         ["open", "paid", "400"]),
        ("SELECT COUNT(CASE WHEN status = 'open' THEN 1 END) FROM \"order\"", ["open"]),
        ("SELECT SUM(CASE WHEN status = 'open' THEN 1 ELSE 0 END) FROM \"order\"", ["open"]),
        ("SELECT SUM(IF(status = 'open', total, 0)), AVG(CASE WHEN status = 'paid' THEN total END) FROM \"order\"",
         ["open", "paid", "average"]),
        ("SELECT MAX(total) FILTER (status = 'open') FROM \"order\"", ["open"]),
        ("SELECT COUNT(DISTINCT CASE WHEN status = 'open' THEN customer_id END) FROM \"order\"", ["open"]),
        ("SELECT city, COUNT_IF((is_member) IS TRUE) FROM customers GROUP BY city", ["member", "0 where"]),
        ("SELECT city, COUNT_IF(birth_year > 1990) FROM customers GROUP BY city", ["1990", "0 where"]),
        ("SELECT COUNT_IF(birth_year > 1990), city FROM customers GROUP BY city", ["1990", "0 where"]),
        ("SELECT city, COUNT(*) AS n, COUNT(CASE WHEN birth_year > 1990 THEN 1 END) FROM customers"
         " GROUP BY city ORDER BY n DESC, city", ["1990", "number of customers", "0 where"]),
        ("SELECT status, SUM(CASE WHEN total > 700 THEN total ELSE 0 END) FROM \"order\" GROUP BY status",
         ["700", "0 where"]),
        ("SELECT c.name, COUNT(CASE WHEN o.status = 'open' THEN 1 END) FROM \"order\" o"
         " JOIN customers c ON c.customer_id = o.customer_id GROUP BY c.customer_id, c.name",
         ["open", "at least one order", "0 where"]),
        ("SELECT city, COUNT(notes) FROM customers GROUP BY city", ["notes", "0 where"]),
        ("SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY city NULLS FIRST", ["number of"]),
    ],
)  # fmt: skip
def test_each_condition_of_a_figure_is_asked(
    sql: str, said: list[str], atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    rows = [sorted(map(repr, connection.execute(s).fetchall())) for s in (sql, render_sql(intent, atlas.profile))]
    assert rows[0] == rows[1]
    for question in questions(intent, atlas):
        assert not [text for text in said if text not in question and text != "number of"], question


def test_steps_say_the_condition_of_a_figure(atlas: Atlas) -> None:
    sql = 'SELECT status, COUNT(*) n, SUM(IF(total > 700, total, 0)) FROM "order" GROUP BY status ORDER BY n'
    told = " ".join(step.intent for step in decompose(read(sql, atlas), atlas.profile))
    assert "700" in told


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT status, ROUND(AVG(total), 1) FROM "order" GROUP BY status',
        'SELECT status, CAST(SUM(total) AS DECIMAL(12, 1)) FROM "order" GROUP BY status',
        'SELECT status, ROUND(AVG(total), 1)::DOUBLE AS a FROM "order" GROUP BY status ORDER BY a DESC',
    ],
)
def test_a_figure_is_asked_without_its_digits(sql: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection) -> None:
    written, asked = (
        {row[0]: float(row[1]) for row in connection.execute(s).fetchall()}
        for s in (sql, render_sql(read(sql, atlas), atlas.profile))
    )
    assert written != asked
    assert written == pytest.approx(asked, abs=0.051)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT SUM(CASE WHEN status = 'open' THEN 2 ELSE 0 END) FROM \"order\"", "expression"),
        ("SELECT SUM(CASE WHEN status = 'open' THEN total ELSE 1 END) FROM \"order\"", "expression"),
        ("SELECT COUNT(CASE WHEN status = 'open' THEN 1 ELSE 0 END) FROM \"order\"", "expression"),
        ("SELECT COUNT(CASE status WHEN 'open' THEN 1 END) FROM \"order\"", "expression"),
        ("SELECT COUNT_IF(total > (SELECT AVG(total) FROM \"order\")) FROM \"order\"", "expression"),
        ("SELECT COUNT_IF((is_member) IS NOT TRUE) FROM customers", "condition"),
        ("SELECT city, AVG(salary) FILTER (WHERE salary > 3000) FROM employees GROUP BY city", "not_said"),
        ("SELECT status, COUNT_IF(total > 700) FROM \"order\" WHERE total > 50 GROUP BY status", "not_said"),
        ("SELECT customer_id, COUNT_IF(status = 'open') FROM \"order\" GROUP BY customer_id", "not_said"),
        ("SELECT city, COUNT_IF(birth_year > 1990) AS n FROM customers GROUP BY city ORDER BY n DESC LIMIT 1",
         "not_said"),
        ("SELECT city FROM customers GROUP BY city HAVING COUNT(CASE WHEN birth_year > 1990 THEN 1 END) > 3",
         "not_said"),
        ("SELECT c.name FROM \"order\" o JOIN customers c USING (customer_id) GROUP BY c.customer_id, c.name"
         " ORDER BY COUNT(*) LIMIT 1", "not_said"),
        ("SELECT city FROM customers WHERE birth_year > 1990 GROUP BY city ORDER BY COUNT(*) LIMIT 1", "not_said"),
        ("SELECT city FROM customers WHERE birth_year > 1990 GROUP BY city HAVING COUNT(*) > 1 ORDER BY COUNT(*)",
         "not_said"),
        ("SELECT city, COUNT(*) FROM customers WHERE birth_year > 1990 GROUP BY city HAVING COUNT(*) > 1", "not_said"),
        ("SELECT customer_id FROM \"order\" GROUP BY customer_id HAVING COUNT(*) < 3", "not_said"),
        ("SELECT c.name FROM \"order\" JOIN customers c USING (customer_id) GROUP BY c.customer_id, c.name"
         " HAVING SUM(total) <= 500", "not_said"),
        ("SELECT DAYNAME(ordered) AS d, MONTH(ordered) AS m, COUNT(*) FROM \"order\" GROUP BY d, m", "not_said"),
        ("SELECT ROUND(total, 2) FROM \"order\"", "expression"),
        ("SELECT MAX(max_stock - min_stock) FROM products", "expression"),
        ("SELECT AVG(price / quantity) FROM order_items", "expression"),
        ("SELECT SUM(quantity * order_id) FROM order_items", "expression"),
        ("SELECT AVG(CASE WHEN status = 'open' THEN 2 ELSE 0 END) FROM \"order\"", "expression"),
        ("SELECT SUM(total) / SUM(total) FROM \"order\"", "expression"),
        ("SELECT MAX(total) * MIN(total) FROM \"order\"", "expression"),
        ("SELECT AVG(total) / 60 FROM \"order\"", "expression"),
        ("SELECT MAX(ordered) - MIN(ordered) FROM \"order\"", "expression"),
        ("SELECT AVG(ordered) FROM \"order\"", "expression"),
        ("SELECT AVG(is_member) FILTER (WHERE city = 'Oslo') FROM customers", "expression"),
        ("SELECT SUM(salary) FROM \"order\" JOIN employees USING (employee_id) WHERE status = 'open'", "not_said"),
        ("SELECT city, AVG(salary) FROM \"order\" JOIN employees USING (employee_id) GROUP BY city", "not_said"),
        ("SELECT CASE WHEN COUNT(*) = 5 THEN 0 ELSE SUM(total) / COUNT(*) END FROM \"order\"", "condition"),
        ("SELECT STDDEV(total) / AVG(total) FROM \"order\"", "expression"),
        ("SELECT (SUM(max_stock) - SUM(min_stock)) / NULLIF(SUM(min_stock), 0) FROM products", "expression"),
        ("SELECT status, COUNT(*) / COUNT_IF(total > 700) FROM \"order\" GROUP BY status", "not_said"),
        ("SELECT COALESCE(SUM(total), 5) FROM \"order\"", "expression"),
        ("SELECT 100.0 * SUM(IF(status = 'open', total, 0)) / COUNT(*) FROM \"order\"", "expression"),
        ("SELECT status, COUNT(*), 100.0 * COUNT_IF(total > 9) / COUNT(*) FROM \"order\" GROUP BY status", "not_said"),
        ("SELECT CAST(total AS INTEGER) FROM \"order\"", "expression"),
        ("SELECT SUM(CAST(total AS DECIMAL(9, 0))) FROM \"order\"", "expression"),
        ("SELECT ROUND(SUM(total), -3) FROM \"order\"", "expression"),
        ("SELECT DATE_TRUNC('week', ordered) AS w, COUNT(*) FROM \"order\" GROUP BY w", "expression"),
        ("SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY MIN(notes) NULLS FIRST", "order"),
    ],
)  # fmt: skip
def test_what_no_question_says_is_not_read(sql: str, kind: str, atlas: Atlas) -> None:
    found = read_intent(sql, atlas)
    assert isinstance(found, Unread), render_question(found, atlas.profile, "interrogative", 1).text
    assert found.kind == kind, found


@pytest.mark.parametrize(
    ("sql", "shape", "said"),
    [
        ("SELECT 100.0 * COUNT(*) FILTER (WHERE status = 'open') / COUNT(*) FROM \"order\"", "share", "percentage"),
        ("SELECT SUM(IF(status = 'open', 1, 0)) * 100 / NULLIF(COUNT(*), 0) FROM \"order\"", "share", "percentage"),
        ("SELECT city, COUNT_IF(birth_year > 1990) / COUNT(*) * 100 AS p FROM customers GROUP BY city ORDER BY p DESC",
         "share", "percentage"),
        ("SELECT 100.0 * COUNT_IF(status = 'open') / COUNT(employee_id) FROM \"order\"", "share", "percentage"),
        ("SELECT city, AVG(CASE WHEN birth_year > 1990 THEN 1.0 ELSE 0.0 END) * 100 AS p FROM customers GROUP BY city"
         " ORDER BY p", "share", "percentage of .*1990"),
        ("SELECT status, 100 * AVG(CASE WHEN total > 700 THEN 1.0 ELSE 0 END) FROM \"order\" GROUP BY status", "share",
         "percentage of .*700"),
        ("SELECT COALESCE(SUM(total), 0) FROM \"order\" WHERE status = 'open'", "aggregate", "open"),
        ("SELECT SUM(status = 'open') FROM \"order\"", "count", "open"),
        ("SELECT SUM(is_member) FROM customers WHERE city = 'Oslo'", "count", "member"),
        ("SELECT status, SUM(total) / COUNT(*) FROM \"order\" GROUP BY status", "group", "average|mean"),
        ("SELECT SUM(total) / COUNT(DISTINCT customer_id) FROM \"order\" WHERE status = 'open'", "arithmetic",
         "[Aa]mong .*open.*ratio of .* to the number of \\w+ customers"),
        ("SELECT CASE WHEN SUM(quantity) <> 0 THEN SUM(price) / SUM(quantity) ELSE NULL END FROM order_items",
         "arithmetic", "ratio of the total price of order items to the total quantity of order items"),
        ("SELECT SUM(IF(total > 100, total, 0)) / COUNT(*) FROM \"order\"", "arithmetic",
         "atio of .*100.* to"),
        ("SELECT SUM(IF(status = 'open', total, 0)) / SUM(total) FROM \"order\"", "arithmetic",
         "ratio of .*open.* to .* all orders"),
        ("SELECT city, MAX(salary) - MIN(salary) FROM employees WHERE salary > 1600 GROUP BY city", "group",
         "1600.*difference between the \\w+ and the \\w+ salary"),
        ("SELECT MAX(total) FILTER (status = 'open') - MIN(total) FILTER (status = 'open') FROM \"order\"",
         "arithmetic", "difference between .*open"),
        ("SELECT SUM(max_stock) - SUM(min_stock) FROM products", "arithmetic", "max stock of products minus"),
        ("SELECT COUNT(DISTINCT o.order_id), COUNT(DISTINCT c.customer_id) FROM \"order\" o"
         " JOIN customers c USING (customer_id)", "aggregate", "number of orders.*number of \\w+ customers"),
        ("SELECT SUM(quantity * price) FROM order_items", "arithmetic", "quantity"),
        ("SELECT order_id, AVG(price * quantity) FROM order_items GROUP BY order_id", "group", "quantity"),
        ("SELECT SUM(max_stock - min_stock) FROM products", "arithmetic", "min stock"),
        ("SELECT city, COUNT(*) AS n FROM customers GROUP BY city HAVING COUNT(*) > 9 ORDER BY n DESC", "having",
         "descending order|highest to lowest"),
        ("SELECT AVG(salary::DOUBLE), MAX(CAST(salary AS FLOAT8)) FROM employees WHERE CAST(salary AS DOUBLE) > 2000",
         "aggregate", "2000"),
    ],
)  # fmt: skip
def test_what_is_computed_of_rows_is_asked(
    sql: str, shape: str, said: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    assert intent.shape == shape
    written, asked = (connection.execute(s).fetchall() for s in (sql, render_sql(intent, atlas.profile)))
    assert len(written) == len(asked) > 0
    for one, other in zip(sorted(written), sorted(asked), strict=True):
        assert one == pytest.approx(other)
    for question in questions(intent, atlas):
        assert re.search(said, question), question


def test_a_sum_of_differences_is_asked_where_both_sides_are_known(atlas: Atlas) -> None:
    """Else it is another than the difference of the sums, which the same words may mean."""
    profile = atlas.profile
    tables = [
        replace(t, columns=tuple(replace(c, null_share=0.1) if c.name == "min_stock" else c for c in t.columns))
        for t in profile.tables
    ]
    unsure = Atlas(replace(profile, tables=tuple(tables)))
    sql = "SELECT SUM(max_stock - min_stock) FROM products"
    assert isinstance(read_intent(sql, unsure), Unread)
    assert isinstance(read_intent(f"{sql} WHERE min_stock IS NOT NULL", unsure), Intent)


def test_sqlite_divides_whole_numbers() -> None:
    atlas = Atlas(shop.profile())
    over, under = "SUM(CASE WHEN total > 700.5 THEN 1 ELSE 0 END)", "COUNT(*)"
    cut = [f"100 * {over} / {under}", f"{over} / {under} * 100.0", f"100.0 * ({over} / {under})"]
    whole = [f"100.0 * {over} / {under}", f"{over} / ({under} * 1.0) * 100", f"1.0 / {under} * {over}"]
    found = [type(read_intent(f'SELECT {figure} FROM "order"', atlas)) for figure in (*cut, *whole)]
    assert found == [Unread] * 3 + [Intent] * 3
