"""What a vote is worth, by its number of attempts and by what decides it: `python -m bench.votes --model NAME ...`.

Many attempts at each question are drawn once, and beside them the likeliest one is taken. A vote of n is then held
`--votes` times, among n of the attempts drawn anew, or among the likeliest and n - 1: so ways to decide are told apart
by far fewer attempts than if each had its own. A vote that grows asks two, and the others where these leave no answer
ahead, as a tree of two ways does whose branches answer in their first turn.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.evaluation.statistics import interval, spelled
from agro_data.evaluation.voting import Given, elected, leads
from agro_data.publish.read import open_version
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many
from agro_train.agents.agent import Agent
from agro_train.agents.opening import open_agent
from agro_train.decoding import Branch, Decoding, decode
from agro_train.objections import Answered, objections, weight
from agro_train.questions import questions_of_file, questions_of_version
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import Task
from bench.decoding import batches
from bench.parts.tables import show

SIZES = (2, 3, 4, 5, 6, 8, 16)
TOGETHER = 16  # questions answered at a time


@dataclass(frozen=True)
class Attempt:
    """`given` is what its answer gives, None where there is none or it fails; `gravity` of what speaks against it."""

    given: Given | None
    likelihood: float
    right: bool
    gravity: int = 0


@dataclass(frozen=True)
class Tried:
    """The attempts at one question."""

    db_id: str
    likeliest: Attempt
    drawn: Sequence[Attempt]


@dataclass(frozen=True)
class Rule:
    """How a vote is taken: the likeliest attempt may be one of its attempts, likelihood decide between equals, two
    attempts be enough where their answer leads, only those vote that least speaks against, and the likeliest be enough
    where nothing does."""

    likeliest: bool
    likelihood: bool
    grows: bool = False
    checks: bool = False
    trusts: bool = False

    def __str__(self) -> str:
        attempts = "the likeliest and others" if self.likeliest else "as drawn"
        grows = ", grown where no answer leads" if self.grows else ""
        checks = ", of those that least speaks against" if self.checks else ""
        trusts = ", asked where something speaks against the likeliest" if self.trusts else ""
        return f"{attempts}, of equals the {'likelier' if self.likelihood else 'earlier'}{grows}{checks}{trusts}"


RULES = [Rule(likeliest, likelihood) for likeliest in (False, True) for likelihood in (False, True)]
TREE = Rule(likeliest=True, likelihood=True, grows=True)
CHECKED = [
    Rule(likeliest=False, likelihood=True, checks=True),
    Rule(likeliest=True, likelihood=True, checks=True),
    Rule(likeliest=True, likelihood=True, grows=True, checks=True),
    Rule(likeliest=True, likelihood=True, checks=True, trusts=True),
]
ASKING_LESS = [TREE, *CHECKED[-2:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="a trained run or a model's folder")
    parser.add_argument("--models", type=Path, default=Path("models"))
    asked_of = parser.add_mutually_exclusive_group(required=True)
    asked_of.add_argument("--corpus", type=Path, help="a version's folder")
    asked_of.add_argument("--questions", type=Path, help="or a file of questions with their SQL")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--samples", type=int, default=16, help="attempts that are drawn at each question")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--names", action="store_true", help="hold SQL to the names of the schema")
    parser.add_argument("--limit", type=int, default=160)
    parser.add_argument("--votes", type=int, default=40, help="votes that are held at each question")
    parser.add_argument("--dtype", default="float32", help="type of the weights")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.corpus:
        every = questions_of_version(open_version(given.corpus), given.databases, given.cache)
    else:
        every = questions_of_file(given.questions, given.databases, given.cache)
    agent = open_agent(given.model, given.models, given.cache, dtype=given.dtype)
    asked = every.first(given.limit)
    asked.refuse_seen(agent.trained_on, agent.name)
    tried = attempted(
        asked.tasks(agent.prompt_format), agent, given.samples, given.temperature, given.seed, given.names
    )
    sizes = [size for size in SIZES if size <= given.samples]
    worths = {
        rule: [worth(tried, rule, size, given.votes, given.seed) for size in sizes] for rule in [*RULES, TREE, *CHECKED]
    }
    alone = f"{_percent([one.likeliest.right for one in tried])} the likeliest attempt alone"
    any_drawn = f"{_percent([attempt.right for one in tried for attempt in one.drawn])} any that is drawn"
    show(
        f"Votes of n attempts of {agent.name} at {len(tried)} of {asked.name}, temperature {given.temperature}: "
        f"% right, means of {given.votes} votes at each question; {alone}, {any_drawn}",
        ["the vote", *(f"of {size}" for size in sizes)],
        [[str(rule), *map(_percent, found)] for rule, found in worths.items()],
    )
    show(
        "Attempts that are asked for",
        ["the vote", *(f"of {size}" for size in sizes)],
        [
            [str(rule), *(f"{mean(asks(tried, rule, size, given.votes, given.seed)):.1f}" for size in sizes)]
            for rule in ASKING_LESS
        ],
    )
    plain = worths[Rule(likeliest=False, likelihood=False)]
    show(
        "Less the plain vote of as many attempts, in points: mean of databases, drawing them",
        ["the vote", *(f"of {size}" for size in sizes)],
        [
            [str(rule), *(_gain(tried, new, old) for new, old in zip(found, plain, strict=True))]
            for rule, found in worths.items()
            if found is not plain
        ],
    )


def attempted(
    tasks: Sequence[Task], agent: Agent, samples: int, temperature: float, seed: int = 0, names: bool = False
) -> list[Tried]:
    """Attempts at each task, graded on its database."""
    # a tree's first leaf is its likeliest attempt; of two at the most, since one alone is not executed
    decodings = (
        Decoding("tree", 2, temperature, width=1, names=names),
        Decoding("vote", samples, temperature, names=names),
    )
    found: dict[int, list[Branch]] = {}
    with Sandbox(1, SQL_LIMITS) as sandbox:
        for places in batches(tasks, TOGETHER):
            some = [tasks[place] for place in places]
            given = [decode(some, agent.policy, sandbox, one, seed) for one in decodings]
            for place, likeliest, drawn in zip(places, *given, strict=True):
                found[place] = [min(likeliest.leaves, key=lambda leaf: leaf.path), *drawn.leaves]
            print(f"{len(found):,} of {len(tasks):,} questions", flush=True)
        cases = [
            Case(task.gold, leaf.rollout.env.solution, (task.database,), task.ordered, schema=task.schema)
            for place, task in enumerate(tasks)
            for leaf in found[place]
        ]
        grades = iter(grade_many(cases, sandbox, GoldResults(), "strict"))
        tried: list[Tried] = []
        for place, task in enumerate(tasks):
            answers = [Answered.of(task, leaf.rollout.env.solution) for leaf in found[place]]
            against = objections(answers, sandbox)
            every = [
                Attempt(leaf.given, leaf.likelihood, next(grades).right, weight(told))
                for leaf, told in zip(found[place], against, strict=True)
            ]
            tried.append(Tried(task.database.db_id, every[0], every[1:]))
    return tried


def worth(tried: Sequence[Tried], rule: Rule, size: int, votes: int, seed: int = 0) -> list[float]:
    """For each question, how many of the `votes` elect a right attempt."""
    chance = Random(seed)
    return [mean(_held(one, rule, size, chance) for _ in range(votes)) for one in tried]


def asks(tried: Sequence[Tried], rule: Rule, size: int, votes: int, seed: int = 0) -> list[float]:
    """For each question, of how many attempts the same votes are, on average."""
    chance = Random(seed)
    return [mean(len(_voting(one, rule, size, chance)) for _ in range(votes)) for one in tried]


def _held(one: Tried, rule: Rule, size: int, chance: Random) -> float:
    some = _voting(one, rule, size, chance)
    given, _ = _given(some, rule)
    place = elected(given, [1] * len(some), [attempt.likelihood for attempt in some] if rule.likelihood else ())
    return 0.0 if place is None else float(some[place].right)


def _voting(one: Tried, rule: Rule, size: int, chance: Random) -> list[Attempt]:
    first = [one.likeliest] if rule.likeliest else []
    if rule.trusts and one.likeliest.given is not None and not one.likeliest.gravity:
        return first
    every = [*first, *chance.sample(one.drawn, size - len(first))]
    two = every[:2]
    given, least = _given(two, rule)
    return two if rule.grows and not least and leads(given, [1] * len(two)) else every


def _given(attempts: Sequence[Attempt], rule: Rule) -> tuple[list[Given | None], int]:
    """What the attempts that vote give, None for the others, and how grave what speaks against them is."""
    if not rule.checks:
        return [attempt.given for attempt in attempts], 0
    least = min((attempt.gravity for attempt in attempts if attempt.given is not None), default=0)
    return [attempt.given if attempt.gravity == least else None for attempt in attempts], least


def _gain(tried: Sequence[Tried], new: Sequence[float], old: Sequence[float]) -> str:
    by_database: dict[str, list[float]] = defaultdict(list)
    for one, more, less in zip(tried, new, old, strict=True):
        by_database[one.db_id].append(more - less)
    gained = interval(list(by_database.values()), signed=True)
    return f"{gained['mean']:+.1%} [{spelled(gained, '{:.1%}, {:.1%}')}]"


def _percent(right: Sequence[float]) -> str:
    return f"{100 * mean(right):.1f}"


if __name__ == "__main__":
    main()
