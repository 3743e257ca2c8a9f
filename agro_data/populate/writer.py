"""Rows to a database file: written beside its place, checked, synced and renamed, so that no half file is ever seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from agro_data.databases.engine import attached, attaching
from agro_data.databases.errors import discreet_line
from agro_data.databases.quoting import quoted, quoted_list
from agro_data.databases.types import Cell
from agro_data.files import atomic_path
from agro_data.populate.schema import Columns, PopulateError, Rows, Schema, TableSpec

PAGE_SIZE = 4096
BLOCK_SIZE = 16_384  # the smallest that DuckDB has: small tables, small files
EXACT = 2**53  # up to here a 64-bit float has every whole number


def write_sqlite(schema: Schema, rows: Rows, path: Path) -> Path:
    """Write a SQLite file at `path`; the same schema and rows give the same bytes on one SQLite version.

    Dates are ISO text, booleans 0 and 1. Raises `PopulateError` with table and row where a constraint of the DDL or a
    foreign key does not hold; no value is quoted, since a source's may be among them.
    """

    def make(temporary: Path) -> None:
        con = sqlite3.connect(temporary, isolation_level=None)
        try:
            con.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            con.execute("PRAGMA journal_mode = OFF")
            con.execute("PRAGMA synchronous = OFF")
            con.executescript(schema.ddl)
            for view in schema.views:
                con.execute(view.statement)
            con.execute("BEGIN")
            for table, columns in rows.items():
                _insert_sqlite(con, schema.name, table, _stored(columns, schema.by_name[table]))
            con.execute("COMMIT")
            broken = con.execute("PRAGMA foreign_key_check").fetchone()
            if broken:
                raise PopulateError(f"{schema.name}: row {broken[1]} of {broken[0]} has no parent in {broken[2]}")
            con.execute("VACUUM")
        finally:
            con.close()

    return _replace(path, make)


def write_duckdb(schema: Schema, rows: Rows, path: Path, *, bare: bool = False) -> Path:
    """Write a DuckDB file at `path`; the same schema and rows give the same content (not the same bytes).

    Values are cast to the declared types: ISO text to DATE and TIMESTAMP, numbers to DECIMAL, 0 and 1 to BOOLEAN. A
    `bare` file declares no keys, though the rows keep them: the index of each takes a block, which is two thirds of a
    small file. Raises `PopulateError` with the table where a constraint does not hold.
    """

    def make(temporary: Path) -> None:
        with attached(temporary, f"(BLOCK_SIZE {BLOCK_SIZE})") as con:
            if bare:
                _fill_bare(con, schema, rows)
            else:
                con.execute(schema.ddl)
                _fill_duckdb(con, schema, rows)
            for view in schema.views:
                con.execute(view.statement)
            con.execute("CHECKPOINT")

    return _replace(path, make)


def _fill_bare(con: duckdb.DuckDBPyConnection, schema: Schema, rows: Rows) -> None:
    """Rows go through tables with keys in memory, which refuse what breaks them."""
    ((file,),) = con.execute("SELECT current_database()").fetchall()
    with attaching(con, ":memory:") as checked:
        con.execute(f"USE {checked}")
        con.execute(schema.ddl)
        _fill_duckdb(con, schema, rows)
        con.execute(f"USE {file}")
        con.execute(schema.bare_ddl)
        for table, columns in rows.items():
            names = quoted_list(_stored(columns, schema.by_name[table]))
            place = schema.by_name[table].place
            con.execute(f"INSERT INTO {place} ({names}) SELECT {names} FROM {checked}.{place}")
    con.execute(f"USE {file}")


def _fill_duckdb(con: duckdb.DuckDBPyConnection, schema: Schema, rows: Rows) -> None:
    for table, columns in rows.items():
        _insert_duckdb(con, schema, table, _stored(columns, schema.by_name[table]))


def _stored(columns: Columns, table: TableSpec) -> Columns:
    """Without the columns that the engine computes."""
    return {name: values for name, values in columns.items() if not table.by_name[name].formula}


def _insert_sqlite(con: sqlite3.Connection, name: str, table: str, columns: Columns) -> None:
    marks = ", ".join("?" for _ in columns)
    statement = f"INSERT INTO {quoted(table)} ({quoted_list(columns)}) VALUES ({marks})"
    lines = list(zip(*columns.values(), strict=True))
    done = con.total_changes
    try:
        con.executemany(statement, lines)
    except sqlite3.Error as error:
        row = con.total_changes - done
        raise PopulateError(f"{name}: row {row + 1} of {table}: {discreet_line(error)}") from error


def _insert_duckdb(con: duckdb.DuckDBPyConnection, schema: Schema, table: str, columns: Columns) -> None:
    spec = schema.by_name[table]
    names = [quoted(name) for name in columns]
    cast = ", ".join(f"CAST({quoted(n)} AS {spec.by_name[n].declared_type or 'VARCHAR'})" for n in columns)
    rows = ", ".join(f"unnest(?) AS {name}" for name in names)  # half the time of a frame's where rows are few
    statement = f"INSERT INTO {spec.place} ({', '.join(names)}) SELECT {cast} FROM (SELECT {rows})"
    try:
        con.execute(statement, [_carried(values) for values in columns.values()])
    except duckdb.Error as error:
        raise PopulateError(f"{schema.name}: {table}: {discreet_line(error)}") from error


def _carried(values: Sequence[Cell]) -> list[Cell]:
    """A column in one type, to the last digit: whole numbers, reals, or text, which the INSERT casts."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in known):
        kind: Callable[[Any], Cell] = int
    elif all(isinstance(value, int | float) and abs(value) <= EXACT for value in known):
        kind = float
    else:
        kind = _spelled
    return [None if value is None else kind(value) for value in values]


def _spelled(value: Cell) -> str:
    """The number as text that a cast reads as the same number: with an exponent a long number would lose digits."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _replace(path: Path, make: Callable[[Path], None]) -> Path:
    """`make` writes a temporary file beside `path`, which then takes the name in one step."""
    with atomic_path(path) as temporary:
        temporary.unlink()  # an engine makes its files itself
        try:
            make(temporary)
        finally:
            temporary.with_name(temporary.name + ".wal").unlink(missing_ok=True)
    return path
