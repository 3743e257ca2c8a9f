"""The version writer against its contract, on a real file system and with the readers that users have."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars as pl
import publish_samples as samples
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.locking import Locked, exclusive
from agro_data.publish.read import NoVersion, latest, list_versions, open_version
from agro_data.publish.version import MUTANTS, Beside, Instances, NotWritten, write_version
from agro_data.records import EXAMPLE, INSTANCE_INDEX, REJECTED

PRINT_A, PRINT_B = "a" * 64, "b" * 64


def write(root: Path, name: str = "shop", fingerprint: str = PRINT_A, count: int = 30, **more: object) -> Path:
    given = {
        "examples": samples.examples(count),
        "rejected": samples.rejected(7),
        "manifest": samples.manifest(),
    }
    return write_version(root, name, fingerprint=fingerprint, **{**given, **more})  # type: ignore[arg-type]


def tree(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_a_version_has_the_promised_files_and_rows(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert path == tmp_path / "shop" / "v0001-aaaaaaaa"
    assert sorted(tree(path)) == [
        "README.md",
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00001.parquet",
        "data/validation-00000-of-00001.parquet",
        "instances/index.parquet",
        "instances/mutants.parquet",
        "manifest.json",
        "rejected/rejected-00000-of-00001.parquet",
    ]
    version = open_version(path)
    stored = version.examples().collect()
    assert stored.schema == EXAMPLE
    assert stored.sort("example_id").equals(samples.examples(30).sort("example_id"))
    assert version.rejected().collect().schema == REJECTED
    assert version.instances().collect().schema == INSTANCE_INDEX
    for split in ("train", "validation", "test"):
        rows = version.examples(split).collect()
        assert rows["split"].unique().to_list() == [split]
        assert rows["example_id"].is_sorted()
    manifest = version.manifest
    assert (manifest["schema_version"], manifest["fingerprint"], manifest["parent"]) == (1, PRINT_A, None)
    assert manifest["config"] == {"databases": "samples", "size": 100, "seed": 7}
    assert manifest["counts"]["examples"] == sum(manifest["counts"]["splits"].values()) == 30
    assert manifest["library_versions"]["polars"] == pl.__version__
    assert set(manifest["files"]) == set(tree(path)) - {"manifest.json"}
    assert version.verify_hashes() == []


def test_brackets_in_a_folder_are_no_pattern(tmp_path: Path) -> None:
    version = open_version(write(tmp_path / "odd [name]"))
    assert version.examples().collect().height == 30
    assert version.rejected().collect().height == 7
    assert version.instances().collect().is_empty()
    assert version.mutants("0" * 16).is_empty()
    assert version.all_mutants().is_empty()


def test_numbering_parent_and_latest(tmp_path: Path) -> None:
    first, second = write(tmp_path), write(tmp_path, fingerprint=PRINT_B)
    assert [p.name for p in list_versions(tmp_path, "shop")] == ["v0001-aaaaaaaa", "v0002-bbbbbbbb"]
    assert open_version(second).manifest["parent"] == first.name
    assert (tmp_path / "shop" / "latest").read_text() == "v0002-bbbbbbbb\n"
    assert latest(tmp_path, "shop") == second
    assert open_version(tmp_path / "shop").path == second


def test_the_same_fingerprint_returns_the_existing_version_untouched(tmp_path: Path) -> None:
    path = write(tmp_path)
    before = {p: p.stat().st_mtime_ns for p in path.rglob("*")}
    assert write(tmp_path, count=5) == path
    assert {p: p.stat().st_mtime_ns for p in path.rglob("*")} == before
    assert len(list_versions(tmp_path, "shop")) == 1


def test_a_damaged_version_is_not_given_again(tmp_path: Path) -> None:
    path = write(tmp_path)
    for name, reason in (("README.md", "README.md: 0 bytes"), ("manifest.json", "cannot be read as a manifest")):
        (path / name).chmod(0o644)
        (path / name).write_bytes(b"")
        with pytest.raises(NotWritten, match=f"delete the folder and build again .*{reason}"):
            write(tmp_path)
    shutil.rmtree(path)
    assert not open_version(write(tmp_path)).verify_hashes()


def test_a_fingerprint_that_agrees_only_in_its_first_digits_is_another_build(tmp_path: Path) -> None:
    first = write(tmp_path)
    second = write(tmp_path, fingerprint="a" * 63 + "b")
    assert (first.name, second.name) == ("v0001-aaaaaaaa", "v0002-aaaaaaaa")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.randoms(use_true_random=False), count=st.integers(1, 40))
def test_row_order_and_place_do_not_change_a_byte(order: random.Random, count: int, tmp_path: Path) -> None:
    frame = samples.examples(count)
    shuffled = frame[order.sample(range(count), count)]
    here, there = (Path(tempfile.mkdtemp(dir=tmp_path)) for _ in range(2))  # names drawn by Hypothesis may be alike
    one = write(here, examples=frame)
    two = write(there, examples=shuffled, rejected=samples.rejected(7).reverse())
    assert tree(one) == tree(two)


def test_row_groups_are_bounded_and_files_are_sharded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agro_data.publish.parquet.write_shards.__kwdefaults__", {"shard": 6_000})
    path = write(tmp_path, examples=samples.examples(12_500, splits=("train",)))
    names = sorted(p.name for p in (path / "data").iterdir())
    assert names == [f"train-{i:05d}-of-00003.parquet" for i in range(3)]
    for file in (path / "data").iterdir():
        facts = pq.ParquetFile(file).metadata
        assert all(facts.row_group(i).num_rows <= 5_000 for i in range(facts.num_row_groups))
        assert facts.row_group(0).column(0).compression == "ZSTD"
    ids = open_version(path).examples().collect()["example_id"]
    assert ids.is_sorted()
    assert len(ids) == 12_500


def test_load_dataset_reads_the_folder_with_nullable_and_empty_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = write(tmp_path)
    loaded = datasets.load_dataset(str(path), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train", "validation", "test"]
    assert len({str(part.features) for part in loaded.values()}) == 1
    assert sum(part.num_rows for part in loaded.values()) == 30
    row = loaded["train"][0]
    assert row["evidence"] is None
    assert row["instances"] == []
    assert [step["name"] for step in row["steps"]] == ["rows", "answer"]


def test_an_empty_split_is_left_out_and_load_dataset_still_works(tmp_path: Path) -> None:
    import datasets

    path = write(tmp_path, examples=samples.examples(4, splits=("train",)), rejected=samples.rejected(0))
    assert [p.name for p in (path / "data").iterdir()] == ["train-00000-of-00001.parquet"]
    loaded = datasets.load_dataset(str(path), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train"]
    assert open_version(path).rejected().collect().height == 0
    with pytest.raises(NoVersion, match="no rows in split 'test'; splits with rows: train"):
        open_version(path).examples("test")


def test_duckdb_queries_the_files(tmp_path: Path) -> None:
    path = write(tmp_path)
    query = f"SELECT count(*), count(DISTINCT steps[1].name), min(len(tables)) FROM '{path}/data/*.parquet'"
    assert duckdb.sql(query).fetchall() == [(30, 1, 1)]


def test_instances_are_copied_and_indexed(tmp_path: Path) -> None:
    source = tmp_path / "made.sqlite"
    source.write_bytes(b"an instance")
    index = pl.DataFrame([["db_0", "00" * 8, "db_0/0.sqlite", "d" * 64]], schema=INSTANCE_INDEX, orient="row")
    path = write(tmp_path, beside=Beside(Instances({"db_0/0.sqlite": source}, index)))
    assert (path / "instances/db_0/0.sqlite").read_bytes() == b"an instance"
    assert open_version(path).instances().collect().equals(index)
    with pytest.raises(ValueError, match=r"names 'db_0/0\.sqlite', which is not among the files"):
        write(tmp_path, fingerprint=PRINT_B, beside=Beside(Instances({}, index)))
    with pytest.raises(ValueError, match=r"'\.\./x'"):
        write(tmp_path, fingerprint=PRINT_B, beside=Beside(Instances({"../x": source})))
    assert len(list_versions(tmp_path, "shop")) == 1


def test_what_became_of_each_mutant_is_kept(tmp_path: Path) -> None:
    fates = [
        ["00" * 8, "comparison", "age > 56 -> age >= 56", "killed", "db_0/0.sqlite", "SELECT 1", "row 1: got (2)"],
        ["00" * 8, "distinct", "DISTINCT -> added", "equivalent", "key", None, None],
        ["11" * 8, "limit", "LIMIT 1 -> LIMIT 2", "undecided", "", "SELECT 2", None],
    ]
    beside = Beside(Instances(mutants=pl.DataFrame(fates, MUTANTS, orient="row")))
    version = open_version(write(tmp_path, beside=beside))
    assert version.mutants("00" * 8)["outcome"].to_list() == ["killed", "equivalent"]
    assert version.mutants("22" * 8).is_empty()
    assert "example_id" not in version.mutants("11" * 8).columns


def test_rows_that_are_left_where_a_file_is_gone_are_not_taken_for_the_whole(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert open_version(path).examples().collect().height == 30
    gone = next((path / "data").glob("test-*.parquet"))
    gone.unlink()
    for split in (None, "test"):
        with pytest.raises(NoVersion, match=f"damaged: data/{gone.name} is missing. Copy it anew"):
            open_version(path).examples(split)
    assert open_version(path).examples("train").collect().height


def test_changed_missing_and_added_files_are_found(tmp_path: Path) -> None:
    path = write(tmp_path)
    card = path / "README.md"
    card.chmod(0o644)
    card.write_bytes(card.read_bytes().replace(b"SQL", b"sql"))
    (path / "rejected/rejected-00000-of-00001.parquet").unlink()
    (path / "note.txt").write_text("mine")
    assert open_version(path).verify_hashes() == [
        "rejected/rejected-00000-of-00001.parquet: missing",
        "note.txt: not in the manifest",
        "README.md: content differs from what was written",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "../evil"}, "corpus name '../evil'"),
        ({"fingerprint": "XYZ"}, "not 8 to 64 lower-case hex"),
        ({"manifest": {"config": {}}}, "the manifest lacks databases, funnel, seeds"),
        ({"examples": samples.examples(0)}, "no example to publish"),
        ({"examples": pl.concat([samples.examples(2), samples.examples(1)])}, "stands more than once"),
        (
            {"examples": samples.examples(3, splits=("dev",))},
            "has split 'dev'; expected train, validation, test",
        ),
        (
            {"examples": samples.examples(3).with_columns(example_id=pl.lit("7"))},
            "example_id '7' is not 16 hex",
        ),
        ({"examples": samples.examples(3).drop("seed")}, "missing \\['seed'\\]"),
    ],
)
def test_input_that_does_not_fit_is_refused_and_leaves_nothing(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path, **change)  # type: ignore[arg-type]
    assert list_versions(tmp_path, "shop") == []
    assert not list(tmp_path.rglob(".writing-*"))


def test_a_reader_is_told_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(NoVersion, match="corpus 'shop' has no version"):
        latest(tmp_path, "shop")
    with pytest.raises(NoVersion, match="not a corpus version"):
        open_version(tmp_path)
    version = open_version(write(tmp_path))
    ids = sorted(samples.examples(30)["example_id"])
    assert version.example(ids[0])["example_id"] == ids[0]
    with pytest.raises(NoVersion, match="no example 0000000000000000; it holds 30 others"):
        version.example("0" * 16)
    with pytest.raises(NoVersion, match="is no example id"):
        version.example("'; drop")


# --- crashes, full disks, two writers ---


def _hold(folder: Path, ready: multiprocessing.synchronize.Event, seconds: float) -> None:
    with exclusive(folder / ".lock", wait_seconds=0, doing="is here"):
        ready.set()
        time.sleep(seconds)


def test_a_second_writer_waits_or_is_told_who_holds_the_corpus(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "shop").mkdir()
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "shop", ready, 2.0))
    holder.start()
    try:
        assert ready.wait(20)
        with pytest.raises(Locked, match=f"process {holder.pid} on .* is writing a version of this corpus"):
            write(tmp_path, wait_seconds=0.2)
        with caplog.at_level(logging.WARNING):
            path = write(tmp_path, wait_seconds=30)
    finally:
        holder.join()
    assert f"waiting for process {holder.pid}" in caplog.text
    assert open_version(path).verify_hashes() == []


WRITER = """
import sys, resource
from pathlib import Path
import polars as pl
sys.path.insert(0, {tests!r})
import publish_samples as samples
from agro_data.publish.version import write_version
limit = {limit}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
frame = pl.read_parquet({frame!r})
print("ready", flush=True)
for number in range({first}, {last}):
    write_version(Path({root!r}), "shop", fingerprint=f"{{number:064x}}"[::-1], examples=frame,
                  rejected=samples.rejected(100), manifest=samples.manifest())
