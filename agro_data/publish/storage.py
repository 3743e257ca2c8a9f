"""Files that survive a crash: synced writes, and text replaced in one step."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from agro_data.work import atomic_path

WRITING = "is writing a version of this corpus"  # what the lock's message says of its holder


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
