"""One small shop, in both engines, with the traps that verification is for."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import duckdb
from making import run_sqlite

from agro_data.databases.types import Database, Dialect

SCHEMA = {
    "customer": {"id": "INTEGER", "name": "TEXT", "city": "TEXT", "age": "INTEGER", "email": "TEXT"},
    "purchase": {"id": "INTEGER", "customer_id": "INTEGER", "total": "DOUBLE", "day": "TEXT"},
    "adult": {"id": "INTEGER", "name": "TEXT"},
}
# ages 30 and 41 occur twice, city "Oslo" three times; nobody has an email; Finn has bought nothing
CUSTOMERS = [
    (1, "Ada", "Oslo", 30, None),
    (2, "Bo", "Oslo", 41, None),
    (3, "Cy", "Rome", 30, None),
    (4, "Di", "Rome", 52, None),
    (5, "Ed", "Oslo", 19, None),
    (6, "Finn", "Bern", 41, None),
]
PURCHASES = [
    (1, 1, 10.0, "2024-01-02"),
    (2, 1, 30.5, "2024-02-02"),
    (3, 2, 20.25, "2024-02-05"),
    (4, 3, 7.75, "2024-03-01"),
    (5, 4, 99.0, "2024-03-09"),
    (6, 5, 15.0, "2024-04-11"),
    (7, 2, 1.1, "2024-05-01"),
]
TABLES = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, city TEXT {collate}, age INTEGER, email TEXT);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer_id INTEGER, total DOUBLE, day TEXT);
CREATE VIEW adult AS SELECT id, name FROM customer WHERE age >= 20;
"""


def shop(folder: Path, dialect: Dialect) -> Database:
    """The shop as a database file in `folder`."""
    path = folder / f"shop.{dialect}"
    script = TABLES.format(collate="COLLATE NOCASE" if dialect == "sqlite" else "")
    if dialect == "sqlite":
        run_sqlite(path, script, {"customer": CUSTOMERS, "purchase": PURCHASES})
    else:
        with duckdb.connect(path) as duck:
            duck.execute(script)
            duck.executemany("INSERT INTO customer VALUES (?, ?, ?, ?, ?)", CUSTOMERS)
            duck.executemany("INSERT INTO purchase VALUES (?, ?, ?, ?)", PURCHASES)
    return as_database(path, dialect)


def as_database(path: Path, dialect: Dialect) -> Database:
    digest = sha256(path.read_bytes()).hexdigest()
    return Database(path.stem, dialect, dialect, path, digest, path.name)
