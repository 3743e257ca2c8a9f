"""A join to what rows belong to leaves out those that have none: the question says so where nothing else does."""

from __future__ import annotations

import pytest
from making import profile_of, run_sqlite

from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Intent,
    Join,
    OrderKey,
    Output,
    Query,
    SetOperation,
    Source,
    Value,
)
from agro_data.profiling.profile import DatabaseProfile

_SCHEMA = """
    CREATE TABLE contractors (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
    CREATE TABLE zones (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE streets (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE permits (id INTEGER PRIMARY KEY, permit_no TEXT NOT NULL, fee REAL NOT NULL,
        contractor_id INTEGER REFERENCES contractors(id), zone_id INTEGER NOT NULL REFERENCES zones(id),
        street_id INTEGER NOT NULL REFERENCES streets(id));
"""


_ROWS = {
    "contractors": [(n, f"Builder {n}", ("Oslo", "Rome")[n % 2]) for n in range(1, 21)],
    "zones": [(n, f"Zone {n}") for n in range(1, 21)],
    "streets": [(n, f"Street {n}") for n in range(1, 21)],
    "permits": [  # of no contractor, and of streets 21 and 22, which are not there
        (n, f"P{n}", n * 7.5, n % 20 + 1 if n % 4 else None, n % 20 + 1, n % 22 + 1) for n in range(1, 101)
    ],
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    return profile_of(run_sqlite(tmp_path_factory.mktemp("town") / "town.sqlite", _SCHEMA, _ROWS))


_PERMIT, _NUMBER, _FEE = Source("p", "permits"), Column("p", "permit_no"), Column("p", "fee")
_NAME, _CITY = Column("o", "name"), Column("o", "city")
_OSLO = Comparison("=", _CITY, Value("Oslo", ("contractors", "city")))


def _of(parent: str, *shown: Column | Aggregate) -> Query:
    """What is shown of permits and of what they belong to along the key to `parent`."""
    join = Join("p", "o", ((f"{parent[:-1]}_id", "id"),), "inner", "up")
    return Query((_PERMIT, Source("o", parent)), tuple(map(Output, shown)), (join,))


def _said(query: Query | SetOperation, profile: DatabaseProfile) -> list[str]:
    intent = Intent("town", "list", query, 7)
    return [render_question(intent, profile, style, seed).text.lower() for style in STYLES for seed in range(6)]


def _with(query: Query, **parts: object) -> Query:
    return Query(query.sources, query.select, query.joins, **parts)  # type: ignore[arg-type]


def test_those_without_a_parent_are_said_to_be_left_out(town: DatabaseProfile) -> None:
    shown = _of("contractors", _NUMBER, _NAME)
    best = _with(shown, order_by=(OrderKey(_FEE, True),), limit=1)
    for query in (shown, _of("contractors", _NAME), best):
        said = _said(query, town)
        assert not [text for text in said if " a contractor" not in text]


def test_those_whose_parent_is_not_there_are_said_to_be_left_out(town: DatabaseProfile) -> None:
    said = _said(_of("streets", _NUMBER, _NAME), town)
    forms = ("known street", "recorded street", "street is known", "street is recorded")
    assert not [text for text in said if not any(form in text for form in forms)]


def test_where_each_row_has_a_parent_nothing_is_said(town: DatabaseProfile) -> None:
    said = _said(_of("zones", _NUMBER, _NAME), town)
    assert not [text for text in said if " a zone" in text or "known" in text or "recorded" in text]


def test_nothing_is_said_where_a_condition_or_a_group_shows_it(town: DatabaseProfile) -> None:
    in_oslo = _with(_of("contractors", _NUMBER, _NAME), where=_OSLO)
    by_city = _with(_of("contractors", _CITY, Aggregate("count")), group_by=(_CITY,))
    cities = _with(_of("contractors", _CITY), distinct=True)
    for query in (in_oslo, by_city, cities):
        forms = (" a contractor and", "with a contractor", "have a contractor", "has a contractor")
        assert not [text for text in _said(query, town) if any(form in text for form in forms)]


def test_contractors_of_two_kinds_of_permits_are_not_said_to_have_contractors(town: DatabaseProfile) -> None:
    named = _of("contractors", Column("o", "id"), _NAME)
    few, many = (_with(named, where=Comparison(sign, _FEE, Value(bound))) for sign, bound in (("<", 90), (">", 200)))  # type: ignore[arg-type]
    said = _said(SetOperation("intersect", few, many), town)
    assert not [text for text in said if "a contractor" in text]
