"""The process in which hostile SQL runs: fed and answering by a pipe, to be killed any time.

Started by `sandbox.Sandbox` with three arguments: the pipe, the page, and the parent's process id. Imports
the standard library only (duckdb when needed), so that it starts in some tens of milliseconds. Messages are
`marshal`: only plain values travel, it is several times faster than pickle, and reading one runs no code.

The page is memory shared with the parent; it says what runs since when without a message for each statement.

A message is (most cells of a result that comes with its rows, targets, tasks). A target is (layout, path, stamp), or a
text that says why the database cannot be read. A task is (SQL, places of its targets, the digests accepted on each,
whether ordered ones are meant, whether a result with floats is never accepted); it is answered by (number of targets
that agreed, fields of the first result that did not, or None).
"""

from __future__ import annotations

import marshal
import mmap
import os
import resource
import signal
import struct
import sys
import threading
from collections import OrderedDict
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any
from zlib import crc32

from agro_data.databases.children import bound_memory, end_with, resident
from agro_data.databases.errors import discreet_line
from agro_data.databases.hostile.guards import Fields, Session, failed, leaves_ruins, open_session, run_statement
from agro_data.databases.types import Layout, Limits

RESIDENT_SHARE = 4  # of the memory limit, the share (1/4) from which a worker starts afresh
OPEN_SHARE = 8  # of the memory limit, the share (1/8) that databases kept open may take by the weights below
WEIGHT, CACHE = 2**19, 2**21  # of an open SQLite file: its schema and handles (bounds their number too), page cache
ENGINE = 6 * 2**20  # of DuckDB's for each open file, with what a statement leaves
PAGE_SIZE = mmap.PAGESIZE
STATE = struct.Struct("dqqq")  # since when (monotonic), phase, task in the message, place among the task's targets
CHECK = 4  # bytes after it that tell a whole one from one that is being written
RUNNING, OPENING, IDLE, STARTING, SENDING = range(5)
DIGEST, ORDERED_DIGEST, FLOATS = 5, 6, 8  # places in `Fields`
FLUSH_RESULTS, FLUSH_BYTES, FLUSH_SECONDS = 64, 2**20, 0.1


def main() -> None:
    """Serve until the pipe closes, the parent is gone, or a statement has used up the memory."""
    pipe, page_file, parent = (int(argument) for argument in sys.argv[1:4])
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails with EFBIG
    page = mmap.mmap(page_file, PAGE_SIZE)
    connection = Connection(pipe)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent has closed the pipe or is gone
        _serve(connection, page)
    os._exit(0)  # DuckDB's library would list on standard error what Python still holds of it


def show(page: mmap.mmap, since: float, phase: int, task: int, place: int) -> None:
    """Write the state. The writer may be stopped in the middle of it; `shown` then does not give it."""
    state = STATE.pack(since, phase, task, place)
    page[: STATE.size + CHECK] = state + crc32(state).to_bytes(CHECK, "little")


def shown(page: mmap.mmap) -> tuple[float, int, int, int] | None:
    """The state on a page, as `show` takes it; None while it is being written."""
    found = page[: STATE.size + CHECK]
    state, check = found[: STATE.size], found[STATE.size :]
    return STATE.unpack(state) if crc32(state) == int.from_bytes(check, "little") else None


