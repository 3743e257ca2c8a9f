"""What is asked of an engine, and what it tells of tables and views.

The seam. All that the rest asks of an engine is what `Connection` has: `dialect`, `execute` with positional
parameters that gives rows of `Cell`s, `objects` that lists tables and views with their keys, and `problems`.
A PostgreSQL server is no engine here: its tables are copied into a file (`agro_data.snapshot`), which has a
content hash, stays as it is while a corpus points to it, and on which generated SQL can do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agro_data.databases.quoting import folded
from agro_data.databases.schema.unique_indexes import UniqueKey
from agro_data.databases.types import Cell, Dialect

Row = tuple[Cell, ...]
SECONDS = 120.0  # for one statement of ours: a view of the database can run without end


@dataclass(frozen=True)
class ColumnInfo:
    """`primary_key_position` counts from 1; 0 is no part of the primary key. `collation`: by which its texts compare
    where it is not byte by byte; views tell none. `formula`: by which it follows from other columns of its row.
    """

    name: str
    declared_type: str
    not_null: bool = False
    primary_key_position: int = 0
    collation: str = ""
    formula: str = ""


@dataclass(frozen=True)
class ForeignKeyInfo:
    """`columns` refer to `ref_columns` of `ref_table`, pair by pair, all named as their tables name them."""

    columns: tuple[str, ...]
    ref_table: str
    ref_columns: tuple[str, ...]


@dataclass(frozen=True)
class TableInfo:
    """A table or view as the engine declares it; `unique_keys` without primary key, `partial_keys` those that only rows
    that meet a condition have, `definition` the statement that makes a view, `checks` what CHECK constraints say, as
    far as it is plain, `namespace` the schema of a DuckDB file with which queries may call it, "" for `main` and for
    those that every engine has.
    """

    name: str
    is_view: bool
    columns: tuple[ColumnInfo, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKeyInfo, ...] = ()
    definition: str = ""
    checks: tuple[str, ...] = ()
    partial_keys: tuple[UniqueKey, ...] = ()
    namespace: str = ""

    def spelled(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """Columns as the table writes them (engines ignore ASCII case), or None if it lacks one."""
        written = {folded(column.name): column.name for column in self.columns}
        found = [written.get(folded(name)) for name in names]
        return None if None in found else tuple(name for name in found if name is not None)


class Connection(Protocol):
    """The operations that every engine offers. `problems` grows as something of the database turns out not to be
    usable; `faults` are those by which a table or view cannot be read; `unread` are data files that are no table, which
    the catalog tells as left out.
    """

    dialect: Dialect
    problems: list[str]
    faults: list[str]
    unread: list[str]

    def execute(self, sql: str, parameters: Sequence[Cell] = (), limit: int | None = None) -> list[Row]:
        """All rows, or the first `limit`. Raises `DatabaseError` that names the database, also after `SECONDS`."""

    def objects(self) -> list[TableInfo]:
        """Tables, then views, each by name; engine-internal ones and those that cannot be read left out."""


def text_of(value: Cell) -> str:
    """A name or statement that the engine tells; "" for NULL."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
