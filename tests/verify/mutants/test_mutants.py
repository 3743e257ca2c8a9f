"""Mutants are the mistakes that are meant, they run, and looking for them leaves the query as it was."""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sql_samples import golds, spider_path, spider_schema

from agro_data.databases.quoting import quoted
from agro_data.databases.types import Dialect
from agro_data.sql.forms.canonical import canonical_sql, sql_text
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.mutants import Mutant, mutants_of
from agro_data.verify.mutants.edit import Parts

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SHOP = {
    "customer": {"id": "INTEGER", "name": "TEXT", "city": "TEXT", "age": "INTEGER"},
    "purchase": {"id": "INTEGER", "customer_id": "INTEGER", "total": "REAL", "day": "TEXT"},
}
KINDS = {
    "aggregate", "aggregate_distinct", "arithmetic", "boundary", "branch_dropped", "case", "column", "comparison",
    "condition_dropped", "connective", "count", "distinct", "extreme", "group_key", "having_where", "join_added",
    "join_dropped", "join_key", "join_type", "limit", "list", "literal", "negation", "null", "order", "pattern",
    "set_operation", "set_to_condition", "subquery_join", "table", "window",
}  # fmt: skip


def mutants(sql: str, dialect: Dialect = "sqlite") -> list[Mutant]:
    return mutants_of(resolve(parse_select(sql, dialect), dialect, SHOP), dialect, SHOP)


def fixture(dialect: Dialect) -> list[tuple[str, list[Mutant]]]:
    """Each query of a fixture file with its mutants."""
    found: list[tuple[str, list[Mutant]]] = []
    label = ""
    for line in (FIXTURES / f"mutants_{dialect}.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- "):
            label = line[3:]
        elif line and label == "gold":
            found.append((line.removesuffix(";"), []))
        elif line:
            kind, what = label.split(": ", 1)
            found[-1][1].append(Mutant(kind, what, line.removesuffix(";")))
    return found


def of_kind(sql: str, kind: str) -> set[str]:
    return {mutant.sql for mutant in mutants(sql) if mutant.kind == kind}


CASES = [(dialect, gold, made) for dialect in ("sqlite", "duckdb") for gold, made in fixture(dialect)]


@pytest.mark.parametrize(("dialect", "gold", "expected"), CASES)
def test_the_mutants_of_the_fixtures(dialect: Dialect, gold: str, expected: list[Mutant]) -> None:
    assert mutants(gold, dialect) == expected


@pytest.mark.parametrize(("dialect", "gold", "expected"), CASES)
def test_they_run(dialect: Dialect, gold: str, expected: list[Mutant]) -> None:
    tables = [f"CREATE TABLE {t} ({', '.join(f'{n} {k}' for n, k in c.items())})" for t, c in SHOP.items()]
    with closing(sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()) as connection:
        for statement in tables:
            connection.execute(statement)
        refused = [mutant.sql for mutant in expected if not runs(connection, mutant.sql)]
    assert dialect == "duckdb" or not refused
    assert all("AVG" in sql or "SUM" in sql for sql in refused), "DuckDB refuses bare columns beside aggregates"


def runs(connection: Any, sql: str) -> bool:
    try:
        connection.execute(sql)
    except (sqlite3.Error, duckdb.BinderException):
        return False
    return True


