"""SQL text of single trees, on both dialects, and names that need quotes."""

from __future__ import annotations

import sqlite3
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.databases.types import Dialect
from agro_data.intent.rendering.names import alias_names
from agro_data.intent.rendering.to_sql import render_query, render_sql
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.steps.decompose import decompose
from agro_data.intent.tree import (
    Aggregate,
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    DatePart,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Join,
    Like,
    Not,
    Or,
    OrderKey,
    Output,
    Predicate,
    Query,
    SetOperation,
    Share,
    Source,
    TextFunction,
    Value,
    Window,
)
from agro_data.profiling.profile import DatabaseProfile, ForeignKey, TableProfile
from agro_data.sql.identifiers import identifier

sys.path.insert(0, str(Path(__file__).parent))
from intent import shop

NAME, CITY = Column("t1", "name"), Column("t1", "city")
LOW, HIGH, PRICE = Column("t1", "min_stock"), Column("t1", "max_stock"), Column("t1", "unit price")
ORDERED, TOTAL = Column("t1", "ordered"), Column("t1", "total")


def select(table: str, *expressions: Expression, **parts: object) -> Query:
    return Query((Source("t1", table),), tuple(Output(e) for e in expressions), **parts)  # type: ignore[arg-type]


def where(test: Predicate) -> Query:
    return select("customers", NAME, where=test)


