"""DuckDB for what this process itself asks of databases, in a process of its own that can be killed any time.

An engine does not withstand every file, nor every view of one. DuckDB ends its process over some files that are
damaged, and heeds neither a clock nor Ctrl-C within a call of a function (`levenshtein` of two texts of megabytes takes
hours) or while it finds out how a CSV of gigabytes is written. So it is asked in a child process: what crashes or takes
too long costs a view, a file or a folder. Imports the standard library and, in the child, duckdb.
"""

from __future__ import annotations

import errno
import marshal
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.databases.cells import plain_rows
from agro_data.databases.children import (
    KILL_FACTOR,
    KILL_SLACK,
    OPEN_SECONDS,
    bound_memory,
    cause,
    end_with,
    environment,
)
from agro_data.databases.errors import DatabaseError, discreet_line
from agro_data.databases.opening import TIMED, name_in_engine, open_duckdb, settled
from agro_data.databases.types import Cell, Layout
from agro_data.faults import is_passing

if TYPE_CHECKING:
    import duckdb

COMMAND = "from agro_data.databases.trusted.apart import main; main()"
IDLE = 10.0  # seconds after which a child that is asked nothing, and has no database open, ends
MEMORY = 4 * 2**30  # bytes of address space of a child, on top of what its imports take
ENGINE_MEMORY = "1GiB"  # of them, what DuckDB counts
SECONDS = OPEN_SECONDS  # to open a database: a worker of the sandbox has no longer
HASHED = 2**20  # bytes of a file that are hashed in a second, at the very least
LATE = "a statement takes too long, as of a view that runs without end"
FULL = "a statement takes too much memory"
OPEN, EXECUTE, CLOSE, HASH = range(4)


class EngineCrashed(DatabaseError):
    """The engine has ended its process over a database; it is not asked again."""


class _Late(Exception):
    """No answer has come in time."""


class Engine:
    """A database that is open in a child process: `name` is the engine's for a file; what of it could not be read is
    `unread`, and `remarks` are on how the rest was.

    `folder` is for a private copy, if the database needs one. Raises `DatabaseError`, as its methods do, and `OSError`.
    """

    def __init__(self, path: Path, layout: Layout, seconds: float, folder: Path) -> None:
        self._request = (OPEN, str(path), layout, {TIMED: str(int(seconds * 1000))}, str(folder))
        self._seconds = KILL_FACTOR * seconds + KILL_SLACK
        self._crash = ""
        self._child: _Child | None = None
        self.name: str
        self.unread: list[str]
        self.remarks: list[str]
        self.name, self.unread, self.remarks = self._open()

    def _open(self) -> tuple[str, list[str], list[str]]:
        try:
            self._child, answer = _answered(self._request, SECONDS)
        except _Late as error:
            remedy = "give large CSV files as Parquet, or the database without them"
            raise DatabaseError(f"it takes over {SECONDS:g} s to read; {remedy}") from error
        return answer  # type: ignore[no-any-return]

    def execute(self, sql: str, parameters: Sequence[Cell], limit: int | None) -> list[tuple[Cell, ...]]:
        """All rows, or the first `limit`. What takes too long costs the engine, and the next statement a new one."""
        if self._crash:
            raise EngineCrashed(self._crash)
        if self._child is None:
            self._open()
        try:
            return self._child.asked((EXECUTE, sql, tuple(parameters), limit), self._seconds)  # type: ignore[union-attr, no-any-return]
        except _Late as error:
            raise DatabaseError(LATE) from error
        except EngineCrashed as error:
            self._crash = str(error)
            raise
        finally:
            if self._child and self._child.ended:
                self._child = None

    def close(self) -> None:
        """Close the database; its process waits for another one."""
        child, self._child = self._child, None
        if child is not None:
            try:
                child.asked((CLOSE,), SECONDS)
            except (_Late, DatabaseError, OSError):
                child.end()
            else:
                _waiting.append(child)


def hash_apart(path: Path, folder: Path) -> str:
    """`content.duckdb_hash`, computed in a child process. Raises `OSError` and `DatabaseError`."""
    seconds = SECONDS + path.stat().st_size / HASHED
    try:
        child, answer = _answered((HASH, str(path), str(folder)), seconds)
    except _Late as error:
        raise DatabaseError(f"it takes over {seconds:.0f} s to read, as of a column that is computed") from error
    _waiting.append(child)
    return str(answer)


# --- the child, as its parent has it -----------------------------------------------------------------------------


