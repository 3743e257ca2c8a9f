"""Queries under other names: by hand for what is hard, and there and back again for everything else."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from migration.shop import ASKED

from agro_data.databases.types import Dialect
from agro_data.migration.matching import ColumnMatch, Matching, TableMatch
from agro_data.migration.rewriting import CannotFollow, rewrite
from agro_data.sql.forms.canonical import canonical_sql
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

Names = Mapping[str, Mapping[str, str]]  # {table: {column: type}}

BEFORE: Names = {
    "customer": {"id": "INT", "name": "TEXT", "city": "TEXT"},
    "orders": {"oid": "INT", "id": "INT", "total": "REAL"},
    "city": {"city": "TEXT", "mayor": "TEXT"},
}
AFTER: Names = {
    "client": {"client_id": "INT", "full name": "TEXT", "city": "TEXT", "total": "INT"},
    "orders": {"oid": "INT", "id": "INT", "total": "REAL"},
    "city": {"city": "TEXT", "mayor": "TEXT"},
}


def renaming(tables: Mapping[str, str], columns: Mapping[tuple[str, str], str], schema: Names) -> Matching:
    """Every table and column under its new name, or its own."""
    places = {
        (table, column): ColumnMatch((tables.get(table, table), columns.get((table, column), column)))
        for table, some in schema.items()
        for column in some
    }
    return Matching({table: TableMatch(tables.get(table, table)) for table in schema}, places)


CLIENTS = renaming({"customer": "client"}, {("customer", "id"): "client_id", ("customer", "name"): "full name"}, BEFORE)


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        ("SELECT oid  from orders", "SELECT oid  from orders"),
        ("SELECT name FROM customer", 'SELECT "full name" FROM client'),
        (
            "SELECT customer.name FROM customer JOIN orders USING (id)",
            'SELECT client."full name" FROM client JOIN orders ON client.client_id = orders.id',
        ),
        (
            "SELECT s.name FROM (SELECT name, city FROM customer) AS s WHERE s.city = 'x'",
            "SELECT s.name FROM (SELECT \"full name\" AS name, city FROM client) AS s WHERE s.city = 'x'",
        ),
        (
            "SELECT s.name FROM (SELECT * FROM customer) AS s",
            'SELECT s.name FROM (SELECT client.client_id AS id, client."full name" AS name, client.city FROM client) '
            "AS s",
        ),
        ("SELECT orders.id FROM customer AS orders", "SELECT orders.client_id FROM client AS orders"),
        (
            "SELECT name FROM customer UNION SELECT mayor FROM city ORDER BY name",
            'SELECT "full name" AS name FROM client UNION SELECT mayor FROM city ORDER BY name',
        ),
        (
            "SELECT customer.name FROM customer JOIN city AS client ON client.city = customer.city",
            'SELECT customer."full name" FROM client AS customer JOIN city AS client ON client.city = customer.city',
        ),
        # A column that was added would be meant by a name that meant the query around, or a text.
        (
            "SELECT oid FROM orders WHERE EXISTS (SELECT 1 FROM customer WHERE city = 'x' AND total > 3)",
            "SELECT orders.oid FROM orders WHERE EXISTS(SELECT 1 FROM client WHERE client.city = 'x' "
            "AND orders.total > 3)",
        ),
        (
            'SELECT city FROM customer WHERE city = "total"',
            "SELECT client.city FROM client WHERE client.city = 'total'",
        ),
        (
            "WITH client AS (SELECT id FROM orders) SELECT name FROM customer JOIN client ON client.id = customer.id",
            'WITH client_rows AS (SELECT id FROM orders) SELECT "full name" FROM client AS customer '
            "JOIN client_rows AS client ON client.id = customer.client_id",
        ),
        ("SELECT * FROM customer", "SELECT * FROM client"),
        ("SELECT count(*) FROM customer", "SELECT COUNT(*) FROM client"),
    ],
)
def test_names_are_followed_by_what_they_mean(sql: str, right: str) -> None:
    assert rewrite(sql, "sqlite", BEFORE, AFTER, CLIENTS) == right


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nothing FROM customer", "unresolved"),
        ("DELETE FROM customer", "unresolved"),
        ("SELECT mayor FROM city NATURAL JOIN customer NATURAL JOIN orders", "join_names"),
        ("SELECT * FROM customer JOIN orders USING (id)", "join_names"),
    ],
)
def test_what_is_not_certain_is_refused(sql: str, reason: str) -> None:
    with pytest.raises(CannotFollow) as refused:
        rewrite(sql, "sqlite", BEFORE, AFTER, CLIENTS)
    assert refused.value.reason == reason


ARTICLE: Names = {"article": {"nr": "INT", "title": "TEXT", "amount": "INT"}}
MERGED = Matching(
    {"item": TableMatch("article", by_rows=True), "stock": TableMatch("article", by_rows=True)},
    {
        ("item", "item_id"): ColumnMatch(("article", "nr")),
        ("item", "title"): ColumnMatch(("article", "title")),
        ("stock", "item_id"): ColumnMatch(("article", "nr")),
        ("stock", "amount"): ColumnMatch(("article", "amount")),
    },
)
PARTS: Names = {"item": {"item_id": "INT", "title": "TEXT"}, "stock": {"item_id": "INT", "amount": "INT"}}


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        (
            "SELECT title FROM item WHERE EXISTS (SELECT 1 FROM stock WHERE stock.item_id = item.item_id "
            "AND amount > 2)",
            "SELECT title FROM article WHERE EXISTS(SELECT 1 FROM article AS stock WHERE stock.nr = article.nr "
            "AND amount > 2)",
        ),
        (
            "SELECT title, amount FROM item, stock WHERE item.item_id = stock.item_id",
            "SELECT article.title, stock.amount FROM article CROSS JOIN article AS stock WHERE article.nr = stock.nr",
        ),
        (
            "SELECT title, amount FROM item JOIN stock ON item.item_id = stock.item_id",
            "SELECT title, amount FROM article",
        ),
    ],
)
def test_two_tables_that_are_one_now_are_still_told_apart(sql: str, right: str) -> None:
    assert rewrite(sql, "sqlite", PARTS, ARTICLE, MERGED) == right


SPLIT = Matching(
    {"article": TableMatch("item", {"stock": ("item_id", "item_id")})},
    {
        ("article", "nr"): ColumnMatch(("item", "item_id")),
        ("article", "title"): ColumnMatch(("item", "title")),
        ("article", "amount"): ColumnMatch(("stock", "amount")),
    },
)


@pytest.mark.parametrize(
    ("sql", "right"),
    [
        (
            "SELECT * FROM article WHERE amount > 2",
            "SELECT * FROM (SELECT stock.item_id, item.title, stock.amount FROM item JOIN stock "
            "ON stock.item_id = item.item_id) AS article WHERE amount > 2",
        ),
        (
            "WITH stock AS (SELECT 2 AS n) SELECT title FROM article, stock WHERE amount > n",
            "WITH stock_rows AS (SELECT 2 AS n) SELECT title FROM (SELECT item.title, stock.amount FROM item "
            "JOIN stock ON stock.item_id = item.item_id) AS article CROSS JOIN stock_rows AS stock WHERE amount > n",
        ),
    ],
)
def test_a_table_that_was_split_shows_its_columns_as_before(sql: str, right: str) -> None:
    assert rewrite(sql, "sqlite", ARTICLE, PARTS, SPLIT) == right


def test_a_cte_does_not_hide_a_table_that_takes_a_name_from_another() -> None:
    """Nothing is asked of a column, so only the names of the tables can go wrong."""
    before: Names = {"customer": {"id": "INT"}, "client": {"no": "INT"}}
    swapped = renaming(
        {"customer": "client", "client": "customer"}, {("customer", "id"): "no", ("client", "no"): "id"}, before
    )
    assert (
        rewrite(
            "WITH client AS (SELECT 1 AS n) SELECT COUNT(*) FROM customer, client", "sqlite", before, before, swapped
        )
        == "WITH client_rows AS (SELECT 1 AS n) SELECT COUNT(*) FROM client AS customer "
        "CROSS JOIN client_rows AS client"
    )


SHOP: Names = {
    "customer": dict.fromkeys(("customer_id", "full_name", "city", "birth_year", "cust_cd"), "TEXT"),
    "product": dict.fromkeys(("product_id", "title", "category", "price", "height", "width"), "TEXT"),
    "purchase": dict.fromkeys(("purchase_id", "customer_id", "product_id", "quantity", "day", "status"), "TEXT"),
    "stock": dict.fromkeys(("product_id", "shelf", "amount"), "TEXT"),
    "staff": dict.fromkeys(("staff_id", "name", "boss_id"), "TEXT"),
}
WORDS = ["a", "b", "s", "n", "T1", "T2", "name", "order", "my table", "product", "city", "title", "x1", "x2", "count"]


@st.composite
def other_names(draw: st.DrawFn) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """New names of tables and columns, none twice where it would clash; also names that stood for others."""
    tables = dict(zip(SHOP, draw(st.permutations(list(dict.fromkeys([*SHOP, *WORDS])))), strict=False))
    columns: dict[tuple[str, str], str] = {}
    for table, some in SHOP.items():
        new = draw(st.permutations(list(dict.fromkeys([*some, *WORDS]))))
        columns |= {(table, column): name for column, name in zip(some, new, strict=False)}
    return tables, columns


# Two tables that exchange their names, joined by a column that has the same name in both, before and after.
EXCHANGED = (
    {table: {"product": "purchase", "purchase": "product"}.get(table, table) for table in SHOP},
    {
        (table, column): "a" if table != "stock" and column == "product_id" else column
        for table, some in SHOP.items()
        for column in some
    },
)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@given(names=other_names(), asked=st.sampled_from(sorted(ASKED)))
@example(names=EXCHANGED, asked="units")
def test_there_and_back_is_the_same_query(
    dialect: Dialect, names: tuple[dict[str, str], dict[tuple[str, str], str]], asked: str
) -> None:
    tables, columns = names
    renamed: Names = {tables[t]: {columns[t, c]: kind for c, kind in some.items()} for t, some in SHOP.items()}
    back = renaming(
        {new: old for old, new in tables.items()},
        {(tables[table], new): column for (table, column), new in columns.items()},
        renamed,
    )
    sql = ASKED[asked][1]
    there = rewrite(sql, dialect, SHOP, renamed, renaming(tables, columns, SHOP))
    again = rewrite(there, dialect, renamed, SHOP, back)
    assert canonical(again, dialect) == canonical(sql, dialect)


def canonical(sql: str, dialect: Dialect) -> str:
    """Its text without what does not matter: USING as the ON that it is, and no alias that is the column's own name."""
    spelt = re.sub(
        r"(JOIN purchase(?: AS purchase)?) USING \(product_id\)", r"\1 ON product.product_id = purchase.product_id", sql
    )
    text = canonical_sql(resolve(parse_select(spelt, dialect), dialect, SHOP), dialect)
    return re.sub(r'("[^"]+") AS \1', r"\1", text)
