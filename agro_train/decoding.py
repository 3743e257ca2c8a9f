"""How answers are taken from a model: greedy, by vote among samples, or by vote among the leaves of a tree.

All are one procedure. A task begins with as many votes as `samples`. Before each turn a branch shares its votes
among its continuations: a vote by samples splits at once into branches of one vote, a tree into at most `width` at
every turn. In a tree, branches whose queries gave the same result become one, with the votes of both (tree decoding
that branches at intermediate SQL: ReEx-SQL, 2505.12768; width, merging and shares are ours), and the first
continuation of a branch is the likeliest, the others are drawn: so few leaves are worth more. Continuations of one
branch read their prefix once. Answers are grouped by their result on the database, those that ask back are one group,
and the votes decide; of groups with as many, the likelier answer. An adaptive vote is the vote by samples in two
rounds: where the first has decided it, so that nothing that is left could change whom it elects, the rest is not asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Literal, cast, get_args

from agro_data.config import ConfigError
from agro_data.databases.sandbox import Sandbox
from agro_data.evaluation.voting import Given, elected, undecided
from agro_data.fingerprint import seed_of
from agro_data.verify.execution import execute
from agro_train.rollouts import Limits, Rollout, advance, start
from agro_train.sampling.types import RestrictedSampler, Sampler, Usage
from agro_train.tasks import Task

Kind = Literal["greedy", "vote", "adaptive", "tree"]
LIMITS = Limits()
ASKS_BACK = "asks back"  # stands for a result's digest, and is none


@dataclass(frozen=True)
class Decoding:
    """`samples`: votes, if adaptive the most of them, and the most leaves of a tree. `width`: continuations of a tree's
    branch at each turn.

    `names`: SQL, and the links of a thought, may name only tables and columns of the schema (`naming`); at temperature
    0 with `beams` beginnings of a turn under way.
    """

    kind: Kind = "greedy"
    samples: int = 1
    temperature: float = 0.0
    width: int = 4
    names: bool = False
    beams: int = 4

    def __post_init__(self) -> None:
        if min(self.samples, self.width, self.beams) < 1:
            raise ConfigError(f"samples is {self.samples}, width {self.width}, beams {self.beams}: each is at least 1")
        if self.kind == "greedy" and (self.samples != 1 or self.temperature != 0.0):
            raise ConfigError("greedy decoding takes one sample at temperature 0; use another kind for several")
        if self.samples > 1 and self.temperature <= 0.0:
            raise ConfigError(f"{self.samples} samples at temperature 0 are all the same: give a temperature, say 0.7")

    def shares(self, votes: int) -> list[int]:
        """How a branch's votes go to its continuations, as evenly as they can."""
        parts = min(self.width, votes) if self.kind == "tree" else votes
        return [votes // parts + (number < votes % parts) for number in range(parts)]

    def likeliest(self, path: Sequence[int]) -> bool:
        """Whether the last continuation on a `path` of them is taken as likeliest, and not drawn: a tree's first."""
        return self.kind == "tree" and path[-1] == 0


GREEDY = Decoding()


def decoding_named(
    kind: str, samples: int = 8, temperature: float = 0.7, width: int = 4, names: bool = False, beams: int = 4
) -> Decoding:
    """A decoding by its name, with those settings that apply to it. Raises `ConfigError` for one that is not known."""
    if kind not in get_args(Kind):
        raise ConfigError(f"there is no decoding {kind!r}; use {', '.join(get_args(Kind))}")
    found = GREEDY if kind == "greedy" else Decoding(cast(Kind, kind), samples, temperature, width)
    return replace(found, names=names, beams=beams)


@dataclass
class Branch:
    """A rollout on its way. `path` tells it from the others of its task, and seeds it; its continuations are numbered
    from `first`. When it has ended, `given` is what its answer gives; None where that fails.
    """

    rollout: Rollout
    votes: int
    path: tuple[int, ...] = ()
    first: int = 0
    given: Given | None = None

    @property
    def likelihood(self) -> float:
        """Of what the model wrote, a token; the same for all where a server does not say."""
        return self.rollout.tokens.likelihood


@dataclass
class Decoded:
    """The ended rollouts of one task, the chosen one first, with their votes.

    `read` and `written` count tokens: a prefix that several continue is read once. `seconds` is this task's equal
    part of the time that all asked together took.
    """

    task: Task
    leaves: list[Branch] = field(default_factory=list)
    read: int = 0
    written: int = 0
    seconds: float = 0.0

    @property
    def answer(self) -> str:
        """The chosen SQL, "" if there is none."""
        return self.leaves[0].rollout.env.solution


def decode(
    tasks: Sequence[Task],
    sampler: Sampler,
    tokenizer: Any,
    sandbox: Sandbox,
    decoding: Decoding = GREEDY,
    limits: Limits = LIMITS,
    seed: int = 0,
) -> list[Decoded]:
    """Work on all tasks together, turn by turn; one `Decoded` for each, in order. A task's seed is its example's.

    Raises `ConfigError` when names are asked for that the sampler cannot be held to: those of a server, or of vLLM.
    """
    if decoding.names and not isinstance(sampler, RestrictedSampler):
        raise ConfigError(
            "only a model that runs here in transformers can be held to the names of the schema: use --any-names"
        )
    began = perf_counter()
    found = [Decoded(task) for task in tasks]
    while wanted := {place: votes for place, one in enumerate(found) if (votes := _next(one, decoding))}:
        begun = {
            place: Branch(start(tasks[place], tokenizer, limits), votes, first=len(found[place].leaves))
            for place, votes in wanted.items()
        }
        _work(found, begun, sampler, tokenizer, sandbox, decoding, limits, seed)
        if decoding.samples > 1:
            new = {place: found[place].leaves[branch.first :] for place, branch in begun.items()}
            _execute([(found[place], leaf) for place, leaves in new.items() for leaf in leaves], sandbox)
    for one in found:
        if decoding.samples > 1:
            _vote(one)
        one.seconds = (perf_counter() - began) / len(found)
    return found


def _next(one: Decoded, decoding: Decoding) -> int:
    """How many votes of a task are asked for next: all; if adaptive, as few as could decide it, then all that are left.

    More rounds would ask fewer, and take longer: each waits for its longest turn.
    """
    left = decoding.samples - len(one.leaves)
    if decoding.kind != "adaptive":
        return 0 if one.leaves else left
    fewest = undecided([leaf.given for leaf in one.leaves], left, [leaf.likelihood for leaf in one.leaves])
    return left if fewest and one.leaves else fewest


def _work(
    found: Sequence[Decoded],
    begun: Mapping[int, Branch],
    sampler: Sampler,
    tokenizer: Any,
    sandbox: Sandbox,
    decoding: Decoding,
    limits: Limits,
    seed: int,
) -> None:
    """Go on with branches, by the places of their tasks, until all that comes of them has ended."""
    live = {place: [branch] for place, branch in begun.items()}
    for turn in range(limits.turns):
        if not live:
            break
        grown = {place: _grown(branches, decoding) for place, branches in live.items()}
        going = [(place, branch) for place, branches in grown.items() for branch in branches]
        before = [(tuple(branch.rollout.tokens.so_far), branch.rollout.written) for _, branch in going]
        advance(
            [branch.rollout for _, branch in going],
            sampler,
            tokenizer,
            sandbox,
            seeds=[
                None
                if decoding.likeliest(branch.path)
                else seed_of(seed, found[place].task.example_id, turn, *branch.path)
                for place, branch in going
            ],
            temperature=decoding.temperature,
            limits=limits,
            beams=decoding.beams if decoding.names else 0,
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
        shares = decoding.shares(branch.votes)
        copies = [branch.rollout, *(_fork(branch.rollout) for _ in shares[1:])]
        grown += [
            Branch(rollout, votes, (*branch.path, branch.first + number))
            for number, (rollout, votes) in enumerate(zip(copies, shares, strict=True))
        ]
    return grown


def _fork(rollout: Rollout) -> Rollout:
    env, tokens = copy(rollout.env), rollout.tokens
    env.steps, env.looks = list(env.steps), list(env.looks)
    return Rollout(env, tokens.first(len(tokens.ids)))


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
        merged.append(replace(best, votes=sum(branch.votes for branch in alike)))
    return merged


def _count(
    found: Sequence[Decoded], going: Sequence[tuple[int, Branch]], before: Sequence[tuple[tuple[int, ...], int]]
) -> None:
    prefixes: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    for (place, branch), (prefix, written) in zip(going, before, strict=True):
        usage = branch.rollout.usage or Usage(len(prefix), branch.rollout.written - written)
        prefixes[place][prefix] = usage.read
        found[place].written += usage.written
    for place, read in prefixes.items():
        found[place].read += sum(read.values())


def _execute(leaves: Sequence[tuple[Decoded, Branch]], sandbox: Sandbox) -> None:
    """Say of each leaf what its answer gives. Asking back is a result, too."""
    answered = [(one, leaf) for one, leaf in leaves if leaf.rollout.env.solution]
    results = execute([(one.task.database, leaf.rollout.env.solution) for one, leaf in answered], sandbox)
    for (_, leaf), result in zip(answered, results, strict=True):
        leaf.given = (result.digest, result.ordered_digest) if result.ok else None
    for _, leaf in leaves:
        if leaf.rollout.env.outcome == "clarified":
            leaf.given = (ASKS_BACK, "")


def _vote(one: Decoded) -> None:
    """Put the chosen leaf first, as `elected` says. Where all answers fail it is the first that answers."""
    leaves = one.leaves
    place = elected(
        [leaf.given for leaf in leaves], [leaf.votes for leaf in leaves], [leaf.likelihood for leaf in leaves]
    )
    if place is None:
        place = next((number for number, leaf in enumerate(leaves) if leaf.rollout.env.solution), 0)
    leaves.insert(0, leaves.pop(place))
