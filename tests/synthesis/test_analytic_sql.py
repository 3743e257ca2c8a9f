"""What analysts write in warehouses: figures under a condition, rounded figures, months; read, and asked whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from random import Random

import duckdb
import pytest
from intent import shop

from agro_data.intent.questions import render_question
from agro_data.intent.questions.styles import STYLES
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.steps.decompose import decompose
from agro_data.intent.tree import Aggregate, Intent, walk
from agro_data.prompts.vary_query import KINDS
from agro_data.synthesis.read_back.reading import Unread, read_intent
from agro_data.synthesis.variations import vary

Rows = Sequence[tuple[object, ...]]


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return Atlas(shop.profile("duckdb"))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(shop.build_duckdb()) as opened:
        yield opened


def read(sql: str, atlas: Atlas) -> Intent:
    intent = read_intent(sql, atlas, seed=1)
    assert isinstance(intent, Intent), intent
    return intent


def questions(intent: Intent, atlas: Atlas) -> list[str]:
    return [render_question(intent, atlas.profile, style, seed).text for style in STYLES for seed in range(4)]


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
    ("part", "said"),
    [
        ("DATE_TRUNC('month', ordered)", "month (YYYY-MM)"),
        ("DATE_TRUNC('month', ordered)::DATE", "month (YYYY-MM)"),
        ("STRFTIME(ordered, '%Y-%m')", "month (YYYY-MM)"),
        ("EXTRACT(MONTH FROM ordered)", "calendar month"),
        ("DATE_TRUNC('year', ordered)", "year"),
        ("EXTRACT(YEAR FROM ordered)::INT", "year"),
        ("EXTRACT(DOW FROM ordered)", "weekday"),
        ("DAYNAME(ordered)", "weekday"),
    ],
)
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_groups_of_a_calendar_are_the_same_groups(part: str, said: str, kind: str) -> None:
    profile = shop.profile("duckdb")
    tables = [
        replace(
            t,
            columns=tuple(replace(c, declared_type=kind) if c.name == "ordered" else c for c in t.columns),
        )
        for t in profile.tables
    ]
    atlas = Atlas(replace(profile, tables=tuple(tables)))
    sql = f'SELECT {part} AS part, COUNT(*), SUM(total) FROM "order" GROUP BY part'
    intent = read(sql, atlas)
    with closing(shop.build_duckdb()) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; ALTER TABLE \"order\" ALTER ordered TYPE {kind}")
        figures = [
            sorted((n, round(total, 2)) for _, n, total in connection.execute(s).fetchall())
            for s in (sql, render_sql(intent, atlas.profile))
        ]
    assert figures[0] == figures[1]
    for question in questions(intent, atlas):
        assert said in question
        assert ("UTC" in question) == kind.endswith("ZONE"), question


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


FIRST = "ROW_NUMBER() OVER (PARTITION BY city ORDER BY salary DESC) AS n FROM employees"
RANKED = (
    f"SELECT city, last_name, salary FROM (SELECT *, {FIRST}) AS ranked WHERE n = 1",
    f"WITH r AS (SELECT city, last_name, salary, {FIRST}) SELECT last_name, city FROM r WHERE n <= 2",
    f"SELECT * EXCLUDE (n) FROM (SELECT last_name, salary, city, {FIRST}) AS q WHERE n < 2",
    "SELECT city, last_name FROM employees QUALIFY RANK() OVER (PARTITION BY city ORDER BY salary, employee_id) = 1",
    "SELECT c.name, o.order_id, o.total FROM \"order\" o JOIN customers c ON c.customer_id = o.customer_id"
    " WHERE o.status = 'open' QUALIFY ROW_NUMBER() OVER (PARTITION BY o.customer_id ORDER BY o.total DESC) = 1",
    "SELECT DISTINCT ON (city) city, last_name FROM employees ORDER BY city, salary DESC",
)  # fmt: skip


@pytest.mark.parametrize("sql", RANKED)
def test_the_first_rows_of_each_group_are_asked_with_ties(
    sql: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    assert (intent.shape, intent.tie_policy) == ("top_per_group", "include_ties")
    rows = [sorted(map(repr, connection.execute(s).fetchall())) for s in (sql, render_sql(intent, atlas.profile))]
    assert rows[0] == rows[1] != []
    for question in questions(intent, atlas):
        assert re.search("[Ff]or (?:each|every) (?:city|customer)", question), question
        assert "ties" in question or "tie for" in question, question
        assert ("among" in question.lower()) == ("'open'" in sql), question


@pytest.mark.parametrize(
    ("sql", "shape", "said"),
    [
        ("SELECT last_name, RANK() OVER (ORDER BY salary DESC) FROM employees", "window", "rank by salary"),
        ("SELECT last_name, DENSE_RANK() OVER (PARTITION BY city ORDER BY salary) FROM employees WHERE salary > 2000",
         "window", "[Aa]mong employees .*2000.*without gaps"),
        ("SELECT city, SUM(salary) FROM employees GROUP BY city QUALIFY RANK() OVER (ORDER BY SUM(salary) DESC) <= 3",
         "superlative_group", "3 cities"),
        ("SELECT last_name FROM employees QUALIFY ROW_NUMBER() OVER (ORDER BY salary DESC) <= 3", "superlative",
         "3 .*employees|three"),
        ("SELECT STRFTIME(ordered, '%Y') AS y, status, COUNT(*) FROM \"order\" GROUP BY 1, 2 ORDER BY 1, 2",
         "date_group", "combination"),
        ("SELECT DAYNAME(ordered) AS d, COUNT(*) FROM \"order\" GROUP BY d ORDER BY d", "date_group", "weekday"),
        ("SELECT CASE WHEN salary < 2000 THEN 'a' WHEN salary < 4000 THEN 'b' ELSE 'c' END AS band, COUNT(*)"
         " FROM employees GROUP BY 1 ORDER BY 2", "buckets",
         '"a" below 2000, "b" from 2000 to below 4000,? and "c" from'),
        ("SELECT CASE WHEN salary >= 4000 THEN 'a' WHEN salary >= 2000 THEN 'b' ELSE 'c' END AS band, AVG(salary)"
         " FROM employees WHERE city = 'Oslo' GROUP BY band", "buckets",
         'Oslo.*"c" below 2000, "b" from 2000 to below 4000,? and "a" from'),
    ],
)  # fmt: skip
def test_places_of_rows_and_periods_are_asked(
    sql: str, shape: str, said: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    assert intent.shape == shape
    written, asked = (connection.execute(s).fetchall() for s in (sql, render_sql(intent, atlas.profile)))
    assert [row[1:] for row in sorted(written)] == [row[1:] for row in sorted(asked)] != []
    for question in questions(intent, atlas):
        assert re.search(said, question), question


@pytest.mark.parametrize(
    "asked",
    [
        "last_name FROM employees QUALIFY RANK() OVER (PARTITION BY city ORDER BY salary) = 2",
        "last_name FROM employees QUALIFY ROW_NUMBER() OVER (ORDER BY salary DESC) <= 3 ORDER BY hired LIMIT 9",
        "last_name FROM employees QUALIFY RANK() OVER (PARTITION BY city ORDER BY salary) = 1",
        "manager_id, last_name FROM employees QUALIFY RANK() OVER (PARTITION BY manager_id ORDER BY salary) = 1",
        "last_name, ROW_NUMBER() OVER (ORDER BY salary) FROM employees",
        "last_name, RANK() OVER (ORDER BY salary, hired) FROM employees",
        'order_id, SUM(total) OVER (ORDER BY status) FROM "order"',
        'order_id, SUM(total) OVER (PARTITION BY status) FROM "order"',
    ],
)
def test_other_windows_are_not_read(asked: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT {asked}", atlas), Unread)


@pytest.mark.parametrize(
    "case",
    [
        "WHEN salary < 4000 THEN 'a' WHEN salary < 2000 THEN 'b' ELSE 'c'",
        "WHEN salary < 2000 THEN 'a' WHEN hired < '2015-01-01' THEN 'b' ELSE 'c'",
        "WHEN salary < 2000 THEN 'a' WHEN salary < 4000 THEN 'b'",
        "WHEN salary <= 2000 THEN 'a' ELSE 'b'",
        "WHEN salary < 2000 THEN 'a' WHEN salary < 4000 THEN 'a' ELSE 'b'",
    ],
)
def test_other_labels_are_no_bands(case: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT CASE {case} END AS band, COUNT(*) FROM employees GROUP BY 1", atlas), Unread)


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
    share = '* SUM(CASE WHEN total > 700.5 THEN 1 ELSE 0 END) / COUNT(*) FROM "order"'
    assert isinstance(read_intent(f"SELECT 100 {share}", atlas), Unread)
    assert isinstance(read_intent(f"SELECT 100.0 {share}", atlas), Intent)


@pytest.mark.parametrize(
    "asked",
    [
        'YEAR(ordered) AS y, MONTH(ordered) AS m, COUNT(*), SUM(total) FROM "order" GROUP BY 1, 2',
        'YEAR(ordered) AS y, MONTH(ordered) AS m, COUNT(*), SUM(total) FROM "order" GROUP BY m, y ORDER BY y, m',
    ],
)
def test_a_year_and_its_month_are_one_month(asked: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection) -> None:
    intent = read(f"SELECT {asked}", atlas)
    written = connection.execute(f"SELECT {asked}").fetchall()
    rows = connection.execute(render_sql(intent, atlas.profile)).fetchall()
    in_order = "ORDER" in asked
    months = [(f"{year}-{month:02}", count, pytest.approx(total)) for year, month, count, total in written]
    assert (rows if in_order else sorted(rows)) == (months if in_order else sorted(months, key=lambda row: row[0]))
    for question in questions(intent, atlas):
        assert "month (YYYY-MM)" in question


@pytest.mark.parametrize(
    "asked",
    [
        'MONTH(ordered) AS m, COUNT(*) FROM "order" GROUP BY YEAR(ordered), 1',
        'YEAR(ordered) AS y, MONTH(ordered) AS m, COUNT(*) FROM "order" GROUP BY 1, 2 ORDER BY m, y',
    ],
)
def test_a_month_without_its_year_is_another(asked: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT {asked}", atlas), Unread)
