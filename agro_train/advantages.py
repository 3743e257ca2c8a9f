"""Credit: from the rewards of a batch of rollouts to an advantage for each token. Pure numpy.

A *group* is all rollouts of one prompt. Rewards are one number a rollout (n,), steps one a turn, flattened over the
batch (m,) with the rollout that each belongs to. `F` of the papers, what a group's deviations are divided by, is its
standard deviation ("group") or 1 ("none").

What is no finite number is refused with `ValueError`: a NaN would pass for a group whose rewards are all the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Scale = Literal["group", "none"]
Loss = Literal["grpo", "dapo", "dr_grpo"]

EPSILON = 1e-6
SAME = 1e-9  # a group whose rewards differ by less teaches nothing


def group_advantages(rewards: ArrayLike, groups: Sequence[Hashable], scale: Scale = "group") -> Floats:
    """GRPO (2402.03300): A_i = (R_i - mean R) / (std R + eps) within each group; (n,) -> (n,).

    `scale="none"` is Dr.GRPO (2503.20783): no division, so that easy and hard prompts are not weighted up. A group of
    one, or whose rewards are all the same, gives exactly 0. std is the population's.
    """
    values = _finite("rewards", rewards)
    _same_length("rewards", values, "groups", groups)
    result = np.zeros_like(values)
    for places in _members(groups).values():
        mine = values[places]
        if np.ptp(mine) > SAME:
            spread = mine.std() + EPSILON if scale == "group" else 1.0
            result[places] = (mine - mine.mean()) / spread
    return result


def informative(rewards: ArrayLike, groups: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Which rollouts belong to a group with more than one reward (DAPO's dynamic sampling, 2503.14476); (n,)."""
    values = _finite("rewards", rewards)
    _same_length("rewards", values, "groups", groups)
    result = np.zeros(len(values), dtype=np.bool_)
    for places in _members(groups).values():
        result[places] = np.ptp(values[places]) > SAME
    return result


# --- GiGPO -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepAdvantages:
    """`values`: one for each step (m,). `shared`: share of steps in whose anchor state another rollout of the group
    stood, too."""

    values: Floats
    episode: Floats
    step: Floats
    shared: float


def discounted_returns(step_rewards: ArrayLike, rollouts: Sequence[int], gamma: float) -> Floats:
    """G_t = r_t + gamma * G_{t+1} within each rollout; steps of a rollout stand in order; (m,) -> (m,)."""
    values = np.asarray(step_rewards, dtype=np.float64)
    _same_length("step rewards", values, "rollouts", rollouts)
    result = np.zeros_like(values)
    for places in _members(rollouts).values():
        ahead = 0.0
        for place in reversed(places):
            ahead = values[place] + gamma * ahead
            result[place] = ahead
    return result


def gigpo(
    rewards: ArrayLike,
    groups: Sequence[Hashable],
    step_rewards: ArrayLike,
    rollouts: Sequence[int],
    anchors: Sequence[Hashable],
    *,
    gamma: float = 0.95,
    omega: float = 1.0,
    scale: Scale = "group",
) -> StepAdvantages:
    """GiGPO (2505.10978): A = A_E + omega * A_S for each step.

    `rewards` (n,) and `groups` (n,) are of rollouts; `step_rewards`, `rollouts` (which rollout, 0 to n - 1) and
    `anchors` (m,) of steps. A_E is the rollout's group advantage. A_S compares the discounted returns of the steps of
    one group that share an anchor state; alone, a step has A_S = 0. Anchors are the caller's: exact observations
    rarely repeat in SQL, so `anchor_key` normalises them (our decision, METHODS 3). Where all rewards of a group are
    the same, A_S is 0, too (ours): returns differ there by the discount alone, which would praise whoever ends early.
    """
    _same_length("rollouts", rollouts, "anchors", anchors)
    episode = group_advantages(rewards, groups, scale)
    returns = discounted_returns(step_rewards, rollouts, gamma)
    states = [(groups[rollout], anchor) for rollout, anchor in zip(rollouts, anchors, strict=True)]
    owners = np.asarray(rollouts, dtype=np.intp)
    step = group_advantages(returns, states, scale) * informative(rewards, groups)[owners]
    met = _members(states).values()
    together = sum(len(places) for places in met if len({rollouts[place] for place in places}) > 1)
    own = episode[owners]
    return StepAdvantages(own + omega * step, own, step, together / len(states) if states else 0.0)


def anchor_key(tables: Sequence[str], digest: str, error_class: str) -> str:
    """State after a query, normalised: the tables it touches with its result, or the class of its error."""
    return f"{','.join(sorted(set(tables)))}|{error_class or digest}"


# --- SPA-RL ------------------------------------------------------------------------------------------------------


