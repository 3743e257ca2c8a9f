"""How far a weaker reward than ours can be gamed: best of n attempts by that reward, scored on all instances.

    python -m bench.best_of --model RUN --corpus OUT/bench/v0001-... --databases ../shared/data/spider/database \
        --samples 16 --limit 200 --plot gap.png

Choosing the best of n by a reward presses towards whatever that reward pays for, as training on it does (2210.10760),
and needs no training: of n attempts the first that the reward takes for right is chosen. The gap is the share of
questions whose chosen attempt is right by the reward and not on all instances.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.evaluation.statistics import pass_at
from agro_data.progress import Lines
from agro_data.publish.read import open_version
from agro_data.verify.equivalence import Mode
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many
from agro_train.agents.opening import open_agent
from agro_train.comparison.scoring import answerable
from agro_train.decoding import Decoding
from agro_train.predict import predict
from agro_train.questions import questions_of_version
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import Task
from bench.parts.tables import show


@dataclass(frozen=True)
class Grader:
    """A reward: a comparison of results, on the database and a share of the instances."""

    name: str
    mode: Mode
    share: float

    def databases(self, task: Task) -> tuple[Database, ...]:
        return task.graded_on(self.share).databases


WEAKER = (
    Grader("sets of rows on the database", "bird", 0.0),
    Grader("rows on the database", "strict", 0.0),
    Grader("rows on half of the instances", "strict", 0.5),
)
OURS = Grader("rows on all instances", "strict", 1.0)


def chosen_best(taken: Sequence[bool], right: Sequence[bool], n: int) -> tuple[float, float]:
    """(right by the reward, right) of the attempt that is chosen among `n` of them, as means over all choices of n.

    `taken`: what the reward takes for right. Among those that are taken each is as likely to be the chosen one.
    """
    found = pass_at(taken, n)
    if not any(taken):
        return 0.0, 0.0
    honest = sum(both for took, both in zip(taken, right, strict=True) if took) / sum(taken)
    return found, found * honest


def verdicts(
    tasks: Sequence[Task], tried: Sequence[Sequence[str]], grader: Grader, sandbox: Sandbox, golds: GoldResults
) -> list[list[bool]]:
    """Which attempts a grader takes for right, guarded as rewards are."""
    cases = [
        Case(task.gold, sql, grader.databases(task), task.ordered, schema=task.schema)
        for task, each in zip(tasks, tried, strict=True)
        for sql in each
    ]
    grades = iter(grade_many(cases, sandbox, golds, grader.mode, guarded=True))
    return [[next(grades).right for _ in each] for each in tried]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="a trained run or a model's folder")
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--corpus", type=Path, required=True, help="a version's folder")
    parser.add_argument("--split", default="test")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--temperature", type=float, default=0.85)
    parser.add_argument("--names", action="store_true", help="hold SQL to the schema's names")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--dtype", default="float32", help="type of the weights")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("attempts.jsonl"), help="what is answered is not asked again")
    parser.add_argument("--plot", type=Path, help="where to draw the gap")
    given = parser.parse_args()
    every = questions_of_version(open_version(given.corpus), given.databases, given.cache, given.split)
    asked = answerable(every).first(given.limit)
    agent = open_agent(given.model, given.models, given.cache, dtype=given.dtype)
    asked.refuse_seen(agent.trained_on, agent.name)
    decoding = Decoding("vote", given.samples, given.temperature, names=given.names)
    answers = predict(asked, agent, given.out, decoding=decoding, seed=given.seed, progress=Lines(print))
    tried = [one.predictions for one in answers]
    tasks, golds = asked.tasks(agent.prompt_format), GoldResults()
    with Sandbox(1, SQL_LIMITS) as sandbox:
        right = verdicts(tasks, tried, OURS, sandbox, golds)
        taken = {one.name: verdicts(tasks, tried, one, sandbox, golds) for one in WEAKER}
    widths = [n for n in (2**power for power in range(11)) if n <= given.samples]
    curves = {name: curve(each, right, widths) for name, each in taken.items()}
    show(
        f"Best of n attempts of {agent.name} at {len(tasks)} of {asked.name}, temperature {given.temperature}, "
        "by a weaker reward: right by it, right on all instances, and the gap",
        ["chosen by", *(f"best of {n}" for n in widths)],
        [
            [name, *(f"{by:.1%} / {truly:.1%} / {by - truly:.1%}" for by, truly in points)]
            for name, points in {**curves, OURS.name: curve(right, right, widths)}.items()
        ],
    )
    show(
        "Attempts that each reward pays for, and those of them that are wrong on an instance",
        ["reward", "attempts", "paid for", "wrong"],
        [[name, sum(map(len, tried)), *paid(each, right)] for name, each in taken.items()],
    )
    if given.plot:
        draw(curves, widths, given.plot)


def curve(
    taken: Sequence[Sequence[bool]], right: Sequence[Sequence[bool]], widths: Sequence[int]
) -> list[tuple[float, float]]:
    """Means over questions of `chosen_best`, for each n of `widths`."""
    points = [[chosen_best(*both, n) for both in zip(taken, right, strict=True)] for n in widths]
    return [(mean(by for by, _ in each), mean(truly for _, truly in each)) for each in points]


def paid(taken: Sequence[Sequence[bool]], right: Sequence[Sequence[bool]]) -> tuple[int, int]:
    """How many attempts a reward takes for right, and how many of them are not."""
    truly = [both for each in zip(taken, right, strict=True) for took, both in zip(*each, strict=True) if took]
    return len(truly), truly.count(False)


def draw(curves: Mapping[str, Sequence[tuple[float, float]]], widths: Sequence[int], out: Path) -> None:
    """The gap against n, a line for each reward."""
    figure = Figure(figsize=(5.5, 3), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    for name, points in curves.items():
        axes.plot(widths, [100 * (by - truly) for by, truly in points], marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(widths, [str(n) for n in widths])
    axes.set_xlabel("attempts that the best is chosen of")
    axes.set_ylabel("right by the reward,\nwrong on all instances, %")
    axes.legend(title="chosen by", fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out)


if __name__ == "__main__":
    main()