FURTHER = [
    ("SELECT name FROM customer WHERE age > 3 ORDER BY age DESC LIMIT 1", "extreme",
     "SELECT name FROM customer WHERE age > 3 AND age = (SELECT MAX(age) FROM customer)"),
    ("SELECT T2.total FROM customer AS T1 JOIN purchase AS T2 ON T1.id = T2.customer_id", "join_dropped",
     "SELECT T2.total FROM purchase AS T2"),
    ("SELECT T1.name FROM customer AS T1 JOIN purchase AS T2 ON T1.id = T2.customer_id", "join_dropped",
     "SELECT T1.name FROM customer AS T1"),
    ("SELECT T1.name, T2.customer_id FROM customer AS T1 JOIN purchase AS T2 ON T1.id = T2.customer_id", "join_dropped",
     "SELECT T1.name, T1.id FROM customer AS T1"),
    ("SELECT count(*) FROM customer", "table", "SELECT COUNT(*) FROM purchase AS customer"),
    ("SELECT count(DISTINCT city) FROM customer", "count", "SELECT COUNT(city) FROM customer"),
    ("SELECT city FROM customer WHERE id IN (SELECT customer_id FROM purchase)", "negation",
     "SELECT city FROM customer WHERE NOT id IN (SELECT customer_id FROM purchase)"),
    ("SELECT city FROM customer WHERE city IS NULL", "negation", "SELECT city FROM customer WHERE NOT city IS NULL"),
    ("SELECT name FROM customer WHERE age > 1 INTERSECT SELECT name FROM customer WHERE age < 9", "set_to_condition",
     "SELECT name FROM customer WHERE age > 1 AND age < 9"),
    ("SELECT name FROM customer UNION SELECT day FROM purchase", "set_operation",
     "SELECT name FROM customer UNION ALL SELECT day FROM purchase"),
    ("SELECT city, age FROM customer GROUP BY city, age", "group_key", "SELECT city, age FROM customer GROUP BY city"),
    ("SELECT sum(total) FROM purchase", "aggregate_distinct", "SELECT SUM(DISTINCT total) FROM purchase"),
    ("SELECT age FROM customer WHERE age = 4 OR age = 5", "connective",
     "SELECT age FROM customer WHERE age = 4 AND age = 5"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "kind", "expected"), FURTHER)
def test_the_mistakes_people_make(gold: str, kind: str, expected: str) -> None:
    assert expected in of_kind(gold, kind)


@pytest.mark.parametrize(
    ("literal", "beside"),
    [
        ("2024-02-29", {"2024-02-28", "2024-03-01"}),
        ("2024-02-29 10:30:00", {"2024-02-28 10:30:00", "2024-03-01 10:30:00"}),
        ("00:00:30", {"00:01:30"}),
        ("9999-12-31", set()),
        ("0a6aac00-0000-4000-8000-00000000000F", {"0a6aac00-0000-4000-8000-000000000000"}),
        ("99:10", {"99:10s"}),
        ("paris", {"PARIS", "Paris", "pari"}),
    ],
)
def test_what_stands_beside_a_literal_is_of_its_form(literal: str, beside: set[str]) -> None:
    made = of_kind(f"SELECT name FROM customer WHERE city = '{literal}'", "literal")
    assert made == {f"SELECT name FROM customer WHERE city = '{other}'" for other in beside}


def test_a_number_that_is_made_a_fraction_is_not_divided_instead() -> None:
    """`age * 1.0 / id` is `age / 1.0 / id`: no mistake."""
    made = {mutant.what for mutant in mutants("SELECT age * 1.0 / id FROM customer") if mutant.kind == "arithmetic"}
    assert len(made) == 1
    assert of_kind("SELECT 1.0 / age FROM customer", "arithmetic")


def test_the_number_of_an_interval_stays_one() -> None:
    """A plural of it is no SQL, and cost the gold its certificate."""
    gold = "SELECT id FROM purchase WHERE CAST(day AS DATE) > CAST(day AS DATE) + INTERVAL 30 DAY"
    made = {mutant.what for mutant in mutants(gold, "duckdb") if mutant.kind == "literal"}
    assert made == {"WHERE '30' -> '31'", "WHERE '30' -> '29'"}


