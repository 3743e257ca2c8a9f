"""Pairs that are checked against a small database, in SQLite or in DuckDB."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import duckdb

Found = TypeVar("Found")


def checked(
    check: Callable[..., Found], folder: Path, engine: str, schema: str, asked: Iterable[tuple[str, str]]
) -> Found:
    """What `check` (`verify_pairs`, `audit_pairs`) finds in questions with SQL, on a database that `schema` makes."""
    if engine == "sqlite":
        with closing(sqlite3.connect(folder / "small.sqlite")) as connection:
            connection.executescript(schema)
    else:
        with duckdb.connect(folder / "small.duckdb") as database:
            database.execute(schema)
    rows = [{"db_id": "small", "question": question, "query": sql} for question, sql in asked]
    (folder / "pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    return check(folder / "pairs.json", folder, cache=folder / "cache", workers=1)