"""


def _script(root: Path, frame: Path, *, first: int, last: int, limit: int = 0) -> list[str]:
    code = WRITER.format(
        tests=str(Path(__file__).parent),
        frame=str(frame),
        root=str(root),
        first=first,
        last=last,
        limit=limit,
    )
    return [sys.executable, "-c", code]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "POLARS_MAX_THREADS": "1"}


@pytest.mark.ci
def test_kill_at_any_moment_leaves_only_whole_versions(tmp_path: Path) -> None:
    frame = tmp_path / "frame.parquet"
    samples.examples(2_000).write_parquet(frame)
    root = tmp_path / "out"
    started = time.monotonic()
    write(root, fingerprint="e" * 64, examples=pl.read_parquet(frame))
    pace = time.monotonic() - started  # of one version on this machine, now
    rng = random.Random(20)
    interrupted = 0
    for attempt in range(10):
        process = subprocess.Popen(
            _script(root, frame, first=100 * attempt, last=100 * attempt + 100),
            env=_environment(),
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.0, 3 * pace))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.stdout.close()
        interrupted += any((root / "shop").glob(".writing-*"))
        for path in list_versions(root, "shop"):
            assert open_version(path).verify_hashes() == []
        assert latest(root, "shop") in list_versions(root, "shop")[-2:]
    assert interrupted, "no kill met a writer at work"
    last = write(root, fingerprint="f" * 64)
    assert not list((root / "shop").glob(".writing-*"))
    assert [p.name for p in list_versions(root, "shop")][-1] == last.name
    assert latest(root, "shop") == last


def test_a_full_disk_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    frame = tmp_path / "frame.parquet"
    samples.examples(3_000).write_parquet(frame)
    root = tmp_path / "out"
    ended = subprocess.run(
        check=False,
        args=_script(root, frame, first=0, last=1, limit=20_000),
        env=_environment(),
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "NotWritten: corpus shop: no room to write a version below" in ended.stderr
    assert "MiB free" in ended.stderr
    assert list_versions(root, "shop") == []
    assert [p.name for p in (root / "shop").iterdir()] == [".lock"]
    assert open_version(write(root)).verify_hashes() == []


def test_no_space_at_the_last_sync_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(NotWritten, match="No space left on device"):
            write(tmp_path)
    assert list_versions(tmp_path, "shop") == []
    assert not list((tmp_path / "shop").glob(".writing-*"))


def test_latest_is_mended_by_the_next_writer(tmp_path: Path) -> None:
    write(tmp_path)
    second = write(tmp_path, fingerprint=PRINT_B)
    pointer = tmp_path / "shop" / "latest"
    pointer.unlink()  # as when a writer is killed between the rename and the pointer
    assert latest(tmp_path, "shop") == second
    write(tmp_path, fingerprint=PRINT_B)
    assert pointer.read_text() == second.name + "\n"


def test_the_manifest_is_plain_json_and_holds_no_clock(tmp_path: Path) -> None:
    path = write(tmp_path)
    first = (path / "manifest.json").read_bytes()
    shutil.rmtree(tmp_path / "shop")
    time.sleep(0.01)
    assert (write(tmp_path) / "manifest.json").read_bytes() == first
    assert json.loads(first)["counts"]["databases"] == 5
