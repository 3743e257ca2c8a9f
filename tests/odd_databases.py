"""Databases that nobody would write by hand: random tables, types, keys and values, each its seed's.

What hand-made databases never had is found with these: keys that are UUIDs, unique columns with no value left, a name
that the engine reserves, a column that is NULL throughout, a table with one row.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb

from agro_data.databases.quoting import quoted

NAMES = (
    *("customer", "Order", "group", "line item", "SalesRep", "2024 target", "überweisung", "tbl_stock", "user's note"),
    *("parent", "event", "measure", "VISIT", "part_of", "select", "invoice#", "person", "Land", "route", "shipment"),
)
COLUMNS = (
    *("name", "Code", "from", "total amount", "createdAt", "is_active", "Größe", "kind", "note", "price", "year"),
    *("limit", "start date", "lat", "%done", "desc", "status", "UnitCost", "a", "x1", "email", "when", "Rating"),
)
WORDS = (
    *("amber", "Basalt", "cedar", "O'Neil", "NULL", "", " padded ", "naïve", "50%", "a_b", "North West", "42", "1e3"),
    *("Delta", "echo", "true", "2021-03-04", "Zürich", "x;y", "tab\there", "-", "kilo", "Lima", "mike"),
)
DAY = date(2019, 3, 1)

Make = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """A type of column: what the engine calls it, and its values."""

    declared: str
    value: Make


@dataclass
class Column:
    """A column and its values, in the order of the rows."""

    name: str
    declared: str
    values: list[Any]
    rules: str = ""


@dataclass
class Table:
    """A table, its key (no columns: none) and its references."""

    name: str
    columns: list[Column]
    key: list[Column]
    references: list[str] = field(default_factory=list)

    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.values for column in self.columns), strict=True))


def _moment(rng: random.Random) -> datetime:
    return datetime(2020, 1, 1) + timedelta(minutes=rng.randrange(2_000_000))


def _uuid(rng: random.Random) -> UUID:
    return UUID(int=rng.getrandbits(128), version=4)


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _day(rng: random.Random) -> date:
    return DAY + timedelta(days=rng.randrange(1_500))


SQLITE = (
    Kind("INTEGER", lambda rng: rng.randrange(-5, 60)),
    Kind("INTEGER", lambda rng: rng.choice((0, 1))),
    Kind("INTEGER", lambda rng: rng.choice((0, 2**31, 2**53 + 1, -(2**62)))),
    Kind("BIGINT", lambda rng: 1_600_000_000 + rng.randrange(10**8)),
    Kind("REAL", lambda rng: round(rng.gauss(40, 30), 2)),
    Kind("REAL", lambda rng: rng.choice((0.1, 0.2, 0.30000000000000004, 1e-9, 1e12))),
    Kind("NUMERIC(10,2)", lambda rng: rng.randrange(10_000) / 100),
    Kind("TEXT", _word),
    Kind("VARCHAR(40)", lambda rng: f"{_word(rng)} {rng.randrange(900)}"),
    Kind("TEXT", lambda rng: rng.choice(("1", "10", "9", "3.5", "2"))),
    Kind("DATE", lambda rng: _day(rng).isoformat()),
    Kind("TEXT", lambda rng: _day(rng).strftime("%d/%m/%Y")),
    Kind("DATETIME", lambda rng: _moment(rng).isoformat(sep=" ")),
    Kind("BOOLEAN", lambda rng: rng.choice((0, 1))),
    Kind("BLOB", lambda rng: rng.randbytes(6)),
    Kind("", lambda rng: rng.choice((1, 2.5, "three", None, b"4"))),
    Kind("TEXT", lambda rng: str(_uuid(rng))),
    Kind("TEXT", lambda rng: json.dumps({"a": rng.randrange(9)})),
)
DUCKDB = (
    Kind("INTEGER", lambda rng: rng.randrange(-5, 60)),
    Kind("UTINYINT", lambda rng: rng.randrange(256)),
    Kind("HUGEINT", lambda rng: rng.randrange(2**70)),
    Kind("DOUBLE", lambda rng: round(rng.gauss(40, 30), 2)),
    Kind("DOUBLE", lambda rng: rng.choice((0.1, 0.2, float("inf"), float("nan"), 1e300))),
    Kind("FLOAT", lambda rng: round(rng.random(), 3)),
    Kind("DECIMAL(10,2)", lambda rng: rng.randrange(10_000) / 100),
    Kind("DECIMAL(30,6)", lambda rng: rng.randrange(10**6) / 1000),
    Kind("VARCHAR", _word),
    Kind("VARCHAR", lambda rng: f"{_word(rng)} {rng.randrange(900)}"),
    Kind("BOOLEAN", lambda rng: rng.random() < 0.4),
    Kind("DATE", _day),
    Kind("TIMESTAMP", _moment),
    Kind("TIMESTAMPTZ", lambda rng: _moment(rng).replace(tzinfo=UTC)),
    Kind("TIME", lambda rng: time(rng.randrange(24), rng.randrange(60))),
    Kind("INTERVAL", lambda rng: timedelta(days=rng.randrange(40), minutes=rng.randrange(90))),
    Kind("UUID", _uuid),
    Kind("ENUM ('low', 'mid', 'high')", lambda rng: rng.choice(("low", "mid", "high"))),
    Kind("BLOB", lambda rng: rng.randbytes(6)),
    Kind("INTEGER[]", lambda rng: [rng.randrange(5) for _ in range(rng.randrange(4))]),
    Kind("STRUCT(a INTEGER, b VARCHAR)", lambda rng: {"a": rng.randrange(5), "b": _word(rng)}),
    Kind("JSON", lambda rng: json.dumps({"a": rng.randrange(9)})),
)
KEYS = {  # values of a key, by the number of a row
    "INTEGER": lambda rng, n: n + 1,
    "BIGINT": lambda rng, n: 10_000 + 7 * n,
    "VARCHAR(12)": lambda rng, n: f"{'ABC'[n % 3]}-{n:03d}",
    "UUID": lambda rng, n: _uuid(rng),
    "DATE": lambda rng, n: DAY + timedelta(days=n),
}


def make_odd(path: Path, seed: int) -> Path:
    """Write the database of `seed` to `path`, a DuckDB file when its name ends so, else a SQLite file."""
    rng = random.Random(seed)
    duck = path.suffix == ".duckdb"
    tables: list[Table] = []
    for name in rng.sample(NAMES, rng.randrange(2, 7)):
        tables.append(_table(rng, name, tables, duck))
    with closing(duckdb.connect(path) if duck else sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for table in tables:
            connection.execute(_create(table))
            if rows := table.rows():  # DuckDB takes no empty list
                connection.executemany(_insert(table), rows)
        connection.execute("COMMIT")
    return path


def _table(rng: random.Random, name: str, before: list[Table], duck: bool) -> Table:
    rows = rng.choice((0, 1, 2, 7, 30, 30, 80, 80, 80, 200))
    if not before:
        rows = 60  # one table to ask about, whatever the others are
    free = iter(rng.sample(COLUMNS, len(COLUMNS)))
    key: list[Column] = []
    shape = rng.choice(("one", "one", "one", "two", "none"))
    if shape == "one":
        key = [_key(rng, next(free) + rng.choice(("", "_id", "ID")), rows, duck)]
    elif shape == "two":
        wide = 7
        key = [
            Column(next(free), "INTEGER", [n // wide for n in range(rows)]),
            Column(next(free), "VARCHAR(9)", [f"p{n % wide}" for n in range(rows)]),
        ]
    table = Table(name, list(key), key)
    parents = [parent for parent in before if parent.key and parent.key[0].values]
    for parent in rng.sample(parents, min(len(parents), rng.randrange(3))):
        _refer(rng, table, parent, rows)
    for _ in range(rng.randrange(1, 7)):
        table.columns.append(_column(rng, next(free), rng.choice(DUCKDB if duck else SQLITE), rows))
    return table


def _key(rng: random.Random, name: str, rows: int, duck: bool) -> Column:
    declared = rng.choice(list(KEYS))
    values = [KEYS[declared](rng, n) for n in range(rows)]
    if not duck and declared in ("UUID", "DATE"):
        return Column(name, "TEXT", [str(value) for value in values])
    return Column(name, declared, values)


def _refer(rng: random.Random, table: Table, parent: Table, rows: int) -> None:
    """Columns that hold keys of `parent`, one in ten NULL; declared or not."""
    taken = [rng.choice(range(len(parent.key[0].values))) if rng.random() < 0.9 else None for _ in range(rows)]
    columns = [
        Column(f"{parent.name}_{part.name}", part.declared, [None if n is None else part.values[n] for n in taken])
        for part in parent.key
    ]
    table.columns += columns
    if rng.random() < 0.75:
        here, there = (", ".join(quoted(c.name) for c in side) for side in (columns, parent.key))
        table.references.append(f"FOREIGN KEY ({here}) REFERENCES {quoted(parent.name)} ({there})")


def _column(rng: random.Random, name: str, kind: Kind, rows: int) -> Column:
    """Values of `kind`: all kinds of shares are NULL, and some columns have few values, or one."""
    nulls = rng.choice((0, 0, 0, 0.1, 0.5, 1))
    few = [kind.value(rng) for _ in range(rng.choice((1, 3, 8)))]
    draw = rng.choice((kind.value, kind.value, lambda rng: rng.choice(few)))
    values = [None if rng.random() < nulls else draw(rng) for _ in range(rows)]
    bounded = nulls == 0 and None not in values and rng.random() < 0.4
    return Column(name, kind.declared, values, " NOT NULL" if bounded else "")


def _create(table: Table) -> str:
    parts = [f"{quoted(c.name)} {c.declared}{c.rules}" for c in table.columns]
    if table.key:
        parts.append(f"PRIMARY KEY ({', '.join(quoted(c.name) for c in table.key)})")
    return f"CREATE TABLE {quoted(table.name)} ({', '.join([*parts, *table.references])})"


def _insert(table: Table) -> str:
    return f"INSERT INTO {quoted(table.name)} VALUES ({', '.join('?' for _ in table.columns)})"
