from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.evaluation.statistics import _pooled, interval, paired, pass_at, spelled, summary
from agro_data.evaluation.verdict import Verdict, lines, read_lines


def verdict(score: float, db_id: str = "a", gold: str = "g", scores: tuple[float, ...] = ()) -> Verdict:
    kind = "" if score == 1 else "wrong_rows"
    return Verdict(
        "f, row 1", db_id, "?", gold=gold, pred="p", score=score, error_class=kind, hardness="easy", scores=scores
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=5), min_size=1, max_size=20))
def test_the_mean_lies_in_its_interval_and_a_seed_repeats_it(clusters: list[list[float]]) -> None:
    found = interval(clusters, seed=3)
    assert (found["low"] is None) == (len(clusters) == 1 < len(clusters[0]))
    if found["low"] is None:
        return
    assert found["low"] - 1e-6 <= found["mean"] <= found["high"] + 1e-6
    assert found == interval(clusters, seed=3)


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(0, 13, 0.0, 0.228), (4, 4, 0.51, 1.0), (15, 16, 0.717, 0.989), (353, 433, 0.776, 0.849)],
)
def test_rows_that_are_right_or_wrong_have_the_bounds_of_wilson(right: int, of: int, low: float, high: float) -> None:
    found = interval([[1.0]] * right + [[0.0]] * (of - right))
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=6e-4)


def test_one_database_says_nothing_of_others() -> None:
    verdicts = [verdict(float(number % 7 > 0)) for number in range(21)]
    found = summary("strict", verdicts)
    assert found["interval_drawing_databases"] == {"mean": 0.857143, "low": None, "high": None, "groups": 1}
    assert spelled(found["interval_drawing_databases"], "{:.1%} to {:.1%}") == "-"
    assert found["score"]["low"] < 0.7 < found["score"]["high"] < 1


def test_databases_that_agree_are_not_surer_than_their_rows() -> None:
    verdicts = [verdict(1.0, str(number % 3)) for number in range(12)]
    found = summary("strict", verdicts)
    assert found["interval_drawing_databases"] == found["score"] | {"groups": 3}
    assert found["score_by_database"]["low"] == found["score"]["low"] < 0.8


def test_a_gain_has_width_where_few_answers_differ() -> None:
    before = [verdict(0.0, gold=str(number)) for number in range(60)]
    after = [verdict(float(number == 0), gold=str(number)) for number in range(60)]
    found = paired(after, before)
    assert (found["gain"]["mean"], found["gain"]["low"], found["gain"]["high"]) == (0.016667, None, None)
    assert found["gain_drawing_rows"]["low"] < 0
    assert found["gain_drawing_rows"]["high"] > 0.05
    same = paired(before, before)["gain_drawing_rows"]
    assert same["low"] == -same["high"] < -0.03


def test_what_is_partly_right_has_no_bounds_where_nothing_differs() -> None:
    assert interval([[0.5], [0.5]])["low"] is None
    assert interval([[0.5]])["low"] is None
    assert interval([[0.5], [0.25], [1.0]])["low"] == 0.0


def test_few_databases_bound_what_others_would_score() -> None:
    """Databases as large as those of Spider's development part, whose shares differ as those of its systems do: the
    percentiles alone hold the true mean 88 times in a hundred."""
    sizes, rng, held = (45, 42, 92, 80, 38, 18, 16, 62, 40), np.random.default_rng(0), 0
    for _ in range(400):
        rights = rng.binomial(sizes, rng.beta(12, 3, size=len(sizes)))
        found = _pooled([[1.0] * k + [0.0] * (n - k) for n, k in zip(sizes, rights, strict=True)], seed=0)
        held += found["low"] <= 0.8 <= found["high"]
    assert held >= 0.92 * 400


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
