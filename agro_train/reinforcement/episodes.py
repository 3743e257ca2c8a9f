"""Episodes: rollouts that have been scored and rewarded, played many at once, and where their time went."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.verify.equivalence import Mode
from agro_data.verify.golds import GoldResults
from agro_train.rewards import AGRO, ENDED, Finished, Preset, Reward, reward
from agro_train.rollouts import Limits, Policy, Rollout, finish, start
from agro_train.sampling.types import Sampled, Sampler, remembering, restricted
from agro_train.sql_env import score
from agro_train.tasks import Task


@dataclass(frozen=True)
class Episode:
    """A finished rollout, its outcome and its reward."""

    rollout: Rollout
    finished: Finished
    reward: Reward

    @property
    def turns(self) -> int:
        """Turns that the agent wrote, the last one readable or not."""
        return 1 + max(self.rollout.tokens.turns, default=-1)


@dataclass
class Player:
    """Plays tasks with one sampler, if `names` is set with SQL that can name only what a schema has. Its model `reads`
    so many tokens at most. Answers are compared with the gold's by `comparison`.

    `generation` and `environment` are seconds so far: what the model wrote, and all else (parsing, queries, grading,
    reward).
    """

    sampler: Sampler
    tokenizer: Any
    sandbox: Sandbox
    _: KW_ONLY
    preset: Preset = AGRO
    limits: Limits = field(default_factory=Limits)
    temperature: float = 1.0
    names: bool = False
    comparison: Mode = "strict"
    reads: float = inf
    golds: GoldResults = field(default_factory=GoldResults)
    generation: float = field(default=0.0, init=False)
    environment: float = field(default=0.0, init=False)

    @property
    def policy(self) -> Policy:
        """How it writes."""
        return Policy(self.sampler, self.tokenizer, self.limits, self.temperature, self.names)

    def fits(self, task: Task) -> bool:
        """Whether the model can read the prompt and a turn behind it."""
        return len(start(task, self.policy).tokens.prompt) + self.limits.turn <= self.reads

    def play(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Episode]:
        """One episode for each task, in order. `seeds`: one for each; the same give the same episode."""
        return self.finish([start(task, self.policy) for task in tasks], seeds)

    def finish(self, rollouts: Sequence[Rollout], seeds: Sequence[int]) -> list[Episode]:
        """The episodes that rollouts, wherever they stand, become."""
        started, sampler = time.perf_counter(), _Timed(self.sampler)
        finish(rollouts, replace(self.policy, sampler=sampler), self.sandbox, seeds)
        episodes = self._scored(rollouts)
        self.generation += sampler.seconds
        self.environment += time.perf_counter() - started - sampler.seconds
        return episodes

    def _scored(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        envs = [one.env for one in rollouts]
        found = score(envs, self.sandbox, self.golds, details=self.preset.details, mode=self.comparison)
        return [
            Episode(one, finished, reward(finished, self.preset)) for one, finished in zip(rollouts, found, strict=True)
        ]


@dataclass
class _Timed:
    """A sampler, and the seconds that it wrote."""

    sampler: Sampler
    seconds: float = 0.0

    def __call__(self, *given: Any, **settings: Any) -> list[Sampled]:
        return self._timed(self.sampler, *given, **settings)

    def within(self, *given: Any, **settings: Any) -> list[Sampled]:
        return self._timed(restricted(self.sampler).within, *given, **settings)

    def remembering(self) -> AbstractContextManager[None]:
        return remembering(self.sampler)

    def _timed(self, write: Callable[..., list[Sampled]], *given: Any, **settings: Any) -> list[Sampled]:
        started = time.perf_counter()
        turns = write(*given, **settings)
        self.seconds += time.perf_counter() - started
        return turns


def measures(episodes: Sequence[Episode]) -> dict[str, float]:
    """Means over episodes, for the log: reward and its terms, format, execution, right, turns and agent tokens."""
    finished = [one.finished for one in episodes]
    means: dict[str, list[float]] = {
        "reward": [one.reward.total for one in episodes],
        "format_rate": [float(one.outcome in ENDED) for one in finished],
        "clarified_rate": [float(one.outcome == "clarified") for one in finished],
        "malformed_rate": [float(one.outcome == "malformed") for one in finished],
        "truncated_rate": [float(one.outcome == "truncated") for one in finished],
        "execution_rate": [one.executed for one in finished],
        "right": [one.right for one in finished],
        "turns": [one.turns for one in episodes],
        "completion_length": [one.rollout.written for one in episodes],
        "turned_tokens": [len(one.rollout.tokens.turned) for one in episodes],
    }
    for term in episodes[0].reward.terms if episodes else ():
        means[f"reward/{term}"] = [one.reward.terms[term] for one in episodes]
    return {name: float(np.mean(values)) for name, values in means.items()} if episodes else {}
