"""Files that appear whole or not at all: written beside their place and renamed into it; and synced, where they have
to outlast a power cut.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agro_data.faults import NO_SPACE


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A temporary file beside `target` that becomes it when the block ends without an error, and vanishes else.

    What cannot be written is said of `target`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{secrets.token_hex(8)}.part"
    try:
        temporary.touch(exist_ok=False)  # for whom the umask lets read; `tempfile` makes them for their owner alone
        yield temporary
        sync_file(temporary)
        temporary.replace(target)
    except OSError as error:
        nameless = error.filename is None and error.errno in NO_SPACE  # as a write is
        if nameless or error.filename == str(temporary):  # a name that tells nobody which file cannot be written
            error.filename = str(target)
        raise
    finally:
        with suppress(OSError):  # on a disk that cannot be written it fails, and would hide why
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """UTF-8 text, written atomically; into what is no plain file, as `/dev/stdout` is none, it is written as it is."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, encoding="utf-8")
        return
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Indented JSON with sorted keys, written atomically."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """JSONL, a row a line, in the order given."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def replace_text(path: Path, text: str) -> None:
    """Give `path` the content `text` in one step, for good: not even a power cut brings the old one back."""
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")
    sync_folder(path.parent)


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


def free_bytes(path: Path) -> int:
    """Bytes that are free on the disk of `path`."""
    return shutil.disk_usage(path).free
