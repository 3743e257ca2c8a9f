"""The schema of each database as CREATE TABLE statements: names, types and keys, and no value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agro_data.databases.quoting import quoted, quoted_list
from agro_data.databases.schema.table_info import TableInfo
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database
from agro_data.publish.read import Version


def schema_texts(version: Version, databases: Sequence[Database]) -> dict[str, str]:
    """The schema of each database of `version`, by `db_id`: from the source if it is at hand, else from an instance.

    An instance has the tables and columns of its source. A database with neither is left out.
    """
    return {
        db_id: schema_text(objects)
        for db_id, database in _readable(version, databases)
        if (objects := _objects(database))
    }


def schema_text(tables: Iterable[TableInfo]) -> str:
    """One CREATE TABLE statement a table, with primary and foreign keys."""
    return "\n\n".join(_table(table) for table in tables if not table.is_view)


def _table(table: TableInfo) -> str:
    lines = [
        f"{quoted(column.name)} {column.declared_type}".rstrip() + (" NOT NULL" if column.not_null else "")
        for column in table.columns
    ]
    if table.primary_key:
        lines.append(f"PRIMARY KEY ({quoted_list(table.primary_key)})")
    lines += [
        f"FOREIGN KEY ({quoted_list(key.columns)}) REFERENCES {quoted(key.ref_table)} ({quoted_list(key.ref_columns)})"
        for key in table.foreign_keys
    ]
    return f"CREATE TABLE {quoted(table.name)} (\n  " + ",\n  ".join(lines) + "\n);"


def _objects(database: Database) -> list[TableInfo]:
    with open_database(database) as connection:
        return connection.objects()


def _readable(version: Version, databases: Sequence[Database]) -> list[tuple[str, Database]]:
    found = {database.db_id: database for database in databases}
    dialects = dict(version.examples().select("db_id", "dialect").unique().collect().iter_rows())
    for db_id, name in version.instances().select("db_id", "file").sort("file").collect().iter_rows():
        if db_id not in found and db_id in dialects:
            path = version.path / "instances" / name
            found[db_id] = Database(db_id, dialects[db_id], dialects[db_id], path, name, name)
    return sorted(found.items())
