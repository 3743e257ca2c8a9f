from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_samples import SHOP, golds, spider_path, spider_schema

from agro_data.sql.constructs import CONSTRUCTS
from agro_data.sql.facts import sql_facts
from agro_data.sql.parse import parse_select

# --- what a query uses -------------------------------------------------------------------------------------------


def test_tables_and_columns_are_the_schemas_own_and_sorted() -> None:
    facts = sql_facts(
        "select NAME from CUSTOMER c join Orders as O on c.ID = o.customer_id where TOTAL > 5", "sqlite", SHOP
    )
    assert facts.tables == ("customer", "orders")
    assert facts.columns == ("customer.id", "customer.name", "orders.customer_id", "orders.total")


def test_a_star_uses_every_column_and_count_star_none() -> None:
    assert len(sql_facts("SELECT * FROM item", "sqlite", SHOP).columns) == 3
    assert sql_facts("SELECT i.* FROM item i, customer", "sqlite", SHOP).columns == (
        "item.order_id", "item.price", "item.product",
    )  # fmt: skip
    assert sql_facts("SELECT COUNT(*) FROM item", "sqlite", SHOP).columns == ()


def test_columns_behind_a_cte_and_a_derived_table_are_found() -> None:
    sql = (
        "WITH big AS (SELECT customer_id AS who FROM orders WHERE total > 3) "
        "SELECT who, n FROM big JOIN (SELECT id, COUNT(*) AS n FROM customer GROUP BY id) d ON d.id = big.who"
    )
    facts = sql_facts(sql, "sqlite", SHOP)
    assert facts.tables == ("customer", "orders")
    assert facts.columns == ("customer.id", "orders.customer_id", "orders.total")


def test_facts_need_no_schema() -> None:
    facts = sql_facts("SELECT a FROM nowhere WHERE b = 1", "sqlite", {})
    assert facts.tables == facts.columns == ()
    assert facts.template == "SELECT _ FROM _ AS _ WHERE _ = ?"


# --- constructs --------------------------------------------------------------------------------------------------

EXAMPLES = {
    "join_2": "SELECT name FROM customer c JOIN orders o ON c.id = o.customer_id",
    "join_3": "SELECT name FROM customer c JOIN orders o ON c.id = o.customer_id JOIN item i ON i.order_id = o.id",
    "join_4plus": "SELECT c.name FROM customer c, orders o, item i, item j",
    "left_join": "SELECT name FROM customer c LEFT JOIN orders o ON c.id = o.customer_id",
    "self_join": "SELECT a.name FROM customer a JOIN customer b ON a.city = b.city",
    "aggregate": "SELECT SUM(total) FROM orders",
    "group_by": "SELECT city FROM customer GROUP BY city",
    "having": "SELECT city FROM customer GROUP BY city HAVING COUNT(*) > 1",
    "order_by": "SELECT name FROM customer ORDER BY born",
    "limit": "SELECT name FROM customer ORDER BY born LIMIT 1",
    "top_k_per_group": "SELECT name FROM (SELECT name, RANK() OVER (PARTITION BY city ORDER BY born) AS r"
    " FROM customer) WHERE r <= 2",
    "distinct": "SELECT DISTINCT city FROM customer",
    "count_distinct": "SELECT COUNT(DISTINCT city) FROM customer",
    "between": "SELECT name FROM customer WHERE id BETWEEN 1 AND 2",
    "like": "SELECT name FROM customer WHERE name LIKE 'A%'",
    "in_list": "SELECT name FROM customer WHERE city IN ('a', 'b')",
    "is_null": "SELECT name FROM customer WHERE city IS NOT NULL",
    "arithmetic": "SELECT total * 2 FROM orders",
    "date_part": "SELECT strftime('%Y', born) FROM customer",
    "text_function": "SELECT UPPER(name) FROM customer",
    "case": "SELECT CASE WHEN id > 1 THEN 'x' ELSE 'y' END FROM customer",
    "in_subquery": "SELECT name FROM customer WHERE id IN (SELECT customer_id FROM orders)",
    "not_in_subquery": "SELECT name FROM customer WHERE id NOT IN (SELECT customer_id FROM orders)",
    "exists": "SELECT name FROM customer c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)",
    "not_exists": "SELECT name FROM customer c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)",
    "scalar_subquery": "SELECT id FROM orders WHERE total > (SELECT AVG(total) FROM orders)",
    "union": "SELECT id FROM customer UNION SELECT id FROM orders",
    "intersect": "SELECT id FROM customer INTERSECT SELECT id FROM orders",
    "except": "SELECT id FROM customer EXCEPT SELECT id FROM orders",
    "cte": "WITH c AS (SELECT id FROM orders) SELECT id FROM c",
    "window": "SELECT SUM(total) OVER (PARTITION BY customer_id) FROM orders",
    "or": "SELECT name FROM customer WHERE id = 1 OR id = 2",
    "derived_table": "SELECT id FROM (SELECT id FROM orders)",
}


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_each_construct_is_seen_where_it_stands_and_not_elsewhere(construct: str) -> None:
    assert construct in sql_facts(EXAMPLES[construct], "sqlite", SHOP).constructs
    assert sql_facts("SELECT name FROM customer WHERE id = 1", "sqlite", SHOP).constructs == ()


