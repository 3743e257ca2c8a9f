"""Rewards: the values the papers name, and that no wrong answer is ever worth a right one."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_train.rewards import BEST, PRESETS, Finished, Preset, PresetName, reward

SHARE = st.floats(0, 1)
RIGHT = st.builds(
    Finished, st.just("answered"), st.just(True), st.just(True), st.booleans(), entity=SHARE, exploration=SHARE
)
WRONG = st.one_of(
    st.builds(Finished, st.just("answered"), executed=st.booleans(), entity=SHARE, exploration=SHARE),
    st.builds(Finished, st.sampled_from(["malformed", "truncated"]), entity=SHARE, exploration=SHARE),
)
ALL = pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda preset: preset.name)


def test_presets_have_the_names_that_can_be_chosen() -> None:
    assert get_args(PresetName) == tuple(PRESETS)


@ALL
@given(right=RIGHT, wrong=WRONG)
def test_nothing_wrong_is_worth_a_right_answer(preset: Preset, right: Finished, wrong: Finished) -> None:
    assert reward(right, preset).total > reward(wrong, preset).total


@ALL
@given(rollout=st.one_of(RIGHT, WRONG))
def test_nothing_is_worth_more_than_the_best(preset: Preset, rollout: Finished) -> None:
    found = reward(rollout, preset)
    assert found.total <= preset.highest + 1e-9
    assert found.total == pytest.approx(sum(found.terms.values()))
    assert set(found.terms) == {term.name for term in preset.terms}


@pytest.mark.parametrize(
    ("name", "right", "runs", "fails", "malformed", "truncated"),
    [("agro", 1, 0, 0, -1, 0), ("skyrl", 1, 0, 0, -1, -1), ("arctic", 1, 0.1, 0, 0, 0), ("reex", 6, 2, 2, 0, 0)],
)
def test_the_values_of_each_preset(
    name: str, right: float, runs: float, fails: float, malformed: float, truncated: float
) -> None:
    preset = PRESETS[name]
    shown = {
        Finished("answered", right=True, executed=True): right,
        Finished("answered", executed=True): runs,
        Finished("answered"): fails,
        Finished("malformed", exploration=1.0): malformed,
        Finished("truncated", exploration=1.0): truncated,
    }
    assert [reward(rollout, preset).total for rollout in shown] == pytest.approx(list(shown.values()))


def test_reex_has_its_weights() -> None:
    assert reward(BEST, PRESETS["reex"]).terms == {
        "format": 2,
        "exact_match": 1,
        "execution": 3,
        "entity": 1,
        "exploration": 2,
        "abstention": 0,
    }


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="no answer"):
        Finished("truncated", right=True, executed=True)
    with pytest.raises(ValueError, match="what is right has run"):
        Finished("answered", right=True)
    with pytest.raises(ValueError, match="shares"):
        Finished("answered", entity=1.5)


# --- asking back -------------------------------------------------------------------------------------------------

ASKED = Finished("clarified", right=True, answerable=False)
ASKED_IN_VAIN = Finished("clarified")
NOT_NAMED = Finished("clarified", answerable=False)
NO, YES = st.just(False), st.just(True)
WITHOUT_ANSWER = st.one_of(
    st.builds(Finished, st.just("answered"), NO, st.booleans(), entity=SHARE, exploration=SHARE, answerable=NO),
    st.builds(Finished, st.just("answered"), executed=YES, answerable=NO, guessed=YES),
    st.builds(Finished, st.just("clarified"), exploration=SHARE, answerable=NO),
    st.builds(Finished, st.sampled_from(["malformed", "truncated"]), answerable=NO),
)


@ALL
@given(right=RIGHT, exploration=SHARE)
def test_an_answer_is_worth_more_than_asking_back_where_there_is_one(
    preset: Preset, right: Finished, exploration: float
) -> None:
    assert reward(right, preset).total > reward(Finished("clarified", exploration=exploration), preset).total


@ALL
@given(other=WITHOUT_ANSWER)
def test_asking_back_is_worth_the_most_where_there_is_no_answer(preset: Preset, other: Finished) -> None:
    assert reward(ASKED, preset).total > reward(other, preset).total


@ALL
def test_to_ask_in_vain_costs_more_than_to_answer_wrongly(preset: Preset) -> None:
    assert reward(ASKED_IN_VAIN, preset).total < reward(Finished("answered"), preset).total


@ALL
@given(share=st.floats(0, 1 / 3))
def test_who_always_asks_back_gains_nothing(preset: Preset, share: float) -> None:
    """Not even by always naming what is missing, which only a reader of the question can; and less by set words."""

    def earned(answerable: Finished, other: Finished) -> float:
        return (1 - share) * reward(answerable, preset).total + share * reward(other, preset).total

    always_wrong = earned(Finished("answered", executed=True), Finished("answered", executed=True, answerable=False))
    assert earned(ASKED_IN_VAIN, ASKED) <= always_wrong + 1e-9
    assert earned(ASKED_IN_VAIN, NOT_NAMED) < always_wrong


def test_what_cannot_be_asked_back_is_refused() -> None:
    with pytest.raises(ValueError, match="could be right"):
        Finished("clarified", right=True)
    with pytest.raises(ValueError, match="could be right"):
        Finished("answered", right=True, executed=True, answerable=False)
    with pytest.raises(ValueError, match="guess"):
        Finished("answered", executed=True, guessed=True)
