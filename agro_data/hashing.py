"""Hashes of values and files, and seeds: the same on every machine and in every run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def stable_hash(value: Any) -> str:
    """SHA-256 (hex) of a JSON value. No `default=`: a value that JSON does not know is an error, not a repr."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def input_hash(path: Path) -> str:
    """Hash of a file, or of all files below a folder with their names."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        return stable_hash([[p.relative_to(path).as_posix(), file_hash(p)] for p in files])
    return file_hash(path)


def seed_of(*parts: object) -> int:
    """A 63-bit seed from stable parts; the same on every machine and run."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") >> 1