def test_a_window_without_a_bound_is_no_top_k_and_no_aggregate() -> None:
    sql = "SELECT name, ROW_NUMBER() OVER (PARTITION BY city ORDER BY born) AS r FROM customer"
    assert sql_facts(sql, "sqlite", SHOP).constructs == ("window",)
    assert sql_facts(EXAMPLES["window"], "sqlite", SHOP).constructs == ("window",)


def test_duckdb_functions_are_the_same_constructs() -> None:
    facts = sql_facts("SELECT year(born), month(born) FROM customer WHERE name ILIKE 'a%'", "duckdb", SHOP)
    assert facts.constructs == ("like", "date_part")


# --- canonical forms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT name FROM customer", 'select  "NAME" from CUSTOMER ;'),
        ("SELECT T1.name FROM customer AS T1 WHERE T1.id = 3", "SELECT name FROM customer WHERE id = 3"),
        ("SELECT c.name AS n FROM customer c ORDER BY n", "SELECT x.name FROM customer x ORDER BY x.name ASC"),
        ("SELECT city, COUNT(*) FROM customer GROUP BY 1", "SELECT city, count( * ) FROM customer GROUP BY city"),
        ("WITH a AS (SELECT id FROM orders) SELECT id FROM a", "WITH b AS (SELECT id FROM orders) SELECT b.id FROM b"),
        ('SELECT id FROM customer WHERE name = "Bo"', "SELECT id FROM customer WHERE name = 'Bo'"),
        ("SELECT id FROM customer WHERE id <> 2", "SELECT id FROM customer WHERE id != 2"),
        (
            "SELECT id FROM orders o INNER JOIN item i ON i.order_id = o.id",
            "SELECT id FROM orders JOIN item ON order_id = id",
        ),
    ],
)  # fmt: skip
def test_spelling_does_not_make_a_new_query(one: str, other: str) -> None:
    assert sql_facts(one, "sqlite", SHOP).canonical == sql_facts(other, "sqlite", SHOP).canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT name FROM customer", "SELECT city FROM customer"),
        ("SELECT name FROM customer ORDER BY id", "SELECT name FROM customer ORDER BY id DESC"),
        ("SELECT name FROM customer WHERE city = 'oslo'", "SELECT name FROM customer WHERE city = 'Oslo'"),
        ("SELECT a.name FROM customer a, customer b", "SELECT b.name FROM customer a, customer b"),
    ],
)
def test_meaning_does(one: str, other: str) -> None:
    assert sql_facts(one, "sqlite", SHOP).canonical != sql_facts(other, "sqlite", SHOP).canonical


def test_what_a_function_of_a_list_is_given_is_no_column_whatever_its_case() -> None:
    schema = {"t": {"l": "INTEGER[]", "x": "INTEGER"}}
    for call in ("list_transform(l, lambda X: x + 1)", "list_transform(l, lambda x: X + 1)", "[x + 1 FOR X IN l]"):
        assert sql_facts(f"SELECT {call} FROM t", "duckdb", schema).columns == ("t.l",), call


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            "SELECT k AS n FROM s UNION BY NAME SELECT k n FROM r",
            "SELECT k AS n FROM s UNION BY NAME SELECT k FROM r",
            False,
        ),
        ("SELECT p.x.y FROM s AS p JOIN r AS q USING (k)", "SELECT p.x.y FROM s AS q JOIN r AS p USING (k)", False),
        ("SELECT p.x.y FROM s AS p JOIN r AS q USING (k)", "SELECT q.x.y FROM s AS q JOIN r AS p USING (k)", True),
    ],
)
def test_names_of_by_name_and_of_structs_are_kept_apart(one: str, other: str, same: bool) -> None:
    schema = {table: {"k": "INTEGER", "x": "STRUCT(y INTEGER)"} for table in ("s", "r")}
    texts = {sql_facts(sql, "duckdb", schema).canonical for sql in (one, other)}
    assert len(texts) == 2 - same


def test_masks_take_literals_and_names() -> None:
    one = sql_facts("SELECT name FROM customer WHERE id IN (1, 2) AND city = 'it''s 5' LIMIT 3", "sqlite", SHOP)
    two = sql_facts("SELECT note FROM orders WHERE id IN (7, 8, 9) AND note = 'x' LIMIT 1", "sqlite", SHOP)
    assert one.skeleton != two.skeleton
    assert "'" not in one.skeleton
    assert re.search(r"\b5\b|\b3\b", one.skeleton) is None
    assert one.template == two.template == "SELECT _ FROM _ AS _ WHERE _ IN (?) AND _ = ? LIMIT ?"


