"""Database files that attack whoever opens them: nothing outside of them is read, written or deleted."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from database_files import duckdb_file, found, sqlite_file, unchecked

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.discovery.content import content_hash
from agro_data.databases.errors import DatabaseError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.opening import LONGEST, SUPER_JOURNAL, open_duckdb
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.trusted.sqlite_connection import SqliteConnection
from agro_data.profiling.profiler import profile_database
from agro_data.publish.publication.personal import scan_files
from agro_data.verify.chance.shuffled_copy import shuffled_copy


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


# Functions that SQL of ours calls, as a file may define them: `%s` is what its author wants to happen.
SHADOWS = (
    *(
        f"{name}() AS TABLE (SELECT true AS internal, %s AS schema_name)"
        for name in ("duckdb_schemas", "duckdb_tables")
    ),
    *(f"{name}() AS %s" for name in ("current_database", "count_star")),
    *(f"{name}(x) AS %s" for name in ("count", "sum", "min", "md5_number", "to_json", "strlen")),
    *(f"{name}(x, y) AS %s" for name in ("hash", "coalesce", "nullif", "concat", '"+"', '"%%"', '"&"', '"||"')),
)


def hostile_duckdb(path: Path, attack: str) -> Path:
    """A DuckDB file that defines an attack under the names of DuckDB's own functions."""
    macros = ";".join(f"CREATE MACRO {shadow % 'attack()'}" for shadow in SHADOWS)
    return duckdb_file(
        path,
        f"CREATE TABLE t AS SELECT i AS a, 'x' AS b FROM range(3) r(i); CREATE MACRO attack() AS ({attack}); {macros}",
    )


def test_macros_of_a_duckdb_file_are_not_called_by_sql_of_ours(tmp_path: Path) -> None:
    written = tmp_path / "written"
    log = f"enable_logging(storage := 'file', storage_config := {{'path': '{written}'}})"
    path = hostile_duckdb(tmp_path / "in" / "x.duckdb", f"SELECT system.main.count(*) FROM {log}")
    shutil.rmtree(written, ignore_errors=True)  # the author's own engine may have begun to log
    assert find_databases(path).problems == ()
    database = found(path)
    profile_database(database)
    copy = shuffled_copy(database, tmp_path / "copies", 1)
    scan_files(path.parent, [path.name])
    with open_database(copy) as connection:
        assert connection.execute("SELECT sum(a), count(*) FROM t") == [(3, 3)]
    assert content_hash(path, "duckdb") == database.content_hash
    with Sandbox() as sandbox:
        assert sandbox.run(database, ["SELECT a FROM t ORDER BY a"], "rows")[0].rows == ((0,), (1,), (2,))
    assert not written.exists()


def test_macros_of_a_duckdb_file_read_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("canary-7c1f")
    path = hostile_duckdb(
        tmp_path / "in" / "x.duckdb", f"SELECT error(content) FROM read_text('{tmp_path / 'secret.txt'}')"
    )
    assert find_databases(path).problems == ()
    with Sandbox() as sandbox:
        (result,) = sandbox.run(found(path), ["SELECT attack()"], "rows")
    assert result.status == "error"
    assert "canary" not in result.error


@pytest.mark.parametrize("name", ["it's.duckdb", 'a "b", c.duckdb', "main.duckdb", "System.duckdb", "x.y.duckdb"])
def test_functions_of_duckdb_come_first_whatever_a_file_is_called(name: str, tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / name, "CREATE TABLE t AS SELECT 1 AS a; CREATE MACRO count(x) AS 'theirs'")
    for own_first, expected in ((False, 1), (True, "theirs")):
        with closing(open_duckdb(path, "duckdb", {}, own_first=own_first)[0]) as connection:
            assert connection.execute("SELECT count(a) FROM t").fetchall() == [(expected,)]


