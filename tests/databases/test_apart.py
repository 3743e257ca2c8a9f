"""What ends the process that reads it, or takes too long there, costs a view, a file or a folder, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import csv_file, duckdb_file, sqlite_file, unchecked

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.errors import DatabaseError
from agro_data.databases.trusted import apart
from agro_data.databases.trusted.connections import open_database

# As the engine over a damaged file. Which bytes make it do so changes from version to version.
CRASHING = """
import os, signal
from agro_data.databases.trusted import apart
opened = apart.open_duckdb
def crashing(path, *others):
    if path.stem == "bad":
        os.kill(os.getpid(), signal.SIGSEGV)
    return opened(path, *others)
apart.open_duckdb = crashing
apart.main()
"""
# One call of a function takes longer than any test.
SLOW = """
CREATE TABLE t AS SELECT repeat('ab', 150000) AS a, repeat('ba', 150000) AS b, 1 AS c;
CREATE VIEW plain AS SELECT c FROM t;
CREATE VIEW slow AS SELECT levenshtein(a, b) AS d FROM t;
CREATE VIEW where_slow AS SELECT c FROM t WHERE levenshtein(a, b) > 1
"""


def end_children() -> None:
    while apart._waiting:
        apart._waiting.pop().end()


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    end_children()
    yield
    end_children()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_ends_its_process_is_left_out(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "bad", "c"):
        if kind == "file":
            duckdb_file(tmp_path / name / f"{name}.duckdb")
        else:
            csv_file(tmp_path / name / "t.csv")
    monkeypatch.setattr(apart, "COMMAND", CRASHING)
    catalog = find_databases(tmp_path)
    assert [database.db_id for database in catalog.databases] == ["a", "c"]
    (problem,) = catalog.problems
    assert (problem.path, problem.left_out) == ("bad/bad.duckdb" if kind == "file" else "bad", True)
    assert problem.reason == "bad: cannot be opened: while it was read its process ended by signal 11"


def test_a_folder_that_takes_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB finds out how a CSV is written, and heeds no interrupt meanwhile."""
    csv_file(tmp_path / "slow" / "t.csv")
    monkeypatch.setattr(apart, "COMMAND", "import time; time.sleep(60)")
    monkeypatch.setattr(apart, "SECONDS", 0.2)
    (problem,) = find_databases(tmp_path).problems
    assert (problem.path, problem.left_out) == ("slow", True)
    assert "it takes over 0.2 s to read; give large CSV files as Parquet" in problem.reason
    assert apart._waiting == []


def test_one_call_of_a_function_costs_a_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agro_data.databases.trusted.duckdb_connection.SECONDS", 0.3)
    path = duckdb_file(tmp_path / "x.duckdb", SLOW)
    started = time.monotonic()
    with open_database(unchecked(path, "duckdb")) as connection:
        assert [table.name for table in connection.objects()] == ["t", "plain", "slow"]
        assert ["'where_slow'" in problem and "takes too long" in problem for problem in connection.problems] == [True]
        with pytest.raises(DatabaseError, match="x: a statement takes too long"):
            connection.execute("SELECT d FROM slow")
        assert connection.execute("SELECT c FROM plain") == [(1,)]
    assert time.monotonic() - started < 10


def test_a_column_that_is_computed_for_hours_costs_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    column = "d AS (CASE WHEN long THEN levenshtein(a, a || 'b') END)"  # computed where a row is inserted, too
    values = "INSERT INTO t VALUES (repeat('ab', 150000), false); UPDATE t SET long = true"
    duckdb_file(tmp_path / "a.duckdb")
    duckdb_file(tmp_path / "slow.duckdb", f"CREATE TABLE t(a TEXT, long BOOLEAN, {column}); {values}")
    monkeypatch.setattr(apart, "SECONDS", 3)
    monkeypatch.setattr(apart, "HASHED", 2**40)
    catalog = find_databases(tmp_path)
    assert [database.db_id for database in catalog.databases] == ["a"]
    assert [problem.path for problem in catalog.problems] == ["slow.duckdb"]
    assert "its content cannot be read: it takes over 3 s to read" in catalog.problems[0].reason


def test_ctrl_c_is_heeded_at_once(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "x.duckdb", SLOW)
    program = (
        "import signal, sys; from pathlib import Path; from agro_data.databases.types import Database;"
        "from agro_data.databases.trusted.connections import open_database; path = Path(sys.argv[1]);"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which is ignored behind `make test &`
        "with open_database(Database('x', 'duckdb', 'duckdb', path, '', 'x')) as o:\n"
        "    print(o.execute('SELECT c FROM plain'), flush=True); o.execute('SELECT d FROM slow')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asked:
        assert asked.stdout is not None
        assert asked.stderr is not None
        asked.stdout.readline()
        time.sleep(0.2)
        asked.send_signal(signal.SIGINT)
        started = time.monotonic()
        assert b"KeyboardInterrupt" in asked.stderr.read()
        asked.wait()
    assert time.monotonic() - started < 5


def test_one_child_for_all_and_a_new_one_where_it_has_ended(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "s.sqlite")
    find_databases(tmp_path)
    assert apart._waiting == []  # only what DuckDB reads needs one
    duckdb_file(tmp_path / "a.duckdb")
    first = find_databases(tmp_path)
    (child,) = apart._waiting
    assert find_databases(tmp_path) == first
    assert apart._waiting == [child]
    child.process.send_signal(signal.SIGKILL)
    child.process.wait()
    assert find_databases(tmp_path) == first


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    duckdb_file(tmp_path / "a.duckdb")
    script = (
        "import os, sys; from agro_data.databases.discovery import catalog; "
        "from agro_data.databases.trusted import apart; catalog.find_databases(sys.argv[1]);"
        "print(apart._waiting[0].process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    status = Path(f"/proc/{done.stdout.strip()}/stat")
    for _ in range(100):
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError("it is still there")
