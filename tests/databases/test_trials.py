"""One statement on several databases, up to the first that gives something unexpected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import duckdb_file, found, sqlite_file, unchecked

from agro_data.databases.digest import result_digest
from agro_data.databases.hostile import worker
from agro_data.databases.hostile.sandbox import Sandbox, _Worker
from agro_data.databases.types import Cell, Database, Limits, Trial, TrialResult

NUMBERS = "SELECT a FROM t"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
HOG = "SELECT instr(hex(zeroblob(4000000)), hex(zeroblob(1000000)) || '1')"  # one operation: only killing stops it


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(limits=Limits(seconds=2)) as pool:
        yield pool


@pytest.fixture
def databases(tmp_path: Path) -> tuple[Database, ...]:
    """Four; the n-th holds the numbers n and n + 1."""
    script = "CREATE TABLE t(a); INSERT INTO t VALUES ({}), ({})"
    return tuple(found(sqlite_file(tmp_path / f"db{n}.sqlite", script.format(n, n + 1))) for n in range(4))


def digests(*columns: list[Cell], ordered: bool = False) -> tuple[tuple[str, ...], ...]:
    """The one digest expected on each database, for results of one column."""
    return tuple((result_digest(1, [(cell,) for cell in column], ordered),) for column in columns)


RIGHT = digests([0, 1], [1, 2], [2, 3], [3, 4])


def test_a_trial_ends_at_the_first_difference(sandbox: Sandbox, databases: tuple[Database, ...]) -> None:
    lucky = "SELECT a FROM t WHERE a < 4"  # right on the first three
    right, wrong, part, broken = sandbox.run_until_different(
        [Trial(sql, databases, RIGHT) for sql in (NUMBERS, "SELECT a + 1 FROM t", lucky, "SELECT b FROM t")], "rows"
    )
    assert right == TrialResult(4)
    assert (wrong.agreed, wrong.different and wrong.different.rows) == (0, ((1,), (2,)))
    assert (part.agreed, part.different and part.different.rows) == (3, ((3,),))
    assert (broken.agreed, broken.different and broken.different.error) == (0, "no such column: b")


def test_order_counts_when_it_is_meant(sandbox: Sandbox, databases: tuple[Database, ...]) -> None:
    expected = digests([1, 0], [2, 1], ordered=True)
    down, up = sandbox.run_until_different(
        [Trial(f"SELECT a FROM t ORDER BY a {way}", databases[:2], expected, ordered=True) for way in ("DESC", "ASC")]
    )
    assert down == TrialResult(2)
    assert up.agreed == 0
    assert up.different is not None
    assert up.different.rows == ()  # not asked for


def test_any_of_several_digests_is_accepted_and_none_is_not(sandbox: Sandbox, databases: tuple[Database, ...]) -> None:
    either = tuple((*mine, *other) for mine, other in zip(RIGHT, digests([1, 2], [2, 3], [0], [0]), strict=True))
    shifted = sandbox.run_until_different([Trial("SELECT a + 1 FROM t", databases, either)])[0]
    assert shifted.agreed == 2
    unknown = Trial(NUMBERS, databases, (*RIGHT[:2], (), RIGHT[3]))
    found_ = sandbox.run_until_different([unknown], "rows")[0]
    assert (found_.agreed, found_.different and found_.different.rows) == (2, ((2,), (3,)))
    assert sandbox.run_until_different([Trial(NUMBERS, (), ())]) == [TrialResult(0)]
    with pytest.raises(ValueError, match="4 databases"):
        Trial(NUMBERS, databases, RIGHT[:3])


def test_a_float_is_never_accepted_where_the_result_is_to_be_exact(
    sandbox: Sandbox, databases: tuple[Database, ...]
) -> None:
    """1.0 and 1 have one digest, and so have numbers apart in their last digits."""
    queries = [NUMBERS, "SELECT CASE a WHEN 2 THEN 2.0 ELSE a END FROM t"]
    whole, mixed = sandbox.run_until_different([Trial(sql, databases, RIGHT, exact=True) for sql in queries], "rows")
    assert whole == TrialResult(4)
    assert (mixed.agreed, mixed.different and mixed.different.rows) == (1, ((1,), (2.0,)))
    assert sandbox.run_until_different([Trial(queries[1], databases, RIGHT)]) == [TrialResult(4)]


def test_a_failure_is_no_empty_digest(sandbox: Sandbox, databases: tuple[Database, ...]) -> None:
    (failed,) = sandbox.run_until_different([Trial("SELECT nothing FROM t", databases, (("",),) * 4)])
    assert failed.agreed == 0


@pytest.mark.parametrize("stuck", [ENDLESS, HOG])
def test_what_stops_late_keeps_what_agreed_before(tmp_path: Path, stuck: str) -> None:
    script = "CREATE TABLE t(a); INSERT INTO t VALUES ({})"
    databases = tuple(found(sqlite_file(tmp_path / f"{n}.sqlite", script.format(n))) for n in range(3))
    late = Trial(f"SELECT CASE WHEN a < 2 THEN a ELSE ({stuck}) END FROM t", databases, digests([0], [1], [2]))
    good = Trial(NUMBERS, databases, late.expected)
    with Sandbox(workers=2, limits=Limits(seconds=0.2)) as pool:
        outcomes = pool.run_until_different([good, late, good, late, good])
    assert [outcome.agreed for outcome in outcomes] == [3, 2, 3, 2, 3]
    assert [outcome.different and outcome.different.status for outcome in outcomes] == [None, "timeout"] * 2 + [None]


def test_a_database_that_cannot_be_read_ends_only_trials_that_reach_it(
    sandbox: Sandbox, databases: tuple[Database, ...], tmp_path: Path
) -> None:
    (tmp_path / "noise.sqlite").write_bytes(b"noise" * 1000)
    for bad in (unchecked(tmp_path / "absent.sqlite"), unchecked(tmp_path / "noise.sqlite")):
        mixed = (databases[0], bad, databases[1])
        reaches, stops = sandbox.run_until_different(
            [Trial(sql, mixed, (RIGHT[0], (), RIGHT[1])) for sql in (NUMBERS, "SELECT 5")]
        )
        assert (reaches.agreed, stops.agreed) == (1, 0)
        assert reaches.different is not None
        assert bad.path.name in reaches.different.error
        assert stops.different is not None
        assert stops.different.ok


def test_engines_mix_in_one_trial(sandbox: Sandbox, databases: tuple[Database, ...], tmp_path: Path) -> None:
    duck = found(duckdb_file(tmp_path / "d.duckdb", "CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (0)"))
    mixed = Trial(NUMBERS, (databases[0], duck), (RIGHT[0], RIGHT[0]))
    assert sandbox.run_until_different([mixed]) == [TrialResult(2)]


def test_open_databases_are_bounded(tmp_path: Path) -> None:
    databases = tuple(
        found(sqlite_file(tmp_path / f"db{n}.sqlite", f"CREATE TABLE t(a); INSERT INTO t VALUES ({n})"))
        for n in range(40)
    )
    limits = Limits(memory=96 * 2**20)
    most = limits.memory // worker.OPEN_SHARE // worker.WEIGHT
    trial = Trial(NUMBERS, databases, tuple((result_digest(1, [(n,)], ordered=False),) for n in range(40)))
    with Sandbox(limits=limits) as pool:
        assert pool.run_until_different([trial] * 3) == [TrialResult(40)] * 3
        handles = Path(f"/proc/{pool._pool[0].process.pid}/fd")
        if not handles.exists():
            pytest.skip("this system does not list open files")
        open_files = [os.readlink(handle) for handle in handles.iterdir()]
    assert 1 < sum(name.endswith(".sqlite") for name in open_files) <= most < 40


def test_what_takes_much_memory_leaves_the_rest_to_a_new_process(databases: tuple[Database, ...]) -> None:
    """What becomes of a statement must not depend on those before it, in its message neither."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not tell the memory of a process")
    large = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 150000) SELECT hex(zeroblob(150)) FROM n"
    )
    asked = ["SELECT 1", large, "SELECT 1"]
    limits = Limits(seconds=20, rows=200_000, bytes=2**26, memory=2**28)

    class Counted(Sandbox):
        started = 0

        def _start(self) -> _Worker:
            self.started += 1
            return super()._start()

    with Counted(limits=limits) as pool:
        assert [result.status for result in pool.run(databases[0], asked, "rows")] == ["ok"] * 3
        assert pool.started == 2
