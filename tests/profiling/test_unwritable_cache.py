"""A cache that cannot be written costs time, and not the answer."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.profiling.cache import cached_profile, lend_profiles

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    folder = tmp_path / "shops"
    folder.mkdir()
    for name in ("north", "south"):
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as connection:
            connection.executescript(
                "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'a');"
            )
    return folder


@pytest.mark.parametrize("cache", ["a file", "below a file", "a folder in the entry's place"])
def test_databases_are_listed_and_it_is_said_once(shops: Path, tmp_path: Path, cache: str) -> None:
    (tmp_path / "file").write_text("no folder")
    place = {"a file": tmp_path / "file", "below a file": tmp_path / "file" / "cache"}.get(cache, tmp_path / "made")
    if cache.startswith("a folder"):
        place.mkdir()
        (place / "profiles").write_text("no folder")
    done = subprocess.run(
        [sys.executable, "-c", "from agro_train.cli import main; main()", "databases", str(shops)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "COLUMNS": "200", "AGRO_CACHE": str(place)},
    )
    assert done.returncode == 0, done.stderr
    assert "north" in done.stdout
    assert "south" in done.stdout
    assert done.stderr.count("cannot be written") == done.stderr.count("AGRO_CACHE") == 1, done.stderr


def test_an_entry_that_can_be_neither_read_nor_replaced_is_made_anew(shops: Path, tmp_path: Path) -> None:
    database = find_databases(shops / "north.sqlite").databases[0]
    first = cached_profile(database, tmp_path / "cache")
    (entry,) = (tmp_path / "cache").iterdir()
    entry.unlink()
    (entry / "inside").mkdir(parents=True)
    assert cached_profile(database, tmp_path / "cache") == first


def test_a_passing_cache_takes_the_profiles_that_are_there(
    shops: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    north, south = find_databases(shops).databases
    lend_profiles(tmp_path / "none", tmp_path / "alone")
    assert not (tmp_path / "none").exists()  # nothing is left where nothing was
    first = cached_profile(north, tmp_path / "cache" / "profiles")
    lend_profiles(tmp_path / "cache", tmp_path / "passing")
    second = cached_profile(south, tmp_path / "passing" / "profiles")
    shutil.rmtree(tmp_path / "passing")
    monkeypatch.setattr("agro_data.profiling.cache.profile_database", None)
    assert cached_profile(south, tmp_path / "cache" / "profiles") == second
    lend_profiles(tmp_path / "cache", tmp_path / "another")
    assert cached_profile(north, tmp_path / "another" / "profiles") == first


def test_a_full_disk_still_stops_a_build(shops: Path, tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from agro_data.databases.discovery.catalog import find_databases\n"
        "from agro_data.profiling.cache import cached_profile\n"
        "(database,) = find_databases(sys.argv[1]).databases\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: cached_profile(database, Path(sys.argv[2]))\n"
        "except OSError as error: print(error.errno)"
    )
    arguments = [sys.executable, "-c", code, str(shops / "north.sqlite"), str(tmp_path / "cache")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == str(errno.EFBIG)
