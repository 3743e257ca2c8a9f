"""SQL read back into intents: what is read means what was written, and the rest says why it is not."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import duckdb
import pytest
from intent import shop
from making import profile_of
from synthesis.running import answer

from agro_data.databases.discovery.catalog import find_databases
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import Intent, Value, walk
from agro_data.profiling.cache import cached_profile
from agro_data.synthesis.read_back.reading import Unread, read_intent

ON_ONE_NAME = re.compile(r" ON T\d\.(\w+) *= *T\d\.\1(?!\w)", re.IGNORECASE)


def test_what_the_grammar_says_is_read_back(atlas: Atlas, database: Path) -> None:
    found = Counter[bool]()
    for intent in islice(sample_intents(atlas.profile, seed=3), 300):
        sql = render_sql(intent, atlas.profile)
        again = read_intent(sql, atlas)
        found[isinstance(again, Intent)] += 1
        if isinstance(again, Intent):
            assert answer(database, render_sql(again, atlas.profile)) == answer(database, sql), sql
    assert found[True] > 0.6 * found.total(), "windows, CTEs, CASE and the like are not read"


def test_duckdb_is_read_as_well() -> None:
    profile = shop.profile("duckdb")
    atlas, found = Atlas(profile), 0
    with closing(shop.build_duckdb()) as connection:
        for intent in islice(sample_intents(profile, seed=4), 120):
            sql = render_sql(intent, profile)
            again = read_intent(sql, atlas)
            if isinstance(again, Intent):
                found += 1
                rows = [sorted(map(repr, connection.execute(s).fetchall())) for s in (sql, render_sql(again, profile))]
                assert rows[0] == rows[1], sql
    assert found > 60


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("SELECT Name FROM Customers WHERE city = 'Lyon' AND birth_year > 1980 ORDER BY name", "list"),
        ('select count(*) from customers c, "order" o'
         " where o.customer_id = c.customer_id and c.city = 'Oslo'", "count"),
        ("SELECT AVG(salary), MAX(salary) FROM employees", "aggregate"),
        ('SELECT title FROM products WHERE title LIKE "%Kite%"', "list"),
        ("SELECT city, COUNT(*) AS n FROM customers GROUP BY 1 ORDER BY n DESC, city", "group"),
        ("SELECT city FROM customers GROUP BY city HAVING 3 < COUNT(*)", "having"),
        (
            'SELECT c.name, COUNT(*) FROM customers c JOIN "order" o ON c.customer_id = o.customer_id'
            " GROUP BY o.customer_id ORDER BY COUNT(*) DESC LIMIT 1",
            "superlative_group",
        ),
        ("SELECT title FROM products ORDER BY \"unit price\" DESC LIMIT 3", "superlative"),
        ("SELECT name FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM \"order\")", "related_none"),
        (
            "SELECT name FROM customers c WHERE EXISTS"
            " (SELECT 1 FROM \"order\" o WHERE o.customer_id = c.customer_id AND o.status = 'open')",
            "related_exists",
        ),
        ("SELECT last_name FROM employees WHERE salary > (SELECT AVG(salary) FROM employees)", "compare_average"),
        ("SELECT last_name FROM employees WHERE salary = (SELECT MAX(salary) FROM employees)", "extreme"),
        ("SELECT city FROM customers WHERE birth_year < 1960"
         " INTERSECT SELECT city FROM customers WHERE birth_year > 1990",
         "set_operation"),
        ("SELECT COUNT(*) FROM \"order\" WHERE STRFTIME('%Y', ordered) = '2020'", "count"),
        ("SELECT CAST(strftime('%Y', ordered) AS INT), COUNT(*) FROM \"order\" GROUP BY 1", "date_group"),
        ("SELECT title FROM products WHERE NOT (title NOT LIKE '%Kite%')", "list"),
        ("SELECT last_name FROM employees WHERE manager_id IS NOT NULL ORDER BY manager_id LIMIT 1", "superlative"),
        ("SELECT city FROM employees GROUP BY city ORDER BY COUNT(DISTINCT manager_id) LIMIT 1", "superlative_group"),
        ('SELECT status FROM "order" WHERE customer_id IN'
         " (SELECT customer_id FROM customers WHERE city = 'Oslo')", "list"),
        ("SELECT name FROM customers c WHERE EXISTS"
         " (SELECT * FROM \"order\" o WHERE o.customer_id = c.customer_id AND o.status = 'open')", "related_exists"),
        ('SELECT name FROM customers c WHERE NOT EXISTS'
         ' (SELECT o.* FROM "order" o WHERE o.customer_id = c.customer_id)', "related_none"),
        ("SELECT name, status FROM \"order\" JOIN customers USING (customer_id) WHERE city = 'Oslo'", "list"),
        ('SELECT name, status FROM "order" NATURAL JOIN customers WHERE total > 800', "list"),
        ('SELECT i.quantity, e.city FROM order_items i LEFT JOIN "order" o USING (order_id)'
         " LEFT JOIN employees e USING (employee_id)", "list"),
        ('SELECT c.customer_id, COUNT(*) FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY 1'
         " HAVING COUNT(o.order_id) > 1", "having"),
        ('SELECT name FROM customers c WHERE EXISTS (SELECT * FROM "order" o JOIN employees e USING (employee_id)'
         " WHERE o.customer_id = c.customer_id AND e.city = 'Oslo')", "related_exists"),
        ('SELECT status, COUNT(*) FROM (SELECT o.* FROM "order" o JOIN customers c USING (customer_id)'
         " WHERE c.city = 'Oslo') t GROUP BY status", "group"),
        ('SELECT Customer_ID, COUNT(*) FROM customers JOIN "order" USING (Customer_ID) GROUP BY 1', "group"),
        ('SELECT p.title, i.quantity FROM "order" JOIN order_items i USING (order_id)'
         " JOIN products p USING (product_id) WHERE status = 'open'", "list"),
    ],
)  # fmt: skip
def test_what_people_write_is_read_and_can_be_asked(sql: str, shape: str, atlas: Atlas, database: Path) -> None:
    intent = read_intent(sql, atlas, seed=1)
    assert isinstance(intent, Intent), intent
    assert intent.shape == shape
    assert answer(database, render_sql(intent, atlas.profile)) == answer(database, sql)
    question = render_question(intent, atlas.profile, "interrogative", 1).text
    for said in ("Lyon", "Oslo", "1980", "1960", "1990", "2020", "open"):
        assert (said in question) == (said in sql)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT nonsense FROM customers", "unknown_column"),
        ("DELETE FROM customers", "not_select"),
        ('SELECT name FROM customers c LEFT JOIN "order" o ON c.customer_id = o.customer_id', "outer_join"),
        ("SELECT a.name FROM customers a JOIN employees b ON a.city = b.city", "not_a_key"),
        ("SELECT name FROM customers, products", "not_a_tree"),
        ("SELECT name FROM (SELECT DISTINCT name, city FROM customers)", "derived_table"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "clause"),
        ("SELECT name FROM customers LIMIT 3", "not_said"),
        ("SELECT name, COUNT(*) FROM customers", "not_said"),
        ("SELECT name FROM customers WHERE name LIKE 'a_b%'", "pattern"),
        ("SELECT name FROM customers WHERE length(name) > 3", "condition"),
        ("SELECT name FROM customers c WHERE birth_year >"
         " (SELECT AVG(d.birth_year) FROM customers d WHERE c.birth_year = 1)", "condition"),
        ('SELECT name FROM customers c WHERE EXISTS'
         ' (SELECT COUNT(*) FROM "order" o WHERE o.customer_id = c.customer_id)', "existence"),
        ('SELECT name FROM customers c WHERE EXISTS'
         ' (SELECT 1 FROM "order" o WHERE o.customer_id = c.customer_id LIMIT 0)', "clause"),
        ('SELECT name FROM customers c WHERE EXISTS'
         ' (SELECT 1 FROM "order" o WHERE o.customer_id = c.customer_id HAVING COUNT(*) > 2)', "having"),
        ("SELECT last_name FROM employees WHERE salary >"
         " (SELECT AVG(salary) FROM employees HAVING COUNT(*) > 300)", "having"),
        ("SELECT city FROM customers GROUP BY city HAVING COUNT(*) = '3'", "having"),
        ("SELECT MAX(5) FROM customers", "expression"),
        ("SELECT last_name FROM employees WHERE salary > -'5'", "condition"),
        ('SELECT COUNT(*) FROM "order" WHERE total > 1e400', "condition"),
        ("SELECT COUNT(*) FROM \"order\" WHERE STRFTIME('%Y', ordered) = '²'", "condition"),
        ("SELECT name FROM customers ORDER BY notes NULLS LAST", "order"),
        ("SELECT last_name FROM employees ORDER BY manager_id LIMIT 1", "not_said"),
        ("SELECT * FROM customers", "expression"),
        ("SELECT a.name FROM customers a JOIN employees b USING (city)", "not_a_key"),
        ('SELECT name FROM customers LEFT JOIN "order" USING (customer_id)', "outer_join"),
        ('SELECT name FROM customers NATURAL LEFT JOIN "order"', "outer_join"),
        ('SELECT * FROM customers NATURAL JOIN "order"', "using"),
        ('SELECT o.status FROM customers c LEFT JOIN "order" o USING (customer_id)'
         " LEFT JOIN employees e USING (employee_id)", "outer_join"),
        ('SELECT c.city, COUNT(*) FROM customers c LEFT JOIN "order" o USING (customer_id) GROUP BY c.city'
         " HAVING COUNT(o.order_id) > 1", "outer_join"),
        ('SELECT o.total FROM customers c JOIN employees e ON c.city = e.city'
         ' JOIN customers d USING (city) JOIN "order" o ON o.customer_id = d.customer_id', "using"),
        ("SELECT COUNT(*) FROM \"order\" WHERE ordered > CAST('2020-01-01' AS DATE)", "condition"),
        ("SELECT city FROM employees GROUP BY city ORDER BY MIN(manager_id) LIMIT 1", "not_said"),
        ('SELECT c.name FROM (customers c JOIN "order" o ON o.status = \'open\')'
         " WHERE c.customer_id = o.customer_id", "clause"),
    ],
)  # fmt: skip
def test_what_the_tree_cannot_say_is_not_read(sql: str, kind: str, atlas: Atlas) -> None:
    found = read_intent(sql, atlas)
    assert isinstance(found, Unread)
    assert found.kind == kind, found
    assert found.detail


@pytest.mark.parametrize(
    ("condition", "held", "read"),
    [
        ("ordered > '2020'", "2020-05-01", False),
        ("ordered <= '2020'", "2020-05-01", False),
        ("ordered = '2020'", "2020-05-01", False),
        ("ordered BETWEEN '2019' AND '2020'", "2020-05-01", False),
        ("ordered IN ('2019-01-01', '2020')", "2020-05-01", False),
        ("ordered > 2020", "2020-05-01", False),
        ("'2020-05-01' >= ordered", "2020-05-01 10:30:00", False),
        ("ordered > '2020-05-01 10:30:00'", "2020-05-01 10:30:00.25", True),
        ("ordered > '2020-05-01'", "2020-05-01", True),
        ("ordered >= '2020'", "2020-05-01", True),
        ("ordered < '2020-05-01'", "2020-05-01 10:30:00", True),
        ("ordered BETWEEN '2019' AND '2020-05-01'", "2020-05-01", True),
    ],
)
def test_the_beginning_of_a_day_or_year_is_not_the_whole_of_it(condition: str, held: str, read: bool) -> None:
    """As text "2020" comes before all dates of 2020: a question with "after 2020" would ask for others."""
    profile = shop.profile()
    tables = [
        replace(t, columns=tuple(replace(c, maximum=held) if c.name == "ordered" else c for c in t.columns))
        for t in profile.tables
    ]
    found = read_intent(
        f'SELECT COUNT(*) FROM "order" WHERE {condition}', Atlas(replace(profile, tables=tuple(tables)))
    )
    assert isinstance(found, Intent) == read, found


def moments(kind: str) -> Atlas:
    """The shop on DuckDB, whose orders come at moments of that type."""
    profile = shop.profile("duckdb")
    tables = [
        replace(t, columns=tuple(replace(c, declared_type=kind) if c.name == "ordered" else c for c in t.columns))
        for t in profile.tables
    ]
    return Atlas(replace(profile, tables=tuple(tables)))


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("DATE", "ordered >= DATE '2020-01-01'"),
        ("DATE", "CAST('2020-06-30' AS DATE) > ordered AND status = 'open'"),
        ("DATE", "ordered BETWEEN DATE '2020-01-01' AND '2020-12-31'::DATE"),
        ("DATE", "ordered IN (DATE '2019-05-24', DATE '2019-09-25')"),
        ("TIMESTAMP", "ordered >= DATE '2020-01-01'"),
        ("TIMESTAMP", "ordered < TIMESTAMP '2020-01-01 10:30:00'"),
        ("TIMESTAMP", "ordered < TIMESTAMP '2020-01-01'"),
    ],
)
def test_duckdbs_literals_with_a_type_are_read(kind: str, condition: str) -> None:
    atlas = moments(kind)
    sql = f'SELECT COUNT(*) FROM "order" WHERE {condition}'
    intent = read_intent(sql, atlas)
    assert isinstance(intent, Intent), intent
    with closing(shop.build_duckdb()) as connection:
        connection.execute(f'CREATE TEMP TABLE moved AS SELECT * REPLACE (ordered::{kind} AS ordered) FROM "order"')
        counts = [
            connection.execute(text.replace('"order"', "moved")).fetchall()
            for text in (sql, render_sql(intent, atlas.profile))
        ]
    assert counts[0] == counts[1] != [(0,)]


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("DATE", "ordered > TIMESTAMP '2020-01-01 10:30:00'"),  # the text would be cut to the day
        ("VARCHAR", "ordered > DATE '2020-01-01'"),  # each row is read as a date
        ("TIMESTAMP", "ordered > CAST('2020-01-01 10:30:00' AS DATE)"),
        ("TIMESTAMP WITH TIME ZONE", "ordered > TIMESTAMP '2020-01-01 10:30:00'"),
        ("DATE", "ordered > CAST('20' AS DATE)"),
        ("DATE", "ordered > CAST(status AS DATE)"),
    ],
)
def test_literals_whose_text_alone_would_mean_something_else_are_not_read(kind: str, condition: str) -> None:
    found = read_intent(f'SELECT COUNT(*) FROM "order" WHERE {condition}', moments(kind))
    assert isinstance(found, Unread)
    assert found.kind == "condition", found


@pytest.mark.parametrize(
    ("condition", "holds"), [("gift", True), ("NOT gift", False), ("gift AND amount > 5", True), ("gift = TRUE", True)]
)
def test_a_flag_is_a_condition_by_itself(condition: str, holds: bool, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE sale AS SELECT n AS id, n % 2 = 0 AS gift, n AS amount FROM range(20) r(n)")
    profile = profile_of(tmp_path / "shop.duckdb")
    found = read_intent(f"SELECT COUNT(*) FROM sale WHERE {condition}", Atlas(profile))
    assert isinstance(found, Intent), found
    [flag] = [n for n in walk(found.query) if isinstance(n, Value) and n.column == ("sale", "gift")]
    assert flag.value is holds


@pytest.mark.slow
def test_what_is_read_of_spiders_golds_gives_the_same_rows(shared_data: Path, tmp_path: Path) -> None:
    golds = json.loads((shared_data / "spider" / "train.json").read_text(encoding="utf-8"))
    by_database: dict[str, set[str]] = {}
    for gold in golds:
        by_database.setdefault(gold["db_id"], set()).add(gold["query"])
    databases = {one.db_id: one for one in find_databases(shared_data / "spider" / "database").databases}
    found = Counter[str]()
    for db_id in sorted(by_database.keys() & databases.keys())[::6]:
        database = databases[db_id]
        atlas = Atlas(cached_profile(database, tmp_path))
        for sql in sorted(by_database[db_id]):
            intent = read_intent(sql, atlas)
            found["asked"] += 1
            if isinstance(intent, Intent):
                found["read"] += 1
                same = render_sql(intent, atlas.profile)
                assert answer(database.path, same) == answer(database.path, sql), sql
                using = ON_ONE_NAME.sub(r" USING (\1)", sql)
                if using != sql:
                    found["using"] += 1
                    assert read_intent(using, atlas) == intent
    assert found["read"] > 0.75 * found["asked"] > 0
    assert found["using"]


@pytest.mark.parametrize("operator", ["INTERSECT ALL", "EXCEPT ALL", "UNION BY NAME"])
def test_what_another_engine_has_beside_plain_set_operations_is_not_read(operator: str) -> None:
    sql = f"SELECT city FROM customers WHERE birth_year < 1960 {operator} SELECT city FROM customers"
    found = read_intent(f"{sql} WHERE birth_year > 1990", Atlas(shop.profile("duckdb")))
    assert isinstance(found, Unread)
    assert found.kind == "set_operation"


@pytest.mark.parametrize(
    ("column", "operator", "read"),
    [
        ("c.city", "INTERSECT", False),  # of no customer both may be
        ("c.name", "EXCEPT", False),
        ("c.city", "UNION", True),
        ("c.customer_id", "INTERSECT", True),
        ("o.status", "INTERSECT", True),
    ],
)
def test_two_lists_are_of_the_same_customers(column: str, operator: str, read: bool, atlas: Atlas) -> None:
    side = f'SELECT {column} FROM "order" o JOIN customers c USING (customer_id) WHERE o.total'
    found = read_intent(f"{side} > 500 {operator} {side} < 200", atlas)
    assert isinstance(found, Intent) == read, found


def test_two_lists_that_are_joined_in_other_ways_are_not_one_question() -> None:
    profile = shop.profile()
    second = replace(profile.foreign_keys[2], columns=("employee_id",))  # an order's payer beside its customer
    atlas = Atlas(replace(profile, foreign_keys=(*profile.foreign_keys, second)))
    sql = 'SELECT c.city FROM "order" o JOIN customers c ON o.{} = c.customer_id WHERE o.total {} 400'
    found = read_intent(f"{sql.format('customer_id', '>')} UNION {sql.format('employee_id', '<')}", atlas)
    assert isinstance(found, Unread)
    assert found.kind == "not_said", found
    both = read_intent(f"{sql.format('customer_id', '>')} UNION {sql.format('customer_id', '<')}", atlas)
    assert isinstance(both, Intent), both
