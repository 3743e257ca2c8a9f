"""Trusted read-only connections, for the statements this project writes itself: profiles and samples.

SQL that was generated, or written by anyone else, runs in `agro_data.databases.hostile.sandbox` only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from agro_data.databases.errors import DatabaseError, discreet_line
from agro_data.databases.opening import settled
from agro_data.databases.schema.table_info import Connection
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.trusted.duckdb_connection import DuckdbConnection
from agro_data.databases.trusted.sqlite_connection import SqliteConnection
from agro_data.databases.types import Database


@contextmanager
def open_database(database: Database) -> Iterator[Connection]:
    """Open for reading; nothing is written at or beside the source, whatever its journal mode.

    Raises `DatabaseError` that names the database when it cannot be opened.
    """
    with ScratchFolder("read") as folder:
        try:
            connection = _open(replace(database, path=database.path.absolute()), Path(folder))
        except (OSError, sqlite3.Error, DatabaseError) as error:
            raise DatabaseError(f"{database.db_id}: cannot be opened: {discreet_line(error)}") from error
        with closing(connection):
            yield connection


def _open(database: Database, folder: Path) -> SqliteConnection | DuckdbConnection:
    if database.dialect == "sqlite":
        return SqliteConnection(replace(database, path=settled(database.path, database.layout, folder)))
    return DuckdbConnection(database, folder)
