"""Which joins are over columns that are no key."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from agro_data.databases.catalog import find_databases
from agro_data.pairs.joins import check_joins
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.sql.parse import parse_select
from agro_data.sql.scope import resolve

SCHOOL = """
CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE school (id INTEGER PRIMARY KEY, name TEXT, town_id INTEGER REFERENCES town (id));
CREATE TABLE teacher (id INTEGER PRIMARY KEY, name TEXT, school INTEGER REFERENCES school (id), home INTEGER
  REFERENCES town (id));
INSERT INTO town VALUES (1, 'Oslo'), (2, 'Rome');
INSERT INTO school VALUES (7, 'North', 1), (8, 'South', 2);
INSERT INTO teacher VALUES (20, 'Ann', 7, 2), (21, 'Bo', 8, 1);
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("school")
    with closing(sqlite3.connect(folder / "school.sqlite")) as connection, connection:
        connection.executescript(SCHOOL)
    (database,) = find_databases(folder).databases
    return profile_database(database)


def said(sql: str, profile: DatabaseProfile) -> list[str]:
    found = resolve(parse_select(sql, "sqlite"), "sqlite", profile.schema)
    return [finding.says for finding in check_joins({sql: found}, profile)[sql]]


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
def test_joins_over_keys_pass(joined: str, profile: DatabaseProfile) -> None:
    assert said(f"SELECT COUNT(*) FROM {joined}", profile) == []


@pytest.mark.parametrize(
    "joined",
    [
        "teacher AS t JOIN school AS s ON t.home = s.id",
        "teacher AS t JOIN school AS s ON t.id = s.id",
        "teacher AS t, school AS s WHERE s.name = 'North' AND t.id = s.town_id",
        "town AS o JOIN school AS s ON s.town_id = o.id JOIN teacher AS t ON t.school = o.id",
    ],
)
def test_others_are_found(joined: str, profile: DatabaseProfile) -> None:
    (says,) = said(f"SELECT COUNT(*) FROM {joined}", profile)
    assert says.endswith("joins two tables over columns that are no key.")


def test_one_in_a_subquery_is_found(profile: DatabaseProfile) -> None:
    inner = "SELECT s.id FROM school AS s JOIN teacher AS t ON t.id = s.id"
    assert len(said(f"SELECT name FROM school WHERE id IN ({inner})", profile)) == 1


def test_so_is_one_with_the_query_around(profile: DatabaseProfile) -> None:
    about = "SELECT name FROM school AS s WHERE EXISTS (SELECT 1 FROM teacher AS t WHERE t.{} = s.id)"
    assert len(said(about.format("id"), profile)) == 1
    assert said(about.format("school"), profile) == []
