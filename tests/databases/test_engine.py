"""Files attached to the engine of a thread: whole when it is left, and a failure spoils no file that comes after it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from agro_data.databases.engine import READ_ONLY, attached, attaching
from agro_data.databases.opening import open_duckdb


def count(path: Path) -> int:
    """Rows of `t`, in an engine of its own."""
    connection, *_ = open_duckdb(path, "duckdb", {})
    with connection:
        ((rows,),) = connection.execute("SELECT count(*) FROM t").fetchall()
    return int(rows)


def written(path: Path, rows: int = 3) -> Path:
    with attached(path) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT i FROM range({rows}) r(i)")
    return path


def test_a_file_is_whole_when_it_is_left(tmp_path: Path) -> None:
    assert count(written(tmp_path / "it's one.duckdb")) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["it's one.duckdb"]  # and no log beside it


def test_moments_are_read_alike_wherever_the_machine_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")

    def moment(_: int) -> tuple[float, ...] | None:
        with attached(tmp_path / "a.duckdb") as connection:
            return connection.execute("SELECT epoch('2024-01-01 00:00:00'::TIMESTAMPTZ)").fetchone()

    with ThreadPoolExecutor(1) as thread:  # whose engine starts now
        assert list(thread.map(moment, [0])) == [(1_704_067_200.0,)]


def test_an_error_leaves_nothing_attached(tmp_path: Path) -> None:
    path = written(tmp_path / "a.duckdb")
    with pytest.raises(duckdb.BinderException), attached(path) as connection:
        connection.execute("SELECT missing FROM t")
    with attached(tmp_path / "b.duckdb") as connection, attaching(connection, path, READ_ONLY) as other:
        attached_now = connection.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchone()
        assert attached_now == (3,)  # the engine's own and these
        connection.execute(f"CREATE TABLE t AS FROM {other}.t")
    assert count(tmp_path / "b.duckdb") == 3


def test_an_engine_that_cannot_let_go_is_used_no_more(tmp_path: Path) -> None:
    with attached(tmp_path / "a.duckdb") as connection:
        ((own,),) = connection.execute("SELECT current_database()").fetchall()
        connection.execute(f"USE memory; DETACH {own}")
    assert count(written(tmp_path / "b.duckdb", 5)) == 5


def test_threads_may_read_one_file_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a.duckdb", 1000)

    def total(_: int) -> tuple[int, ...] | None:
        with attached(path, READ_ONLY) as connection:
            return connection.execute("SELECT sum(i)::BIGINT FROM t").fetchone()

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(total, range(40))) == {(499_500,)}
