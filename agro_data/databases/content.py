"""Content hashes: the identity of what a database holds.

A SQLite file and a folder of data files are hashed by their bytes. DuckDB lays the same rows out differently at every
write, so a DuckDB file is hashed by what can be asked of it: the definitions of its tables, views, macros and types,
and for each table its number of rows and the sum of the rows' MD5, which no order of rows changes. The sums are
computed inside DuckDB, streamed, at a few hundred thousand rows a second and core.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agro_data.databases.data_files import data_files
from agro_data.databases.opening import (
    DatabaseError,
    first_line,
    literal,
    open_duckdb,
    quoted,
    settled,
    with_sides,
)
from agro_data.databases.types import Database, Dialect, Layout

if TYPE_CHECKING:
    import duckdb

DEFINITIONS = (
    "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE NOT internal ORDER BY ALL",
    "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
    """SELECT schema_name, function_name, parameters::VARCHAR, macro_definition FROM duckdb_functions()
       WHERE NOT internal ORDER BY ALL""",
    """SELECT schema_name, table_name, column_index, column_name, data_type FROM duckdb_columns()
       WHERE NOT internal ORDER BY ALL""",
)
LOW = "18446744073709551615::UHUGEINT"


def content_hash(path: Path, layout: Layout) -> str:
    """SHA-256 (hex) of the content of a database.

    SQLite: of the file's bytes, followed by those of its log or journal where it has one. A folder: of each data
    file's path in it, a zero byte and the SHA-256 of its bytes, in the order of paths. DuckDB: see `duckdb_hash`.
    Raises `OSError` or `DatabaseError` when something cannot be read.
    """
    if layout == "duckdb":
        return duckdb_hash(path)
    digest = hashlib.sha256()
    if layout == "files":
        files = {file.relative_to(path).as_posix(): file for file in data_files(path)}
        for name, file in sorted(files.items()):
            with file.open("rb") as stream:
                digest.update(os.fsencode(name) + b"\0" + hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()
    for file in with_sides(path, layout):
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                digest.update(block)
    return digest.hexdigest()


def instance_at(source: Database, path: Path) -> Database:
    """The augmented database of `source` in a file `<name>.sqlite` or `<name>.duckdb`: its id, none of its side files.

    Raises like `content_hash`.
    """
    dialect: Dialect = "duckdb" if path.suffix == ".duckdb" else "sqlite"
    return replace(
        source,
        dialect=dialect,
        layout=dialect,
        path=path,
        content_hash=content_hash(path, dialect),
        relative_path=f"{source.db_id}/{path.name}",
        spider_tables=None,
        descriptions=None,
        semantics=None,
        dbt_manifest=None,
    )


def duckdb_hash(path: Path) -> str:
    """SHA-256 (hex) over the definitions and, per table, row count and sum of row hashes, as JSON.

    A row is the text of its cells, each with its length before it, so that no two rows share a text. Indexes, comments
    and the order of rows are no content: no answer may depend on them. Raises `DatabaseError`.
    """
    import duckdb  # noqa: PLC0415

    try:
        with tempfile.TemporaryDirectory(prefix="agro-hash-") as folder:
            whole = settled(path.absolute(), "duckdb", Path(folder))
            connection, _ = open_duckdb(whole, "duckdb", {"memory_limit": "1GiB"})
            with closing(connection):
                content = [connection.execute(sql).fetchall() for sql in DEFINITIONS]
                tables = [(schema, table) for schema, table, _ in content[0]]
                content.append([_rows_sum(connection, schema, table) for schema, table in tables])
    except duckdb.Error as error:
        raise DatabaseError(f"{path.name}: its content cannot be read: {first_line(error)}") from error
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def _rows_sum(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> tuple[str, ...]:
    """Row count and the sums of the lower and upper halves of the rows' MD5: halves, so that no sum overflows."""
    names = connection.execute(
        f"""SELECT column_name FROM duckdb_columns()
            WHERE schema_name = {literal(schema)} AND table_name = {literal(table)} ORDER BY column_index"""
    ).fetchall()
    row = ", ".join(_cell(f"{quoted(table)}.{quoted(name)}") for (name,) in names)
    found = connection.execute(
        f"""SELECT count(*), coalesce(sum((half & {LOW})::UBIGINT), 0), coalesce(sum((half >> 64)::UBIGINT), 0)
            FROM (SELECT md5_number(concat({row})) AS half FROM {quoted(schema)}.{quoted(table)})"""
    ).fetchone()
    return tuple(str(figure) for figure in found or ())


def _cell(column: str) -> str:
    return f"CASE WHEN {column} IS NULL THEN 'n' ELSE concat(strlen({column}::VARCHAR), ':', {column}::VARCHAR) END"
