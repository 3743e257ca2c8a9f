"""Content hashes: the same rows, however they were written, are the same database."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from database_files import csv_file, duckdb_file, parquet_file, sqlite_file

from agro_data.databases.discovery import examining
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.discovery.content import content_hash, duckdb_hash, written_hash
from agro_data.databases.errors import DatabaseError

KINDS = """
CREATE TYPE mood AS ENUM ('calm', 'loud');
CREATE TABLE visit (
    id INTEGER PRIMARY KEY, day DATE, since TIMESTAMPTZ, price DECIMAL(9, 2), paid BOOLEAN, mood mood, tags VARCHAR[],
    place STRUCT(x DOUBLE, y DOUBLE), raw BLOB, "odd ""name" VARCHAR);
CREATE TABLE empty (a INTEGER);
CREATE VIEW paid AS SELECT * FROM visit WHERE paid;
CREATE MACRO twice(a) AS a * 2;
"""
FILL = """
INSERT INTO visit SELECT i, DATE '2024-01-01' + i::INTEGER, TIMESTAMPTZ '2024-01-01 10:00:00+00', i * 1.25, i % 2 = 0,
    CASE WHEN i % 3 = 0 THEN 'calm' ELSE 'loud' END, ['t' || i, NULL], {'x': i / 3, 'y': 'nan'::DOUBLE},
    'ab'::BLOB, CASE WHEN i % 5 = 0 THEN NULL ELSE 'NULL' END
FROM range(500) r(i) ORDER BY i
"""


def test_the_same_rows_written_otherwise_are_the_same_duckdb(tmp_path: Path) -> None:
    first = duckdb_file(tmp_path / "a.duckdb", KINDS + FILL)
    second = duckdb_file(tmp_path / "b.duckdb", KINDS + FILL + " DESC")
    with duckdb.connect(second) as connection:
        connection.execute("CREATE TABLE gone AS SELECT range AS i FROM range(10000)")
        connection.execute("CHECKPOINT; DROP TABLE gone; CHECKPOINT")
    assert first.read_bytes() != second.read_bytes()
    assert content_hash(first, "duckdb") == content_hash(second, "duckdb")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE visit SET price = price + 0.01 WHERE id = 7",
        "UPDATE visit SET tags = ['t7'] WHERE id = 7",
        "UPDATE visit SET since = since + INTERVAL 1 SECOND WHERE id = 7",
        """UPDATE visit SET "odd ""name" = NULL WHERE id = 7""",
        "DELETE FROM visit WHERE id = 7",
        "INSERT INTO empty VALUES (NULL)",
        "ALTER TABLE empty RENAME a TO b",
        "CREATE OR REPLACE VIEW paid AS SELECT * FROM visit",
        "CREATE OR REPLACE MACRO twice(a) AS a + a + a",
    ],
)
def test_any_change_of_content_is_another_hash(tmp_path: Path, change: str) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", KINDS + FILL)
    before = content_hash(path, "duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(change)
    assert content_hash(path, "duckdb") != before


def test_cells_that_read_alike_are_told_apart(tmp_path: Path) -> None:
    def hashed(name: str, values: str) -> str:
        script = f"CREATE TABLE t (a VARCHAR, b VARCHAR); INSERT INTO t VALUES {values}"
        return content_hash(duckdb_file(tmp_path / name, script), "duckdb")

    written = ["('ab', 'c')", "('a', 'bc')", "(NULL, 'n')", "('n', NULL)", "('ab', 'c'), ('ab', 'c')"]
    assert len({hashed(f"{n}.duckdb", values) for n, values in enumerate(written)}) == len(written)


def test_rows_that_stand_only_in_the_log_count(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb")
    before = content_hash(path, "duckdb")
    writer = duckdb.connect(path)
    writer.execute("SET wal_autocheckpoint = '1GB'")
    writer.execute("INSERT INTO t VALUES (9, 'only in the log')")
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in (path, path.with_name("a.duckdb.wal")):
        (copy / file.name).write_bytes(file.read_bytes())
    writer.close()
    listed = sorted(file.name for file in copy.iterdir())
    assert content_hash(copy / "a.duckdb", "duckdb") == content_hash(path, "duckdb") != before
    assert sorted(file.name for file in copy.iterdir()) == listed


def test_what_we_have_written_has_the_hash_that_anyone_finds(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", KINDS.replace("CREATE MACRO", "-- CREATE MACRO") + FILL)
    assert written_hash(path) == duckdb_hash(path)


def test_other_layouts_are_hashed_by_bytes(tmp_path: Path) -> None:
    parquet_file(tmp_path / "a" / "t.parquet")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "t.parquet").write_bytes((tmp_path / "a" / "t.parquet").read_bytes())
    assert content_hash(tmp_path / "a", "files") == content_hash(tmp_path / "b", "files")
    csv_file(tmp_path / "c" / "t.csv", "a\n1\n")
    csv_file(tmp_path / "d" / "t.csv", 'a\n"1"\n')
    assert content_hash(tmp_path / "c", "files") != content_hash(tmp_path / "d", "files")
    rows = "INSERT INTO t VALUES (1);"
    first = sqlite_file(tmp_path / "a.db", f"CREATE TABLE t (a); {rows}")
    second = sqlite_file(tmp_path / "b.db", f"CREATE TABLE t (a); {rows} DELETE FROM t; VACUUM; {rows}")
    assert content_hash(first, "sqlite") != content_hash(second, "sqlite")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\1" * 5_000)
    with pytest.raises(DatabaseError, match=r"bad\.duckdb"):
        duckdb_hash(tmp_path / "bad.duckdb")


def test_reading_a_large_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(duckdb.connect(tmp_path / "shop.duckdb")) as file:
        file.execute("CREATE TABLE part AS SELECT 1 AS id")
    assert find_databases(tmp_path).databases
    assert caplog.messages == []
    monkeypatch.setattr(examining, "LARGE", 1)
    assert find_databases(tmp_path).databases
    assert [line.partition(" (")[0] for line in caplog.messages] == ["shop.duckdb: reading all of it"]
