"""Tree decoding beside linear sampling at the same number of leaves: `python -m bench.decoding --model NAME ...`.

Linear sampling is a vote whose samples are written one beside the other, each a row of its own behind a prompt that is
read once. The same vote is then taken where samples that have begun alike are computed once (`sampling.drawing`: a
tree over tokens, with the same samples), where it is asked no further than until it is decided, and by trees that
branch at queries. Beside them, votes of as many samples as each tree had leaves. Each decoding answers the same
questions with the same model, `--together` at a time: one gives the seconds of a question alone, more give throughput.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.evaluation.statistics import paired, spelled
from agro_data.evaluation.verdict import Verdict
from agro_data.publish.read import open_version
from agro_train.agents.agent import Agent
from agro_train.agents.opening import open_agent
from agro_train.answers import Answer, answer
from agro_train.comparison.scoring import NONE, score
from agro_train.decoding import GREEDY, Decoding
from agro_train.questions import Questions, questions_of_file, questions_of_version
from agro_train.sampling.module import ModuleSampler
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import Task
from bench.parts.tables import show

GOAL = 0.40  # less time than linear sampling, at equal or better EX


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a trained run or a model's folder")
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--widths", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--names", action="store_true", help="hold SQL to the names of the schema")
    parser.add_argument("--together", type=int, default=16, help="questions that are answered at a time")
    parser.add_argument("--brief", action="store_true", help="linear sampling and trees, and nothing beside them")
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument("--dtype", default="float32", help="type of the weights")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if (given.corpus is None) == (given.questions is None):
        parser.error("give either --corpus or --questions")
    if given.corpus:
        asked = questions_of_version(open_version(given.corpus), given.databases, given.cache)
    else:
        asked = questions_of_file(given.questions, given.databases, given.cache)
    agent = open_agent(given.model, given.models, given.cache, dtype=given.dtype)
    asked = asked.first(given.limit)
    asked.refuse_seen(agent.trained_on, agent.name)
    vote = Decoding("vote", given.leaves, given.temperature, names=given.names)
    adaptive = replace(vote, kind="adaptive")
    trees = [replace(vote, kind="tree", width=width) for width in given.widths]
    greedy = replace(GREEDY, names=given.names)

    def measured(agent: Agent, decodings: Sequence[Decoding]) -> list[Measured]:
        return measure(asked, agent, decodings, given.cache, given.seed, given.together)

    [linear] = measured(_one_by_one(agent), [vote])
    found = [replace(linear, name=f"{linear.name}, one by one")]
    if not given.brief:
        found += measured(agent, [greedy, vote, adaptive])
    grown = measured(agent, trees)
    found += grown
    if not given.brief:
        as_many = sorted({round(tree.leaves) for tree in grown} - {1, given.leaves})
        found += measured(agent, [replace(vote, samples=samples) for samples in as_many])
    show(
        f"Decodings of {agent.name} on {len(asked.rows)} of {asked.name}, at most {given.leaves} leaves, "
        f"temperature {given.temperature}, {given.together} questions at a time "
        f"(goal: {GOAL:.0%} less time than one by one, EX not lower)",
        ["decoding", "EX strict", "gain, paired", "won", "lost", "leaves", "read", "written", "computed", "seconds",
         "less computed", "less time"],
        [_row(one, beside=found[0]) for one in found],
    )  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What a decoding gave, by means of a question."""

    name: str
    verdicts: Sequence[Verdict]
    leaves: float
    read: float
    written: float
    computed: float
    seconds: float


def measure(
    asked: Questions, agent: Agent, decodings: Sequence[Decoding], cache: Path, seed: int = 0, together: int = 16
) -> list[Measured]:
    tasks, count = asked.tasks(agent.prompt_format), len(asked.rows)
    found: list[Measured] = []
    with Sandbox(1, SQL_LIMITS) as sandbox:
        for decoding in decodings:
            answers: dict[int, Answer] = {}
            before, began = _computed(agent), time.perf_counter()
            for places in batches(tasks, together):
                some = [tasks[place] for place in places]
                given = answer(some, agent.policy, sandbox, decoding, seed)
                answers |= dict(zip(places, given, strict=True))
            seconds, computed = time.perf_counter() - began, _computed(agent) - before
            found.append(
                Measured(
                    _named(decoding),
                    score(asked, [answers[place] for place in range(count)], NONE, cache)["strict"].verdicts,
                    leaves=sum(len(one.predictions) for one in answers.values()) / count,
                    read=sum(one.read for one in answers.values()) / count,
                    written=sum(one.written for one in answers.values()) / count,
                    computed=computed / count,
                    seconds=seconds / count,
                )
            )
    return found


def batches(tasks: Sequence[Task], together: int) -> Iterator[list[int]]:
    """The places of tasks that are answered together, those with one schema side by side, as `agro predict` does."""
    order = sorted(range(len(tasks)), key=lambda place: tasks[place].prompt)
    return (order[first : first + together] for first in range(0, len(order), together))


def _named(decoding: Decoding) -> str:
    votes = f"vote of {decoding.samples}"
    names = {"tree": f"tree, width {decoding.width}", "vote": votes, "adaptive": f"{votes}, adaptive"}
    return names.get(decoding.kind, decoding.kind)


def _one_by_one(agent: Agent) -> Agent:
    """The agent, whose samples share nothing but the reading of their prompt."""
    if not isinstance(agent.sampler, ModuleSampler):
        raise SystemExit(f"{agent.name} is not a model that runs here: a server shares what it likes")
    return replace(agent, sampler=replace(agent.sampler, share=False))


def _computed(agent: Agent) -> int:
    return cast(ModuleSampler, agent.sampler).written


def _row(one: Measured, beside: Measured) -> list[object]:
    """A row of the table, with what it gains and saves beside another decoding."""
    against = paired(one.verdicts, beside.verdicts)
    gain = against["gain"]
    return [
        one.name,
        f"{sum(verdict.score for verdict in one.verdicts) / len(one.verdicts):.1%}",
        f"{gain['mean']:+.1%} [{spelled(gain, '{:+.1%}, {:+.1%}')}]",
        against["won"],
        against["lost"],
        round(one.leaves, 1),
        round(one.read),
        round(one.written),
        round(one.computed),
        round(one.seconds, 2),
        f"{1 - one.computed / beside.computed:.0%}",
        f"{1 - one.seconds / beside.seconds:.0%}",
    ]


if __name__ == "__main__":
    main()
