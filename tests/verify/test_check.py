from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import run_sqlite
from sqlglot import exp
from verify_shop import SCHEMA, as_database, shop

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.sql.facts import facts_of
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.chance.shuffled_copy import shuffled_copy
from agro_data.verify.check import CHECKS, StatementVerdict, verify_statements
from agro_data.verify.informative import drop_variants


@dataclass
class Bench:
    database: Database
    shuffled: Database
    sandbox: Sandbox

    def verdicts(self, *statements: str, **options: bool) -> list[StatementVerdict]:
        return verify_statements(self.database, SCHEMA, statements, self.sandbox, self.shuffled, **options)

    def reason(self, sql: str) -> str:
        return self.verdicts(sql)[0].reason


def bench(folder: Path, dialect: Dialect) -> Iterator[Bench]:
    database = shop(folder, dialect)
    with Sandbox(limits=Limits(seconds=1.0)) as sandbox:
        yield Bench(database, shuffled_copy(database, folder / "copies", seed=0), sandbox)


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from bench(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from bench(tmp_path_factory.mktemp("lite"), "sqlite")


SOUND = [
    "SELECT name FROM customer WHERE city = 'Rome'",
    "SELECT name, age FROM customer ORDER BY age, name",
    "SELECT name FROM customer ORDER BY age DESC LIMIT 1",
    "SELECT city, COUNT(*) AS n FROM customer GROUP BY city ORDER BY n DESC LIMIT 1",
    "SELECT name FROM customer WHERE age > 20 ORDER BY age DESC LIMIT 1",  # the first without WHERE, too
    "SELECT name FROM customer WHERE age = (SELECT MAX(age) FROM customer)",
    "SELECT name FROM customer c WHERE NOT EXISTS (SELECT 1 FROM purchase p WHERE p.customer_id = c.id)",
    "SELECT name, RANK() OVER (ORDER BY age) AS r FROM customer",
    "SELECT name, ROW_NUMBER() OVER (w ORDER BY age) AS r FROM customer WINDOW w AS (PARTITION BY city)",
    "SELECT name FROM customer ORDER BY id LIMIT 1 + 1",
    "SELECT day, SUM(total) OVER (ORDER BY day ROWS UNBOUNDED PRECEDING) AS s FROM purchase",
    "SELECT AVG(total), SUM(total) FROM purchase WHERE total < 99",
    "SELECT name FROM customer EXCEPT SELECT name FROM customer WHERE age < 40",
    "WITH big AS (SELECT customer_id, total FROM purchase WHERE total > 9) SELECT COUNT(*) FROM big",
]


@pytest.mark.parametrize("sql", SOUND)
def test_a_sound_statement_passes_every_check(both: Bench, sql: str) -> None:
    (verdict,) = both.verdicts(sql)
    assert verdict.ok, (verdict.reason, verdict.detail)
    assert set(verdict.checks) == set(CHECKS)
    assert verdict.result is not None
    assert verdict.result.digest


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nick FROM customer", "unknown_column"),
        ("SELECT no_such_function(id) FROM customer", "execution_error"),
        ("SELECT name FROM customer WHERE age > 100", "empty"),
        ("SELECT COUNT(*) FROM customer WHERE age > 100", "empty"),
        ("SELECT email FROM customer", "null_only"),
        ("SELECT name FROM customer LIMIT 2", "unordered_limit"),
        ("SELECT name FROM customer ORDER BY age LIMIT 2", "tie"),  # 19, then 30 twice
        ("SELECT name FROM customer ORDER BY age LIMIT 2 OFFSET 2", "tie"),  # begins between the two
        ("SELECT name FROM customer ORDER BY age", "tie"),  # 30 twice: their order is open
        ("SELECT name, ROW_NUMBER() OVER (ORDER BY age) FROM customer", "tie"),
        ("SELECT name, ROW_NUMBER() OVER () FROM customer", "unordered_window"),
        ("SELECT name, ROW_NUMBER() OVER w FROM customer WINDOW w AS (ORDER BY age)", "tie"),
        ("SELECT name, ROW_NUMBER() OVER w FROM customer WINDOW w AS (PARTITION BY city)", "unordered_window"),
        ("SELECT name FROM customer ORDER BY age LIMIT 1 + 1", "tie"),
        ("SELECT name FROM customer ORDER BY age LIMIT (SELECT 2)", "tie"),
        ("SELECT name FROM customer ORDER BY age LIMIT 1 OFFSET 1 + 1", "tie"),
        ("SELECT id FROM purchase WHERE customer_id IN (SELECT id FROM customer ORDER BY age LIMIT 1 + 1)", "tie"),
        ("SELECT id FROM purchase WHERE customer_id IN (SELECT id FROM customer ORDER BY age LIMIT 2)", "tie"),
        ("SELECT name FROM customer WHERE city = 'Rome' AND age > 20", "uninformative"),
        ("SELECT city FROM customer GROUP BY city HAVING COUNT(*) > 0", "uninformative"),
        ("SELECT p.day FROM purchase p JOIN customer c ON c.id = p.customer_id", "uninformative"),
        ("SELECT name FROM customer ORDER BY id LIMIT 50", "uninformative"),
        ("SELECT name FROM customer EXCEPT SELECT 'nobody'", "uninformative"),
        ("SELECT name FROM customer WHERE age IN (SELECT age FROM customer WHERE id > 0) AND id < 3", "uninformative"),
    ],
)
def test_each_fault_has_its_reason(both: Bench, sql: str, reason: str) -> None:
    (verdict,) = both.verdicts(sql)
    assert verdict.reason == reason, verdict.detail
    assert verdict.detail
    assert not verdict.ok


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT city, name FROM customer GROUP BY city", "bare_column"),
        ("SELECT name, MIN(id) FROM customer", "bare_column"),
        ("SELECT * FROM customer GROUP BY city", "bare_column"),
        ("SELECT c.name, COUNT(*) FROM customer c JOIN purchase p ON c.id = p.customer_id GROUP BY c.id", ""),
        ("SELECT SUM(age) FILTER (WHERE city = 'Oslo') FROM customer", ""),
        ("SELECT SUM(age) FILTER (WHERE city = 'Oslo') + age FROM customer", "bare_column"),
        ("SELECT GROUP_CONCAT(name) FROM customer", "unordered_aggregate"),
        ("SELECT total FROM purchase WHERE customer_id = (SELECT id FROM customer WHERE age = 30)", "scalar_rows"),
        ("SELECT DISTINCT city FROM customer ORDER BY age", "tie"),
        ("SELECT name FROM customer ORDER BY city COLLATE NOCASE", "tie"),
        # no probe reads a correlated LIMIT; the shuffled copy shows it
        (
            "SELECT c.city, (SELECT d.name FROM customer d WHERE d.city = c.city ORDER BY d.email LIMIT 1) "
            "FROM customer c WHERE c.city = 'Oslo'",
            "row_order",
        ),
    ],
)
def test_freedoms_that_sqlite_alone_takes(lite: Bench, sql: str, reason: str) -> None:
    (verdict,) = lite.verdicts(sql)
    assert verdict.reason == reason, verdict.detail


