"""A careful reader answers as the SQL does: no group left out unsaid, digits not sorted, namesakes told apart."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import get_args

import pytest

from agro_data.databases.types import Database
from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.rendering.renderings import renderings
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import has_order
from agro_data.intent.sampling.choose import fixed
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import (
    Aggregate,
    And,
    Column,
    Comparison,
    InList,
    Intent,
    IsNull,
    Join,
    Like,
    Or,
    Output,
    Query,
    SetOperation,
    Shape,
    Source,
    Value,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile
from agro_data.profiling.profiler import profile_database

sys.path.insert(0, str(Path(__file__).parent))
from intent import shop


def only(shape: str, profile: DatabaseProfile, count: int) -> list[Intent]:
    prior = default_prior().with_shapes({s: 0 for s in get_args(Shape) if s != shape})
    return list(islice(sample_intents(profile, 3, prior, coverage=0), count))


def without_gaps() -> DatabaseProfile:
    """The shop, where every parent has children on the source, as it need not on other instances."""
    profile = shop.profile()
    rows = {t.name: t.rows for t in profile.tables}
    tables = []
    for table in profile.tables:
        keys = {c: rows[k.ref_table] for k in profile.foreign_keys if k.table == table.name for c in k.columns}
        columns = tuple(replace(c, distinct=keys.get(c.name, c.distinct)) for c in table.columns)
        tables.append(replace(table, columns=columns))
    return replace(profile, tables=tuple(tables))


def with_nulls(profile: DatabaseProfile, names: set[str]) -> DatabaseProfile:
    """The profile, where columns of these names hold some NULL."""
    return replace(
        profile,
        tables=tuple(
            replace(t, columns=tuple(replace(c, null_share=0.1) if c.name in names else c for c in t.columns))
            for t in profile.tables
        ),
    )


def grouped_by_parent(intents: list[Intent]) -> Iterator[Query]:
    for intent in intents:
        query = intent.query
        if isinstance(query, Query) and query.joins and query.group_by[0] not in own_columns(query):
            yield query


def own_columns(query: Query) -> set[object]:
    return {k for k in query.group_by if isinstance(k, Column) and k.source == query.subject.alias}


def test_parents_without_rows_are_not_passed_over_for_the_fewest() -> None:
    seen = 0
    for query in grouped_by_parent(only("superlative_group", without_gaps(), 60)):
        key = query.order_by[0]
        if isinstance(key.expression, Aggregate) and key.expression.function in ("count", "sum"):
            assert key.descending
            seen += 1
    assert seen > 3


def test_an_upper_bound_on_the_rows_of_parents_keeps_those_without_any() -> None:
    seen: Counter[str] = Counter()
    for intent in only("having", without_gaps(), 150):
        query = intent.query
        assert isinstance(query, Query)
        test = query.having
        assert isinstance(test, Comparison)
        if query.joins and isinstance(test.left, Aggregate) and test.left.function == "count":
            assert (test.operator in ("<", "<=")) == (query.joins[0].kind == "left")
            seen[query.joins[0].kind] += 1
    assert seen["inner"] > 3 < seen["left"]


def test_what_an_inner_join_leaves_out_is_said_of_each_group_that_is_listed() -> None:
    profile, seen = without_gaps(), 0
    for shape in ("group", "share", "metric"):
        for intent in only(shape, profile, 60):
            query = intent.query
            assert isinstance(query, Query)
            if query.group_by and query.joins and query.joins[0].kind == "inner":
                for style in STYLES:
                    text = render_question(intent, profile, style, 1).text
                    assert re.search(r"at least one|\b[Aa]mong\b", text), text
                seen += 1
    assert seen > 9


def test_sets_are_compared_by_what_tells_their_rows_apart() -> None:
    profile = shop.profile()
    tables = {t.name: t for t in profile.tables}
    seen = 0
    for intent in only("set_operation", profile, 80):
        assert isinstance(intent.query, SetOperation)
        left = intent.query.left
        shown = [o.expression for o in left.select if isinstance(o.expression, Column)]
        table = tables[next(s.table for s in left.sources if s.alias == shown[0].source)]
        if left.joins and shown[0].source != left.subject.alias and intent.query.operator != "union":
            assert {c.name for c in shown} >= set(table.primary_key)
            assert any(c.name in table.label_columns for c in shown)
            seen += 1
    assert seen > 3


@pytest.mark.parametrize(
    ("values", "sorts"),
    [
        (("Lyon", "Oslo", "Porto", "Ghent", "3rd Street"), True),
        (("9", "10", "100"), False),
        (("$5", "$12.50"), False),
        (("72.5 kg", "101 kg"), False),
        (("A1", "B2"), True),
    ],
)
def test_text_that_opens_with_numbers_has_no_order(values: tuple[str, ...], sorts: bool) -> None:
    common = tuple((v, 1) for v in values)
    column = ColumnProfile("size", "TEXT", "text", "text", "size", distinct=len(values), common=common)
    assert has_order(column) == sorts


@pytest.mark.parametrize("shape", ["group", "having", "superlative_group", "compare_groups", "metric", "top_per_group"])
@pytest.mark.parametrize("nameless", [set(), {"name", "title"}])
def test_parents_are_told_apart_by_their_key(shape: str, nameless: set[str]) -> None:
    """That no two names are the same here says nothing of other instances, nor of parents without a name."""
    profile = with_nulls(shop.profile(), nameless)
    tables = {t.name: t for t in profile.tables}
    seen = 0
    for intent in only(shape, profile, 60):
        assert isinstance(intent.query, Query)
        query = intent.query.ctes[0].query if intent.query.ctes else intent.query
        assert isinstance(query, Query)
        groups = query.keep.partition if query.keep is not None else query.group_by
        of = {s.alias: tables[s.table] for s in query.sources[1:]}
        keys = [c for c in groups if isinstance(c, Column) and c.source in of]
        parents = {c.source for c in keys if c.name in (*of[c.source].label_columns, *of[c.source].primary_key)}
        assert all(Column(alias, of[alias].primary_key[0]) in groups for alias in parents)
        seen += len(parents)
    assert seen > 3


def test_renderings_agree_where_rows_have_namesakes(tmp_path: Path) -> None:
    """The profile met no two rows of one name; the database that answers has many."""
    profile = shop.profile()
    database = shop.build_sqlite(tmp_path / "shop.sqlite")
    for table, name in (("customers", "name"), ("products", "title"), ("categories", "name")):
        database.execute(f"UPDATE {table} SET {name} = substr({name}, 1, 2)")
    compared: Counter[str] = Counter()
    for intent in islice(sample_intents(profile, 1), 800):
        query = intent.query
        if not isinstance(query, Query) or query.limit is not None:
            continue  # which of equals comes first may differ
        options = dict.fromkeys(renderings(query, profile))
        texts = [render_sql(replace(intent, rendering=name), profile) for name in options]
        found = [sorted(database.execute(sql).fetchall(), key=repr) for sql in texts]
        assert all(rows == found[0] for rows in found), texts
        compared.update(list(options))
    assert compared["join"] > 3 < compared["group_by_key"]


def without_some_parents() -> DatabaseProfile:
    """The shop, where orders lack a customer or name one that there is not, and order items a product."""
    profile = with_nulls(shop.profile(), {"employee_id", "product_id", "category_id"})
    keys = (replace(k, orphan_share=0.1) if k.ref_table == "customers" else k for k in profile.foreign_keys)
    return replace(profile, foreign_keys=tuple(keys))


@pytest.mark.parametrize("shape", ["superlative", "window", "extreme", "arithmetic"])
def test_no_row_is_out_of_the_running_for_want_of_a_parent(shape: str) -> None:
    """The parent of what is ranked is joined where each row has one, or where the question speaks of it."""
    assert any(isinstance(i.query, Query) and i.query.joins for i in only(shape, shop.profile(), 60))
    for intent in only(shape, without_some_parents(), 60):
        query = intent.query
        assert isinstance(query, Query)
        asked = {node.source for node in walk(query.where) if isinstance(node, Column)}
        assert all(join.right in asked for join in query.joins if join.left == query.subject.alias)


@pytest.mark.parametrize("shape", ["superlative", "top_per_group", "window"])
def test_nothing_is_ranked_by_a_column_that_may_hold_null(shape: str) -> None:
    """SQLite puts NULL before the smallest value; that a sample of the rows met none says little."""
    profile = shop.profile()
    sampled = replace(profile, tables=tuple(replace(table, sampled=True) for table in profile.tables))
    assert only(shape, profile, 5)
    assert not only(shape, sampled, 5)


def test_columns_that_a_choice_of_values_holds_are_not_worth_showing() -> None:
    color, price = Column("t1", "color"), Column("t1", "price")
    red, blue = (Comparison("=", color, Value(v)) for v in ("red", "blue"))
    assert fixed(Or((red, blue))) == {color}
    assert fixed(And((InList(color, (Value("red"), Value("blue"))), Comparison("=", price, Value(5))))) == {
        color,
        price,
    }
    assert fixed(Or((red, Comparison("=", price, Value(5))))) == set()
    assert fixed(InList(color, (Value("red"),), negated=True)) == set()
    assert fixed(And((IsNull(color), IsNull(price, negated=True)))) == {color}


ITEM = TableProfile(
    "item",
    40,
    (
        ColumnProfile("maker_id", "INTEGER", "integer", "identifier", "maker ID", distinct=9),
        ColumnProfile("color", "TEXT", "text", "category", "color"),
        ColumnProfile("price", "REAL", "real", "measure", "price"),
    ),
    "item",
    "items",
)
MAKER = TableProfile(
    "maker",
    12,
    (
        ColumnProfile("maker_id", "INTEGER", "integer", "identifier", "ID", unique=True, distinct=12),
        ColumnProfile("name", "TEXT", "text", "text", "name", unique=True, distinct=12),
    ),
    "maker",
    "makers",
    primary_key=("maker_id",),
    label_columns=("name",),
)
PROFILE = DatabaseProfile(
    "d", "sqlite", "0" * 64, (ITEM, MAKER), (ForeignKey("item", ("maker_id",), "maker", ("maker_id",)),)
)


@pytest.mark.parametrize("style", STYLES)
def test_groups_of_some_rows_start_from_those_rows(style: str) -> None:
    count = Output(Aggregate("count"))
    dear = Comparison(">", Column("t1", "price"), Value(5, ("item", "price")))
    color = Column("t1", "color")
    name = Column("t2", "name")
    join = Join("t1", "t2", (("maker_id", "maker_id"),))
    queries = (
        Query((Source("t1", "item"),), (Output(color), count), where=dear, group_by=(color,)),
        Query((Source("t1", "item"), Source("t2", "maker")), (Output(name), count), (join,), dear, (name,)),
    )
    for query in queries:
        for seed in range(6):
            text = render_question(Intent("d", "group", query, 1), PROFILE, style, seed).text
            assert text.lower().startswith("among items"), text
            assert " 5" in text


def test_what_is_said_to_be_a_word_is_one(tmp_path: Path) -> None:
    """ "ller" stands in "Müller", and is no word of it."""
    path = tmp_path / "people.sqlite"
    names = [
        f"{first} {last} {n}" for n in range(5) for first in ("Jürgen", "Zoë", "Émile") for last in ("Müller", "Núñez")
    ]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, born INTEGER)")
        connection.executemany("INSERT INTO person (name, born) VALUES (?, ?)", [(n, i) for i, n in enumerate(names)])
        connection.execute("INSERT INTO person (name, born) VALUES ('Bond Berghain 7', 70)")
    profile = profile_database(Database("people", "sqlite", "sqlite", path, "", path.name))
    words = {word for name in [*names, "Bond Berghain"] for word in re.split(r"\W+", name)}
    asked = [
        n for i in only("list", profile, 400) for n in walk(i.query) if isinstance(n, Like) and n.kind == "contains"
    ]
    assert asked
    assert {str(n.text.value) for n in asked if len(str(n.text.value)) > 3} <= words
