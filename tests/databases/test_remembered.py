"""Content hashes are kept where they took long, and never for files that may have changed since."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest
from making import database_at, run_sqlite

from agro_data.databases.discovery import remembered
from agro_data.databases.discovery.remembered import State

FORGED = "f" * 64


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which even the hash of a small database is kept, as soon as it is made."""
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(remembered, "SLOW", 0.0)
    monkeypatch.setattr(remembered, "SETTLED", 0.0)
    return tmp_path / "cache" / "contents"


def write_sqlite(path: Path, value: int) -> None:
    run_sqlite(path, f"CREATE TABLE IF NOT EXISTS t (a); DELETE FROM t; INSERT INTO t VALUES ({value})")


def hash_at(path: Path) -> str:
    return database_at(path).content_hash


def forge(cache: Path) -> None:
    """Put another hash into the one entry, by which it is seen whether it was used."""
    (entry,) = cache.iterdir()
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"content_hash": FORGED}))


@pytest.mark.parametrize("layout", ["sqlite", "duckdb", "files"])
def test_a_hash_is_kept_until_a_file_is_touched(tmp_path: Path, cache: Path, layout: str) -> None:
    path = tmp_path / f"shop.{layout}"
    if layout == "sqlite":
        write_sqlite(path, 1)
    elif layout == "duckdb":
        with duckdb.connect(path) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    else:
        path.mkdir()
        (path / "t.csv").write_text("a\n1\n")
    first = hash_at(path)
    forge(cache)
    assert hash_at(path) == FORGED
    os.utime(path / "t.csv" if layout == "files" else path, ns=(1, 1))
    assert hash_at(path) == first
    assert len(list(cache.iterdir())) == 1


def test_a_file_that_is_given_its_old_time_is_read_again(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "shop.sqlite"
    write_sqlite(path, 1)
    before, first = path.stat(), hash_at(path)
    forge(cache)
    write_sqlite(path, 2)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert hash_at(path) not in {FORGED, first}


def test_a_file_of_a_folder_may_be_added(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "t.csv").write_text("a\n1\n")
    first = hash_at(folder)
    (folder / "u.csv").write_text("b\n1\n")
    assert hash_at(folder) != first


def test_what_was_written_just_now_is_not_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "SETTLED", 60.0)
    write_sqlite(tmp_path / "shop.sqlite", 1)
    assert hash_at(tmp_path / "shop.sqlite")
    assert not cache.exists()


def test_what_is_hashed_at_once_is_not_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "SLOW", 60.0)
    write_sqlite(tmp_path / "shop.sqlite", 1)
    assert hash_at(tmp_path / "shop.sqlite")
    assert not cache.exists()


def test_a_cache_that_cannot_be_read_or_written_is_done_without(tmp_path: Path, cache: Path) -> None:
    write_sqlite(tmp_path / "shop.sqlite", 1)
    first = hash_at(tmp_path / "shop.sqlite")
    (entry,) = cache.iterdir()
    for text in ("", "[]", "{}", "null", "\x00"):
        entry.write_text(text)
        assert hash_at(tmp_path / "shop.sqlite") == first
    entry.unlink()
    cache.rmdir()
    cache.write_text("no folder")
    assert hash_at(tmp_path / "shop.sqlite") == first


def test_a_name_that_is_no_text_has_a_state(tmp_path: Path, cache: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.sqlite"))
    write_sqlite(path, 1)
    state = State.of(path, "sqlite")
    remembered.remember(state, FORGED, seconds=0.0)
    assert remembered.recalled(state) == FORGED
