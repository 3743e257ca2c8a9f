"""A vote among attempts by what they give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.evaluation.voting import Given, elected, leads, undecided

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


@pytest.mark.parametrize(
    ("results", "votes", "likelihoods", "chosen"),
    [
        ([ROWS, OTHER], [1, 1], [-0.5, -0.2], 1),
        ([ROWS, OTHER], [1, 1], [-0.2, -0.2], 0),
        ([ROWS, OTHER], [2, 1], [-0.5, -0.2], 0),  # a casting vote, and no more
        ([ROWS, OTHER, OTHER, ROWS], [1, 1, 1, 1], [-0.5, -0.9, -0.4, -0.6], 1),  # by the likeliest of each
        ([ROWS, BACK], [1, 1], [-0.5, -0.2], 1),
        ([BACK, OTHER, ROWS, OTHER], [1, 1, 1, 1], [-0.3, -0.2, -0.1, -0.9], 2),  # the likeliest is of those rows
        ([None, OTHER], [1, 1], [-0.1, -0.2], 1),
    ],
)
def test_of_equals_the_likelier_wins(
    results: list[Given | None], votes: list[int], likelihoods: list[float], chosen: int
) -> None:
    assert elected(results, votes, likelihoods) == chosen


def asked_in_rounds(results: list[Given | None], likelihoods: list[float] | None = None) -> tuple[int | None, int, int]:
    """Whom an adaptive vote elects, of how many asked, in how many rounds."""
    asked, rounds, likely = 0, 0, likelihoods or [0.0] * len(results)
    while more := undecided(results[:asked], len(results) - asked, likely[:asked]):
        asked, rounds = asked + more, rounds + 1
    return elected(results[:asked], [1] * asked, likely[:asked]), asked, rounds


GIVEN = st.none() | st.tuples(st.sampled_from("abc"), st.sampled_from("xy"))


@given(st.lists(st.tuples(GIVEN, st.sampled_from([-0.9, -0.5, -0.1])), min_size=1, max_size=9))
def test_who_is_elected_by_all_is_elected_by_those_that_are_asked(attempts: list[tuple[Given | None, float]]) -> None:
    results, likelihoods = [given for given, _ in attempts], [likelihood for _, likelihood in attempts]
    votes = [1] * len(results)
    place, asked, _ = asked_in_rounds(results, likelihoods)
    assert place == elected(results, votes, likelihoods)
    if asked < len(results):  # and nothing else that might have come would have changed it
        left = len(results) - asked
        for rival in (None, ("a", "x"), ("b", "y"), ("c", "x"), ("d", "z")):
            for likelihood in (-1.0, 0.0):
                come = [*likelihoods[:asked], *[likelihood] * left]
                assert elected([*results[:asked], *[rival] * left], votes, come) == place


def test_no_more_are_asked_than_it_takes() -> None:
    same, other = ("a", "x"), ("b", "x")
    assert asked_in_rounds([same] * 8) == (0, 5, 1)  # four others could draw level, and be likelier
    assert asked_in_rounds([same] * 7) == (0, 4, 1)
    assert asked_in_rounds([other, same, same, same, same, same, same, same]) == (1, 6, 2)
    assert asked_in_rounds([None] * 8) == (None, 8, 3)
    assert asked_in_rounds([same, same, same, ("a", "y"), *[other] * 4]) == (0, 8, 4)  # the last could draw level
    assert asked_in_rounds([same, same, same, ("a", "y"), *[same] * 4]) == (0, 6, 2)  # its order is open, then known
    assert undecided([], 0) == 0


@pytest.mark.parametrize(
    ("results", "votes", "ahead"),
    [
        ([], [], False),
        ([None, None], [4, 4], False),
        ([ROWS], [1], True),
        ([ROWS, None], [1, 4], True),  # what fails votes for nothing
        ([ROWS, BACK], [1, 1], True),  # the same rows in two orders
        ([ROWS, OTHER], [1, 1], False),
        ([ROWS, OTHER], [2, 1], True),
        ([ROWS, OTHER, OTHER], [2, 1, 1], False),
    ],
)
def test_an_answer_leads_with_more_votes_than_any_other(
    results: list[Given | None], votes: list[int], ahead: bool
) -> None:
    assert leads(results, votes) == ahead


@given(st.lists(st.tuples(st.sampled_from([ROWS, BACK, OTHER, None]), st.integers(1, 4)), max_size=8))
def test_who_leads_is_elected_wherever_the_others_stand(given_votes: list[tuple[Given | None, int]]) -> None:
    results, votes = [result for result, _ in given_votes], [weight for _, weight in given_votes]
    if leads(results, votes):
        chosen = set()
        for some, weights in ((results, votes), (results[::-1], votes[::-1])):
            place = elected(some, weights)
            assert place is not None
            chosen.add((some[place] or OTHER)[0])
        assert len(chosen) == 1
