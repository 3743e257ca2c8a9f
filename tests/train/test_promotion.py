"""A model takes another's place only when the lower bound of its paired gain is not below zero."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.evaluation.statistics import paired
from agro_data.evaluation.verdict import Verdict, lines, read_lines
from agro_train.promotion import carry_out, decide
from agro_train.runs.store import NoRun, begin, find_run


def verdicts(scores: list[int], databases: int = 4) -> list[Verdict]:
    return [Verdict(str(n), f"db{n % databases}", f"q{n}", f"gold {n}", "", score) for n, score in enumerate(scores)]


def test_a_clear_gain_is_promoted_and_chance_is_not() -> None:
    better = decide(verdicts([1] * 60 + [0] * 40), verdicts([1] * 20 + [0] * 80))
    assert better.promoted
    assert better.gain == pytest.approx(0.4)
    assert 0 < better.low < 0.4 < better.high
    worse = decide(verdicts([1] * 20 + [0] * 80), verdicts([1] * 60 + [0] * 40))
    assert not worse.promoted
    assert "lower bound is below zero" in worse.reason
    chance = decide(verdicts([1, 0] * 50), verdicts([0, 1] * 49 + [0, 0]))
    assert (chance.gain > 0, chance.promoted) == (True, False)


def test_equals_stay_promoted_but_a_first_model_must_beat_its_base() -> None:
    same = verdicts([1, 0, 0, 1] * 10)
    assert decide(same, same).promoted
    first = decide(same, same, names=("new", "base"), first=True)
    assert not first.promoted
    assert "new does not beat base" in first.reason


def test_one_database_alone_is_not_surer_than_its_rows() -> None:
    """Drawing a single database always gives the same gain: its interval would have no width."""
    mine, other = verdicts([1, 0, 1, 0, 1, 1], 1), verdicts([0, 1, 1, 0, 1, 0], 1)
    found = paired(mine, other)
    assert found["gain"]["low"] == found["gain"]["high"] > 0
    decision = decide(mine, other)
    assert decision.low < 0
    assert not decision.promoted


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40), st.integers(1, 5))
def test_the_gain_is_antisymmetric_and_within_its_bounds(scores: list[tuple[int, int]], databases: int) -> None:
    mine, other = (verdicts([pair[side] for pair in scores], databases) for side in (0, 1))
    there, back = decide(mine, other), decide(other, mine)
    assert there.gain == pytest.approx(-back.gain)
    assert there.low <= there.gain + 1e-6
    assert there.gain <= there.high + 1e-6
    assert there.promoted == (there.low >= 0)
    found = paired(mine, other)
    assert found["won"] - found["lost"] == pytest.approx(len(scores) * there.gain, abs=1e-4)


def test_verdicts_are_read_as_they_were_written() -> None:
    odd = Verdict("1", "db", "a\u2028b\x85c?", "SELECT 1", "", 1.0, constructs=("group",))
    assert read_lines(lines([odd, *verdicts([0, 1])])) == (odd, *verdicts([0, 1]))


def test_only_the_same_rows_are_paired() -> None:
    with pytest.raises(ValueError, match="same questions"):
        decide(verdicts([1, 0]), verdicts([1]))
    with pytest.raises(ValueError, match="no verdicts"):
        decide([], [])


def test_the_pointer_moves_only_on_promotion(tmp_path: Path) -> None:
    draft = begin(tmp_path, "small", "ab" * 32)
    run = draft.finish({})  # type: ignore[union-attr]
    same = verdicts([0, 0])
    carry_out(decide(same, same, first=True), run, tmp_path)
    with pytest.raises(NoRun):
        find_run(tmp_path, "promoted")
    carry_out(decide(verdicts([1, 1]), same, first=True), run, tmp_path)
    assert find_run(tmp_path, "promoted").name == run.name
    assert '"promoted": true' in (tmp_path / "promotion.json").read_text()
