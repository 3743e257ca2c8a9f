"""The hash of what a DuckDB file holds: see `content.duckdb_hash`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.databases.opening import name_in_engine, open_duckdb
from agro_data.databases.quoting import quoted

if TYPE_CHECKING:
    import duckdb

OWN = "WHERE NOT internal AND database_name = ? ORDER BY ALL"
TABLES = f"SELECT schema_name, table_name, sql FROM duckdb_tables() {OWN}"
VIEWS = f"SELECT schema_name, view_name, sql FROM duckdb_views() {OWN}"
MACROS = f"SELECT schema_name, function_name, parameters::VARCHAR, macro_definition FROM duckdb_functions() {OWN}"
COLUMNS = f"SELECT schema_name, table_name, column_index, column_name, data_type FROM duckdb_columns() {OWN}"
LOW = "18446744073709551615::UHUGEINT"


def hash_of(path: Path, memory: str) -> str:
    """`content.duckdb_hash` of a settled file, computed in this process; `memory` is the engine's.

    Raises `duckdb.Error` and `DatabaseError`.
    """
    connection, *_ = open_duckdb(path, "duckdb", {"memory_limit": memory})
    with closing(connection):
        name = name_in_engine(path)
        return hash_in(connection, name, connection.execute(MACROS, [name]).fetchall())


def hash_in(connection: duckdb.DuckDBPyConnection, name: str, macros: Sequence[tuple[Any, ...]]) -> str:
    """The hash of what an engine calls `name`, given its macros as `MACROS` lists them. Raises `duckdb.Error`."""
    tables, views, columns = (connection.execute(sql, [name]).fetchall() for sql in (TABLES, VIEWS, COLUMNS))
    names: dict[tuple[str, str], list[str]] = {(schema, table): [] for schema, table, _ in tables}
    for schema, table, _, column, _ in columns:  # of views, too
        names.setdefault((schema, table), []).append(column)
    sums = [_rows_sum(connection, (name, schema, table), names[schema, table]) for schema, table, _ in tables]
    content = [tables, views, macros, columns, sums]
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def _rows_sum(
    connection: duckdb.DuckDBPyConnection, place: tuple[str, str, str], columns: Sequence[str]
) -> tuple[str, ...]:
    """Row count and the sums of the lower and upper halves of the rows' MD5: halves, so that no sum overflows."""
    row = ", ".join(_cell(f"{quoted(place[-1])}.{quoted(column)}") for column in columns)
    found = connection.execute(
        f"""SELECT count(*), coalesce(sum((half & {LOW})::UBIGINT), 0), coalesce(sum((half >> 64)::UBIGINT), 0)
            FROM (SELECT md5_number(concat({row})) AS half FROM {".".join(map(quoted, place))})"""
    ).fetchone()
    return tuple(str(figure) for figure in found or ())


def _cell(column: str) -> str:
    text = f"{column}::VARCHAR COLLATE C"  # texts of two collations cannot be joined
    return f"CASE WHEN {column} IS NULL THEN 'n' ELSE concat(strlen({text}), ':', {text}) END"
