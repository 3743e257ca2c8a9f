"""What may be hidden from a question, and which names two columns share: by the rules, on a shop."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from airport import make_airport
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.databases.discovery.catalog import find_databases
from agro_data.intent.ambiguous import ambiguities, swapped
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import Column, Intent, walk
from agro_data.intent.withheld import Withheld, keys, withholdings
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.synthesis.read_back.reading import read_intent

STYLE = "interrogative"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("airport")
    make_airport(folder / "airport.sqlite")
    return profile_database(find_databases(folder).databases[0])


def intents(profile: DatabaseProfile, count: int = 80) -> list[Intent]:
    return list(islice(sample_intents(profile, seed=11), count))


@pytest.fixture(scope="module")
def asked(profile: DatabaseProfile) -> list[Intent]:
    return intents(profile)


def found(intent: Intent, profile: DatabaseProfile) -> list[Withheld]:
    used = {(table.name, column.name) for table in profile.tables for column in table.columns}
    return withholdings(intent, used, render_question(intent, profile, STYLE, 1).text, profile)


def test_what_is_hidden_is_said_and_is_no_key(profile: DatabaseProfile, asked: list[Intent]) -> None:
    kinds = set()
    for intent in asked:
        question = render_question(intent, profile, STYLE, 1).text.lower()
        for one in found(intent, profile):
            kinds.add(one.kind)
            table = profile.table(one.hidden.table)
            if one.kind == "missing_table":
                assert table.plural in question or table.singular in question
            else:
                assert (one.hidden.table, one.hidden.column) not in keys(profile)
                words = one.hidden.value or table.column(one.hidden.column).phrase
                assert words.lower().rstrip("s") in question
    assert kinds == {"missing_column", "missing_table", "missing_value"}


@pytest.mark.parametrize(("status", "hidden"), [("new", {"new"}), ("", set()), ("A", set()), ("+", set())])
def test_a_text_that_says_nothing_is_no_value_to_hide(tmp_path: Path, status: str, hidden: set[str]) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, status TEXT)")
        rows = [(number, f"N{number}", ("new", "", "old", "A", "+")[number % 5]) for number in range(30)]
        connection.executemany("INSERT INTO customer VALUES (?, ?, ?)", rows)
    shop = profile_database(find_databases(tmp_path).databases[0])
    intent = read_intent(f"SELECT name FROM customer WHERE status = '{status}'", Atlas(shop))
    assert isinstance(intent, Intent)
    made = withholdings(intent, (), f"Which customers have the status '{status}'?", shop)
    assert {one.hidden.value for one in made if one.kind == "missing_value"} == hidden


def test_a_column_of_small_words_is_not_hidden(profile: DatabaseProfile) -> None:
    def hidden(phrase: str) -> set[str]:
        flight = profile.table("flight")
        columns = tuple(replace(one, phrase=phrase) if one.name == "adult_price" else one for one in flight.columns)
        tables = tuple(replace(one, columns=columns) if one is flight else one for one in profile.tables)
        intent = read_intent("SELECT adult_price FROM flight", Atlas(profile))
        assert isinstance(intent, Intent)
        used, asked = [("flight", "adult_price")], "What is the fare to pay of each flight?"
        return {one.hidden.column for one in withholdings(intent, used, asked, replace(profile, tables=tables))}

    assert "adult_price" in hidden("fare")
    assert "adult_price" not in hidden("to")


def test_a_column_is_not_hidden_where_another_says_the_same(profile: DatabaseProfile) -> None:
    def hides(changed: DatabaseProfile, column: str) -> bool:
        return any(one.hidden.column == column for intent in intents(profile, 40) for one in found(intent, changed))

    aircraft = profile.table("aircraft")
    assert hides(profile, "wingspan")
    twin = replace(aircraft.column("seats"), phrase="folded wingspan")
    columns = tuple(twin if column.name == "seats" else column for column in aircraft.columns)
    tables = tuple(replace(t, columns=columns) if t is aircraft else t for t in profile.tables)
    assert not hides(replace(profile, tables=tables), "wingspan")
    assert hides(profile, "maker")
    copy = replace(aircraft.column("maker"), name="brand", phrase="brand")
    tables = tuple(replace(t, columns=(*t.columns, copy)) if t.name == "flight" else t for t in profile.tables)
    assert not hides(replace(profile, tables=tables), "maker")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 79), seed=st.integers(0, 5))
def test_an_ambiguous_question_is_said_alike_by_all_its_readings(
    profile: DatabaseProfile, asked: list[Intent], place: int, seed: int
) -> None:
    intent = asked[place]
    for one in ambiguities(intent, profile, STYLE, seed):
        assert one.readings[0].intent == intent
        sql = [render_sql(reading.intent, profile) for reading in one.readings]
        assert len(set(sql)) == len(sql) == 2
        assert one.question.text not in {reading.says for reading in one.readings}
        for reading in one.readings:
            assert render_question(reading.intent, profile, STYLE, seed).text == reading.says
        assert "date" in one.clarification or "price" in one.clarification


def test_the_airport_has_both_ambiguities(profile: DatabaseProfile, asked: list[Intent]) -> None:
    texts = [one.clarification for intent in asked for one in ambiguities(intent, profile, STYLE, 0)]
    assert any("Which date is meant: the " in text for text in texts)
    assert any("Which price is meant: the " in text for text in texts)


def test_a_swap_is_undone_by_its_opposite(profile: DatabaseProfile) -> None:
    for intent in intents(profile, 30):
        other = swapped(intent, "flight", "adult_price", "wholesale_price")
        assert "adult_price" not in render_names(other)
        assert swapped(other, "flight", "wholesale_price", "adult_price") == intent


def render_names(intent: Intent) -> str:
    return " ".join(node.name for node in walk(intent) if isinstance(node, Column))
