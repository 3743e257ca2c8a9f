"""Inner guards: one hostile statement, on one database, within limits. Runs only inside a worker process.

They cannot stop a single operation of an engine that runs or allocates without end; this is stopped from outside: by
the address-space limit of the worker and by `sandbox.Sandbox`, which kills it.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from agro_data.databases.cells import decode_text, is_undecodable, plain_rows
from agro_data.databases.digest import encode_rows, encoded_digest
from agro_data.databases.errors import first_line
from agro_data.databases.hostile.engine_state import DENIED_SQLITE_FUNCTIONS, duckdb_state_named, is_sqlite_state
from agro_data.databases.opening import open_duckdb, open_sqlite
from agro_data.databases.quoting import COMMENTS, quoted, unended
from agro_data.databases.types import Cell, Layout, Limits, Status

if TYPE_CHECKING:
    import duckdb

CHUNK = 1000  # rows fetched at a time
CELL_BYTES = 100  # longer cells count as several where the size of a result decides whether its rows are kept
PROGRESS_STEPS = 10_000  # SQLite operations between two looks at clock and count: well under a millisecond
SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 2_000_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 200,
}

# SQLite's authorizer is not told that only the steps of a statement are wanted.
_EXPLAIN = re.compile(rf"{COMMENTS}EXPLAIN\b", re.IGNORECASE)
_STATEMENTS = {"MULTI": "several, which DuckDB makes of PIVOT without IN"}
Rows = list[tuple[Cell, ...]]
Fields = tuple[Status, tuple[str, ...], tuple[tuple[Cell, ...], ...], int, int, str, str, bool, bool, float, str]


class Session(Protocol):
    """A guarded connection of one engine."""

    def execute(self, sql: str) -> tuple[str, ...]:
        """Start a statement; the names of its columns."""

    def fetch(self, count: int) -> Rows: ...

    def finish(self) -> None:
        """Leave the statement, so that the next one can run. Never raises."""

    def retry(self, error: Exception) -> bool:
        """Whether the statement deserves a second run, in another reading of its text."""

    def judge(self, error: Exception) -> Status: ...

    def overrun(self) -> str:
        """Which bound a statement that `judge` calls "timeout" has met."""

    def close(self) -> None: ...


def open_session(path: Path, layout: Layout, limits: Limits) -> Session:
    """Guarded connection to a settled database. Raises the engine's error when it cannot be opened."""
    return SqliteSession(path, limits) if layout == "sqlite" else DuckdbSession(path, layout, limits)


def run_statement(session: Session, sql: str, limits: Limits, kept_cells: int) -> Fields:
    """The fields of the statement's `Result`, in their order; with rows if they come to at most `kept_cells`."""
    started = perf_counter()
    try:
        if len(sql) > limits.sql_length:
            return failed("too_large", f"SQL of {len(sql)} characters, at most {limits.sql_length}", started)
        try:
            return _collect(session, sql, limits, kept_cells, started)
        except Exception as error:
            if not session.retry(error):
                raise
            return _collect(session, sql, limits, kept_cells, perf_counter())
    except MemoryError:
        return failed("too_large", f"needs more than {limits.memory} bytes of memory", started)
    except Exception as error:
        status = session.judge(error)
        message = session.overrun() if status == "timeout" else first_line(error)
        return failed(status, message, started)
    finally:
        session.finish()


