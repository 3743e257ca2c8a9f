"""Numbers of a question and of its SQL that mean the same without being the same, and such as do not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.pairs.question.wording import check_wording
from agro_data.profiling.profiler import profile_database
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SCHEMA = """
CREATE TABLE trip (trip_id INTEGER PRIMARY KEY, town TEXT, departure_time INTEGER, opening_time TEXT, year INTEGER,
                   minutes INTEGER, age INTEGER, seats TEXT, total_gpa REAL, kind TEXT, held TEXT, note TEXT,
                   day TEXT, day_key INTEGER);
"""
Said = Callable[..., list[str]]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """The classes of findings of question and SQL that concern the wording."""
    place = tmp_path_factory.mktemp("trips") / "trips.sqlite"
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(SCHEMA)
        rows = [
            (
                n,
                f"Town {n}",
                n * 100,
                f"{n:02}:30:00",
                1990 + n,
                30 * n,
                18 + n,
                str(40 + n),
                3.1,
                "sat",
                "no",
                "trip",
                f"{n:02}.03.2022",
                20220300 + n,
            )
            for n in range(1, 24)
        ]
        connection.executemany(f"INSERT INTO trip VALUES ({','.join('?' * 14)})", rows)
        connection.commit()
    profile = profile_database(find_databases(place).databases[0])

    def ask(question: str, sql: str, evidence: str = "") -> list[str]:
        found = resolve(parse_select(sql, "sqlite"), "sqlite", profile.schema)
        return [one.kind for one in check_wording(question, evidence, sql, found, profile)]

    return ask


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("Which trips leave around 5pm?", "departure_time BETWEEN 1630 AND 1730"),
        ("Which trips leave at about 5 in the evening?", "departure_time >= 1630 AND departure_time <= 1730"),
        ("Which trips leave at 6:30 p.m.?", "departure_time = 1830"),
        ("Which trips leave before noon?", "departure_time < 1200"),
        ("Which trips leave in the afternoon?", "departure_time BETWEEN 1200 AND 1800"),
        ("Which places open after 5:00?", "opening_time > '17:00:00'"),
        ("Which places open in the morning?", "opening_time < '12:00:00'"),
        ("Which travellers are in their 20s?", "age BETWEEN 20 AND 29"),
        ("Which trips were in the 1990s?", "year >= 1990 AND year < 2000"),
        ("Which trips were in the 90s?", "year BETWEEN 1990 AND 1999"),
        ("Which trips take 9 hours?", "minutes = 540"),
        ("Which trips are at weekends?", "minutes IN (0, 6)"),
        ("Which towns have about 40 travellers of an age?", "age > 35 AND age < 45"),
        ("Which trips are after 5 March 2022?", "day > '05.03.2022'"),
        ("Which trips are after 5 March 2022?", "day > '3/5/2022'"),
        ("Which trips are on March 5th, 2022?", "day = '20220305'"),
        ("Which trips are after 5 March 2022?", "day_key > 20220305"),
        ("Which trips are in 2022?", "day_key BETWEEN 20220101 AND 20221231"),
        ("Which trips are noted as 1,000 ml?", "note = '1,000 ml'"),
    ],
)
def test_what_the_words_leave_open_is_no_finding(said: Said, question: str, where: str) -> None:
    assert said(question, f"SELECT town FROM trip WHERE {where}") == []


@pytest.mark.parametrize(
    ("question", "where", "kinds"),
    [
        ("Which trips leave at 7pm?", "departure_time BETWEEN 1830 AND 1930", ["number_differs"]),
        ("Which trips leave around 5pm?", "departure_time BETWEEN 1430 AND 1530", ["number_differs"]),
        ("Which trips leave in the morning?", "year = 2016 AND departure_time < 1200", ["number_not_asked"]),
        ("Which travellers are in their 20s?", "age BETWEEN 20 AND 35", ["number_not_asked"]),
        ("Which trips of 12 minutes?", "year = 2016", ["number_not_used", "number_not_asked"]),
        ("Which trips of 2015?", "year = 2016", []),  # one more or less may be how a bound is written
        ("Which trips of 2010?", "year = 2016", ["number_differs"]),
        ("Which trips are after 7 March 2022?", "day > '05.03.2022'", ["number_not_used"]),
        ("Which trips are after 5 March 2019?", "day_key > 20220305", ["number_not_used", "number_not_asked"]),
        ("Which trips take 9 hours?", "minutes = 500", ["number_differs"]),
    ],
)
def test_another_number_is_told(said: Said, question: str, where: str, kinds: list[str]) -> None:
    assert said(question, f"SELECT town FROM trip WHERE {where}") == kinds


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("Which trips are at weekends?", "SELECT town FROM trip WHERE kind IN ('Saturday', 'Sunday')"),
        ("Which trips are one way?", "SELECT town FROM trip WHERE held = 'no'"),
        ("Trips of 2023?", "SELECT town FROM trip WHERE opening_time >= '2023-01-01' AND opening_time < '2024-01-01'"),
        (
            "Trips by month?",
            "SELECT strftime('%Y-%m', opening_time), COUNT(*) FROM trip GROUP BY strftime('%Y-%m', opening_time)",
        ),
        ("Each town and what it is?", "SELECT town, 'place' FROM trip"),
        ("Towns by kind?", "SELECT town FROM trip ORDER BY CASE kind WHEN 'sat' THEN 6 WHEN 'sun' THEN 7 END"),
        ("Which towns have notes of their own?", "SELECT town FROM trip WHERE note = 'trip'"),  # names the table
    ],
)
def test_a_text_that_no_question_would_say_is_no_finding(said: Said, question: str, sql: str) -> None:
    assert said(question, sql) == []


def test_a_text_that_something_is_compared_with_is_told(said: Said) -> None:
    assert said("Which towns?", "SELECT town FROM trip WHERE LOWER(kind) LIKE LOWER('%satu%')") == ["value_not_asked"]
    assert said("How many?", "SELECT SUM(CASE WHEN kind = 'satu' THEN 1 END) FROM trip") == ["value_not_asked"]


def test_numbers_that_are_kept_as_texts_are_numbers(said: Said) -> None:
    assert said("How many seats has Town 1?", "SELECT seats FROM trip WHERE town = 'Town 1'") == []
    assert said("How many trips are there?", "SELECT town FROM trip") == ["count_missing"]


def test_a_figure_is_known_by_its_initials(said: Said) -> None:
    assert said("What is the grade point average?", "SELECT total_gpa FROM trip") == []
    assert said("What is the average age?", "SELECT age FROM trip") == ["average_missing"]


def test_evidence_may_ask_for_a_count(said: Said) -> None:
    sql = "SELECT COUNT(*) FROM trip"
    assert said("What is the TPT?", sql) == ["count_not_asked"]
    assert said("What is the TPT?", sql, "TPT is the number of trips") == []


def test_of_an_answer_from_no_table_no_more_is_told(said: Said) -> None:
    assert said("What is the average age in 1950?", "SELECT 'no data'") == []
