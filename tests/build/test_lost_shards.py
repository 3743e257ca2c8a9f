"""A shard that was lost, to the kernel or to a fault of the machine: no version without it, and the next run makes the
whole one. One that failed is named by the version that lacks it."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from making import build_corpus, hashes, make_school

import agro_data
from agro_data.config import STRUCTURAL, BuildConfig, RunConfig
from agro_data.databases.errors import DatabaseError
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database, Dialect
from agro_data.faults import is_passing
from agro_data.parallel import ShardsLost
from agro_data.pipeline import prepare
from agro_data.publish.card import render_card
from agro_data.publish.report import render_report
from agro_data.stages import saying, surrogates
from agro_data.stages.task import Task
from agro_data.verbs.build import build_command

# Imported by the process that workers are forked from: while the file `poison` is there, every worker of the stage
# that samples candidates of one database is killed as the kernel would do it.
POISON = """
import os, signal
from pathlib import Path
from agro_data.stages import generating

sample = generating._sample

def poisoned(task):
    if task.db_id == "second" and Path(os.environ["POISON"]).exists():
        with open(os.environ["POISON"], "a") as log:
            log.write("killed\\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return sample(task)

poisoned.__module__, poisoned.__qualname__ = "agro_data.stages.generating", "_sample"
generating._sample = poisoned
"""
BUILD = """
import sys
from agro_data import parallel
parallel.PRELOADED.append("poison")
import poison
from agro_train.cli import main
main()
"""


@pytest.fixture(scope="module")
def schools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("databases")
    make_school(folder / "first.sqlite")
    make_school(folder / "second.sqlite", "B")
    return folder


def build(schools: Path, place: Path, poison: Path) -> subprocess.CompletedProcess[str]:
    (place / "code").mkdir(parents=True, exist_ok=True)
    (place / "code" / "poison.py").write_text(POISON)
    arguments = ["build", "--databases", str(schools), "--out", str(place / "out"), "--size", "30", "--workers", "2"]
    return subprocess.run(
        [sys.executable, "-c", BUILD, *arguments, "--embedding-model", STRUCTURAL],
        env=os.environ | {"PYTHONPATH": str(place / "code"), "POISON": str(poison), "AGRO_CACHE": str(place / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_shard_that_is_killed_twice_is_not_left_out(schools: Path, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.touch()
    for attempt in (1, 2):
        failed = build(schools, tmp_path / "lost", poison)
        assert failed.returncode == 1, failed.stderr
        assert poison.read_text().count("killed") == 2 * attempt
        assert "second, shard second.00.000: its worker process died" in failed.stderr
        assert "Traceback" not in failed.stderr
        assert not list((tmp_path / "lost" / "out").glob("*/v*"))
    poison.unlink()
    resumed = build(schools, tmp_path / "lost", poison)
    assert resumed.returncode == 0, resumed.stderr
    whole = build(schools, tmp_path / "whole", poison)
    assert whole.returncode == 0, whole.stderr
    (late,) = (tmp_path / "lost" / "out" / "corpus").glob("v*")
    (first,) = (tmp_path / "whole" / "out" / "corpus").glob("v*")
    assert hashes(late) == hashes(first)
    assert set(agro_data.open_version(late).examples().collect()["db_id"]) == {"first", "second"}


def raising(number: int) -> Callable[..., tuple[pl.DataFrame, pl.DataFrame]]:
    """What `saying.sift` is, but that it fails for one database."""
    sift = saying.sift

    def failing(task: Task, before: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        if task.db_id == "second":
            raise OSError(number, os.strerror(number))
        return sift(task, before)

    return failing


def built(schools: Path, place: Path) -> agro_data.Build:
    return build_corpus(place, schools, size=12, certify=False)


def test_a_fault_of_the_machine_leaves_nothing_out(
    schools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(saying, "sift", raising(errno.EMFILE))
        with pytest.raises(ShardsLost, match=r"second, shard second: the machine .*Too many open files"):
            built(schools, tmp_path)
    assert not list((tmp_path / "out").glob("*/v*"))
    whole = built(schools, tmp_path)
    assert set(whole.version.examples().collect()["db_id"]) == {"first", "second"}
    assert (whole.problems, whole.version.manifest["problems"]) == ((), [])


def test_a_shard_that_failed_is_among_the_problems_of_the_version(
    schools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saying, "sift", raising(errno.EACCES))
    partial = built(schools, tmp_path)
    (problem,) = partial.problems
    assert problem.startswith("second, shard second: PermissionError: ")
    assert partial.version.manifest["problems"] == [problem]
    assert "`problems` in `manifest.json` says what could not, and why (1)" in render_card(partial.version.manifest)
    assert "second, shard second: PermissionError" in render_report(partial.version)


def test_a_shard_that_failed_leaves_its_traceback_until_it_is_made(
    schools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(saying, "sift", raising(errno.EACCES))
        (problem,) = built(schools, tmp_path).problems
    (work,) = (tmp_path / "cache" / "work").iterdir()
    trace = work / "failures" / "distinct" / "second.txt"
    assert problem.endswith(f"; {trace} shows how it came to that")
    assert trace.read_text().startswith("Traceback")
    assert "in _sift" in trace.read_text()
    assert built(schools, tmp_path).problems == ()
    assert not trace.exists()


def test_a_preview_names_no_trace_that_goes_with_it(
    schools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saying, "sift", raising(errno.EACCES))
    done = CliRunner().invoke(build_command, ["--databases", str(schools), "--preview", "2"])
    assert done.exit_code == 1
    assert "second, shard second: PermissionError: " in done.output
    assert "; `agro build` without --preview shows how it came to that" in done.output
    assert "failures/distinct" not in done.output


def test_a_stand_in_that_the_machine_failed_to_make_is_not_left_out(
    schools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(surrogates, "build_surrogate", failing)
    config = BuildConfig(databases=str(schools), values="synthetic", embedding_model=STRUCTURAL)
    with pytest.raises(OSError, match="Input/output error"):
        prepare(config, RunConfig(out=tmp_path / "out", cache=tmp_path / "cache"))


def caught(act: Callable[[], object]) -> Exception:
    try:
        act()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_a_locked_cache_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    make_school(tmp_path / "school.sqlite")
    with closing(sqlite3.connect(tmp_path / "school.sqlite", isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with closing(sqlite3.connect(tmp_path / "school.sqlite", timeout=0)) as reader:
            assert is_passing(caught(lambda: reader.execute("SELECT * FROM school")))


def test_no_file_left_to_open_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    pl.read_parquet(tmp_path / "a.parquet", glob=False)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        errors = [caught((tmp_path / "a.parquet").read_bytes), caught(lambda: pl.read_parquet(tmp_path / "a.parquet"))]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(map(is_passing, errors)) == [True, True]


def test_what_is_wrong_with_a_database_is_no_fault_of_the_machine(tmp_path: Path) -> None:
    for name, content in (("bad.sqlite", b"SQLite format 3\0" + b"x" * 5000), ("no.duckdb", b"DUCK" * 3000)):
        path = tmp_path / name
        path.write_bytes(content)
        kind: Dialect = "sqlite" if name.endswith("sqlite") else "duckdb"
        database = Database("db", kind, kind, path, "0" * 64, name)

        def look(database: Database = database) -> None:
            with open_database(database) as connection:
                connection.objects()

        error = caught(look)
        assert isinstance(error, DatabaseError)
        assert not is_passing(error)
    assert is_passing(caught(lambda: raise_from(OSError(errno.EIO, "Input/output error"))))
    assert not is_passing(PermissionError(errno.EACCES, "Permission denied"))


def raise_from(error: Exception) -> None:
    raise DatabaseError("db: cannot be opened") from error
