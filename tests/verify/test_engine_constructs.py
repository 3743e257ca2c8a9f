"""What only some engines have, from the gate to the reward: right answers that use it are let through and found right,
wrong ones are told apart, and what it is made of is still resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest
from making import run_sqlite

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.profiling.profiler import profile_database
from agro_data.sql.facts import sql_facts
from agro_data.sql.forms.canonical import canonical_sql
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import parse_select
from agro_data.synthesis.decomposition import steps_of
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.check import verify_statements
from agro_data.verify.gate import check_statement
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many

pytestmark = pytest.mark.ci

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
        "SELECT p.id, j.value FROM pet AS p, json_each(p.about) AS j WHERE j.key = 'name'",
        "SELECT pet.id, value FROM pet JOIN json_each(pet.about, '$') WHERE json_each.key = 'name'",
        "SELECT p.id, j.key FROM pet AS p, json_each(p.about) AS j WHERE j.key = 'name'",
    ),
    (
        "SELECT id FROM pet WHERE EXISTS (SELECT 1 FROM json_tree(pet.about) WHERE type = 'integer' AND atom > 2018)",
        "SELECT id FROM pet WHERE about ->> '$.owner.since' > 2018",
        "SELECT id FROM pet WHERE EXISTS (SELECT 1 FROM json_tree(pet.about) WHERE type = 'integer')",
    ),
    (
        "SELECT p.id, v.column2 FROM pet AS p JOIN (VALUES ('cat', 'Cat'), ('dog', 'Dog')) AS v ON p.kind = v.column1",
        "SELECT id, CASE kind WHEN 'cat' THEN 'Cat' ELSE 'Dog' END FROM pet WHERE kind <> 'fish'",
        "SELECT p.id, v.column1 FROM pet AS p JOIN (VALUES ('cat', 'Cat'), ('dog', 'Dog')) AS v ON p.kind = v.column1",
    ),
]
DUCKDB = [
    (
        "SELECT years FROM (SELECT * EXCLUDE (city) RENAME (age AS years) FROM pet) WHERE years > 4",
        "SELECT q.age FROM (SELECT p.* REPLACE (age AS age) FROM pet AS p) AS q WHERE 4 < q.age",
        "SELECT years FROM (SELECT * EXCLUDE (city) RENAME (id AS years) FROM pet) WHERE years > 4",
    ),
    (
        "SELECT q.age, kind FROM (SELECT COLUMNS(p.* EXCLUDE (id)) FROM pet AS p) AS q WHERE kind <> 'fish'",
        "WITH q AS (SELECT COLUMNS('^(a|k).*[^t]$') FROM pet) SELECT age, kind FROM q WHERE kind <> 'fish'",
        "SELECT q.id, kind FROM (SELECT COLUMNS(['id', 'KIND']) FROM pet) AS q WHERE kind <> 'fish'",
    ),
    (
        "SELECT city, max_age FROM (SELECT city, max(COLUMNS('id|age')) AS 'max_\\0' FROM pet GROUP BY city)",
        "SELECT city, a_g FROM (SELECT city, max(COLUMNS('(a)(g)e')) AS '\\1_\\2' FROM pet GROUP BY city)",
        "SELECT city, age FROM (SELECT city, min(COLUMNS(* EXCLUDE (city))) FROM pet GROUP BY city)",
    ),
    (
        "SELECT COLUMNS('id|kind'), age FROM pet ORDER BY 3 DESC LIMIT 2",
        "SELECT id, COLUMNS(['kind', 'age']) FROM pet WHERE age > 6 ORDER BY age DESC",  # the list orders nothing
        "SELECT id, COLUMNS('kind|age') FROM pet ORDER BY 1 DESC LIMIT 2",
    ),
    (
        "SELECT age FROM (SELECT id FROM pet UNION ALL BY NAME SELECT age FROM pet)",
        "SELECT age FROM pet UNION ALL SELECT NULL FROM pet",
        "SELECT id FROM (SELECT id FROM pet UNION ALL BY NAME SELECT age FROM pet)",
    ),
    (
        "SELECT s.a.b FROM (SELECT {'a': {'b': age}} AS s FROM pet WHERE box.h = 2)",
        "SELECT age FROM pet WHERE box.h < 3",
        "SELECT s.a.b FROM (SELECT {'a': {'b': id}} AS s FROM pet)",
    ),
    (
        "SELECT p.id, q.n FROM pet AS p LEFT JOIN LATERAL (SELECT count(*) AS n FROM pet AS r WHERE r.city = p.city) "
        "AS q ON true",
        "SELECT p.id, (SELECT count(*) FROM pet AS r WHERE r.city = p.city) FROM pet AS p",
        "SELECT p.id, q.n FROM pet AS p, (SELECT count(*) AS n FROM pet AS r WHERE r.kind = p.kind) AS q",
    ),
    (
        "SELECT p.id, q.oldest FROM pet AS p, LATERAL (SELECT max(age) FROM pet WHERE city = p.city) AS q(oldest)",
        "SELECT p.id, q.n FROM pet AS p, (SELECT max(r.age) AS n FROM pet AS r WHERE r.city = p.city) AS q",
        "SELECT p.id, q.oldest FROM pet AS p, LATERAL (SELECT max(age) FROM pet WHERE city <> p.city) AS q(oldest)",
    ),
    (
        "SELECT id, list_transform(weights, lambda x: x + age) FROM pet",
        "SELECT id, [w + age FOR w IN weights] FROM pet",
        "SELECT id, [w - age FOR w IN weights] FROM pet",
    ),
    (
        "SELECT id, len(list_filter(weights, lambda x: x > 3)) FROM pet",
        "SELECT id, len([w FOR w IN weights IF w > 3]) FROM pet",
        "SELECT id, len([w FOR w IN weights IF w > 4]) FROM pet",
    ),
    (
        "SELECT id FROM pet WHERE list_reduce(weights, lambda x, y: x + y, 0) > 10",
        "SELECT id FROM pet WHERE list_sum(list_transform(weights, lambda x, i: x + i - i)) > 10",
        "SELECT id FROM pet WHERE list_reduce(weights, lambda x, y: x + y, 0) > 50",
    ),
    (
        "SELECT [x + i FOR x, i IN weights] FROM pet",
        "SELECT list_transform(weights, lambda x, i: x + i) FROM pet",
        "SELECT weights FROM pet",
    ),
    (
        "SELECT id, [x + i FOR x, i IN weights IF i > 1 AND x < age + 25] FROM pet",
        "SELECT id, [[n, m][1] + m FOR n, m IN weights IF m >= 2 AND n - 25 < age] FROM pet",
        "SELECT id, [x + i FOR x, i IN [w FOR w, j IN weights IF j > 1 AND w < age + 25]] FROM pet",
    ),
    (
        "SELECT y, count(id) FROM generate_series(1, 9) AS s(y) LEFT JOIN pet ON age = y GROUP BY y",
        "SELECT y, (SELECT count(*) FROM pet WHERE age = y) FROM range(1, 10) AS s(y)",
        "SELECT y, count(id) FROM generate_series(1, 9) AS s(y) JOIN pet ON age = y GROUP BY y",
    ),
    (
        "SELECT id, range FROM pet, range(pet.age) WHERE kind = 'cat'",
        "SELECT p.id, r FROM pet AS p JOIN generate_series(p.age - 1) AS r ON true WHERE p.kind = 'cat'",
        "SELECT id, range FROM pet, range(pet.age) WHERE kind = 'dog'",
    ),
    (
        "SELECT p.id, m.range FROM pet AS p, LATERAL range(p.age) AS m WHERE p.kind = 'cat' ORDER BY m.range, p.id",
        "SELECT id, m FROM pet, range(pet.age) AS m WHERE kind = 'cat' ORDER BY range, id",
        "SELECT p.id, m.ordinality FROM pet AS p, range(p.age) WITH ORDINALITY AS m WHERE p.kind = 'cat'",
    ),
    (
        "SELECT q.range FROM (SELECT -m.range AS n, m.range FROM range(9) AS m) AS q JOIN pet ON age = q.range",
        "SELECT age FROM pet WHERE age IN (SELECT g.generate_series FROM generate_series(8) AS g WHERE g.g > 0)",
        "SELECT q.range FROM (SELECT -m.range AS range FROM range(9) AS m) AS q JOIN pet ON age = -q.range",
    ),
    (
        "SELECT id, w.unnest, w.ordinality FROM pet, unnest(weights) WITH ORDINALITY AS w",
        "SELECT id, weights[n], n FROM pet, unnest([1, 2, 3]) AS n WHERE len(weights) >= n.unnest",
        "SELECT id, w.unnest, w.unnest FROM pet, unnest(weights) WITH ORDINALITY AS w",
    ),
    (
        "SELECT id, u.a FROM pet, unnest([{'a': age, 'b': id}]) AS u",
        "SELECT id, u.unnest.a FROM pet, unnest([{'a': age, 'b': id}]) AS u",
        "SELECT id, u.b FROM pet, unnest([{'a': age, 'b': id}]) AS u",
    ),
    (
        "SELECT p.id, j.value ->> '$' FROM pet AS p LEFT JOIN LATERAL json_each(p.about) AS j ON j.key = 'owner'",
        "SELECT id, about -> 'owner' FROM pet",
        "SELECT p.id, value ->> '$' FROM pet AS p, LATERAL json_each(p.about) WHERE key = 'owner'",
    ),
    (
        "SELECT pet.id, j.ordinality FROM pet JOIN json_each('[9, 7, 3]') WITH ORDINALITY AS j ON j.value = age",
        "SELECT pet.id, ordinality - 1 FROM json_tree('[9, 7, 3]', '$') WITH ORDINALITY AS j(k, age) JOIN pet "
        "ON CAST(j.age AS VARCHAR) = CAST(pet.age AS VARCHAR)",
        "SELECT pet.id, j.key FROM pet JOIN json_each('[9, 7, 3]') WITH ORDINALITY AS j ON j.value = age",
    ),
    (
        "SELECT city, month(d) FROM pet, generate_series(DATE '2020-01-01', DATE '2020-03-01', INTERVAL 1 MONTH) t(d)",
        "SELECT city, m FROM pet, (VALUES (1), (2), (3)) AS t(m)",
        "SELECT city, month(d) FROM pet, range(DATE '2020-01-01', DATE '2020-03-01', INTERVAL 1 MONTH) AS t(d)",
    ),
    (
        "SELECT p.id, j.value ->> '$' FROM pet AS p, json_each(p.about) AS j WHERE j.key = 'name'",
        "SELECT id, about ->> 'name' FROM pet",
        "SELECT p.id, j.key FROM pet AS p, json_each(p.about) AS j WHERE j.key = 'name'",
    ),
    (
        "SELECT id FROM pet ORDER BY age DESC OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY",
        "SELECT id FROM pet ORDER BY age DESC LIMIT 2 OFFSET 1",
        "SELECT id FROM pet ORDER BY age DESC FETCH FIRST ROW ONLY",
    ),
    (
        "SELECT id FROM pet WHERE hour(make_timestamp(2020, 1 + (age + 11) % 12, 1, 12, 0, 0) "
        "AT TIME ZONE 'Europe/Rome') = 10",
        "SELECT id FROM pet WHERE age BETWEEN 4 AND 10",
        "SELECT id FROM pet WHERE hour(make_timestamp(2020, 1 + (age + 11) % 12, 1, 12, 0, 0) "
        "AT TIME ZONE 'Europe/Rome') = 11",
    ),
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
        run_sqlite(path, ddl, {"pet": rows})
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
def test_its_canonical_text_asks_the_same(
    dialect: Dialect, databases: dict[Dialect, Database], sandbox: Sandbox
) -> None:
    statements = [sql for kind, *triple in PAIRS if kind == dialect for sql in triple]
    resolved = [resolve(parse_select(sql, dialect), dialect, SCHEMAS[dialect]) for sql in statements]
    texts = [canonical_sql(found, dialect) for found in resolved]
    written, canonical = (sandbox.run(databases[dialect], asked) for asked in (statements, texts))
    assert [result.digest for result in written] == [result.digest for result in canonical]


@pytest.mark.parametrize("dialect", BOTH)
def test_golds_with_it_are_told_from_their_mutants(
    dialect: Dialect, databases: dict[Dialect, Database], sandbox: Sandbox, tmp_path: Path
) -> None:
    golds = [
        gold
        for kind, gold, *_ in PAIRS
        if kind == dialect and not {"about", "weights", "box"} & {*re.findall(r"\w+", gold)}
    ]
    profile = profile_database(databases[dialect])
    budget = Budget(files=14, homes=2, rounds=1)
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
        ("SELECT value FROM json_each(nothing)", "unknown_column", "nothing"),
        ("SELECT j.nothing FROM json_tree('[1]') AS j", "unknown_column", "nothing"),
        ("SELECT rowid FROM pet", "unknown_column", "another in a copy"),
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
        ("SELECT * FROM pet, LATERAL (SELECT q.age) AS q", "unknown_table"),
        ("SELECT q.n FROM (SELECT p.age AS n) AS q, pet AS p", "unknown_table"),
        ("SELECT q.n FROM pet AS p, (SELECT p.nothing AS n) AS q", "unknown_column"),
        ("SELECT age FROM (SELECT * RENAME (age AS years) FROM pet)", "unknown_column"),
        ("SELECT age FROM (SELECT * EXCLUDE (age) FROM pet)", "unknown_column"),
        ("SELECT age FROM (SELECT COLUMNS(* EXCLUDE (age)) FROM pet)", "unknown_column"),
        ("SELECT age FROM (SELECT COLUMNS('i') FROM pet)", "unknown_column"),
        ("SELECT max FROM (SELECT max(COLUMNS('age')) FROM pet)", "unknown_column"),
        ("SELECT age FROM (SELECT COLUMNS('AGE') FROM pet)", "unknown_column"),
        ("SELECT COLUMNS(nothing.*) FROM pet", "unknown_table"),
        ("SELECT p.* EXCLUDE (nothing) FROM pet AS p", "unknown_column"),
        ("SELECT p.* REPLACE ((SELECT max(x) FROM 'ages.csv') AS age) FROM pet AS p", "unknown_table"),
        ("SELECT nothing.w.x FROM pet", "unknown_table"),
        ("SELECT list_transform(weights, lambda x: nothing) FROM pet", "unknown_column"),
        ("SELECT [nothing FOR x IN weights] FROM pet", "unknown_column"),
        ("SELECT [x FOR x, i IN weights IF nothing > i] FROM pet", "unknown_column"),
        ("SELECT i, [x FOR x, i IN weights IF i > 1] FROM pet", "unknown_column"),
        ("SELECT list_transform(weights, lambda x: random()) FROM pet", "not_deterministic_function"),
        ("SELECT list_transform(['a.csv'], lambda x: getenv(x)) FROM pet", "forbidden_function"),
        ("SELECT list_transform(weights, x -> x + 1) FROM pet", "syntax"),
        ("SELECT * FROM generate_series(1, nothing)", "unknown_column"),
        ("SELECT m.range FROM range(3) AS m(x)", "unknown_column"),
        ("SELECT q.range FROM (SELECT * FROM range(3) AS m) AS q", "unknown_column"),
        ("SELECT w.w FROM pet, unnest(weights) WITH ORDINALITY AS w", "unknown_column"),
        ("SELECT * FROM pet, LATERAL json_each(nothing)", "unknown_column"),
        ("SELECT * FROM pet, LATERAL query_table('pet')", "forbidden_function"),
        ("SELECT * FROM range(3) AS r(x), pet WHERE y = 1", "unknown_column"),
        ("SELECT * FROM repeat_row(1, num_rows = 3)", "forbidden_function"),
        ("SELECT id FROM pet USING SAMPLE 2", "not_select"),
        ("SELECT id FROM pet FETCH FIRST 2 ROWS WITH TIES", "not_select"),
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
        "SELECT list_transform(city, lambda x: x) FROM pet",
        "SELECT p.id FROM pet AS p, LATERAL (SELECT p.id) AS q",
        "SELECT y FROM UNNEST(range(3)) AS r(y)",
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
        "SELECT count(*) FROM range(10000000000) a(i), range(10000000000) b(j) WHERE i + j = 3",
        "SELECT [[x + y FOR x IN range(30000)] FOR y IN range(30000)] FROM pet",
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
        "SELECT id, age, weights FROM (SELECT max(COLUMNS(*)) FROM pet)",
        "SELECT s.* FROM (SELECT {'a': count(*), 'b': max(age), 'c': min(age)} AS s FROM pet)",
    ],
)
def test_a_choice_among_answers_earns_nothing(hedge: str, databases: dict[Dialect, Database], sandbox: Sandbox) -> None:
    case = Case("SELECT count(*) FROM pet", hedge, (databases["duckdb"],), schema=SCHEMAS["duckdb"])
    for guarded in (False, True):
        (grade,) = grade_many([case], sandbox, GoldResults(), "intent", guarded=guarded)
        assert grade.error_class in ("columns", "schema")
