"""Weights and shares: what sums, what is never taken away, and what more failures and more yield do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agro_data.config import ConfigError
from agro_data.focus import Focus, read_focus, turns
from agro_data.rounds.shifting import FLOOR, arm_shares, failure_weights

NAMES = st.text("abcdef", min_size=1, max_size=3)
COUNTS = st.dictionaries(NAMES, st.tuples(st.integers(1, 500), st.floats(0, 1)), min_size=1, max_size=8)


def split(counts: dict[str, tuple[int, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """How often each was tried, and how often it was hit, a whole number of times."""
    tried = {name: float(number) for name, (number, _) in counts.items()}
    return tried, {name: float(round(number * rate)) for name, (number, rate) in counts.items()}


@given(COUNTS)
def test_what_one_value_wins_others_lose_and_none_falls_below_the_floor(counts: dict[str, tuple[int, float]]) -> None:
    asked, failed = split(counts)
    weights = failure_weights(asked, failed)
    assert list(weights) == list(asked)
    assert sum(asked[name] * weights[name] for name in asked) == pytest.approx(sum(asked.values()))
    assert min(weights.values()) >= FLOOR - 1e-9


@given(COUNTS, st.data())
def test_another_failure_never_lowers_a_weight_nor_raises_one_beside_it(
    counts: dict[str, tuple[int, float]], data: st.DataObject
) -> None:
    asked, failed = split(counts)
    worse = data.draw(st.sampled_from(sorted(name for name in asked)))
    more = failed | {worse: min(failed[worse] + 1, asked[worse])}
    assume(sum(failed.values()) > 0)
    before, after = failure_weights(asked, failed), failure_weights(asked, more)
    assert after[worse] >= before[worse] - 1e-9
    assert len(asked) == 1 or min(after[name] / after[worse] - before[name] / before[worse] for name in asked) <= 1e-9


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 200))
def test_the_same_rate_weighs_more_where_more_was_asked(few: int, more: int, others: int) -> None:
    few, more = sorted((few, few + more))
    asked = {"seldom": float(few), "often": float(more), "rest": 300.0}
    weights = failure_weights(asked, {"seldom": float(few), "often": float(more), "rest": min(others, 100.0)})
    assert weights["often"] > weights["seldom"] > 1 > weights["rest"]


@given(COUNTS)
def test_shares_sum_to_one_above_a_floor_and_never_give_less_than_even_ones(
    counts: dict[str, tuple[int, float]],
) -> None:
    asked, kept = split(counts)
    shares = arm_shares(asked, kept, strength=1e-9)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= FLOOR / len(shares) - 1e-9
    rates = {name: kept[name] / asked[name] for name in asked}
    won = sum(shares[name] * rates[name] for name in asked)
    assert won >= sum(rates.values()) / len(rates) - 1e-6, "what gave more is asked more"


def test_shares_of_three_arms() -> None:
    shares = arm_shares({"simple": 180, "complex": 180, "untried": 0}, {"simple": 90, "complex": 10})
    # Posterior means (90 + 20 * 100/360) / 200 and (10 + 20 * 100/360) / 200; a quarter of all is shared evenly.
    assert shares == pytest.approx({"simple": 0.125 + 0.75 * 0.8600, "complex": 0.125 + 0.75 * 0.1400}, abs=1e-4)
    assert arm_shares({"a": 5, "b": 9}, {}) == pytest.approx({"a": 0.5, "b": 0.5})


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="join: 5 failures of 3 questions"):
        failure_weights({"join": 3}, {"join": 5})
    with pytest.raises(ConfigError, match="union: 1 failures of 0 questions"):
        failure_weights({"join": 3}, {"union": 1})


@given(st.lists(st.floats(0.05, 10), min_size=1, max_size=8), st.integers(0, 120))
def test_turns_come_as_often_as_their_weight_says(weights: list[float], count: int) -> None:
    order = turns(weights, count)
    assert len(order) == count
    for place, weight in enumerate(weights):
        assert order.count(place) < count * weight / sum(weights) + 1


def test_equal_weights_take_turns_in_order() -> None:
    assert turns([1.0] * 3, 7) == [0, 1, 2, 0, 1, 2, 0]
    assert turns([0.1] * 6, 60) == list(range(6)) * 10
    assert turns([3.0, 1.0], 8).count(0) == 6


def test_a_file_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "focus.json"
    good = {"format": 1, "weights": {"styles": {"formal": 2}}, "arms": {"model": {"grammar": 0.75, "llm": 0.25}}}
    path.write_text(json.dumps(good))
    focus = read_focus(path)
    assert (focus.weight("styles", "formal"), focus.weight("styles", "concise")) == (2, 1)
    assert focus.arm("model", ("grammar", "llm", "log")) == [1.5, 0.5, 1.0]
    assert Focus().arm("model", ("grammar", "llm")) == [1.0, 1.0]
    for wrong, says in (
        ({"format": 2}, "format 1"),
        ({"format": 1, "weights": {"stiles": {}}}, "'stiles'"),
        ({"format": 1, "weights": {"styles": {"formal": 0}}}, "formal: 0 is no number above 0"),
        ({"format": 1, "arms": {"model": [1]}}, "model: expected a number"),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(ConfigError, match=says):
            read_focus(path)