def _serve(connection: Connection, page: mmap.mmap) -> None:
    limits = Limits(*marshal.loads(connection.recv_bytes()))
    sessions = _Sessions(limits)
    bound_memory(limits.memory)
    started = resident()
    while True:
        show(page, monotonic(), IDLE, 0, 0)
        kept_cells, targets, tasks = marshal.loads(connection.recv_bytes())
        sessions.failures.clear()
        answers: list[bytes] = []
        first = size = 0
        flushed = monotonic()
        for index, task in enumerate(tasks):
            try:
                agreed, fields = _try(page, sessions, index, task, targets, limits=limits, kept_cells=kept_cells)
            except _NoRoom:
                connection.send_bytes(marshal.dumps((first, answers, False)))
                return
            answers.append(marshal.dumps((agreed, fields)))
            size += len(answers[-1])
            exhausted = fields is not None and leaves_ruins(fields)
            done = index == len(tasks) - 1
            full = len(answers) >= FLUSH_RESULTS or size >= FLUSH_BYTES or monotonic() - flushed > FLUSH_SECONDS
            if not (done or exhausted or full):
                continue
            show(page, monotonic(), SENDING, index, 0)  # the parent may take its time
            connection.send_bytes(marshal.dumps((first, answers, done)))
            answers, first, size, flushed = [], index + 1, 0, monotonic()
            # The rest is left to a new process, with an empty heap: engines do not give back all that a statement took,
            # and what becomes of one must not depend on those before it. Whatever takes much also takes the time after
            # which answers are sent.
            if exhausted or resident() - started > limits.memory // RESIDENT_SHARE:
                show(page, monotonic(), IDLE, 0, 0)
                return


def _try(
    page: mmap.mmap,
    sessions: _Sessions,
    index: int,
    task: tuple[str, list[int], list[tuple[str, ...]], bool, bool],
    targets: list[Any],
    *,
    limits: Limits,
    kept_cells: int,
) -> tuple[int, Fields | None]:
    """Run one statement on its targets up to the first where its digest is not among those accepted."""
    sql, places, accepted, ordered, exact = task
    for place, (target, digests) in enumerate(zip(places, accepted, strict=True)):
        session = sessions.of(targets[target])
        if session is None:
            show(page, monotonic(), OPENING, index, place)
            session = sessions.opened(targets[target])
        if isinstance(session, str):
            return place, failed("error", session)
        show(page, monotonic(), RUNNING, index, place)
        fields = run_statement(session, sql, limits, kept_cells)
        known = fields[ORDERED_DIGEST if ordered else DIGEST] in digests and not (exact and fields[FLOATS])
        if fields[0] != "ok" or not known:
            return place, fields
    return len(places), None


class _NoRoom(Exception):
    """Earlier databases and statements have left no memory to open a database: a new process has enough."""


class _Sessions:
    """Open databases; when their weight exceeds its bound, those unused for longest are closed.

    Instances of a database are small and many, and opening one costs as much as several statements on it.
    """

    def __init__(self, limits: Limits) -> None:
        self.failures: dict[object, str] = {}  # of the message being answered: what could not be opened, and why
        self._limits = limits
        self._most = limits.memory // OPEN_SHARE
        self._open: OrderedDict[object, tuple[Session, int]] = OrderedDict()
        self._weight = 0
        self._used = False

    def of(self, target: Any) -> Session | str | None:
        """The open session of a target, or why it has none; None when it is to be opened."""
        found = self._open.get(target)
        if found is None:
            return target if isinstance(target, str) else self.failures.get(target)
        self._open.move_to_end(target)
        return found[0]

    def opened(self, target: Any) -> Session | str:
        layout, path, _ = target
        try:
            weight = self._weight_of(layout, Path(path))
            while self._open and self._weight + weight > self._most:
                _, (session, freed) = self._open.popitem(last=False)
                session.close()
                self._weight -= freed
            if layout != "sqlite" and "duckdb" not in sys.modules:
                import duckdb  # noqa: F401, PLC0415

                bound_memory(self._limits.memory)
            session = open_session(Path(path), layout, self._limits)
        except Exception as error:  # whatever is wrong with one database is the answer to its statements
            if self._used and (isinstance(error, MemoryError) or "memory" in str(error).lower()):
                raise _NoRoom from error
            return self.failures.setdefault(target, f"cannot open {path}: {discreet_line(error)}")
        self._used = True
        self._open[target] = session, weight
        self._weight += weight
        return session

    def _weight_of(self, layout: Layout, path: Path) -> int:
        """The memory that an open database may take. DuckDB keeps what it has read, up to a limit of its own; for a
        folder this may be many times the files' size.
        """
        much = self._most // 8
        if layout == "files":
            return much
        size = path.stat().st_size
        return WEIGHT + min(size, CACHE) if layout == "sqlite" else min(ENGINE + size, much)
