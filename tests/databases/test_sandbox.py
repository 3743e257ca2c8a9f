from __future__ import annotations

import json
import mmap
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from database_files import csv_file, duckdb_file, found, parquet_file, sqlite_file, unchecked
from making import hashes_and_times, run_sqlite

from agro_data.databases.digest import result_digest
from agro_data.databases.hostile import worker
from agro_data.databases.hostile.guards import open_session, run_statement
from agro_data.databases.hostile.sandbox import Sandbox, _State, _Worker, end_own_sandboxes, own_sandbox
from agro_data.databases.hostile.worker import show, shown
from agro_data.databases.types import Database, Limits

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "../shared/data"
OURS_IMPORTABLE = {**os.environ, "PYTHONPATH": str(ROOT)}
# One operation of the engine: nothing inside the process interrupts it.
HOG = "SELECT instr(hex(zeroblob(4000000)), hex(zeroblob(1000000)) || '1')"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(limits=Limits(seconds=2)) as pool:
        yield pool


def test_each_thread_ends_its_own_sandboxes(tmp_path: Path) -> None:
    database = unchecked(sqlite_file(tmp_path / "a.sqlite"), "sqlite")
    mine = own_sandbox(Limits())

    def elsewhere() -> bool:
        other = own_sandbox(Limits())
        ran = other.run(database, ["SELECT 1"])[0].ok
        end_own_sandboxes()
        return ran and other is not mine

    try:
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(elsewhere).result()
        assert mine.run(database, ["SELECT 1"])[0].ok
        assert own_sandbox(Limits()) is mine
    finally:
        end_own_sandboxes()


