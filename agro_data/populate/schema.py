"""A schema to be filled: tables, types, keys and foreign keys, read from plain DDL by SQLite itself."""

from __future__ import annotations

import random
import re
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from agro_data.databases.quoting import quoted
from agro_data.databases.schema.collations import sqlite_collations
from agro_data.databases.types import Cell
from agro_data.profiling.profile import ForeignKey, Kind, NullRule

Columns = dict[str, list[Cell]]
"""The rows of one table by column, in the table's column order; all lists have one length."""

Rows = dict[str, Columns]
"""The rows of every table of a schema."""


class PopulateError(ValueError):
    """A definition that cannot be filled. The message names the table, the column, and what to change."""


@dataclass(frozen=True)
class ColumnSpec:
    """A column as declared. `kind` is that of the values it is to hold; `typed`: it can hold no others; `collation`: by
    which its texts compare, where it is not byte by byte; `formula`: by which the engine computes it from other columns
    of its row; `form`: the regular expression that all its texts match (`profiling.columns.forms`); `structured`: they
    are objects and lists of JSON.
    """

    name: str
    declared_type: str
    kind: Kind
    nullable: bool = True
    typed: bool = False
    collation: str = ""
    formula: str = ""
    form: str = ""
    structured: bool = False

    @property
    def formed(self) -> bool:
        """Whether its texts have a form: a text that has not would stop functions that take them apart."""
        return bool(self.form or self.structured)


@dataclass(frozen=True)
class TableSpec:
    """A table as declared, without its foreign keys, which belong to the schema. `checks`: conditions that no row may
    fail (`databases.schema.checks`); `partial_keys`: columns of which no two rows that meet a condition have the same;
    `null_rules`: what states say of NULL.
    """

    name: str
    columns: tuple[ColumnSpec, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    checks: tuple[str, ...] = ()
    partial_keys: tuple[tuple[tuple[str, ...], str], ...] = ()
    null_rules: tuple[NullRule, ...] = ()
    namespace: str = ""  # the schema of a DuckDB file in which it stands, "" for `main`

    @property
    def place(self) -> str:
        """What statements call it."""
        return called(self.namespace, self.name)

    @cached_property
    def by_name(self) -> dict[str, ColumnSpec]:
        return {column.name: column for column in self.columns}

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Primary key and unique keys, each a tuple of column names."""
        return ((self.primary_key,) if self.primary_key else ()) + self.unique_keys

    @cached_property
    def _key_columns(self) -> frozenset[frozenset[str]]:
        return frozenset(map(frozenset, self.keys))

    def is_unique(self, columns: tuple[str, ...]) -> bool:
        return frozenset(columns) in self._key_columns


def called(namespace: str, name: str) -> str:
    """A table or view with the schema of a DuckDB file in which it stands."""
    return ".".join(map(quoted, filter(None, (namespace, name))))


@dataclass(frozen=True)
class ViewSpec:
    """A view: its rows are what `statement` makes of those of tables, and none are filled in."""

    name: str
    columns: tuple[str, ...]
    statement: str
    namespace: str = ""  # as of a table

    @property
    def place(self) -> str:
        """What statements call it."""
        return called(self.namespace, self.name)


@dataclass(frozen=True)
class Schema:
    """`ddl` is the text that makes the tables, in an order in which every engine accepts it; so do `views`, then.

    `bare_ddl` makes the same tables without keys, for a schema that was made of a profile.
    """

    name: str
    tables: tuple[TableSpec, ...]
    foreign_keys: tuple[ForeignKey, ...]
    ddl: str
    bare_ddl: str = ""
    views: tuple[ViewSpec, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, TableSpec]:
        return {table.name: table for table in self.tables}

    def keys_of(self, table: str) -> tuple[ForeignKey, ...]:
        """The foreign keys that leave `table`, in declared order."""
        return tuple(key for key in self.foreign_keys if key.table == table)


def stream(seed: int, *names: str) -> random.Random:
    """A random stream of its own for each name, so that a change to one column leaves the others as they were."""
    digest = sha256("\x1f".join((str(seed), *names)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def kind_of(declared_type: str) -> Kind:
    """Kind of the values a declared SQL type holds; a type nobody knows holds text."""
    name = re.split(r"[^A-Z0-9]", declared_type.upper(), maxsplit=1)[0]
    if "INT" in name or name == "BIGNUM":
        return "integer"
    if name.startswith("BOOL"):
        return "boolean"
    if name.startswith(("DATETIME", "TIMESTAMP")):
        return "datetime"
    if name == "DATE":
        return "date"
    if name == "TIME":
        return "time"
    if name.startswith(("REAL", "DOUBLE", "FLOAT", "DEC", "NUM")):
        return "real"
    return "blob" if name == "BLOB" else "text"


def read_ddl(name: str, ddl: str) -> Schema:
    """The schema that `ddl` declares, tables in the order of their CREATE statements.

    Raises `PopulateError` when SQLite refuses the DDL or a foreign key refers to a missing table.
    """
    con = sqlite3.connect(":memory:")
    try:
        con.executescript(ddl)
        names = [row[0] for row in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
        tables = tuple(_read_table(con, table) for table in names)
        keys = tuple(key for table in tables for key in _read_foreign_keys(con, table.name))
    except sqlite3.Error as error:
        raise PopulateError(f"{name}.sql: SQLite does not accept the DDL: {error}") from error
    finally:
        con.close()
    by_name = {table.name: table for table in tables}
    for key in keys:
        if key.ref_table not in by_name:
            raise PopulateError(f"{name}.sql: {key.table} refers to {key.ref_table}, which is not declared")
    keys = tuple(_complete(key, by_name[key.ref_table]) for key in keys)
    return Schema(name=name, tables=tables, foreign_keys=keys, ddl=ddl)


def _read_table(con: sqlite3.Connection, table: str) -> TableSpec:
    [(made,)] = con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
    collations = sqlite_collations(made)
    info = con.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)).fetchall()
    unique = []
    indexes = con.execute("SELECT name FROM pragma_index_list(?) WHERE origin = 'u' ORDER BY seq DESC", (table,))
    for (index,) in indexes.fetchall():
        unique.append(
            tuple(row[0] for row in con.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,)))
        )
    return TableSpec(
        name=table,
        columns=tuple(
            ColumnSpec(
                column,
                declared,
                kind_of(declared),
                nullable=not (notnull or pk),
                collation=collations.get(column, ""),
            )
            for column, declared, notnull, pk in info
        ),
        primary_key=tuple(row[0] for row in sorted((r for r in info if r[3]), key=lambda r: r[3])),
        unique_keys=tuple(unique),
    )


def _read_foreign_keys(con: sqlite3.Connection, table: str) -> list[ForeignKey]:
    found: dict[int, list[tuple[str, str, str]]] = {}
    query = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq'
    for number, ref_table, column, ref_column in con.execute(query, (table,)):
        found.setdefault(number, []).append((ref_table, column, ref_column))
    return [
        ForeignKey(table, tuple(p[1] for p in parts), parts[0][0], tuple(p[2] for p in parts))
        for parts in found.values()
    ]


def _complete(key: ForeignKey, parent: TableSpec) -> ForeignKey:
    """`REFERENCES t` without columns means the primary key of t."""
    if all(key.ref_columns):
        return key
    return ForeignKey(key.table, key.columns, key.ref_table, parent.primary_key)
