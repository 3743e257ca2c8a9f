"""Are mutants that a proof calls equivalent equivalent? They are run on instances, and a sample is drawn to be read.

python -m bench.equivalents ../shared/data/spider/train.json --databases ../shared/data/spider/database --draw 150
python -m bench.equivalents <out>/<corpus>/<version> --databases ../shared/data/spider/database --draw 150

Gold and mutant must agree on every instance: random ones of the database, and ones directed at the pair. Where they
differ only because the gold's own answer is open to chance there (a tie, as `verify.chance.ties` finds it), the pair is
counted apart. The pairs drawn, spread over rules and databases, are printed for a person to judge, each with what the
schema promises of the columns it names. `--only-draw` runs nothing. `--recorded` draws from what the certificates of
a corpus version call equivalent, and says which of these the proofs of today no longer do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from sqlglot import exp

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import folded
from agro_data.databases.types import Database, Layout, Limits
from agro_data.hashing import seed_of
from agro_data.populate.instances import instance_schema, instances, random_rows
from agro_data.populate.schema import PopulateError, Schema
from agro_data.populate.writer import write_duckdb, write_sqlite
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.equivalence import strict
from agro_data.verify.mutants import Mutant, mutants_of
from agro_data.verify.proofs import proved_equivalent
from bench.parts.chance import by_chance

RANDOM = 6  # random instances of a database
DIRECTED = 3  # instances directed at one pair
ROWS = 30


@dataclass(frozen=True)
class Pair:
    """A mutant that is called equivalent, and the rule that says so."""

    db_id: str
    gold: str
    mutant: Mutant
    rule: str
    promised: str  # what the schema says of the columns in it


def main() -> None:
    """Print figures as JSON, then the pairs drawn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path, help="a JSON file as Spider's, or the folder of a corpus version")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--draw", type=int, default=300)
    parser.add_argument("--only-draw", action="store_true", help="print the pairs, run nothing")
    parser.add_argument("--recorded", action="store_true", help="what a corpus version's certificates call equivalent")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--golds", type=int, default=0, help="only so many golds, drawn by the seed (0: all)")
    arguments = parser.parse_args()
    if arguments.recorded:
        figures, pairs = recorded(arguments.questions, arguments.databases, arguments.draw, arguments.seed)
    else:
        golds = golds_of(arguments.questions)
        if arguments.golds:
            golds = sorted(Random(arguments.seed).sample(golds, min(arguments.golds, len(golds))))
        figures, pairs = measure(golds, arguments.databases, arguments.seed, run=not arguments.only_draw)
        pairs = drawn(pairs, arguments.draw, arguments.seed)
    print(json.dumps(figures, indent=1))
    for number, pair in enumerate(pairs, 1):
        print(f"\n{number}. {pair.db_id} [{pair.rule}] {pair.mutant.kind}: {pair.mutant.what}")
        print(f"   gold:   {' '.join(pair.gold.split())}\n   mutant: {pair.mutant.sql}\n   schema: {pair.promised}")


def golds_of(source: Path) -> list[tuple[str, str]]:
    """(db_id, SQL) of a JSON file of questions or of a corpus version, none twice, sorted."""
    if source.is_dir():
        frame = pl.read_parquet(source / "data" / "*.parquet", columns=["db_id", "sql"])
        return sorted(set(frame.iter_rows()))
    asked = json.loads(source.read_text(encoding="utf-8"))
    return sorted({(str(row["db_id"]), str(row.get("query") or row["sql"])) for row in asked})