ORDERS_OF = Query((Source("t2", "order"),), (Output(Value(1)),))
LINK = ((Column("t1", "customer_id"), Column("t2", "customer_id")),)
PAIRS: list[tuple[Query | SetOperation, str, str]] = [
    (where(Comparison("=", CITY, Value("O'Fallon"))), "SELECT name FROM customers WHERE city = 'O''Fallon'", ""),
    (
        where(And((Or((Comparison("=", CITY, Value("a")), Comparison("=", CITY, Value("b")))), IsNull(NAME, True)))),
        "SELECT name FROM customers WHERE (city = 'a' OR city = 'b') AND name IS NOT NULL",
        "",
    ),
    (
        where(Like(NAME, "contains", Value("da"))),
        "SELECT name FROM customers WHERE name LIKE '%da%'",
        "SELECT name FROM customers WHERE name ILIKE '%da%'",
    ),
    (
        where(InList(CITY, (Value("a"), Value("b")), True)),
        "SELECT name FROM customers WHERE city NOT IN ('a', 'b')",
        "",
    ),
    (where(Not(Comparison("=", CITY, Value("a")))), "SELECT name FROM customers WHERE NOT (city = 'a')", ""),
    (
        select("order", ORDERED, where=Between(TOTAL, Value(-5), Value(2.5))),
        'SELECT ordered FROM "order" WHERE total BETWEEN -5 AND 2.5',
        "",
    ),
    (
        where(Comparison("=", Column("t1", "is_member"), Value(1, ("customers", "is_member")))),
        "SELECT name FROM customers WHERE is_member = 1",
        "SELECT name FROM customers WHERE is_member = TRUE",
    ),
    (
        where(Exists(ORDERS_OF, LINK, negated=True)),
        'SELECT t1.name FROM customers AS t1 WHERE NOT EXISTS(SELECT 1 FROM "order" AS t2'
        " WHERE t2.customer_id = t1.customer_id)",
        "",
    ),
    (
        where(
            InQuery(
                Column("t1", "customer_id"), replace(ORDERS_OF, select=(Output(Column("t2", "customer_id")),)), True
            )
        ),
        'SELECT name FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM "order")',
        "",
    ),
    # NULL in the subquery would make NOT IN empty: a column that holds NULL gets a filter.
    (
        select(
            "employees",
            Column("t1", "city"),
            where=InQuery(
                Column("t1", "employee_id"),
                Query((Source("t2", "employees"),), (Output(Column("t2", "manager_id")),)),
                negated=True,
            ),
        ),
        "SELECT city FROM employees"
        " WHERE employee_id NOT IN (SELECT manager_id FROM employees WHERE manager_id IS NOT NULL)",
        "",
    ),
    (
        select("products", Arithmetic("/", LOW, HIGH), Arithmetic("/", HIGH, LOW)),
        "SELECT min_stock * 1.0 / max_stock, max_stock * 1.0 / NULLIF(min_stock, 0) FROM products",
        "SELECT min_stock / NULLIF(max_stock, 0), max_stock / NULLIF(min_stock, 0) FROM products",
    ),
    (
        select("products", Arithmetic("*", PRICE, Arithmetic("-", HIGH, LOW))),
        'SELECT "unit price" * (max_stock - min_stock) FROM products',
        "",
    ),
    (
        select("order", DatePart("year", ORDERED), Aggregate("count"), group_by=(DatePart("year", ORDERED),)),
        "SELECT CAST(STRFTIME('%Y', ordered) AS INTEGER), COUNT(*) FROM \"order\""
        " GROUP BY CAST(STRFTIME('%Y', ordered) AS INTEGER)",
        'SELECT EXTRACT(YEAR FROM ordered), COUNT(*) FROM "order" GROUP BY EXTRACT(YEAR FROM ordered)',
    ),
    (
        select("order", DatePart("year_month", ORDERED)),
        "SELECT STRFTIME('%Y-%m', ordered) FROM \"order\"",
        "SELECT STRFTIME(ordered, '%Y-%m') FROM \"order\"",
    ),
    (
        select("employees", TextFunction("join_words", (Column("t1", "first_name"), Column("t1", "last_name")))),
        "SELECT first_name || ' ' || last_name FROM employees",
        "",
    ),
    (select("customers", TextFunction("prefix", (NAME,), 2)), "SELECT SUBSTR(name, 1, 2) FROM customers", ""),
    (
        select("order", Share(Comparison("=", Column("t1", "status"), Value("paid")))),
        "SELECT 100.0 * SUM(CASE WHEN status = 'paid' THEN 1 ELSE 0 END) / COUNT(*) FROM \"order\"",
        "",
    ),
    (
        select("order", Aggregate("count", Column("t1", "status"), distinct=True), Aggregate("max", TOTAL)),
        'SELECT COUNT(DISTINCT status), MAX(total) FROM "order"',
        "",
    ),
    (
        select("order", ORDERED, order_by=(OrderKey(TOTAL, True), OrderKey(ORDERED)), limit=3),
        'SELECT ordered FROM "order" ORDER BY total DESC, ordered LIMIT 3',
        "",
    ),
    (
        select("order", Window("sum", TOTAL, (), (OrderKey(ORDERED),))),
        'SELECT SUM(total) OVER (ORDER BY ordered ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM "order"',
        "",
    ),
    (
        Query(
            (Source("t1", "categories"), Source("t2", "products")),
            (Output(NAME), Output(Aggregate("count", Column("t2", "product_id")))),
            (Join("t1", "t2", (("category_id", "category_id"),), "left", "down"),),
            group_by=(NAME,),
        ),
        "SELECT t1.name, COUNT(t2.product_id) FROM categories AS t1 LEFT JOIN products AS t2"
        " ON t1.category_id = t2.category_id GROUP BY t1.name",
        "",
    ),
    (
        SetOperation(
            "except",
            select("customers", CITY),
            Query((Source("t2", "employees"),), (Output(Column("t2", "city")),)),
            (OrderKey(CITY),),
        ),
        "SELECT city FROM customers EXCEPT SELECT city FROM employees ORDER BY city",
        "",
    ),
]


