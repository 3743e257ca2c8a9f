"""The identity of a build: one hash over everything that decides its bytes.

| part | why |
| --- | --- |
| `BuildConfig` without its paths and addresses | settings |
| content hash of each database and of its side files | inputs |
| bytes of files named by `exclude`, `query_log` and `focus` | inputs |
| which model `writer` names: its weights, or what its server calls it | inputs |
| every source and data file of `agro_data`, its edge aside | code version |
| versions of the libraries and engines below | they decide SQL text, plurals, Parquet bytes, the card |

Left out on purpose: `RunConfig`, paths, the clock, the machine. The scheme's version is part of the text that is
hashed and is stored beside the hash, so that a later scheme is seen as another identity and not as a mismatch.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from agro_data.config import STRUCTURAL, BuildConfig
from agro_data.databases.identity import database_identity
from agro_data.databases.types import Catalog
from agro_data.hashing import file_hash, input_hash, stable_hash

SCHEME = 1
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


def fingerprint(config: BuildConfig, catalog: Catalog, writer: Mapping[str, str] | None = None) -> str:
    """64 hex digits that name this build. `writer` is the identity of the model that writes, where one does."""
    return stable_hash(
        {
            "scheme": SCHEME,
            "settings": settings_of(config, writer),
            "databases": [database_identity(database) for database in catalog.databases],
            "code": code_version(),
            "libraries": deciding_versions(config),
        }
    )


def settings_of(config: BuildConfig, writer: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The settings without paths: for files and the writer, a hash or description of the content instead."""
    places = ("databases", "exclude", "query_log", "focus", "writer")
    settings: dict[str, Any] = {k: v for k, v in config.to_dict().items() if k not in places}
    settings["exclude"] = [input_hash(Path(path)) for path in config.exclude]
    settings["query_log"] = input_hash(Path(config.query_log)) if config.query_log else ""
    settings["focus"] = input_hash(Path(config.focus)) if config.focus else ""
    settings["writer"] = dict(writer or {})
    return settings


def example_id(content_hash: str, row: Mapping[str, Any], sql: str, hidden: Sequence[Any] = ()) -> str:
    """16 hex digits that name what a row asks of a database, with `sql` for an answer and `hidden` not shown."""
    parts: list[Any] = [content_hash, row["dialect"], sql, row["question"], row["evidence"]]
    return stable_hash([*parts, *([list(hidden)] if hidden else [])])[:16]
