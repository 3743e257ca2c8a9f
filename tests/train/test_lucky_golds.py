"""Golds that a database lets pass: mutants that only an instance tells from the right one, as arms of E3."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from train.small import make_corpus

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.publish.read import Version
from agro_data.records import MUTANT
from agro_train.tasks import find_sources
from bench.experiments import EXPERIMENTS, named
from bench.lucky_golds import lucky_mutants, pairs


@pytest.fixture
def version(tmp_path: Path) -> Version:
    """The first example has a mutant that its database lets pass, the second one that it tells apart."""
    made = make_corpus(tmp_path)
    names, cities = made.examples("train").sort("example_id").head(2).collect()["example_id"].to_list()
    told = [
        (names, "killed", "SELECT name FROM school WHERE founded <> 1850"),
        (names, "killed", None),
        (names, "equivalent", "SELECT DISTINCT name FROM school"),
        (cities, "killed", "SELECT name FROM school"),
    ]
    rows = [
        {**dict.fromkeys(MUTANT.to_schema()), "example_id": one, "outcome": outcome, "sql": sql}
        for one, outcome, sql in told
    ]
    schema = {"example_id": pl.String, **MUTANT.to_schema()}
    pl.DataFrame(rows, schema=schema).write_parquet(made.path / "instances" / "mutants.parquet")
    return made


def test_what_the_database_lets_pass_is_found_and_takes_the_golds_place(version: Version, tmp_path: Path) -> None:
    with Sandbox(workers=1) as sandbox:
        sources = find_sources(version, tmp_path / "databases", tmp_path / "cache")
        lucky = lucky_mutants(version, sources, sandbox)
    assert list(lucky.values()) == ["SELECT name FROM school WHERE founded <> 1850"]
    certified, mixed = pairs(version, lucky, size=5, share=0.2, seed=0)
    assert [pair["question"] for pair in certified] == [pair["question"] for pair in mixed]
    changed = [(one["query"], other["query"]) for one, other in zip(certified, mixed, strict=True) if one != other]
    assert changed == [("SELECT name FROM school", *lucky.values())]
    assert pairs(version, lucky, size=5, share=0.2, seed=0) == (certified, mixed)
    with pytest.raises(ValueError, match="1 lucky mutants of 9 rows are too few for 40% of 5 rows"):
        pairs(version, lucky, size=5, share=0.4, seed=0)


def test_settings_in_capitals_are_files() -> None:
    [(_, both)] = named(EXPERIMENTS["E1"], {"PAIRS": "train.json"})["both"]
    assert both == {"pairs": "train.json"}
    assert named(EXPERIMENTS["E6"], {})["spa"][1] == ("grpo", {"advantage": "spa"})
    with pytest.raises(KeyError, match="NEXT"):
        named(EXPERIMENTS["E9"], {"PAIRS": "train.json", "NEXT": ""})
