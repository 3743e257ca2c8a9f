"""Which software this is: the version of the code, and those of the libraries and engines that decide bytes."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from agro_data.config import STRUCTURAL, BuildConfig
from agro_data.hashing import file_hash, stable_hash

LIBRARIES = (
    "polars",
    "pyarrow",
    "duckdb",
    "sqlglot",
    "faiss-cpu",
    "numpy",
    "inflect",
    "lemminflect",
    "wordninja",
    "faker",
    "pyyaml",
    "jinja2",
)
EMBEDDING_LIBRARIES = ("torch", "transformers", "sentence-transformers")
# What only calls the rest, or says or exports what came of it: no version and no verdict is another because of these.
EDGE = frozenset(
    {
        *("defs", "exports", "rounds", "snapshot", "verbs"),
        *("cli.py", "definitions.py", "doctor.py", "estimate.py", "shown.py", "terminal"),
    }
)
SOURCE_SUFFIXES = {".py", ".sql", ".yml", ".json", ".txt", ".j2", ".html", ".md"}


@cache
def code_version() -> str:
    """Hash of every source file of the package but its `EDGE`: a change of code is a change of identity."""
    root = Path(__file__).parent
    files = sorted(p for p in root.rglob("*") if p.suffix in SOURCE_SUFFIXES and "__pycache__" not in p.parts)
    named = [p.relative_to(root) for p in files]
    return stable_hash([[p.as_posix(), file_hash(root / p)] for p in named if p.parts[0] not in EDGE])[:16]


def library_versions(libraries: Iterable[str]) -> dict[str, str]:
    """Versions of Python, SQLite and the installed ones of `libraries`."""
    found = {library: version for library in libraries if (version := installed(library))}
    return {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version} | found


@cache
def installed(library: str) -> str:
    """The version of a library, "" where it is not installed."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def deciding_versions(config: BuildConfig) -> dict[str, str]:
    """Versions that decide bytes: libraries, engines, Python."""
    return library_versions(LIBRARIES + (() if config.embedding_model == STRUCTURAL else EMBEDDING_LIBRARIES))
