"""A model takes another's place only when the lower bound of its paired gain is not below zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from agro_data.evaluation.statistics import paired
from agro_data.evaluation.verdict import Verdict, lines, read_lines
from agro_data.files import write_json
from agro_train.agents.choosing import slug
from agro_train.promotion import carry_out, consider, decide, exact_bounds
from agro_train.runs.store import NoRun, begin, find_run


def verdicts(scores: list[int], databases: int = 4) -> list[Verdict]:
    return [
        Verdict(str(n), f"db{n % databases}", f"q{n}", gold=f"gold {n}", pred="", score=score)
        for n, score in enumerate(scores)
    ]


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


def test_equals_take_nobodys_place_and_a_first_model_must_beat_its_base() -> None:
    same = verdicts([1, 0, 0, 1] * 10)
    assert not decide(same, same).promoted
    assert "0 of 40 answers differ" in decide(same, same).reason
    first = decide(same, same, names=("new", "base"), first=True)
    assert not first.promoted
    assert "new does not beat base" in first.reason


@pytest.mark.parametrize(("won", "promoted"), [(1, False), (5, False), (6, True)])
def test_few_answers_that_differ_show_little(won: int, promoted: bool) -> None:
    """None was lost, and drawing them again would lose none: six in a row come by chance once in sixty-four."""
    none = verdicts([0] * 64)
    better = verdicts([1] * won + [0] * (64 - won))
    assert decide(better, none).promoted == promoted
    first = decide(better, none, names=("new", "base"), first=True)
    assert first.promoted  # nobody's place is taken
    assert first.low >= 0 or "new is the first, and has lost nothing to base" in first.reason


def test_the_gate_lets_chance_through_as_seldom_as_it_says() -> None:
    """Of a thousand challengers of 64 questions that lose three for each that they win."""
    rng = np.random.default_rng(0)
    none, passed = verdicts([0] * 64), 0
    for _ in range(1_000):
        drawn = rng.choice([1, -1, 0], size=64, p=[0.01, 0.03, 0.96])
        won, lost = int((drawn == 1).sum()), int((drawn == -1).sum())
        passed += exact_bounds(won, lost, 64)[0] >= 0
    assert passed <= 25
    assert not decide(none, none).promoted


@pytest.mark.parametrize(("won", "lost"), [(6, 0), (0, 6), (9, 3), (40, 41)])
def test_exact_bounds_are_those_of_the_beta_distribution(won: int, lost: int) -> None:
    low, high = exact_bounds(won, lost, 100)
    tails = [beta.ppf(0.025, won, lost + 1) if won else 0.0, beta.ppf(0.975, won + 1, lost) if lost else 1.0]
    assert [low, high] == pytest.approx([(2 * tail - 1) * (won + lost) / 100 for tail in tails], abs=1e-6)


def test_one_database_alone_is_not_surer_than_its_rows() -> None:
    """Drawing a single database always gives the same gain, which tells nothing of others."""
    mine, other = verdicts([1, 0, 1, 0, 1, 1], 1), verdicts([0, 1, 1, 0, 1, 0], 1)
    found = paired(mine, other)
    assert found["gain"]["mean"] > 0
    assert found["gain"]["low"] is None
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
    assert not there.promoted or there.gain > 0
    found = paired(mine, other)
    assert found["won"] - found["lost"] == pytest.approx(len(scores) * there.gain, abs=1e-4)


def test_verdicts_are_read_as_they_were_written() -> None:
    odd = Verdict("1", "db", "a\u2028b\x85c?", gold="SELECT 1", pred="", score=1.0, constructs=("group",))
    assert read_lines(lines([odd, *verdicts([0, 1])])) == (odd, *verdicts([0, 1]))


def test_only_the_same_rows_are_paired() -> None:
    with pytest.raises(ValueError, match="same questions"):
        decide(verdicts([1, 0]), verdicts([1]))
    with pytest.raises(ValueError, match="no verdicts"):
        decide([], [])


def test_a_run_is_held_to_what_it_was_trained_from_whoever_stands_first(tmp_path: Path) -> None:
    draft = begin(tmp_path / "models", "small", "ab" * 32)
    run = draft.finish({"base_model": "/somewhere/base", "parent": None})  # type: ignore[union-attr]

    def evaluated(*names: str) -> Path:
        for name in names:
            (folder := tmp_path / "set" / slug(name)).mkdir(parents=True, exist_ok=True)
            (folder / "strict.jsonl").write_text(lines(verdicts([int(name == run.name)] * 9)))
        figures = {"questions": "set", "metrics": ["strict"], "models": [{"model": name} for name in names]}
        write_json(tmp_path / "summary.json", {"sets": [figures]})
        return tmp_path

    (alone,) = consider(evaluated(run.name), [run], tmp_path / "models")
    assert "/somewhere/base, which small/r0001" in alone.reason
    assert not alone.promoted
    (decision,) = consider(evaluated(run.name, "base"), [run], tmp_path / "models")
    assert (decision.promoted, decision.against) == (True, "base")


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