def test_results_are_complete(sandbox: Sandbox, tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    result, nothing, empty, failed = sandbox.run(
        database,
        [
            "SELECT b, a AS number FROM t ORDER BY a DESC",
            "SELECT NULL, NULL FROM t",
            "SELECT a FROM t WHERE 0",
            "SELECT c FROM t",
        ],
        want="rows",
    )
    assert result.columns == ("b", "number")
    assert result.rows == (("z", 3), (None, 2), ("x", 1))
    assert (result.row_count, result.column_count, result.all_null) == (3, 2, False)
    assert result.digest == result_digest(2, result.rows, ordered=False)
    assert result.ordered_digest == result_digest(2, result.rows, ordered=True)
    assert result.digest != result.ordered_digest
    assert result.seconds > 0
    assert (nothing.all_null, nothing.row_count) == (True, 3)
    assert (empty.all_null, empty.row_count, empty.column_count) == (False, 0, 1)
    assert (failed.status, failed.error, failed.digest) == ("error", "no such column: c", "")
    assert sandbox.run(database, ["SELECT b, a FROM t"])[0].rows == ()
    assert sandbox.run(database, []) == []


def test_semicolons_and_spaces_at_the_end_are_no_other_statement(sandbox: Sandbox, tmp_path: Path) -> None:
    for path in (sqlite_file(tmp_path / "a.sqlite"), duckdb_file(tmp_path / "b.duckdb")):
        ended = sandbox.run(
            found(path), ["SELECT 1;;", "SELECT 1 ; ;\n", "SELECT 1 -- a;;", "SELECT 1; SELECT 2;", ";;"]
        )
        assert [result.ok for result in ended] == [True, True, True, False, False]


def test_how_a_statement_would_run_is_not_told(sandbox: Sandbox, tmp_path: Path) -> None:
    """An answer that is an EXPLAIN would count as one that runs."""
    told = ["EXPLAIN SELECT 1", "explain query plan SELECT 1", "-- a\n /* EXPLAIN * */ /**/EXPLAIN SELECT 1"]
    others = [
        "SELECT 'EXPLAIN'",
        "-- EXPLAIN\nSELECT 1",
        "/* a */" * 9_000 + "WITH explained AS (SELECT 1) FROM explained",
    ]
    for path in (sqlite_file(tmp_path / "a.sqlite"), duckdb_file(tmp_path / "b.duckdb")):
        refused, of_duckdb, after_comments, *let_through, last = sandbox.run(found(path), [*told, *others])
        for result in (refused, after_comments):
            assert result.error == "one SELECT statement is allowed, found: EXPLAIN"
        assert not of_duckdb.ok  # it knows no QUERY PLAN
        assert all(result.ok for result in let_through)
        assert last.ok == (path.suffix == ".duckdb")  # SQLite wants a SELECT there, and says so at once


def test_odd_values_of_sqlite(sandbox: Sandbox, tmp_path: Path) -> None:
    script = """CREATE TABLE t(v); INSERT INTO t VALUES (9e999), (-9e999), (x'00ff'), (CAST(x'ff41' AS TEXT)),
        (CAST(x'c3a9' AS TEXT)), (9223372036854775807), (1e15), (0.1), ('')"""
    database = found(sqlite_file(tmp_path / "db.sqlite", script))
    (result,) = sandbox.run(database, ["SELECT v FROM t"], want="rows")
    values = [row[0] for row in result.rows]
    assert values == [float("inf"), float("-inf"), b"\0\xff", b"\xffA", "é", 2**63 - 1, 1e15, 0.1, ""]
    assert result.digest == result_digest(1, result.rows, ordered=False)


def test_values_of_duckdb_become_cells(sandbox: Sandbox, tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "db.duckdb"))
    expected = {
        "1.50::DECIMAL(5,2)": 1.5,
        "2.00::DECIMAL(5,2)": 2,
        "170141183460469231731687303715884105727::HUGEINT": 2**127 - 1,
        "true": 1,
        "DATE '2024-02-29'": "2024-02-29",
        "TIMESTAMP '2024-02-29 12:30:00'": "2024-02-29 12:30:00",
        "TIME '12:30:00'": "12:30:00",
        "'ab'::BLOB": b"ab",
        "[1, NULL, 2]": "[1, null, 2]",
        "{'k': DATE '2024-01-01', 'v': ['é']}": '{"k": "2024-01-01", "v": ["é"]}',
        "[MAP {DATE '2024-01-01': DATE '2024-02-01'}]": '[{"2024-01-01": "2024-02-01"}]',
        "'infinity'::DOUBLE": float("inf"),
        "sum(3)": 3,
        "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    }
    results = sandbox.run(database, [f"SELECT {expression}" for expression in expected], want="rows")
    assert [result.rows for result in results] == [((value,),) for value in expected.values()]
    (nan,) = sandbox.run(database, ["SELECT 'nan'::DOUBLE"])
    assert nan.digest == result_digest(1, [(float("nan"),)], ordered=False)


def test_a_statement_of_duckdb_is_asked_of_each_database_and_judged_each_time(tmp_path: Path) -> None:
    """It is parsed once for several."""
    databases = [found(duckdb_file(tmp_path / f"{name}.duckdb")) for name in ("a", "b")]
    with duckdb.connect(databases[1].path) as connection:
        connection.execute("CREATE TABLE only_here (i INTEGER)")
    databases[1] = found(databases[1].path)
    with Sandbox(workers=1, limits=Limits(seconds=2)) as pool:
        (nothing,) = pool.run(databases[0], [""])
        assert "one SELECT statement is allowed, found: nothing" in nothing.error
        for sql in ("", "DROP TABLE only_here", "SELECT * FROM duckdb_settings()"):
            refused = [pool.run(database, [sql])[0] for database in databases for _ in range(2)]
            assert [result.status for result in refused] == ["error"] * 4, sql
        asked = [pool.run(database, ["SELECT count(*) FROM only_here"])[0] for database in (*databases, databases[0])]
    assert [result.ok for result in asked] == [False, True, False]


def test_steps_stop_the_same_statements_whatever_the_clock(tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT count(*) FROM n"
    statements = [numbers.format(1_000), ENDLESS, numbers.format(1_000), numbers.format(10_000_000)]
    with Sandbox(limits=Limits(seconds=60, steps=1_000_000)) as pool:
        results = pool.run(database, statements)
        again = pool.run(database, statements)
    assert [result.status for result in results] == ["ok", "timeout", "ok", "timeout"]
    assert results[1].error == "over 1000000 steps of SQLite's virtual machine"
    assert results[1].seconds < 60
    assert [result.status for result in again] == [result.status for result in results]
    with Sandbox(limits=Limits(seconds=0.2)) as pool:
        (result,) = pool.run(database, [ENDLESS])
    assert (result.status, result.error) == ("timeout", "over 0.2 s")


def test_one_operation_of_duckdb_that_ends_late_is_late(tmp_path: Path) -> None:
    """DuckDB looks at its clock between operations: this one ends before its process would be."""
    path = duckdb_file(tmp_path / "db.duckdb")
    limits = Limits(seconds=0.02)
    session = open_session(path, "duckdb", limits)
    try:
        status, *_, message = run_statement(session, "SELECT md5(repeat('x', 50000000))", limits, 0)
    finally:
        session.close()
    assert (status, message) == ("timeout", "over 0.02 s")


def test_limits_are_exact(tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n"
    with Sandbox(limits=Limits(rows=2_500, bytes=100_000, sql_length=200)) as pool:
        statements = [
            numbers.format(2_500),
            numbers.format(2_501),
            "SELECT hex(zeroblob(60000))",
            "SELECT '" + "x" * 200 + "'",
        ]
        results = pool.run(database, statements)
    assert [result.status for result in results] == ["ok", "too_large", "too_large", "too_large"]
    assert results[0].row_count == 2_500
    assert [result.error for result in results[1:]] == [
        "more than 2500 rows",
        "string or blob too big",
        "SQL of 209 characters, at most 200",
    ]


def test_one_overrun_costs_one_statement(tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    statements = [f"SELECT {i}" for i in range(300)]
    statements[70], statements[200] = HOG, ENDLESS
    with Sandbox(workers=2, limits=Limits(seconds=0.2)) as pool:
        started = time.monotonic()
        results = pool.run(database, statements, want="rows")
        assert time.monotonic() - started < 60  # were each of the 300 to cost its limit
    assert [i for i, result in enumerate(results) if result.status == "timeout"] == [70, 200]
    assert all(result.rows == ((i,),) for i, result in enumerate(results) if i not in (70, 200))


def test_a_worker_that_dies_costs_one_statement(tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    killer = (
        "import os, signal, sys, time; time.sleep(1.0);"
        "parent = sys.argv[1];"
        "[os.kill(int(p), signal.SIGKILL) for p in open(f'/proc/{parent}/task/{parent}/children').read().split()"
        " if b'hostile.worker' in open(f'/proc/{p}/cmdline', 'rb').read()]"
    )
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel does not list child processes")
    with Sandbox(limits=Limits(seconds=10)) as pool:
        pool.run(database, ["SELECT 1"])
        with subprocess.Popen([sys.executable, "-c", killer, str(os.getpid())]):
            results = pool.run(database, ["SELECT 1", ENDLESS, "SELECT 2"], want="rows")
        assert [result.status for result in results] == ["ok", "crashed", "ok"]
        assert "signal 9" in results[1].error
        assert results[2].rows == ((2,),)


def test_a_database_that_cannot_be_opened_for_want_of_memory_is_left_to_a_new_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ran before has taken it: only a process in which nothing ran may say that there is none."""
    limits = Limits()
    targets = [("duckdb", str(duckdb_file(tmp_path / f"{name}.duckdb")), 0) for name in "ab"]
    used, fresh = worker._Sessions(limits), worker._Sessions(limits)
    used.opened(targets[0])

    def full(*_: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure")

    monkeypatch.setattr(worker, "open_session", full)
    with pytest.raises(worker._NoRoom):
        used.opened(targets[1])
    assert "Out of Memory Error" in str(fresh.opened(targets[1]))


def test_a_worker_that_died_between_runs_is_replaced(tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    with Sandbox() as pool:
        pool.run(database, ["SELECT 1"])
        os.kill(pool._pool[0].process.pid, signal.SIGKILL)
        time.sleep(0.1)
        assert [result.ok for result in pool.run(database, ["SELECT 1", "SELECT 2"])] == [True, True]


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    program = (
        "import sys, pathlib\n"
        "from agro_data.databases.hostile.sandbox import Sandbox\n"
        "from agro_data.databases.types import Database, Limits\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "pool = Sandbox(limits=Limits(seconds=60))\n"
        "database = Database('db', 'sqlite', 'sqlite', path, '', '')\n"
        "pool.run(database, ['SELECT 1'])\n"
        "print(pool._pool[0].process.pid, flush=True)\n"
        f"pool.run(database, [{ENDLESS!r}])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(database.path)],
        stdout=subprocess.PIPE,
        env=OURS_IMPORTABLE,
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        time.sleep(0.3)  # amid the endless statement
        parent.kill()
    deadline = time.monotonic() + 60
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_worker_that_is_left_alone_ends_without_a_word(tmp_path: Path) -> None:
    """DuckDB's library lists on standard error what Python still holds of it at the end."""
    program = (
        "import os, pathlib, sys\n"
        "from agro_data.databases.hostile.sandbox import Sandbox\n"
        "from agro_data.databases.types import Database, Limits\n"
        "pool = Sandbox(limits=Limits(seconds=60))\n"
        "database = Database('db', 'duckdb', 'duckdb', pathlib.Path(sys.argv[1]), '', '')\n"
        "assert pool.run(database, ['SELECT 1'])[0].ok\n"
        "os._exit(0)\n"
    )
    ended = subprocess.run(  # waits until the worker, too, has let go of standard error
        [sys.executable, "-c", program, str(duckdb_file(tmp_path / "db.duckdb"))],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
        env=OURS_IMPORTABLE,
    )
    assert ended.stderr == ""


def test_many_databases_and_workers_keep_the_order(tmp_path: Path) -> None:
    databases: list[Database] = []
    for number in range(12):
        script = f"CREATE TABLE t(a); INSERT INTO t VALUES ({number})"
        databases.append(found(sqlite_file(tmp_path / f"db{number}.sqlite", script)))
    pairs = [(databases[i % 12], f"SELECT a, {i} FROM t") for i in range(600)]
    expected = [((i % 12, i),) for i in range(600)]
    for workers in (1, 2):
        with Sandbox(workers=workers) as pool:
            assert [result.rows for result in pool.run_many(pairs, want="rows")] == expected


def test_a_workers_library_is_not_that_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = found(sqlite_file(tmp_path / "source" / "db.sqlite"))
    (tmp_path / "struct.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    with Sandbox() as pool:
        assert pool.run(database, ["SELECT 1"])[0].ok


def test_large_results_arrive_whole(sandbox: Sandbox, tmp_path: Path) -> None:
    database = found(sqlite_file(tmp_path / "db.sqlite"))
    statements = [f"SELECT hex(zeroblob({150_000 + i})) FROM t" for i in range(150)]
    for i, result in enumerate(sandbox.run(database, statements, want="rows")):
        assert result.rows == (("0" * 2 * (150_000 + i),),) * 3


def test_a_bad_database_fails_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    good = found(sqlite_file(tmp_path / "good.sqlite"))
    (tmp_path / "noise.sqlite").write_bytes(b"noise" * 1000)
    (tmp_path / "noise.duckdb").write_bytes(b"noise" * 1000)
    bad = [
        unchecked(tmp_path / "noise.sqlite"),
        unchecked(tmp_path / "noise.duckdb", "duckdb"),
        unchecked(tmp_path / "absent.sqlite"),
        unchecked(tmp_path / "absent", "files"),
    ]
    for name, suffix in (("log.sqlite", "-wal"), ("log.duckdb", ".wal")):
        (tmp_path / name).write_bytes(b"noise" * 1000)
        (tmp_path / f"{name}{suffix}").write_bytes(b"noise" * 1000)
        bad.append(unchecked(tmp_path / name, "sqlite" if suffix == "-wal" else "duckdb"))
    results = sandbox.run_many([(database, "SELECT 1") for database in [*bad, good]])
    assert [result.status for result in results] == ["error"] * 6 + ["ok"]
    for database, result in zip(bad, results, strict=False):
        assert database.path.name in result.error


def test_a_changed_file_is_read_anew(sandbox: Sandbox, tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "db.sqlite")
    database = found(path)
    assert sandbox.run(database, ["SELECT count(*) FROM t"], "rows")[0].rows == ((3,),)
    run_sqlite(path, "DELETE FROM t WHERE a = 1")
    assert sandbox.run(database, ["SELECT count(*) FROM t"], "rows")[0].rows == ((2,),)


def test_a_wal_database_is_read_whole_and_left_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "source" / "wal.sqlite"
    sqlite_file(path, "PRAGMA journal_mode=WAL;" + "CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO t VALUES (2)")
        writer.commit()
        before = hashes_and_times(path.parent)
        assert "wal.sqlite-wal" in before
        database = found(path)
        assert sandbox.run(database, ["SELECT a FROM t ORDER BY a"], "rows")[0].rows == ((1,), (2,))
        assert hashes_and_times(path.parent) == before


def test_files_are_tables(sandbox: Sandbox, tmp_path: Path) -> None:
    csv_file(tmp_path / "shop" / "order items.csv")
    parquet_file(tmp_path / "shop" / "customers.parquet")
    database = found(tmp_path / "shop")
    sql = 'SELECT o.a, c.b FROM "order items" o LEFT JOIN customers c USING (a) ORDER BY 1'
    assert sandbox.run(database, [sql], "rows")[0].rows == ((1, "x"), (2, None), (3, None))


def test_a_csv_with_notes_below_its_rows_is_read_where_no_file_may_be_written(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = "".join(f"{n},Town {n}\n" for n in range(20_000))
    shop = csv_file(tmp_path / "shop" / "town.csv", f"id,name\n{rows}\nSource: Census\n").parent
    csv_file(shop / "padded.csv", f"Towns,\nid,name\n{rows}Source: Census,\n")
    asked = [f"SELECT count(*), sum(id) FROM {table}" for table in ("town", "padded")]
    assert [result.rows for result in sandbox.run(found(shop), asked, "rows")] == [((20_000, 199_990_000),)] * 2


def test_a_worker_imports_next_to_nothing() -> None:
    program = (
        "import sys; import agro_data.databases.hostile.worker;"
        "print([m for m in ('duckdb', 'polars', 'sqlglot', 'numpy', 'dagster', 'torch') if m in sys.modules])"
    )
    environment = OURS_IMPORTABLE
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert output.strip() == "[]"


@pytest.mark.parametrize("module", ["fts5", "fts4"])
def test_full_text_tables_can_be_read(sandbox: Sandbox, tmp_path: Path, module: str) -> None:
    script = f"CREATE VIRTUAL TABLE d USING {module}(body); INSERT INTO d VALUES ('red fox'), ('blue whale')"
    database = found(sqlite_file(tmp_path / "db.sqlite", script))
    assert sandbox.run(database, ["SELECT value FROM json_each('[1]')"], "rows")[0].rows == ((1,),)
    (result,) = sandbox.run(database, ["SELECT body FROM d WHERE d MATCH 'fox'"], "rows")
    assert result.rows == (("red fox",),), result.error


def test_gold_queries_give_the_digest_of_plain_sqlite3(sandbox: Sandbox) -> None:
    source = SHARED / "spider/train.json"
    if not source.exists():
        pytest.skip("the Spider data is not beside the repository")
    examples = json.loads(source.read_text())[::10]
    catalog = {
        database.db_id: database
        for database in map(
            found, sorted({SHARED / f"spider/database/{e['db_id']}/{e['db_id']}.sqlite" for e in examples})
        )
    }
    results = sandbox.run_many([(catalog[e["db_id"]], e["query"]) for e in examples])
    assert sum(result.ok for result in results) > 0.99 * len(results)
    for example, result in zip(examples, results, strict=True):
        if result.ok:
            with closing(sqlite3.connect(catalog[example["db_id"]].path)) as plain:
                plain.text_factory = lambda raw: raw.decode() if is_utf8(raw) else raw
                rows = plain.execute(example["query"]).fetchall()
            assert result.digest == result_digest(result.column_count, rows, ordered=False), example["query"]


def is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_what_a_worker_shows_is_never_read_half_written() -> None:
    """A process writes two states in turn, as fast as it can, or is stopped within it; no third one is seen."""
    written = {_State(1.5, 2, 7, 9), _State(2.5, 4, 8, 3)}
    page = mmap.mmap(-1, mmap.PAGESIZE)
    show(page, 1.5, 2, 7, 9)
    writer = os.fork()
    if not writer:
        while True:
            for state in written:
                show(page, *state)
    worker = _Worker(cast(Any, None), None, page)
    try:
        seen = {worker.state() for _ in range(50_000)}
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    assert seen == written
    last = worker.state()
    page[8:16] = b"torn off"
    assert shown(page) is None
    assert worker.state() == last
