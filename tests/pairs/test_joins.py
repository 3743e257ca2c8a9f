"""Which joins are over columns that are no key."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.pairs.rows.joins import check_joins
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SCHOOL = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE school (id INTEGER PRIMARY KEY, name TEXT, town_id INTEGER REFERENCES town (id));
CREATE TABLE teacher (id INTEGER PRIMARY KEY, name TEXT, school INTEGER REFERENCES school (id), home INTEGER
  REFERENCES town (id));
INSERT INTO town VALUES (1, 'Oslo'), (2, 'Rome');
INSERT INTO school VALUES (7, 'North', 1), (8, 'South', 2);
INSERT INTO teacher VALUES (20, 'Ann', 7, 2), (21, 'Bo', 8, 1);
-- keys that nobody declared
CREATE TABLE course (course_id INTEGER, subject TEXT, taught_in TEXT, place TEXT, staff INTEGER);
CREATE TABLE person (staff_no INTEGER, called TEXT, rank INTEGER);
CREATE TABLE payment (payer INTEGER, amount INTEGER, visit INTEGER);
CREATE TABLE visitor (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE room (label TEXT);
INSERT INTO room VALUES ('Room 1'), ('Room 2'), ('Room 3'), ('Attic');
"""


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Database:
    folder = tmp_path_factory.mktemp("school")
    with closing(sqlite3.connect(folder / "school.sqlite")) as connection, connection:
        connection.executescript(SCHOOL)
        connection.executemany("INSERT INTO person VALUES (?, ?, ?)", [(n * 977, f"P {n}", n) for n in range(1, 21)])
        courses = [(n, f"Course {n}", f"Room {n % 4}", f"Room {n % 5}", (n % 6 + 1) * 977) for n in range(1, 21)]
        connection.executemany("INSERT INTO visitor VALUES (?, ?)", [(n, f"V {n}") for n in range(1, 21)])
        connection.executemany("INSERT INTO payment VALUES (?, ?, ?)", [(n % 7 + 1, n * 9, n) for n in range(1, 31)])
        connection.executemany("INSERT INTO course VALUES (?, ?, ?, ?, ?)", courses)
    (database,) = find_databases(folder).databases
    return database


@pytest.fixture(scope="module")
def profile(school: Database) -> DatabaseProfile:
    return profile_database(school)


@pytest.fixture(scope="module")
def said(school: Database, profile: DatabaseProfile) -> Callable[[str], list[str]]:
    def ask(sql: str) -> list[str]:
        found = resolve(parse_select(sql, "sqlite"), "sqlite", profile.schema)
        with Sandbox(1) as sandbox:
            return [finding.says for finding in check_joins(school, {sql: found}, profile, sandbox)[sql]]

    return ask


@pytest.mark.parametrize(
    "joined",
    [
        "teacher AS t JOIN school AS s ON t.school = s.id",
        "teacher AS t JOIN school AS s ON t.home = s.town_id",  # both are towns
        "teacher AS t JOIN school AS s ON t.name = s.name",  # of one name: a key that nobody declared, perhaps
        "teacher AS t JOIN teacher AS u ON t.home = u.school",  # with itself
        "teacher AS t JOIN school AS s ON t.school = s.id AND t.home = s.id",  # a condition beside the key
        "teacher AS t, school AS s WHERE t.school = s.id",
    ],
)
def test_joins_over_keys_pass(joined: str, said: Callable[[str], list[str]]) -> None:
    assert said(f"SELECT COUNT(*) FROM {joined}") == []


@pytest.mark.parametrize(
    "joined",
    [
        "teacher AS t JOIN school AS s ON t.home = s.id",
        "teacher AS t JOIN school AS s ON t.id = s.id",
        "teacher AS t, school AS s WHERE s.name = 'North' AND t.id = s.town_id",
        "town AS o JOIN school AS s ON s.town_id = o.id JOIN teacher AS t ON t.school = o.id",
    ],
)
def test_others_are_found(joined: str, said: Callable[[str], list[str]]) -> None:
    (says,) = said(f"SELECT COUNT(*) FROM {joined}")
    assert says.endswith("joins two tables over columns that are no key.")


def test_one_in_a_subquery_is_found(said: Callable[[str], list[str]]) -> None:
    inner = "SELECT s.id FROM school AS s JOIN teacher AS t ON t.id = s.id"
    assert len(said(f"SELECT name FROM school WHERE id IN ({inner})")) == 1


def test_so_is_one_with_the_query_around(said: Callable[[str], list[str]]) -> None:
    about = "SELECT name FROM school AS s WHERE EXISTS (SELECT 1 FROM teacher AS t WHERE t.{} = s.id)"
    assert len(said(about.format("id"))) == 1
    assert said(about.format("school")) == []


@pytest.mark.parametrize(
    "joined",
    [
        "course AS c JOIN room AS r ON c.taught_in = r.label",
        "course AS c JOIN person AS p ON c.staff = p.staff_no",  # numbers far apart
        "person AS p JOIN course AS c ON p.staff_no = c.staff",
        "payment AS p JOIN visitor AS v ON p.payer = v.id",  # numbers that count, of a key
    ],
)
def test_values_of_the_other_column_speak_for_a_key(joined: str, said: Callable[[str], list[str]]) -> None:
    assert said(f"SELECT COUNT(*) FROM {joined}") == []


@pytest.mark.parametrize(
    "joined",
    [
        "course AS c JOIN person AS p ON c.course_id = p.rank",  # both count
        "course AS c JOIN person AS p ON c.subject = p.called",
        "course AS c JOIN person AS p ON c.staff = p.rank",
        "payment AS p JOIN visitor AS v ON p.amount = v.id",  # others than the key has
        "school AS s JOIN visitor AS v ON s.town_id = v.id",  # refers elsewhere
    ],
)
def test_numbers_that_count_and_other_values_do_not(joined: str, said: Callable[[str], list[str]]) -> None:
    assert len(said(f"SELECT COUNT(*) FROM {joined}")) == 1
