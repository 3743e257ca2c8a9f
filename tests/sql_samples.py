"""A schema and Spider's golds, for the tests of SQL facts and of the gate."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

SHOP = {
    "customer": {"id": "INTEGER", "name": "TEXT", "city": "TEXT", "born": "DATE"},
    "orders": {"id": "INTEGER", "customer_id": "INTEGER", "total": "REAL", "placed": "DATE", "note": "TEXT"},
    "item": {"order_id": "INTEGER", "product": "TEXT", "price": "REAL"},
}


def golds(shared_data: Path, name: str = "train") -> list[tuple[str, str]]:
    """(db_id, SQL) of a Spider split."""
    return [(row["db_id"], row["query"]) for row in json.loads((shared_data / f"spider/{name}.json").read_text())]


@cache
def spider_path(shared_data: Path, db_id: str) -> Path:
    return shared_data / "spider/database" / db_id / f"{db_id}.sqlite"


@cache
def spider_schema(shared_data: Path, db_id: str) -> dict[str, dict[str, str]]:
    uri = spider_path(shared_data, db_id).as_uri() + "?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
        return {
            name: {row[1]: row[2] for row in connection.execute(f'PRAGMA table_info("{name}")')} for (name,) in names
        }
