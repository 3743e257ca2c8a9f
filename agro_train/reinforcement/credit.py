"""Credit: which of its turns a rollout's reward is due to, as an advantage for each token of a batch.

The formulas are in `advantages`; this module brings the episodes of a batch into their shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from agro_train.advantages import (
    Floats,
    Scale,
    discounted_returns,
    gigpo,
    group_advantages,
    informative,
    spa_step_rewards,
    spread,
)
from agro_train.reinforcement.episodes import Episode

Estimator = Literal["grpo", "gigpo", "spa", "pav"]
ESTIMATORS: tuple[Estimator, ...] = ("grpo", "gigpo", "spa", "pav")


@dataclass(frozen=True)
class Credit:
    """`turns`: for each episode an advantage for each of its turns. `facts` are for the log."""

    turns: list[Floats]
    facts: dict[str, float] = field(default_factory=dict)


def of_rollouts(episodes: Sequence[Episode], groups: Sequence[str], scale: Scale) -> Credit:
    """GRPO: each turn has the advantage of its rollout."""
    rewards = [episode.reward.total for episode in episodes]
    own = group_advantages(rewards, groups, scale)
    turns = [np.full(episode.turns, advantage) for episode, advantage in zip(episodes, own, strict=True)]
    return Credit(turns, group_facts(episodes, groups))


def of_states(
    episodes: Sequence[Episode], groups: Sequence[str], scale: Scale, *, gamma: float, omega: float
) -> Credit:
    """GiGPO: a turn is also compared with the turns of its group that were written in the same state.

    The reward comes with the last turn. `anchor_share` is the share of turns in whose state another one of the
    group stood, too; where all rewards of a group are the same, it teaches nothing.
    """
    rewards = [episode.reward.total for episode in episodes]
    owners = owners_of(episodes)
    found = gigpo(
        rewards,
        groups,
        np.concatenate([_at_the_end(episode) for episode in episodes]),
        owners,
        [state for episode in episodes for state in anchors(episode)],
        gamma=gamma,
        omega=omega,
        scale=scale,
    )
    step = float(np.abs(found.step).mean()) if len(found.step) else 0.0
    return Credit(
        by_episode(found.values, episodes),
        {**group_facts(episodes, groups), "anchor_share": found.shared, "step_advantage": step},
    )


def of_progress(
    episodes: Sequence[Episode],
    groups: Sequence[str],
    contributions: Sequence[Floats],
    *,
    scale: Scale,
    gamma: float,
    alpha: float,
    beta: float,
) -> Credit:
    """SPA-RL: each turn earns what the progress head says it contributed, and something for a query that ran.

    The advantage is the rollout's plus the turn's. For the turn's, the discounted sum of its future rewards is compared
    with that of the group's turns at the same place. (This is our decision: the paper trains by PPO, and GRPO has no
    value function. Compared with turns at other places, early turns would be praised and last ones blamed, whatever
    comes of them.)
    """
    ran = np.concatenate([grounded(episode) for episode in episodes])
    earned = spa_step_rewards(np.concatenate(list(contributions)), ran, alpha=alpha, beta=beta)
    owners = owners_of(episodes)
    returns = discounted_returns(earned, owners, gamma)
    numbers = [number for episode in episodes for number in range(episode.turns)]
    places = [(groups[owner], number) for owner, number in zip(owners, numbers, strict=True)]
    step = group_advantages(returns, places, scale)
    rewards = [episode.reward.total for episode in episodes]
    own = np.asarray(owners, dtype=np.intp)
    # A group whose rollouts all ended alike has nothing to attribute: the head's noise must not move the policy.
    values = (group_advantages(rewards, groups, scale)[own] + step) * informative(rewards, groups)[own]
    return Credit(by_episode(values, episodes), group_facts(episodes, groups))


def group_facts(episodes: Sequence[Episode], groups: Sequence[str]) -> dict[str, float]:
    """How many groups there are, how many have more than one reward, since the others teach nothing, and in how many
    some attempts are right and others are not, so that they teach what the answer is."""
    rewards = [episode.reward.total for episode in episodes]
    right = [float(episode.finished.right) for episode in episodes]
    return {
        "groups": float(len(set(groups))),
        "informative_groups": _apart(rewards, groups),
        "contested_groups": _apart(right, groups),
    }


def _apart(values: Sequence[float], groups: Sequence[str]) -> float:
    """Groups in which the values differ."""
    return float(len({group for group, telling in zip(groups, informative(values, groups), strict=True) if telling}))


def anchors(episode: Episode) -> list[str]:
    """The state in which each turn was written, also of a last turn that could not be read."""
    env = episode.rollout.env
    return [*env.anchors(), env.state][: episode.turns]


def grounded(episode: Episode) -> Floats:
    """1 for each turn whose query or answer ran; (turns,)."""
    ran = [float(not look.error_class) for look in episode.rollout.env.looks]
    return np.array(
        [*ran, float(episode.finished.executed or episode.finished.right)][: episode.turns], dtype=np.float64
    )


def token_advantages(episodes: Sequence[Episode], credit: Credit, width: int) -> Floats:
    """(episodes, width): each agent token has its turn's advantage; observations and padding have 0.

    Where the model was turned to a token, since it had drawn one that names nothing, what comes of it is not its fault:
    such a token is praised and never blamed (ours).
    """
    found = np.zeros((len(episodes), width), dtype=np.float64)
    for row, (episode, turns) in enumerate(zip(episodes, credit.turns, strict=True)):
        tokens = episode.rollout.tokens
        found[row, : len(tokens.turns)] = spread(turns, tokens.turns)
        turned = sorted(tokens.turned)
        found[row, turned] = found[row, turned].clip(min=0.0)
    return found


def _at_the_end(episode: Episode) -> Floats:
    values = np.zeros(episode.turns)
    values[-1] = episode.reward.total
    return values


def owners_of(episodes: Sequence[Episode]) -> list[int]:
    """Which episode each turn is of, where the turns of all stand in one list."""
    return [number for number, episode in enumerate(episodes) for _ in range(episode.turns)]


def by_episode(values: Floats, episodes: Sequence[Episode]) -> list[Floats]:
    """A value for each turn of all episodes, apart again."""
    ends = np.cumsum([episode.turns for episode in episodes])[:-1]
    return np.split(values, ends)
