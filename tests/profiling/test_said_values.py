"""Values that a question says: where they stand, as they are stored, and little that is there by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, Role, TableProfile
from agro_data.profiling.serialising.linking import SchemaIndex, index_schema
from agro_data.profiling.serialising.said_values import said_values
from agro_data.protocol import render_prompt


def column(name: str, *values: str, role: str = "text", codes: tuple[tuple[str, str], ...] = ()) -> ColumnProfile:
    common = tuple((value, 1) for value in values)
    return ColumnProfile(name, "TEXT", "text", cast(Role, role), name.replace("_", " "), common=common, codes=codes)


def table(name: str, *columns: ColumnProfile) -> TableProfile:
    return TableProfile(name, 10, columns, name, f"{name}s")


PROFILE = DatabaseProfile(
    "flights",
    "sqlite",
    "0",
    (
        table("airport", column("city", "Alton ", "Aberdeen"), column("airport_name", "Alton ", "O'Hare")),
        table(
            "pilot",
            column("surname", "Price", "Young"),
            column("sex", "F", "M", role="category", codes=(("F", "female"), ("M", "male"))),
            column("rank", "Captain", "First Officer", "Officer", role="category"),
        ),
        table("checking", column("balance"), column("select", "3", "2014")),
        table("flight", column("pilot_surname")),
    ),
    (ForeignKey("flight", ("pilot_surname",), "pilot", ("surname",)),),
)
INDEX = index_schema(PROFILE)
EVERYTHING = frozenset(INDEX.names)


def said(question: str, index: SchemaIndex = INDEX) -> str:
    return said_values(index.link(question), EVERYTHING)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which city is the Alton airport in?", "airport( city = 'Alton ', airport_name = 'Alton ')"),
        ("How many flights leave “O'Hare”?", "airport( airport_name = 'O''Hare')"),
        ("How many female pilots?", "pilot( sex = 'F')"),
        ("Pilots of sex F", "pilot( sex = 'F')"),
        ("The rank of each first officer or captain", "pilot( rank = 'First Officer' or 'Captain')"),
        ("How many checkings are there?", ""),
        ("Selected in 2014", "checking( \"select\" = '2014')"),
        ("Is it so?", ""),
    ],
)
def test_values_are_named_as_they_are_stored(question: str, expected: str) -> None:
    assert said(question) == expected


@pytest.mark.parametrize("question", ["Who asks the highest price?", "The 3 best", "Who left for a month?"])
def test_what_looks_like_a_value_by_chance_is_not_named(question: str) -> None:
    assert " = " not in said(question)


def test_a_name_is_one_where_it_is_written_as_one() -> None:
    assert said("Who flies with Price?") == "pilot( surname = 'Price')"


def test_texts_beside_the_common_ones_are_found() -> None:
    assert "'Orly'" not in said("What leaves Orly?")
    assert "airport( airport_name = 'Orly')" in said(
        "What leaves orly?", index_schema(PROFILE, {("airport", "airport_name"): ("Orly",), ("gone", "x"): ("Orly",)})
    )


def test_a_value_that_many_columns_hold_says_nothing_of_any() -> None:
    tables = tuple(table(f"t{n}", column(f"c{n}", "Alton")) for n in range(5))
    assert said("Where is Alton?", index_schema(replace(PROFILE, tables=tables, foreign_keys=()))) == ""


def test_what_is_not_shown_is_not_named() -> None:
    links = INDEX.link("Which city is the Alton airport in?")
    assert said_values(links, {("airport", "city"), ("pilot", "rank")}) == "airport( city = 'Alton ')"
    assert said_values(links, set()) == ""


@given(st.lists(st.sampled_from(["price", "F", "Alton", "first", "officer", "2014", "pilots", "city", "'", '"', "“"])))
def test_any_question_can_be_asked_twice(words: list[str]) -> None:
    question = " ".join(words)
    found = said(question)
    assert found == said(question)
    assert render_prompt("t(a)", question, "sqlite", said=found).count("Named:") == bool(found)
