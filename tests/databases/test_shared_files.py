"""Files that others write to, read or have left: read with their logs, and without a trace."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from database_files import ONE, SHOP, duckdb_file, found, sqlite_file, tables, unchecked
from making import hashes_and_times

from agro_data.databases.errors import DatabaseError
from agro_data.databases.trusted.connections import open_database

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("kind", ["wal", "hot journal", "duckdb log"])
def test_logs_and_journals_are_worked_in_and_nothing_appears(kind: str, tmp_path: Path) -> None:
    """The source is left as a writer that was killed leaves it: with its log or journal beside it."""
    if kind == "duckdb log":
        name, expected = "db.duckdb", [(1,), (2,)]
        program = (
            "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE t(a INTEGER)');"
            "c.execute('INSERT INTO t VALUES (1)'); c.execute('CHECKPOINT');"
            "c.execute('INSERT INTO t VALUES (2)'); os._exit(0)"
        )
    else:
        name = "db.sqlite"
        expected = [(1,), (2,)] if kind == "wal" else [(i,) for i in range(2000)]
        change = (
            "c.execute('PRAGMA journal_mode=WAL'); c.execute('CREATE TABLE t(a)');"
            "c.execute('INSERT INTO t VALUES (1)');"
            "c.execute('INSERT INTO t VALUES (2)')"
            if kind == "wal"
            else "c.execute('CREATE TABLE t(a)'); c.execute('BEGIN');"
            "c.executemany('INSERT INTO t VALUES (?)', ((i,) for i in range(2000))); c.execute('COMMIT');"
            "c.execute('PRAGMA cache_size=1'); c.execute('BEGIN'); c.execute('UPDATE t SET a = -1')"
        )
        program = (
            f"import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); {change}; os._exit(0)"
        )
    source = tmp_path / "source"
    source.mkdir()
    subprocess.run([sys.executable, "-c", program, str(source / name)], check=True)
    before = hashes_and_times(source)
    assert len(before) >= 2, "the writer left neither log nor journal"
    source.chmod(0o555)
    try:
        with open_database(found(source)) as connection:
            assert connection.execute("SELECT a FROM t ORDER BY a") == expected
        assert hashes_and_times(source) == before
    finally:
        source.chmod(0o755)


def test_a_link_is_read_with_the_log_of_what_it_leads_to(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "real" / "x.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(a)")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "shop.db").symlink_to(path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO t VALUES (1)")
        writer.commit()
        with open_database(found(tmp_path / "links")) as connection:
            assert connection.execute("SELECT a FROM t") == [(1,)]
        assert found(tmp_path / "links").content_hash == found(path).content_hash
        assert os.listdir(tmp_path / "links") == ["shop.db"]


def test_a_wal_database_without_its_log(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "db.sqlite", "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    before = hashes_and_times(tmp_path)
    with open_database(found(path)) as connection:
        assert connection.execute("SELECT a FROM t") == [(1,)]
    assert list(before) == ["db.sqlite"]
    assert hashes_and_times(tmp_path) == before


def test_the_private_copy_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    path = sqlite_file(tmp_path / "db.sqlite", "PRAGMA journal_mode=WAL; CREATE TABLE t(a)")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO t VALUES (2)")
        writer.commit()
        with open_database(found(path)) as connection:
            assert connection.execute("SELECT a FROM t") == [(2,)]
            assert os.listdir(private) != []
    assert os.listdir(private) == []


@pytest.mark.parametrize("name", ["shop", "memory", "Main", "temp", "information_schema", 'it\'s a "shop"'])
def test_a_duckdb_file_that_a_person_reads_meanwhile_can_be_read(name: str, tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / f"{name}.duckdb", SHOP + ONE)
    with duckdb.connect(path, read_only=True) as own, open_database(found(path)) as connection:
        assert set(tables(connection)) == {"customer", "sale", "line", "buyer"}
        assert own.execute("SELECT current_setting('lock_configuration')").fetchone() == (False,)  # theirs is as it was


def test_threads_may_read_one_duckdb_file(tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "shop.duckdb", SHOP + ONE))

    def read(_: int) -> frozenset[str]:
        with open_database(database) as connection:
            return frozenset(tables(connection))

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(read, range(16))) == {frozenset({"customer", "sale", "line", "buyer"})}


def test_a_duckdb_file_that_is_written_to_meanwhile_says_what_to_do(tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "shop.duckdb", SHOP + ONE))
    refused = pytest.raises(
        DatabaseError, match="another program, or this one, has it open to write to; close it there, or give"
    )
    with duckdb.connect(database.path), refused, open_database(database):
        pass


def test_what_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "noise.duckdb").write_bytes(b"noise" * 1000)
    with (
        pytest.raises(DatabaseError, match="noise: cannot be opened"),
        open_database(unchecked(tmp_path / "noise.duckdb", "duckdb")),
    ):
        raise AssertionError("was opened")
    path = duckdb_file(tmp_path / "busy.duckdb")
    writer = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", writer, str(path)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with (
                pytest.raises(DatabaseError, match="another program, or this one, has it open"),
                open_database(unchecked(path, "duckdb")),
            ):
                raise AssertionError("was opened")
        finally:
            process.kill()
    assert duckdb.connect(path, read_only=True).execute("SELECT count(*) FROM t").fetchall() == [(3,)]
