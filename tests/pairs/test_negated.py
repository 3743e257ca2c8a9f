"""Who has none with a value, and who has one with another value."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE student (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE pet (id INTEGER PRIMARY KEY, kind TEXT, born INTEGER);
CREATE TABLE has_pet (student_id INTEGER REFERENCES student (id), pet_id INTEGER REFERENCES pet (id),
  PRIMARY KEY (student_id, pet_id));
INSERT INTO student VALUES (1, 'Ann', 'Oslo'), (2, 'Bo', 'Rome'), (3, 'Cy', 'Rome'), (4, 'Di', NULL);
INSERT INTO pet VALUES (1, 'cat', 2001), (2, 'dog', 2001), (3, 'dog', 2002), (4, 'cat', 2003), (5, 'fish', 2003);
INSERT INTO has_pet VALUES (1, 1), (1, 2), (2, 3), (4, 4);
"""
LEFT = "FROM student AS s LEFT JOIN has_pet AS h ON h.student_id = s.id LEFT JOIN pet AS p ON h.pet_id = p.id"
INNER = LEFT.replace("LEFT JOIN", "JOIN")
NO_CAT = "WHERE p.kind <> 'cat' OR p.kind IS NULL"
TOLD = [
    ("Which students have no cat?", f"SELECT s.name {LEFT} {NO_CAT}"),
    ("Students that are not owners of a cat?", f"SELECT DISTINCT s.name {LEFT} {NO_CAT} ORDER BY s.name"),
    ("How many students in Oslo do not have a cat?",
     f"SELECT COUNT(DISTINCT s.id) {LEFT} WHERE s.town = 'Oslo' AND (p.kind != 'cat' OR p.kind IS NULL)"),
    ("Which students don't have a cat?", f"SELECT DISTINCT s.name {INNER} WHERE p.kind <> 'cat'"),
]  # fmt: skip
SOUND = [
    ("Which students have a pet that is not a cat?", f"SELECT DISTINCT s.name {INNER} WHERE p.kind <> 'cat'"),
    ("Which students do not have a bird?", f"SELECT DISTINCT s.name {INNER} WHERE p.kind <> 'bird'"),
    ("Which students do not live in Oslo?", f"SELECT s.name {INNER} WHERE s.town <> 'Oslo'"),
    ("Which kinds do students without cats have?", f"SELECT p.kind {INNER} WHERE p.kind <> 'cat'"),
    ("Which students have pets of any kind but cats, if any?", f"SELECT s.name {LEFT} {NO_CAT}"),
    ("Which students that do not live in Rome have a pet of another kind than a cat?",
     f"SELECT DISTINCT s.name {INNER} WHERE s.town <> 'Rome' AND p.kind <> 'cat'"),
    ("Which students do not have a fish?",  # which is nobody's
     f"SELECT s.name {LEFT.replace('LEFT', 'RIGHT')} WHERE p.kind <> 'fish'"),
    ("Which students have no cat?",
     f"SELECT name FROM student WHERE id NOT IN (SELECT s.id {INNER} WHERE p.kind = 'cat')"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    return checked(verify_pairs, tmp_path_factory.mktemp("school"), request.param, SCHEMA, (*TOLD, *SOUND))


def test_those_who_have_it_beside_another_are_told(verified: Verified) -> None:
    told = [[one for one in each.findings if one.kind == "other_value_passes"] for each in verified.checked]
    assert [bool(some) for some in told] == [True] * len(TOLD) + [False] * len(SOUND)
    assert told[3][0].says == (
        "p.kind <> 'cat' passes rows of student that have p.kind = 'cat', too, beside another: without them the answer "
        "is another."
    )
    assert "('Ann') is not expected" in told[3][0].witness or "got ('Ann')" in told[3][0].witness
