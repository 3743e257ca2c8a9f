"""Databases of a few tables: a script of SQLite, files of CSV, texts that nobody looked at when they were imported."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database


def sqlite_database(path: Path, script: str, **sides: Path) -> Database:
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Database(path.stem, "sqlite", "sqlite", path, digest, path.name, **sides)


def csv_database(folder: Path, **tables: str) -> Database:
    """A folder of CSV files, their lines parted by blanks."""
    folder.mkdir()
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines.split()) + "\n")
    return find_databases(folder).databases[0]


def texts_database(path: Path, table: str, columns: str, rows: Iterable[str]) -> Database:
    """A database of one table of texts, as a CSV is imported that is not looked at."""
    made = ", ".join(f"{column} TEXT" for column in columns.split(","))
    values = ", ".join("(" + ", ".join(f"'{cell}'" for cell in row.split(",")) + ")" for row in rows)
    return sqlite_database(path, f"CREATE TABLE {table} ({made}); INSERT INTO {table} VALUES {values};")