@dataclass
class _Child:
    process: subprocess.Popen[bytes]
    connection: Any
    parent: int = field(default_factory=os.getpid)
    ended: bool = False

    def asked(self, request: tuple[Any, ...], seconds: float) -> Any:
        """Its answer. Raises `_Late`, `EngineCrashed` and, for what the engine refuses, `DatabaseError`;
        `OSError` as the child met it."""
        try:
            self.connection.send_bytes(marshal.dumps(request))
            if not self.connection.poll(seconds):
                raise _Late
            answer, fault = marshal.loads(self.connection.recv_bytes())
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            raise EngineCrashed(f"while it was read {cause(self.end(patience=1.0))}") from error
        except BaseException:  # too late, or Ctrl-C: it is amid a statement and has no use any more
            self.end()
            raise
        if fault is not None:
            line, passing, spent, system = fault
            if spent:
                self.end()
            if system:
                raise OSError(*system)
            raise DatabaseError(line) from (OSError(errno.EAGAIN, line) if passing else None)
        return answer

    def end(self, patience: float = 0.0) -> int:
        """Its exit status; what has not ended by itself after some seconds is killed."""
        self.ended = True
        self.connection.close()
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(patience)
        self.process.kill()
        return self.process.wait()


_waiting: list[_Child] = []  # children of this process while nothing is asked of them


def _answered(request: tuple[Any, ...], seconds: float) -> tuple[_Child, Any]:
    """A child, and its answer; one that waited may have ended before it was asked, which tells nothing."""
    with suppress(IndexError, EngineCrashed):
        child = _waiting.pop()
        if child.parent == os.getpid():  # else it is that of the process which this one was forked from
            return child, _asked_first(child, request, seconds)
    child = _started()
    return child, _asked_first(child, request, seconds)


def _asked_first(child: _Child, request: tuple[Any, ...], seconds: float) -> Any:
    """Its answer; a child that refuses has nothing open and waits for another request."""
    try:
        return child.asked(request, seconds)
    except (DatabaseError, OSError):
        if not child.ended:
            _waiting.append(child)
        raise


def _started() -> _Child:
    ours, theirs = Pipe()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND, str(theirs.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # Ctrl-C at the terminal is the parent's to handle
            env=environment(),
        )
    return _Child(process, ours)


# --- the child itself --------------------------------------------------------------------------------------------


def main() -> None:
    """Answer until nothing is asked any more, the pipe closes, or the parent is gone."""
    import duckdb  # noqa: F401, PLC0415

    pipe, parent = (int(argument) for argument in sys.argv[1:3])
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bound_memory(MEMORY)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _serve(Connection(pipe))
    os._exit(0)  # DuckDB's library would list on standard error what Python still holds of it


def _serve(connection: Connection[Any, Any]) -> None:
    opened: duckdb.DuckDBPyConnection | None = None
    while opened is not None or connection.poll(IDLE):
        kind, *arguments = marshal.loads(connection.recv_bytes())
        try:
            answer: Any = None
            if kind == OPEN:
                opened, *answer = _opened(*arguments)
            elif kind == HASH:
                answer = _hashed(*arguments)
            elif opened is not None and kind == EXECUTE:
                answer = _rows(opened, *arguments)
            elif opened is not None:
                opened.close()
                opened = None
            message = marshal.dumps((answer, None))
        except Exception as error:  # whatever is wrong with one database is the answer
            message = marshal.dumps((None, _fault(error)))
        connection.send_bytes(message)


def _opened(
    path: str, layout: Layout, settings: Mapping[str, str], folder: str
) -> tuple[duckdb.DuckDBPyConnection, str, list[str], list[str]]:
    whole = settled(Path(path), layout, Path(folder))
    connection, unread, remarks = open_duckdb(whole, layout, {"memory_limit": ENGINE_MEMORY, **settings})
    return connection, name_in_engine(whole), unread, remarks


def _rows(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Cell], limit: int | None
) -> list[tuple[Cell, ...]]:
    cursor = connection.execute(sql, list(parameters))
    return plain_rows(cursor.fetchall() if limit is None else cursor.fetchmany(limit))


def _hashed(path: str, folder: str) -> str:
    from agro_data.databases.discovery.rows_hash import hash_of  # noqa: PLC0415 (not for those who only read)

    return hash_of(settled(Path(path), "duckdb", Path(folder)), ENGINE_MEMORY)


def _fault(error: Exception) -> tuple[str, bool, bool, tuple[Any, ...]]:
    """What is wrong, whether the machine was at fault, whether this process has no memory left, and what an `OSError`
    is made of."""
    import duckdb  # noqa: PLC0415

    if isinstance(error, duckdb.InterruptException):
        return LATE, False, False, ()
    if isinstance(error, MemoryError):  # of the bound of this process
        return FULL, False, True, ()
    system = (error.errno, error.strerror, str(error.filename)) if isinstance(error, OSError) else ()
    return discreet_line(error), is_passing(error), False, system
