"""Different values are asked for, and come out or are counted as often as they stand there."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.audit import Audit, audit_pairs
from agro_data.pairs.report import audit_lines

SCHEMA = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, home_country TEXT, fame INTEGER);
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER NOT NULL REFERENCES singer (id), hall TEXT);
INSERT INTO singer VALUES (1, 'Ann', 'Chad', 1), (2, 'Bo', 'Chad', 2), (3, 'Bo', 'Togo', 2), (4, 'Di', NULL, 3);
INSERT INTO concert VALUES (1, 1, 'Old'), (2, 1, 'New'), (3, 2, 'Old'), (4, 3, 'Odeon');
"""
# question, SQL, and what it is mended to; None: one repair of several
MISSING = [
    ("What are the different countries of singers?", "SELECT home_country FROM singer",
     "SELECT DISTINCT home_country FROM singer"),
    ("Show all distinct country names.", "SELECT (home_country) FROM singer WHERE fame < 3",
     "SELECT DISTINCT (home_country) FROM singer WHERE fame < 3"),
    ("Where do singers come from? Show the distinct home countries in order.",
     "SELECT home_country FROM singer ORDER BY home_country", None),
    ("List the unique places where singers live.", "SELECT home_country FROM singer",
     "SELECT DISTINCT home_country FROM singer"),
    ("How many different countries do singers come from?", "SELECT COUNT(home_country) FROM singer",
     "SELECT COUNT(DISTINCT home_country) FROM singer"),
    ("For each fame, show the number of distinct names.",
     "SELECT fame, COUNT(name) FROM singer GROUP BY fame HAVING COUNT(name) > 0",
     "SELECT fame, COUNT(DISTINCT name) FROM singer GROUP BY fame HAVING COUNT(DISTINCT name) > 0"),
    ("What are the names and fames of the different singers with a concert?",
     "SELECT s.name, s.fame FROM singer AS s JOIN concert AS c ON c.singer_id = s.id", None),
    ("Where do singers come from? List the home countries, each once.", "SELECT home_country FROM singer",
     "SELECT DISTINCT home_country FROM singer"),
    ("List each home country only once.", "SELECT home_country FROM singer",
     "SELECT DISTINCT home_country FROM singer"),
    ("Show the halls without duplicates.", "SELECT hall FROM concert", "SELECT DISTINCT hall FROM concert"),
    ("Which singers (id and name) have given a concert?",
     "SELECT s.id, s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id",
     "SELECT DISTINCT s.id, s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
    ("What are the names and ids of singers with concerts?",
     "SELECT s.name, s.id FROM singer AS s JOIN concert AS c ON c.singer_id = s.id ORDER BY s.name", None),
    ("Give the ids of the singers who have a concert.", "SELECT singer_id FROM concert",
     "SELECT DISTINCT singer_id FROM concert"),
]  # fmt: skip
SOUND = [
    ("What are the different countries of singers?", "SELECT DISTINCT home_country FROM singer"),
    ("What are the different countries of singers?", "SELECT home_country FROM singer GROUP BY home_country"),
    ("What are the different halls?", "SELECT hall FROM concert WHERE singer_id = 1"),  # each once
    ("What are the countries of singers?", "SELECT home_country FROM singer"),
    ("What are the names of the different singers?", "SELECT name FROM singer"),  # two are called the same
    ("How many different singers are there?", "SELECT COUNT(name) FROM singer"),
    ("Which singers have different names than Bo?", "SELECT home_country FROM singer WHERE name <> 'Bo' OR fame > 0"),
    ("Which singers have different names than Ann?", "SELECT name FROM singer WHERE name <> 'Ann'"),
    ("Show the names of singers with different names and fames.", "SELECT name FROM singer WHERE fame > 0"),
    ("In which halls do singers from different countries sing?",
     "SELECT c.hall FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
    ("Show the different countries and how many singers they have.",
     "SELECT home_country, COUNT(*) FROM singer GROUP BY home_country"),
    ("Which singers (id and name) have given a concert?",
     "SELECT id, name FROM singer WHERE id IN (SELECT singer_id FROM concert)"),
    ("Which singers have given a concert?",  # two are called the same
     "SELECT s.name FROM singer AS s JOIN concert AS c ON c.singer_id = s.id WHERE c.id <> 1"),
    ("Show the ids of singers for each concert.", "SELECT singer_id FROM concert"),
    ("Show the ids of singers per concert.", "SELECT singer_id FROM concert"),
    ("List concerts with the id of their singer.", "SELECT singer_id FROM concert"),
    ("Show the ids of singers in the order of their concerts.", "SELECT singer_id FROM concert ORDER BY id"),
    ("What are the ids of singers and the halls of their concerts?", "SELECT singer_id, hall FROM concert"),
    ("Which singers were in halls, one after the other?",
     "SELECT s.id, c.hall FROM singer AS s JOIN concert AS c ON c.singer_id = s.id"),
    ("List each singer who has sung once.", "SELECT name FROM singer"),
    ("Which countries have singers that sang in three halls, each once, and are known?",
     "SELECT home_country FROM singer"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def audit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    asked = [*((question, sql) for question, sql, _ in MISSING), *SOUND]
    return checked(audit_pairs, tmp_path_factory.mktemp("music"), request.param, SCHEMA, asked)


@pytest.mark.parametrize("number", range(len(MISSING)), ids=[sql for _, sql, _ in MISSING])
def test_what_comes_out_several_times_is_told_and_mended(audit: Audit, number: int) -> None:
    mended = MISSING[number][2]
    assert "distinct_missing" in {one.kind for one in audit.verified.checked[number].findings}
    assert (audit.mended[number].sql if number in audit.mended else None) == mended


@pytest.mark.parametrize("number", range(len(SOUND)), ids=[f"{question} {sql}" for question, sql in SOUND])
def test_other_rows_are_not(audit: Audit, number: int) -> None:
    found = audit.verified.checked[len(MISSING) + number].findings
    assert "distinct_missing" not in {one.kind for one in found}


def test_what_the_question_says_is_said(audit: Audit) -> None:
    says = [one.says for one in audit.verified.checked[0].findings if one.kind == "distinct_missing"]
    assert says == ["The question says 'different countries', and the same row comes out several times."]


def test_the_report_says_what_was_done(audit: Audit) -> None:
    assert all(step["did"] for line in audit_lines(audit) if line["repair"] for step in line["repair"]["steps"])
