"""Which columns a question needs: by word, by value, by foreign key; and what stays when the prompt is small."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey, TableProfile
from agro_data.profiling.serialising.linking import SchemaIndex, index_schema
from agro_data.profiling.serialising.serialise import (
    BUDGET,
    SerialiserMismatch,
    Style,
    check_serialiser,
    estimate_tokens,
    fit_schema,
    serialiser,
)
from bench import linking as linking_bench


def column(name: str, *values: str) -> ColumnProfile:
    return ColumnProfile(
        name, "TEXT", "text", "category", name.replace("_", " "), common=tuple((value, 1) for value in values)
    )


def table(name: str, *columns: ColumnProfile) -> TableProfile:
    key = ColumnProfile(f"{name}_id", "INTEGER", "integer", "identifier", f"{name} id")
    return TableProfile(name, 10, (key, *columns), name.replace("_", " "), f"{name}s", primary_key=(key.name,))


def to(child: str, parent: str) -> ForeignKey:
    return ForeignKey(child, (f"{parent}_id",), parent, (f"{parent}_id",))


def link_column(parent: str) -> ColumnProfile:
    return ColumnProfile(f"{parent}_id", "INTEGER", "integer", "identifier", f"{parent} id")


FILLERS = [table(f"filler_{n}", *(column(f"padding_{n}_{m}") for m in range(12))) for n in range(60)]


@pytest.fixture(scope="module")
def profile() -> DatabaseProfile:
    return DatabaseProfile(
        "wide",
        "sqlite",
        "0",
        (
            *FILLERS[:30],
            table("singer", column("name"), column("country", "France", "United States")),
            table("appearance", link_column("singer"), link_column("concert")),
            table("concert", column("theme"), column("opening_date")),
            *FILLERS[30:],
        ),
        (to("appearance", "singer"), to("appearance", "concert")),
    )


@pytest.fixture(scope="module")
def index(profile: DatabaseProfile) -> SchemaIndex:
    return index_schema(profile)


def test_words_values_and_plurals_find_their_columns(index: SchemaIndex) -> None:
    assert index.link("What are the themes?").ranked[0] == ("concert", "theme")
    assert ("singer", "country") in index.link("Who comes from the United States?").matched
    assert index.link("Which concerts opened late?").ranked[0][0] == "concert"


@pytest.mark.parametrize("style", ["ddl", "compact", "mschema"])
def test_the_way_between_two_tables_stays(profile: DatabaseProfile, index: SchemaIndex, style: Style) -> None:
    links = index.link("Show the theme of each concert with a singer from France.")
    found = fit_schema(profile, style=style, budget=200, links=links)
    assert estimate_tokens(found.text) <= 200
    needed = {("concert", "theme"), ("singer", "country"), ("appearance", "singer_id"), ("appearance", "concert_id")}
    assert needed <= found.columns
    assert "more tables are not shown" in found.text


def test_examples_of_what_is_named_are_kept_longest(profile: DatabaseProfile, index: SchemaIndex) -> None:
    found = fit_schema(profile, budget=300, links=index.link("singers from France"))
    assert "Examples: [France, United States]" in found.text


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.integers(60, 3_000), st.sampled_from(["ddl", "compact", "mschema"]))
def test_any_question_and_budget(question: str, budget: int, style: Style) -> None:
    wide = DatabaseProfile("w", "sqlite", "0", tuple(FILLERS))
    links = index_schema(wide).link(question)
    assert sorted(links.ranked) == sorted((t.name, c.name) for t in wide.tables for c in t.columns)
    found = fit_schema(wide, style=style, budget=budget, links=links)
    assert estimate_tokens(found.text) <= budget
    assert all(name in found.text for _, name in found.columns)


def test_the_same_question_gives_the_same_text(profile: DatabaseProfile) -> None:
    texts = {
        fit_schema(profile, budget=400, links=index_schema(profile).link("themes and names")).text for _ in range(3)
    }
    assert len(texts) == 1


def test_another_serialiser_is_refused() -> None:
    check_serialiser(serialiser("ddl"), "ddl", where="a model")
    for stored in (None, {}, serialiser("compact"), {**serialiser("ddl"), "version": 0}):
        with pytest.raises(SerialiserMismatch, match="a model: made with schema serialiser"):
            check_serialiser(stored, "ddl", where="a model")


@pytest.mark.ci
def test_gold_columns_stay_in_the_prompt_of_a_wide_schema() -> None:
    """300 tables and 4,000 columns within 4,000 tokens: at least 99 % stay."""
    found = linking_bench.measure(60)
    assert (found["tables"], found["columns"]) == (300, 4_000)
    assert found["questions"] == 60
    for style, kept, _, most, *_ in found["styles"]:
        assert kept >= linking_bench.GOAL, (style, found["missed"])
        assert most <= BUDGET