@pytest.mark.ci
@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT string_agg(name, ',') FROM customer", "unordered_aggregate"),
        ("SELECT string_agg(name, ',' ORDER BY id) FROM customer", ""),
        ("SELECT any_value(name) FROM customer", "unordered_aggregate"),
        ("SELECT name FROM customer QUALIFY ROW_NUMBER() OVER (PARTITION BY city ORDER BY age DESC) = 1", ""),
        ("SELECT name FROM customer QUALIFY ROW_NUMBER() OVER (ORDER BY age) = 2", "tie"),
        ("SELECT city, name FROM customer GROUP BY city", "execution_error"),
        # 30 and 41 occur twice, and not in one city
        ("SELECT MAX_BY(name, age) FROM customer WHERE age < 50", "tie"),
        ("SELECT ARG_MIN(name, age) FROM customer WHERE age > 41", ""),
        ("SELECT MAX_BY(name, age) FILTER (WHERE id < 6) FROM customer WHERE age < 50", ""),
        ("SELECT city, MAX_BY(name, age) AS oldest FROM customer GROUP BY city", ""),
        ("SELECT city AS town, MAX_BY(name, age + LENGTH(town)) FROM customer GROUP BY city", ""),
        ("SELECT city AS town, MAX_BY(name, age) FILTER (WHERE town <> 'Rome') FROM customer GROUP BY city", ""),
        ("SELECT MAX_BY(DISTINCT name, age) FROM customer WHERE age < 50", "tie"),
        ("SELECT MAX_BY(name, age, 2) FROM customer WHERE age < 50", "tie"),
        ("SELECT MIN_BY(name, age, 1) FROM customer WHERE age > 40", "tie"),
        ("SELECT MAX_BY(name, age, 1) FROM customer", ""),
        ("SELECT MAX_BY(name, age, 1 + 1) FROM customer", "tie"),
        ("SELECT string_agg(name, ',' ORDER BY age) FROM customer", "tie"),
        ("SELECT city, string_agg(name, ',' ORDER BY age) FROM customer GROUP BY city", ""),
        ("SELECT list(DISTINCT age ORDER BY age) FROM customer", ""),
        ("SELECT DISTINCT ON (city) city, name FROM customer", "unordered_limit"),
        ("SELECT DISTINCT ON (city) city FROM customer", ""),
        ("SELECT DISTINCT ON (age) age, name FROM customer ORDER BY age", "tie"),
        ("SELECT DISTINCT ON (age) * EXCLUDE (email) FROM customer ORDER BY age", "tie"),
        ("SELECT DISTINCT ON (age) age AS years, name FROM customer ORDER BY years, 2 DESC", ""),
        ("SELECT DISTINCT ON (city) city, name FROM customer ORDER BY city, age DESC", ""),
    ],
)
def test_duckdbs_own(tmp_path: Path, sql: str, reason: str) -> None:
    for place in bench(tmp_path, "duckdb"):
        (verdict,) = place.verdicts(sql)
        assert verdict.reason == reason, verdict.detail