def test_a_value_that_a_view_makes_has_a_bound_in_this_process(tmp_path: Path) -> None:
    made = f"hex(zeroblob({LONGEST // 2 + 1}))"
    path = sqlite_file(
        tmp_path / "x.sqlite",
        f"CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(2000000)); CREATE VIEW v AS SELECT {made} AS z;"
        f"CREATE TABLE g(a, z AS ({made})); INSERT INTO g VALUES (1)",
    )
    database = found(path)
    with open_database(database) as connection:
        assert [table.name for table in connection.objects()] == ["g", "t"]
        assert connection.problems == [
            "view 'v': cannot be read, left out: x: a value or row of more than 64 MiB, which is not read"
        ]
        assert connection.execute("SELECT a FROM t") == [(bytes(2_000_000),)]
    profile = profile_database(database)
    assert [table.name for table in profile.tables] == ["t"]
    assert any("'g': cannot be read, left out" in problem for problem in profile.problems)
    with open_database(shuffled_copy(database, tmp_path / "copies", 1)) as connection:
        assert connection.execute("SELECT length(a) FROM t") == [(2_000_000,)]


def test_one_call_of_a_function_takes_seconds_at_most_in_this_process(tmp_path: Path) -> None:
    """SQLite looks at no clock within one: this one would take hours."""
    many = "replace(hex(zeroblob({})), '00', 'aa')"
    slow = f"instr({many.format(4_000_000)}, {many.format(2_000_000)} || 'b')"
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT group_concat('a', '')"
    path = sqlite_file(
        tmp_path / "x.sqlite",
        f"CREATE TABLE t(a); INSERT INTO t {long} FROM n; INSERT INTO t VALUES ('short');"
        f"CREATE VIEW v AS SELECT {slow} AS z;"
        f"CREATE TABLE g(a); INSERT INTO g VALUES (1); ALTER TABLE g ADD COLUMN z AS ({slow});"
        "CREATE VIEW w AS SELECT substr(a, 1, 3) AS b FROM t; CREATE VIEW y AS SELECT trim(a) AS b FROM t",
    )
    database = found(path)
    with open_database(database) as connection:
        assert [table.name for table in connection.objects()] == ["g", "t", "w", "y"]
        assert ["view 'v'" in problem and "128 KiB" in problem for problem in connection.problems] == [True]
        assert connection.execute("SELECT b FROM w ORDER BY b") == [("aaa",), ("sho",)]
        assert connection.execute("SELECT length(a) FROM t WHERE a > ?", ("a",)) == [(200_000,), (5,)]
        for sql in ("SELECT z FROM g", "SELECT b FROM y"):
            with pytest.raises(DatabaseError, match="a value of more than 128 KiB"):
                connection.execute(sql)
    shuffled_copy(database, tmp_path / "copies", 1)


SPELLED = (
    "instr(a, 'z')",
    "\"InStr\"(a, 'z')",
    "[instr] (a, 'z')",
    "`INSTR`/**/(a, 'z')",
    "a LIKE 'z'",
    "a NOT GLOB 'z'",
)


@pytest.mark.parametrize("call", SPELLED)
def test_a_statement_is_prepared_once_more_only_where_a_function_may_be_slow(call: str, tmp_path: Path) -> None:
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT group_concat('a', '')"
    plain = sqlite_file(tmp_path / "plain.sqlite", f"CREATE TABLE t(a); INSERT INTO t {long} FROM n")
    computed = tmp_path / "computed.sqlite"
    shutil.copyfile(plain, computed)
    sqlite_file(computed, f"CREATE VIEW v AS SELECT {call} AS b FROM t")
    for path, sql in ((plain, f"SELECT {call} FROM t"), (computed, "SELECT b FROM v")):
        with closing(SqliteConnection(unchecked(path))) as connection:
            run: list[str] = []  # an EXPLAIN is not told, but what runs before it
            connection._connection.set_trace_callback(run.append)
            assert connection.execute("SELECT length(a) FROM t") == [(200_000,)]
            assert ("SELECT 1 FROM sqlite_master LIMIT 0" in run) == (path == computed)
            with pytest.raises(DatabaseError, match="a value of more than 128 KiB"):
                connection.execute(sql)


