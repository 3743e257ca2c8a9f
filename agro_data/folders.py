"""Folders: whether they can be written, what stands in for a cache that cannot, and what a version's has lost."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from agro_data.databases.scratch import ScratchFolder


def unwritable(folder: Path) -> OSError | None:
    """Why no file can be made in `folder`, or in what is there of its path; None if one can. Makes no folder."""
    try:
        with TemporaryFile(dir=existing(folder)):
            return None
    except OSError as error:
        return error


def existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next((place for place in (folder, *folder.parents) if place.exists()), folder)


def unkept(cache: Path) -> str:
    """That nothing can be kept in the cache folder, and what names it; "" if it can."""
    error = unwritable(cache)
    if error is None:
        return ""
    return f"{cache}: cannot be written ({error.strerror}), nothing is kept; AGRO_CACHE names the folder"


@contextmanager
def kept_in(cache: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The cache folder; where it cannot be written, a temporary folder, and a note for a person that says so."""
    if not (said := unkept(cache)):
        yield cache, ()
        return
    with ScratchFolder("cache") as scratch:
        yield Path(scratch), (said,)


def files_gone(folder: Path, manifest: Mapping[str, Any], pattern: str) -> list[str]:
    """The files like `pattern` that the manifest of a version names and its folder has not: the others must not be
    taken for the whole."""
    listed = manifest.get("files")
    named = fnmatch.filter(listed if isinstance(listed, Mapping) else (), pattern)
    return sorted(name for name in named if not (folder / name).is_file())