def _collect(session: Session, sql: str, limits: Limits, kept_cells: int, started: float) -> Fields:
    columns = session.execute(sql)
    rows: Rows = []
    encoded: list[str] = []
    width = len(columns)
    size, count, floats = sum(map(len, columns)), 0, False
    if size > limits.bytes:
        return failed("too_large", f"names of columns of more than {limits.bytes} bytes", started)
    while True:
        chunk = session.fetch(CHUNK)
        lines = encode_rows(chunk)
        count += len(chunk)
        size += sum(map(len, lines))
        if count > limits.rows:
            return failed("too_large", f"more than {limits.rows} rows", started)
        if size > limits.bytes:
            return failed("too_large", f"a result of more than {limits.bytes} bytes", started)
        encoded += lines
        floats = floats or any(float in map(type, row) for row in chunk)
        if max(count * width, size // CELL_BYTES) > kept_cells:
            rows.clear()
        else:
            rows += chunk
        if len(chunk) < CHUNK:
            break
    seconds = perf_counter() - started
    if seconds > limits.seconds:  # one operation of an engine may end between its bound and the worker's end
        return failed("timeout", f"over {limits.seconds:g} s", started)
    ordered = encoded_digest(width, encoded)
    digest = ordered
    if count > 1:
        encoded.sort()
        digest = encoded_digest(width, encoded)
    nothing = ",".join("n" * width)
    all_null = count > 0 and encoded[0] == nothing and encoded[-1] == nothing  # sorted: all between are equal
    return "ok", columns, tuple(rows), count, width, digest, ordered, all_null, floats, seconds, ""


def failed(status: Status, message: str, started: float | None = None) -> Fields:
    """Fields of a result without rows. `started`: when (`perf_counter`) the statement did, if it did."""
    seconds = 0.0 if started is None else perf_counter() - started
    return status, (), (), 0, 0, "", "", False, False, seconds, message[:500]


class SqliteSession:
    """SQLite: authorizer, engine limits, heap limit, a clock and a count of steps looked at now and then."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._limits = limits
        self._deadline = 0.0
        self._looks = 0
        self._most_looks = -(-limits.steps // PROGRESS_STEPS)
        # A statement taken from a cache would go on counting its steps where its last run ended.
        connection = self._connection = open_sqlite(path, cached_statements=0)
        connection.execute(f"PRAGMA hard_heap_limit={limits.memory // 2}")  # of the process, never raised again
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limits.bytes, limits.sql_length))
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, limits.sql_length * 4)  # bytes, of characters
        for category, most in SQLITE_LIMITS.items():
            connection.setlimit(category, most)
        self._connect_virtual_tables()  # also reads the schema, or says that it is broken
        connection.set_authorizer(authorize)
        connection.set_progress_handler(self._late, PROGRESS_STEPS)
        self._cursor = connection.cursor()

    def _connect_virtual_tables(self) -> None:
        """First use of a virtual table declares its columns, which the authorizer would take for a write."""
        listed = self._connection.execute(
            "SELECT name FROM pragma_table_list WHERE type = 'virtual' AND schema = 'main'"
        )
        for source in ("json_each('[]')", "json_tree('[]')", *(quoted(name) for (name,) in listed.fetchall())):
            try:
                self._connection.execute(f"SELECT 1 FROM {source} LIMIT 0").close()
            except sqlite3.Error:  # its module is not in this SQLite: statements that use the table will say so
                continue

    def _late(self) -> bool:
        self._looks += 1
        return 0 < self._most_looks <= self._looks or monotonic() > self._deadline

    def execute(self, sql: str) -> tuple[str, ...]:
        self._deadline = monotonic() + self._limits.seconds
        self._looks = 0
        if _EXPLAIN.match(sql):
            raise sqlite3.ProgrammingError("one SELECT statement is allowed, found: EXPLAIN")
        self._cursor.execute(unended(sql))  # sqlite3 takes what follows a first semicolon for another statement
        description = self._cursor.description
        if description is None:  # only comments or nothing: not even a SELECT
            raise sqlite3.ProgrammingError("not a SELECT statement")
        return tuple([column[0] for column in description])

    def fetch(self, count: int) -> Rows:
        return self._cursor.fetchmany(count)

    def finish(self) -> None:
        self._cursor.close()
        self._cursor = self._connection.cursor()

    def retry(self, error: Exception) -> bool:
        if not (isinstance(error, sqlite3.Error) and is_undecodable(error)):
            return False
        self._connection.text_factory = decode_text
        return True

    def judge(self, error: Exception) -> Status:
        if isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted":
            return "timeout"
        if isinstance(error, sqlite3.DataError) and "too big" in str(error):
            return "too_large"
        return "error"

    def overrun(self) -> str:
        if 0 < self._most_looks <= self._looks:
            return f"over {self._limits.steps} steps of SQLite's virtual machine"
        return f"over {self._limits.seconds:g} s"

    def close(self) -> None:
        self._connection.close()


def authorize(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
    """SQLite's authorizer: reading the data and computing only. Called when a statement is prepared."""
    if action == sqlite3.SQLITE_READ:
        return sqlite3.SQLITE_DENY if first and is_sqlite_state(first) else sqlite3.SQLITE_OK
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if second and second.lower() in DENIED_SQLITE_FUNCTIONS else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in ("data_version", "page_size") and second is None:
        return sqlite3.SQLITE_OK  # what full-text tables ask before they read
    return sqlite3.SQLITE_DENY


class DuckdbSession:
    """DuckDB: read-only, no access to the outside, locked configuration, limits of memory and time.

    Each statement runs in a read-only transaction: a WITH clause may hold an INSERT and is still a SELECT to
    the parser, and a folder's database in memory is not read-only by itself.
    """

    # The last statement, of whatever session: instances are asked the same in turn.
    _parsed: ClassVar[tuple[str | None, duckdb.Statement | str]] = None, ""

    def __init__(self, path: Path, layout: Layout, limits: Limits) -> None:
        settings = {
            "memory_limit": f"{limits.memory // 2}B",
            "max_execution_time": str(max(1, int(limits.seconds * 1000))),
        }
        self._seconds = limits.seconds
        self._connection, *_ = open_duckdb(path, layout, settings, own_first=True)

    def execute(self, sql: str) -> tuple[str, ...]:
        parsed, statement = DuckdbSession._parsed
        if parsed != sql:
            statement = self._select(sql)
            DuckdbSession._parsed = sql, statement
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        self._connection.execute(statement)
        return tuple([column[0] for column in self._connection.description or ()])

    def _select(self, sql: str) -> duckdb.Statement:
        """The one SELECT that this is, which reaches nothing of the engine's own state. Raises `duckdb.Error`."""
        import duckdb  # noqa: PLC0415

        statements = self._connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            kinds = ", ".join(_STATEMENTS.get(one.type.name, one.type.name) for one in statements) or "nothing"
            raise duckdb.InvalidInputException(f"one SELECT statement is allowed, found: {kinds}")
        state = duckdb_state_named(sql)
        if state:
            raise duckdb.InvalidInputException(f"{state} can tell of the engine, not of the data, and is not allowed")
        return statements[0]

    def fetch(self, count: int) -> Rows:
        return plain_rows(self._connection.fetchmany(count))

    def finish(self) -> None:
        import duckdb  # noqa: PLC0415

        try:
            self._connection.execute("ROLLBACK")
        except duckdb.Error:  # no transaction was begun: the statement did not get that far
            return

    def retry(self, error: Exception) -> bool:
        return False

    def judge(self, error: Exception) -> Status:
        import duckdb  # noqa: PLC0415

        if isinstance(error, duckdb.InterruptException):
            return "timeout"
        return "too_large" if isinstance(error, duckdb.OutOfMemoryException) else "error"

    def overrun(self) -> str:
        return f"over {self._seconds:g} s"

    def close(self) -> None:
        self._connection.close()


def leaves_ruins(fields: Fields | tuple[Any, ...]) -> bool:
    """Whether the statement met the memory limit, or a fault after which the engine runs nothing more: the worker then
    starts afresh, with an empty heap."""
    status, message = fields[0], fields[-1].lower()
    return (status == "too_large" and "memory" in message) or (status == "error" and message.startswith("fatal error"))