def test_what_is_unknown_in_a_column_that_is_not_asked_about() -> None:
    gold = "SELECT city FROM customer WHERE name = 'Ann' OR id > 3 GROUP BY city ORDER BY count(*) DESC LIMIT 1"
    found = resolve(parse_select(gold, "sqlite"), "sqlite", SHOP)
    made = {mutant.sql for mutant in mutants_of(found, "sqlite", SHOP, {("customer", "age"), ("customer", "city")})}
    assert made >= {
        "SELECT city FROM customer WHERE name = 'Ann' OR id > 3 GROUP BY city ORDER BY COUNT(age) DESC LIMIT 1",
        "SELECT city FROM customer WHERE (name = 'Ann' OR id > 3) AND NOT age IS NULL GROUP BY city "
        "ORDER BY COUNT(*) DESC LIMIT 1",
    }
    assert not any("NOT age IS NULL" in mutant.sql for mutant in mutants_of(found, "sqlite", SHOP))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_an_order_by_less_than_a_column(dialect: Dialect) -> None:
    parts: Parts = {("customer", "name"): ("case",), ("purchase", "total"): ("whole",), ("purchase", "day"): ("month",)}
    month = "STRFTIME('%Y-%m', day)" if dialect == "sqlite" else "STRFTIME(day, '%Y-%m')"
    for gold, key, expected in (
        ("SELECT name FROM customer ORDER BY name", "name", {"LOWER(name)"}),
        ("SELECT id FROM purchase ORDER BY total", "total", {"ROUND(total)"}),
        ("SELECT id FROM purchase ORDER BY day LIMIT 3", "day", {month}),
        ("SELECT name FROM customer GROUP BY name ORDER BY name", "name", {"LOWER(name)"}),
        ("SELECT name FROM customer ORDER BY age", "age", set()),
        ("SELECT name AS n FROM customer WHERE age > 1 AND (name IN ('Ada', 'Bo')) ORDER BY n", "n", set()),
        (
            "SELECT name FROM customer WHERE age > 1 AND (age < 9 AND name IN ('Ada', 'Bo')) ORDER BY name",
            "name",
            set(),
        ),
        ("SELECT age FROM customer WHERE name = 'Ada' ORDER BY name, age", "name", set()),
        ("SELECT age FROM customer WHERE name = 'Ada' OR age > 1 ORDER BY name", "name", {"LOWER(name)"}),
        (
            "SELECT a.id FROM customer AS a JOIN customer AS b ON a.id < b.id WHERE a.name = 'Ada' ORDER BY b.name",
            "b.name",
            {"LOWER(b.name)"},
        ),
        ("SELECT age FROM customer GROUP BY age ORDER BY COUNT(name)", "COUNT(name)", set()),
    ):
        found = resolve(parse_select(gold, dialect), dialect, SHOP)
        made = {mutant.sql for mutant in mutants_of(found, dialect, SHOP, (), parts) if mutant.kind == "order"}
        made -= {mutant.sql for mutant in mutants_of(found, dialect, SHOP)}
        bare = {sql.replace(" NULLS FIRST", "").replace(" NULLS LAST", "") for sql in made}
        assert bare == {gold.replace(f"ORDER BY {key}", f"ORDER BY {term}") for term in expected}


def test_every_kind_is_shown_somewhere() -> None:
    shown = {mutant.kind for _, _, made in CASES for mutant in made}
    shown |= {mutant.kind for gold, _, _ in FURTHER for mutant in mutants(gold)}
    assert shown == KINDS


def test_the_list_of_mistakes_names_every_kind() -> None:
    lines = (Path(__file__).parents[3] / "docs" / "mutants.md").read_text(encoding="utf-8").splitlines()
    assert {line.split("`")[-2] for line in lines if line.endswith("` |")} == KINDS


def test_a_link_between_tables_is_not_dropped() -> None:
    gold = "SELECT T1.name FROM customer AS T1, purchase AS T2 WHERE T1.id = T2.customer_id AND T2.total > 3"
    assert not any("T2.customer_id" not in mutant.sql for mutant in mutants(gold) if mutant.kind == "condition_dropped")


def test_a_group_key_is_not_added_twice() -> None:
    gold = "SELECT id, count(*) FROM customer GROUP BY id"
    assert "SELECT id, COUNT(*) FROM customer GROUP BY id, id" not in of_kind(gold, "group_key")


