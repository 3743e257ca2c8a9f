"""Questions without one answer in a corpus: their share, their grounds, and that all else holds for them too."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from airport import make_airport
from making import build_corpus, database_at

import agro_data
from agro_data.config import ConfigError
from agro_data.diversity.normal_forms import normal_question
from agro_data.profiling.profiler import profile_database
from agro_data.publish.explain import explain
from agro_data.publish.publication.checks import Check, check_version, sources_of
from agro_data.publish.publication.release import Declaration, make_release
from agro_data.publish.read import Version
from agro_data.sql.concealing import Hidden, NotThere, conceal
from agro_data.sql.facts import sql_facts

pytestmark = pytest.mark.ci

SHARE = 0.3
SIZE = 40


build_at = partial(build_corpus, size=SIZE, unanswerable=SHARE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("airport")
    (folder / "databases").mkdir()
    make_airport(folder / "databases" / "airport.sqlite")
    return folder


@pytest.fixture(scope="module")
def version(folder: Path) -> Version:
    found = build_at(folder, folder / "databases")
    assert found.complete
    assert not found.problems
    return found.version


@pytest.fixture(scope="module")
def turned(version: Version) -> pl.DataFrame:
    return version.examples().filter(~pl.col("answerable")).collect()


def test_the_share_is_that_of_every_split_and_the_size_stays(version: Version, turned: pl.DataFrame) -> None:
    examples = version.examples().collect()
    assert examples.height == SIZE
    for (split,), part in examples.group_by("split"):
        assert part.filter(~pl.col("answerable")).height == round(SHARE * part.height), split
    assert version.manifest["unanswerable"] == version.manifest["counts"]["unanswerable"]
    assert set(version.manifest["unanswerable"]) >= {"missing_column", "missing_table", "ambiguous"}
    assert turned["clarification"].null_count() == 0
    kept = examples.filter(pl.col("answerable"))
    assert kept["clarification"].null_count() == kept.height
    assert not kept["hidden"].list.len().sum()
    assert not kept["readings"].list.len().sum()


def test_all_checks_of_a_version_hold(version: Version, folder: Path) -> None:
    found = check_version(version, sources_of(version, folder / "databases"))
    assert [check for check in found if not check.passed] == []


def test_the_sql_does_not_do_without_what_is_hidden(turned: pl.DataFrame, folder: Path) -> None:
    database = database_at(folder / "databases")
    schema = profile_database(database).schema
    hiding = turned.filter(pl.col("hidden").list.len() > 0)
    outcomes: Counter[str] = Counter()
    with closing(sqlite3.connect(database.path)) as connection:
        for row in hiding.to_dicts():
            whole = connection.execute(row["sql"]).fetchall()
            hidden = [Hidden.of(one) for one in row["hidden"]]
            try:
                left = connection.execute(conceal(row["sql"], "sqlite", schema, hidden)).fetchall()
            except NotThere:
                outcomes["no table"] += 1
            except sqlite3.OperationalError as error:
                outcomes["no column" if hidden[0].column in str(error) else "another error"] += 1
            else:
                assert left != whole
                outcomes["other rows"] += 1
            assert whole
    assert outcomes["no table"]
    assert outcomes["no column"]
    assert not outcomes["another error"]


def test_readings_are_told_apart_and_each_is_certified(version: Version, turned: pl.DataFrame) -> None:
    unclear = turned.filter(pl.col("readings").list.len() > 0)
    index = version.instances().collect()
    assert unclear.height
    for row in unclear.to_dicts():
        first, *others = row["readings"]
        assert first["reading_id"] == row["example_id"]
        assert (first["sql"], first["result_digest"]) == (row["sql"], row["result_digest"])
        assert [reading["sql"] for reading in others] == row["alternatives"]
        assert len({reading["result_digest"] for reading in row["readings"]}) == len(row["readings"]) > 1
        assert row["question"] not in {reading["says"] for reading in row["readings"]}
        for reading in row["readings"]:
            named = index.filter(pl.col("example_id") == reading["reading_id"])
            assert sorted(named["file"]) == sorted(reading["instances"])
            assert reading["instances"]
            assert version.mutants(reading["reading_id"]).height
            for file in reading["instances"]:
                assert (version.path / "instances" / file).is_file()


def test_questions_stay_different_and_splits_apart(version: Version) -> None:
    examples = version.examples().collect()
    assert len({normal_question(question) for question in examples["question"]}) == examples.height
    homes = dict(examples.select("skeleton", "split").iter_rows())
    schema: dict[str, dict[str, str]] = {"flight": {}, "aircraft": {}}
    for row in examples.filter(pl.col("readings").list.len() > 0).to_dicts():
        for sql in row["alternatives"]:
            assert homes.get(sql_facts(sql, "sqlite", schema).skeleton, row["split"]) == row["split"]


def test_who_can_ask_back_is_given_such_questions(version: Version, tmp_path: Path) -> None:
    run = agro_data.RunConfig(cache=version.path.parents[2] / "cache")
    whole = agro_data.export(version, "sft", tmp_path / "sft", run=run)
    rows = pl.read_parquet(whole.path / "data" / "train.parquet").to_dicts()
    asked = [row for row in rows if "<clarify>" in row["completion"][0]["content"]]
    assert len(asked) == version.examples("train").filter(~pl.col("answerable")).collect().height
    assert all("<clarify>" in row["prompt"][0]["content"] for row in rows)
    plain = agro_data.export(version, "grpo", tmp_path / "grpo", run=run)
    assert sum(plain.rows.values()) == version.examples().filter("answerable").collect().height
    assert any("without one answer" in note for note in plain.notes)
    for row in pl.read_parquet(plain.path / "data" / "train.parquet").to_dicts():
        assert "<clarify>" not in row["prompt"][0]["content"]


def test_a_release_has_the_instances_of_all_readings(version: Version, turned: pl.DataFrame, tmp_path: Path) -> None:
    declared = Declaration("apache-2.0", {"*": "apache-2.0"}, frozenset("*"), personal_data="keep")
    make_release(version, tmp_path, declared, [Check("some", True, "holds")])
    for row in turned.to_dicts():
        for reading in row["readings"]:
            assert all((tmp_path / "instances" / file).is_file() for file in reading["instances"])
    shown = pl.read_parquet(tmp_path / "data" / "*.parquet")
    assert not set(shown["example_id"]) & set(turned["example_id"])
    assert set(pl.read_parquet(tmp_path / "certificate" / "*.parquet")["example_id"]) >= set(turned["example_id"])


def test_it_is_explained(version: Version, turned: pl.DataFrame) -> None:
    for row in turned.head(8).to_dicts():
        told = " ".join(explain(version, row["example_id"]).split())
        assert row["clarification"] in told
        assert all(str(Hidden.of(one)) in told for one in row["hidden"])


@pytest.mark.slow
def test_the_same_build_gives_the_same_bytes_and_no_share_the_rows_before(
    version: Version, folder: Path, tmp_path: Path
) -> None:
    again = build_at(tmp_path, folder / "databases").version
    assert again.manifest["files"] == version.manifest["files"]
    plain = build_at(folder, folder / "databases", unanswerable=0.0).version
    whole, before = (one.examples().collect() for one in (version, plain))
    assert before["answerable"].all()
    assert whole["sql"].sort().to_list() == before["sql"].sort().to_list()


@pytest.mark.slow
def test_what_is_excluded_comes_in_by_no_reading(turned: pl.DataFrame, folder: Path, tmp_path: Path) -> None:
    row = turned.filter(pl.col("readings").list.len() > 0).row(0, named=True)
    excluded = tmp_path / "dev.json"
    excluded.write_text(json.dumps([{"question": row["question"], "query": row["alternatives"][0]}]))
    examples = build_at(folder, folder / "databases", exclude=[str(excluded)]).version.examples().collect()
    assert row["question"] not in set(examples["question"])
    assert row["alternatives"][0] not in {sql for others in examples["alternatives"] for sql in others}


@pytest.mark.parametrize("share", [-0.1, 0.34, 1.0])
def test_a_share_at_which_asking_back_would_pay_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="unanswerable"):
        agro_data.BuildConfig(databases="x", unanswerable=share)
