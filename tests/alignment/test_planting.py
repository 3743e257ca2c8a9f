"""Faults that are planted are faults: an instance tells them from what the question means, and solvers err as drawn."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from alignment.aligning import OLD, SANDBOX, example

from agro_data.alignment.agreement import vote
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.profile import DatabaseProfile
from agro_data.verify.golds import GoldResults
from bench.parts.altering import altered_questions, wrong_evidence
from bench.parts.planting import plant, simulated, variants


@pytest.fixture
def profile(tmp_path: Path) -> DatabaseProfile:
    return cached_profile(example(tmp_path).database, tmp_path / "profiles")


def altered(question: str, sql: str, profile: DatabaseProfile) -> set[tuple[str, str]]:
    return {(one.question, one.sql) for one in altered_questions(question, sql, profile, Random(0))}


def test_a_comparison_is_turned(profile: DatabaseProfile) -> None:
    found = altered("Who has an age of more than 40?", OLD, profile)
    assert ("Who has an age of less than 40?", "SELECT name FROM customer WHERE age < 40") in found
    assert ("Who has an ID of more than 40?", 'SELECT name FROM customer WHERE "id" > 40') in found
    [(question, sql)] = [one for one in found if "40" not in one[0]]  # another value
    assert question.split()[-1].strip("?") == sql.split()[-1]


def test_a_value_becomes_another_of_its_column(profile: DatabaseProfile) -> None:
    found = altered("How many live in Oslo?", "SELECT COUNT(*) FROM customer WHERE city = 'Oslo'", profile)
    assert {question for question, _ in found} <= {"How many live in Rome?", "How many live in Bern?"}
    assert all(question.split()[-1].strip("?") in sql for question, sql in found)


def test_a_column_becomes_a_sibling(profile: DatabaseProfile) -> None:
    [(question, sql)] = altered("Which name do all have?", "SELECT name FROM customer", profile)
    other = question.split()[1]
    assert other in ("city", "email")
    assert sql == f'SELECT "{other}" FROM customer'


def test_what_the_words_do_not_say_once_is_left(profile: DatabaseProfile) -> None:
    twice = "SELECT name FROM customer WHERE age > 40 AND id > 40"
    assert not [one for one in altered("Who, over 40, has an id over 40?", twice, profile) if "less" in one[0]]
    assert not altered("Who is old?", "SELECT COUNT(*) FROM customer WHERE age > 40", profile)


def test_evidence_names_another_value(profile: DatabaseProfile) -> None:
    [one] = wrong_evidence("Who lives in Rome?", "SELECT name FROM customer WHERE city = 'Rome'", profile, Random(0))
    assert one.question == "Who lives in Rome?"
    said, other = one.evidence.rstrip(".").split(" is stored as ")
    assert said == "Rome"
    assert f"city = '{other}'" in one.sql


def test_planted_rows_are_told_apart(tmp_path: Path, profile: DatabaseProfile) -> None:
    asked = {
        "Who has an age of more than {}?": "SELECT name FROM customer WHERE age > {}",
        "How many have an age of more than {}?": "SELECT COUNT(*) FROM customer WHERE age > {}",
        "Which city has an age of less than {}?": "SELECT DISTINCT city FROM customer WHERE age < {}",
    }
    rows = [
        example(tmp_path, sql.format(age), question=question.format(age), example_id=f"{number}-{age}")
        for age in (29, 31, 35, 40, 45, 50)
        for number, (question, sql) in enumerate(asked.items())
    ]
    planted = plant(variants(rows, profile, SANDBOX, 1), SANDBOX, 1)
    faults = [row.fault for row in planted]
    assert {"", "gold", "question"} <= set(faults)
    assert faults.count("gold") == faults.count("question") == round(len(planted) / 10)
    for row in planted:
        [ballot] = vote([row.example], [[row.truth, *row.wrong]], SANDBOX, GoldResults())
        agree = [place for place, grade in enumerate(ballot.grades) if grade.right]
        assert agree == ([] if row.gold is None else [row.gold])
        assert (row.gold == 0) == (row.fault == "")
    solver = simulated(planted, 0.7, 200, 0)
    for row, answers in zip(planted, solver.attempts([row.example for row in planted], 1), strict=True):
        assert 110 < answers.count(row.truth) < 170
        assert set(answers) <= {row.truth, *row.wrong}