@pytest.mark.parametrize("table", ["it's", "we;ird", 'a"b', "a.b"])
def test_a_table_of_any_name_is_joined_under_it(table: str) -> None:
    schema = {"item": {"id": "INTEGER", "name": "TEXT"}, table: {"id": "INTEGER", "name": "TEXT"}}
    made = mutants_of(resolve(parse_select("SELECT name FROM item", "sqlite"), "sqlite", schema), "sqlite", schema)
    name = quoted(table)
    assert f"SELECT item.name FROM item JOIN {name} ON item.id = {name}.id" in {mutant.sql for mutant in made}


def test_reserved_words_are_quoted() -> None:
    schema = {"train": {"id": "INTEGER", "Name": "TEXT", "From": "TEXT"}}
    made = mutants_of(resolve(parse_select("SELECT Name FROM train", "sqlite"), "sqlite", schema), "sqlite", schema)
    assert 'SELECT "From" FROM train' in {mutant.sql for mutant in made}


@pytest.mark.parametrize("size", [12, pytest.param(120, marks=pytest.mark.slow)])
def test_on_real_golds(shared_data: Path, size: int) -> None:
    """Nothing is repeated, the query is left as it was, all parse and nearly all run; a millisecond matters."""
    sample = random.Random(5).sample(sorted(set(golds(shared_data))), size)
    counts, seconds, failed = [], [], 0
    for db_id, sql in sample:
        schema = spider_schema(shared_data, db_id)
        found = resolve(parse_select(sql, "sqlite"), "sqlite", schema)
        before = sql_text(found.tree, "sqlite")
        start = time.process_time()
        made = mutants_of(found, "sqlite", schema)
        seconds.append(time.process_time() - start)
        counts.append(len(made))
        assert sql_text(found.tree, "sqlite") == before
        assert all(child.parent is node for node in found.tree.walk() for child in node.iter_expressions())
        texts = [canonical_sql(resolve(parse_select(m.sql, "sqlite"), "sqlite", schema), "sqlite") for m in made]
        assert len(set(texts)) == len(texts)
        assert canonical_sql(resolve(parse_select(sql, "sqlite"), "sqlite", schema), "sqlite") not in texts
        address = spider_path(shared_data, db_id).as_uri() + "?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as db:
            if runs(db, f"EXPLAIN {sql}"):  # three golds of Spider do not
                failed += sum(not runs(db, f"EXPLAIN {mutant.sql}") for mutant in made)
    assert statistics.median(counts) >= 15
    assert failed <= 0.01 * sum(counts)
    assert statistics.median(seconds) < 0.05, "five times what is promised: the machine is shared"


def test_the_same_query_has_the_same_mutants() -> None:
    gold = fixture("sqlite")[1][0]
    assert json.dumps([vars(m) for m in mutants(gold)]) == json.dumps([vars(m) for m in mutants(gold)])


def test_distinct_is_not_asked_of_one_row() -> None:
    assert of_kind("SELECT name FROM customer ORDER BY age LIMIT 3", "distinct")
    assert not of_kind("SELECT name FROM customer ORDER BY age LIMIT 1", "distinct")
    assert not of_kind("SELECT MAX(age) FROM customer", "distinct")


def test_true_and_false_have_no_order() -> None:
    assert "SELECT name FROM customer WHERE age >= 1" in of_kind(
        "SELECT name FROM customer WHERE age = 1", "comparison"
    )
    made = of_kind("SELECT name FROM customer WHERE age = TRUE", "comparison")
    assert made == {"SELECT name FROM customer WHERE age <> TRUE"}


def test_a_membership_among_conditions_that_are_negated_together_is_no_join() -> None:
    member = "id IN (SELECT customer_id FROM purchase)"
    for where, joined in ((f"{member} AND age > 5", True), (f"NOT ({member} AND age > 5)", False)):
        found = mutants(f"SELECT name FROM customer WHERE {where}")
        assert any(one.kind == "subquery_join" for one in found) == joined, where
