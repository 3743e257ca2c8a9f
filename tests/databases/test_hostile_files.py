"""Database files that attack whoever opens them: nothing outside of them is read, written or deleted."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest
from database_files import unchecked

from agro_data.databases.catalog import find_databases
from agro_data.databases.connections import open_database
from agro_data.databases.opening import SUPER_JOURNAL, DatabaseError


def with_hot_journal(folder: Path) -> Path:
    """A SQLite file with the journal of a writer that was killed in the middle of a transaction."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "written.sqlite", isolation_level=None)) as writer:
        writer.execute("CREATE TABLE t(a)")
        writer.executemany("INSERT INTO t VALUES (?)", ((i,) for i in range(2000)))
        writer.execute("PRAGMA cache_size=1")
        writer.execute("BEGIN")
        writer.execute("UPDATE t SET a = -1")
        for side in ("", "-journal"):
            shutil.copyfile(folder / f"written.sqlite{side}", folder.parent / f"x.sqlite{side}")
        writer.execute("ROLLBACK")
    return folder.parent / "x.sqlite"


def test_a_journal_that_names_a_further_file_deletes_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious\n")
    path = with_hot_journal(tmp_path / "work")
    name = str(victim).encode()
    after_all_pages = struct.pack(">I", 0x40000000 // 4096 + 1)
    record = after_all_pages + name + struct.pack(">II", len(name), sum(name)) + SUPER_JOURNAL
    with (tmp_path / "x.sqlite-journal").open("ab") as journal:
        journal.write(record)
    with (
        pytest.raises(DatabaseError, match=r"x\.sqlite: the journal .* several files; open it once with the program"),
        open_database(unchecked(path)),
    ):
        pass
    problems = find_databases(path).problems
    assert any("part of a transaction over several files" in problem.reason for problem in problems)
    assert victim.exists()
