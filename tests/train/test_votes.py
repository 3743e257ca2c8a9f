"""Votes held among attempts that were drawn once, as `bench.votes` does."""

from __future__ import annotations

import pytest

from bench.votes import CHECKED, TREE, Attempt, Rule, Tried, asks, worth

LIKELY, RARE = Attempt(("a", "x"), -0.1, True), Attempt(("b", "x"), -0.9, False)
FAILS = Attempt(None, -0.1, False)


@pytest.mark.parametrize(
    ("rule", "size", "share"),
    [
        (Rule(likeliest=False, likelihood=False), 2, 0.5),  # a draw, and either comes first as often
        (Rule(likeliest=False, likelihood=True), 2, 1.0),
        (Rule(likeliest=True, likelihood=False), 1, 1.0),
        (Rule(likeliest=True, likelihood=True), 2, 1.0),
        (Rule(likeliest=False, likelihood=True), 1, 0.5),
    ],
)
def test_what_a_vote_is_worth(rule: Rule, size: int, share: float) -> None:
    [found] = worth([Tried("shop", LIKELY, [LIKELY, RARE])], rule, size, votes=400)
    assert found == pytest.approx(share, abs=0.1)


def test_what_fails_elects_nobody() -> None:
    assert worth([Tried("shop", FAILS, [FAILS, FAILS])], Rule(likeliest=True, likelihood=True), 2, votes=3) == [0.0]


@pytest.mark.parametrize(("drawn", "asked"), [(FAILS, 2), (LIKELY, 2), (RARE, 4)])
def test_a_vote_grows_where_no_answer_leads(drawn: Attempt, asked: int) -> None:
    tried = [Tried("shop", LIKELY, [drawn] * 4)]
    assert asks(tried, TREE, 4, votes=3) == [asked]
    assert worth(tried, TREE, 4, votes=3) == [float(drawn is not RARE)]


def test_those_vote_that_least_speaks_against_and_are_asked_where_something_does() -> None:
    doubted = Attempt(("c", "x"), -0.1, False, gravity=2)
    drawn, anyone, growing, trusting = CHECKED
    tried = [Tried("shop", doubted, [doubted, doubted, doubted, LIKELY])]
    assert worth(tried, drawn, 4, votes=1) == worth(tried, anyone, 5, votes=1) == worth(tried, trusting, 5, votes=1)
    assert worth(tried, trusting, 5, votes=1) == worth(tried, growing, 5, votes=1) == [1.0]
    assert asks([Tried("shop", doubted, [doubted] * 4)], growing, 5, votes=1) == [5.0]
    assert asks([Tried("shop", LIKELY, [LIKELY] * 4)], growing, 5, votes=1) == [2.0]
    assert asks(tried, trusting, 5, votes=1) == [5.0]
    assert asks([Tried("shop", LIKELY, [doubted] * 4)], trusting, 5, votes=1) == [1.0]
