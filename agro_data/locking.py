"""A lock of what one process at a time may write, which names its holder."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agro_data.errors import InWords

log = logging.getLogger(__name__)


class Locked(InWords, RuntimeError):
    """Another process is writing; the message names it."""


@contextmanager
def exclusive(path: Path, *, wait_seconds: float, doing: str) -> Iterator[None]:
    """Hold the lock file `path`; wait up to `wait_seconds` for another holder, saying once who it is, and what it is
    `doing`.

    The lock is the kernel's (flock), so a killed writer lets go of it; the text inside says who holds it.
    Raises `Locked` when the wait was in vain.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(descriptor, path, wait_seconds, doing)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, wait_seconds: float, doing: str) -> None:
    deadline = time.monotonic() + wait_seconds
    announced = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "another process"
            if time.monotonic() >= deadline:
                raise Locked(
                    f"{path.parent}: {holder} {doing}; "
                    f"waited {wait_seconds:.0f} s. Let it finish or stop it, then try again"
                ) from None
            if not announced:
                log.warning("%s: waiting for %s, which %s", path.parent, holder, doing)
                announced = True
            time.sleep(0.1)
