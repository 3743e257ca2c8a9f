"""Rows that are marked as deleted: no question means them, but where it asks for what is deleted."""

from __future__ import annotations

import hashlib
import sqlite3
from itertools import islice
from random import Random

import pytest

from agro_data.databases.types import Database
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.sampling.undeleted import held_to_undeleted, without_marks
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Exists,
    IsNull,
    Join,
    Not,
    Output,
    Query,
    Source,
    Value,
    conjuncts,
)
from agro_data.profiling.columns.deletion import says_deletion
from agro_data.profiling.profile import DatabaseProfile, Mark
from agro_data.profiling.profiler import profile_database

_SCRIPT = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, deleted_at TEXT, deleted_by TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total REAL,
  is_deleted INTEGER);
CREATE TABLE parts (id INTEGER PRIMARY KEY, name TEXT, is_deleted INTEGER);
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    rng = Random(1)
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCRIPT)
        for n in range(60):
            gone = ("2024-05-07 10:00:00", "admin") if n % 7 == 0 else (None, None)
            connection.execute(
                "INSERT INTO customers VALUES (?, ?, ?, ?, ?)",
                (n, f"Customer {n}", rng.choice(("Oslo", "Rome")), *gone),
            )
            connection.execute("INSERT INTO parts VALUES (?, ?, ?)", (n, f"Part {n}", (0, 1, None)[n % 3]))
        orders = [(n, rng.randrange(60), rng.randrange(900) / 4, int(n % 9 == 0)) for n in range(200)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return profile_database(Database("shop", "sqlite", "sqlite", path, digest, path.name))


def test_what_marks_rows_as_deleted_is_found(shop: DatabaseProfile) -> None:
    """Where a flag is unknown in some rows, nobody knows whether these count."""
    marks = {table.name: table.deleted for table in shop.tables}
    assert marks == {"customers": Mark("deleted_at", None), "orders": Mark("is_deleted", 0), "parts": None}


def test_no_question_counts_deleted_rows_unless_it_asks_for_them(shop: DatabaseProfile) -> None:
    plain = 0
    for intent in islice(sample_intents(shop, 2), 400):
        sql = render_sql(intent, shop)
        question = render_question(intent, shop, "formal", 1)
        if "deleted" not in question.text and "customers" in sql:
            assert "deleted_at IS NULL" in sql, sql
            assert "customers with a value in deleted_at are deleted and do not count" in (question.evidence or "")
            plain += 1
        if "COUNT(DISTINCT" in sql and "customer_id" in sql:
            assert "customers" in sql, sql
    assert plain > 50


def _count(*, where: object = None) -> Query:
    return Query((Source("c", "customers"),), (Output(Aggregate("count")),), where=where)  # type: ignore[arg-type]


_ORDERS = Query((Source("o", "orders"),), (Output(Column("o", "id")),))
_KEY = ((Column("c", "id"), Column("o", "customer_id")),)


def test_rows_that_are_lacking_are_those_that_are_not_deleted(shop: DatabaseProfile) -> None:
    without = held_to_undeleted(_count(where=Not(Exists(_ORDERS, _KEY))), shop)
    assert isinstance(without, Query)
    lacking, test = conjuncts(without.where)
    assert test == IsNull(Column("c", "deleted_at"))
    assert isinstance(lacking, Not)
    assert isinstance(lacking.part, Exists)
    assert lacking.part.query.where == Comparison("=", Column("o", "is_deleted"), Value(0, ("orders", "is_deleted")))
    said, definitions = without_marks(without, shop)
    assert said == _count(where=Not(Exists(_ORDERS, _KEY)))
    assert len(definitions) == 2


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("deleted_at", True),
        ("IsDeleted", True),
        ("deleted_by_user_id", True),
        ("removed_reason", True),
        ("deletedByUser", True),
        ("removed_stock", False),
        ("deleted_bytes", False),
        ("undeleted", False),
    ],
)
def test_a_column_tells_of_deletions_by_all_of_its_name(column: str, says: bool) -> None:
    assert says_deletion(column) is says


def test_what_asks_for_deletions_or_cannot_leave_them_out_is_not_held(shop: DatabaseProfile) -> None:
    gone = _count(where=IsNull(Column("c", "deleted_by"), negated=True))
    assert held_to_undeleted(gone, shop) == gone
    kept = Query(
        (Source("c", "customers"), Source("o", "orders")),
        (Output(Column("c", "name")), Output(Aggregate("count", Column("o", "id")))),
        joins=(Join("c", "o", (("id", "customer_id"),), "left", "down"),),
        group_by=(Column("c", "id"),),
    )
    assert held_to_undeleted(kept, shop) is None
    customers = Query(_ORDERS.sources, (Output(Aggregate("count", Column("o", "customer_id"), distinct=True)),))
    assert held_to_undeleted(customers, shop) is None
