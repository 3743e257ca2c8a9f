"""Credit by hand: each formula on numbers that can be followed, and what must hold whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_train.advantages import (
    EPSILON,
    Scale,
    anchor_key,
    discounted_returns,
    effective_rewards,
    gigpo,
    group_advantages,
    informative,
    pav,
    prover_value,
    spa_loss,
    spa_step_rewards,
    spread,
    turn_advantages,
)

REWARDS = st.lists(st.floats(-5, 5), min_size=2, max_size=12)


def test_grpo_by_hand() -> None:
    # group a: 1, 0, 0, 1 -> mean 1/2, std 1/2; group b: all the same; group c: one alone
    found = group_advantages([1, 0, 5, 0, 1, 5, 7], ["a", "a", "b", "a", "a", "b", "c"])
    one = 0.5 / (0.5 + EPSILON)
    assert found.tolist() == pytest.approx([one, -one, 0, -one, one, 0, 0])
    assert group_advantages([1, 0, 0, 0], "aaaa", "none").tolist() == pytest.approx([0.75, -0.25, -0.25, -0.25])
    assert informative([1, 0, 5, 5, 7], "aabbc").tolist() == [True, True, False, False, False]


@given(REWARDS, st.floats(-3, 3), st.floats(0.5, 4))
def test_grpo_is_blind_to_shift_and_scale(rewards: list[float], shift: float, scale: float) -> None:
    values = np.asarray(rewards)
    if values.std() < 0.01:
        return
    groups = ["g"] * len(rewards)
    plain = group_advantages(values, groups)
    assert plain.mean() == pytest.approx(0, abs=1e-9)
    assert group_advantages(scale * values + shift, groups) == pytest.approx(plain, abs=1e-3)
    unscaled = group_advantages(values, groups, "none")
    assert group_advantages(values + shift, groups, "none") == pytest.approx(unscaled, abs=1e-9)
    assert group_advantages(scale * values, groups, "none") == pytest.approx(scale * unscaled, abs=1e-9)


@given(st.floats(-5, 5), st.integers(1, 9))
def test_a_group_without_variance_gives_zeros(reward: float, count: int) -> None:
    assert group_advantages([reward] * count, ["g"] * count).tolist() == [0.0] * count
    assert not informative([reward] * count, ["g"] * count).any()


@given(REWARDS, st.randoms())
def test_order_and_other_groups_do_not_matter(rewards: list[float], chance: object) -> None:
    plain = group_advantages(rewards, ["g"] * len(rewards))
    order = list(range(len(rewards)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    shuffled = group_advantages([rewards[i] for i in order], ["g"] * len(rewards))
    assert shuffled == pytest.approx(plain[order], abs=1e-9)
    with_others = group_advantages([*rewards, 100, -100], [*["g"] * len(rewards), "h", "h"])
    assert with_others[: len(rewards)] == pytest.approx(plain)


def test_returns_by_hand() -> None:
    assert discounted_returns([0, 0, 1, 0, 2], [0, 0, 0, 1, 1], 0.5).tolist() == [0.25, 0.5, 1, 1, 2]
    assert discounted_returns([1, 3, 10], [0, 1, 0], 1.0).tolist() == [11, 3, 10]


def test_gigpo_by_hand() -> None:
    # two rollouts of one prompt, two turns each; both begin in the same state, then part; only the first is right
    found = gigpo([1, 0], ["p", "p"], [0, 1, 0, 0], [0, 0, 1, 1], ["start", "x", "start", "y"], gamma=0.5, scale="none")
    assert found.episode.tolist() == [0.5, 0.5, -0.5, -0.5]
    assert found.step.tolist() == [0.25, 0, -0.25, 0]  # returns 0.5 and 0 around 0.25
    assert found.values.tolist() == [0.75, 0.5, -0.75, -0.5]
    assert found.shared == 0.5
    without = gigpo([1, 0], ["p", "p"], [0, 1, 0, 0], [0, 0, 1, 1], ["start", "x", "start", "y"], omega=0.0)
    assert without.values.tolist() == without.episode.tolist()


@pytest.mark.parametrize("scale", ["group", "none"])
def test_rewards_that_are_all_the_same_teach_nothing_about_states(scale: Scale) -> None:
    """One answers at once, the other looks first: only the discount tells them apart."""
    found = gigpo([1, 1], ["p", "p"], [1, 0, 1], [0, 1, 1], ["start", "start", "seen"], gamma=0.5, scale=scale)
    assert found.values.tolist() == [0, 0, 0]
    assert found.shared == pytest.approx(2 / 3)


def test_a_rollout_that_meets_its_own_state_again_shares_it_with_nobody() -> None:
    found = gigpo([1, 0], ["p", "p"], [0, 0, 1, 0], [0, 0, 0, 1], ["start", "x", "x", "start"])
    assert found.shared == 0.5


def test_an_anchor_is_shared_only_within_a_group() -> None:
    found = gigpo([1, 0, 1, 0], ["p", "p", "q", "q"], [1, 0, 1, 0], [0, 1, 2, 3], ["s", "t", "s", "t"], scale="none")
    assert found.step.tolist() == [0, 0, 0, 0]
    assert found.shared == 0.0


def test_anchors_are_the_same_for_the_same_state() -> None:
    assert anchor_key(["b", "a", "a"], "d1", "") == anchor_key(["a", "b"], "d1", "")
    assert anchor_key(["a"], "d1", "") != anchor_key(["a"], "d2", "")
    assert anchor_key(["a"], "d1", "schema") == anchor_key(["a"], "d2", "schema")


def test_spa_by_hand() -> None:
    # sums 0.9 and 0.5 against rewards 1 and 0
    assert spa_loss([0.4, 0.5, 0.5], [0, 0, 1], [1, 0]) == pytest.approx((0.01 + 0.25) / 2)
    assert spa_loss([0.4, 0.6, 0.0], [0, 0, 1], [1, 0]) == 0.0
    assert spa_step_rewards([0.2, 0.6], [True, False], alpha=2, beta=0.5).tolist() == [0.9, 1.2]


def test_pav_by_hand() -> None:
    values = prover_value([1, 2, 0, 4], [4, 4, 4, 4])
    assert pav(values).tolist() == [0.25, -0.5, 1.0]
    assert effective_rewards([0.5, 0.5, 1.0], pav(values), alpha=2).tolist() == [1.0, -0.5, 3.0]
    policy, prover = np.array([0.5, 0.5, 1.0]), np.array([0.75, 0.75, 1.0])
    assert turn_advantages([(policy, prover)], alpha=2)[0] == pytest.approx([0, 1 / 3])
    # all wrong: one prover of eight that ended right is no more beside seven attempts of which none did, or alone
    lucky, idle = (np.array([0, 1 / 8, 0]), np.array([0, 1 / 2, 0])), (np.zeros(3), np.zeros(3))
    for group in ([lucky], [lucky, *[idle] * 7]):
        assert turn_advantages(group)[0] == pytest.approx([(1 / 8 + 3 / 2) / 4, -(1 / 8 + 3 / 2) / 4])
    with pytest.raises(ValueError, match="at least one trial"):
        prover_value([0], [0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(-1, 1))
def test_pav_telescopes_and_is_blind_to_shift(values: list[float], shift: float) -> None:
    assert pav(values).sum() == pytest.approx(values[-1] - values[0], abs=1e-9)
    assert pav(np.asarray(values) + shift) == pytest.approx(pav(values), abs=1e-9)


def test_tokens_get_their_turns_advantage_and_observations_none() -> None:
    assert spread([2.0, -1.0], [-1, -1, 0, 0, -1, 1]).tolist() == [0, 0, 2, 2, 0, -1]
    assert spread([], [-1, -1]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="tokens of turn 2"):
        spread([1.0, 1.0], [2])


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 rewards, but 1 groups"):
        group_advantages([1, 2], ["a"])
    with pytest.raises(ValueError, match="4 rollouts, but 1 rewards"):
        spa_loss([1.0], [3], [1.0])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    """A NaN would pass for a group without variance, an infinity make all advantages of its group NaN."""
    asked = {
        "rewards": lambda: group_advantages([wrong, 1, 0], "aaa"),
        "contributions": lambda: spa_step_rewards([wrong], [True], alpha=1, beta=0),
        "prover values": lambda: pav([0.5, wrong]),
    }
    for what, compute in asked.items():
        with pytest.raises(ValueError, match=f"{what} must be finite numbers, found {wrong}"):
            compute()
    with pytest.raises(ValueError, match="must be finite"):
        informative([wrong, 1], "aa")
    with pytest.raises(ValueError, match="must be finite"):
        spa_loss([wrong], [0], [1.0])
    with pytest.raises(ValueError, match="at least one trial"):
        prover_value([wrong], [4])
