"""A small market, in SQLite and in DuckDB, and the pairs that are asked of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duckdb

SCHEMA = """
CREATE TABLE stall (stall_id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT, opened INTEGER);
CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, stall_id INTEGER NOT NULL REFERENCES stall (stall_id),
                   amount REAL NOT NULL, day TEXT NOT NULL, note TEXT);
INSERT INTO stall VALUES (1, 'Pearson', 'York', 1990), (2, 'Okafor', 'Leeds', 2001), (3, 'Daan', 'york', 2001),
                         (4, 'Novak', 'Hull', 2010);
INSERT INTO sale VALUES (1, 1, 10.5, '2020-01-01', NULL), (2, 1, 20.0, '2020-01-02', NULL),
                        (3, 2, 20.0, '2020-01-02', NULL), (4, 2, 5.0, '2020-02-01', NULL),
                        (5, 3, 7.5, '2021-03-05', NULL);
"""


def sqlite_market(folder: Path) -> Path:
    place = folder / "market" / "market.sqlite"
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(SCHEMA)
    return folder


def duckdb_market(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(folder / "market.duckdb") as connection:
        connection.execute(SCHEMA)
    return folder


def write_pairs(file: Path, asked: Sequence[tuple[str, str]], split: str = "") -> Path:
    rows = [{"db_id": "market", "question": question, "query": sql, "split": split} for question, sql in asked]
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file
