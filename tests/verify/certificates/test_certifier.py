"""Certificates on real engines: what they claim is found again with the engine alone."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from verify.verify_shop import as_database, shop

from agro_data.databases.digest import result_digest
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.pairs.certifying import with_certificate
from agro_data.profiling.profiler import profile_database
from agro_data.verify.certificates.budget import DEDICATED, Budget
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import PER_GOLD, Pool
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many

GOLDS = [
    "SELECT name FROM customer WHERE age > 30",
    "SELECT city, COUNT(*) FROM customer GROUP BY city",
    "SELECT T1.name FROM customer AS T1 JOIN purchase AS T2 ON T1.id = T2.customer_id WHERE T2.total > 20",
    "SELECT name FROM customer ORDER BY age DESC LIMIT 1",
    "SELECT COUNT(*) FROM purchase WHERE total < 15",
]
SMALL = Budget(files=12, homes=2, rounds=2)


def certified(database: Database, sandbox: Sandbox, folder: Path, golds: list[str], seed: int = 0) -> Pool:
    return Certifier(database, profile_database(database), sandbox, folder, seed, SMALL).certify(golds)


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def pool(request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Pool:
    folder = tmp_path_factory.mktemp(request.param)
    return certified(shop(folder, request.param), sandbox, folder / "pool", GOLDS)


def asked(database: Database, sql: str) -> list[tuple[Any, ...]]:
    """The answer of the bare engine."""
    if database.dialect == "sqlite":
        with closing(sqlite3.connect(f"file:{database.path}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()
    with duckdb.connect(str(database.path), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_gold_is_told_from_its_mutants(pool: Pool) -> None:
    assert [certificate.sql for certificate in pool.certificates] == GOLDS
    for certificate in pool.certificates:
        assert certificate.kill_rate >= 0.9, certificate.detail
        assert certificate.total >= 5
        assert certificate.count("killed") + certificate.count("equivalent") + certificate.count("undecided") == (
            certificate.total
        )
        assert 0 < len(certificate.instances) <= PER_GOLD


def test_what_killed_a_mutant_tells_it_apart_on_the_bare_engine(pool: Pool) -> None:
    for certificate in pool.certificates:
        ordered = "ORDER BY" in certificate.sql
        for fate in certificate.mutants:
            if fate.outcome != "killed":
                continue
            assert fate.by in certificate.instances
            gold, other = (asked(pool.instances[fate.by], sql) for sql in (certificate.sql, fate.sql))
            same = gold == other if ordered else sorted(map(repr, gold)) == sorted(map(repr, other))
            assert not same, (certificate.sql, fate.what)


def test_a_mutant_that_is_not_killed_agrees_on_every_instance(pool: Pool) -> None:
    for certificate in pool.certificates:
        for fate in certificate.mutants:
            if fate.outcome != "killed" and "ORDER BY" not in certificate.sql:
                for database in pool.databases(certificate):
                    gold, other = (sorted(map(repr, asked(database, sql))) for sql in (certificate.sql, fate.sql))
                    assert gold == other, (certificate.sql, fate.what)


def test_digests_are_those_of_the_gold_and_one_answer_at_most_says_nothing(pool: Pool) -> None:
    for certificate in pool.certificates:
        columns = 2 if "COUNT(*) FROM customer" in certificate.sql else 1
        nothing = 0
        for database, digest in zip(pool.databases(certificate), certificate.digests, strict=True):
            rows = asked(database, certificate.sql)
            nothing += rows in ([], [(0,)])
            assert result_digest(columns, rows, ordered="ORDER BY" in certificate.sql) == digest
        assert nothing <= 1 < len(certificate.instances)


def test_a_few_killed_mutants_show_the_row_that_differs(pool: Pool) -> None:
    for certificate in pool.certificates:
        shown = [fate for fate in certificate.mutants if fate.difference]
        assert 1 <= len(shown) <= 3
        assert all("expected" in fate.difference or "got" in fate.difference for fate in shown)


def test_only_files_that_serve_a_gold_are_left(pool: Pool) -> None:
    folder = next(iter(pool.instances.values())).path.parent
    used = {name for certificate in pool.certificates for name in certificate.instances}
    assert set(pool.instances) == used
    assert {f"shop/{path.name}" for path in folder.iterdir()} == used
    assert len(used) <= SMALL.files


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_the_same_seed_gives_the_same_certificates(dialect: Dialect, sandbox: Sandbox, tmp_path: Path) -> None:
    database = shop(tmp_path, dialect)
    first, second = (certified(database, sandbox, tmp_path / name, GOLDS[:3]) for name in ("a", "b"))
    assert first.certificates == second.certificates
    if dialect == "sqlite":  # DuckDB lays the same rows out differently
        files = [sorted((tmp_path / name).iterdir()) for name in ("a", "b")]
        assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    other = certified(database, sandbox, tmp_path / "c", GOLDS[:3], seed=1)
    assert other.certificates != first.certificates


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("duckdb", marks=pytest.mark.slow)])
def test_own_instances_do_not_depend_on_the_company(dialect: Dialect, sandbox: Sandbox, tmp_path: Path) -> None:
    database = shop(tmp_path, dialect)
    profile = profile_database(database)
    alone, beside = (
        Certifier(database, profile, sandbox, tmp_path / name, 0, DEDICATED).certify(golds)
        for name, golds in (("alone", [GOLDS[3]]), ("beside", [GOLDS[0], GOLDS[3]]))
    )
    assert alone.certificates == beside.certificates[1:]
    first, second = (set(certificate.instances) for certificate in beside.certificates)
    assert not first & second
    for certificate in beside.certificates:
        assert len(certificate.instances) == PER_GOLD
        assert certificate.kill_rate >= 0.9, certificate.detail
    assert {f"shop/{path.name}" for path in (tmp_path / "beside").iterdir()} == first | second


def test_a_prediction_that_fails_only_where_nothing_is_found_is_told_apart(sandbox: Sandbox, tmp_path: Path) -> None:
    gold = "SELECT MAX(total) FROM purchase WHERE total > 20"
    lucky = "SELECT total FROM purchase WHERE total > 20 ORDER BY total DESC LIMIT 1"
    database = shop(tmp_path, "sqlite")
    pool = Certifier(database, profile_database(database), sandbox, tmp_path / "pool", 0, DEDICATED).certify([gold])
    said = [(asked(found, gold), asked(found, lucky)) for found in pool.databases(pool.certificates[0])]
    assert [right for right, wrong in said if right != wrong] == [[(None,)]]


COMPUTED = [
    "SELECT name FROM customer WHERE age + id * 2 > 40",
    "SELECT COUNT(*) FROM purchase WHERE total / customer_id BETWEEN 5 AND 20",
    "SELECT T1.name FROM customer AS T1 JOIN purchase AS T2 ON T1.id = T2.customer_id WHERE T2.total > T1.age + 5",
    "SELECT name FROM (SELECT *, age - id AS gap FROM customer) AS t WHERE gap >= 18",
    "SELECT customer_id FROM purchase GROUP BY customer_id HAVING SUM(total) / COUNT(*) > 12.5",
    "SELECT customer_id FROM purchase GROUP BY customer_id HAVING SUM(total * 2) >= 30",
]


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("duckdb", marks=pytest.mark.ci)])
def test_a_bound_of_what_is_computed_is_told_from_its_neighbours(
    dialect: Dialect, sandbox: Sandbox, tmp_path: Path
) -> None:
    database = shop(tmp_path, dialect)
    pool = Certifier(database, profile_database(database), sandbox, tmp_path / "pool", 0, DEDICATED).certify(COMPUTED)
    for certificate in pool.certificates:
        bounds = [fate for fate in certificate.mutants if fate.kind in ("boundary", "comparison", "literal")]
        assert len(bounds) >= 3
        assert not [fate.what for fate in bounds if fate.outcome == "undecided"], certificate.sql


@pytest.mark.parametrize(
    ("gold", "all_of_them"),
    [
        (
            "SELECT city FROM customer ORDER BY age DESC LIMIT 1",
            "SELECT city FROM customer WHERE age = (SELECT MAX(age) FROM customer)",
        ),
        (
            "SELECT age FROM customer WHERE city = 'Oslo' ORDER BY age LIMIT 1",
            "SELECT age FROM customer WHERE city = 'Oslo' "
            "AND age = (SELECT MIN(age) FROM customer WHERE city = 'Oslo')",
        ),
        (
            "WITH oldest AS (SELECT city FROM customer ORDER BY age DESC LIMIT 1) SELECT city FROM oldest",
            "SELECT city FROM customer WHERE age = (SELECT MAX(age) FROM customer)",
        ),
    ],
)
@pytest.mark.parametrize("budget", [SMALL, DEDICATED])
def test_whether_an_answer_keeps_one_of_those_that_tie_or_all_is_left_open(
    budget: Budget, gold: str, all_of_them: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    database = shop(tmp_path, "sqlite")
    pool = Certifier(database, profile_database(database), sandbox, tmp_path / "pool", 0, budget).certify([gold])
    (certificate,) = pool.certificates
    assert certificate.instances, certificate.detail
    case = Case(gold, all_of_them, tuple(pool.databases(certificate)))
    (grade,) = grade_many([case], sandbox, GoldResults())
    assert grade.right, grade


@pytest.mark.parametrize(
    ("gold", "key", "less"),
    [
        ("SELECT name FROM customer WHERE age > 20 ORDER BY name", "name", "LOWER(name)"),
        ("SELECT id FROM purchase ORDER BY day DESC LIMIT 1", "day", "STRFTIME('%Y-%m', day)"),
        ("SELECT id FROM purchase ORDER BY total", "total", "CAST(total AS INTEGER)"),
        ("SELECT id, total FROM purchase WHERE total > 8 ORDER BY total DESC", "total", "ROUND(total)"),
    ],
)
@pytest.mark.parametrize("budget", [SMALL, DEDICATED])
def test_an_order_by_less_than_the_whole_value_is_wrong(
    budget: Budget, gold: str, key: str, less: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    database = shop(tmp_path, "sqlite")
    pool = Certifier(database, profile_database(database), sandbox, tmp_path / "pool", 0, budget).certify([gold])
    (certificate,) = pool.certificates
    assert not [fate for fate in certificate.survivors if fate.kind == "order"]
    careless = gold.replace(f"ORDER BY {key}", f"ORDER BY {less}")
    case = Case(gold, careless, tuple(pool.databases(certificate)))
    assert not grade_many([case], sandbox, GoldResults())[0].right


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("SELECT id FROM purchase WHERE total > 20", "SELECT id FROM purchase WHERE total > 20.2"),
        ("SELECT id FROM purchase WHERE total < 20.5", "SELECT id FROM purchase WHERE total < 20.45"),
        (
            "SELECT customer_id FROM purchase GROUP BY customer_id HAVING SUM(total) > 20",
            "SELECT customer_id FROM purchase GROUP BY customer_id HAVING SUM(total) > 20.5",
        ),
        (
            "SELECT id FROM customer WHERE name = 'Ada' OR name = 'Bo' ORDER BY age DESC LIMIT 1",
            "SELECT id FROM customer WHERE name = 'Ada' OR LOWER(name) = 'bo' ORDER BY age DESC LIMIT 1",
        ),
    ],
)
def test_a_bound_in_the_gap_beside_the_golds_and_a_text_in_any_case_are_wrong(
    gold: str, answer: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    database = shop(tmp_path, "sqlite")
    for seed in range(2):
        made = Certifier(database, profile_database(database), sandbox, tmp_path / f"pool{seed}", seed, DEDICATED)
        pool = made.certify([gold])
        case = Case(gold, answer, tuple(pool.databases(pool.certificates[0])))
        assert not grade_many([case], sandbox, GoldResults())[0].right


@pytest.mark.parametrize("seed", range(3))
def test_the_parent_of_the_largest_sum_is_not_that_of_the_largest_number(
    seed: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    joined = "SELECT T1.name FROM customer AS T1 JOIN purchase AS T2 ON T1.id = T2.customer_id"
    gold = f"{joined} ORDER BY T2.total DESC LIMIT 1"
    database = shop(tmp_path, "sqlite")
    pool = Certifier(database, profile_database(database), sandbox, tmp_path / "pool", seed, DEDICATED).certify([gold])
    answer = f"{joined} GROUP BY T1.id ORDER BY SUM(T2.total) DESC LIMIT 1"
    (grade,) = grade_many([Case(gold, answer, tuple(pool.databases(pool.certificates[0])))], sandbox, GoldResults())
    assert not grade.right


def test_certifying_again_replaces_the_files(sandbox: Sandbox, tmp_path: Path) -> None:
    database = shop(tmp_path, "sqlite")
    profile = profile_database(database)
    Certifier(database, profile, sandbox, tmp_path / "pool", 0, DEDICATED).certify(GOLDS[:1])
    again = Certifier(database, profile, sandbox, tmp_path / "pool", 0, DEDICATED).certify(GOLDS[1:2])
    assert {f"shop/{path.name}" for path in (tmp_path / "pool").iterdir()} == set(again.instances)


@pytest.mark.parametrize("budget", [SMALL, DEDICATED])
def test_a_full_disk_is_no_fault_of_the_golds(
    budget: Budget, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    database = shop(tmp_path, "sqlite")
    monkeypatch.setattr("agro_data.verify.certificates.making.write_instance", full)
    with pytest.raises(OSError, match="no space"):
        Certifier(database, profile_database(database), sandbox, tmp_path / "pool", 0, budget).certify(GOLDS[:1])


def test_golds_that_cannot_be_certified_say_why(sandbox: Sandbox, tmp_path: Path) -> None:
    golds = [
        "SELECT nothing FROM customer",
        "DELETE FROM customer",
        "SELECT name FROM customer LIMIT 1",
        "SELECT name FROM customer WHERE age > 30 AND age < 30",
    ]
    pool = certified(shop(tmp_path, "sqlite"), sandbox, tmp_path / "pool", golds)
    assert [certificate.reason for certificate in pool.certificates] == ["uncertifiable"] * 4
    said = [certificate.detail for certificate in pool.certificates]
    assert "unknown_column" in said[0]
    assert "not_select" in said[1]
    assert "unordered_limit" in said[2]
    assert "empty on" in said[3]
    assert not pool.instances
    assert list((tmp_path / "pool").iterdir()) == []


def test_a_fault_of_this_code_is_not_called_one_of_the_gold(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise ValueError("no name for a table\n  in line 2")

    monkeypatch.setattr("agro_data.verify.certificates.pursuit.mutants_of", failing)
    (found,) = certified(shop(tmp_path, "sqlite"), sandbox, tmp_path / "pool", GOLDS[:1]).certificates
    assert (found.reason, found.detail) == ("unexamined", "it could not be examined: ValueError: no name for a table")
    (told,) = with_certificate([], found)
    assert (told.kind, told.says) == (found.reason, "It could not be examined: ValueError: no name for a table.")


def test_a_gold_that_computes_with_a_list_is_not_graded_where_a_text_stands(sandbox: Sandbox, tmp_path: Path) -> None:
    """`len` of a text is another number than that of a list, and of two right queries one would not run."""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, tags VARCHAR[], mood ENUM ('low', 'high'))"
        )
        connection.execute("INSERT INTO customer SELECT i, 'c' || i, ['a', 'b'][1:i % 3], 'low' FROM range(20) AS r(i)")
    golds = [
        "SELECT name FROM customer WHERE len(tags) = 2",
        "SELECT name, tags FROM customer WHERE id > 4",
        "SELECT name FROM customer WHERE mood = 'low'",
    ]
    pool = certified(as_database(path, "duckdb"), sandbox, tmp_path / "pool", golds)
    assert [bool(certificate.instances) for certificate in pool.certificates] == [False, True, True]
    assert "customer.tags (VARCHAR[])" in pool.certificates[0].detail


def test_a_bar_that_is_not_reached_makes_a_gold_weak(sandbox: Sandbox, tmp_path: Path) -> None:
    database = shop(tmp_path, "sqlite")
    sql = "SELECT name FROM customer WHERE age > 30"
    made = (
        Certifier(database, profile_database(database), sandbox, tmp_path / "pool", 0, SMALL, min_kill_rate=1.01)
        .certify([sql])
        .certificates[0]
    )
    assert made.reason == "weak"
    assert f"{made.count('killed')} of {made.total - made.count('equivalent')} mutants" in made.detail
    assert made.instances


def test_an_order_that_only_the_engine_keeps_is_no_mutant_that_survives(sandbox: Sandbox, tmp_path: Path) -> None:
    """Groups come sorted from SQLite whether asked or not."""
    gold = "SELECT city, COUNT(*) FROM customer GROUP BY city ORDER BY city"
    (certificate,) = certified(shop(tmp_path, "sqlite"), sandbox, tmp_path / "pool", [gold]).certificates
    assert certificate.ok, certificate.detail
    assert not [fate for fate in certificate.survivors if "ORDER BY" in fate.what]
