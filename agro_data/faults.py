"""Faults of the machine: they say nothing of a database, and another run may not meet them.

What is wrong with a database itself (no right to read it, a damaged file) raises again on every run.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3

PASSING = frozenset(
    {
        errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN,  # of files, memory, processes there is none left
        errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EBUSY,  # a disk or a network that is away for a while
    }
)  # fmt: skip
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # of an `OSError`: a disk or quota is full
PASSING_SQLITE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR})
IO_OF_DUCKDB = {(module, "IOException") for module in ("duckdb", "_duckdb")}  # the engine is not imported for it
DUCKDB_WORDS = ("Could not set lock on file", *map(os.strerror, sorted(PASSING)))
_CODE = re.compile(r"\(os error (\d+)\)")


def is_passing(error: BaseException | None) -> bool:
    """Whether the machine was at fault, be it that the error was raised `from` one of the machine."""
    while error is not None:
        if _of_the_machine(error):
            return True
        error = error.__cause__
    return False


def _of_the_machine(error: BaseException) -> bool:
    if isinstance(error, OSError):
        said = _CODE.search(str(error))  # Polars gives no errno
        return (error.errno or int(said[1] if said else 0)) in PASSING
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None) or 0  # none where the module itself raised
        cut = code == sqlite3.SQLITE_IOERR_SHORT_READ  # that is the file
        return not cut and code & 0xFF in PASSING_SQLITE
    if (type(error).__module__.partition(".")[0], type(error).__name__) in IO_OF_DUCKDB:
        return any(words in str(error) for words in DUCKDB_WORDS)
    return isinstance(error, MemoryError)
