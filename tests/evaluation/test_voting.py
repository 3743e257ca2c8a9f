"""A vote among attempts by what they give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.evaluation.voting import Given, elected, undecided

ROWS, BACK, OTHER = ("a", "a1"), ("a", "a2"), ("b", "b1")


@pytest.mark.parametrize(
    ("results", "votes", "chosen"),
    [
        ([ROWS, OTHER, OTHER], [1, 1, 1], 1),
        ([ROWS, OTHER, OTHER], [6, 1, 1], 0),
        ([ROWS, BACK, BACK], [1, 1, 1], 1),
        ([OTHER, BACK, ROWS, OTHER, BACK], [1, 1, 1, 1, 1], 1),  # the rows first, then the order of most
        ([BACK, ROWS, OTHER, OTHER], [1, 1, 1, 1], 0),  # as many votes: the earlier, though its order has one
        ([BACK, ROWS], [1, 1], 0),
        ([None, None, OTHER], [4, 4, 1], 2),
        ([None, None], [1, 1], None),
        ([], [], None),
    ],
)
def test_the_rows_of_most_win_and_then_the_order_of_most(
    results: list[Given | None], votes: list[int], chosen: int | None
) -> None:
    assert elected(results, votes) == chosen


def asked_in_rounds(results: list[Given | None]) -> tuple[int | None, int, int]:
    """Whom an adaptive vote elects, of how many asked, in how many rounds."""
    asked, rounds = 0, 0
    while more := undecided(results[:asked], len(results) - asked):
        asked, rounds = asked + more, rounds + 1
    return elected(results[:asked], [1] * asked), asked, rounds


GIVEN = st.none() | st.tuples(st.sampled_from("abc"), st.sampled_from("xy"))


@given(st.lists(GIVEN, min_size=1, max_size=9))
def test_who_is_elected_by_all_is_elected_by_those_that_are_asked(results: list[Given | None]) -> None:
    place, asked, _ = asked_in_rounds(results)
    assert place == elected(results, [1] * len(results))
    if asked < len(results):  # and nothing else that might have come would have changed it
        left = len(results) - asked
        for rival in (None, ("a", "x"), ("b", "y"), ("c", "x"), ("d", "z")):
            assert elected([*results[:asked], *[rival] * left], [1] * len(results)) == place


def test_no_more_are_asked_than_it_takes() -> None:
    same, other = ("a", "x"), ("b", "x")
    assert asked_in_rounds([same] * 8) == (0, 4, 1)  # four others could only draw level, and the earlier wins
    assert asked_in_rounds([same] * 7) == (0, 4, 1)
    assert asked_in_rounds([other, same, same, same, same, same, same, same]) == (1, 6, 2)
    assert asked_in_rounds([None] * 8) == (None, 8, 4)
    assert asked_in_rounds([same, same, same, ("a", "y"), *[other] * 4]) == (0, 6, 3)  # its order is open, then known
    assert undecided([], 0) == 0
