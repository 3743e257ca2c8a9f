"""What a question of a model may not do, class by class; and that what the grammar says is never held against it."""

from __future__ import annotations

from itertools import islice
from typing import cast, get_args

import numpy as np
import pytest
from airport import make_airport
from hypothesis import given
from hypothesis import strategies as st
from making import profile_of

from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.sample import sample_intents
from agro_data.phrasing.central import most_central
from agro_data.phrasing.faults import Fault, fault_of, meaning_of, telling_names
from agro_data.profiling.profile import DatabaseProfile
from agro_data.prompts.write_question import QuestionStyle, WrittenQuestion

SQL = "SELECT model FROM aircraft WHERE maker = 'Embraer' AND seats > 120"
PLAIN = "What are the models of the aircraft with maker Embraer and more than 120 seats?"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("airport")
    make_airport(folder / "airport.sqlite")
    return profile_of(folder)


@pytest.mark.parametrize(
    ("question", "kind", "style"),
    [
        ("Which Embraer aircraft seat more than 120 people? Give the models.", "", "interrogative"),
        ("which models of embraer have over 120 seats", "", "colloquial"),
        ("which models of embraer have over one hundred and twenty seats", "value_lost", "colloquial"),
        (PLAIN.lower(), "unchanged", "formal"),
        ("Which aircraft_id of Embraer has more than 120 seats?", "leaks_name", "formal"),
        ("Which `model` of Embraer has more than 120 seats?", "leaks_name", "formal"),
        ("SELECT the models of Embraer with more than 120 seats.", "leaks_sql", "imperative"),
        ("Use a subquery for the models of Embraer above 120 seats.", "leaks_sql", "imperative"),
        ("Which models have more than 120 seats?", "value_lost", "concise"),
        ("Which models of Embraer have many seats?", "value_lost", "concise"),
        ("Which models of Embraer have more than 120 seats since 1999?", "value_added", "concise"),
        ("Which of the big Embraer models above 120 seats carry the fleet?", "no_evidence", "metaphorical"),
        ("Which Embraer models have more than 120 seats?", "no_dialogue", "multi-turn"),
        ("¿Cuáles son los modelos de Embraer con más de 120 asientos de las naves?", "not_english", "formal"),
        ("Какие модели Embraer имеют больше 120 мест?", "not_english", "formal"),
    ],
)
def test_each_fault_has_its_class(profile: DatabaseProfile, question: str, kind: str, style: str) -> None:
    meaning = meaning_of(SQL, profile, PLAIN, cast(QuestionStyle, style))
    found = fault_of(WrittenQuestion(question, None), meaning)
    assert (found.kind if found else "") == kind
    assert not kind or kind in get_args(Fault)


def test_a_value_may_stand_in_the_evidence(profile: DatabaseProfile) -> None:
    meaning = meaning_of(SQL, profile, PLAIN, "vague")
    assert (
        fault_of(WrittenQuestion("Which Embraer models are large?", "Large means more than 120 seats."), meaning)
        is None
    )
    lost = fault_of(WrittenQuestion("Which Embraer models are large?", "Large means many seats."), meaning)
    assert lost is not None
    assert lost.kind == "value_lost"


def test_dialogues_are_turns(profile: DatabaseProfile) -> None:
    meaning = meaning_of(SQL, profile, PLAIN, "multi-turn")
    said = "User: Which models of Embraer? Assistant: All of them? User: Those with more than 120 seats."
    assert fault_of(WrittenQuestion(said, None), meaning) is None


def test_names_that_people_say_are_no_leak(profile: DatabaseProfile) -> None:
    assert {"aircraft_id", "departure_date", "adult_price"} <= telling_names(profile)
    assert not {"model", "seats", "aircraft", "flight"} & telling_names(profile)


def test_what_the_grammar_says_has_no_fault_but_being_the_grammars(profile: DatabaseProfile) -> None:
    for number, intent in enumerate(islice(sample_intents(profile, seed=5), 120)):
        sql, style = render_sql(intent, profile), STYLES[number % len(STYLES)]
        said = render_question(intent, profile, style, number)
        meaning = meaning_of(sql, profile, said.text, cast(QuestionStyle, style))
        found = fault_of(WrittenQuestion(f"Well, {said.text}", said.evidence), meaning)
        assert found is None, (found, said.text, sql)


@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_centre_is_most_like_the_others(rows: list[list[float]]) -> None:
    vectors = np.array(rows, dtype=np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms == 0, 1, norms)
    chosen = most_central(unit)
    sums = (unit.astype(np.float64) @ unit.astype(np.float64).T).sum(axis=1)
    assert sums[chosen] >= sums.max() - 1e-5


def test_who_drifts_is_not_the_centre() -> None:
    near = np.array([[1, 0], [0.98, 0.2], [0.97, -0.24], [0, 1]], dtype=np.float32)
    assert most_central(near) != 3
    with pytest.raises(ValueError, match="no text"):
        most_central(near[:0])
