"""Names as Spider's parser knows them: tables of the database, and the columns its foreign keys make one."""

from __future__ import annotations

import json

from agro_data.databases.connections import TableInfo, open_database
from agro_data.databases.types import Database
from agro_data.evaluation.exact_match.components import Same, same_columns
from agro_data.evaluation.exact_match.grammar import Columns


def names_of(database: Database) -> tuple[Columns, Same]:
    """Tables with their columns in lower case, from the database; foreign keys from `tables.json`, where there is one.

    Raises `DatabaseError` when the database cannot be read.
    """
    with open_database(database) as connection:
        tables = [table for table in connection.objects() if not table.is_view]
    columns = {table.name.lower(): [column.name.lower() for column in table.columns] for table in tables}
    return columns, _listed(database) or _declared(tables)


def _listed(database: Database) -> Same | None:
    """The keys in Spider's `tables.json`, which may differ from the database's own."""
    if database.spider_tables is None:
        return None
    entries = json.loads(database.spider_tables.read_text(encoding="utf-8"))
    entry = next((entry for entry in entries if entry["db_id"] == database.db_id), None)
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
