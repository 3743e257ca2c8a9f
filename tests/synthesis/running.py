"""What SQL gives on a database of a test."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def rows(database: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql).fetchall()


def answer(database: Path, sql: str) -> list[str]:
    """The rows as texts, in no order."""
    return sorted(map(repr, rows(database, sql)))
