"""The best assignment is as good as the best of all, and a margin is what the best without a pair lacks."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.migration.assignment import Pair, best_pairs

ENDS = st.tuples(st.sampled_from("abcde"), st.sampled_from("vwxyz"))


def greatest(weights: Mapping[Pair, float]) -> float:
    """The greatest sum of pairs without a common end, all tried."""
    if not weights:
        return 0.0
    (a, b), weight = next(iter(weights.items()))
    others = {pair: w for pair, w in weights.items() if pair != (a, b)}
    apart = {(c, d): w for (c, d), w in others.items() if c != a and d != b}
    return max(greatest(others), weight + greatest(apart))


@given(st.dictionaries(ENDS, st.floats(0.01, 2), max_size=12))
def test_no_assignment_is_better_and_margins_are_told(weights: dict[Pair, float]) -> None:
    pairs = best_pairs(weights)
    assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    assert sum(weights[pair] for pair in pairs) == pytest.approx(greatest(weights))
    for pair, margin in pairs.items():
        without = {other: weight for other, weight in weights.items() if other != pair}
        assert margin == pytest.approx(greatest(weights) - greatest(without))
