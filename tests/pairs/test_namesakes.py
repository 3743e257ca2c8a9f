"""Rows that are called the same and are taken for one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import duckdb
import pytest

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE student (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE pet (id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student (id), kind TEXT);
INSERT INTO student VALUES (1, 'Ann', 'Oslo'), (2, 'Ann', 'Rome'), (3, 'Bo', 'Rome'), (4, 'Cy', 'Rome');
INSERT INTO pet VALUES (1, 1, 'cat'), (2, 2, 'dog'), (3, 3, 'cat'), (4, 3, 'dog'),
  (5, 4, 'fish'), (6, NULL, 'cat');
CREATE TABLE club (code TEXT PRIMARY KEY, name TEXT);
INSERT INTO club VALUES ('c', 'Chess'), ('g', 'Go');
"""
OF = "SELECT s.{} FROM student AS s JOIN pet AS p ON p.student_id = s.id WHERE p.kind = '{}'"
COUNTED = "SELECT s.name, COUNT(*) FROM student AS s JOIN pet AS p ON p.student_id = s.id GROUP BY s.name"
TOLD = [
    ("Which students have a cat and a dog?", f"{OF.format('name', 'cat')} INTERSECT {OF.format('name', 'dog')}"),
    ("Which students have no cat?", f"SELECT name FROM student EXCEPT {OF.format('name', 'cat')}"),
    ("How many pets has each student?", COUNTED),
    ("Which students have more than one pet?", f"{COUNTED.replace(', COUNT(*)', '')} HAVING COUNT(*) > 1"),
]
SOUND = [
    ("Which students have a cat and a dog?", f"{OF.format('id', 'cat')} INTERSECT {OF.format('id', 'dog')}"),
    ("In which towns do students have a cat and a dog?",
     f"{OF.format('town', 'cat')} INTERSECT {OF.format('town', 'dog')}"),
    ("Which are of no cat?", f"SELECT name, town FROM student EXCEPT {OF.format('name, s.town', 'cat')}"),
    ("Which owners have no fish?",  # a pet has none
     f"SELECT s.name FROM pet AS p LEFT JOIN student AS s ON p.student_id = s.id EXCEPT {OF.format('name', 'fish')}"),
    ("Which clubs are called Go alone?", "SELECT name FROM club EXCEPT SELECT name FROM club WHERE name <> 'Go'"),
    ("How many pets are there for each student name?", COUNTED),
    ("How many pets has each student?", f"{COUNTED}, s.id"),
    ("How many students are there?", "SELECT name, COUNT(*) FROM student GROUP BY name"),
    ("Which students have the most pets?", f"{COUNTED} ORDER BY COUNT(*) DESC LIMIT 1"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    folder = tmp_path_factory.mktemp("school")
    if request.param == "sqlite":
        with closing(sqlite3.connect(folder / "school.sqlite")) as connection:
            connection.executescript(SCHEMA)
            connection.execute("INSERT INTO club VALUES (NULL, 'Zed')")  # which only SQLite takes
            connection.commit()
    else:
        with duckdb.connect(folder / "school.duckdb") as database:
            database.execute(SCHEMA)
    rows = [{"db_id": "school", "question": question, "query": sql} for question, sql in (*TOLD, *SOUND)]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return verify_pairs(folder / "a.json", folder, cache=folder / "cache", workers=1)


def test_namesakes_are_told_where_the_key_gives_another_answer(verified: Verified) -> None:
    told = [[one for one in each.findings if one.kind == "namesakes"] for each in verified.checked]
    assert [bool(some) for some in told] == [True] * len(TOLD) + [False] * len(SOUND)
    assert told[0][0].says == (
        "INTERSECT takes rows of student with one name for one: by student.id the answer is another."
    )
    assert "('Ann') is not expected" in told[0][0].witness or "got 2" in told[0][0].witness
