"""Whether a database can be used, and what it holds: found out before anything costly is done with it.

An engine does not withstand every file. DuckDB ends its process over some that are damaged, and heeds no interrupt
while it finds out how a CSV of gigabytes is written. So the files that it reads are examined in a child process: if
that crashes or takes too long, only one database has a problem. A DuckDB file that passed has been read whole.
"""

from __future__ import annotations

import marshal
import os
import resource
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import astuple, dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from agro_data.databases.content import content_hash
from agro_data.databases.errors import DatabaseError, first_line
from agro_data.databases.health import examine
from agro_data.databases.identity import one_line
from agro_data.databases.opening import stamp
from agro_data.databases.sandbox import OPEN_SECONDS, cause, environment
from agro_data.databases.types import Database, Problem, Stamp
from agro_data.databases.worker import end_with

COMMAND = "from agro_data.databases.examining import main; main()"
IDLE = 10.0  # seconds after which a child that is asked nothing ends
REMEDY = "check it with the engine's own tools, or give a copy"
SECONDS = OPEN_SECONDS  # to examine a folder: a worker that has to open it has no longer


class Examined(NamedTuple):
    """What was found; without a content hash the database cannot be used, and a problem says why."""

    problems: list[Problem]
    content_hash: str = ""
    seen: Stamp = ()


def examined(database: Database) -> Examined:
    """A database as examined: in a child process if DuckDB reads it, in this one if it is SQLite. A folder is hashed by
    its bytes, in this process.
    """
    if database.layout == "files":
        return _identified(database, _apart(database).problems)
    return _apart(database) if database.layout == "duckdb" else _here(database)


def _here(database: Database) -> Examined:
    problems = examine(database)
    return Examined(problems) if database.layout == "files" else _identified(database, problems)


def _identified(database: Database, problems: list[Problem]) -> Examined:
    place = one_line(database.relative_path)
    if any(problem.left_out and problem.path == place for problem in problems):
        return Examined(problems)
    try:
        seen = stamp(database.path, database.layout)
        return Examined(problems, content_hash(database.path, database.layout), seen)
    except OSError as error:
        problem = Problem(place, f"cannot be read: {error.strerror}", "check its permissions")
    except DatabaseError as error:
        problem = Problem(place, one_line(first_line(error)), REMEDY)
    return Examined([*problems, problem])


# --- the child process -------------------------------------------------------------------------------------------


@dataclass
class _Child:
    process: subprocess.Popen[bytes]
    connection: Any

    def asked(self, message: bytes, seconds: float | None) -> Examined | None:
        """Its answer; None when it has ended. Raises `TimeoutError` when it takes longer than `seconds`."""
        try:
            self.connection.send_bytes(message)
            if not self.connection.poll(seconds):
                raise TimeoutError
            problems, content, seen = marshal.loads(self.connection.recv_bytes())
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return None
        return Examined([Problem(*fields) for fields in problems], content, seen)

    def end(self) -> int:
        """Its exit status, where it has ended by itself."""
        self.connection.close()
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(1.0)
        self.process.kill()
        return self.process.wait()


_waiting: list[_Child] = []  # the child of this process while nothing is asked of it
_one_at_a_time = threading.Lock()


def _apart(database: Database) -> Examined:
    message = marshal.dumps((database.db_id, database.layout, str(database.path), database.relative_path))
    seconds = SECONDS if database.layout == "files" else None
    place = one_line(database.relative_path)
    try:
        with _one_at_a_time:
            answer, code = _asked(_waiting.pop(), message, seconds) if _waiting else (None, 0)
            if answer is None:  # the one that waited may have ended before it was asked, which tells nothing
                answer, code = _asked(_started(), message, seconds)
    except TimeoutError:
        remedy = "give large CSV files as Parquet, or the folder without them"
        return Examined([Problem(place, f"it takes over {SECONDS:g} s to read; the folder is left out", remedy)])
    if answer is None:
        what = "folder" if database.layout == "files" else "file"
        return Examined([Problem(place, f"while it was read {cause(code)}; the {what} is left out", REMEDY)])
    return answer


def _asked(child: _Child, message: bytes, seconds: float | None) -> tuple[Examined | None, int]:
    """The answer of a child, which then waits for more; or None, and the status with which it ended."""
    try:
        answer = child.asked(message, seconds)
    except BaseException:  # as Ctrl-C: it is amid a file and has no use any more
        child.end()
        raise
    if answer is None:
        return None, child.end()
    _waiting.append(child)
    return answer, 0


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


def main() -> None:
    """Answer until nothing is asked any more, the pipe closes, or the parent is gone."""
    pipe, parent = (int(argument) for argument in sys.argv[1:3])
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection = Connection(pipe)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while connection.poll(IDLE):
            db_id, layout, path, relative = marshal.loads(connection.recv_bytes())
            problems, content, seen = _here(Database(db_id, "duckdb", layout, Path(path), "", relative))
            connection.send_bytes(marshal.dumps(([astuple(problem) for problem in problems], content, seen)))