@pytest.mark.parametrize(
    ("computed", "why"),
    [
        (f"hex(zeroblob({LONGEST // 2 + 1}))", "more than 64 MiB"),
        ("instr(replace(hex(zeroblob(4000000)), '00', 'aa'), hex(zeroblob(2000000)))", "more than 128 KiB"),
    ],
)
def test_a_file_that_is_looked_through_for_personal_data_has_the_same_bounds(
    computed: str, why: str, tmp_path: Path
) -> None:
    sqlite_file(
        tmp_path / "x.sqlite", "CREATE TABLE t(a); INSERT INTO t VALUES ('ann.lee@gmail.com'), (CAST(x'ff' AS TEXT))"
    )
    assert scan_files(tmp_path, ["x.sqlite"]) == {"x.sqlite": {"email": 1}}
    sqlite_file(tmp_path / "y.sqlite", f"CREATE TABLE g(a, z AS ({computed})); INSERT INTO g(a) VALUES (1)")
    with pytest.raises(DatabaseError, match=why):
        scan_files(tmp_path, ["y.sqlite"])


def test_each_computed_column_is_looked_through_by_itself(tmp_path: Path) -> None:
    """Each value may have 64 MiB, and a row of all of them may take more than the process has (here of 2 MB each)."""
    columns = ", ".join(f"z{number} AS (zeroblob(2000000))" for number in range(16))
    sqlite_file(
        tmp_path / "x.sqlite", f"CREATE TABLE t(a, m AS (a || '@gmail.com'), {columns}); INSERT INTO t VALUES ('ann')"
    )
    program = (
        "import resource, sys; from pathlib import Path; from agro_data.publish.publication.personal import scan_files;"
        "data = int(Path('/proc/self/statm').read_text().split()[5]) * resource.getpagesize() + 24 * 2**20;"
        "resource.setrlimit(resource.RLIMIT_DATA, (data, data));"
        "print(scan_files(Path(sys.argv[1]), ['x.sqlite']))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "{'x.sqlite': {'email': 1}}\n"


def test_a_schema_may_have_longer_texts_than_the_values_of_slow_functions(tmp_path: Path) -> None:
    columns = ", ".join(f"answer_{number:04}_{'x' * 90} INTEGER" for number in range(1_500))  # as of a survey
    path = sqlite_file(tmp_path / "x.sqlite", f"CREATE TABLE t({columns}); INSERT INTO t DEFAULT VALUES")
    database = found(path)
    with open_database(database) as connection:
        assert connection.execute("SELECT count(*) FROM t") == [(1,)]
        assert [table.name for table in connection.objects()] == ["t"]
    with open_database(shuffled_copy(database, tmp_path / "copies", 1)) as connection:
        assert connection.execute("SELECT count(*) FROM t") == [(1,)]


def test_a_view_that_sorts_takes_no_more_memory_than_it_may(tmp_path: Path) -> None:
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100) SELECT i, hex(zeroblob(500000)) z"
    path = sqlite_file(tmp_path / "x.sqlite", f"CREATE TABLE t(a); CREATE VIEW v AS {rows} FROM n ORDER BY z, i DESC")
    program = (  # a process of its own: what SQLite may take is never raised again
        "import sys; from pathlib import Path; from agro_data.databases.trusted import sqlite_connection;"
        "from agro_data.databases.trusted.connections import open_database;"
        "from agro_data.databases.types import Database;"
        "sqlite_connection.HEAP = 2**25; path = Path(sys.argv[1]);\n"
        "with open_database(Database('x', 'sqlite', 'sqlite', path, '', 'x')) as o: o.objects(); print(o.problems)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert "view 'v': cannot be read, left out: x: a statement takes too much memory" in done.stdout
