"""Content hashes that took long to compute, kept for as long as the files are not touched.

Tens of millions of rows take DuckDB the better part of a minute, and each command has to know what they are. An entry
holds for the size, times and inode of every file, for the engine's version and for the code that hashes. The time of
the inode's last change is among them, which no program sets: a file that is written to and given its old time is read
again.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from agro_data.config import RunConfig, cache_folder
from agro_data.databases.files.data_files import data_files
from agro_data.databases.opening import with_sides
from agro_data.databases.types import Layout
from agro_data.files import write_json
from agro_data.hashing import stable_hash

SLOW = 1.0  # seconds of hashing that are worth an entry
SETTLED = 2.0  # seconds since the last change: clocks of file systems tick that coarsely, or less
_CODE = ("discovery/content", "discovery/rows_hash", "files/data_files")


class State(NamedTuple):
    """What the hash of a database depends on, and where it is kept."""

    path: str
    layout: Layout
    files: tuple[tuple[str, int, int, int, int], ...]  # path, bytes, times of content and inode in ns, inode
    made_by: str

    @classmethod
    def of(cls, path: Path, layout: Layout) -> State:
        """As it is now. Raises `OSError`."""
        there = data_files(path) if layout == "files" else with_sides(path, layout)
        return cls(_name(path.absolute()), layout, tuple(sorted(map(_state, there))), _made_by())

    @property
    def entry(self) -> Path:
        """Its file, one for each path."""
        return cache_folder(RunConfig()) / "contents" / f"{stable_hash([self.path])[:32]}.json"


def recalled(state: State) -> str:
    """The content hash in this state, "" where none is kept."""
    try:
        kept = json.loads(state.entry.read_text(encoding="utf-8"))
        return str(kept["content_hash"]) if kept["state"] == stable_hash(list(state)) else ""
    except (OSError, ValueError, LookupError, TypeError):  # none, half-written, or of a form this version does not know
        return ""


def remember(state: State, content_hash: str, seconds: float) -> None:
    """Keep a hash that took `seconds` of a database that was in this state before it was read.

    A state that is younger than `SETTLED` is not kept: a later write could look the same. Nor is anything where the
    folder cannot be written.
    """
    last = max((max(changed) for _, _, *changed, _ in state.files), default=0)
    if seconds >= SLOW and time.time() - seconds - last / 1e9 >= SETTLED:
        with suppress(OSError):
            write_json(
                state.entry, {"path": state.path, "state": stable_hash(list(state)), "content_hash": content_hash}
            )


def _state(file: Path) -> tuple[str, int, int, int, int]:
    status = file.stat()
    return _name(file), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _name(path: Path) -> str:
    """A path as JSON can hold it: a name on a disk need not be text."""
    return os.fsencode(path).decode("latin-1")


@cache
def _made_by() -> str:
    """The engine, and SHA-256 (hex) of the sources that decide a hash."""
    digest = sha256(version("duckdb").encode())
    for name in _CODE:
        digest.update(files("agro_data.databases").joinpath(f"{name}.py").read_bytes())
    return digest.hexdigest()
