"""Temporary folders with copies of databases, which must not stay behind, however this process ends.

A killed process removes nothing, so the next `agro` does it. A lock on a folder shows that it is in use; the system
removes the lock with the process. A process id would not do: it may belong to another process by then, or to another
container. The id in the name is for a person who wonders whose it is.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"agro-[a-z-]+-\d+-[a-z0-9_]{8}")  # as `ScratchFolder` names them, and `tempfile` goes on


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder, locked as long as this process has it, so that `sweep` removes it afterwards."""

    def __init__(self, purpose: str) -> None:
        handle: int | None = None
        while handle is None:
            super().__init__(prefix=f"agro-{purpose}-{os.getpid()}-")
            try:
                handle = _locked(Path(self.name), fcntl.LOCK_SH)
            except (BlockingIOError, FileNotFoundError):
                continue  # a sweep has come between making and locking it
            except OSError:  # a file system without locks: nothing is swept there
                break
        self._release = weakref.finalize(self, _close, handle)

    def cleanup(self) -> None:
        super().cleanup()
        self._release()


def sweep() -> None:
    """Remove what processes of this user that are no more have left where temporary files go."""
    with suppress(OSError):
        for found in os.scandir(tempfile.gettempdir()):
            if _NAME.fullmatch(found.name):
                _remove_if_left(Path(found.path))


def _remove_if_left(folder: Path) -> None:
    with suppress(OSError):  # locked by who uses it, removed by another sweep, or another user's
        handle = _locked(folder, fcntl.LOCK_EX)
        try:
            if os.fstat(handle).st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            _close(handle)


def _locked(folder: Path, kind: int) -> int:
    """A handle that holds a lock of a folder, which is still there. Raises `OSError`, at once where it is locked."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
        os.stat(folder)
    except OSError:
        _close(handle)
        raise
    return handle


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)
