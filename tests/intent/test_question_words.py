"""English at the level of words, and values said verbatim."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.intent.questions.clauses.comparing import compared, counted
from agro_data.intent.questions.clauses.values import quoted, say_number, say_value
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.styles import verb_for
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Value
from agro_data.profiling.profile import ColumnProfile

PLURALS = {
    "singer": "singers",
    "person": "people",
    "city": "cities",
    "date of birth": "dates of birth",
    "date key": "date keys",
    "date month name": "date month names",
    "date first registered": "dates first registered",
    "person date born": "person dates born",
    "date born": "dates born",
    "left on": "left on values",
    "status": "statuses",
    "ID": "IDs",
    "id": "ids",
    "employee ID": "employee IDs",
    "hours played": "hours played",
    "years as tallest": "years as tallest",
    "dates active": "dates active",
    "state or province": "states or provinces",
    "city or county name": "city or county names",
    "name of city or town": "names of city or town",
    "GDP": "GDPs",
    "date moved in": "dates moved in",
    "amount claimed": "amounts claimed",
    "number of hosts": "numbers of hosts",
    "address line 1": "address line 1",
    "series": "series",
    "details": "details",
    "speed in knots": "speeds in knots",
    "tourist attraction": "tourist attractions",
    "eliminated by": "eliminated by values",
    "i": "i values",
    "temperature c": "temperature c values",
    "it": "it values",
    "IT": "ITs",
    "sign in count": "sign in counts",
    "名前": "名前",
    "taggable type": "taggable types",
}


@pytest.mark.parametrize(("one", "many"), PLURALS.items())
def test_plural(one: str, many: str) -> None:
    assert words.plural(one) == many


def test_what_is_no_english_word_gets_no_english_ending() -> None:
    assert words.plural("fecha pedido") == "fecha pedidos"
    assert (words.plural("pais"), words.be("pais"), words.article("pais")) == ("pais", "is", "a pais")


@given(st.sampled_from(sorted(PLURALS)))
def test_a_plural_stays(one: str) -> None:
    many = words.plural(one)
    assert words.plural(many) == many or not words.is_plural(many)


@pytest.mark.parametrize(
    ("noun", "said"),
    [
        ("age", "an age"),
        ("hours", "hours"),
        ("series", "series"),
        ("ID", "an ID"),
        ("customer whose name starts with an A", "a customer whose name starts with an A"),
    ],
)
def test_article(noun: str, said: str) -> None:
    assert words.article(noun) == said


@pytest.mark.parametrize(
    ("noun", "verb"), [("status", "is"), ("points", "are"), ("number of hosts", "is"), ("people", "are")]
)
def test_agreement(noun: str, verb: str) -> None:
    assert words.be(noun) == verb


@given(st.text(min_size=1), st.integers(0, 50))
def test_a_text_value_is_said_verbatim(text: str, seed: int) -> None:
    column = ColumnProfile("name", "TEXT", "text", "text", "name")
    assert text in say_value(Value(text, ("t", "name")), column, Voice("formal", seed))


@given(st.text(alphabet=st.characters(exclude_characters="'\""), min_size=1))
def test_quotation_marks_differ_from_the_text(text: str) -> None:
    said = quoted(text + "'", Voice("formal", 1))
    assert said[0] == '"'


@given(st.integers(-(10**12), 10**12))
def test_whole_numbers_are_said_in_digits(number: int) -> None:
    assert say_number(number) == say_number(float(number)) == str(number)


def test_dates_are_said_as_stored_or_in_words() -> None:
    column = ColumnProfile("day", "DATE", "date", "date", "day", date_format="iso")
    said = {say_value(Value("2021-03-05", ("t", "day")), column, Voice("formal", s)) for s in range(40)}
    assert said == {"2021-03-05", "March 5, 2021"}


def test_a_moment_is_a_date_and_a_time_where_the_engine_compares_moments() -> None:
    moment = Value("2021-03-05 10:00:07+00:00", ("t", "at"))
    zoned = ColumnProfile("at", "TIMESTAMP WITH TIME ZONE", "datetime", "date", "time", date_format="iso")
    said = {say_value(moment, zoned, Voice("formal", s)) for s in range(40)}
    assert said == {"2021-03-05 at 10:00:07 UTC", "March 5, 2021 at 10:00:07 UTC"}
    said = {say_value(Value("2021-03-05", ("t", "at")), zoned, Voice("formal", s)) for s in range(40)}
    assert said == {"2021-03-05 (UTC)", "March 5, 2021 (UTC)"}
    assert str(moment.value) in say_value(moment, replace(zoned, declared_type="VARCHAR"), Voice("formal", 0))


def test_a_plural_of_what_was_done_is_counted() -> None:
    assert [counted(one) for one in ("games played", "seats", "weeks on top")] == [
        "games played",
        "seats",
        "weeks on top",
    ]
    assert [counted(one) for one in ("amounts paid", "money requested", "date played")] == ["", "", ""]
    assert words.article("money requested") == "money requested"


def test_a_month_has_days_in_it() -> None:
    said = {compared("date", "date", "=", text, Voice("", 1)).after for text in ("'August 2008'", "March 3, 2008")}
    assert said == {"in 'August 2008'", "on March 3, 2008"}


def test_nobody_has_sex() -> None:
    said = {compared("sex", "text", "=", "M", Voice(f"{n}")).have for n in range(40)}
    assert said == {"the sex M"}


def test_a_unit_is_said_once() -> None:
    weight = ColumnProfile("w", "REAL", "real", "measure", "weight", unit="kg")
    spelled_out = ColumnProfile("w", "REAL", "real", "measure", "weight in kilograms", unit="kg")
    voice = Voice("formal", 1)
    assert say_value(Value(5.0, ("t", "w")), weight, voice) == "5 kg"
    assert say_value(Value(5.0, ("t", "w")), spelled_out, voice) == "5"


def test_equal_meanings_of_two_codes_keep_the_code() -> None:
    column = ColumnProfile(
        "c", "TEXT", "text", "category", "state", codes=(("a", "open"), ("b", "open"), ("c", "shut"))
    )
    voice = Voice("formal", 1)
    assert say_value(Value("a", ("t", "c")), column, voice) == "open (a)"
    assert say_value(Value("c", ("t", "c")), column, voice) == "shut"
    assert voice.evidence == "state 'a' means open; state 'c' means shut"


def test_a_sign_in_is_one_noun() -> None:
    assert verb_for("the current sign in times of all users") == "are"
    assert verb_for("the sign in count in the table") == "is"
    assert verb_for("the singers in the band") == "are"
    assert verb_for("the 3 headquarters with the most firms") == "are"
    assert verb_for("the 7 day average of the stocks") == "is"


def test_persons_are_in_what_their_deeds_are_not() -> None:
    assert words.is_in("player", "team")
    assert words.is_in("songs", "playlist")
    assert not words.is_in("goals", "away team")
    assert not words.is_in("song", "singer")


def test_what_stands_before_as_well_as_takes_the_verb() -> None:
    assert verb_for("the cities as well as the number of clients for each city") == "are"
    assert verb_for("the city as well as the numbers of its clients") == "is"
