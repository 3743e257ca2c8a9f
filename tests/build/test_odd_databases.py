"""A build on databases that nobody would write by hand: nothing stops it, and what it delivers holds when run again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from making import build_corpus
from odd_databases import make_odd

from agro_data.databases.discovery.catalog import find_databases
from agro_data.verify.replay import replay, replay_instances

pytestmark = pytest.mark.ci

# What is true of data. All else that a candidate is refused for when it is run, the generator should not have written.
ANSWERS = ("empty", "null_only", "tie", "uninformative", "too_large")


def holds(folder: Path, name: str, seed: int, size: int) -> None:
    """Build on the database of `seed`; assert what is true of every build."""
    (folder / "odd").mkdir()
    make_odd(folder / "odd" / name, seed)
    built = build_corpus(folder, folder / "odd", size=size)
    assert not built.problems
    examples, rejected = built.version.examples().collect(), built.version.rejected().collect()
    assert examples.height >= size / 2
    sums_overflow = pl.col("detail").str.contains("(?i)overflow|out of range")
    refused = rejected.filter((pl.col("stage") == "verified") & ~pl.col("reason").is_in(ANSWERS) & ~sums_overflow)
    assert refused.is_empty(), refused.select("reason", "detail", "sql").rows()
    assert replay(examples, find_databases(folder / "odd").databases) == []
    golds = examples.select("example_id", "db_id", "dialect", "sql", "order_matters")
    on_instances = built.version.instances().collect().join(golds, on="example_id")
    assert {*on_instances["example_id"]} == {*golds["example_id"]}
    assert replay_instances(on_instances, built.version.path / "instances") == []
    assert examples["question"].str.strip_chars().str.len_chars().min() > 0


@pytest.mark.parametrize(("name", "seed"), [("odd.sqlite", 10), ("odd.duckdb", 3)])
def test_what_is_built_on_an_odd_database_holds(name: str, seed: int, tmp_path: Path) -> None:
    holds(tmp_path, name, seed, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["odd.sqlite", "odd.duckdb"])
@pytest.mark.parametrize("seed", range(20, 32))
def test_what_is_built_on_many_odd_databases_holds(name: str, seed: int, tmp_path: Path) -> None:
    holds(tmp_path, name, seed, 60)
