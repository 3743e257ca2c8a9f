"""The schema of the proofs' fixtures, and the pairs in them."""

from __future__ import annotations

from pathlib import Path

from agro_data.populate.schema import Schema, read_ddl

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
DDL = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, age INTEGER);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), total REAL, day TEXT NOT NULL
);
"""


def shop() -> Schema:
    return read_ddl("shop", DDL)


def pairs(name: str) -> list[tuple[str, str, str]]:
    """(comment, one query, the other) of a fixture file."""
    found, comment, waiting = [], "", ""
    for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-- "):
            comment = line[3:]
        elif line and waiting:
            found.append((comment, waiting, line.rstrip(";")))
            waiting = ""
        elif line:
            waiting = line.rstrip(";")
    return found
