"""PAV (2410.08146): what a turn is worth to another policy, the prover, which goes on from where the turn left off.

The prover is best-of-k of the policy itself. If c of n rollouts from a prefix end right, the policy's chance is c / n,
and the prover's is 1 - C(n - c, k) / C(n, k) (2107.03374), both without bias; 1 - (1 - c / n)^k would be a quarter too
low. So n has to be above k: with k rollouts the prover's chance would be 0 or 1. They are played only for groups whose
rewards are all the same, from which GRPO itself learns nothing (our decision, METHODS 3).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agro_data.evaluation.statistics import pass_at
from agro_data.hashing import seed_of
from agro_train.advantages import Floats, Scale, informative, prover_value, turn_advantages
from agro_train.reinforcement.credit import Credit, anchors, of_rollouts
from agro_train.reinforcement.episodes import Episode, Player
from agro_train.rollouts import Rollout


@dataclass(frozen=True)
class Provers:
    """`rollouts` from each state, of at most `groups` groups a step; `best_of` is k, `alpha` weighs the prover."""

    rollouts: int = 8
    groups: int = 2
    best_of: int = 4
    alpha: float = 3.0


def of_provers(
    episodes: Sequence[Episode], groups: Sequence[str], scale: Scale, player: Player, provers: Provers, seed: int
) -> Credit:
    """GRPO's credit; where that is nothing, what each turn changed of the policy's chance and of the prover's."""
    credit = of_rollouts(episodes, groups, scale)
    telling = informative([episode.reward.total for episode in episodes], groups)
    same = list(dict.fromkeys(group for group, useful in zip(groups, telling, strict=True) if not useful))
    proved = 0
    for group in same[: provers.groups]:
        members = [place for place, name in enumerate(groups) if name == group]
        chances = chances_of([episodes[place] for place in members], player, provers, seed_of(seed, group))
        found = turn_advantages(chances, alpha=provers.alpha)
        proved += any(map(np.any, found))
        for place, turns in zip(members, found, strict=True):
            credit.turns[place] = turns
    return Credit(credit.turns, {**credit.facts, "proved_groups": float(proved)})


def chances_of(episodes: Sequence[Episode], player: Player, provers: Provers, seed: int) -> list[tuple[Floats, Floats]]:
    """For each episode of one group the chances of the policy and of the prover to end right: at the prompt, then after
    each turn (turns + 1,).

    Episodes that stand in the same state after as many turns have one chance, and its provers go on from them in turn:
    most of a group do (a state is GiGPO's, 2505.10978; that provers share it is ours). After its last turn an episode
    has ended, right or not.
    """
    passed = [[*enumerate(anchors(episode))] for episode in episodes]
    states: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, own in enumerate(passed):
        for state in own:
            states[state].append(number)
    many: list[Rollout] = [
        episodes[members[attempt % len(members)]].rollout.before(turn)
        for (turn, _), members in states.items()
        for attempt in range(provers.rollouts)
    ]
    ends = player.finish(many, [seed_of("prover", seed, place) for place in range(len(many))])
    right = np.array([end.finished.right for end in ends], dtype=np.bool_).reshape(len(states), provers.rollouts)
    own_value = dict(zip(states, prover_value(right.sum(axis=1), np.full(len(right), provers.rollouts)), strict=True))
    best_value = {state: pass_at(tries, provers.best_of) for state, tries in zip(states, right.tolist(), strict=True)}

    def along(values: Mapping[tuple[int, str], float], number: int) -> Floats:
        return np.array([*(values[state] for state in passed[number]), float(episodes[number].finished.right)])

    return [(along(own_value, number), along(best_value, number)) for number in range(len(episodes))]
