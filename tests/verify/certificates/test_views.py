"""Instances have the views of their database as views, and rows are made for the tables behind them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from verify.verify_shop import as_database

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.evaluation.evaluate import evaluate
from agro_data.evaluation.loaded import Prediction
from agro_data.profiling.profiler import profile_database
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.certifier import COMPUTED, Certifier
from agro_data.verify.certificates.views import views_of, without_views

TABLES = (
    "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT)",
    "CREATE TABLE sale (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), paid INTEGER)",
)
VIEWS = (
    """CREATE VIEW dear (sale, buyer, sum) AS SELECT s.id, c.name, s.paid FROM sale s
       JOIN customer c ON c.id = s.customer_id WHERE s.paid > 50""",
    "CREATE VIEW a_buyer AS SELECT buyer, COUNT(*) AS sales FROM dear GROUP BY buyer",
    "CREATE VIEW a_few AS SELECT id FROM sale LIMIT 3",
)
ROWS = (
    [(n, f"Name {n}", ("Oslo", "Rome", "Bern")[n % 3]) for n in range(12)],
    [(n, n * 7 % 12, n * 13 % 100) for n in range(60)],
)
BUDGET = Budget(files=12, homes=2, rounds=2)


@pytest.fixture(params=["sqlite", "duckdb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    path = tmp_path / f"shop.{request.param}"
    opened = sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(path)
    with closing(opened) as connection:
        for statement in (*TABLES, *VIEWS):
            connection.execute(statement)
        connection.executemany("INSERT INTO customer VALUES (?, ?, ?)", ROWS[0])
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?)", ROWS[1])
        connection.commit()
    return as_database(path, request.param)


def test_a_view_is_read_behind_those_that_it_names_and_one_of_chance_is_not(shop: Database) -> None:
    assert [(view.spec.name, view.plain) for view in views_of(profile_database(shop))] == [
        ("dear", True),
        ("a_buyer", False),
    ]


def test_a_query_over_views_asks_the_same_of_tables(shop: Database, sandbox: Sandbox) -> None:
    profile = profile_database(shop)
    views = views_of(profile)
    few = "SELECT buyer FROM a_buyer WHERE sales < 5"
    asked = f"WITH few AS ({few}) SELECT f.buyer, d.sum FROM few f JOIN dear d ON d.buyer = f.buyer"
    for sql, tables in ((asked, {"customer", "sale"}), ("SELECT name FROM customer", {"customer"})):
        names = resolve(parse_select(sql, shop.dialect), shop.dialect, profile.schema)
        over = without_views(names, views, profile)
        assert over.tables == tables
        assert (over is names) is (names.tables == tables)
        results = sandbox.run(shop, [sql, over.tree.sql(shop.dialect)], want="rows")
        assert [result.status for result in results] == ["ok", "ok"]
        assert sorted(results[0].rows) == sorted(results[1].rows) != []
    other = "WITH dear AS (SELECT id FROM sale) SELECT COUNT(*) FROM a_buyer, dear"  # behind a_buyer is the view
    names = resolve(parse_select(other, shop.dialect), shop.dialect, profile.schema)
    assert without_views(names, views, profile) is names


def test_answers_from_views_and_tables_are_right_where_they_are_the_same(shop: Database, tmp_path: Path) -> None:
    buyers = "FROM sale s JOIN customer c ON c.id = s.customer_id"
    pairs = {
        ("SELECT COUNT(*) FROM sale WHERE paid > 50", "SELECT COUNT(*) FROM dear"): 1.0,
        ("SELECT COUNT(*) FROM sale", "SELECT COUNT(*) FROM dear"): 0.0,
        ("SELECT buyer FROM dear WHERE sum > 80", f"SELECT c.name {buyers} WHERE paid > 80"): 1.0,
        (
            f"SELECT c.name, COUNT(*) {buyers} WHERE s.paid > 50 GROUP BY c.name",
            "SELECT buyer, sales FROM a_buyer",
        ): 1.0,
    }
    asked = [Prediction(f"{n}", "shop", "Who?", gold, (answer,)) for n, (gold, answer) in enumerate(pairs)]
    found = evaluate(asked, shop.path, metric="strict-ts", cache=tmp_path / "cache", workers=1)
    assert [(one.score, one.instances > 1) for one in found.verdicts] == [(score, True) for score in pairs.values()]


def test_golds_over_views_are_told_from_their_mutants(shop: Database, sandbox: Sandbox, tmp_path: Path) -> None:
    golds = [
        "SELECT buyer FROM dear WHERE sum < 70",
        "SELECT name FROM customer",
        "SELECT sales FROM a_buyer WHERE buyer = 'Name 5'",
    ]
    pool = Certifier(shop, profile_database(shop), sandbox, tmp_path / "pool", 0, BUDGET).certify(golds)
    assert [certificate.reason for certificate in pool.certificates] == ["", "", ""]
    computed = [{name.partition("/")[2].startswith(COMPUTED) for name in one.instances} for one in pool.certificates]
    assert computed == [{False}, {False}, {True}]
    both = ["SELECT COUNT(*) FROM dear", "SELECT COUNT(*) FROM sale WHERE paid > 50"]
    for instance in pool.instances.values():
        one, other = sandbox.run(instance, both, want="rows")
        assert one.rows == other.rows
