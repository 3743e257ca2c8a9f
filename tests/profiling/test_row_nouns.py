"""What rows are called where their names alone would say another thing, on databases made here."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agro_data.databases.types import Database
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

_SCRIPT = """
CREATE TABLE campus (id INTEGER PRIMARY KEY, name TEXT, x REAL, y REAL, number_of_loans INTEGER);
CREATE TABLE degrees (campus INTEGER REFERENCES campus(id), year INTEGER, degrees INTEGER, PRIMARY KEY (campus, year));
CREATE TABLE faculty (campus INTEGER REFERENCES campus(id), year INTEGER, faculty INTEGER, PRIMARY KEY (campus, year));
CREATE TABLE population (
  campus INTEGER REFERENCES campus(id), year INTEGER, population INTEGER, PRIMARY KEY (campus, year));
CREATE TABLE salaries (id INTEGER PRIMARY KEY, campus INTEGER REFERENCES campus(id), salary INTEGER);
CREATE TABLE loan (id INTEGER PRIMARY KEY, campus INTEGER REFERENCES campus(id), amount REAL);
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, year_working INTEGER, seats INTEGER);
CREATE TABLE debate_people (
  debate INTEGER PRIMARY KEY, affirmative INTEGER REFERENCES people(id), negative INTEGER REFERENCES people(id));
CREATE TABLE happy_hour_people (hour INTEGER, person INTEGER REFERENCES people(id), PRIMARY KEY (hour, person));
CREATE TABLE campus_people (
  campus INTEGER REFERENCES campus(id), person INTEGER REFERENCES people(id), PRIMARY KEY (campus, person));
CREATE TABLE party (
  id INTEGER PRIMARY KEY, name TEXT, number_of_people INTEGER, jan REAL, feb REAL, mar REAL, apr REAL, jun REAL,
  jul REAL);
CREATE TABLE party_people (party INTEGER REFERENCES party(id), person INTEGER REFERENCES people(id));
CREATE TABLE person_friend (person INTEGER REFERENCES people(id), friend INTEGER REFERENCES people(id));
CREATE TABLE allergy_type (allergy TEXT PRIMARY KEY, allergy_type TEXT);
CREATE TABLE young_people (id INTEGER PRIMARY KEY, name TEXT, person INTEGER REFERENCES people(id));
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path: Path = tmp_path_factory.mktemp("rows") / "rows.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCRIPT)
        many = range(1, 41)
        campuses = [(n, f"Campus {n}", n * 1.37, n * 2.11 - 40, n * 7 % 31) for n in many]
        connection.executemany("INSERT INTO campus VALUES (?, ?, ?, ?, ?)", campuses)
        for table in ("degrees", "faculty", "population"):
            counts = [(n, 2000 + n % 2, n * 37 % 901) for n in many]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", counts)
        connection.executemany("INSERT INTO salaries VALUES (?, ?, ?)", [(n, n, n * 331 % 9000 + 900) for n in many])
        connection.executemany("INSERT INTO loan VALUES (?, ?, ?)", [(n, n % 9 + 1, n * 3.7) for n in many])
        people = [(n, f"Person {n}", n * 3 % 17, n * 5 % 13) for n in many]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people)
        for table in ("happy_hour_people", "campus_people"):
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(n, n % 9 + 1) for n in many])
        connection.executemany(
            "INSERT INTO party VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(n, f"Party {n}", n % 7 + 2, *(n * a / 7 for a in range(1, 7))) for n in many],
        )
        connection.executemany("INSERT INTO party_people VALUES (?, ?)", [(n, n) for n in many])
        connection.executemany("INSERT INTO person_friend VALUES (?, ?)", [(n % 7 + 1, n % 9 + 10) for n in many])
        connection.executemany("INSERT INTO allergy_type VALUES (?, ?)", [(f"Allergy {n}", "abc"[n % 3]) for n in many])
        young = [(n, f"Young {n}", n % 9 + 1) for n in many]
        connection.executemany("INSERT INTO young_people VALUES (?, ?, ?)", young)
        connection.executemany("INSERT INTO debate_people VALUES (?, ?, ?)", [(n, n, 41 - n) for n in many])
    connection.close()
    return profile_database(Database("rows", "sqlite", "sqlite", path, "0" * 64, path.name))


@pytest.mark.parametrize(
    ("table", "plural", "column", "phrase"),
    [
        ("degrees", "degree records", "degrees", "degrees"),  # degrees of a year, and no degree
        ("faculty", "faculty records", "faculty", "faculty"),
        ("population", "population records", "population", "value"),
        ("salaries", "salaries", "salary", "amount"),
        ("debate_people", "debate people records", "debate", "debate"),  # two people each
        ("people", "people", "seats", "seats"),
        ("happy_hour_people", "happy hour person records", "hour", "hour"),  # a person may be in several
        ("campus_people", "campus people", "campus", "campus ID"),  # called by both that it links
        ("young_people", "young people", "name", "name"),
        ("person_friend", "person friend records", "friend", "friend ID"),
        ("party", "parties", "jan", "January value"),
        ("allergy_type", "allergy types", "allergy_type", "type"),  # by which they are grouped
    ],
)
def test_rows_that_hold_several_things_are_none_of_them(
    table: str, plural: str, column: str, phrase: str, profile: DatabaseProfile
) -> None:
    assert profile.table(table).plural == plural
    assert profile.table(table).column(column).phrase == phrase


def test_a_stored_number_of_rows_that_can_be_counted_is_said_to_be_stored(profile: DatabaseProfile) -> None:
    assert profile.table("campus").column("number_of_loans").phrase == "recorded number of loans"
    assert profile.table("party").column("number_of_people").phrase == "recorded number of people"


def test_what_is_no_year_and_what_has_no_name_is_said_so(profile: DatabaseProfile) -> None:
    assert profile.table("people").column("year_working").phrase == "number of years working"
    assert [profile.table("campus").column(axis).phrase for axis in "xy"] == ["x coordinate", "y coordinate"]
