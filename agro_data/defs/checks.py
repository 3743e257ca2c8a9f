"""Checks that stand between the stages and the corpus. A blocking one that fails stops what is to its right."""

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from agro_data.defs.place import Place
from agro_data.pipeline import open_work
from agro_data.publish.read import open_version
from agro_data.records import EXAMPLE
from agro_data.verify.replay import replay

REPLAYED = 200
MOST_LOST = 0.2  # share of databases that may give nothing before the run stops


@dg.asset_check(asset="verified", blocking=True)
def databases_contribute(verified: str, place: Place) -> dg.AssetCheckResult:
    """At least four in five of the usable databases gave verified SQL."""
    work = open_work(Path(verified), place.cache).work
    usable = work.read_json("usable.json")
    given = work.read_json("verified.json")["figures"]["databases"]
    lost = 1 - given / max(len(usable), 1)
    return _result(lost <= MOST_LOST, databases=len(usable), with_verified_sql=given)


@dg.asset_check(asset="selection", blocking=True)
def questions_are_unambiguous(selection: str, place: Place) -> dg.AssetCheckResult:
    """No two SQL of a database share a question, and no question shows a snake_case name."""
    rows = open_work(Path(selection), place.cache).work.read("selection", "all")
    shared = rows.group_by("db_id", "question").agg(pl.col("sql").n_unique()).filter(pl.col("sql") > 1).height
    unquoted = pl.col("question").str.replace_all(r"'[^']*'|\"[^\"]*\"|“[^”]*”", "")
    snake = rows.filter(unquoted.str.contains(r"\b[a-z]+_[a-z]+\b")).height
    return _result(shared == 0 and snake == 0, shared_questions=shared, snake_case_questions=snake)


@dg.asset_check(asset="selection", blocking=True)
def splits_do_not_leak(selection: str, place: Place) -> dg.AssetCheckResult:
    """No (database, skeleton) and no (database, question) stands in two splits."""
    rows = open_work(Path(selection), place.cache).work.read("selection", "all")
    leaks = {
        key: rows.group_by("db_id", key).agg(pl.col("split").n_unique()).filter(pl.col("split") > 1).height
        for key in ("skeleton", "question")
    }
    return _result(not any(leaks.values()), **{f"{key}s_in_two_splits": n for key, n in leaks.items()})


@dg.asset_check(asset="corpus", blocking=True)
def corpus_is_whole(corpus: str) -> dg.AssetCheckResult:
    """Files have the hashes of the manifest, and every column is of the contract's type."""
    version = open_version(Path(corpus))
    wrong = version.verify_hashes()
    schema = version.examples().collect_schema()
    misfits = [name for name, kind in EXAMPLE.items() if schema.get(name) != kind]
    return _result(not wrong and not misfits, changed_files=len(wrong), wrong_columns=len(misfits))


@dg.asset_check(asset="corpus", blocking=True, additional_ins={"selection": dg.AssetIn("selection")})
def stored_digests_replay(corpus: str, selection: str, place: Place) -> dg.AssetCheckResult:
    """A sample of stored SQL gives its stored digest when run again."""
    examples = open_version(Path(corpus)).examples().collect()
    sample = examples.sample(min(REPLAYED, examples.height), seed=0)
    differing = replay(sample, open_work(Path(selection), place.cache).databases())
    return _result(not differing, replayed=sample.height, differing=len(differing))


CHECKS = [
    databases_contribute,
    questions_are_unambiguous,
    splits_do_not_leak,
    corpus_is_whole,
    stored_digests_replay,
]


def _result(passed: bool, **figures: Any) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=bool(passed), metadata=figures)
