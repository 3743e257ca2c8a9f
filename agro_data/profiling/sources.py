"""Which side files speak of a database, and what they say together."""

from __future__ import annotations

import json
from pathlib import Path

from agro_data.databases.types import Database
from agro_data.profiling.imports import Schema, from_bird, from_dbt, from_spider, spider_entry
from agro_data.profiling.knowledge import Semantics, merge, without_values
from agro_data.profiling.semantics import read_semantics_file


def dbt_manifest(database: Database) -> Path | None:
    """A dbt `manifest.json` beside the database, in the folder itself, or in `target/` of either."""
    folder = database.path if database.layout == "files" else database.path.parent
    found = (folder / "manifest.json", folder / "target" / "manifest.json")
    return next((path for path in found if path.is_file() and _is_dbt(path)), None)


def _is_dbt(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"dbt_schema_version" in file.read(4096)
    except OSError:
        return True  # perhaps one: `from_dbt` says that it cannot be read


def read_semantics(database: Database, schema: Schema, *, values: bool = True) -> Semantics:
    """What `semantics.yml`, dbt, BIRD and Spider files say of `database`; of two that differ, the earlier counts.

    With `values=False` nothing that the files say of values is taken, nor is free text in which one may stand.
    """
    sources: list[Semantics] = []
    if database.semantics is not None:
        sources.append(read_semantics_file(database.semantics, schema, database.dialect))
    manifest = dbt_manifest(database)
    if manifest is not None:
        sources.append(from_dbt(manifest, schema, values=values))
    if database.descriptions is not None:
        sources.append(from_bird(database.descriptions, schema, values=values))
    if database.spider_tables is not None:
        sources.append(from_spider(database.spider_tables, database.path.stem, schema))
    known = merge(sources)
    return known if values else without_values(known, database.dialect)


def side_bytes(database: Database) -> list[tuple[str, bytes]]:
    """(name, content) of all that `read_semantics` reads, for cache keys; of `tables.json` only this entry."""
    files = [path for path in (database.semantics, dbt_manifest(database)) if path is not None]
    if database.descriptions is not None:
        files += sorted(database.descriptions.glob("*.csv"))
    contents = [(path.name, _content(path)) for path in files]
    if database.spider_tables is not None:
        try:
            entry = spider_entry(database.spider_tables, database.path.stem)
        except (OSError, ValueError, KeyError, TypeError):
            # Unreadable: `from_spider` reports it; the whole file then stands for the entry.
            return [*contents, ("tables.json", _content(database.spider_tables))]
        contents.append(("tables.json", json.dumps(entry, sort_keys=True).encode()))
    return contents


def _content(path: Path) -> bytes:
    """The bytes of a file, or why there are none: who reads it for what it says reports that."""
    try:
        return path.read_bytes()
    except OSError as error:
        return str(error.strerror).encode()
