"""Verdicts a second through the sandbox: real predictions on many small instances a gold, golds cached.

python -m bench.verdicts ../shared/data/predictions/spider_dev --instances ../shared/data/spider_testsuite

A verdict is one prediction on at most `--most` files `INSTANCES/<db_id>/*.sqlite`, up to the first whose result has
another digest than the gold's. The bare loop does the same executions with `sqlite3` and nothing else, in this
process, right after, on connections that are open already. `verify.grade` gives whole grades: it also compares rows
where digests differ, reads nothing twice, and says what is wrong. CPU is of the process tree, so that a busy machine
can be told from a slow sandbox.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Limits, Trial, TrialResult
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many
from bench.parts.machine import Usage, description
from bench.parts.tables import show

DISTINCT = 0.95  # of the predictions of a run; the others occur twice
ROUNDS = 3
BARE = "bare sqlite3, one process"


@dataclass(frozen=True)
class Load:
    """The trials of one run, and the same predictions as cases to be graded."""

    trials: list[Trial]
    cases: list[Case]
    golds: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predictions", type=Path, help="folder of JSON files: db_id, gold, pred")
    parser.add_argument("--instances", type=Path, required=True, help="folder with <db_id>/*.sqlite")
    parser.add_argument("--most", type=int, default=10, help="instances a gold")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = measure(arguments.predictions, arguments.instances, arguments.most, arguments.seed)
    print(description())
    show(
        f"{found['verdicts']:,} verdicts, {found['executions']:,} executions, {arguments.most} instances a gold",
        ["way", "verdicts a second", "executions a second", "CPU a verdict, us", "time of the bare loop"],
        [
            [
                row["way"],
                row["verdicts_per_second"],
                row["executions_per_second"],
                row["cpu_microseconds"],
                row["ratio"],
            ]
            for row in found["ways"]
        ],
    )
    print(f"\nright: {found['right']:,} of {found['verdicts']:,}; golds: {found['golds']:,}")


def measure(predictions: Path, instances: Path, most: int, seed: int) -> dict[str, Any]:
    """Figures of the sandbox with one and two workers, and of the bare loop, each the median of its rounds."""
    with Sandbox(workers=2, limits=Limits(seconds=5.0)) as sandbox:
        load = _load(predictions, instances, most, seed, sandbox)
    seconds: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    golds = GoldResults()
    with (
        Sandbox(workers=1, limits=Limits(seconds=5.0)) as one,
        Sandbox(workers=2, limits=Limits(seconds=5.0)) as two,
        Usage(every=3600.0) as usage,
    ):
        one.run_until_different(load.trials)  # starts the worker, opens the files
        outcomes = two.run_until_different(load.trials)
        grade_many(load.cases, two, golds)
        bare = _Bare(load.trials, outcomes)
        ways: dict[str, Callable[[], object]] = {
            BARE: bare.run,
            "sandbox, one worker": lambda: one.run_until_different(load.trials),
            "sandbox, two workers": lambda: two.run_until_different(load.trials),
            "verify.grade, two workers": lambda: grade_many(load.cases, two, golds),
        }
        for _ in range(ROUNDS):
            for way, run in ways.items():
                before, start = usage.look().cpu_seconds, perf_counter()
                run()
                seconds.setdefault(way, []).append(perf_counter() - start)
                cpu.setdefault(way, []).append(usage.look().cpu_seconds - before)
        bare.close()
    middle = {way: statistics.median(values) for way, values in seconds.items()}
    executions = sum(_executions(outcome) for outcome in outcomes)
    return {
        "verdicts": len(load.trials),
        "golds": load.golds,
        "executions": executions,
        "right": sum(outcome.different is None for outcome in outcomes),
        "ways": [
            {
                "way": way,
                "verdicts_per_second": round(len(load.trials) / value),
                "executions_per_second": round(executions / value),
                "cpu_microseconds": round(1e6 * statistics.median(cpu[way]) / len(load.trials)),
                "ratio": round(value / middle[BARE], 2),
            }
            for way, value in middle.items()
        ],
    }


def _load(predictions: Path, instances: Path, most: int, seed: int, sandbox: Sandbox) -> Load:
    """Distinct (gold, prediction) pairs of the files, some of them twice, with the golds' digests as expected."""
    pairs = sorted(
        {
            (str(row["db_id"]), str(row["gold"]), str(row["pred"]))
            for file in sorted(predictions.glob("*.json"))
            for row in json.loads(file.read_text(encoding="utf-8"))
        }
    )
    again = random.Random(seed).sample(pairs, round(len(pairs) * (1 / DISTINCT - 1)))
    databases = {db_id: _instances(instances / db_id, most) for db_id in sorted({db_id for db_id, _, _ in pairs})}
    golds = sorted({(db_id, gold) for db_id, gold, _ in pairs})
    asked = [(database, gold) for db_id, gold in golds for database in databases[db_id]]
    results = iter(sandbox.run_many(asked))
    expected: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {}
    for db_id, gold in golds:
        ordered = _ordered(gold)
        answers = [next(results) for _ in databases[db_id]]
        if all(answer.ok for answer in answers):
            expected[db_id, gold] = tuple((a.digest_if(ordered),) for a in answers)
    asked_of = [row for row in sorted([*pairs, *again]) if row[:2] in expected]
    trials = [Trial(pred, databases[db], expected[db, gold], _ordered(gold)) for db, gold, pred in asked_of]
    cases = [Case(gold, pred, databases[db], _ordered(gold)) for db, gold, pred in asked_of]
    return Load(trials, cases, len(expected))


def _ordered(gold: str) -> bool:
    return "order by" in gold.lower()


def _instances(folder: Path, most: int) -> tuple[Database, ...]:
    files = sorted(folder.glob("*.sqlite"))[:most]
    if not files:
        raise SystemExit(f"{folder}: no *.sqlite file; --instances names a folder with <db_id>/*.sqlite")
    return tuple(
        Database(folder.name, "sqlite", "sqlite", file, sha256(file.read_bytes()).hexdigest(), file.name)
        for file in files
    )


def _executions(outcome: TrialResult) -> int:
    return outcome.agreed + (outcome.different is not None)


class _Bare:
    """The same statements on the same files, with nothing around them; those that fail there fail here."""

    def __init__(self, trials: Sequence[Trial], outcomes: Sequence[TrialResult]) -> None:
        files = sorted({database.path for trial in trials for database in trial.databases})
        self._open = {path: sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) for path in files}
        self._work = [
            (self._open[database.path], trial.sql)
            for trial, outcome in zip(trials, outcomes, strict=True)
            for database in trial.databases[: _executions(outcome)]
        ]

    def run(self) -> None:
        for connection, sql in self._work:
            with closing(connection.cursor()) as cursor:
                try:
                    cursor.execute(sql).fetchall()
                except (sqlite3.Error, sqlite3.Warning):
                    continue

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


if __name__ == "__main__":
    main()
