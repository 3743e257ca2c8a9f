"""The process in which hostile SQL runs: fed and answering by a pipe, to be killed any time.

Started by `sandbox.Sandbox` with three arguments: the pipe, the page, and the parent's process id. Imports
the standard library only (duckdb when needed), so that it starts in some tens of milliseconds. Messages are
`marshal`: only plain values travel, it is several times faster than pickle, and reading one runs no code.

The page is memory shared with the parent; it says what runs since when without a message for each statement.
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
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from agro_data.databases.guards import Session, is_memory_error, open_session, run_statement
from agro_data.databases.opening import first_line
from agro_data.databases.types import Layout, Limits

OPEN_DATABASES = 8
PAGE_SIZE = mmap.PAGESIZE
PAGE = struct.Struct("qd")  # what runs: index in the message or one of the states below; since when (monotonic)
SENDING, STARTING, IDLE, OPENING = -4, -3, -2, -1
FLUSH_RESULTS, FLUSH_BYTES, FLUSH_SECONDS = 64, 2**20, 0.1


def main() -> None:
    """Serve until the pipe closes, the parent is gone, or a statement has used up the memory."""
    pipe, page_file, parent = (int(argument) for argument in sys.argv[1:4])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails with EFBIG
    page = mmap.mmap(page_file, PAGE_SIZE)
    connection = Connection(pipe)
    try:
        _serve(connection, page)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent has closed the pipe or is gone


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, even by `kill -9` and even amid a statement.

    Not PR_SET_PDEATHSIG: that signal also comes when only the thread that started this process ends.
    """
    while os.getppid() == parent:
        sleep(0.5)
    os._exit(0)


def _serve(connection: Connection, page: mmap.mmap) -> None:
    limits = Limits(*marshal.loads(connection.recv_bytes()))
    sessions: OrderedDict[tuple[Any, ...], Session] = OrderedDict()
    _bound_memory(limits)
    while True:
        PAGE.pack_into(page, 0, IDLE, monotonic())
        layout, path, stamp, keep_rows, statements = marshal.loads(connection.recv_bytes())
        PAGE.pack_into(page, 0, OPENING, monotonic())
        try:
            session = _session(sessions, layout, path, stamp, limits)
        except Exception as error:  # whatever is wrong with one database is the answer to its statements
            failure = ("error", (), (), 0, 0, "", "", False, 0.0, f"cannot open {path}: {first_line(error)}")
            connection.send_bytes(marshal.dumps((0, [marshal.dumps(failure)] * len(statements), True)))
            continue
        if _answer(connection, page, session, statements, limits=limits, keep_rows=keep_rows):
            PAGE.pack_into(page, 0, IDLE, monotonic())
            return


def _answer(
    connection: Connection,
    page: mmap.mmap,
    session: Session,
    statements: list[str],
    *,
    limits: Limits,
    keep_rows: bool,
) -> bool:
    """Run and answer one message. True when memory ran out: the rest is left to a new process."""
    batch: list[bytes] = []
    first = size = 0
    flushed = monotonic()
    for index, sql in enumerate(statements):
        now = monotonic()
        PAGE.pack_into(page, 0, index, now)
        fields = run_statement(session, sql, limits, keep_rows)
        batch.append(marshal.dumps(fields))
        size += len(batch[-1])
        exhausted = is_memory_error(fields)
        done = index == len(statements) - 1
        full = len(batch) >= FLUSH_RESULTS or size >= FLUSH_BYTES or now - flushed > FLUSH_SECONDS
        if done or exhausted or full:
            PAGE.pack_into(page, 0, SENDING, monotonic())  # the parent may take its time
            connection.send_bytes(marshal.dumps((first, batch, done)))
            batch, first, size, flushed = [], index + 1, 0, now
        if exhausted:
            return True
    return False


def _session(
    sessions: OrderedDict[tuple[Any, ...], Session], layout: Layout, path: str, stamp: object, limits: Limits
) -> Session:
    """The open session of a database, or a new one in place of the one unused for longest."""
    key = (layout, path, stamp)
    if key in sessions:
        sessions.move_to_end(key)
        return sessions[key]
    while len(sessions) >= OPEN_DATABASES:
        sessions.popitem(last=False)[1].close()
    if layout != "sqlite" and "duckdb" not in sys.modules:
        import duckdb  # noqa: F401, PLC0415

        _bound_memory(limits)
    session = sessions[key] = open_session(Path(path), layout, limits)
    return session


def _bound_memory(limits: Limits) -> None:
    """Limit the address space to what is taken now and `limits.memory` more, where the system tells it."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    pages = int(statm.read_text().split()[0])
    soft = pages * resource.getpagesize() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.RLIM_INFINITY))
