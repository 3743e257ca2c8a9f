"""Small databases for tests, built with the engines themselves."""

from __future__ import annotations

from pathlib import Path

import duckdb
from making import run_sqlite

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.schema.table_info import Connection, TableInfo
from agro_data.databases.types import Database, Layout

ROWS = "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL), (3, 'z')"

SHOP = """
CREATE TABLE customer(id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id));
CREATE TABLE line(sale_id INTEGER, number INTEGER, PRIMARY KEY (sale_id, number),
                  FOREIGN KEY (sale_id) REFERENCES sale(id));
CREATE VIEW buyer AS SELECT email FROM customer;
"""
ONE = "INSERT INTO customer VALUES (1, 'a@b.c');"


def sqlite_file(path: Path, script: str = ROWS) -> Path:
    return run_sqlite(path, script)


def duckdb_file(path: Path, script: str = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(path) as connection:
        connection.execute(script)
    return path


def csv_file(path: Path, text: str = "a,b\n1,x\n2,\n3,z\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def parquet_file(path: Path, query: str = "SELECT 1 AS a, 'x' AS b") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.sql(query).write_parquet(str(path))
    return path


def found(path: Path) -> Database:
    """The one database at `path`."""
    catalog = find_databases(path)
    (database,) = catalog.databases
    return database


def unchecked(path: Path, layout: Layout = "sqlite") -> Database:
    """A database that the catalog would not accept."""
    return Database(path.stem, "sqlite" if layout == "sqlite" else "duckdb", layout, path, "", path.name)


def tables(connection: Connection) -> dict[str, TableInfo]:
    """What a connection lists, by name."""
    return {table.name: table for table in connection.objects()}
