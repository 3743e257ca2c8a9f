"""What ends the process that reads it, or takes too long, is a problem of that database."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from database_files import csv_file, duckdb_file, sqlite_file

from agro_data.databases import examining
from agro_data.databases.catalog import find_databases

# As the engine over a damaged file. Which bytes make it do so changes from version to version.
CRASHING = """
import os, signal
from agro_data.databases import examining
here = examining._here
examining._here = lambda one: os.kill(os.getpid(), signal.SIGSEGV) if one.db_id == "bad" else here(one)
examining.main()
"""


@pytest.fixture(autouse=True)
def fresh() -> None:
    while examining._waiting:
        examining._waiting.pop().end()


def test_a_file_that_ends_its_process_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "bad", "c"):
        duckdb_file(tmp_path / f"{name}.duckdb")
    monkeypatch.setattr(examining, "COMMAND", CRASHING)
    catalog = find_databases(tmp_path)
    assert [database.db_id for database in catalog.databases] == ["a", "c"]
    (problem,) = catalog.problems
    assert (problem.path, problem.left_out) == ("bad.duckdb", True)
    assert problem.reason == "while it was read its process ended by signal 11; the file is left out"
    while examining._waiting:
        examining._waiting.pop().end()


def test_a_folder_that_ends_its_process_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "bad"):
        csv_file(tmp_path / name / "t.csv")
    monkeypatch.setattr(examining, "COMMAND", CRASHING)
    catalog = find_databases(tmp_path)
    assert [database.db_id for database in catalog.databases] == ["a"]
    (problem,) = catalog.problems
    assert (problem.path, problem.left_out) == ("bad", True)
    assert problem.reason == "while it was read its process ended by signal 11; the folder is left out"
    while examining._waiting:
        examining._waiting.pop().end()


def test_a_folder_that_takes_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB finds out how a CSV is written, and heeds no interrupt meanwhile."""
    csv_file(tmp_path / "slow" / "t.csv")
    monkeypatch.setattr(examining, "COMMAND", "import time; time.sleep(60)")
    monkeypatch.setattr(examining, "SECONDS", 0.2)
    (problem,) = find_databases(tmp_path).problems
    assert (problem.path, problem.left_out) == ("slow", True)
    assert problem.reason == "it takes over 0.2 s to read; the folder is left out"
    assert "Parquet" in problem.remedy
    assert examining._waiting == []


def test_one_child_for_all_files_and_a_new_one_where_it_has_ended(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "s.sqlite")
    find_databases(tmp_path)
    assert examining._waiting == []  # only what DuckDB reads needs one
    duckdb_file(tmp_path / "a.duckdb")
    first = find_databases(tmp_path)
    (child,) = examining._waiting
    assert find_databases(tmp_path) == first
    assert examining._waiting == [child]
    child.process.send_signal(signal.SIGKILL)
    child.process.wait()
    assert find_databases(tmp_path) == first


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    duckdb_file(tmp_path / "a.duckdb")
    script = (
        "import os, sys; from agro_data.databases import examining, catalog; catalog.find_databases(sys.argv[1]);"
        "print(examining._waiting[0].process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    status = Path(f"/proc/{done.stdout.strip()}/stat")
    for _ in range(100):
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError("it is still there")
