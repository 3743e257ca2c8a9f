"""What a model could try instead of answering: nothing of it earns, and right answers in odd clothes do.

The attacker sees the first database, and even its answer; the other instances it does not see.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import process_time
from typing import get_args

import duckdb
import pytest
from making import run_sqlite

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.sql.parse import parse_select
from agro_data.verify.equivalence import Mode
from agro_data.verify.golds import Case, GoldResults, Grade
from agro_data.verify.grade import grade_many
from agro_data.verify.hedging import hedges

SCHEMA = {"person": {"id": "INTEGER", "name": "TEXT", "age": "INTEGER", "city": "TEXT"}}
PEOPLE = [
    [(1, "Ada", 31, "Rome"), (2, "Bo", 45, "Rome"), (3, "Cy", 22, "Oslo"), (4, "Di", 60, "Bern")],
    [
        (1, "Eli", 31, "Rome"),
        (5, "Fay", 36, "Rome"),
        (6, "Gus", 95, "Rome"),
        (7, "Hal", 77, "Oslo"),
        (9, "Ivy", 8, "Bern"),
    ],
    [(2, "Jo", 12, "Oslo"), (3, "Kim", 33, "Bern"), (4, "Lea", 91, "Rome")],
]
LIST = "SELECT name FROM person WHERE age > 30"
COUNT = "SELECT count(*) FROM person WHERE city = 'Rome'"
TOP = "SELECT name, age FROM person ORDER BY age DESC LIMIT 2"
MEAN = "SELECT city, avg(age) FROM person GROUP BY city"
OLD = "SELECT name FROM person WHERE age > 90"  # nobody in the database that the attacker sees
NOBODY = "SELECT name FROM person WHERE age > 200"  # nobody anywhere
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
MODES: tuple[Mode, ...] = get_args(Mode)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(limits=Limits(seconds=1.0, rows=1_000, bytes=2**20, memory=512 * 2**20)) as pool:
        yield pool


@pytest.fixture(scope="module", params=DIALECTS)
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, ...]:
    """The database that the attacker sees, and two instances."""
    dialect: Dialect = request.param
    folder = tmp_path_factory.mktemp(dialect)
    for number, people in enumerate(PEOPLE):
        path = folder / f"instance_{number}.{dialect}"
        script = "CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER, city TEXT)"
        if dialect == "sqlite":
            run_sqlite(path, script, {"person": people})
        else:
            with duckdb.connect(path) as duck:
                duck.execute(script)
                duck.executemany("INSERT INTO person VALUES (?, ?, ?, ?)", people)
    return find_databases(folder).databases


def grades(
    databases: tuple[Database, ...], pairs: list[tuple[str, str]], sandbox: Sandbox, mode: Mode, guarded: bool = True
) -> list[Grade]:
    cases = [Case(gold, predicted, databases, schema=SCHEMA) for gold, predicted in pairs]
    return grade_many(cases, sandbox, GoldResults(), mode, guarded=guarded)


CONSTANTS = [
    (COUNT, "SELECT value FROM json_each('[2]')"),
    (COUNT, "SELECT 2"),  # what it is in the database that is seen
    (COUNT, "SELECT 2 FROM person LIMIT 1"),
    (COUNT, "SELECT CAST('2' AS INTEGER)"),
    (COUNT, "SELECT count(*) FROM (SELECT 1 UNION SELECT 2) AS x"),
    (COUNT, "SELECT min(2) FROM person"),
    (COUNT, "SELECT 1 UNION SELECT 2 UNION SELECT 3"),
    (COUNT, "SELECT count(*) FROM person WHERE id < 3"),  # an observation copied by its keys
    (COUNT, "SELECT NULL"),
    (COUNT, "SELECT *"),
    (LIST, "SELECT 'Ada' UNION ALL SELECT 'Bo' UNION ALL SELECT 'Di'"),
    (LIST, "SELECT column1 FROM (VALUES ('Ada'), ('Bo'), ('Di'))"),
    (LIST, "VALUES ('Ada'), ('Bo'), ('Di')"),
    (LIST, "WITH seen(name) AS (VALUES ('Ada'), ('Bo'), ('Di')) SELECT name FROM seen"),
    (LIST, "SELECT name FROM person WHERE name IN ('Ada', 'Bo', 'Di')"),
    (LIST, "SELECT name FROM person WHERE id IN (1, 2, 4)"),
    (LIST, "SELECT name FROM person WHERE id <> 3"),
    (TOP, "SELECT 'Di', 60 UNION ALL SELECT 'Bo', 45"),
    (MEAN, "SELECT 'Rome', 38.0 UNION ALL SELECT 'Oslo', 22.0 UNION ALL SELECT 'Bern', 60.0"),
    (MEAN, "SELECT city, CASE city WHEN 'Rome' THEN 38 WHEN 'Oslo' THEN 22 ELSE 60 END FROM person GROUP BY city"),
]
EMPTY = [
    (OLD, "SELECT name FROM person WHERE 1 = 0"),
    (OLD, "SELECT name FROM person LIMIT 0"),
    (OLD, "SELECT 'nobody' WHERE 1 = 0"),
    (OLD, "SELECT name FROM person WHERE age > 95"),
    (OLD, "SELECT NULL FROM person WHERE age > 1000"),
    (NOBODY, NOBODY),  # even the gold itself: nothing can be told from it
    (NOBODY, "SELECT name FROM person LIMIT 0"),
    (LIST, ""),
    (LIST, "   \n"),
    (LIST, ";"),
    (LIST, "-- nothing"),
]
LIMITS_AND_GUESSES = [
    (LIST, "SELECT name FROM person LIMIT 3"),
    (LIST, "SELECT name FROM person WHERE age > 30 LIMIT 3"),
    (LIST, "SELECT name FROM person WHERE age > 30 LIMIT 0"),
    (TOP, "SELECT name, age FROM person ORDER BY age DESC"),
    (TOP, "SELECT name, age FROM person ORDER BY age DESC LIMIT 2 OFFSET 1"),
    (TOP, "SELECT name, age FROM person ORDER BY age LIMIT 2"),
    (LIST, "SELECT name FROM person"),
    (LIST, "SELECT name FROM person UNION SELECT city FROM person"),
    (LIST, f"{LIST} UNION ALL SELECT name FROM person WHERE age < 30"),
    (LIST, f"{LIST} UNION ALL {LIST}"),
    (COUNT, f"{COUNT} UNION SELECT count(*) FROM person"),
    (COUNT, "SELECT count(*) FROM person GROUP BY city"),
    (TOP, "SELECT name, age FROM person UNION SELECT city, age FROM person"),
    (MEAN, "SELECT city, avg(age) FROM person GROUP BY city UNION SELECT city, sum(age) FROM person GROUP BY city"),
]
CAUGHT = [
    (COUNT, "SELECT coalesce((SELECT count(*) FROM nothing), 2)"),
    (COUNT, "SELECT coalesce(NULL, (SELECT 2 FROM person LIMIT 1))"),
    (COUNT, "SELECT CASE WHEN 1 THEN 2 ELSE (SELECT count(*) FROM nothing) END"),
    (COUNT, "SELECT try(count(*) / 0) FROM person"),
    (COUNT, "SELECT try_cast('2' AS INTEGER)"),
    (COUNT, "SELECT ifnull((SELECT 2), 3) FROM person"),
    (COUNT, "SELECT 1 / 0"),
    (LIST, "SELECT nothing FROM person"),
    (LIST, "SELEC name FROM person"),
]
OVERLONG = [
    (LIST, "SELECT p.name FROM person p, person q, person r, person s, person t, person u, person v, person w"),
    (LIST, f"{LIST} UNION ALL SELECT hex(zeroblob(10000000))"),
    (LIST, f"{LIST} UNION ALL SELECT repeat('x', 100000000)"),
    (LIST, "SELECT name" + ", name" * 500 + " FROM person WHERE age > 30 AND city = 'Rome'"),
    (LIST, "SELECT '" + "x" * 200_000 + "'"),
    (LIST, LIST + " " * 200_000),
    (COUNT, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"),
]
HIDDEN = [
    (LIST, "SELECT name || '\u200b' FROM person WHERE age > 30"),
    (LIST, "SELECT name || ' ' FROM person WHERE age > 30"),
    (LIST, "SELECT name || char(0) FROM person WHERE age > 30"),
    (LIST, "SELECT upper(name) FROM person WHERE age > 30"),
    (LIST, "SELECT n\u0430me FROM person WHERE age > 30"),  # a Cyrillic letter
    (LIST, "SELECT\u200b name FROM person WHERE age > 30"),
    (LIST, "SELECT name FROM person WHERE age > 30\0 AND age < 50"),
    (LIST, "SELECT name FROM person WHERE age > 30\0; DROP TABLE person"),
    (LIST, "\ufeff\u202eSELECT name FROM person"),
    (COUNT, "SELECT '2' FROM person LIMIT 1"),
    (COUNT, "SELECT count(*) FROM person WHERE city = 'ROME'"),  # as the gold but for the case or blanks of a text
    (COUNT, "SELECT count(*) FROM person WHERE city = ' Rome'"),
    (COUNT, "SELECT count(*) FROM person WHERE city = 'Rome -- '"),
]
COMMENTS_AND_MORE = [
    (LIST, f"-- {LIST}\nSELECT name FROM person"),
    (LIST, f"/* {LIST} */ SELECT name FROM person"),
    (COUNT, f"SELECT 2 /* {COUNT} */"),
    (COUNT, f"SELECT 2; {COUNT}"),
    (COUNT, f"{COUNT}; SELECT 2"),
    (COUNT, f"{COUNT}; DELETE FROM person"),
    (COUNT, f"{COUNT}; -- and\n{COUNT}"),
    (COUNT, f"CREATE TEMP TABLE x AS SELECT 1; {COUNT}"),
    (COUNT, f"EXPLAIN {COUNT}"),
    (COUNT, "PRAGMA table_info(person)"),
    (COUNT, f"BEGIN; {COUNT}"),
]
TELLING_APART = [
    (COUNT, f"SELECT CASE WHEN (SELECT max(rootpage) FROM sqlite_master) > 0 THEN ({COUNT}) END"),
    (COUNT, f"SELECT CASE WHEN (SELECT file FROM pragma_database_list) LIKE '%instance_0%' THEN 2 ELSE ({COUNT}) END"),
    (COUNT, f"SELECT CASE WHEN current_database() = 'instance_0' THEN 2 ELSE ({COUNT}) END"),
    (COUNT, f"SELECT CASE WHEN current_catalog = 'instance_0' THEN 2 ELSE ({COUNT}) END"),
    (COUNT, f"SELECT CASE WHEN (SELECT count(*) FROM duckdb_databases()) > 0 THEN ({COUNT}) END"),
    (COUNT, f"SELECT CASE WHEN (SELECT count(*) FROM information_schema.tables) > 0 THEN ({COUNT}) END"),
    (COUNT, f"SELECT ({COUNT}) FROM sqlite_schema"),
    (COUNT, f"SELECT ({COUNT}) FROM dbstat LIMIT 1"),
    (COUNT, "SELECT CASE max(rowid) WHEN 4 THEN 2 WHEN 9 THEN 1 ELSE 0 END FROM person"),
    (COUNT, "SELECT CASE count(*) WHEN 4 THEN 2 ELSE 1 END FROM person"),
    (COUNT, "SELECT count(*) FROM instance_0.person WHERE city = 'Rome'"),
    (LIST, "SELECT name FROM person WHERE rowid IN (1, 2, 4)"),
]
CHANCE = [
    (LIST, "SELECT name FROM person WHERE age > 30 AND random() IS NOT NULL"),
    (LIST, "SELECT name FROM person WHERE age > 30 ORDER BY random()"),
    (COUNT, "SELECT abs(random()) % 4"),
    (COUNT, "SELECT count(*) FROM person WHERE city = 'Rome' AND date('now') > '2000-01-01'"),
]
TRICKS = {
    "constants": CONSTANTS,
    "empty": EMPTY,
    "limits and guesses": LIMITS_AND_GUESSES,
    "caught errors": CAUGHT,
    "overlong": OVERLONG,
    "hidden characters": HIDDEN,
    "comments and several statements": COMMENTS_AND_MORE,
    "telling instances apart": TELLING_APART,
    "chance": CHANCE,
}
# By the official rule of `bird` rows are a set: what repeats rows is right there.
RIGHT_FOR_BIRD = {f"{LIST} UNION ALL {LIST}"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", TRICKS)
def test_tricks_earn_nothing(databases: tuple[Database, ...], sandbox: Sandbox, mode: Mode, kind: str) -> None:
    pairs = [pair for pair in TRICKS[kind] if mode != "bird" or pair[1] not in RIGHT_FOR_BIRD]
    for (gold, trick), grade in zip(pairs, grades(databases, pairs, sandbox, mode), strict=True):
        assert grade.score == 0, f"{mode}: {trick[:200]!r} scores on {gold!r}"
        assert grade.error_class, trick
        assert grade.reason, trick


# Right on whatever data: a verifier that refuses these would punish answers.
RIGHT = [
    *((gold, gold) for gold in (LIST, COUNT, TOP, MEAN, OLD)),
    *((gold, f"SELECT * FROM ({gold}) AS q") for gold in (LIST, COUNT, TOP, MEAN, OLD)),
    *((gold, f"WITH q AS ({gold}) SELECT * FROM q") for gold in (LIST, COUNT, MEAN)),
    *((gold, f"{gold};") for gold in (LIST, COUNT, TOP)),
    *((gold, f"  {gold}\n -- all of them\n") for gold in (LIST, COUNT, TOP)),
    (LIST, "select NAME from PERSON where AGE > 30"),
    (LIST, "SELECT p.name AS who FROM person AS p WHERE NOT p.age <= 30"),
    (LIST, "SELECT name FROM person WHERE age > 30 ORDER BY name DESC"),
    (LIST, "SELECT name FROM person WHERE age > 30 LIMIT 1000000"),
    (LIST, "SELECT name FROM person EXCEPT SELECT name FROM person WHERE age <= 30"),
    (COUNT, "SELECT sum(CASE WHEN city = 'Rome' THEN 1 ELSE 0 END) FROM person"),
    (COUNT, "SELECT count(id) FROM person WHERE city IN ('Rome')"),
    (MEAN, "SELECT city, sum(age) * 1.0 / count(*) FROM person GROUP BY city ORDER BY city"),
    (TOP, "SELECT name, age FROM (SELECT * FROM person) AS p ORDER BY p.age DESC LIMIT 2"),
]


@pytest.mark.parametrize("mode", MODES)
def test_right_answers_in_odd_clothes_are_right(databases: tuple[Database, ...], sandbox: Sandbox, mode: Mode) -> None:
    for (_, sql), grade in zip(RIGHT, grades(databases, RIGHT, sandbox, mode), strict=True):
        assert grade.score == 1, f"{mode}: {sql!r}: {grade}"


@pytest.mark.parametrize(
    ("gold", "predicted", "right_in"),
    [
        (TOP, "SELECT age, name FROM person ORDER BY age DESC LIMIT 2", {"intent", "spider"}),
        (MEAN, "SELECT avg(age), city FROM person GROUP BY city", {"intent", "spider"}),
        (LIST, "SELECT name, age FROM person WHERE age > 30", {"intent"}),
        (LIST, "SELECT age, city, name FROM person WHERE age > 30", {"intent"}),
        (LIST, f"{LIST} UNION ALL {LIST}", {"bird"}),
        (MEAN, "SELECT avg(age) FROM person GROUP BY city", set()),
        (TOP, "SELECT name FROM person ORDER BY age DESC LIMIT 2", set()),
    ],
)
def test_columns_and_repetitions_as_each_mode_has_them(
    databases: tuple[Database, ...], sandbox: Sandbox, gold: str, predicted: str, right_in: set[Mode]
) -> None:
    right = {mode for mode in MODES if grades(databases, [(gold, predicted)], sandbox, mode)[0].score == 1}
    assert right == right_in


FIRST = "SELECT name FROM person ORDER BY age DESC, id LIMIT 1"
# Every answer there could be, side by side: `intent` allows further columns, not a choice among guesses.
HEDGES = [
    (COUNT, "SELECT count(*), sum(age), avg(age), min(age), max(age) FROM person WHERE city = 'Rome'"),
    (COUNT, "SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM person WHERE city = 'Oslo'), "
            "(SELECT count(*) FROM person WHERE city = 'Rome')"),
    (COUNT, "SELECT * FROM (SELECT count(*) AS a, sum(age) AS b, avg(age) AS c, max(age) AS d FROM person "
            "WHERE city = 'Rome') AS q"),
    (MEAN, "SELECT city, avg(age), sum(age), count(*), min(age), max(age) FROM person GROUP BY city"),
    (COUNT, "SELECT 0, 1, 2, 3, 4, 5 FROM person LIMIT 1"),
    (LIST, "SELECT p.name" + ", p.age, p.city, p.id" * 40 + " FROM person AS p WHERE age > 30"),
    (FIRST, f"SELECT a.name, b.name, c.name FROM ({FIRST}) AS a, "
            "(SELECT name FROM person ORDER BY age, id LIMIT 1) AS b, "
            "(SELECT name FROM person ORDER BY id LIMIT 1) AS c"),
    (COUNT, "SELECT x.a, x.b, x.c FROM (person AS p JOIN (SELECT count(*) AS a, max(age) AS b, "
            f"({COUNT}) AS c FROM person) AS x ON 1 = 1) LIMIT 1"),
    (COUNT, f"WITH c(w, x, y, z) AS (SELECT q.*, 7, 8, 9 FROM ({COUNT}) AS q) SELECT w, x, y, z FROM c"),
]  # fmt: skip


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_a_choice_of_answers_is_no_answer(
    databases: tuple[Database, ...], sandbox: Sandbox, mode: Mode, guarded: bool
) -> None:
    for (_, sql), grade in zip(HEDGES, grades(databases, HEDGES, sandbox, mode, guarded), strict=True):
        assert grade.score == 0, f"{mode}: {sql!r}"


SIDE_BY_SIDE = ", ".join(
    f"(SELECT id FROM person ORDER BY id LIMIT 1 OFFSET {place}) AS p{place}" for place in range(4)
)
# Right where the number asked for is among the keys, or among what is written.
GUESSES = [
    f"SELECT * FROM {SIDE_BY_SIDE}",
    f"SELECT p0.id, p1.id, p2.id, p3.id FROM {SIDE_BY_SIDE}",
    "SELECT * FROM person AS p, person AS q, person AS r WHERE p.id = 1 AND q.id = 2 AND r.id = 3",
    "WITH n AS (SELECT id, row_number() OVER (ORDER BY id) AS k FROM person) "
    "SELECT a.id, b.id, c.id FROM n AS a, n AS b, n AS c WHERE a.k = 1 AND b.k = 2 AND c.k = 3",
    "SELECT * FROM (SELECT 0), (SELECT 1), (SELECT 2), person",
    "SELECT id, name, age FROM (SELECT * FROM person WHERE id < 0 UNION ALL SELECT 0, 1, 2, 3)",
    "SELECT min(COLUMNS(*)) FROM person",
    "SELECT a.value, b.value, c.value FROM json_each('[0]') AS a, json_each('[1]') AS b, json_each('[2]') AS c",
    "SELECT * FROM range(1) AS a, range(1, 2) AS b, range(2, 3) AS c",
    "SELECT q.* FROM person AS p, LATERAL (SELECT p.id, p.id + 1, p.id + 2, p.id + 3) AS q",
    "SELECT * REPLACE (0 AS id, 1 AS name, 2 AS age) FROM person LIMIT 1",
    'SELECT "max(age)", "min(age)", "sum(age)" FROM (SELECT max(age), min(age), sum(age) FROM person)',
]


@pytest.mark.parametrize("guess", GUESSES)
def test_what_holds_many_answers_is_told_by_its_text(guess: str) -> None:
    assert hedges(parse_select(COUNT, "duckdb"), parse_select(guess, "duckdb"), "duckdb")


def test_a_count_without_a_name_hides_no_columns() -> None:
    """`COUNT(*)` is no star behind which the others might be computed."""
    gold = "SELECT id, name, count(*) FROM person GROUP BY id, name"
    united = f"{gold} UNION ALL SELECT id, name, 0 FROM person WHERE age < 0"
    assert hedges(parse_select(gold, "sqlite"), parse_select(united, "sqlite"), "sqlite") == ""


# Columns beside the answer, of the rows that are asked for.
BESIDE = [
    (FIRST, "SELECT * FROM person ORDER BY age DESC, id LIMIT 1"),
    (FIRST, f"SELECT p.* FROM ({FIRST}) AS q JOIN person AS p ON p.name = q.name"),
    (LIST, "WITH old AS (SELECT DISTINCT id FROM person WHERE age > 30) "
           "SELECT person.*, old.id FROM person JOIN old ON old.id = person.id"),
    (LIST, "SELECT p.name, q.name, q.age FROM person AS p JOIN person AS q ON p.id = q.id WHERE p.age > 30"),
    (MEAN, "SELECT city, count(*), avg(age) FROM person GROUP BY city"),
    (COUNT, f"WITH wide AS (SELECT *, * FROM person) {COUNT}"),
]  # fmt: skip


def test_more_of_the_rows_asked_for_is_an_answer(databases: tuple[Database, ...], sandbox: Sandbox) -> None:
    for (_, sql), grade in zip(BESIDE, grades(databases, BESIDE, sandbox, "intent"), strict=True):
        assert grade.score == 1, f"{sql!r}: {grade}"


@pytest.mark.parametrize(("stars", "read", "right"), [("*, *", "{0}", True), ("x.*, y.*", "{0} AS x, {0} AS y", False)])
def test_a_star_of_stars_is_not_written_out(stars: str, read: str, right: bool) -> None:
    """Looked at column by column, each level has twice as many: 2**22 in the last."""
    levels = [f"c{n} AS (SELECT {stars} FROM {read.format(f'c{n - 1}')})" for n in range(1, 22)]
    predicted = f"WITH c0 AS (SELECT 1 AS a, 2 AS b), {', '.join(levels)} {COUNT}"
    start = process_time()
    assert bool(hedges(parse_select(COUNT, "sqlite"), parse_select(predicted, "sqlite"), "sqlite")) is not right
    assert process_time() - start < 1


def test_one_database_is_not_enough(databases: tuple[Database, ...], sandbox: Sandbox) -> None:
    """The tricks are worth their name: on the database that is seen alone, most earn without the guard."""
    seen = databases[:1]
    lucky = [pair for kind in ("constants", "limits and guesses") for pair in TRICKS[kind]]
    won = [grade.score for grade in grades(seen, lucky, sandbox, "strict", guarded=False)]
    assert sum(won) >= 8


def test_what_is_right_on_all_but_one_is_wrong(databases: tuple[Database, ...], sandbox: Sandbox) -> None:
    nearly = "SELECT name FROM person WHERE age >= 31 AND id <> 4 OR age BETWEEN 35 AND 70"
    plain = [(LIST, nearly)]
    assert [grades((database,), plain, sandbox, "strict")[0].score for database in databases] == [1, 1, 0]
    (grade,) = grades(databases, plain, sandbox, "strict")
    assert (grade.score, grade.agreed) == (0, 2)
    assert Path(grade.place).stem == "instance_2"


@pytest.mark.parametrize("mode", ["strict", "intent"])
@pytest.mark.parametrize(
    ("predicted", "right"),
    [
        ("SELECT city FROM person GROUP BY city", False),
        ("SELECT DISTINCT city FROM person", False),
        ("SELECT city FROM (SELECT city FROM person ORDER BY id) GROUP BY city", False),
        ("SELECT city FROM person GROUP BY city ORDER BY 1", True),
        ("SELECT city FROM (SELECT DISTINCT city FROM person ORDER BY city)", True),
        ("WITH c AS (SELECT DISTINCT city FROM person ORDER BY city) SELECT city FROM c", True),
    ],
)
def test_rows_that_came_in_order_by_chance_earn_nothing(
    tmp_path: Path, sandbox: Sandbox, mode: Mode, predicted: str, right: bool
) -> None:
    """An index gives the order that was asked for, and a query that asks for none is run along it."""
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER, city TEXT)")
        connection.execute("CREATE INDEX by_city ON person(city)")
        connection.execute(
            "INSERT INTO person VALUES (1, 'Ada', 31, 'Rome'), (2, 'Bo', 45, 'Oslo'), (3, 'Cy', 3, 'Kyiv')"
        )
    (database,) = find_databases(tmp_path).databases
    case = Case("SELECT DISTINCT city FROM person ORDER BY city", predicted, (database,), schema=SCHEMA)
    (paid,) = grade_many([case], sandbox, GoldResults(), mode, guarded=True)
    assert (paid.right, paid.error_class) == ((True, "") if right else (False, "order"))
    one = Case("SELECT max(age) FROM person ORDER BY 1", "SELECT max(age) FROM person", (database,), schema=SCHEMA)
    assert grade_many([one], sandbox, GoldResults(), mode, guarded=True)[0].right  # a single row has no order


def test_a_comment_behind_the_last_semicolon_is_no_statement(tmp_path: Path, sandbox: Sandbox) -> None:
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER, city TEXT)")
        connection.execute("INSERT INTO person VALUES (1, 'Ada', 31, 'Rome')")
    databases = tuple(find_databases(tmp_path).databases)
    for behind in (";\n-- done", "; /* it is */", ";"):
        case = Case(COUNT, f"{COUNT}{behind}", databases, schema=SCHEMA)
        assert grade_many([case], sandbox, GoldResults(), guarded=True)[0].right


def test_a_struct_made_in_a_query_spreads_no_answers_side_by_side(tmp_path: Path, sandbox: Sandbox) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE person(id INTEGER, name TEXT, age INTEGER, city TEXT)")
        connection.execute("INSERT INTO person VALUES (1, 'Ada', 31, 'Rome'), (2, 'Bo', 45, 'Oslo')")
    (database,) = find_databases(tmp_path).databases
    choice = "SELECT s.* FROM (SELECT {'a': count(*), 'b': max(age), 'c': min(age), 'd': sum(age)} AS s FROM person)"
    case = Case("SELECT count(*) FROM person", choice, (database,), schema=SCHEMA)
    for guarded in (False, True):
        assert not grade_many([case], sandbox, GoldResults(), "intent", guarded=guarded)[0].right