def spa_loss(contributions: ArrayLike, rollouts: Sequence[int], rewards: ArrayLike) -> float:
    """SPA-RL's progress loss (2505.20732): mean over rollouts of (sum of the steps' contributions - reward)^2."""
    values, final = _finite("contributions", contributions), _finite("rewards", rewards)
    _same_length("contributions", values, "rollouts", rollouts)
    sums = np.bincount(np.asarray(rollouts, dtype=np.intp), weights=values, minlength=len(final))
    _same_length("rollouts", range(len(sums)), "rewards", final)
    return float(np.mean((sums - final) ** 2)) if len(final) else 0.0


def spa_step_rewards(contributions: ArrayLike, executed: ArrayLike, *, alpha: float, beta: float) -> Floats:
    """SPA-RL (2505.20732): r_t = alpha * c_t + beta * g_t; g_t, the grounding signal, is 1 if the action executed.

    The weights are ours: the paper's formula is kept, its scripts deviate from it (METHODS 3). `beta` times the turns
    of a rollout has to stay below what being right earns, or looking around is worth more. (m,), (m,) -> (m,).
    """
    values, grounded = _finite("contributions", contributions), np.asarray(executed, dtype=np.float64)
    _same_length("contributions", values, "executed", grounded)
    return alpha * values + beta * grounded


# --- PAV ---------------------------------------------------------------------------------------------------------


def prover_value(successes: ArrayLike, trials: ArrayLike) -> Floats:
    """Q^mu of prefixes from prover rollouts: the share that ends right. Raises `ValueError` where none was tried."""
    won, tried = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if not ((tried > 0) & (won >= 0) & (won <= tried)).all():  # NaN is neither
        raise ValueError("prover values need 0 <= successes <= trials and at least one trial for each prefix")
    return won / tried


def pav(values: ArrayLike) -> Floats:
    """PAV (2410.08146): A^mu_t = Q^mu(s_t, a_t) - Q^mu(s_{t-1}, a_{t-1}) along one rollout.

    `values` (t + 1,): the prover's value of the empty prefix, then after each turn. Gives (t,); their sum is the last
    minus the first.
    """
    found = _finite("prover values", values)
    if found.ndim != 1 or not len(found):
        raise ValueError("prover values: one for the empty prefix and one after each turn")
    return np.diff(found)


def effective_rewards(policy_values: ArrayLike, prover_advantages: ArrayLike, alpha: float) -> Floats:
    """PAV's effective step reward Q^pi + alpha * A^mu, alpha 3 to 5 in RL; (t,), (t,) -> (t,)."""
    own, advantages = np.asarray(policy_values, dtype=np.float64), np.asarray(prover_advantages, dtype=np.float64)
    _same_length("policy values", own, "prover advantages", advantages)
    return own + alpha * advantages


def turn_advantages(chances: Sequence[tuple[Floats, Floats]], *, alpha: float = 3.0) -> list[Floats]:
    """PAV's advantage of each turn of a group's rollouts: its effective reward less Q^pi of the state it was taken in.

    `chances` has Q^pi and Q^mu for each rollout: at the empty prefix and after each turn, (t + 1,) each. Gives (t,).
    The state's own value is the baseline (ours), and not the mean of the group's turns: against turns at other places a
    first look would be blamed, or praised, whatever comes of it. A turn that changes no chance gets exactly 0.

    Divided by 1 + alpha (ours), the most that a turn can change, so that it stands beside GRPO's. Not by the spread of
    the group: where all are wrong, that would make one lucky prover a step as large as being right is.
    """
    return [(effective_rewards(own[1:], pav(prover), alpha) - own[:-1]) / (1 + alpha) for own, prover in chances]


# --- tokens ------------------------------------------------------------------------------------------------------


def spread(turn_advantages: ArrayLike, turns: ArrayLike) -> Floats:
    """Advantage of each token of one rollout: its turn's. `turns` (tokens,) numbers the turns from 0, and is -1 for
    tokens of the prompt and of observations, which get 0 and are masked out of the loss.
    """
    values, owner = np.asarray(turn_advantages, dtype=np.float64), np.asarray(turns, dtype=np.intp)
    if owner.size and owner.max() >= len(values):
        raise ValueError(f"tokens of turn {owner.max()}, but advantages for {len(values)} turns")
    padded = np.append(values, 0.0)  # -1 is the last
    by_token: Floats = padded[np.maximum(owner, -1)]
    return by_token


def _members(keys: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    members: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        members.setdefault(key, []).append(place)
    return members


def _finite(what: str, given: ArrayLike) -> Floats:
    values: Floats = np.asarray(given, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must be finite numbers, found {values[~np.isfinite(values)].flat[0]}")
    return values


def _same_length(what: str, left: Sequence[object] | Floats, other: str, right: Sequence[object] | Floats) -> None:
    if len(left) != len(right):
        raise ValueError(f"{len(left)} {what}, but {len(right)} {other}")