# the first by age under 50 are two of 41 years, who have two names and two ids
FIRST = "FROM customer WHERE age < 50 ORDER BY age DESC LIMIT"


@pytest.mark.parametrize(
    ("through_cte", "inlined", "reasons"),
    [
        (
            f"WITH m AS (SELECT name, age {FIRST} 1) SELECT name FROM customer WHERE age = (SELECT age FROM m)",
            f"SELECT name FROM customer WHERE age = (SELECT age {FIRST} 1)",
            ["", ""],
        ),
        (
            f"WITH m AS (SELECT * {FIRST} 3), n AS (SELECT age FROM m) "
            "SELECT name FROM customer WHERE age IN (SELECT age FROM n)",
            f"SELECT name FROM customer WHERE age IN (SELECT age {FIRST} 3)",
            ["", ""],
        ),
        (
            f"WITH m AS (SELECT id {FIRST} 1) SELECT name FROM customer WHERE EXISTS (SELECT * FROM m)",
            f"SELECT name FROM customer WHERE EXISTS (SELECT id {FIRST} 1)",
            ["", ""],
        ),
        (
            "WITH m AS (SELECT id FROM customer LIMIT 1) SELECT name FROM customer WHERE EXISTS (SELECT 1 FROM m)",
            "SELECT name FROM customer WHERE EXISTS (SELECT id FROM customer LIMIT 1)",
            ["", ""],
        ),
        (
            f"WITH m AS (SELECT id, age {FIRST} 1) SELECT name FROM customer WHERE id = (SELECT id FROM m)",
            f"SELECT name FROM customer WHERE id = (SELECT id {FIRST} 1)",
            ["tie", "tie"],
        ),
        (
            f"WITH m AS (SELECT * {FIRST} 1) SELECT name FROM customer WHERE id IN (SELECT id FROM m WHERE age > 2)",
            f"SELECT name FROM customer WHERE id IN (SELECT id {FIRST} 1)",
            ["tie", "tie"],
        ),
        (
            f"WITH m AS (SELECT id, age {FIRST} 1) "
            "SELECT name FROM customer AS c WHERE EXISTS (SELECT 1 FROM m WHERE m.id = c.id)",
            f"SELECT name FROM customer AS c WHERE EXISTS (SELECT 1 FROM (SELECT id {FIRST} 1) AS m WHERE m.id = c.id)",
            ["tie", "tie"],
        ),
        (  # how often a row comes is seen: all who tie make a right answer, too
            f"WITH m AS (SELECT name, age {FIRST} 3) SELECT name FROM customer WHERE age > (SELECT AVG(age) FROM m)",
            f"SELECT name FROM customer WHERE age > (SELECT AVG(age) FROM (SELECT age {FIRST} 3) AS m)",
            ["", "tie"],
        ),
        (f"WITH m AS (SELECT name, age {FIRST} 1) SELECT age FROM m", f"SELECT age {FIRST} 1", ["", "tie"]),
    ],
)
def test_a_cte_leaves_open_what_the_same_query_in_its_place_leaves_open(
    both: Bench, through_cte: str, inlined: str, reasons: list[str]
) -> None:
    for sql in (through_cte, inlined):
        found = [both.verdicts(sql, informative=False, any_cut=any_cut)[0].reason for any_cut in (False, True)]
        assert found == reasons, sql


