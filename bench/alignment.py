"""K-cycle Gen-as-Check on planted faults, with simulated solvers or with a model: what it finds, and what it loses.

python -m bench.alignment VERSION --databases ../shared/data/spider/database [--rows 2000] [--accuracy 0.5 0.7 0.9]

Of the first `--rows` rows of a corpus version 10 % get a gold that is a mutant, 10 % a question with one condition
altered, 5 % wrong evidence (`bench.planting`). Solvers see question and schema; `--need` of `--asked` answers must be
the gold's. Beside each measured figure stands what `agro_data.alignment.expected` calculates for these rows, and how
many standard deviations of the calculation lie between them. With `--model` a model answers about `--sample` of the
rows, half of them faulty, for one cycle.

found: a row that is not accepted as it was shown. lost: a good row of which anything else becomes. mended: a faulty row
that is accepted with what it means.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from time import perf_counter

from agro_data.alignment.agreement import vote
from agro_data.alignment.cycles import Cycle, Outcome, Rule, acceptance, check
from agro_data.alignment.example import Home
from agro_data.alignment.grouping import group
from agro_data.databases.catalog import find_databases
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Limits
from agro_data.profiling.cache import cached_profile
from agro_data.publish.read import open_version
from agro_data.verify.grade import GoldResults
from agro_data.verify.pool import LIMITS
from bench.machine import description
from bench.planting import Fault, Planted, plant, simulated, variants
from bench.tables import show

FAULTS: tuple[Fault, ...] = ("gold", "question", "evidence")
SANDBOX: Limits = LIMITS


def load(
    version: Path, databases: Path, cache: Path, count: int, sandbox: Sandbox, seed: int, split: str | None = None
) -> list[Planted]:
    """The first `count` rows of a version, or of a split of it, by id, with faults planted."""
    opened = open_version(version)
    frame = opened.examples(split).sort("example_id").head(count).collect()
    found = {database.db_id: database for database in find_databases(databases).databases}
    able: list[dict[Fault, Planted]] = []
    for (db_id,), own in sorted(frame.partition_by("db_id", as_dict=True).items()):
        database = found[str(db_id)]
        profile = cached_profile(database, cache / "profiles")
        names = own["instances"].explode().drop_nulls().to_list()
        home = Home.of(database, profile, opened.path / "instances", names)
        able += variants([home.example(row) for row in own.iter_rows(named=True)], profile, sandbox, seed)
    rows = plant(able, sandbox, seed)
    show(
        f"{len(rows)} of {frame.height} rows, of which faulty",
        ["fault", "possible in", "planted", "same answer as the truth on the source database"],
        [
            [fault, sum(fault in one for one in able), len(own), sum(row.alike for row in own)]
            for fault in FAULTS
            for own in [[row for row in rows if row.fault == fault]]
        ],
    )
    return rows


# --- what became of them -------------------------------------------------------------------------------------------


def became(rows: Sequence[Planted], outcomes: Sequence[Outcome], sandbox: Sandbox) -> list[int | None]:
    """Which answer each row was accepted with: a place in (truth, *wrong), -1 for any other, None for rejected."""
    kept = [place for place, one in enumerate(outcomes) if one.fate != "rejected"]
    asked = [
        (rows[place].example, [rows[place].truth, *rows[place].wrong, outcomes[place].example.sql]) for place in kept
    ]
    ended: list[int | None] = [None] * len(rows)
    for place, (_, answers), found in zip(kept, asked, group(asked, sandbox), strict=True):
        last = len(answers) - 1
        alike = next((one.members for one in found.groups if last in one.members), (last,))
        if outcomes[place].example.sql == rows[place].example.sql:
            ended[place] = -1 if rows[place].gold is None else rows[place].gold
        else:
            ended[place] = -1 if alike[0] == last else alike[0]
    return ended


def _accepted(row: Planted, place: int | None, accuracy: float, asked: int, need: int, cycles: int) -> float:
    """Calculated chance that a row is accepted with the answer at `place`."""
    return 0.0 if place is None else row.expected(accuracy, asked, need, cycles).accepted[place]


def within(outcomes: Sequence[Outcome], cycles: int) -> list[Outcome]:
    """What a loop of fewer cycles makes of the same answers: what is verified later it rejects."""
    return [
        one
        if len(one.history) <= cycles
        else Outcome("rejected", one.history[cycles - 1].example, one.history[:cycles])
        for one in outcomes
    ]


def measure(
    rows: Sequence[Planted],
    outcomes: Sequence[Outcome],
    accuracy: float,
    asked: int,
    need: int,
    cycles: int,
    sandbox: Sandbox,
) -> list[list[object]]:
    """One line a figure: measured, calculated, and the distance in standard deviations."""
    ended = became(rows, outcomes, sandbox)
    as_shown = [end == (-1 if row.gold is None else row.gold) for row, end in zip(rows, ended, strict=True)]
    lines: list[list[object]] = []

    def line(name: str, fault: bool, hits: Sequence[bool], chance: Callable[[Planted], float]) -> tuple[float, float]:
        own = [place for place, row in enumerate(rows) if bool(row.fault) == fault]
        chances = [chance(rows[place]) for place in own]
        got, want = sum(hits[place] for place in own), sum(chances)
        deviation = sqrt(sum(c * (1 - c) for c in chances))
        off = (got - want) / deviation if deviation > 1e-9 else 0.0
        lines.append([name, round(100 * got / len(own), 2), round(100 * want / len(own), 2), round(off, 2)])
        return got, want

    def kept(place: int | None) -> Callable[[Planted], float]:
        return lambda row: _accepted(row, place, accuracy, asked, need, cycles)

    found, found_ = line(
        "recall: faults found", True, [not same for same in as_shown], lambda row: 1 - kept(row.gold)(row)
    )
    lost, lost_ = line("good rows lost", False, [end != 0 for end in ended], lambda row: 1 - kept(0)(row))
    line("faults mended", True, [end == 0 for end in ended], kept(0))
    precision, calculated = found / max(found + lost, 1), found_ / max(found_ + lost_, 1e-9)
    lines.insert(1, ["precision of what is found", round(100 * precision, 2), round(100 * calculated, 2), ""])
    right = sum(end == 0 for end in ended) / max(sum(end is not None for end in ended), 1)
    lines.append(["right, of all rows that are kept", round(100 * right, 2), "", ""])
    return lines


def by_fault(rows: Sequence[Planted], outcomes: Sequence[Outcome]) -> list[list[object]]:
    """Of each kind of fault how many rows were accepted as they were shown, and how many rejected."""
    own: dict[str, list[Outcome]] = defaultdict(list)
    for row, outcome in zip(rows, outcomes, strict=True):
        own[row.fault or "none"].append(outcome)
    return [
        [
            fault,
            len(some),
            sum(o.fate == "verified" and not o.changed for o in some),
            sum(o.fate == "rejected" for o in some),
        ]
        for fault, some in own.items()
    ]


# --- a model -------------------------------------------------------------------------------------------------------


def _balanced(rows: Sequence[Planted], count: int) -> list[Planted]:
    """Half of them faulty, as many of each as the shares allow."""
    faulty = [row for row in rows if row.fault]
    good = [row for row in rows if not row.fault]
    return [*faulty[: count // 2], *good[: count - count // 2]]


def of_model(rows: Sequence[Planted], name: str, asked: int, cache: Path, sandbox: Sandbox, seed: int) -> None:
    """One cycle: how many answers of a model agree, and what each k of n would find and lose."""
    from agro_train.agents import open_agent  # loads torch
    from agro_train.solving import agent_solver

    agent = open_agent(name, Path("models"), cache)
    solver = agent_solver(agent, sandbox, cache, samples=asked, seed=seed)
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
        Outcome("verified" if b.votes else "rejected", row.example, (Cycle(row.example, b),))
        for row, b in zip(rows, ballots, strict=True)
    ]
    by_hardness(outcomes)


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
    with Sandbox(a.workers, SANDBOX) as sandbox:
        if a.model:
            rows = load(a.version, a.databases, a.cache, a.rows, sandbox, a.seed, a.split)
            of_model(_balanced(rows, a.sample), a.model, a.asked, a.cache, sandbox, a.seed)
            return
        start = perf_counter()
        rows = load(a.version, a.databases, a.cache, a.rows, sandbox, a.seed)
        print(f"planted in {perf_counter() - start:.0f} s")
        golds = GoldResults()
        for accuracy in a.accuracy:
            start = perf_counter()
            rule = Rule(a.need, max(a.cycles))
            whole = check(
                [row.example for row in rows], [simulated(rows, accuracy, a.asked, a.seed)], rule, sandbox, golds=golds
            )
            print(f"\naccuracy {accuracy:g}: checked in {perf_counter() - start:.0f} s")
            for cycles in a.cycles:
                outcomes = within(whole, cycles)
                lines = measure(rows, outcomes, accuracy, a.asked, a.need, cycles, sandbox)
                title = f"Accuracy {accuracy:g}, {a.need} of {a.asked}, K = {cycles}"
                show(title, ["%", "measured", "calculated", "deviations"], lines)
                show("By fault", ["fault", "rows", "accepted as shown", "rejected"], by_fault(rows, outcomes))
            by_hardness(whole)


def by_hardness(outcomes: Sequence[Outcome]) -> None:
    """Acceptance by hardness."""
    found = acceptance(outcomes)
    show(
        "By hardness",
        found.columns,
        [[round(c, 3) if isinstance(c, float) else c for c in row] for row in found.rows()],
    )


if __name__ == "__main__":
    main()
