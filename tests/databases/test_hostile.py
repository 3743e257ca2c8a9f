"""The sandbox attacked: every statement of the hostile corpus, on every kind of database."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from database_files import csv_file, duckdb_file, found, parquet_file, sqlite_file
from hostile_corpus import Hostile, hostile
from making import hashes_and_times

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Limits, Result

ENGINES = ["sqlite", "duckdb", "files"]
GOOD = "SELECT a, b FROM t ORDER BY a"
ROWS = ((1, "x"), (2, None), (3, "z"))
LIMITS = Limits(seconds=0.5, rows=1_000, bytes=2**20, memory=512 * 2**20)
NOISE = 0.6  # seconds that a busy machine may add to a statement that is killed
RESIDENT = 200 * 2**20  # of a worker after the attack; of this process, what it may have grown
CANARY = "canary-7c1f"


@dataclass(frozen=True)
class Ground:
    """Where the attack happens: a database, and the folders that it could write to."""

    database: Database
    folder: Path

    def state(self) -> object:
        """All that could be changed: working folder, source and temporary folder below it, home, shared memory."""
        home = Path.home()
        memory = Path("/dev/shm")  # where others have files, too: only what the statements name there
        written = [path for name in ("attached", "written", "exported") for path in sorted(memory.glob(f"{name}*"))]
        outside = [home / ".duckdb", *sorted(home.glob("*.duckdb")), *written]
        return hashes_and_times(self.folder), [(str(path), path.exists()) for path in outside]


@pytest.fixture(params=ENGINES)
def ground(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    engine: str = request.param
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("SECRET", CANARY)
    (tmp_path / "secret.txt").write_text(f"{CANARY}\n")
    (tmp_path / "secret.csv").write_text(f"{CANARY}\n1\n")
    place = tmp_path / "source"
    if engine == "sqlite":
        return Ground(found(sqlite_file(place / "db.sqlite")), tmp_path)
    if engine == "duckdb":
        return Ground(found(duckdb_file(place / "db.duckdb")), tmp_path)
    parquet_file(place / "p.parquet")
    return Ground(found(csv_file(place / "t.csv").parent), tmp_path)


def cases(ground: Ground) -> list[Hostile]:
    corpus = hostile(ground.database.dialect)
    assert len(corpus) > 250
    return corpus


def check(case: Hostile, result: Result, ground: Ground) -> None:
    assert result.status in case.expected, f"{case}: {result}"
    assert result.ok or result.error, case
    said = repr(result)
    assert CANARY not in said, case
    assert "root:" not in said, case
    assert str(ground.folder) not in said, f"{case} tells where the database is: {said[:300]}"


def test_what_must_fail_fails_at_once(ground: Ground) -> None:
    before = ground.state()
    quick = [case for case in cases(ground) if not case.slow]
    assert len(quick) > 150
    statements = [sql for case in quick for sql in (case.sql, GOOD)]
    with Sandbox(limits=LIMITS) as pool:
        results = pool.run(ground.database, statements, want="rows")
        workers = {worker.process.pid for worker in pool._pool}
    for case, result, after in zip(quick, results[::2], results[1::2], strict=True):
        check(case, result, ground)
        assert after.rows == ROWS, f"after {case}: {after}"
    assert len(workers) == 1
    assert ground.state() == before


def test_what_runs_without_end_is_stopped(ground: Ground) -> None:
    """A part of the slow ones; all of them, one by one, in the slow test below."""
    before = ground.state()
    some = [case for case in cases(ground) if case.slow][::9]
    with Sandbox(workers=2, limits=LIMITS) as pool:
        results = pool.run(ground.database, [sql for case in some for sql in (case.sql, GOOD)], want="rows")
    for case, result, after in zip(some, results[::2], results[1::2], strict=True):
        check(case, result, ground)
        assert after.rows == ROWS, f"after {case}: {after}"
    assert ground.state() == before


@pytest.mark.slow
def test_each_alone_keeps_the_limits_and_gives_memory_back(ground: Ground) -> None:
    before = ground.state()
    with Sandbox(limits=LIMITS) as pool, grown_little():
        for case in cases(ground):
            assert pool.run(ground.database, [GOOD], want="rows")[0].rows == ROWS, f"before {case}"
            started = time.monotonic()
            (result,) = pool.run(ground.database, [case.sql], want="rows")
            elapsed = time.monotonic() - started
            check(case, result, ground)
            assert elapsed < 2 * LIMITS.seconds + NOISE, f"{case} took {elapsed:.2f} s"
            assert ground.state() == before, f"{case} left something behind"
        assert pool.run(ground.database, [GOOD], want="rows")[0].rows == ROWS
        for worker in pool._pool:
            assert psutil.Process(worker.process.pid).memory_info().rss < RESIDENT


@contextmanager
def grown_little() -> Iterator[None]:
    """This process is not larger afterwards by what results could have held."""
    me = psutil.Process(os.getpid())
    before = me.memory_info().rss
    yield
    assert me.memory_info().rss - before < RESIDENT