def test_a_name_that_holds_digits_is_no_literal() -> None:
    schema = {"t 1": {"c 2": "INTEGER", "x9": "TEXT"}}
    facts = sql_facts('SELECT "c 2" FROM "t 1" WHERE x9 = \'y\' AND "c 2" > -4.5e3', "sqlite", schema)
    assert facts.skeleton == 'SELECT "t1"."c 2" FROM "t 1" AS "t1" WHERE "t1"."x9" = ? AND "t1"."c 2" > ?'


@settings(max_examples=60, deadline=None)
@given(
    number=st.integers(-(10**6), 10**6),
    text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
    alias=st.from_regex(r"[a-z]{1,5}_", fullmatch=True),
)
def test_literals_and_aliases_never_reach_the_skeleton(number: int, text: str, alias: str) -> None:
    quoted = text.replace("'", "''")
    sql = f"SELECT {alias}.name FROM customer {alias} WHERE {alias}.id > {number} AND {alias}.city = '{quoted}'"
    facts = sql_facts(sql, "sqlite", SHOP)
    plain = sql_facts("SELECT name FROM customer WHERE id > 1 AND city = 'x'", "sqlite", SHOP)
    assert facts.template == plain.template
    assert sql_facts(facts.canonical, "sqlite", SHOP).canonical == facts.canonical


def test_a_tree_that_is_passed_in_is_not_changed() -> None:
    tree = parse_select("SELECT c.name AS n FROM customer c ORDER BY n", "sqlite")
    before = tree.sql()
    facts = sql_facts(tree, "sqlite", SHOP)
    assert tree.sql() == before
    assert facts == sql_facts(before, "sqlite", SHOP)
    assert facts.order_matters


@pytest.mark.parametrize(
    ("sql", "policy"),
    [
        ("SELECT name FROM customer", "none"),
        ("SELECT name FROM customer ORDER BY born", "total_order"),
        ("SELECT name FROM customer WHERE id = (SELECT id FROM customer ORDER BY born LIMIT 1)", "total_order"),
    ],
)
def test_what_is_ordered_or_cut_off_rests_on_there_being_no_ties(sql: str, policy: str) -> None:
    assert sql_facts(sql, "sqlite", SHOP).tie_policy == policy


# --- difficulty --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "hardness"),
    [
        ("SELECT name FROM customer WHERE id = 1", "easy"),
        ("SELECT name, city FROM customer", "medium"),
        ("SELECT name FROM customer ORDER BY born LIMIT 1", "medium"),
        ("SELECT city, COUNT(*) FROM customer GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1", "hard"),
        ("SELECT name FROM customer WHERE id IN (SELECT customer_id FROM orders)", "hard"),
        ("SELECT id FROM customer EXCEPT SELECT customer_id FROM orders WHERE total > 3", "hard"),
        ("SELECT name, city FROM customer WHERE id IN (SELECT customer_id FROM orders)", "extra"),
        ("SELECT SUM(total) OVER (PARTITION BY customer_id) FROM orders", "hard"),
        ("SELECT CASE WHEN id > 1 THEN 'x' END FROM customer", "hard"),
    ],
)
def test_hardness_follows_the_published_counts(sql: str, hardness: str) -> None:
    assert sql_facts(sql, "sqlite", SHOP).hardness == hardness


@pytest.mark.parametrize(
    ("sql", "complexity"),
    [
        (EXAMPLES["aggregate"], "simple"),
        ("SELECT city, COUNT(*) FROM customer GROUP BY city HAVING COUNT(*) > 1", "moderate"),
        (EXAMPLES["top_k_per_group"], "complex"),
        (
            f"WITH a AS ({EXAMPLES['having']}) SELECT COUNT(*), SUM(n) FROM ({EXAMPLES['case']}) x, a",
            "highly_complex",
        ),
    ],
)  # fmt: skip
def test_complexity_counts_points(sql: str, complexity: str) -> None:
    assert sql_facts(sql, "sqlite", SHOP).complexity == complexity


# --- Spider ------------------------------------------------------------------------------------------------------


def test_canonical_sql_gives_the_same_answer(shared_data: Path) -> None:
    for db_id, sql in golds(shared_data)[::23]:
        uri = spider_path(shared_data, db_id).as_uri() + "?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.text_factory = bytes
            try:
                gold = connection.execute(sql).fetchall()
            except sqlite3.Error:
                continue  # one of the three golds that do not run
            canonical = sql_facts(sql, "sqlite", spider_schema(shared_data, db_id)).canonical
            assert sorted(map(repr, connection.execute(canonical).fetchall())) == sorted(map(repr, gold)), sql
