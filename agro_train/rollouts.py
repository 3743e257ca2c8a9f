"""Rollouts: agents at work on tasks, turn by turn and all together, as environments and as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.hashing import seed_of
from agro_data.profiling.keys.same_key import NO_KEYS, Keys
from agro_data.protocol import BOUNDS, MAX_TURNS, Bounds
from agro_train.language_model.tokens import Tokens, encode, encode_prompt, text_of
from agro_train.naming.levels import Names
from agro_train.naming.writing import NamesOnly
from agro_train.programs.usual import ROLLOUT_TOKENS, TURN_TOKENS
from agro_train.sampling.types import Sampled, Sampler, Usage, remembering, restricted
from agro_train.sql_env import SqlEnv, step
from agro_train.tasks import Task


@dataclass(frozen=True)
class Limits:
    """`turn` and `rollout` are the most tokens that may be written in one turn and stand after the prompt in all.

    An observation that leaves no room for a turn is not appended, and ends the rollout as cut.
    """

    turn: int = TURN_TOKENS
    rollout: int = ROLLOUT_TOKENS
    turns: int = MAX_TURNS
    bounds: Bounds = BOUNDS

    @property
    def at_once(self) -> Limits:
        """The same for an answer that is one turn: as long as two, for the words around its query."""
        return replace(self, turn=min(2 * self.turn, self.rollout), turns=1)


@dataclass(frozen=True)
class Policy:
    """The model that writes the turns of rollouts, and how: drawn at `temperature`, within `limits`.

    `names`: SQL, and the links of a thought, may name only what the schema has (`naming`); then, at temperature 0,
    `beams` beginnings of a turn are under way.
    """

    sampler: Sampler
    tokenizer: Any
    limits: Limits = Limits()
    temperature: float = 0.0
    names: bool = False
    beams: int = 1


@dataclass
class Rollout:
    """One agent's work on a task. When `roll` has returned it, its environment has ended.

    `usage` is what the last turn cost, where a server has counted it; `refusal` is why the turn that was to come is not
    written, which ends the rollout as cut.
    """

    env: SqlEnv
    tokens: Tokens
    usage: Usage | None = None
    refusal: str = ""

    @property
    def written(self) -> int:
        """Tokens that the agent wrote."""
        return sum(self.tokens.mask)

    def before(self, turns: int) -> Rollout:
        """A copy as it stood before its turn number `turns` (from 0), which another turn may follow.

        Raises `ValueError` like `SqlEnv.before`.
        """
        end = self.tokens.turns.index(turns) if turns in self.tokens.turns else len(self.tokens.ids)
        return Rollout(self.env.before(turns), self.tokens.first(end))

    def forked(self) -> Rollout:
        """A copy that goes on by itself from where this one stands."""
        return self.before(self.env.turns)


def roll(tasks: Sequence[Task], policy: Policy, sandbox: Sandbox, seeds: Sequence[int]) -> list[Rollout]:
    """A rollout for each task, in order; a task that stands there twice is worked on twice. `seeds`: one for each.

    A rollout that has no room left for a turn ends truncated, with what the agent said last.
    """
    rollouts = [start(task, policy) for task in tasks]
    finish(rollouts, policy, sandbox, seeds)
    return rollouts


def finish(rollouts: Sequence[Rollout], policy: Policy, sandbox: Sandbox, seeds: Sequence[int]) -> None:
    """Go on with rollouts, wherever they stand, until all have ended."""
    with remembering(policy.sampler):
        for turn in range(policy.limits.turns):
            going = [(one, seed) for one, seed in zip(rollouts, seeds, strict=True) if one.env.outcome is None]
            if not going:
                break
            advance([one for one, _ in going], policy, sandbox, [seed_of(seed, turn) for _, seed in going])


def start(task: Task, policy: Policy) -> Rollout:
    """A rollout before its first turn."""
    env = SqlEnv(max_turns=policy.limits.turns, bounds=policy.limits.bounds)
    return Rollout(env, Tokens(encode_prompt(env.reset(task), policy.tokenizer)))


def advance(rollouts: Sequence[Rollout], policy: Policy, sandbox: Sandbox, seeds: Sequence[int | None]) -> None:
    """One turn of each of `rollouts`, none of which may have ended: it is written, taken and, if it asks, answered. A
    turn without a seed is the likeliest one.

    Raises `TypeError` when the sampler cannot be held to names.
    """
    limits, tokenizer = policy.limits, policy.tokenizer
    room = [limits.rollout - len(one.tokens.ids) for one in rollouts]
    texts, cut = [], []
    for one, turn, left in zip(rollouts, _written(rollouts, policy, room, seeds), room, strict=True):
        kept = turn.ids[: max(0, left)]
        turned = (place for place in turn.turned if place < len(kept))
        if turn.refusal:  # nothing follows what it saw last, which may be more than a model reads
            one.tokens = one.tokens.first(one.tokens.said)
        one.tokens.wrote(kept, one.env.turns, turn.logprobs[: len(kept)], turned)
        one.usage, one.refusal = turn.usage, turn.refusal
        texts.append(text_of(kept, tokenizer))
        cut.append(turn.cut or len(kept) < len(turn.ids))
    for one, seen in zip(rollouts, step([one.env for one in rollouts], texts, sandbox, cut=cut), strict=True):
        if seen is None:
            continue
        ids = encode(seen, tokenizer)
        if len(one.tokens.ids) + len(ids) < limits.rollout:
            one.tokens.saw(ids)
        else:  # no turn can follow it, so that it would only be read, and learnt behind
            one.env.cut_short()


def _written(
    rollouts: Sequence[Rollout], policy: Policy, room: Sequence[int], seeds: Sequence[int | None]
) -> list[Sampled]:
    """The next turn of each, of at most as many tokens as the one with the most `room` has."""
    prefixes = [one.tokens.so_far for one in rollouts]
    most = max(1, min(policy.limits.turn, max(room, default=1)))
    if not policy.names:
        return policy.sampler(prefixes, temperature=policy.temperature, max_tokens=most, seeds=seeds)
    return restricted(policy.sampler).within(
        [NamesOnly(_names(one)) for one in rollouts],
        prefixes,
        temperature=policy.temperature,
        max_tokens=most,
        seeds=seeds,
        beams=policy.beams,
    )


def _names(rollout: Rollout) -> Names:
    task = rollout.env.task
    if task is None:
        raise RuntimeError("a rollout has a task when it is under way: reset its environment first")
    keys = NO_KEYS if task.profile is None else Keys.of(task.profile)
    return Names.of(task.schema, task.database.dialect, keys)
