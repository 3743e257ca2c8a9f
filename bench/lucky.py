"""Are predictions that match by luck caught? Instances made for each gold, judged against Spider's official verdicts.

python -m bench.lucky PREDICTIONS --databases DATABASES --pool [--report FILE]    (as `agro evaluate` makes them)
python -m bench.lucky PREDICTIONS --databases DATABASES --shared CORPUS [--golds 300]    (as a corpus has them)
python -m bench.lucky PREDICTIONS --databases DATABASES [--instances 10] [--random]    (as they are proposed)
python -m bench.lucky QUESTIONS.json --databases DATABASES --every 10    (can any gold have instances?)

PREDICTIONS is a folder of JSON files whose rows carry `db_id`, `gold`, `pred` and the official verdicts `spider_ex`
(match on the one database) and `spider_ts` (match on the test suite). Instances are made from the gold, its database
and the seed alone; the verdicts are only counted against. All comparison is Spider's own: without DISTINCT, columns
in any order, rows in order when "order by" stands in the gold.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from pathlib import Path
from time import process_time
from typing import Any

import polars as pl

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Limits, Result
from agro_data.evaluation.building import built
from agro_data.evaluation.official import spider_ordered, spider_prediction, spider_statement
from agro_data.hashing import seed_of
from agro_data.populate.instances import focus_of, instance_schema, instances, random_rows
from agro_data.populate.schema import PopulateError, Rows, Schema
from agro_data.populate.writer import write_sqlite
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.profile import DatabaseProfile
from agro_data.publish.read import open_version
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.stages.certifying import BATCH, BATCHES, SHARE
from agro_data.verify.certificates.budget import Budget
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import LIMITS as POOL_LIMITS
from agro_data.verify.chance.ties import chance_in, probes_of
from agro_data.verify.equivalence import Mode, compare
from agro_data.verify.ordering import order_keys
from bench.parts.machine import cpu_seconds
from bench.parts.tables import show

TRIES = 3  # proposals for each instance that is wanted
TOGETHER = 16  # golds whose statements are run in one call
LIMITS = Limits(seconds=60.0, steps=20_000_000)  # the steps decide: a busy machine changes nothing
MODES: tuple[Mode, ...] = ("spider", "strict", "intent")
CURVE = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30)


@dataclass
class Prediction:
    """A distinct (gold, prediction) and how often it stands in the files. `caught` is the number of the first
    instance that tells it apart from the gold, by mode; absent if none does.
    """

    sql: str
    suite: bool
    count: int
    caught: dict[Mode, int] = field(default_factory=dict)
    shown: str = ""


@dataclass
class Gold:
    """A distinct gold, its predictions that match on the single database, and what its instances were."""

    db_id: str
    sql: str
    predictions: list[Prediction]
    found: Resolution | None = None
    valid: list[Database] = field(default_factory=list)
    filled: int = 0  # valid instances on which the gold gives rows
    why: str = ""  # why none is valid


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=10, help="valid instances a gold, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--random", action="store_true", help="beside it: random rows with the query's literals")
    parser.add_argument("--pool", action="store_true", help="the instances of `agro evaluate` without --instances")
    parser.add_argument(
        "--shared", type=Path, help="a corpus whose golds share a corpus' files with those of PREDICTIONS"
    )
    parser.add_argument("--golds", type=int, default=300, help="golds of that corpus a database, at most")
    parser.add_argument("--only", nargs="+", help="use only these databases")
    parser.add_argument("--report", type=Path, help="JSON file for every missed pair and every false alarm")
    parser.add_argument("--every", type=int, default=1, help="of a file of questions: every so many golds")
    arguments = parser.parse_args()
    if arguments.predictions.is_file():
        print_robustness(arguments.predictions, arguments.databases, arguments.every, arguments.seed)
        return
    ways = ("directed", "random") if arguments.random else ("directed",)
    if arguments.pool or arguments.shared:
        ways = ("pool",) * arguments.pool + ("shared",) * (arguments.shared is not None)
    report: dict[str, Any] = {}
    for way in ways:
        golds = [g for g in read(arguments.predictions) if not arguments.only or g.db_id in arguments.only]
        if way == "pool":
            seconds = measure_pool(golds, arguments.databases, arguments.seed)
        elif way == "shared":
            seconds = measure_shared(golds, arguments.databases, arguments.shared, arguments.golds, arguments.seed)
        else:
            seconds = measure(golds, arguments.databases, arguments.instances, arguments.seed, way)
        print_figures(way, golds, arguments.instances, seconds)
        report[way] = disagreements(golds)
    if arguments.report:
        arguments.report.write_text(json.dumps(report, indent=1), encoding="utf-8")


def read(folder: Path) -> list[Gold]:
    """The distinct golds with their distinct predictions that match on the single database."""
    counts: Counter[tuple[str, str, str, bool]] = Counter()
    for file in sorted(folder.glob("*.json")):
        for row in json.loads(file.read_text(encoding="utf-8")):
            if row["spider_ex"]:
                counts[row["db_id"], row["gold"], row["pred"], bool(row["spider_ts"])] += 1
    golds: dict[tuple[str, str], Gold] = {}
    for (db_id, gold, pred, suite), count in sorted(counts.items()):
        one = golds.setdefault((db_id, gold), Gold(db_id, gold, []))
        one.predictions.append(Prediction(pred, suite, count))
    return list(golds.values())


def measure(golds: Sequence[Gold], databases: Path, wanted: int, seed: int, way: str) -> float:
    """Make instances for every gold and look which predictions they tell apart. Gives the CPU seconds of making."""
    found = {database.db_id: database for database in find_databases(databases).databases}
    golds = [gold for gold in golds if gold.db_id in found]
    spent = 0.0
    with tempfile.TemporaryDirectory() as place, Sandbox(workers=2, limits=LIMITS) as sandbox:
        profiles = {d: cached_profile(found[d], Path(place) / "profiles") for d in sorted({g.db_id for g in golds})}
        for start in range(0, len(golds), TOGETHER):
            part = golds[start : start + TOGETHER]
            tried: list[tuple[Gold, list[Database]]] = []
            for number, gold in enumerate(part, start):
                began = process_time()
                folder = Path(place) / str(number)
                tried.append((gold, make(gold, profiles[gold.db_id], folder, wanted, seed, way)))
                spent += process_time() - began
            keep_valid(tried, sandbox, wanted)
            grade(part, sandbox)
    return spent


def measure_pool(golds: Sequence[Gold], databases: Path, seed: int) -> float:
    """The instances that the evaluator builds for these golds. Gives the CPU seconds of building."""
    found = {database.db_id: database for database in find_databases(databases).databases}
    by_database: dict[Database, list[str]] = {}
    for gold in golds:
        by_database.setdefault(found[gold.db_id], []).append(gold.sql)
    before = cpu_seconds()
    with tempfile.TemporaryDirectory() as place:
        made = built(by_database, Path(place), workers=1, seed=seed)
        seconds = cpu_seconds() - before
        for note in made.notes:
            print(note)
        for gold in golds:
            gold.valid = list(made.of(gold.db_id, gold.sql, ""))
        grade_all(golds)
    return seconds


def measure_shared(golds: Sequence[Gold], databases: Path, corpus: Path, most: int, seed: int) -> float:
    """Instances as `build_corpus` makes them, shared by these golds and `most` of a corpus. Gives the CPU seconds of
    making them, for as many golds as these are.
    """
    examples = open_version(corpus).examples().select("db_id", "sql").unique(maintain_order=True).collect()
    certified = 0
    before = cpu_seconds()
    with tempfile.TemporaryDirectory() as place:
        for database in find_databases(databases).databases:
            mine = [gold for gold in golds if gold.db_id == database.db_id]
            if not mine:
                continue
            others = examples.filter(pl.col("db_id") == database.db_id)["sql"].to_list()[:most]
            every = list(dict.fromkeys([*(gold.sql for gold in mine), *others]))
            certified += len(every)
            random.Random(seed).shuffle(every)
            profile = cached_profile(database, Path(place) / "profiles")
            batches = min(max(ceil(len(every) / BATCH), 1), BATCHES)
            part = (1 - 1 / SHARE) / batches
            budget = Budget().part(part)
            for number in range(batches):
                with Sandbox(workers=1, limits=POOL_LIMITS) as sandbox:
                    folder = Path(place) / database.db_id
                    own = seed_of(seed, database.db_id, number)
                    batch = every[number::batches]
                    certifier = Certifier(database, profile, sandbox, folder, own, budget, f"0{number}-")
                    pool = certifier.certify(batch)
                held = {certificate.sql: pool.databases(certificate) for certificate in pool.certificates}
                for gold in mine:
                    gold.valid = held.get(gold.sql, gold.valid)
        spent = (cpu_seconds() - before) * len(golds) / max(certified, 1)
        grade_all(golds)
    return spent


def grade_all(golds: Sequence[Gold]) -> None:
    """Grade, a few golds at a time."""
    with Sandbox(workers=2, limits=LIMITS) as sandbox:
        for start in range(0, len(golds), TOGETHER):
            grade(golds[start : start + TOGETHER], sandbox)
    for gold in golds:
        gold.filled = len(gold.valid)


def make(gold: Gold, profile: DatabaseProfile, folder: Path, wanted: int, seed: int, way: str) -> list[Database]:
    """Files of proposed instances, more than are wanted because some will not be valid."""
    try:
        tree = parse_select(spider_statement(gold.sql), "sqlite")
    except SqlRefused as refused:
        gold.why = str(refused)
        return []
    gold.found = resolve(tree, "sqlite", profile.schema)
    chance = chance_in(gold.found)
    if gold.found.problems or chance is not None:
        gold.why = gold.found.problems[0][1] if gold.found.problems else chance.detail if chance else ""
        return []
    schema = instance_schema(profile)
    own = seed_of(seed, gold.db_id, gold.sql)
    out = []
    for number, rows in enumerate(islice(proposals(gold.found, schema, profile, own, way), wanted * TRIES)):
        name = f"{number:02d}"
        try:
            path = write_sqlite(schema, rows, folder / f"{name}.sqlite")
        except PopulateError as error:
            gold.why = str(error)
            continue
        out.append(Database(gold.db_id, "sqlite", "sqlite", path, f"{folder.name}-{name}", path.name))
    return out


def proposals(found: Resolution, schema: Schema, profile: DatabaseProfile, seed: int, way: str) -> Iterator[Rows]:
    """Rows of one instance after another: directed by the query, or random ones that know its literals."""
    if way == "directed":
        yield from instances(found, schema, profile, seed)
    number = 0
    while True:
        yield random_rows(schema, profile, seed_of(seed, number), 20, focus_of(found, schema))
        number += 1


def keep_valid(tried: Sequence[tuple[Gold, list[Database]]], sandbox: Sandbox, wanted: int) -> None:
    """Of the instances tried, the first on which the gold answers and its answer is not open to chance."""
    asked: list[tuple[Database, str]] = []
    for gold, databases in tried:
        if gold.found is not None:
            statements = [spider_statement(gold.sql), *(probe.sql for probe in probes_of(gold.found, "sqlite"))]
            asked += [(database, sql) for database in databases for sql in statements]
    results = iter(sandbox.run_many(asked, want="rows"))
    for gold, databases in tried:
        if gold.found is None:
            continue
        probes = probes_of(gold.found, "sqlite")
        full: list[Database] = []
        empty: list[Database] = []
        reasons: Counter[str] = Counter()
        for database in databases:
            said, *judged = [next(results) for _ in range(1 + len(probes))]
            doubts = [probe.judge(r.rows) if r.ok else r.error for probe, r in zip(probes, judged, strict=True)]
            doubt = next((d for d in doubts if d), "") if said.ok else said.error
            if doubt:
                reasons[doubt] += 1
            else:
                (full if _says_something(said) else empty).append(database)
        gold.filled = min(len(full), wanted)
        gold.valid = [*full[:2], *empty[:1], *full[2:]][:wanted]
        if not gold.valid:
            gold.why = gold.why or str(reasons.most_common(1))


def _says_something(said: Result) -> bool:
    return said.row_count > 0 and not said.all_null and said.rows != ((0,),)


def grade(golds: Sequence[Gold], sandbox: Sandbox) -> None:
    """Note for each prediction the first instance that tells it apart."""
    asked: list[tuple[Database, str]] = []
    for gold in golds:
        for database in gold.valid:
            asked.append((database, spider_statement(gold.sql)))
            asked += [(database, spider_statement(spider_prediction(p.sql))) for p in gold.predictions]
    results = iter(sandbox.run_many(asked, want="rows"))
    for gold in golds:
        ordered, keys = spider_ordered(gold.sql), order_keys(gold.sql, "sqlite")
        for number, database in enumerate(gold.valid, 1):
            right = next(results)
            if not right.ok:
                print(f"{database.relative_path}: the gold fails where it ran before: {right.status} {right.error}")
            for prediction in gold.predictions:
                said = next(results)
                if not right.ok:
                    continue
                for mode in MODES:
                    if mode in prediction.caught:
                        continue
                    same = said.ok and compare(mode, right.rows, said.rows, ordered=ordered, keys=keys).equal
                    if not same:
                        prediction.caught[mode] = number
                        if mode == "spider":
                            prediction.shown = _shown(database, right, said)


def _shown(database: Database, right: Result, said: Result) -> str:
    """What gold and prediction answer on the instance that tells them apart, and its rows."""
    import sqlite3  # the instance is ours: no foreign SQL is run

    con = sqlite3.connect(database.path)
    names = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    rows = {name: con.execute(f'SELECT * FROM "{name}" LIMIT 40').fetchall() for name in names}
    con.close()
    return f"gold {right.rows[:8]} | prediction {said.rows[:8] if said.ok else said.error} | {rows}"


# --- figures -----------------------------------------------------------------------------------------------------


def print_figures(way: str, golds: Sequence[Gold], wanted: int, seconds: float) -> None:
    """The curve over the number of instances, by database, and what instances cost."""
    every = [(gold, prediction) for gold in golds for prediction in gold.predictions]
    lucky = [(g, p) for g, p in every if not p.suite]
    right = [(g, p) for g, p in every if p.suite]

    def line(name: object, some: Sequence[tuple[Gold, Prediction]], n: int, mode: Mode) -> list[Any]:
        lucky, right = [p for _, p in some if not p.suite], [p for _, p in some if p.suite]
        caught = [p for p in lucky if p.caught.get(mode, n + 1) <= n]
        wrong = [p for p in right if p.caught.get(mode, n + 1) <= n]
        return [
            name, mode, sum(p.count for p in caught), _share(sum(p.count for p in caught), sum(p.count for p in lucky)),
            len(caught), _share(len(caught), len(lucky)),
            sum(p.count for p in wrong), _share(sum(p.count for p in wrong), sum(p.count for p in right)),
            len(wrong), _share(len(wrong), len(right)),
        ]  # fmt: skip

    columns = ["", "mode", "caught", "%", "distinct", "%", "false alarms", "%", "distinct", "%"]
    total = sum(p.count for _, p in lucky), len(lucky), sum(p.count for _, p in right), len(right)
    title = "{}: {} lucky ({} distinct), {} suite-correct ({} distinct)".format(way, *total)
    steps = [n for n in CURVE if n <= wanted]
    show(title + ", by number of instances", columns, [line(n, every, n, mode) for mode in MODES for n in steps])
    by_database = {db_id: [(g, p) for g, p in every if g.db_id == db_id] for db_id in sorted({g.db_id for g in golds})}
    show(f"{way}: by database", columns, [line(d, some, wanted, "spider") for d, some in by_database.items()])
    valid = [len(gold.valid) for gold in golds]
    show(
        f"{way}: instances",
        ["figure", "measured"],
        [
            ["golds", len(golds)],
            ["with all that was wanted", sum(v >= wanted for v in valid)],
            ["with at least 3 that give rows", sum(gold.filled >= 3 for gold in golds)],
            ["with none", sum(v == 0 for v in valid)],
            ["instances a gold, mean", round(sum(valid) / max(len(valid), 1), 1)],
            [
                f"CPU ms a gold to make {f'{wanted * TRIES}' if way in ('directed', 'random') else 'them'}",
                round(1000 * seconds / max(len(golds), 1), 1),
            ],
        ],
    )
    for gold in golds:
        if not gold.valid:
            print(f"none: {gold.db_id}: {gold.why}: {gold.sql}")


def _share(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


def print_robustness(questions: Path, databases: Path, every: int, seed: int) -> None:
    """Over the golds of a file of questions: how many have instances on which they give rows and leave nothing open."""
    asked = json.loads(questions.read_text(encoding="utf-8"))
    pairs = sorted({(str(row["db_id"]), str(row["query"])) for row in asked})[::every]
    golds = [Gold(db_id, sql, []) for db_id, sql in pairs]
    seconds = measure(golds, databases, 5, seed, "directed")
    filled = [gold.filled for gold in golds]
    show(
        f"Golds of {questions.name}, one in {every}: of {5 * TRIES} proposed instances",
        ["figure", "measured"],
        [
            ["golds", len(golds)],
            ["with 3 instances that are valid and give rows", sum(count >= 3 for count in filled)],
            ["share, %", _share(sum(count >= 3 for count in filled), len(golds))],
            ["with one", sum(count >= 1 for count in filled)],
            ["CPU ms an instance", round(1000 * seconds / max(len(golds) * 5 * TRIES, 1), 2)],
        ],
    )
    for gold in golds:
        if gold.filled < 3:
            print(f"{gold.filled} valid: {gold.db_id}: {gold.why}: {gold.sql}")


def disagreements(golds: Sequence[Gold]) -> dict[str, list[dict[str, Any]]]:
    """Missed pairs and false alarms, those that stand most often in the files first."""
    out: dict[str, list[dict[str, Any]]] = {"missed": [], "false_alarm": []}
    for gold in golds:
        for p in gold.predictions:
            if p.suite == ("spider" in p.caught):
                entry = {
                    "db_id": gold.db_id,
                    "gold": gold.sql,
                    "pred": p.sql,
                    "count": p.count,
                    "valid": len(gold.valid),
                }
                out["false_alarm" if p.suite else "missed"].append({**entry, "shown": p.shown})
    for entries in out.values():
        entries.sort(key=lambda e: -e["count"])
    return out


if __name__ == "__main__":
    main()
