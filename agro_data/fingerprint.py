"""The identity of a build: one hash over everything that decides its bytes. And that of what one row asks.

| part | why |
| --- | --- |
| `BuildConfig` without its paths and addresses | settings |
| content hash of each database and of its side files | inputs |
| bytes of files named by `exclude`, `query_log` and `focus` | inputs |
| which model `writer` names: its weights, or what its server calls it | inputs |
| every source and data file of `agro_data`, its edge aside | code version (`software.py`) |
| versions of libraries and engines | they decide SQL text, plurals, Parquet bytes, the card |

Left out on purpose: `RunConfig`, paths, the clock, the machine. The scheme's version is part of the text that is
hashed and is stored beside the hash, so that a later scheme is seen as another identity and not as a mismatch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agro_data.config import BuildConfig
from agro_data.databases.discovery.identity import database_identity
from agro_data.databases.types import Catalog
from agro_data.hashing import input_hash, stable_hash
from agro_data.software import code_version, deciding_versions

SCHEME = 1


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
