"""Names as Spider's parser knows them: tables of the database, and the columns its foreign keys make one."""

from __future__ import annotations

import os
from dataclasses import replace

from agro_data.databases.discovery.catalog import tables_json
from agro_data.databases.errors import first_line
from agro_data.databases.files.spider_tables import NOT_SPIDERS, spider_entries
from agro_data.databases.schema.table_info import TableInfo
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database
from agro_data.evaluation.exact_match.components import Same, same_columns
from agro_data.evaluation.exact_match.grammar import Columns


def names_of(database: Database) -> tuple[Columns, Same]:
    """Tables with their columns in lower case, from the database; foreign keys from `tables.json`, where there is one
    as Spider writes it.

    Raises `DatabaseError` when the database cannot be read.
    """
    with open_database(database) as connection:
        tables = [table for table in connection.objects() if not table.is_view]
    columns = {table.name.lower(): [column.name.lower() for column in table.columns] for table in tables}
    try:
        return columns, _listed(database) or _declared(tables)
    except NOT_SPIDERS:
        return columns, _declared(tables)


def keys_not_listed(database: Database) -> str:
    """Why the foreign keys of a `tables.json` are not those of `names_of`, with the file; "" if there is no fault."""
    found = tables_json(database.path.parent) if database.spider_tables is None else [database.spider_tables]
    for file in filter(os.path.isfile, found):
        try:
            _listed(replace(database, spider_tables=file))
        except NOT_SPIDERS as error:
            return f"{file}: not as Spider writes it ({type(error).__name__}: {first_line(error)})"
    return ""


def _listed(database: Database) -> Same | None:
    """The keys in Spider's `tables.json`, which may differ from the database's own. Raises one of `NOT_SPIDERS`."""
    if database.spider_tables is None:
        return None
    entry = spider_entries(database.spider_tables).get(database.path.stem)
    if entry is None:
        return None
    tables = [name.lower() for name in entry["table_names_original"]]
    names = [f"{tables[at]}.{name.lower()}" if at >= 0 else "*" for at, name in entry["column_names_original"]]
    keys = [(names[child], names[parent]) for child, parent in entry["foreign_keys"]]
    return same_columns(keys, {name: place for place, name in enumerate(names)})


def _declared(tables: list[TableInfo]) -> Same:
    names = [f"{table.name}.{column.name}".lower() for table in tables for column in table.columns]
    keys = [
        (f"{table.name}.{child}".lower(), f"{key.ref_table}.{parent}".lower())
        for table in tables
        for key in table.foreign_keys
        for child, parent in zip(key.columns, key.ref_columns, strict=True)
    ]
    return same_columns(keys, {name: place for place, name in enumerate(names)})
