"""K-cycle Gen-as-Check on planted faults, with simulated solvers or with a model: what it finds, and what it loses.

python -m bench.alignment VERSION --databases ../shared/data/spider/database [--rows 2000] [--accuracy 0.5 0.7 0.9]

Of the first `--rows` rows of a corpus version 10 % get a gold that is a mutant, 10 % a question with one condition
altered, 5 % wrong evidence (`parts.planting`). Solvers see question and schema; `--need` of `--asked` answers must be
the gold's. Beside each measured figure stands what `parts.expected` calculates for these rows, and how many standard
deviations of the calculation lie between them. With `--model` a model answers about `--sample` of the rows, half of
them faulty, for one cycle.

found: a row that is not accepted as it was shown. lost: a good row of which anything else becomes. mended: a faulty row
that is accepted with what it means.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from time import perf_counter

import polars as pl

from agro_data.alignment.agreement import vote
from agro_data.alignment.cycles import Aligned, Cycle, Rule, acceptance, check, summed
from agro_data.alignment.example import Home
from agro_data.alignment.grouping import group
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox, own_sandbox
from agro_data.databases.types import Database
from agro_data.parallel import Outcome as Shard
from agro_data.parallel import run_shards
from agro_data.profiling.cache import cached_profile
from agro_data.publish.read import Version, open_version
from agro_data.verify.certificates.pool import LIMITS
from agro_data.verify.golds import GoldResults
from bench.parts.expected import Expected
from bench.parts.machine import description
from bench.parts.planting import SHARES, Fault, Planted, plant, simulated, variants
from bench.parts.tables import show

CHUNK = 150  # rows, about, that are planted and checked together

Setting = tuple[float, int]  # accuracy, K


@dataclass(frozen=True)
class Settings:
    """What is measured: `need` of `asked` answers, at each accuracy, within each number of cycles."""

    accuracies: tuple[float, ...]
    cycles: tuple[int, ...]
    asked: int
    need: int
    seed: int


@dataclass(frozen=True)
class Task:
    """Rows of some databases, with all that it takes to work on them in a process of their own."""

    version: Version
    rows: tuple[tuple[Database, pl.DataFrame], ...]
    cache: Path
    settings: Settings


@dataclass(frozen=True)
class Seen:
    """A row, what became of it at each setting, and what is calculated. Ends are places in (truth, *wrong), -1 for any
    other answer, None for rejected.
    """

    row: Planted
    ends: dict[Setting, int | None]
    expected: dict[Setting, Expected]

    def as_shown(self, setting: Setting) -> bool:
        """Whether it was accepted with the SQL that it was shown with."""
        return self.ends[setting] == (-1 if self.row.gold is None else self.row.gold)

    def accepted(self, place: int | None, setting: Setting) -> float:
        """The calculated chance that it is accepted with the answer at `place`; None: one that no solver gives."""
        return 0.0 if place is None else self.expected[setting].accepted[place]


@dataclass(frozen=True)
class Part:
    """What a task gives: its rows, in how many each fault was possible, and acceptance by hardness at each setting."""

    seen: list[Seen]
    possible: Counter[str]
    acceptance: dict[Setting, pl.DataFrame]


def tasks(
    version: Version, databases: Path, cache: Path, count: int, split: str | None, settings: Settings
) -> list[Task]:
    """The first `count` rows of a version, or of a split of it, by id; those of a database in one task."""
    frame = version.examples(split).sort("example_id").head(count).collect()
    found = {database.db_id: database for database in find_databases(databases).databases}
    made: list[Task] = []
    own: list[tuple[Database, pl.DataFrame]] = []
    for (db_id,), rows in sorted(frame.partition_by("db_id", as_dict=True).items()):
        own.append((found[str(db_id)], rows))
        if sum(rows.height for _, rows in own) >= CHUNK:
            made.append(Task(version, tuple(own), cache, settings))
            own = []
    return [*made, Task(version, tuple(own), cache, settings)] if own else made


def planted(task: Task, sandbox: Sandbox) -> tuple[list[Planted], Counter[str]]:
    """The rows of a task with faults in them, and in how many each was possible."""
    able: list[dict[Fault, Planted]] = []
    for database, rows in task.rows:
        profile = cached_profile(database, task.cache / "profiles")
        names = rows["instances"].explode().drop_nulls().to_list()
        home = Home.of(database, profile, task.version.path / "instances", names)
        examples = [home.example(row) for row in rows.iter_rows(named=True)]
        able += variants(examples, profile, sandbox, task.settings.seed)
    return plant(able, sandbox, task.settings.seed), Counter(fault for one in able for fault in one)


def measure(task: Task) -> Part:
    """Plant faults in the rows of a task, check them at every accuracy, and say what became of each."""
    sandbox, settings, golds = own_sandbox(LIMITS), task.settings, GoldResults()
    rows, possible = planted(task, sandbox)
    rule = Rule(settings.need, max(settings.cycles))
    ends: dict[Setting, list[int | None]] = {}
    counts: dict[Setting, pl.DataFrame] = {}
    for accuracy in settings.accuracies:
        solver = simulated(rows, accuracy, settings.asked, settings.seed)
        whole = check([row.example for row in rows], [solver], rule, sandbox, golds=golds)
        for cycles in settings.cycles:
            outcomes = within(whole, cycles)
            ends[accuracy, cycles] = became(rows, outcomes, sandbox)
            counts[accuracy, cycles] = acceptance(outcomes)
    seen = [
        Seen(
            row,
            {setting: found[place] for setting, found in ends.items()},
            {(a, k): row.expected(a, settings.asked, settings.need, k) for a, k in ends},
        )
        for place, row in enumerate(rows)
    ]
    return Part(seen, possible, counts)


def within(outcomes: Sequence[Aligned], cycles: int) -> list[Aligned]:
    """What a loop of fewer cycles makes of the same answers: what is verified later it rejects."""
    return [
        one
        if len(one.history) <= cycles
        else Aligned("rejected", one.history[cycles - 1].example, one.history[:cycles])
        for one in outcomes
    ]


def became(rows: Sequence[Planted], outcomes: Sequence[Aligned], sandbox: Sandbox) -> list[int | None]:
    """Which answer each row was accepted with: a place in (truth, *wrong), -1 for any other, None for rejected."""
    kept = [place for place, one in enumerate(outcomes) if one.fate != "rejected"]
    asked = [(rows[p].example, [rows[p].truth, *rows[p].wrong, outcomes[p].example.sql]) for p in kept]
    ended: list[int | None] = [None] * len(rows)
    for place, (_, answers), found in zip(kept, asked, group(asked, sandbox), strict=True):
        last = len(answers) - 1
        alike = next((one.members for one in found.groups if last in one.members), (last,))
        if outcomes[place].example.sql == rows[place].example.sql:
            ended[place] = -1 if rows[place].gold is None else rows[place].gold
        else:
            ended[place] = -1 if alike[0] == last else alike[0]
    return ended


# --- figures -------------------------------------------------------------------------------------------------------


def figures(seen: Sequence[Seen], setting: Setting) -> list[list[object]]:
    """One line a figure: measured, calculated, and the distance in standard deviations."""
    faulty = [one for one in seen if one.row.fault]
    good = [one for one in seen if not one.row.fault]
    lines: list[list[object]] = []

    def line(
        name: str, own: Sequence[Seen], hit: Callable[[Seen], bool], chance: Callable[[Seen], float]
    ) -> tuple[float, float]:
        chances = [chance(one) for one in own]
        got, want = sum(map(hit, own)), sum(chances)
        deviation = sqrt(sum(c * (1 - c) for c in chances))
        off = (got - want) / deviation if deviation > 1e-9 else 0.0
        lines.append([name, round(100 * got / len(own), 2), round(100 * want / len(own), 2), round(off, 2)])
        return got, want

    found, found_ = line(
        "recall: faults found", faulty, lambda o: not o.as_shown(setting), lambda o: 1 - o.accepted(o.row.gold, setting)
    )
    lost, lost_ = line("good rows lost", good, lambda o: o.ends[setting] != 0, lambda o: 1 - o.accepted(0, setting))
    line("faults mended", faulty, lambda o: o.ends[setting] == 0, lambda o: o.accepted(0, setting))
    precision, calculated = found / max(found + lost, 1), found_ / max(found_ + lost_, 1e-9)
    lines.insert(1, ["precision of what is found", round(100 * precision, 2), round(100 * calculated, 2), ""])
    kept = [one for one in seen if one.ends[setting] is not None]
    right = sum(one.ends[setting] == 0 for one in kept)
    lines.append(["right, of all rows that are kept", round(100 * right / max(len(kept), 1), 2), "", ""])
    return lines


def by_fault(seen: Sequence[Seen], setting: Setting) -> list[list[object]]:
    """Of each kind of fault how many rows were accepted as they were shown, how many mended, how many rejected."""
    return [
        [
            fault or "none",
            len(own),
            sum(one.as_shown(setting) for one in own),
            sum(one.ends[setting] == 0 for one in own) if fault else "",
            sum(one.ends[setting] is None for one in own),
        ]
        for fault in (*(fault for fault, _ in SHARES), "")
        for own in [[one for one in seen if one.row.fault == fault]]
    ]


def show_planted(rows: Sequence[Planted], possible: Counter[str]) -> None:
    """How many rows have which fault."""
    show(
        f"{len(rows)} rows, of which faulty",
        ["fault", "possible in", "planted", "same answer as the truth on the source database"],
        [
            [fault, possible[fault], len(own), sum(row.alike for row in own)]
            for fault, _ in SHARES
            for own in [[row for row in rows if row.fault == fault]]
        ],
    )


def by_hardness(parts: Sequence[pl.DataFrame]) -> None:
    """Acceptance by hardness, of all parts together."""
    found = summed(parts).with_columns(pl.col("kept").round(3))
    show("By hardness", found.columns, [list(row) for row in found.rows()])


# --- a model -------------------------------------------------------------------------------------------------------


def _balanced(rows: Sequence[Planted], count: int) -> list[Planted]:
    """Half of them faulty, as many of each as the shares allow."""
    faulty = [row for row in rows if row.fault]
    good = [row for row in rows if not row.fault]
    return [*faulty[: count // 2], *good[: count - count // 2]]


def of_model(made: Sequence[Task], name: str, count: int) -> None:
    """One cycle: how many answers of a model agree, and what each k of n would find and lose."""
    from agro_train.agents.opening import open_agent  # loads torch
    from agro_train.solving import agent_solver

    settings, cache, sandbox = made[0].settings, made[0].cache, own_sandbox(LIMITS)
    asked = settings.asked
    every = [row for task in made for row in planted(task, sandbox)[0]]
    rows = _balanced(every, count)
    show_planted(rows, Counter())
    agent = open_agent(name, Path("models"), cache)
    solver = agent_solver(agent, sandbox, cache, samples=asked, seed=settings.seed)
    start = perf_counter()
    answers = solver.attempts([row.example for row in rows], 1)
    print(f"{len(rows)} rows, {asked} answers each, in {perf_counter() - start:.0f} s; {solver.facts}")
    ballots = vote([row.example for row in rows], answers, sandbox, GoldResults())
    meant = vote([replace(row.example, sql=row.truth, ordered=None) for row in rows], answers, sandbox, GoldResults())
    lines: list[list[object]] = []
    for need in range(1, asked + 1):
        passed = [ballot.votes >= need for ballot in ballots]
        found = sum(bool(row.fault) and not ok for row, ok in zip(rows, passed, strict=True))
        lost = sum(not row.fault and not ok for row, ok in zip(rows, passed, strict=True))
        faulty = sum(bool(row.fault) for row in rows)
        good = len(rows) - faulty
        right = sum(one.votes >= need for one in meant)
        lines.append(
            [f"{need} of {asked}", found, faulty, lost, good, round(100 * found / max(found + lost, 1), 1), right]
        )
    show(
        f"{agent.name} answers: rows by k",
        ["k", "faults found", "of", "good rows lost", "of", "precision, %", "rows where k answer what is meant"],
        lines,
    )
    own = sum(one.votes for one in meant) / sum(one.asked for one in meant)
    print(f"answers that are what question and evidence mean, on all instances: {100 * own:.1f} %")
    outcomes = [
        Aligned("verified" if b.votes else "rejected", row.example, (Cycle(row.example, b),))
        for row, b in zip(rows, ballots, strict=True)
    ]
    by_hardness([acceptance(outcomes)])


def _tell(one: Shard[Task, Part]) -> None:
    print(f"{len(one.answer.seen)} rows" if one.answer else one.error)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--accuracy", type=float, nargs="+", default=[0.5, 0.7, 0.9])
    parser.add_argument("--asked", type=int, default=5, help="answers a cycle: n")
    parser.add_argument("--need", type=int, default=3, help="of which so many must agree: k")
    parser.add_argument("--cycles", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model", default="", help="who answers instead of simulated solvers: a run, a folder, a URL")
    parser.add_argument("--split", default=None, help="take the rows of this split: with a model, one it has not seen")
    parser.add_argument("--sample", type=int, default=36, help="rows that a model is asked about, half of them faulty")
    a = parser.parse_args()
    print(description())
    settings = Settings(tuple(a.accuracy), tuple(a.cycles), a.asked, a.need, a.seed)
    made = tasks(open_version(a.version), a.databases, a.cache, a.rows, a.split, settings)
    if a.model:
        of_model(made, a.model, a.sample)
        return
    start = perf_counter()
    outcomes = run_shards(measure, made, a.workers, _tell)
    parts = [one.answer for one in outcomes if one.answer is not None]
    seen = [one for part in parts for one in part.seen]
    show_planted([one.row for one in seen], sum((part.possible for part in parts), Counter()))
    for setting in parts[0].acceptance:
        title = f"Accuracy {setting[0]:g}, {a.need} of {a.asked}, K = {setting[1]}"
        show(title, ["%", "measured", "calculated", "deviations"], figures(seen, setting))
        show("By fault", ["fault", "rows", "accepted as shown", "mended", "rejected"], by_fault(seen, setting))
        by_hardness([part.acceptance[setting] for part in parts])
    print(f"\n{perf_counter() - start:.0f} s with {a.workers} workers")


if __name__ == "__main__":
    from bench import alignment  # workers find what they run by its module's name, which is not __main__

    alignment.main()