def test_one_bad_statement_does_not_touch_the_others(both: Bench) -> None:
    slow = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"
    bad = ["SELECT", "DROP TABLE customer", slow, "SELECT nick FROM customer"]
    mixed = [sql for pair in zip(SOUND, bad, strict=False) for sql in pair]
    verdicts = both.verdicts(*mixed)
    assert [v.ok for v in verdicts] == [True, False] * 4
    assert [v.reason for v in verdicts[1::2]] == ["syntax", "not_select", verdicts[5].reason, "unknown_column"]
    assert verdicts[5].reason in {"timeout", "too_large"}


def test_verdicts_do_not_depend_on_company(lite: Bench) -> None:
    together = lite.verdicts(*SOUND)
    for sql, verdict in zip(SOUND, together, strict=True):
        (alone,) = lite.verdicts(sql)
        assert (alone.ok, alone.checks) == (verdict.ok, verdict.checks)
        assert alone.result is not None
        assert verdict.result is not None
        assert alone.result.ordered_digest == verdict.result.ordered_digest
        assert alone.names is not None
        assert verdict.names is not None
        assert facts_of(alone.names, "sqlite") == facts_of(verdict.names, "sqlite")


def test_a_guard_against_null_is_no_condition_asked(lite: Bench) -> None:
    assert lite.reason("SELECT name FROM customer WHERE age IS NOT NULL ORDER BY age DESC LIMIT 1") == ""
    assert lite.reason("SELECT name FROM customer WHERE age IS NOT NULL") == "uninformative"
    never_bought = (
        "SELECT name FROM customer WHERE id NOT IN (SELECT customer_id FROM purchase WHERE customer_id IS NOT NULL)"
    )
    assert lite.reason(never_bought) == ""


def test_checks_can_be_left_out(lite: Bench) -> None:
    sql = "SELECT name FROM customer WHERE city = 'Rome' AND age > 20"
    assert lite.verdicts(sql)[0].reason == "uninformative"
    assert lite.verdicts(sql, informative=False)[0].ok
    (alone,) = verify_statements(lite.database, SCHEMA, ["SELECT name FROM customer"], lite.sandbox)
    assert alone.ok
    assert "row_order" not in alone.checks


def test_sums_of_floats_may_differ_in_their_last_digits(tmp_path: Path) -> None:
    path = tmp_path / "float.sqlite"
    run_sqlite(
        path,
        "CREATE TABLE m (id INTEGER PRIMARY KEY, x REAL)",
        {"m": [(n, 0.1 * n**3 + 1e-7 / n) for n in range(1, 2_000)]},
    )
    database = as_database(path, "sqlite")
    shuffled = shuffled_copy(database, tmp_path / "copies", seed=0)
    with Sandbox() as sandbox:
        (verdict,) = verify_statements(
            database, {"m": {"id": "INTEGER", "x": "REAL"}}, ["SELECT SUM(x), AVG(x) FROM m"], sandbox, shuffled
        )
    assert verdict.ok, verdict.detail


CONDITIONS = [
    "age > 25",
    "city = 'Oslo'",
    "(age = 30 OR age = 41)",
    "name LIKE '%a%'",
    "id IN (SELECT customer_id FROM purchase)",
]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=4, unique=True))
def test_each_condition_is_dropped_once_and_the_tree_is_restored(conditions: list[str]) -> None:
    sql = "SELECT name FROM customer WHERE " + " AND ".join(conditions)
    found = resolve(parse_select(sql, "sqlite"), "sqlite", SCHEMA)
    before = found.tree.copy()
    variants = drop_variants(found, "sqlite")
    assert found.tree == before
    for node in found.tree.walk():
        assert all(child.parent is node for child in node.iter_expressions())
    assert len(variants) == len(conditions) + 2 * any("OR" in c for c in conditions)
    assert all(isinstance(parse_select(v.sql, "sqlite"), exp.Select) for v in variants)
    assert len({v.sql for v in variants}) == len(variants)


@pytest.mark.parametrize("link", ["c.id = p.customer_id", "((c.id = p.customer_id))"])
def test_a_link_between_sources_is_never_dropped(link: str) -> None:
    sql = f"SELECT c.name FROM customer c, purchase p WHERE {link} AND p.total > 20"
    names = [v.name for v in drop_variants(resolve(parse_select(sql, "sqlite"), "sqlite", SCHEMA), "sqlite")]
    assert names == ["WHERE p.total > 20"]
