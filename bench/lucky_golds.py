"""Golds that one database lets pass: what a corpus is like whose golds were executed there and no more.

    python -m bench.lucky_golds --corpus OUT/bench/v0001-... --databases ../shared/data/spider/database --size 4000 \
        --share 0.3 --out PAIRS

Writes `certified.json`, rows of the train split as pairs, and `lucky.json`, the same with another gold in a share of
them: a mutant of the right one that gives its answer on the database, and that an instance of the certificate tells
from it. `bench.experiments E3` trains on each.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.hashing import seed_of
from agro_data.publish.read import Version, open_version
from agro_data.verify.golds import Case, GoldResults
from agro_data.verify.grade import grade_many
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import Source, find_sources

Pairs = list[dict[str, str]]

AT_ONCE = 512


def lucky_mutants(version: Version, sources: Mapping[str, Source], sandbox: Sandbox) -> dict[str, str]:
    """Of the mutants whose SQL a version keeps those that their database lets pass, one for each example at most."""
    kept = version.all_mutants().filter(pl.col("outcome") == "killed", pl.col("sql").is_not_null())
    rows = version.examples("train").select("example_id", "db_id", pl.col("sql").alias("gold"), "order_matters")
    tried = rows.join(kept.lazy(), on="example_id").sort("example_id", "sql").collect()
    golds = GoldResults()
    found: dict[str, str] = {}
    for part in tried.iter_slices(AT_ONCE):
        cases = [
            Case(row["gold"], row["sql"], (sources[row["db_id"]].database,), row["order_matters"])
            for row in part.iter_rows(named=True)
        ]
        grades = grade_many(cases, sandbox, golds, guarded=True)
        passed = zip(part.iter_rows(named=True), grades, strict=True)
        found |= {row["example_id"]: row["sql"] for row, grade in passed if grade.right}
    return found


def pairs(version: Version, lucky: Mapping[str, str], size: int, share: float, seed: int) -> tuple[Pairs, Pairs]:
    """`size` rows drawn from the train split with their golds, and the same with a `share` of them lucky.

    Raises `ValueError` when there are not so many.
    """
    rows = version.examples("train").select("example_id", "db_id", "question", "sql").collect()
    drawn = sorted(rows.iter_rows(named=True), key=lambda row: seed_of(seed, "lucky golds", row["example_id"]))
    wrong = [row for row in drawn if row["example_id"] in lucky][: round(share * size)]
    taken = {row["example_id"] for row in wrong}
    right = [row for row in drawn if row["example_id"] not in taken][: size - len(wrong)]
    if len(wrong) + len(right) < size or len(wrong) < round(share * size):
        raise ValueError(f"{len(lucky)} lucky mutants of {rows.height} rows are too few for {share:.0%} of {size} rows")
    chosen = sorted([*wrong, *right], key=lambda row: row["example_id"])
    asked = [{"db_id": row["db_id"], "question": row["question"]} for row in chosen]
    certified = [{**pair, "query": row["sql"]} for pair, row in zip(asked, chosen, strict=True)]
    mixed = [
        {**pair, "query": lucky[row["example_id"]] if row["example_id"] in taken else row["sql"]}
        for pair, row in zip(asked, chosen, strict=True)
    ]
    return certified, mixed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="a version's folder")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--size", type=int, default=4_000)
    parser.add_argument("--share", type=float, default=0.3, help="of rows whose gold is lucky")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    given = parser.parse_args()
    version = open_version(given.corpus)
    with Sandbox(1, SQL_LIMITS) as sandbox:
        lucky = lucky_mutants(version, find_sources(version, given.databases, given.cache / "profiles"), sandbox)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, made in zip(
        ("certified", "lucky"), pairs(version, lucky, given.size, given.share, given.seed), strict=True
    ):
        (given.out / f"{name}.json").write_text(json.dumps(made, indent=1), encoding="utf-8")
    counts = {"rows": version.examples("train").select(pl.len()).collect().item(), "with a lucky mutant": len(lucky)}
    print(json.dumps({**counts, "pairs": given.size, "of them lucky": round(given.share * given.size)}))


if __name__ == "__main__":
    main()
