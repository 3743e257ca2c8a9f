"""DuckDB as a trusted connection, in an engine of a child process: its tables and keys from its own functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agro_data.databases.errors import DatabaseError, discreet_line
from agro_data.databases.files.data_files import data_tables
from agro_data.databases.opening import (
    BUILT_IN,
    TAKEN,
    precedence,
)
from agro_data.databases.quoting import folded, quoted
from agro_data.databases.schema.checks import checks
from agro_data.databases.schema.collations import duckdb_collations
from agro_data.databases.schema.computed import formulas
from agro_data.databases.schema.table_info import SECONDS, ColumnInfo, ForeignKeyInfo, Row, TableInfo, text_of
from agro_data.databases.schema.unique_indexes import unique_key
from agro_data.databases.trusted.apart import Engine, EngineCrashed
from agro_data.databases.types import Cell, Database, Dialect


class DuckdbConnection:
    """A DuckDB file, or a folder of Parquet and CSV files. Tables of all schemas are called by their bare names; where
    two have one name, the first in the search path (`opening.look_in_all_schemas`) is the one that is read."""

    dialect: Dialect = "duckdb"

    def __init__(self, database: Database, folder: Path) -> None:
        self._db_id = database.db_id
        self._files = {table.name for table in data_tables(database.path)} if database.layout == "files" else set()
        self._engine = Engine(database.path, database.layout, SECONDS, folder)
        self.unread, self.problems = self._engine.unread, self._engine.remarks
        self.faults: list[str] = []
        self._catalog = self._engine.name if database.layout == "duckdb" else "memory"

    def close(self) -> None:
        self._engine.close()

    def execute(self, sql: str, parameters: Sequence[Cell] = (), limit: int | None = None) -> list[Row]:
        try:
            return self._engine.execute(sql, parameters, limit)
        except DatabaseError as error:
            raise type(error)(f"{self._db_id}: {error}") from error
        except OSError as error:  # it had to be opened again
            raise DatabaseError(f"{self._db_id}: {discreet_line(error)}") from error

    def objects(self) -> list[TableInfo]:
        listed = self.execute(
            """SELECT table_name AS name, false AS is_view, schema_name
               FROM duckdb_tables() WHERE NOT internal AND database_name = $1
               UNION ALL
               SELECT view_name, true, schema_name FROM duckdb_views() WHERE NOT internal AND database_name = $1
               ORDER BY is_view, name""",
            (self._catalog,),
        )
        found = [(str(name), bool(is_view), str(schema)) for name, is_view, schema in listed]
        taken = {name: ".".join(BUILT_IN) for name in self._built_in()}  # the schema whose table has a name
        by_schema: dict[str, list[TableInfo]] = {}
        shadowed: dict[tuple[str, str], list[str]] = {}
        faults: list[str] = []
        for name, is_view, schema in sorted(found, key=lambda one: precedence(one[2])):
            if (first := taken.setdefault(folded(name), schema)) != schema:
                shadowed.setdefault((schema, first), []).append(name)
                continue
            try:
                table = self._table(schema, name, is_view and name not in self._files)
                by_schema.setdefault(schema, []).append(table)
            except EngineCrashed:
                raise
            except DatabaseError as error:
                faults.append(f"{'view' if is_view else 'table'} {name!r}: cannot be read, left out: {error}")
        self.faults += faults
        self.problems += faults
        self.problems += [_shadowed(*place, names) for place, names in shadowed.items()]
        tables: list[TableInfo] = []
        for each in by_schema.values():  # a key refers to a table of its own schema
            spelled = {folded(table.name): table for table in each}
            tables += [replace(table, foreign_keys=_spelled_keys(table.foreign_keys, spelled)) for table in each]
        return sorted(tables, key=lambda table: (table.is_view, table.name))

    def _built_in(self) -> list[str]:
        """Views of DuckDB's own that a bare name means, whatever a file calls its tables."""
        if self._catalog == "memory":  # a folder, whose tables come first
            return []
        listed = self.execute(
            "SELECT view_name FROM duckdb_views() WHERE internal AND database_name = ? AND schema_name = ?", BUILT_IN
        )
        return [folded(str(name)) for (name,) in listed]

    def _table(self, schema: str, name: str, is_view: bool) -> TableInfo:
        place = (self._catalog, schema, name)  # a schema may be called as the file is, a table as one of DuckDB's views
        self.execute(f"SELECT 1 FROM {'.'.join(map(quoted, place))}", limit=1)
        constraints = self.execute(
            """SELECT constraint_type, to_json(constraint_column_names), referenced_table,
                      to_json(referenced_column_names)
               FROM duckdb_constraints() WHERE database_name = ? AND schema_name = ? AND table_name = ?
               ORDER BY constraint_index""",
            place,
        )
        described = self.execute(
            """SELECT column_name, data_type, is_nullable FROM duckdb_columns()
               WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index""",
            place,
        )
        kind = "view" if is_view else "table"
        made = self.execute(
            f"SELECT sql FROM duckdb_{kind}s() WHERE database_name = ? AND schema_name = ? AND {kind}_name = ?", place
        )
        statement = text_of(made[0][0]) if made else ""
        collations = {} if is_view else duckdb_collations(statement)
        computed = {} if is_view else formulas(statement, "duckdb")
        written = {folded(str(column)): str(column) for column, _, _ in described}  # a constraint keeps its own case
        keys = [
            (kind, tuple(written.get(folded(column), column) for column in _names(columns)), parent, _names(ref))
            for kind, columns, parent, ref in constraints
        ]
        primary = next((columns for kind, columns, _, _ in keys if kind == "PRIMARY KEY"), ())
        indexes = self.execute(
            """SELECT sql FROM duckdb_indexes()
               WHERE is_unique AND database_name = ? AND schema_name = ? AND table_name = ? ORDER BY index_name""",
            place,
        )
        unique = [columns for kind, columns, _, _ in keys if kind == "UNIQUE"]
        indexed = (unique_key(text_of(index), "duckdb", written.values()) for (index,) in indexes)
        unique += [key.columns for key in indexed if key is not None and not key.condition]  # it has no partial ones
        return TableInfo(
            name,
            is_view,
            tuple(
                ColumnInfo(
                    str(column),
                    text_of(declared),
                    not nullable,
                    primary.index(str(column)) + 1 if str(column) in primary else 0,
                    collations.get(str(column), ""),
                    computed.get(str(column), ""),
                )
                for column, declared, nullable in described
            ),
            primary,
            tuple(dict.fromkeys(unique)),
            tuple(
                ForeignKeyInfo(columns, str(parent), ref)
                for kind, columns, parent, ref in keys
                if kind == "FOREIGN KEY"
            ),
            statement if is_view else "",
            () if is_view else checks(statement, "duckdb"),
            namespace="" if folded(schema) in TAKEN else schema,
        )


def _shadowed(schema: str, first: str, names: Sequence[str]) -> str:
    """Why tables of a schema are not read."""
    if len(names) == 1:
        return f"{schema}.{names[0]}: {first}.{names[0]} has the name already; left out, rename one of them"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{schema}: {', '.join(names[:3])}{more} have the names of tables in {first}; left out"


def _spelled_keys(keys: Sequence[ForeignKeyInfo], tables: Mapping[str, TableInfo]) -> tuple[ForeignKeyInfo, ...]:
    """DuckDB's keys with their parents as these write themselves; without those whose parent cannot be read."""
    return tuple(
        ForeignKeyInfo(key.columns, parent.name, ref_columns)
        for key in keys
        if (parent := tables.get(folded(key.ref_table))) and (ref_columns := parent.spelled(key.ref_columns))
    )


def _names(listed: Cell) -> tuple[str, ...]:
    """Column names of a list that the engine gave as JSON."""
    return tuple(json.loads(str(listed))) if listed is not None else ()
