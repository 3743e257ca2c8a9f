"""Which side files speak of a database, and what they say together."""

from __future__ import annotations

import json
from pathlib import Path

from agro_data.databases.files.spider_tables import NOT_SPIDERS, spider_entries
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database
from agro_data.profiling.side_files.imports import Schema, from_bird, from_dbt, from_spider
from agro_data.profiling.side_files.knowledge import Semantics, merge, without_values
from agro_data.profiling.side_files.semantics import read_semantics_file


def read_semantics(database: Database, schema: Schema, *, values: bool = True) -> Semantics:
    """What `semantics.yml`, dbt, BIRD and Spider files say of `database`; if two differ, the earlier counts.

    With `values=False` everything about values is left out, and so is free text that may contain a value.
    """
    sources: list[Semantics] = []
    if database.semantics is not None:
        sources.append(read_semantics_file(database.semantics, schema, database.dialect))
    if database.dbt_manifest is not None:
        sources.append(from_dbt(database.dbt_manifest, schema, values=values))
    if database.descriptions is not None:
        sources.append(from_bird(database.descriptions, schema, values=values))
    if database.spider_tables is not None:
        sources.append(from_spider(database.spider_tables, database.path.stem, schema))
    known = merge(sources)
    return known if values else without_values(known, database.dialect)


def stated_hiding(database: Database) -> dict[tuple[str, str], bool]:
    """Which tables (with "" for a column) and columns the files beside `database` hide, and which columns they say are
    not hidden, whatever they hold. Raises `DatabaseError` when it cannot be opened.
    """
    with open_database(database) as connection:
        schema = {table.name: [column.name for column in table.columns] for table in connection.objects()}
    known = read_semantics(database, schema, values=False)
    tables = {(table, ""): True for table in schema if known.table(table).hidden}
    columns = {(table, name): known.column(table, name).hidden for table, names in schema.items() for name in names}
    return tables | {place: hidden for place, hidden in columns.items() if hidden is not None}


def side_bytes(database: Database) -> list[tuple[str, bytes]]:
    """(name, content) of all that `read_semantics` reads, for cache keys; of `tables.json` only this entry."""
    files = [path for path in (database.semantics, database.dbt_manifest) if path is not None]
    if database.descriptions is not None:
        files += sorted(database.descriptions.glob("*.csv"))
    contents = [(path.name, _content(path)) for path in files]
    if database.spider_tables is not None:
        try:
            entry = spider_entries(database.spider_tables).get(database.path.stem)
        except NOT_SPIDERS:
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
