"""A build whose SQL comes from a query log, without any model: the same gate, certificate and contract as any other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from making import build_corpus, make_school
from synthesis.school_log import LOG, SECRETS

import agro_data
from agro_data.records import EXAMPLE

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    (folder / "asked.sql").write_text(LOG)
    (folder / "databases").mkdir()
    return make_school(folder / "databases" / "school.sqlite")


@pytest.fixture(scope="module")
def built(school: Path, tmp_path_factory: pytest.TempPathFactory) -> agro_data.Build:
    place = tmp_path_factory.mktemp("built")
    log = str(school.parents[1] / "asked.sql")
    return build_corpus(place, school.parent, size=24, query_log=log, generator="log")


def test_rows_of_a_log_are_certified_like_any_others(built: agro_data.Build, school: Path) -> None:
    examples = built.version.examples().collect()
    assert examples.schema == EXAMPLE
    assert examples.height == 24
    kinds = {generator.partition(":")[2] for generator in examples["generator"]}
    assert examples["generator"].str.starts_with("log:").all()
    assert len(kinds) >= 3, kinds
    assert (examples["mutants_total"] > 0).all()
    assert examples["instances"].list.len().min() > 0
    assert examples["steps"].list.len().min() > 0
    with closing(sqlite3.connect(school)) as connection:
        for sql, rows in examples.select("sql", "result_rows").iter_rows():
            assert len(connection.execute(sql).fetchall()) == rows


def test_no_value_of_the_log_is_written(built: agro_data.Build) -> None:
    place = built.version.path.parents[2]
    for path in place.rglob("*"):
        if path.is_file():
            held = [path.read_bytes()]
            if path.suffix == ".parquet":
                held.append(repr(pl.read_parquet(path, glob=False).rows()).encode())
            assert not [secret for secret in SECRETS for content in held if secret.encode() in content], path


def test_what_the_grammar_cannot_ask_is_listed(built: agro_data.Build) -> None:
    rejected = built.version.rejected().filter(pl.col("reason") == "no_question").collect()
    assert rejected.height > 0
    asked = rejected.filter(pl.col("sql").str.contains("WITH"))
    assert asked["detail"].str.contains("a named query (WITH)", literal=True).any()


def test_queries_that_give_nothing_are_counted_with_a_reason(built: agro_data.Build) -> None:
    told = built.version.rejected().filter(pl.col("reason") == "no_seed").collect()["detail"].to_list()
    assert "1 of the log: they hold a text that is compared with no column of a table, and may be anything" in told
    assert "1 of the log: they read tables that this database lacks" in told
    assert len(told) == len(set(told))
