"""The whole pipeline on real engines: what comes out, that it repeats, and that bad input costs only itself."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from making import build_corpus, hashes, make_school

import agro_data
from agro_data.records import EXAMPLE

build_at = partial(build_corpus, size=60)


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    return make_school(folder / "school.sqlite")


@pytest.fixture(scope="module")
def built(school: Path, tmp_path_factory: pytest.TempPathFactory) -> agro_data.Build:
    """With a seed by which two rounds meet the same query."""
    return build_at(tmp_path_factory.mktemp("built"), school, seed=3)


def test_a_version_keeps_the_contract(built: agro_data.Build) -> None:
    examples = built.version.examples().collect()
    assert built.complete
    assert not built.problems
    assert examples.height == 60
    assert examples.schema == EXAMPLE
    for split in ("train", "validation", "test"):
        assert built.version.examples(split).collect()["example_id"].is_sorted()
    assert set(examples["split"]) == {"train", "validation", "test"}
    assert examples.filter(pl.col("question").str.contains("_")).is_empty()
    assert built.version.verify_hashes() == []
    assert built.version.path.name.startswith("v0001-")
    assert (built.version.path.parent / "latest").read_text().strip() == built.version.path.name


def test_every_digest_replays_with_nothing_of_ours(built: agro_data.Build, school: Path) -> None:
    connection = sqlite3.connect(f"file:{school}?mode=ro", uri=True)
    for row in built.version.examples().collect().iter_rows(named=True):
        answer = connection.execute(row["sql"]).fetchall()
        assert len(answer) == row["result_rows"], row["sql"]
        assert digest_by_the_book(answer, row["result_columns"], row["order_matters"]) == row["result_digest"]


def digest_by_the_book(answer: list[tuple[object, ...]], columns: int, ordered: bool) -> str:
    """As the docstring of `agro_data.databases.digest` tells a third party."""
    from agro_data.databases.digest import result_digest

    return result_digest(columns, answer, ordered)


def test_ids_are_those_that_the_columns_document(built: agro_data.Build) -> None:
    (database,) = built.version.manifest["databases"]
    for row in built.version.examples().collect().iter_rows(named=True):
        parts = [database["content_hash"], row["dialect"], row["sql"], row["question"], row["evidence"]]
        text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == row["example_id"]


def test_what_is_stored_of_mutants_is_what_the_columns_document(built: agro_data.Build) -> None:
    mutants, index = built.version.all_mutants(), built.version.instances().collect()
    shown = (pl.col("outcome") == "undecided") | pl.col("difference").is_not_null()
    assert mutants.filter(shown != pl.col("sql").is_not_null()).is_empty()
    killed = mutants.filter(outcome="killed")
    assert killed.join(index, left_on=["example_id", "by"], right_on=["example_id", "file"], how="anti").is_empty()
    assert mutants.filter(pl.col("difference").is_not_null() & (pl.col("outcome") != "killed")).is_empty()
    assert set(mutants.filter(outcome="undecided")["by"]) <= {""}


def test_certificates_hold_with_nothing_of_ours(built: agro_data.Build) -> None:
    path = built.version.path / "instances"
    examples = built.version.examples().collect()
    index = built.version.instances().collect()
    by_id = {row["example_id"]: row for row in examples.iter_rows(named=True)}
    assert set(index["example_id"]) == set(by_id)
    for row in index.iter_rows(named=True):
        example = by_id[row["example_id"]]
        assert row["file"] in example["instances"]
        with closing(sqlite3.connect(f"file:{path / row['file']}?mode=ro", uri=True)) as connection:
            answer = connection.execute(example["sql"]).fetchall()
        digest = digest_by_the_book(answer, example["result_columns"], example["order_matters"])
        assert digest == row["gold_digest"], example["sql"]
    files = list(path.rglob("*.sqlite"))
    assert {p.relative_to(path).as_posix() for p in files} == set(index["file"])
    assert len(files) <= 64
    assert sum(p.stat().st_size for p in files) <= 20 * 2**20


def test_mutants_add_up_and_too_few_killed_is_a_reason(built: agro_data.Build) -> None:
    examples = built.version.examples().collect()
    parts = pl.sum_horizontal("mutants_killed", "mutants_equivalent", "mutants_undecided")
    assert examples.filter(parts != pl.col("mutants_total")).is_empty()
    open_ = pl.col("mutants_total") - pl.col("mutants_equivalent")
    assert examples.filter(pl.col("mutants_killed") < 0.95 * open_).is_empty()
    one = examples.row(0, named=True)
    kept = built.version.mutants(one["example_id"])
    assert kept["outcome"].value_counts().sort("outcome").rows() == [
        (name, one[f"mutants_{name}"]) for name in ("equivalent", "killed", "undecided") if one[f"mutants_{name}"]
    ]
    refused = built.version.rejected().filter(pl.col("stage") == "certified").collect()
    assert set(refused["reason"]) <= {"weak", "uncertifiable"}


def test_a_build_without_certificates_says_so(school: Path, tmp_path: Path) -> None:
    version = build_at(tmp_path, school, size=20, certify=False).version
    examples = version.examples().collect()
    assert examples.height == 20
    assert examples["instances"].list.len().sum() == 0
    assert examples["mutants_total"].sum() == 0
    assert version.instances().collect().is_empty()
    assert "No certificates were made" in (version.path / "README.md").read_text(encoding="utf-8")


def test_no_row_is_in_two_splits(built: agro_data.Build) -> None:
    examples = built.version.examples().collect()
    for key in ("skeleton", "question"):
        splits = examples.group_by(key).agg(pl.col("split").n_unique())
        assert splits["split"].max() == 1


def test_what_was_dropped_keeps_its_reason(built: agro_data.Build) -> None:
    rejected = built.version.rejected().collect()
    assert rejected.height > 0
    assert rejected["reason"].null_count() == 0
    assert rejected["detail"].str.len_chars().min() > 0


def test_the_funnel_adds_up(built: agro_data.Build) -> None:
    """Every candidate was dropped for a reason, not chosen, or is there; one that two rounds met is one."""
    manifest = built.version.manifest
    funnel = {one["stage"]: one["rows"] for one in manifest["funnel"]}
    shards = (built.version.path.parents[2] / "cache" / "work").glob("*/candidates/*.parquet")
    assert sum(pl.read_parquet(shard, glob=False).height for shard in shards) > funnel["candidates"]
    lost = dict.fromkeys(funnel, 0)
    for reason, count in manifest["counts"]["rejected_reasons"].items():
        lost[reason.partition(": ")[0]] += count
    lost["selection"] += manifest["counts"]["not_chosen"]
    assert manifest["counts"]["not_chosen"] > 0
    for before, after in pairwise(funnel):
        assert funnel[before] == funnel[after] + lost[after]
    report = {one.stage: one for one in built.reports}["verified"]
    assert report.rows_in == funnel["candidates"] == report.rows_out + sum(report.reasons.values())
    card = (built.version.path / "README.md").read_text(encoding="utf-8")
    assert f"{manifest['counts']['not_chosen']:,} queries, which are not in `rejected/`" in card


@pytest.mark.ci
def test_the_same_build_is_returned_and_repeats_from_its_manifest(
    built: agro_data.Build, school: Path, tmp_path: Path
) -> None:
    manifest = agro_data.BuildConfig.from_file(built.version.path / "manifest.json")
    run = agro_data.RunConfig(out=tmp_path / "out", cache=tmp_path / "cache", workers=2)
    again = agro_data.build(config=manifest, run=run)
    assert hashes(again.version.path) == hashes(built.version.path)
    once_more = agro_data.build(config=manifest, run=run)
    assert once_more.version.path == again.version.path


def test_sources_are_not_touched(built: agro_data.Build, school: Path) -> None:
    assert [p.name for p in school.parent.iterdir()] == [school.name]


def test_readers_of_others_load_it(built: agro_data.Build, tmp_path: Path) -> None:
    import duckdb

    path = built.version.path
    query = f"SELECT split, count(*) FROM read_parquet('{path}/data/*.parquet') GROUP BY 1 ORDER BY 1"
    assert sum(n for _, n in duckdb.sql(query).fetchall()) == 60
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(path), cache_dir=str(tmp_path))
    assert sum(part.num_rows for part in loaded.values()) == 60
    assert set(loaded["train"].column_names) == set(EXAMPLE)


@pytest.mark.ci
def test_fewer_than_asked_says_what_limits(tmp_path: Path) -> None:
    path = tmp_path / "tiny.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE pet (name TEXT)")
    connection.executemany("INSERT INTO pet VALUES (?)", [("Rex",), ("Tom",), ("Kit",)])
    connection.commit()
    connection.close()
    result = build_at(tmp_path, path, size=5_000)
    count = result.version.examples().collect().height
    assert not result.complete
    assert 0 < count < 5_000
    assert "tiny" in result.version.manifest["selection"]["limiting"]


@pytest.mark.ci
def test_several_styles_share_one_sql(school: Path, tmp_path: Path) -> None:
    result = build_at(tmp_path, school, size=40, styles_per_sql=2)
    examples = result.version.examples().collect()
    assert examples.height <= 40
    assert examples["question"].n_unique() == examples.height
    assert examples["sql"].n_unique() <= 21
    assert examples.group_by("sql").agg(pl.col("split").n_unique())["split"].max() == 1


def test_nothing_to_use_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(agro_data.ConfigError, match="no such file"):
        build_at(tmp_path, tmp_path / "absent")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(agro_data.ConfigError, match="not a database"):
        build_at(tmp_path, tmp_path / "notes.txt")


BUILD = """
import sys, agro_data
from pathlib import Path
config = agro_data.BuildConfig(databases=sys.argv[1], size=60, embedding_model="structural")
run = agro_data.RunConfig(out=Path(sys.argv[2]) / "out", cache=Path(sys.argv[2]) / "cache", workers=1)
agro_data.build(config=config, run=run)
"""


@pytest.mark.slow
def test_kill_at_any_moment_then_resume_gives_the_same_bytes(
    built: agro_data.Build, school: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", BUILD, str(school), str(tmp_path)]
    for delay in (0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0):
        child = subprocess.Popen(command, start_new_session=True)
        time.sleep(delay)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        visible = [p for p in (tmp_path / "out").glob("*/v*") if not p.name.startswith(".")]
        for version in visible:
            assert agro_data.open_version(version).verify_hashes() == []
    subprocess.run(command, check=True)
    (version,) = (tmp_path / "out" / "corpus").glob("v*")
    assert hashes(version) == hashes(built.version.path)


CRAMPED = """
import resource, sys
most = int(sys.argv.pop())
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # a larger file cannot be written: like a disk that is full
"""


@pytest.mark.slow
def test_a_full_disk_at_any_stage_then_resume_gives_the_same_bytes(
    built: agro_data.Build, school: Path, tmp_path: Path
) -> None:
    command = [str(school), str(tmp_path)]
    messages = []
    for most in (500, 3_000, 8_000, 12_000, 16_000, 24_000, 40_000):
        child = subprocess.run(
            [sys.executable, "-c", CRAMPED + BUILD, *command, str(most)], stderr=subprocess.PIPE, text=True, check=False
        )
        messages.append(child.stderr)
        assert not list((tmp_path / "out").glob("*/v*")) or child.returncode == 0
        for shard in (tmp_path / "cache").rglob("*.parquet"):
            assert pl.read_parquet(shard, glob=False).width > 0
    assert "File too large" in messages[0] + messages[1]
    subprocess.run([sys.executable, "-c", BUILD, *command], check=True)
    (version,) = (tmp_path / "out" / "corpus").glob("v*")
    assert hashes(version) == hashes(built.version.path)


def test_manifest_is_plain_json(built: agro_data.Build) -> None:
    manifest = json.loads((built.version.path / "manifest.json").read_text())
    for key in (
        "schema_version",
        "fingerprint",
        "config",
        "counts",
        "funnel",
        "files",
        "seeds",
        "library_versions",
    ):
        assert key in manifest
    (database,) = manifest["databases"]
    assert database["db_id"] == "school"
    assert database["tables"] == 3