Engines = tuple[sqlite3.Connection, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return shop.build_sqlite(tmp_path_factory.mktemp("shop") / "shop.sqlite"), shop.build_duckdb()


@pytest.mark.parametrize(("tree", "sqlite_text", "duckdb_text"), PAIRS)
def test_tree_to_text_that_runs(
    tree: Query | SetOperation, sqlite_text: str, duckdb_text: str, engines: Engines
) -> None:
    lite, duck = render_query(tree, shop.profile()), render_query(tree, shop.profile("duckdb"))
    assert lite == sqlite_text
    assert duck == (duckdb_text or sqlite_text)
    engines[0].execute(lite).fetchall()
    engines[1].execute(duck).fetchall()


_WORDS = [
    "select",
    "Order",
    "group",
    "my table",
    'say "hi"',
    "naïve",
    "2nd",
    "a-b",
    "Limit",
    "values",
    "end",
    "x'y",
    "_ok",
]


@settings(max_examples=25, deadline=None)
@given(
    st.one_of(st.sampled_from(_WORDS), st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8))
)
def test_any_name_is_quoted_where_it_must_be(name: str) -> None:
    # A real table: SQLite renames a derived table's column that is called TRUE or FALSE.
    for dialect, connection in (("sqlite", sqlite3.connect(":memory:")), ("duckdb", duckdb.connect())):
        text = identifier(name).sql(dialect=dialect)  # type: ignore[arg-type]
        connection.execute(f"CREATE TABLE t ({text} INTEGER)")
        connection.execute("INSERT INTO t VALUES (1)")
        assert connection.execute(f"SELECT t.{text}, {text} FROM t WHERE {text} = 1").fetchall() == [(1, 1)]


def awkward(dialect: Dialect) -> tuple[DatabaseProfile, list[str]]:
    """The shop's customers and orders under names with spaces, quotes, reserved words and unicode."""
    base = shop.profile(dialect)
    renamed = {"customers": 'the "best" clients', "order": "select", "employees": "größe"}
    columns = {"customer_id": "group", "name": "from here", "city": 'ci"ty', "total": "Limit", "status": "é-tat"}

    def table(old: TableProfile) -> TableProfile:
        return replace(
            old,
            name=renamed[old.name],
            columns=tuple(replace(c, name=columns.get(c.name, c.name)) for c in old.columns),
            primary_key=tuple(columns.get(c, c) for c in old.primary_key),
            label_columns=tuple(columns.get(c, c) for c in old.label_columns),
        )

    tables = tuple(table(t) for t in base.tables if t.name in renamed)
    keys = tuple(
        ForeignKey(renamed[k.table], tuple(columns.get(c, c) for c in k.columns), renamed[k.ref_table],
                   tuple(columns.get(c, c) for c in k.ref_columns))
        for k in base.foreign_keys
        if k.table in renamed and k.ref_table in renamed
    )  # fmt: skip

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    copies = [
        f"CREATE TABLE {quoted(renamed[t])} AS SELECT "
        + ", ".join(f"{quoted(c.name)} AS {quoted(columns.get(c.name, c.name))}" for c in base.table(t).columns)
        + f" FROM {quoted(t)}"
        for t in renamed
    ]
    return replace(base, tables=tables, foreign_keys=keys, metrics=()), copies


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_awkward_names_run(dialect: Dialect, tmp_path: Path) -> None:
    profile, copies = awkward(dialect)
    connection = shop.build_sqlite(tmp_path / "a.sqlite") if dialect == "sqlite" else shop.build_duckdb()
    for statement in copies:
        connection.execute(statement)
    for intent in islice(sample_intents(profile, seed=2), 120):
        for step in decompose(intent, profile):
            connection.execute(step.sql).fetchall()


def test_initials_are_letters_that_need_no_quotes() -> None:
    tables = ("order_items", "größe_übergabe", "Ärzte", "顧客")
    query = Query(tuple(Source(table, table) for table in tables), ())
    assert list(alias_names(query, "initials").values()) == ["oi", "gu", "a", "t"]


def test_without_any_value_the_stream_still_runs() -> None:
    """A profile that must not hold values of the source has no ranges, common values or rows."""
    base = shop.profile()
    bare = replace(
        base,
        tables=tuple(
            replace(
                t,
                sample_rows=(),
                columns=tuple(replace(c, minimum=None, maximum=None, quantiles=(), common=()) for c in t.columns),
            )
            for t in base.tables
        ),
    )
    found = list(islice(sample_intents(bare, seed=1), 150))
    assert len(found) == 150
    assert all(render_sql(i, bare) for i in found)


def test_alias_styles_differ_and_never_clash() -> None:
    texts = [render_sql(i, shop.profile()) for i in islice(sample_intents(shop.profile(), seed=9), 400)]
    assert any(" AS T1 " in t for t in texts)
    assert any(" AS t1 " in t for t in texts)
    assert any(" AS oi " in t for t in texts)
    assert any("JOIN customers ON" in t for t in texts)
