"""What only some engines have, from the gate to the reward: right answers that use it are let through and found right,
wrong ones are told apart, and what it is made of is still resolved."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.profiling.profiler import profile_database
from agro_data.sql.facts import sql_facts
from agro_data.sql.scope import Schema
from agro_data.synthesis.decomposition import steps_of
from agro_data.verify.certificate import Budget, Certifier
from agro_data.verify.check import verify_statements
from agro_data.verify.gate import check_statement
from agro_data.verify.grade import Case, GoldResults, grade_many

SCHEMAS: dict[Dialect, Schema] = {
    "sqlite": {"pet": {"id": "INTEGER", "kind": "TEXT", "city": "TEXT", "age": "INTEGER", "about": "TEXT"}},
    "duckdb": {
        "pet": {
            "id": "INTEGER", "kind": "VARCHAR", "city": "VARCHAR", "age": "INTEGER", "about": "JSON",
            "weights": "INTEGER[]", "box": "STRUCT(w INTEGER, h INTEGER)",
        }
    },
}  # fmt: skip
PETS = [
    (1, "cat", "Oslo", 3, {"name": "Tom", "owner": {"since": 2019}}, [3, 4, 4]),
    (2, "dog", "Oslo", 7, {"name": "Rex", "owner": {"since": 2015}}, [20, 22]),
    (3, "cat", "Rome", 9, {"name": "Mia"}, []),
    (4, "fish", "Rome", 1, {"name": "Bob", "owner": {"since": 2023}}, [1]),
    (5, "dog", "Bern", 5, {"name": "Ace", "owner": {"since": 2019}}, [30, 31, 4]),
]
BOTH = ["sqlite", "duckdb"]
# (gold, another way to say it, a query that is wrong)
COMMON = [
    (
        "SELECT about ->> '$.name' FROM pet WHERE age > 4",
        "SELECT about ->> 'name' FROM pet WHERE 4 < age",
        "SELECT about ->> 'owner' FROM pet WHERE age > 4",
    ),
    (
        "SELECT id FROM pet WHERE CAST((about -> 'owner') ->> 'since' AS INTEGER) >= 2019",
        "SELECT id FROM pet WHERE CAST(json_extract(about, '$.owner.since') AS INTEGER) >= 2019",
        "SELECT id FROM pet WHERE CAST((about -> 'owner') ->> 'since' AS INTEGER) > 2019",
    ),
    (
        "SELECT id FROM pet WHERE kind IN (VALUES ('cat'), ('fish'))",
        "SELECT id FROM pet WHERE kind IN ('cat', 'fish')",
        "SELECT id FROM pet WHERE kind IN (VALUES ('cat'), ('dog'))",
    ),
    (
        "WITH wanted(kind, least) AS (VALUES ('cat', 4), ('dog', 6)) "
        "SELECT pet.id FROM pet JOIN wanted ON wanted.kind = pet.kind AND pet.age >= wanted.least",
        "SELECT id FROM pet WHERE (kind = 'cat' AND age >= 4) OR (kind = 'dog' AND age >= 6)",
        "WITH wanted(kind, least) AS (VALUES ('cat', 4), ('dog', 6)) "
        "SELECT pet.id FROM pet JOIN wanted ON wanted.kind = pet.kind",
    ),
]
SQLITE = [
    (
        "SELECT p.id, v.column2 FROM pet AS p JOIN (VALUES ('cat', 'Cat'), ('dog', 'Dog')) AS v ON p.kind = v.column1",
        "SELECT id, CASE kind WHEN 'cat' THEN 'Cat' ELSE 'Dog' END FROM pet WHERE kind <> 'fish'",
        "SELECT p.id, v.column1 FROM pet AS p JOIN (VALUES ('cat', 'Cat'), ('dog', 'Dog')) AS v ON p.kind = v.column1",
    ),
]
DUCKDB = [
    (
        "SELECT city, kind, count(*) FROM pet GROUP BY ROLLUP (city, kind)",
        "SELECT city, kind, count(*) FROM pet GROUP BY GROUPING SETS ((city, kind), (city), ())",
        "SELECT city, kind, count(*) FROM pet GROUP BY CUBE (city, kind)",
    ),
    (
        "SELECT city, sum(age), GROUPING(city) FROM pet GROUP BY ROLLUP (city)",
        "SELECT city, sum(age), 0 FROM pet GROUP BY city UNION ALL SELECT NULL, sum(age), 1 FROM pet",
        "SELECT city, sum(age), 0 FROM pet GROUP BY city",
    ),
    (
        "SELECT id FROM pet WHERE age >= ALL (SELECT age FROM pet WHERE kind = 'dog')",
        "SELECT id FROM pet WHERE age >= (SELECT max(age) FROM pet WHERE kind = 'dog')",
        "SELECT id FROM pet WHERE age >= ANY (SELECT age FROM pet WHERE kind = 'dog')",
    ),
    (
        "SELECT id FROM pet WHERE city = ANY (SELECT city FROM pet WHERE kind = 'fish')",
        "SELECT id FROM pet WHERE city IN (SELECT city FROM pet WHERE kind = 'fish')",
        "SELECT id FROM pet WHERE city <> ALL (SELECT city FROM pet WHERE kind = 'fish')",
    ),
    (
        "SELECT p.id, v.de FROM pet AS p JOIN (VALUES ('cat', 'Cat'), ('dog', 'Dog')) AS v(en, de) ON p.kind = v.en",
        "SELECT id, CASE kind WHEN 'cat' THEN 'Cat' ELSE 'Dog' END FROM pet WHERE kind <> 'fish'",
        "SELECT p.id, v.en FROM pet AS p JOIN (VALUES ('cat', 'Cat'), ('dog', 'Dog')) AS v(en, de) ON p.kind = v.en",
    ),
    (
        "SELECT id, weight FROM pet, UNNEST(weights) AS w(weight) WHERE weight > 3",
        "SELECT id, weight FROM (SELECT id, UNNEST(weights) AS weight FROM pet) WHERE weight > 3",
        "SELECT DISTINCT id, weight FROM pet, UNNEST(weights) AS w(weight) WHERE weight > 3",
    ),
    (
        "SELECT DISTINCT UNNEST(string_split(city, 'o')) FROM pet WHERE age > 2",
        "SELECT DISTINCT part FROM pet CROSS JOIN LATERAL UNNEST(string_split(city, 'o')) AS s(part) WHERE age > 2",
        "SELECT DISTINCT city FROM pet WHERE age > 2",
    ),
    (
        "SELECT id, weight FROM pet, UNNEST(weights) WITH ORDINALITY AS w(weight, place) WHERE place = 2",
        "SELECT id, weights[2] FROM pet WHERE len(weights) > 1",
        "SELECT id, weights[1] FROM pet WHERE len(weights) > 1",
    ),
]
PAIRS = [(dialect, *triple) for dialect in BOTH for triple in COMMON]
PAIRS += [("sqlite", *triple) for triple in SQLITE] + [("duckdb", *triple) for triple in DUCKDB]


def pets(folder: Path, dialect: Dialect) -> Database:
    path = folder / f"pets.{dialect}"
    columns = ", ".join(f"{name} {kind}" for name, kind in SCHEMAS[dialect]["pet"].items())
    ddl = f"CREATE TABLE pet ({columns.replace('id INTEGER', 'id INTEGER PRIMARY KEY', 1)})"
    rows = [(*row[:4], json.dumps(row[4])) for row in PETS]
    if dialect == "sqlite":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(ddl)
            connection.executemany("INSERT INTO pet VALUES (?, ?, ?, ?, ?)", rows)
    else:
        with duckdb.connect(path) as duck:
            duck.execute(ddl)
            more = [(*row, pet[5], {"w": pet[0], "h": 2}) for row, pet in zip(rows, PETS, strict=True)]
            duck.executemany("INSERT INTO pet VALUES (?, ?, ?, ?, ?, ?, ?)", more)
    return Database("pets", dialect, dialect, path, sha256(path.read_bytes()).hexdigest(), path.name)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, limits=Limits(seconds=5.0, rows=10_000, bytes=2**22, memory=512 * 2**20)) as made:
        yield made


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[Dialect, Database]:
    folder = tmp_path_factory.mktemp("pets")
    return {dialect: pets(folder, dialect) for dialect in SCHEMAS}


@pytest.mark.parametrize(("dialect", "gold", "other", "wrong"), PAIRS)
def test_a_right_answer_earns_and_a_wrong_one_does_not(
    dialect: Dialect, gold: str, other: str, wrong: str, databases: dict[Dialect, Database], sandbox: Sandbox
) -> None:
    cases = [
        Case(*pair, (databases[dialect],), schema=SCHEMAS[dialect])
        for pair in ((gold, other), (other, gold), (gold, wrong))
    ]
    for mode in ("strict", "intent"):
        grades = grade_many(cases, sandbox, GoldResults(), mode, guarded=True)
        assert [grade.right for grade in grades] == [True, True, False], (mode, grades)


@pytest.mark.parametrize(("dialect", "gold", "other", "wrong"), PAIRS)
def test_it_passes_every_check_of_a_statement(
    dialect: Dialect, gold: str, other: str, wrong: str, databases: dict[Dialect, Database], sandbox: Sandbox
) -> None:
    verdicts = verify_statements(
        databases[dialect], SCHEMAS[dialect], [gold, other, wrong], sandbox, databases[dialect], informative=False
    )
    assert [verdict.reason for verdict in verdicts] == ["", "", ""], [verdict.detail for verdict in verdicts]
    for sql in (gold, other, wrong):
        assert sql_facts(sql, dialect, SCHEMAS[dialect]).tables == ("pet",)
        assert steps_of(sql, dialect, SCHEMAS[dialect])[-1].sql == sql


@pytest.mark.parametrize("dialect", BOTH)
def test_golds_with_it_are_told_from_their_mutants(
    dialect: Dialect, databases: dict[Dialect, Database], sandbox: Sandbox, tmp_path: Path
) -> None:
    golds = [
        gold for kind, gold, *_ in PAIRS if kind == dialect and not {"about", "weights"} & {*re.findall(r"\w+", gold)}
    ]
    profile = profile_database(databases[dialect])
    budget = Budget(files=10, homes=2, rounds=1)
    pool = Certifier(databases[dialect], profile, sandbox, tmp_path, 0, budget).certify(golds)
    for certificate in pool.certificates:
        assert certificate.instances, certificate.detail
        assert certificate.count("killed") >= 3, certificate.detail


@pytest.mark.parametrize(
    ("sql", "reason", "says"),
    [
        ("SELECT nothing ->> 'a' FROM pet", "unknown_column", "nothing"),
        ("SELECT json_extract(about, '$.' || nothing) FROM pet", "unknown_column", "nothing"),
        ("SELECT count(nothing -> 'a') FROM pet", "unknown_column", "nothing"),
        ("SELECT kind FROM pet WHERE kind IN (VALUES (nothing))", "unknown_column", "nothing"),
        ("WITH v(a) AS (VALUES (1)) SELECT b FROM v", "unknown_column", "no column b"),
        ("WITH v(a) AS (VALUES ((SELECT max(a) FROM elsewhere))) SELECT a FROM v", "unknown_table", "elsewhere"),
        ("SELECT * FROM json_each('[1]')", "forbidden_function", "table function"),
        ("SELECT * FROM generate_series(1, 3)", "forbidden_function", "table function"),
        ("WITH v(a) AS (VALUES (random())) SELECT a FROM v", "not_deterministic_function", "another at every run"),
    ],
)
@pytest.mark.parametrize("dialect", BOTH)
def test_what_it_is_made_of_is_resolved(sql: str, reason: str, says: str, dialect: Dialect) -> None:
    gate = check_statement(sql, dialect, SCHEMAS[dialect])
    assert gate.reason == reason
    assert says in gate.detail


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT b FROM (VALUES (1, 2)) AS v(a)", "unknown_column"),
        ("SELECT v.col0 FROM (VALUES (1, 2)) AS v(a)", "unknown_column"),
        ("SELECT w FROM pet, UNNEST(nothing) AS u(w)", "unknown_column"),
        ("SELECT x FROM pet, UNNEST(weights) AS u(w)", "unknown_column"),
        ("SELECT w FROM UNNEST(weights) AS u(w), pet", "unknown_column"),
        ("SELECT w FROM pet, UNNEST(weights) AS u(w), UNNEST(weights) AS v(w)", "ambiguous_column"),
        ("SELECT kind FROM pet GROUP BY ROLLUP (nothing)", "unknown_column"),
        ("SELECT kind FROM pet GROUP BY kind, GROUPING SETS ((city), (nothing))", "unknown_column"),
        ("SELECT kind FROM pet WHERE age > ALL (SELECT nothing FROM pet)", "unknown_column"),
        ("SELECT kind FROM pet WHERE age = ANY (SELECT age FROM 'ages.csv')", "unknown_table"),
        ("SELECT w FROM UNNEST((SELECT list(w) FROM 'ages.csv')) AS u(w)", "unknown_table"),
        ("SELECT w FROM UNNEST(read_csv('ages.csv')) AS u(w)", "forbidden_function"),
        ("SELECT UNNEST(glob('*')) FROM pet", "forbidden_function"),
        ("SELECT * FROM (VALUES (getvariable('x'))) AS v(a)", "forbidden_function"),
        ("SELECT * FROM pet, query_table('pet')", "forbidden_function"),
        ("SELECT kind FROM pet WHERE kind LIKE ANY (SELECT 'c%')", "not_select"),
        ("SELECT UNNEST(box) FROM pet", "forbidden_function"),
        ("SELECT UNNEST({'a': count(*), 'b': max(age), 'c': min(age)}) FROM pet", "forbidden_function"),
        ("SELECT UNNEST(s) FROM (SELECT {'a': count(*), 'b': max(age)} AS s FROM pet)", "forbidden_function"),
        ("SELECT UNNEST(s) FROM pet, UNNEST([{'a': age}]) AS u(s)", "forbidden_function"),
        ("SELECT UNNEST(weights, recursive := true) FROM pet", "not_select"),
    ],
)
def test_of_duckdb_nothing_more_than_lists_and_constants_is_let_through(sql: str, reason: str) -> None:
    assert check_statement(sql, "duckdb", SCHEMAS["duckdb"]).reason == reason


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT kind, count(*) FROM pet GROUP BY ROLLUP (kind)",
        "SELECT kind FROM pet WHERE age >= ALL (SELECT age FROM pet)",
        "SELECT UNNEST(city) FROM pet",
    ],
)
def test_what_sqlite_has_not_is_refused_there(sql: str) -> None:
    assert check_statement(sql, "sqlite", SCHEMAS["sqlite"]).reason in ("not_select", "syntax")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM UNNEST(range(1000000000)) a(i), UNNEST(range(1000000000)) b(j) WHERE i + j = 3",
        "SELECT UNNEST(range(1000000000)) FROM pet",
        "SELECT i FROM pet, UNNEST(range(10000000)) AS a(i)",
    ],
)
def test_the_sandbox_ends_what_a_list_makes_too_many(sql: str, databases: dict[Dialect, Database]) -> None:
    assert check_statement(sql, "duckdb", SCHEMAS["duckdb"]).ok
    with Sandbox(workers=1, limits=Limits(seconds=5.0, rows=10_000, bytes=2**22, memory=2**30)) as bounded:
        (result,) = bounded.run_many([(databases["duckdb"], sql)])
    assert result.status in ("timeout", "too_large"), result


@pytest.mark.parametrize(
    "hedge",
    [
        "SELECT * FROM (VALUES ((SELECT count(*) FROM pet), (SELECT max(age) FROM pet), 3)) AS v",
        "SELECT v.a, v.b, v.c FROM (VALUES ((SELECT count(*) FROM pet), (SELECT max(age) FROM pet), 3)) AS v(a, b, c)",
        "SELECT s.* FROM (SELECT {'a': count(*), 'b': max(age), 'c': min(age)} AS s FROM pet)",
    ],
)
def test_a_choice_among_answers_earns_nothing(hedge: str, databases: dict[Dialect, Database], sandbox: Sandbox) -> None:
    case = Case("SELECT count(*) FROM pet", hedge, (databases["duckdb"],), schema=SCHEMAS["duckdb"])
    for guarded in (False, True):
        (grade,) = grade_many([case], sandbox, GoldResults(), "intent", guarded=guarded)
        assert grade.error_class in ("columns", "schema")
