"""Episodes: rollouts that have been scored and rewarded, played many at once, and where their time went."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agro_data.databases.sandbox import Sandbox
from agro_data.verify.grade import GoldResults
from agro_train.rewards import AGRO, ENDED, Finished, Preset, Reward, reward
from agro_train.rollouts import Limits, Rollout, finish, start
from agro_train.sampling.types import Sampled, Sampler
from agro_train.sql_env import score
from agro_train.tasks import Task


@dataclass(frozen=True)
class Episode:
    """A rollout that has ended, what it showed and what it earns."""

    rollout: Rollout
    finished: Finished
    reward: Reward

    @property
    def turns(self) -> int:
        """Turns that the agent wrote, the last one readable or not."""
        return 1 + max(self.rollout.tokens.turns, default=-1)


@dataclass
class Player:
    """Plays tasks with one sampler. `generation` and `environment` are seconds so far: what the model wrote, and all
    else (parsing, queries, grading, reward).
    """

    sampler: Sampler
    tokenizer: Any
    sandbox: Sandbox
    preset: Preset = AGRO
    limits: Limits = field(default_factory=Limits)
    temperature: float = 1.0
    golds: GoldResults = field(default_factory=GoldResults)
    generation: float = field(default=0.0, init=False)
    environment: float = field(default=0.0, init=False)

    def play(self, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Episode]:
        """One episode for each task, in order. `seeds`: one for each; the same give the same episode."""
        return self.finish([start(task, self.tokenizer, self.limits) for task in tasks], seeds)

    def finish(self, rollouts: Sequence[Rollout], seeds: Sequence[int]) -> list[Episode]:
        """The episodes that rollouts, wherever they stand, become."""
        started, wrote = time.perf_counter(), self.generation
        finish(
            rollouts,
            self.write,
            self.tokenizer,
            self.sandbox,
            seeds=seeds,
            temperature=self.temperature,
            limits=self.limits,
        )
        episodes = self._scored(rollouts)
        self.environment += time.perf_counter() - started - (self.generation - wrote)
        return episodes

    def write(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]:
        """The sampler, timed."""
        started = time.perf_counter()
        turns = self.sampler(prefixes, temperature=temperature, max_tokens=max_tokens, seeds=seeds)
        self.generation += time.perf_counter() - started
        return turns

    def _scored(self, rollouts: Sequence[Rollout]) -> list[Episode]:
        envs = [one.env for one in rollouts]
        found = score(envs, self.sandbox, self.golds, details=self.preset.details)
        return [
            Episode(one, finished, reward(finished, self.preset)) for one, finished in zip(rollouts, found, strict=True)
        ]


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
    }
    for term in episodes[0].reward.terms if episodes else ():
        means[f"reward/{term}"] = [one.reward.terms[term] for one in episodes]
    return {name: float(np.mean(values)) for name, values in means.items()} if episodes else {}
