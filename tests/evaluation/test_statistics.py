from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.evaluation.statistics import interval, pass_at, summary
from agro_data.evaluation.verdict import Verdict, lines, read_lines


def verdict(score: float, db_id: str = "a", gold: str = "g", scores: tuple[float, ...] = ()) -> Verdict:
    kind = "" if score == 1 else "wrong_rows"
    return Verdict("f, row 1", db_id, "?", gold, "p", score, error_class=kind, hardness="easy", scores=scores)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=5), min_size=1, max_size=20))
def test_the_mean_lies_in_its_interval_and_a_seed_repeats_it(clusters: list[list[float]]) -> None:
    found = interval(clusters, seed=3)
    assert found["low"] - 1e-6 <= found["mean"] <= found["high"] + 1e-6
    assert found == interval(clusters, seed=3)


def test_clusters_that_agree_within_widen_the_interval() -> None:
    """Ten golds with ten predictions each, all right or all wrong, are ten observations and not a hundred."""
    verdicts = [verdict(float(gold % 2), gold=str(gold)) for gold in range(10) for _ in range(10)]
    found = summary("strict", verdicts)
    width = {key: found[key]["high"] - found[key]["low"] for key in ("score", "interval_drawing_golds")}
    assert found["score"]["mean"] == found["interval_drawing_golds"]["mean"] == 0.5
    assert width["interval_drawing_golds"] > 2 * width["score"]


def test_averages_by_database_and_gold_weigh_them_alike() -> None:
    verdicts = [verdict(1.0, "big")] * 9 + [verdict(0.0, "small", "h")]
    found = summary("strict", verdicts)
    assert found["score"]["mean"] == 0.9
    assert found["score_by_database"]["mean"] == found["score_by_gold"]["mean"] == 0.5
    assert [(one["name"], one["mean"]) for one in found["databases"]] == [("big", 1.0), ("small", 0.0)]
    assert found["error_classes"] == {"wrong_rows": 1}
    assert found["right"] == 9


def test_nothing_has_no_mean() -> None:
    assert summary("strict", [])["score"]["mean"] is None


@pytest.mark.parametrize(
    ("scores", "k", "chance"),
    [
        ((1, 0, 0, 0), 1, 0.25),
        ((1, 0, 0, 0), 2, 0.5),
        ((1, 0, 0, 0), 4, 1.0),
        ((0, 0), 2, 0.0),
        ((1, 1), 1, 1.0),
        ((), 1, 0.0),
    ],
)
def test_pass_at(scores: tuple[float, ...], k: int, chance: float) -> None:
    assert pass_at([bool(score) for score in scores], k) == pytest.approx(chance)


def test_attempts_are_counted_only_where_there_are_several() -> None:
    assert "attempts" not in summary("strict", [verdict(1.0, scores=(1.0,))])
    found = summary("strict", [verdict(0.0, scores=(0.0, 1.0)), verdict(1.0, scores=(1.0, 1.0))])["attempts"]
    assert found["pass_at"]["1"]["mean"] == 0.75
    assert found["pass_at"]["2"]["mean"] == 1.0


@pytest.mark.parametrize("kind", ["missing", "no_database", "no_gold"])
def test_a_question_without_any_attempt_bounds_k_for_no_other(kind: str) -> None:
    untried = replace(verdict(0.0, scores=(0.0,)), error_class=kind)
    found = summary("strict", [verdict(0.0, scores=(0.0, 1.0)), untried])["attempts"]
    assert {k: one["mean"] for k, one in found["pass_at"].items()} == {"1": 0.25, "2": 0.5}
    one = summary("strict", [verdict(0.0, scores=(0.0, 1.0)), verdict(0.0, scores=(0.0,))])["attempts"]
    assert list(one["pass_at"]) == ["1"]


def test_a_trees_leaves_are_no_equal_draws() -> None:
    leaves = replace(verdict(0.0, scores=(0.0, 1.0)), voted=1, votes=(2, 6))
    found = summary("strict", [leaves, verdict(1.0, scores=(1.0, 1.0))])["attempts"]
    assert found["pass_at"] == {}
    assert found["majority"]["mean"] == 1.0
    assert read_lines(lines([leaves])) == (leaves,)


def test_what_is_right_and_slow_is_right() -> None:
    found = summary("r-ves", [verdict(0.5, scores=(0.5, 0.0))])
    assert (found["right"], found["attempts"]["pass_at"]["1"]["mean"]) == (1, 0.5)
    partly = summary("soft-f1", [verdict(0.5, scores=(0.5, 0.0))])
    assert (partly["right"], partly["attempts"]["pass_at"]["2"]["mean"]) == (0, 0.0)
