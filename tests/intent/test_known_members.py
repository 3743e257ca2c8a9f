"""A dimension's row for what is unknown is no thing, and is counted, ranked and listed as none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from making import profile_of, run_sqlite

from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.known_members import held_to_known, without_known
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Intent,
    Join,
    Output,
    Query,
    Scalar,
    SetOperation,
    Source,
    Value,
)
from agro_data.profiling.cache import decode, encode
from agro_data.profiling.profile import DatabaseProfile, Unknown

_SCHEMA = """
    CREATE TABLE dim_customer (customer_key INTEGER PRIMARY KEY, customer_name TEXT NOT NULL, country TEXT NOT NULL);
    CREATE TABLE dim_promotion (promotion_key INTEGER PRIMARY KEY, promotion_name TEXT NOT NULL);
    CREATE TABLE dim_shop (shop_key INTEGER PRIMARY KEY, shop_name TEXT NOT NULL);
    CREATE TABLE fact_sales (sale_id INTEGER PRIMARY KEY, customer_key INTEGER NOT NULL REFERENCES dim_customer,
        promotion_key INTEGER NOT NULL REFERENCES dim_promotion, shop_key INTEGER NOT NULL REFERENCES dim_shop,
        amount REAL NOT NULL);
"""


_ROWS = {
    "dim_customer": [
        (-1, "Unknown", "N/A"),
        *((n, f"Customer {n}", ("Norway", "Italy", "France")[n % 3]) for n in range(1, 21)),
    ],
    "dim_promotion": [(-1, "Unknown"), (0, "No promotion"), *((n, f"Promotion {n}") for n in range(1, 21))],
    "dim_shop": [(n, f"Shop {n}") for n in range(21)],
    "fact_sales": [(n, -1 if n % 3 == 0 else n % 20 + 1, n % 22 - 1, n % 21, n * 2.5) for n in range(200)],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_sqlite(tmp_path_factory.mktemp("star") / "star.sqlite", _SCHEMA, _ROWS)


@pytest.fixture(scope="module")
def star(path: Path) -> DatabaseProfile:
    return profile_of(path)


_SALE, _CUSTOMER = Source("s", "fact_sales"), Source("c", "dim_customer")
_KEY, _NAME, _COUNTRY = (Column("c", name) for name in ("customer_key", "customer_name", "country"))
_UP, _COUNT = Join("s", "c", (("customer_key", "customer_key"),), "inner", "up"), Output(Aggregate("count"))


def _answer(query: Query | SetOperation, star: DatabaseProfile, path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(render_sql(Intent("star", "list", query, 1), star)).fetchall()


def test_rows_that_stand_for_none_are_seen_by_their_number_and_their_name(star: DatabaseProfile) -> None:
    found = {table.name: table.unknown for table in star.tables}
    assert found["dim_customer"] == Unknown("customer_key", (-1,))
    assert found["dim_promotion"] == Unknown("promotion_key", (-1, 0))
    assert found["dim_shop"] is None, "a shop of number 0 that has a name is one"
    assert found["fact_sales"] is None
    assert decode(encode(star)) == star


def test_who_asks_about_customers_does_not_mean_the_unknown_one(star: DatabaseProfile, path: Path) -> None:
    by_customer = Query((_SALE, _CUSTOMER), (Output(_NAME), _COUNT), (_UP,), group_by=(_KEY, _NAME))
    names = Query((_SALE, _CUSTOMER), (Output(_NAME),), (_UP,), distinct=True)
    several = SetOperation("union", Query((_CUSTOMER,), (Output(_COUNTRY),)), Query((_CUSTOMER,), (Output(_COUNTRY),)))
    for query in (by_customer, names, several):
        held = held_to_known(query, star)
        assert held is not None
        assert {"Unknown", "N/A"} & {row[0] for row in _answer(query, star, path)}
        assert not {"Unknown", "N/A"} & {row[0] for row in _answer(held, star, path)}
    counted = held_to_known(Query((_CUSTOMER,), (_COUNT,)), star)
    assert counted is not None
    assert _answer(counted, star, path) == [(20,)]


def test_each_query_of_a_tree_leaves_it_out(star: DatabaseProfile, path: Path) -> None:
    other = Column("d", "customer_key")
    average = Query((Source("d", "dim_customer"),), (Output(Aggregate("avg", other)),))
    above = Comparison("<", Column("c", "country"), Scalar(average))
    held = held_to_known(Query((_CUSTOMER,), (Output(_NAME),), where=above), star)
    assert held is not None
    assert render_sql(Intent("star", "list", held, 1), star).count("customer_key <> -1") == 2


def test_sales_of_nobody_are_sales(star: DatabaseProfile) -> None:
    france = Comparison("=", _COUNTRY, Value("France", ("dim_customer", "country")))
    shown = Query((_SALE, _CUSTOMER), (Output(Column("s", "amount")), Output(_NAME)), (_UP,))
    from_france = Query((_CUSTOMER,), (_COUNT,), where=france)
    for query in (Query((_SALE,), (_COUNT,)), shown, from_france):
        assert held_to_known(query, star) == query


def test_nobody_asks_for_what_is_unknown(star: DatabaseProfile) -> None:
    nowhere = Comparison("=", _COUNTRY, Value("N/A", ("dim_customer", "country")))
    assert held_to_known(Query((_CUSTOMER,), (_COUNT,), where=nowhere), star) is None
    buyers = Output(Aggregate("count", Column("s", "customer_key"), distinct=True))
    assert held_to_known(Query((_SALE,), (buyers,)), star) is None


def test_questions_say_nothing_of_it_and_the_evidence_does(star: DatabaseProfile) -> None:
    query = Query((_CUSTOMER,), (_COUNT,))
    held = held_to_known(query, star)
    assert held is not None
    assert without_known(held, star)[0] == query
    question = render_question(Intent("star", "count", held, 1), star, "interrogative", 3)
    assert "customer_key" not in question.text
    assert "unknown" not in question.text.lower()
    assert question.evidence == "customers with customer_key -1 stand for unknown ones and do not count"


def test_drawn_questions_never_answer_with_it_where_customers_are_asked_for(star: DatabaseProfile, path: Path) -> None:
    drawn = list(islice(sample_intents(star, 5), 120))
    grouped = [i for i in drawn if isinstance(i.query, Query) and i.query.group_by and "dim_customer" in str(i.query)]
    assert len(grouped) > 5
    for intent in grouped:
        assert not any("Unknown" in row or "N/A" in row for row in _answer(intent.query, star, path)), intent.query
