"""The best of n attempts by a reward, against all choices of n written out."""

from __future__ import annotations

from itertools import permutations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.best_of import chosen_best, curve, paid

attempts = st.lists(st.sampled_from([(False, False), (True, False), (True, True)]), min_size=1, max_size=5)


@given(attempts, st.integers(1, 5))
def test_best_of_is_the_mean_over_all_orders(each: list[tuple[bool, bool]], n: int) -> None:
    n = min(n, len(each))
    chosen = [next((one for one in order if one[0]), (False, False)) for order in permutations(each, n)]
    taken, right = zip(*each, strict=True)
    assert chosen_best(taken, right, n) == pytest.approx((mean(x for x, _ in chosen), mean(y for _, y in chosen)))


def test_what_all_take_for_right_leaves_no_gap() -> None:
    right = [[True, False], [False, False]]
    assert curve(right, right, [1, 2]) == [(0.25, 0.25), (0.5, 0.5)]
    assert paid([[True, True], [False, True]], right) == (3, 2)