def recorded(version: Path, databases: Path, most: int, seed: int) -> tuple[dict[str, Any], list[Pair]]:
    """Figures, and pairs drawn, of the mutants that a corpus version records as equivalent; they are made again."""
    rows = pl.read_parquet(version / "data" / "*.parquet", columns=["example_id", "db_id", "sql"])
    certified = pl.read_parquet(version / "instances" / "mutants.parquet").filter(pl.col("outcome") == "equivalent")
    joined = certified.join(rows.rename({"sql": "gold"}), on="example_id").sort("db_id", "gold", "kind", "what")
    pairs = [
        Pair(row["db_id"], row["gold"], Mutant(row["kind"], row["what"], ""), row["by"], "")
        for row in joined.iter_rows(named=True)
    ]
    found = {database.db_id: database for database in find_databases(databases).databases}
    schemas: dict[str, tuple[DatabaseProfile, Schema]] = {}
    read, refuted = [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in drawn(pairs, most, seed):
            if pair.db_id not in schemas:
                profile = cached_profile(found[pair.db_id], Path(folder))
                schemas[pair.db_id] = profile, instance_schema(profile)
            profile, schema = schemas[pair.db_id]
            gold = resolve(parse_select(pair.gold, profile.dialect), profile.dialect, profile.schema)
            made = mutants_of(gold, profile.dialect, profile.schema, profile.with_nulls)
            same = [mutant for mutant in made if (mutant.kind, mutant.what) == (pair.mutant.kind, pair.mutant.what)]
            for mutant in same[:1]:  # none: made by an earlier state of the code
                other = resolve(parse_select(mutant.sql, profile.dialect), profile.dialect, profile.schema)
                read.append(replace(pair, mutant=mutant, promised=promised(gold, other, schema)))
                if proved_equivalent(pair.gold, mutant.sql, profile.dialect, schema) is None:
                    refuted.append(mutant.sql)
    rules = Counter(pair.rule for pair in pairs)
    return {"recorded": len(pairs), "rules": dict(rules.most_common()), "no_longer_proved": refuted}, read


def drawn(pairs: list[Pair], most: int, seed: int) -> list[Pair]:
    """Pairs in turn from every rule, and within a rule from every database, so that rare rules are seen, too."""
    shuffled = Random(seed).sample(pairs, len(pairs))
    turns: Counter[tuple[str, str]] = Counter()
    placed = []
    for pair in shuffled:
        placed.append((turns[pair.rule, pair.db_id], pair))
        turns[pair.rule, pair.db_id] += 1
    rules: Counter[str] = Counter()
    ranked = []
    for _, pair in sorted(placed, key=lambda one: one[0]):
        ranked.append((rules[pair.rule], pair))
        rules[pair.rule] += 1
    return [pair for _, pair in sorted(ranked, key=lambda one: one[0])[:most]]


def promised(found: Resolution, other: Resolution, schema: Schema) -> str:
    """What a proof may use: keys, NOT NULL and foreign keys of the tables in two queries, columns named or in keys."""
    names = {source.table for tree in (found, other) for scope in tree.scopes for source in scope.sources}
    named = {folded(column.name) for tree in (found, other) for column in tree.tree.find_all(exp.Column)}
    tables = [table for table in schema.tables if table.name in names]
    said = []
    for table in tables:
        columns = [
            f"{column.name}{'?' if column.nullable else ''} {column.kind}"
            for column in table.columns
            if folded(column.name) in named
        ]
        keys = [f"unique({', '.join(key)})" for key in table.keys if key]
        said.append(f"{table.name}: {', '.join([*columns, *keys])}")
    said += [
        f"{key.table}({', '.join(key.columns)}) -> {key.ref_table}({', '.join(key.ref_columns)})"
        for key in schema.foreign_keys
        if {key.table, key.ref_table} <= {table.name for table in tables}
    ]
    return "; ".join(said)


def measure(
    golds: list[tuple[str, str]], databases: Path, seed: int, run: bool = True
) -> tuple[dict[str, Any], list[Pair]]:
    """Figures, and all pairs called equivalent; with `run` they are compared on instances."""
    found = {database.db_id: database for database in find_databases(databases).databases}
    pairs: list[Pair] = []
    wrong: list[dict[str, str]] = []
    counts: Counter[str] = Counter()
    mutants: list[int] = []
    milliseconds: list[float] = []
    proving: list[float] = []
    with tempfile.TemporaryDirectory() as folder, Sandbox(workers=2, limits=Limits(seconds=5.0)) as sandbox:
        for db_id in sorted({db_id for db_id, _ in golds}):
            profile = cached_profile(found[db_id], Path(folder) / "profiles")
            schema = instance_schema(profile)
            mine: list[Pair] = []
            for gold in (sql for name, sql in golds if name == db_id):
                tree = resolve(parse_select(gold, profile.dialect), profile.dialect, profile.schema)
                start = time.process_time()
                made = mutants_of(tree, profile.dialect, profile.schema, profile.with_nulls)
                milliseconds.append(1000 * (time.process_time() - start))
                mutants.append(len(made))
                start = time.process_time()
                rules = [proved_equivalent(gold, mutant.sql, profile.dialect, schema) for mutant in made]
                proving.append(1000 * (time.process_time() - start) / max(len(made), 1))
                for mutant, rule in zip(made, rules, strict=True):
                    if rule is not None:
                        other = resolve(parse_select(mutant.sql, profile.dialect), profile.dialect, profile.schema)
                        mine.append(Pair(db_id, gold, mutant, rule, promised(tree, other, schema)))
            place = Path(folder) / db_id
            if run:
                wrong += _executed(mine, found[db_id], profile, schema, sandbox, place, seed, counts)
            pairs += mine
    return {
        "golds": len(mutants),
        "mutants": sum(mutants),
        "mutants_median": statistics.median(mutants),
        "mutants_cpu_ms_median": round(statistics.median(milliseconds), 2),
        "proof_cpu_ms_a_mutant_median": round(statistics.median(proving), 3),
        "called_equivalent": len(pairs),
        "rules": dict(Counter(pair.rule for pair in pairs).most_common()),
        "kinds": dict(Counter(pair.mutant.kind for pair in pairs).most_common()),
        **counts,
        "disagreements": len(wrong),
        "shown": wrong[:20],
    }, pairs


def _executed(
    pairs: list[Pair],
    source: Database,
    profile: DatabaseProfile,
    schema: Schema,
    sandbox: Sandbox,
    folder: Path,
    seed: int,
    counts: Counter[str],
) -> list[dict[str, str]]:
    """Pairs that disagree on an instance where the gold's answer is not open to chance."""
    write = write_sqlite if profile.dialect == "sqlite" else write_duckdb
    made: list[Database] = []

    def instance(rows: Any) -> Database | None:
        name = f"{len(made)}.{profile.dialect}"
        try:
            path = write(schema, rows, folder / name)
        except PopulateError:
            counts["instances_refused"] += 1
            return None
        digest = f"{seed_of(str(folder), name):064x}"
        layout: Layout = "sqlite" if profile.dialect == "sqlite" else "duckdb"
        made.append(replace(source, path=path, layout=layout, content_hash=digest, relative_path=name))
        return made[-1]

    common = [
        instance(random_rows(schema, profile, seed_of(seed, number), ROWS)) for number in range(RANDOM if pairs else 0)
    ]
    work: list[tuple[Pair, Database]] = []
    trees: dict[str, Resolution] = {}

    def tree(sql: str) -> Resolution:
        if sql not in trees:
            trees[sql] = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
        return trees[sql]

    for pair in pairs:
        directed = instances(tree(pair.gold), schema, profile, seed, tree(pair.mutant.sql))
        places = [*common, *(instance(rows) for rows in islice(directed, DIRECTED))]
        work += [(pair, place) for place in places if place is not None]
    golds = sandbox.run_many([(place, pair.gold) for pair, place in work], want="rows")
    others = sandbox.run_many([(place, pair.mutant.sql) for pair, place in work], want="rows")
    wrong = []
    for (pair, place), gold, other in zip(work, golds, others, strict=True):
        counts["comparisons"] += 1
        if not gold.ok:
            counts["gold_failed"] += 1
            continue
        counts["not_empty"] += bool(gold.rows)
        if other.ok and strict(gold.rows, other.rows, ordered=tree(pair.gold).tree.args.get("order") is not None).equal:
            continue
        chance = by_chance(tree(pair.gold), place, sandbox)
        if chance is None:
            counts["probe_failed"] += 1  # says neither: listed, so that a person judges it
        elif chance:
            counts["open_to_chance"] += 1
            continue
        wrong.append(
            {"db_id": pair.db_id, "gold": pair.gold, "mutant": pair.mutant.sql, "rule": pair.rule,
             "rows": str(gold.rows[:3]), "mutant_rows": other.error or str(other.rows[:3])}
        )  # fmt: skip
    return wrong


if __name__ == "__main__":
    main()
