"""How often answers are right that findings speak against, and those that none does:
`python -m bench.speaks_against PATH... --databases PATH`.

Each PATH is a file of predictions as JSON with `pred`, `db_id`, `question` and a verdict (`--verdict`), or a folder
that `agro_train.evaluate` wrote, whose strict verdicts are taken. No gold is looked at but for the verdict: this is
what `agro ask` can know of an answer. Intervals draw databases.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.evaluation.loaded import Pair
from agro_data.evaluation.statistics import spelled, summary
from agro_data.evaluation.verdict import Verdict
from agro_data.pairs.checking import check_pairs
from agro_data.pairs.finding import KINDS, Finding, gravity
from agro_data.pairs.verify import SOURCE
from agro_data.profiling.cache import cached_profile
from bench.constants import verdicts
from bench.parts.tables import show

APART = 0.05
LEVELS = ("nothing", "notes and guesses", "something certain and grave")  # by `gravity`
FAILS = {"not_a_query", "syntax", "unknown_name", "does_not_run", "over_limit"}
GIVES_NOTHING = FAILS | {"empty", "null_only", "zero"}


@dataclass(frozen=True)
class Told:
    """An answer, whether it is right, and what is found of it without its gold."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()

    @property
    def kinds(self) -> set[str]:
        return {one.kind for one in self.findings}

    @property
    def level(self) -> str:
        return LEVELS[gravity(self.findings)]


def main() -> None:
    parser = argparse.ArgumentParser(description="How often answers are right that findings speak against.")
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--verdict", default="spider_ts", help="field of a file of predictions")
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    given = parser.parse_args()
    answers = {name: some for path in given.paths for name, some in read(path, given.verdict)}
    told = look(answers, given.databases, given.cache)
    every = [one for some in told.values() for one in some]
    rows = [[name, *_cells(some)] for name, some in told.items()]
    show("Right, by what speaks against it", ["answers", "all", *LEVELS], [*rows, ["all", *_cells(every)]])
    ways: dict[str, Callable[[Told], bool]] = {
        "runs": lambda one: not FAILS & one.kinds,
        "runs, and gives something": lambda one: not GIVES_NOTHING & one.kinds,
        "nothing speaks against it": lambda one: not one.findings,
    }
    kept = [
        [way, *_told_apart(told, keeps), _share([one for one in every if keeps(one)])] for way, keeps in ways.items()
    ]
    title = f"Those that are right more often told apart without golds, {len(told)} by the share of answers of which"
    show(title, ["that holds", "rank correlation", f"in order, of pairs {100 * APART:g} points apart", "right"], kept)
    by: dict[str, list[Told]] = defaultdict(list)
    for one in every:
        for kind in {finding.kind for finding in one.findings}:
            by[kind].append(one)
    shown = [[kind, KINDS[kind].severity, len(some), _share(some)] for kind, some in sorted(by.items(), key=_by_number)]
    show("Right, by finding", ["finding", "severity", "answers", "right"], shown)


def _told_apart(told: Mapping[str, Sequence[Told]], keeps: Callable[[Told], bool]) -> tuple[str, str]:
    """Whether those that are right more often have more answers that are kept."""
    right = [mean(one.verdict.score for one in some) for some in told.values()]
    kept = [sum(map(keeps, some)) / len(some) for some in told.values()]
    found = pl.DataFrame({"right": right, "kept": kept}).select(pl.corr("right", "kept", method="spearman")).item()
    pairs = [(a, b) for a, b in combinations(range(len(told)), 2) if abs(right[a] - right[b]) >= APART]
    same = sum((right[a] - right[b]) * (kept[a] - kept[b]) > 0 for a, b in pairs)
    return f"{found:.2f}", f"{same} of {len(pairs)}"


def read(path: Path, field: str) -> Iterator[tuple[str, list[Verdict]]]:
    """Answers with their verdicts, by name; questions without an answer are left out."""
    if path.is_file():
        rows = json.loads(path.read_text(encoding="utf-8"))
        yield path.stem, [_verdict(row, field) for row in rows if row["pred"]]
        return
    for name, found in verdicts(path).items():
        yield f"{path.name}, {name}", [one for one in found if one.pred]


def look(answers: dict[str, list[Verdict]], databases: Path, cache: Path) -> dict[str, list[Told]]:
    """Check all answers, database by database."""
    asked: dict[str, dict[Pair, None]] = defaultdict(dict)
    for some in answers.values():
        for one in some:
            asked[one.db_id][_pair(one)] = None
    found: dict[Pair, tuple[Finding, ...]] = {}
    with Sandbox(2, SOURCE) as sandbox:
        for database in find_databases(databases).databases:
            pairs = [*asked.get(database.db_id, ())]
            if pairs:
                checked = check_pairs(database, cached_profile(database, cache / "profiles"), pairs, sandbox)
                found |= dict(zip(pairs, checked.findings, strict=True))
    return {name: [Told(one, found[_pair(one)]) for one in some] for name, some in answers.items()}


def _pair(one: Verdict) -> Pair:
    return Pair("", one.db_id, one.question, one.pred)


def _verdict(row: Mapping[str, Any], field: str) -> Verdict:
    return Verdict("", row["db_id"], row["question"], gold=row["gold"], pred=row["pred"], score=float(row[field]))


def _cells(some: Sequence[Told]) -> list[str]:
    return [_share(some), *(_share([one for one in some if one.level == level]) for level in LEVELS)]


def _share(some: Sequence[Told]) -> str:
    if not some:
        return "-"
    found = summary("strict", [one.verdict for one in some])
    bounds = spelled(found["interval_drawing_databases"], "{:.0%}, {:.0%}")
    return f"{100 * found['score']['mean']:.1f} % [{bounds}] of {len(some):,}"


def _by_number(item: tuple[str, Sequence[Told]]) -> tuple[int, str]:
    return -len(item[1]), item[0]


if __name__ == "__main__":
    main()
