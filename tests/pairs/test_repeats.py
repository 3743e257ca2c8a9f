"""What a question counts or averages, and a join repeats."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE student (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, grant_size INTEGER, city_id INTEGER REFERENCES
  city (id));
CREATE TABLE allergy (id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student (id), kind TEXT, year INTEGER);
CREATE TABLE tutor (id INTEGER PRIMARY KEY, teaches INTEGER REFERENCES student (id), taught_by INTEGER REFERENCES
  student (id));
CREATE TABLE prize (id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student (id), given_by INTEGER REFERENCES
  student (id));
INSERT INTO city VALUES (1, 'Oslo'), (2, 'Rome');
INSERT INTO student VALUES (1, 'Ann', 20, 100, 1), (2, 'Bo', 30, 50, 1), (3, 'Cy', 45, 100, 2), (4, 'Di', 21, 10, 2);
INSERT INTO allergy VALUES (1, 1, 'milk', 2001), (2, 1, 'nuts', 2002), (3, 2, 'milk', 2002), (4, 3, 'milk', 2003),
  (5, 3, 'milk', 2004), (6, NULL, 'nuts', 2004);
INSERT INTO tutor VALUES (1, 2, 1), (2, 3, 1), (3, 3, 2);
INSERT INTO prize VALUES (1, 1, 2), (2, 1, 2), (3, 2, 1);
"""
JOIN = "FROM student AS s JOIN allergy AS a ON a.student_id = s.id"
# question, SQL, and with each once
REPEATED = [
    ("How many students have an allergy?", f"SELECT COUNT(*) {JOIN}", f"SELECT COUNT(DISTINCT s.id) {JOIN}"),
    ("What is the number of young students with an allergy?", f"SELECT COUNT(s.name) {JOIN} WHERE s.age < 42",
     f"SELECT COUNT(DISTINCT s.id) {JOIN} WHERE s.age < 42"),
    ("How many of the students have been allergic to milk?", "SELECT COUNT(*) FROM allergy WHERE kind = 'milk'",
     "SELECT COUNT(DISTINCT allergy.student_id) FROM allergy WHERE kind = 'milk'"),
    ("For each kind of allergy, how many students have it?", "SELECT kind, COUNT(*) FROM allergy GROUP BY kind",
     "SELECT kind, COUNT(DISTINCT allergy.student_id) FROM allergy GROUP BY kind"),
    ("In which cities are more than two students allergic?",
     f"SELECT city_id {JOIN} GROUP BY city_id HAVING COUNT(*) > 2", ""),  # not said
    ("Which cities have a number of students with allergies above 2?",
     f"SELECT city_id {JOIN} GROUP BY city_id HAVING COUNT(*) > 2",
     f"SELECT city_id {JOIN} GROUP BY city_id HAVING COUNT(DISTINCT s.id) > 2"),
    ("For each city, how many are there, and with how many allergies?",  # two names of one number
     f"SELECT s.city_id, COUNT(s.id), COUNT(*) {JOIN} GROUP BY s.city_id",
     f"SELECT s.city_id, COUNT(DISTINCT s.id), COUNT(*) {JOIN} GROUP BY s.city_id"),
    ("How many students have tutors?", "SELECT COUNT(t.teaches) FROM student AS s JOIN tutor AS t ON t.teaches = s.id",
     "SELECT COUNT(DISTINCT s.id) FROM student AS s JOIN tutor AS t ON t.teaches = s.id"),
    ("What is the average age of students who have allergies?", f"SELECT AVG(s.age) {JOIN}",
     f"SELECT AVG(c0) FROM (SELECT DISTINCT s.id AS each, s.age AS c0 {JOIN}) AS once"),
    ("In each city, what is the average age of all students with allergies?",
     f"SELECT s.city_id, AVG(s.age) {JOIN} GROUP BY s.city_id",
     "SELECT c0, AVG(c1) FROM (SELECT DISTINCT s.id AS each, s.city_id AS c0, s.age AS c1 "
     f"{JOIN}) AS once GROUP BY c0"),
    ("What is the average age of students from Rome who have allergies?",
     f"SELECT AVG(s.age) {JOIN} WHERE s.city_id = 2", ""),  # the same on this data
    ("What is the total grant size of students?", f"SELECT SUM(s.grant_size) {JOIN}",
     f"SELECT SUM(c0) FROM (SELECT DISTINCT s.id AS each, s.grant_size AS c0 {JOIN}) AS once"),
    ("What is the total grant size per city name?",
     f"SELECT c.name, SUM(s.grant_size) {JOIN} JOIN city AS c ON s.city_id = c.id GROUP BY c.name",
     "SELECT c0, SUM(c1) FROM (SELECT DISTINCT s.id AS each, c.name AS c0, s.grant_size AS c1 "
     f"{JOIN} JOIN city AS c ON s.city_id = c.id) AS once GROUP BY c0"),
    ("What is the total grant of students who have allergies, by kind?",
     f"SELECT a.kind, SUM(s.grant_size) {JOIN} WHERE a.year > 2000 GROUP BY a.kind HAVING SUM(s.grant_size) > 10",
     "SELECT c0, SUM(c1) FROM (SELECT DISTINCT s.id AS each, a.kind AS c0, s.grant_size AS c1 "
     f"{JOIN} WHERE a.year > 2000) AS once GROUP BY c0 HAVING SUM(c1) > 10"),
]  # fmt: skip
BOTH = f"{JOIN} JOIN prize AS p ON p.student_id = s.id"
BESIDE = "FROM allergy AS a JOIN prize AS p ON p.student_id = a.student_id"
# question, SQL, and of the figures that are told the first, with each once
MULTIPLIED = [
    (
        "How many allergies and prizes has each student?",
        f"SELECT s.name, COUNT(a.id), COUNT(p.id) {BOTH} GROUP BY s.id",
        f"SELECT c0, COUNT(c1) FROM (SELECT DISTINCT a.id AS each, s.id AS c0, a.id AS c1 {BOTH}) AS once GROUP BY c0",
    ),
    (
        "What are the sums?",
        f"SELECT SUM(a.year), SUM(p.given_by) {BOTH}",
        f"SELECT SUM(c0) FROM (SELECT DISTINCT a.id AS each, a.year AS c0 {BOTH}) AS once",
    ),
    (
        "How many allergies and prizes has each student?",
        f"SELECT a.student_id, COUNT(a.id), COUNT(p.id) {BESIDE} GROUP BY a.student_id",
        "SELECT c0, COUNT(c1) FROM (SELECT DISTINCT a.id AS each, a.student_id AS c0, a.id AS c1 "
        f"{BESIDE}) AS once GROUP BY c0",
    ),
    (
        "How many allergies and prizes has each student?",
        f"SELECT s.name, COUNT(a.id), COUNT(DISTINCT p.id) {BOTH} GROUP BY s.id",
        f"SELECT c0, COUNT(c1) FROM (SELECT DISTINCT a.id AS each, s.id AS c0, a.id AS c1 {BOTH}) AS once GROUP BY c0",
    ),
]
ONCE = [
    ("How many allergies and prizes has each?",
     f"SELECT s.name, COUNT(DISTINCT a.id), COUNT(DISTINCT p.id) {BOTH} GROUP BY s.id, s.name"),
    ("How many allergies and prizes has Bo?",
     f"SELECT COUNT(a.id), COUNT(p.id) {BOTH} WHERE s.name = 'Bo'"),  # one of each
    ("How many allergies and prizes has each student?",
     f"SELECT a.student_id, COUNT(DISTINCT a.id), COUNT(DISTINCT p.id) {BESIDE} GROUP BY a.student_id"),
    ("How many allergies has each student with prizes, and from whom?",  # of one table
     f"SELECT a.student_id, COUNT(DISTINCT a.id), COUNT(a.kind) {BESIDE} GROUP BY a.student_id"),
    ("What are the sums of years and ages?", f"SELECT SUM(a.year), SUM(s.age) {JOIN}"),  # of allergies
    ("How many students have an allergy?", f"SELECT COUNT(DISTINCT s.id) {JOIN}"),
    ("How many allergies do students have?", f"SELECT COUNT(*) {JOIN}"),
    ("How many allergies has each student?", f"SELECT s.name, COUNT(*) {JOIN} GROUP BY s.id, s.name"),
    ("How many allergies and rows are there?", f"SELECT COUNT(a.id), COUNT(*) {JOIN}"),
    ("How many students are there?", "SELECT COUNT(*) FROM student"),
    ("How many students come from Oslo?",
     "SELECT COUNT(*) FROM student AS s JOIN city AS c ON s.city_id = c.id WHERE c.name = 'Oslo'"),
    ("How many students have an allergy to nuts?", "SELECT COUNT(*) FROM allergy WHERE kind = 'nuts'"),  # one is NULL
    ("How many students have won?", "SELECT COUNT(*) FROM prize"),  # won, or given?
    ("How many students does each teach?",
     "SELECT s.name, COUNT(t.teaches) FROM student AS s JOIN tutor AS t ON t.taught_by = s.id GROUP BY s.name"),
    ("How many students and how many allergies are there?", f"SELECT COUNT(DISTINCT s.id), COUNT(*) {JOIN}"),
    ("How many students have more than the usual number of allergies?",
     f"SELECT COUNT(*) FROM (SELECT s.id {JOIN} GROUP BY s.id HAVING COUNT(*) > 1) AS t"),
    ("What is the average age over all allergies of students?", f"SELECT AVG(s.age) {JOIN}"),
    ("What is the average age of students for the allergies?", f"SELECT AVG(s.age) {JOIN}"),
    ("What is the total grant of students given?", f"SELECT SUM(s.grant_size) {JOIN}"),  # as it may be of products sold
    ("What is the total grant size of students by year?",
     f"SELECT a.year, SUM(s.grant_size) {JOIN} GROUP BY a.year"),
    ("What is the average age of students who have allergies?", f"SELECT AVG(s.age), COUNT(*) {JOIN}"),
    ("How many students are there in each row?", f"SELECT COUNT(*) OVER () {JOIN}"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    asked = [*((question, sql) for question, sql, _ in (*REPEATED, *MULTIPLIED)), *ONCE]
    return checked(verify_pairs, tmp_path_factory.mktemp("school"), request.param, SCHEMA, asked)


@pytest.mark.parametrize("number", range(len(REPEATED)), ids=[sql for _, sql, _ in REPEATED])
def test_what_a_join_repeats_is_told_with_the_answer_that_has_it_once(verified: Verified, number: int) -> None:
    once = REPEATED[number][2]
    told = [one.witness for one in verified.checked[number].findings if one.kind == "counted_again"]
    assert [one.partition(": ")[0] for one in told] == ([once] if once else [])


@pytest.mark.parametrize("number", range(len(ONCE)), ids=[f"{question} {sql}" for question, sql in ONCE])
def test_rows_that_are_asked_for_or_stand_once_are_not(verified: Verified, number: int) -> None:
    found = verified.checked[len(REPEATED) + len(MULTIPLIED) + number].findings
    assert "counted_again" not in {one.kind for one in found}


@pytest.mark.parametrize("number", range(len(MULTIPLIED)), ids=[sql for _, sql, _ in MULTIPLIED])
def test_two_tables_that_multiply_each_other_are_told(verified: Verified, number: int) -> None:
    found = verified.checked[len(REPEATED) + number].findings
    told = [one for one in found if one.kind == "counted_again"]
    assert told[0].witness.partition(": ")[0] == MULTIPLIED[number][2]
    assert "as often as the join has rows of prize beside it" in told[0].says


def test_it_asks_for_a_look(verified: Verified) -> None:
    assert not verified.checked[0].grave
    says = next(one.says for one in verified.checked[0].findings if one.kind == "counted_again")
    assert says == (
        "The question asks how many students, the SQL counts rows, several of which have the same student.id: "
        "with each counted once the answer is another."
    )
