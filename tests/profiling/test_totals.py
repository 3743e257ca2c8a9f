"""Which rows are totals of others, by their numbers: no name says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.databases.types import Cell
from agro_data.profiling.columns.statistics import describe
from agro_data.profiling.columns.totals import totals_among

_STATES = ("Burgenland", "Salzburg", "Tirol", "Wien")
Row = tuple[Cell, ...]


def _found(names: str, rows: Sequence[Row]) -> Mapping[str, str]:
    columns = dict(zip(names.split(), zip(*rows, strict=True), strict=True))
    return totals_among(columns, {name: describe(cells) for name, cells in columns.items()})


def _states(rng: Random, years: Sequence[int], whole: str) -> list[Row]:
    """Inhabitants and their density of each state and year, and of all states."""
    rows: list[Row] = []
    for year in years:
        each = [(state, rng.randrange(200_000, 2_000_000)) for state in _STATES]
        rows += [(state, year, people, round(people / 7_000, 1)) for state, people in each]
        if whole:
            people = sum(people for _, people in each)
            rows.append((whole, year, people, round(people / 28_000, 1)))
    return rows


def _codes(rng: Random) -> list[Row]:
    """Nights by codes of two countries, three parts of each, and what these consist of."""
    rows: list[Row] = []
    for country in ("AT", "DE"):
        parts = []
        for part in "123":
            leaves = [(f"{country}{part}{leaf}", rng.randrange(900, 90_000) / 4) for leaf in "1234"]
            rows += [*leaves, (f"{country}{part}", sum(nights for _, nights in leaves))]
            parts.append(sum(nights for _, nights in leaves))
        rows.append((country, sum(parts)))
    return rows


@pytest.mark.parametrize("years", [range(2015, 2025), (2024,)])
def test_a_country_among_its_states_is_their_total(years: Sequence[int]) -> None:
    names = "region year people density"
    assert _found(names, _states(Random(1), years, "Austria")) == {"region": "Austria"}
    assert _found(names, _states(Random(1), years, "")) == {}


def test_codes_that_begin_with_another_are_its_parts() -> None:
    assert _found("geo nights", _codes(Random(2))) == {"geo": "AT1"}


def test_what_no_number_of_the_engine_can_hold_is_no_total() -> None:
    rows: list[Row] = [(f"part {n}", n * 1.5e307) for n in range(1, 9)]
    assert _found("name amount", [*rows, ("all of it", 1e308)]) == {}


def test_rows_of_which_nobody_knows_whose_they_are_are_no_parts() -> None:
    rows = _states(Random(3), range(2015, 2025), "Austria")
    assert _found("region year people density", [*rows, (None, 2024, 7, 1.0)])


@pytest.mark.parametrize(
    "row",
    [
        lambda n: ("ABC"[n % 4 // 2 + n % 4 // 3], 1_000 * (1 + n % 9)),  # A has as much as B and C, and as many rows
        lambda n: ("ABC"[n % 4 // 2 + n % 4 // 3], 2000 + n // 4),  # so do years
        lambda n: ("ABC"[n % 3], 2 - n % 3 if n % 3 else 3),  # small numbers, 3 = 2 + 1
        lambda n: ("ABC"[n % 3], (5, 3, 2)[n % 3] * 100_000),  # the same of budgets in round numbers
    ],
)
def test_what_follows_from_how_many_rows_there_are_is_no_total(row: Callable[[int], Row]) -> None:
    assert _found("kind amount", [row(n) for n in range(96)]) == {}


@given(
    parts=st.lists(st.integers(100, 10**8).map(lambda n: 10 * n + 1), min_size=2, max_size=40),  # not round
    miss=st.floats(0.001, 0.5),
    digits=st.integers(0, 2),
)
def test_a_sum_that_misses_its_parts_is_no_total(parts: list[int], miss: float, digits: int) -> None:
    rows: list[Row] = [(f"part {place:03}", part / 10**digits) for place, part in enumerate(parts)]
    whole = sum(parts) / 10**digits
    others = _found("name amount", rows)
    assert _found("name amount", [*rows, ("all of it", whole * (1 + miss))]).get("name") != "all of it"
    if not others and sum(parts) > 10_000 * 10**digits:
        assert _found("name amount", [*rows, ("all of it", whole)]) == {"name": "all of it"}
