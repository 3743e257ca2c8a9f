"""Trajectories from a language model at work: what it did in the environment, kept where it came out right.

Rejection sampling: a model makes several attempts at each question, and training uses those whose answer is right on
all instances (STaR, 2203.14465; RFT, 2308.01825, which keeps right attempts that differ in what they do). The teacher
is any agent: a stronger model to be distilled, or the model that is trained, which then learns from its own right
answers.

The first right attempts at a question are kept, in the order in which they were drawn: they are a fair sample of how
the teacher works when it is right. The shortest would have no look at the data and no recovery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.hashing import seed_of, stable_hash
from agro_data.protocol import VERSION as PROTOCOL
from agro_data.verify.golds import GoldResults
from agro_data.work import Work
from agro_train.agents.agent import Agent
from agro_train.programs.settings import training_code_version
from agro_train.rewards import Finished
from agro_train.rollouts import Rollout, roll
from agro_train.sql_env import SqlEnv, score
from agro_train.tasks import Task
from agro_train.trajectories.store import DROPPED, TRAJECTORY, drop_of, trajectory_of

FEATURES = ("looked", "rehearsed", "recovered")
REFUSED = "refused"  # by a server: nothing that the teacher did
TOGETHER = 64  # rollouts that are worked on at a time, and lost when the program is ended

Tell = Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True)
class Attempts:
    """`samples` attempts at each question at `temperature`; at most `keep` of those that are right are learnt from."""

    samples: int = 4
    temperature: float = 0.7
    keep: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.keep <= self.samples:
            raise ConfigError(f"{self.keep} of {self.samples} attempts cannot be kept: 1 at least, and all at most")
        if self.temperature < 0.0:
            raise ConfigError(f"a temperature of {self.temperature:g}: expected 0, the likeliest turns, or above")
        if self.samples > 1 and self.temperature <= 0.0:
            raise ConfigError(f"{self.samples} attempts at temperature 0 are all the same: give a temperature, say 0.7")


@dataclass(frozen=True)
class Teacher:
    """An agent with the way it is asked. It reads a schema in its own way; its turns have the student's form."""

    agent: Agent
    attempts: Attempts

    @classmethod
    def of(cls, agent: Agent, attempts: Attempts, turns: int) -> Teacher:
        """`agent`, with at most `turns` turns: the prompt of the student says how many there are."""
        prompt_format, limits = replace(agent.prompt_format, turns=turns), replace(agent.limits, turns=turns)
        return cls(replace(agent, prompt_format=prompt_format, limits=limits), attempts)

    def facts(self) -> dict[str, Any]:
        """What a manifest says of it; `databases` are those that it was trained on itself."""
        agent = self.agent
        return {
            "model": agent.name,
            "weights": agent.weights,
            **asdict(self.attempts),
            "limits": asdict(agent.limits),
            "style": agent.prompt_format.style,
            "budget": agent.prompt_format.budget,
            "databases": agent.run.databases if agent.run else [],
        }


def act(
    rows: Sequence[Mapping[str, Any]],
    prompts: Sequence[str],
    tasks: Sequence[Task],
    teacher: Teacher,
    sandbox: Sandbox,
    cache: Path,
    *,
    seed: int = 0,
    tell: Tell = lambda line: None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Trajectories (`TRAJECTORY`) and the attempts that were dropped (`DROPPED`), for rows of `records.EXAMPLE`.

    `tasks` are what the teacher reads, `prompts` what the student will. Finished parts are kept below `cache`, so that
    an interrupted program goes on there; a part is not finished if a server refused something of it. `tell` is given a
    line of figures now and then.
    """
    identity = [
        *(teacher.facts(), seed, PROTOCOL, training_code_version(), list(prompts)),
        [dict(row) for row in rows],
        [[task.prompt, [one.content_hash for one in task.databases]] for task in tasks],
    ]
    work = Work(cache / "acting" / stable_hash(identity)[:16])
    together = max(1, TOGETHER // teacher.attempts.samples)
    golds = GoldResults()
    frames: list[tuple[pl.DataFrame, pl.DataFrame]] = []
    for first in range(0, len(tasks), together):
        part, shard = slice(first, first + together), f"{first // together:06d}"
        if work.finished("kept", shard):
            kept, dropped = work.read("kept", shard), work.read("dropped", shard)
        else:
            kept, dropped = _attempt(rows[part], prompts[part], tasks[part], teacher, sandbox, golds, seed)
            if REFUSED not in dropped["reason"]:
                work.write("dropped", shard, dropped)
                work.write("kept", shard, kept)  # a shard is finished when this one is there
        frames.append((kept, dropped))
        made = sum(kept.height for kept, _ in frames)
        tell({"phase": "teacher", "asked": min(first + together, len(tasks)), "questions": len(tasks), "kept": made})
    return (
        pl.concat([pl.DataFrame(schema=TRAJECTORY), *(kept for kept, _ in frames)]),
        pl.concat([pl.DataFrame(schema=DROPPED), *(dropped for _, dropped in frames)]),
    )


def _attempt(
    rows: Sequence[Mapping[str, Any]],
    prompts: Sequence[str],
    tasks: Sequence[Task],
    teacher: Teacher,
    sandbox: Sandbox,
    golds: GoldResults,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    agent, attempts = teacher.agent, teacher.attempts
    numbers = range(attempts.samples)
    rollouts = roll(
        [task for task in tasks for _ in numbers],
        replace(agent.policy, temperature=attempts.temperature),
        sandbox,
        [seed_of(seed, "attempt", task.example_id, number) for task in tasks for number in numbers],
    )
    envs = [one.env for one in rollouts]
    shown = score(envs, sandbox, golds)
    kept: list[dict[str, Any]] = []
    dropped: list[dict[str, str]] = []
    for place, (row, prompt) in enumerate(zip(rows, prompts, strict=True)):
        done: set[tuple[str, ...]] = set()
        for number in numbers:
            at = place * attempts.samples + number
            reason, detail = _fault(rollouts[at], shown[at])
            actions = tuple(one.turn.text for one in envs[at].steps)
            if not reason and actions in done:
                reason, detail = "alike", "right, and does what another attempt did"
            elif not reason and len(done) == attempts.keep:
                reason, detail = "further", f"right, and {attempts.keep} of this question are kept"
            if reason:
                dropped.append(drop_of(row, reason, detail))
            else:
                done.add(actions)
                kept.append(trajectory_of(row, envs[at], prompt, features_of(envs[at]), agent.name))
    return pl.DataFrame(kept, schema=TRAJECTORY), pl.DataFrame(dropped, schema=DROPPED)


def features_of(env: SqlEnv) -> list[str]:
    """What an answered rollout did, of `FEATURES`.

    It looked when it ran a query that is not its answer, rehearsed when it ran its answer, and recovered when one of
    its queries failed.
    """
    found = {"rehearsed" if look.sql == env.solution else "looked" for look in env.looks}
    found |= {"recovered" for look in env.looks if look.error_class}
    return [feature for feature in FEATURES if feature in found]


def _fault(rollout: Rollout, shown: Finished) -> tuple[str, str]:
    """Why an attempt is of no use; ("", "") if it is right on all instances."""
    if shown.right:
        return "", ""
    if rollout.refusal:
        return REFUSED, rollout.refusal
    env = rollout.env
    said = env.grade.reason if env.grade else ""
    if env.outcome != "answered":
        return str(env.outcome), said
    return ("not_right" if shown.executed else "failed"), said
