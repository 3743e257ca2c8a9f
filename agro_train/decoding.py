"""How answers are taken from a model: greedy, by vote among samples, or by vote among the leaves of a tree.

All are one procedure. A task grows from its root to at most `samples` leaves, which vote. A vote by samples branches at
once into all its samples. A tree branches at every turn into at most `width` continuations; the first is the likeliest,
the others are drawn. In a tree, branches whose queries gave the same result become one, with the votes of both (tree
decoding that branches at intermediate SQL: ReEx-SQL, 2505.12768; width, merging and votes are ours). Continuations of
one branch read their prefix once. Answers are grouped by their result on the database; answers that ask back are one
group. The group with most votes wins, and between equal groups the likelier answer. Only answers with the least grave
findings vote (`checks`): of eight answers the one that most agree on is wrong more often than one without findings
(docs/experiments.md, E13).

Two kinds take a second round if the first is undecided. A tree has few leaves if a model answers in one turn; if no
answer is ahead of the others (they fail or differ), it grows again from its root with all the leaves that are left. An
adaptive vote is a vote by samples that asks the rest only if they could change the elected answer. Both go on if all
answers so far have findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import cast, get_args

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.evaluation.voting import Given, elected, leads, undecided
from agro_data.hashing import seed_of
from agro_data.verify.execution import execute
from agro_train.objections import Answered, objections, weight
from agro_train.programs.usual import SAMPLES, TEMPERATURE, Kind
from agro_train.rollouts import Limits, Policy, Rollout, advance, start
from agro_train.sampling.types import RestrictedSampler, Usage, remembering
from agro_train.tasks import Task

LIMITS = Limits()
ROUNDS = 2
ASKS_BACK = "asks back"  # stands for a result's digest, and is none


@dataclass(frozen=True)
class Decoding:
    """`samples`: the number of votes; for an adaptive vote and for a tree's leaves the largest number. `width`:
    continuations of a tree's branch at each turn, except at the root in a second round. `checks`: only the answers with
    the least grave findings of `agro verify` vote; the levels are none, notes, and certain and grave ones.

    `names`: SQL, and the links of a thought, may name only tables and columns of the schema (`naming`); at temperature
    0 with `beams` beginnings of a turn under way.
    """

    kind: Kind = "greedy"
    samples: int = 1
    temperature: float = 0.0
    width: int = 2
    names: bool = False
    beams: int = 4
    checks: bool = True

    def __post_init__(self) -> None:
        if min(self.samples, self.width, self.beams) < 1:
            raise ConfigError(f"samples is {self.samples}, width {self.width}, beams {self.beams}: each is at least 1")
        if self.kind == "greedy" and (self.samples != 1 or self.temperature != 0.0):
            raise ConfigError("greedy decoding takes one sample at temperature 0; use another kind for several")
        if self.samples > 1 and self.temperature <= 0.0:
            raise ConfigError(f"{self.samples} samples at temperature 0 are all the same: give a temperature, say 0.7")

    @property
    def weight(self) -> int:
        """Votes of a continuation of the root. In a tree its branches share them."""
        return -(-self.samples // self.width) if self.kind == "tree" else 1

    def likeliest(self, path: Sequence[int]) -> bool:
        """Whether the last continuation on `path` is the likeliest one instead of a drawn one: the first at each branch
        of a tree.
        """
        return self.kind == "tree" and path[-1] == 0


GREEDY = Decoding()


def decoding_named(
    kind: str,
    samples: int = SAMPLES,
    temperature: float = TEMPERATURE,
    width: int = 2,
    names: bool = False,
    checks: bool = True,
    *,
    direct: bool = False,
) -> Decoding:
    """A decoding by its name, with the settings that apply to it.

    Raises `ConfigError` for an unknown name, and where answers are `direct` for one that needs turns.
    """
    if kind not in get_args(Kind):
        raise ConfigError(f"there is no decoding {kind!r}; use {', '.join(get_args(Kind))}")
    if direct and (names or kind == "tree"):
        raise ConfigError(
            "a direct answer has no turns "
            + ("in which SQL is held to names" if names else "at which a tree branches: use vote")
        )
    found = GREEDY if kind == "greedy" else Decoding(cast(Kind, kind), samples, temperature, width)
    return replace(found, names=names, checks=checks)


@dataclass
class Branch:
    """A rollout under way. At most `leaves` leaves may grow from it, with `votes` votes together. `path` identifies the
    branch within its task, and seeds it; a root's path is empty, and its continuations are numbered from `first`, which
    is 0 in the first round. After the rollout ends, `given` holds the answer's result (None if it failed) and `gravity`
    the severity of the worst finding, if checks ran.
    """

    rollout: Rollout
    leaves: int
    votes: int = 0
    path: tuple[int, ...] = ()
    first: int = 0
    given: Given | None = None
    gravity: int = 0

    @property
    def likelihood(self) -> float:
        """The mean likelihood of the tokens that the model wrote; equal for all if a server does not give it."""
        return self.rollout.tokens.likelihood


@dataclass
class Decoded:
    """The ended rollouts of one task, the chosen one first, with their votes.

    `read` and `written` count tokens: a prefix that several continue is read once, but by a server as often as it is
    sent. `seconds` is this task's equal part of the time that all asked together took; `latency` is how long a server
    let this task wait: for each turn in a row, the longest of those asked for at once.
    """

    task: Task
    leaves: list[Branch] = field(default_factory=list)
    read: int = 0
    written: int = 0
    seconds: float = 0.0
    latency: float = 0.0

    @property
    def answer(self) -> str:
        """The chosen SQL, "" if there is none."""
        return self.leaves[0].rollout.env.solution


def decode(
    tasks: Sequence[Task], policy: Policy, sandbox: Sandbox, decoding: Decoding = GREEDY, seed: int = 0
) -> list[Decoded]:
    """Work on all tasks together, turn by turn; one `Decoded` for each, in order. A task's seed is its example's. How
    turns are drawn, and whether they are held to names, is for the decoding to say.

    Raises `ConfigError` when the sampler, a server's or vLLM's, cannot be held to names as asked.
    """
    if decoding.names and not isinstance(policy.sampler, RestrictedSampler):
        raise ConfigError(
            "only a model that runs here in transformers can be held to the names of the schema: use --any-names"
        )
    policy = replace(policy, temperature=decoding.temperature, names=decoding.names, beams=decoding.beams)
    began = perf_counter()
    found = [Decoded(task) for task in tasks]
    with remembering(policy.sampler):
        for _ in range(ROUNDS):
            wanted = {place: leaves for place, one in enumerate(found) if (leaves := _next(one, decoding))}
            begun = {
                place: Branch(start(tasks[place], policy), leaves, first=len(found[place].leaves))
                for place, leaves in wanted.items()
            }
            _work(found, begun, policy, sandbox, decoding, seed)
            if decoding.samples > 1:
                new = {place: found[place].leaves[branch.first :] for place, branch in begun.items()}
                ended = [(found[place], leaf) for place, leaves in new.items() for leaf in leaves]
                _execute(ended, sandbox)
                if decoding.checks:
                    _check(ended, sandbox)
    for one in found:
        if decoding.samples > 1:
            _vote(one)
        one.seconds = (perf_counter() - began) / len(found)
    return found


def _next(one: Decoded, decoding: Decoding) -> int:
    """How many more leaves a task may grow. In the first round all; an adaptive vote asks only as few as could decide
    it. In a second round all that are left: in a tree if no answer leads, in an adaptive vote if they could change the
    elected answer. (More rounds would ask fewer, and take longer: each waits for its longest turn.)
    """
    left = decoding.samples - len(one.leaves)
    results, least = _voting(one.leaves)
    if least:
        return left
    if decoding.kind == "adaptive":
        fewest = undecided(results, left, [leaf.likelihood for leaf in one.leaves])
        return left if fewest and one.leaves else fewest
    leading = decoding.kind != "tree" or leads(results, [leaf.votes for leaf in one.leaves])
    return 0 if one.leaves and leading else left


def _work(
    found: Sequence[Decoded],
    begun: Mapping[int, Branch],
    policy: Policy,
    sandbox: Sandbox,
    decoding: Decoding,
    seed: int,
) -> None:
    """Go on with branches, by the places of their tasks, until all that comes of them has ended."""
    live = {place: [branch] for place, branch in begun.items()}
    for turn in range(policy.limits.turns):
        if not live:
            break
        grown = {place: _grown(branches, decoding) for place, branches in live.items()}
        going = [(place, branch) for place, branches in grown.items() for branch in branches]
        before = [(tuple(branch.rollout.tokens.so_far), branch.rollout.written) for _, branch in going]
        advance(
            [branch.rollout for _, branch in going],
            policy,
            sandbox,
            [
                None
                if decoding.likeliest(branch.path)
                else seed_of(seed, found[place].task.example_id, turn, *branch.path)
                for place, branch in going
            ],
        )
        _count(found, going, before)
        live = {}
        for place, branches in grown.items():
            found[place].leaves += [branch for branch in branches if branch.rollout.env.outcome is not None]
            left = [branch for branch in branches if branch.rollout.env.outcome is None]
            if left:
                live[place] = merge(left) if decoding.kind == "tree" else left
    for place in begun:  # the earlier of equals is elected, whichever ended first
        found[place].leaves.sort(key=lambda leaf: leaf.path)


def _grown(branches: Sequence[Branch], decoding: Decoding) -> list[Branch]:
    """The continuations of branches, each about to write a turn."""
    grown: list[Branch] = []
    for branch in branches:
        narrow = decoding.kind == "tree" and not branch.first
        parts = min(decoding.width, branch.leaves) if narrow else branch.leaves
        votes = even(branch.votes, parts) if branch.path else [decoding.weight] * parts
        rollouts = [branch.rollout, *(branch.rollout.forked() for _ in range(1, parts))]
        grown += [
            Branch(*part, (*branch.path, branch.first + number))
            for number, part in enumerate(zip(rollouts, even(branch.leaves, parts), votes, strict=True))
        ]
    return grown


def even(number: int, parts: int) -> list[int]:
    """A number in parts that are as even as they can be, the first ones larger."""
    return [number // parts + (place < number % parts) for place in range(parts)]


def merge(branches: Sequence[Branch]) -> list[Branch]:
    """Branches of one task that stand in the same state as one, which is the one with the most votes, then the first.

    States are alike when the last query touched the same tables with the same result, or failed in the same way.
    """
    states: dict[str, list[Branch]] = defaultdict(list)
    for branch in branches:
        states[branch.rollout.env.state].append(branch)
    merged = []
    for alike in states.values():
        best = max(alike, key=lambda branch: branch.votes)
        leaves, votes = sum(branch.leaves for branch in alike), sum(branch.votes for branch in alike)
        merged.append(replace(best, leaves=leaves, votes=votes))
    return merged


def _count(
    found: Sequence[Decoded], going: Sequence[tuple[int, Branch]], before: Sequence[tuple[tuple[int, ...], int]]
) -> None:
    prefixes: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    waited: dict[int, float] = defaultdict(float)
    for (place, branch), (prefix, written) in zip(going, before, strict=True):
        usage = branch.rollout.usage or Usage(len(prefix), branch.rollout.written - written)
        if branch.rollout.usage or prefix not in prefixes[place]:  # a server counts a prefix as often as it is sent
            found[place].read += usage.read
        prefixes[place].add(prefix)
        found[place].written += usage.written
        waited[place] = max(waited[place], usage.seconds)
    for place, seconds in waited.items():
        found[place].latency += seconds


def _execute(leaves: Sequence[tuple[Decoded, Branch]], sandbox: Sandbox) -> None:
    """Say of each leaf what its answer gives. Asking back is a result, too."""
    answered = [(one, leaf) for one, leaf in leaves if leaf.rollout.env.solution]
    results = execute([(one.task.database, leaf.rollout.env.solution) for one, leaf in answered], sandbox)
    for (_, leaf), result in zip(answered, results, strict=True):
        leaf.given = (result.digest, result.ordered_digest) if result.ok else None
    for _, leaf in leaves:
        if leaf.rollout.env.outcome == "clarified":
            leaf.given = (ASKS_BACK, "")


def _check(leaves: Sequence[tuple[Decoded, Branch]], sandbox: Sandbox) -> None:
    """Set `gravity` of each leaf whose SQL runs: the severity of its worst finding."""
    answered = [(one, leaf) for one, leaf in leaves if leaf.given is not None and leaf.rollout.env.solution]
    against = objections([Answered.of(one.task, leaf.rollout.env.solution) for one, leaf in answered], sandbox)
    for (_, leaf), findings in zip(answered, against, strict=True):
        leaf.gravity = weight(findings)


def _voting(leaves: Sequence[Branch]) -> tuple[list[Given | None], int]:
    """The result of each leaf that may vote, None for the others; and the gravity of the voting leaves."""
    least = min((leaf.gravity for leaf in leaves if leaf.given is not None), default=0)
    return [leaf.given if leaf.gravity == least else None for leaf in leaves], least


def _vote(one: Decoded) -> None:
    """Put the chosen leaf first: `elected` among the leaves with the least grave findings. If all answers fail, the
    first leaf with an answer.
    """
    leaves = one.leaves
    results, _ = _voting(leaves)
    place = elected(results, [leaf.votes for leaf in leaves], [leaf.likelihood for leaf in leaves])
    if place is None:
        place = next((number for number, leaf in enumerate(leaves) if leaf.rollout.env.solution), 0)
    leaves.insert(0, leaves.pop(place))
