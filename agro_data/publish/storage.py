"""Files that survive a crash: synced writes, text replaced in one step, and a lock that names its holder."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agro_data.work import atomic_path

log = logging.getLogger(__name__)


class Locked(RuntimeError):
    """Another process is writing; the message names it."""


def sync_file(path: Path) -> None:
    """Make the content of `path` durable."""
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def sync_folder(path: Path) -> None:
    """Make the names in `path` durable: a rename is on disk only once its folder is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(root: Path) -> None:
    """Sync every file below `root`, then every folder, the innermost first."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in sorted(names):
            sync_file(Path(folder) / name)
        sync_folder(Path(folder))


def replace_text(path: Path, text: str) -> None:
    """Give `path` the content `text` in one step, for good: not even a power cut brings the old one back."""
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")
    sync_folder(path.parent)


def free_bytes(path: Path) -> int:
    """Bytes that are free on the disk of `path`."""
    return shutil.disk_usage(path).free


@contextmanager
def exclusive(path: Path, *, wait_seconds: float, doing: str = "is writing a version of this corpus") -> Iterator[None]:
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
