"""Rows that are versions of a thing: asked of the current ones, or of the thing where no version differs."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from itertools import islice
from random import Random

import pytest

from agro_data.databases.types import Database
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import Intent
from agro_data.profiling.hidden.concealing import without
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.sql.concealing import Hidden

_SCRIPT = """
CREATE TABLE dim_customer (customer_key INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, name TEXT NOT NULL,
  city TEXT NOT NULL, credit REAL NOT NULL, valid_from TEXT NOT NULL, valid_to TEXT NOT NULL,
  is_current INTEGER NOT NULL);
CREATE TABLE fact_sales (sale_id INTEGER PRIMARY KEY, customer_key INTEGER NOT NULL REFERENCES dim_customer,
  amount REAL NOT NULL, channel TEXT NOT NULL);
"""


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("mart") / "mart.sqlite"
    rng = Random(2)
    key = 0
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCRIPT)
        for thing in range(40):
            last, name = rng.randrange(3), f"{rng.choice(('Ann', 'Bo'))} {thing}"
            for version in range(last + 1):
                key += 1
                connection.execute(
                    "INSERT INTO dim_customer VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (key, f"C{thing}", name,
                     rng.choice(("Oslo", "Rome", "Bern")), rng.randrange(1, 90) * 10.0, f"202{version}-03-04",
                     f"202{version + 1}-03-04" if version < last else "9999-12-31", version == last),
                )  # fmt: skip
        sales = [(n, rng.randrange(1, key + 1), n * 7.5 % 400, rng.choice(("web", "shop"))) for n in range(300)]
        connection.executemany("INSERT INTO fact_sales VALUES (?, ?, ?, ?)", sales)
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return profile_database(Database("mart", "sqlite", "sqlite", path, digest, path.name))


@pytest.fixture(scope="module")
def asked(mart: DatabaseProfile) -> list[tuple[Intent, str, str]]:
    """Intents with their SQL and question."""
    found = islice(sample_intents(mart, 3), 500)
    return [(one, render_sql(one, mart), render_question(one, mart, "formal", n).text) for n, one in enumerate(found)]


def test_things_are_asked_about_as_they_are_now(asked: list[tuple[Intent, str, str]]) -> None:
    alone = [(sql, said) for _, sql, said in asked if "dim_customer" in sql and "fact_sales" not in sql]
    about_versions = ("valid_from", "valid_to", "COUNT(DISTINCT customer_id)", "is_current <", "GROUP BY is_current")
    current = [(sql, said) for sql, said in alone if "is_current = 1" in sql and "current customer" in said]
    others = [(sql, said) for sql, said in alone if (sql, said) not in current]
    assert len(current) > 60
    assert all(sql.count("is_current = 1") == sql.count("FROM dim_customer") for sql, _ in current)
    assert not any("version" in said or "flag" in said for _, said in current)
    assert all("customer version" in said for _, said in others), [s for s in others if "customer version" not in s[1]]
    assert all(any(part in sql for part in about_versions) or "is_current" in sql for sql, _ in others)


def test_what_refers_to_a_version_is_told_by_the_thing_or_by_what_it_was_then(
    asked: list[tuple[Intent, str, str]],
) -> None:
    joined = [(sql, said) for _, sql, said in asked if "dim_customer" in sql and "fact_sales" in sql]
    joined = [(sql, said) for sql, said in joined if sql.count("customer_key") == 2 * sql.count(" ON ")]
    then = [said for sql, said in joined if any(word in sql for word in ("city", "credit", "valid_", "is_current"))]
    steady = [said for sql, said in joined if said not in then]
    assert then
    assert not [said for said in then if "customer version" not in said]
    assert steady
    assert not any("version" in said for said in steady)
    assert any("GROUP BY" in sql and "customer_id" in sql for sql, _ in joined)
    assert not any(re.search(r"GROUP BY (?:[\w.]+, )*(?:\w+\.)?customer_key", sql) for sql, _ in joined)


def test_all_things_that_have_had_a_version_are_counted_by_their_key(asked: list[tuple[Intent, str, str]]) -> None:
    counted = [said for _, sql, said in asked if "COUNT(DISTINCT customer_id) FROM dim_customer" in sql]
    assert counted
    assert all(re.search("(different|distinct) customers .*among customer versions", said) for said in counted), counted


def test_a_day_that_stands_for_none_is_no_bound(asked: list[tuple[Intent, str, str]]) -> None:
    """Products "with effective end in 9999" are those that have none."""
    assert not [sql for _, sql, _ in asked if "= 9999" in sql or "MAX(valid_to)" in sql or "BY valid_to" in sql]


def test_nobody_asks_which_versions_have_nothing(asked: list[tuple[Intent, str, str]]) -> None:
    assert not any("FROM dim_customer" in sql and "IN (SELECT" in sql for _, sql, _ in asked)


def test_nothing_is_current_without_the_column_that_says_so(mart: DatabaseProfile) -> None:
    assert mart.table("dim_customer").versions is not None
    assert without(mart, [Hidden("dim_customer", "is_current")]).table("dim_customer").versions is None
    assert without(mart, [Hidden("dim_customer", "is_current", "1")]).table("dim_customer").versions is None
    left = without(mart, [Hidden("dim_customer", "name")]).table("dim_customer").versions
    assert left is not None
    assert left.steady == ()
