"""The lock of a corpus: one process at a time adds versions to its folder, or takes some away."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from agro_data.locking import exclusive


def writing(corpus: Path, wait_seconds: float) -> AbstractContextManager[None]:
    """Hold the lock of the folder `corpus`. Raises `locking.Locked` when the wait was in vain."""
    return exclusive(corpus / ".lock", wait_seconds=wait_seconds, doing="is writing a version of this corpus")
