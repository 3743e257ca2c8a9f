"""The schema of the proofs' fixtures, databases of it, and the pairs in them."""

from __future__ import annotations

import random
import sqlite3
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


def filled(seed: int) -> sqlite3.Connection:
    """A small shop full of repetition, NULL where it may be, parents without children."""
    chance = random.Random(seed)
    connection = sqlite3.connect(":memory:")
    connection.executescript(DDL)
    customers = [
        (number, chance.choice("xyab"), chance.choice(["x", "y", "a", None]), chance.choice([1, 2, 3, 5, 6, None]))
        for number in range(1, chance.randint(1, 7))
    ]
    purchases = [
        (number, chance.choice(customers)[0], chance.choice([1.0, 3.0, 4.5, None]), chance.choice(["a", "b"]))
        for number in range(1, chance.randint(1, 9) if customers else 1)
    ]
    connection.executemany("INSERT INTO customer VALUES (?, ?, ?, ?)", customers)
    connection.executemany("INSERT INTO purchase VALUES (?, ?, ?, ?)", purchases)
    return connection


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
