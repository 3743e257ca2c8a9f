"""The calculation for k of n, beside every possible course of the loop, and beside the loop itself."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import isclose, sqrt
from pathlib import Path
from random import Random

import pytest
from alignment.aligning import CITIES, OLD, OLDER, SANDBOX, example
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.alignment.cycles import Rule, check
from agro_data.alignment.example import Example
from agro_data.alignment.solvers import Solver
from bench.parts.expected import at_least, expected


@st.composite
def loops(draw: st.DrawFn) -> tuple[list[float], int | None, int, int, int]:
    """Chances of one to three answers, the gold, n, k, K."""
    parts = draw(st.lists(st.integers(0, 10), min_size=1, max_size=3))
    rest = draw(st.integers(0, 10))
    whole = sum(parts) + rest or 1
    gold = draw(st.none() | st.integers(0, len(parts) - 1))
    asked = draw(st.integers(1, 4))
    need = draw(st.integers(asked // 2 + 1, asked))
    return [part / whole for part in parts], gold, asked, need, draw(st.integers(1, 3))


def by_hand(chances: list[float], gold: int | None, asked: int, need: int, cycles: int) -> list[float]:
    """Every sequence of answers, cycle by cycle, under the rules of the loop."""
    every = [*chances, 1 - sum(chances)]
    nothing = len(chances)
    accepted = [0.0] * len(chances)
    standing = {-1 if gold is None else gold: 1.0}
    for _ in range(cycles):
        following: Counter[int] = Counter()
        for now, weight in standing.items():
            for answers in product(range(len(every)), repeat=asked):
                chance = weight
                for answer in answers:
                    chance *= every[answer]
                votes = Counter(answer for answer in answers if answer != nothing)
                if now >= 0 and votes[now] >= need:
                    accepted[now] += chance
                    continue
                won = [answer for answer, count in votes.items() if count >= need]
                following[won[0] if won else now] += chance
        standing = dict(following)
    return accepted


@settings(max_examples=60, deadline=None)
@given(loops())
def test_every_course_is_counted(loop: tuple[list[float], int | None, int, int, int]) -> None:
    chances, gold, asked, need, cycles = loop
    found = expected(chances, gold, asked=asked, need=need, cycles=cycles)
    for mine, theirs in zip(found.accepted, by_hand(*loop), strict=True):
        assert isclose(mine, theirs, abs_tol=1e-9)
    assert 0.0 <= found.rejected <= 1.0


@given(loops())
def test_more_cycles_accept_no_less(loop: tuple[list[float], int | None, int, int, int]) -> None:
    chances, gold, asked, need, cycles = loop
    fewer = expected(chances, gold, asked=asked, need=need, cycles=cycles)
    more = expected(chances, gold, asked=asked, need=need, cycles=cycles + 1)
    assert all(a <= b + 1e-12 for a, b in zip(fewer.accepted, more.accepted, strict=True))


def test_one_cycle_is_a_binomial_sum() -> None:
    once = expected([0.9, 0.1], 0, asked=5, need=3, cycles=1)
    assert once.accepted[0] == pytest.approx(0.99144)  # P(Binomial(5, 0.9) >= 3), from tables
    assert once.accepted[1] == 0.0  # what becomes the gold in the last cycle is not accepted in it
    assert at_least(0, 5, 0.3) == pytest.approx(1.0)


@pytest.mark.parametrize(("need", "asked"), [(2, 4), (2, 5), (6, 5), (0, 1)])
def test_two_winners_are_refused(need: int, asked: int) -> None:
    with pytest.raises(ValueError, match="more than half"):
        expected([0.5], 0, asked=asked, need=need, cycles=1)


def test_chances_are_shares() -> None:
    with pytest.raises(ValueError, match="no shares"):
        expected([0.7, 0.7], 0, asked=1, need=1, cycles=1)


@pytest.mark.parametrize("gold", [OLD, OLDER])
def test_the_loop_does_what_is_calculated(tmp_path: Path, gold: str) -> None:
    answers, chances, count = [OLD, OLDER, CITIES], [0.6, 0.25, 0.15], 150
    rows = [example(tmp_path, gold, example_id=str(number)) for number in range(count)]

    def attempts(examples: list[Example], cycle: int) -> list[list[str]]:
        return [Random(f"{one.example_id}/{cycle}").choices(answers, chances, k=3) for one in examples]

    outcomes = check(rows, [Solver("drawn", attempts)], Rule(need=2, cycles=3), SANDBOX)  # type: ignore[arg-type]
    wanted = expected(chances, answers.index(gold), asked=3, need=2, cycles=3)
    for sql, chance in zip(answers, wanted.accepted, strict=True):
        got = sum(one.fate == "verified" and one.example.sql == sql for one in outcomes)
        assert abs(got - count * chance) <= 4 * sqrt(count * chance * (1 - chance)) + 1e-9
