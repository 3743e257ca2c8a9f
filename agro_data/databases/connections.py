"""Trusted read-only connections, for the statements this project writes itself: profiles and samples.

SQL that was generated, or written by anyone else, runs in `agro_data.databases.sandbox` only.

The seam. All that the rest asks of an engine is what `Connection` has: `dialect`, `execute` with positional
parameters that gives rows of `Cell`s, `objects` that lists tables and views with their keys, and `problems`.
A PostgreSQL server is no engine here: its tables are copied into a file (`agro_data.snapshot`), which has a
content hash, stays as it is while a corpus points to it, and on which generated SQL can do no harm.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Protocol

from agro_data.databases.apart import LATE, Engine, EngineCrashed
from agro_data.databases.cells import decode_text, is_undecodable
from agro_data.databases.checks import checks
from agro_data.databases.collations import duckdb_collations, sqlite_collations
from agro_data.databases.computed import formulas
from agro_data.databases.data_files import data_tables
from agro_data.databases.errors import DatabaseError, discreet_line
from agro_data.databases.opening import (
    BUILT_IN,
    LONGEST,
    SHORT,
    TAKEN,
    bound_values,
    names_any,
    open_sqlite,
    precedence,
    settled,
    slow_functions,
)
from agro_data.databases.quoting import folded, literal, quoted
from agro_data.databases.scratch import ScratchFolder
from agro_data.databases.types import Cell, Database, Dialect
from agro_data.databases.unique_indexes import UniqueKey, unique_key

Row = tuple[Cell, ...]

SECONDS = 120.0  # for one statement of ours: a view of the database can run without end
PROGRESS_STEPS = 100_000  # of SQLite's virtual machine, between two looks at the clock
HEAP = 2 * 2**30  # bytes of memory for all of SQLite in this process: a view can sort without end, too


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


@contextmanager
def open_database(database: Database) -> Iterator[Connection]:
    """Open for reading; nothing is written at or beside the source, whatever its journal mode.

    Raises `DatabaseError` that names the database when it cannot be opened.
    """
    with ScratchFolder("read") as folder:
        try:
            connection = _open(replace(database, path=database.path.absolute()), Path(folder))
        except (OSError, sqlite3.Error, DatabaseError) as error:
            raise DatabaseError(f"{database.db_id}: cannot be opened: {discreet_line(error)}") from error
        with closing(connection):
            yield connection


def _open(database: Database, folder: Path) -> SqliteConnection | DuckdbConnection:
    if database.dialect == "sqlite":
        return SqliteConnection(replace(database, path=settled(database.path, database.layout, folder)))
    return DuckdbConnection(database, folder)


class SqliteConnection:
    """A SQLite file."""

    dialect: Dialect = "sqlite"

    def __init__(self, database: Database) -> None:
        self.problems: list[str] = []
        self.faults: list[str] = []
        self.unread: list[str] = []
        self._db_id = database.db_id
        self._connection = open_sqlite(database.path)
        self._connection.execute(f"PRAGMA hard_heap_limit={HEAP}")
        self._slow: frozenset[str] | None = None  # functions; whether the schema names one is found out with them
        self._schema_is_slow = True
        self._deadline = 0.0
        self._connection.set_progress_handler(lambda: monotonic() > self._deadline, PROGRESS_STEPS)

    def close(self) -> None:
        self._connection.close()

    def execute(self, sql: str, parameters: Sequence[Cell] = (), limit: int | None = None) -> list[Row]:
        with self._named():
            try:
                return self._fetch(sql, parameters, limit)
            except sqlite3.Error as error:
                if not is_undecodable(error):
                    raise
                self._connection.text_factory = decode_text
                return self._fetch(sql, parameters, limit)

    def stream(self, sql: str) -> Iterator[Row]:
        """The rows one by one, for a table that memory may not hold; nothing else is executed meanwhile.

        Of the time only what SQLite takes counts. Raises like `execute`.
        """
        self._connection.text_factory = decode_text
        with self._named():
            self._bound(sql)
            with closing(self._connection.cursor()) as cursor:
                self._deadline = monotonic() + SECONDS
                row = cursor.execute(sql).fetchone()
                while row is not None:
                    given = monotonic()
                    yield row
                    self._deadline += monotonic() - given
                    row = cursor.fetchone()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of SQLite become one that names the database."""
        try:
            yield
        except sqlite3.Error as error:
            raise DatabaseError(f"{self._db_id}: {self._why(error)}") from error
        except MemoryError as error:
            raise DatabaseError(f"{self._db_id}: a statement takes too much memory, as of a view that sorts") from error

    def _why(self, error: sqlite3.Error) -> str:
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_INTERRUPT:
            return LATE
        if code != sqlite3.SQLITE_TOOBIG:
            return discreet_line(error)
        if self._connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) == LONGEST:
            return f"a value or row of more than {LONGEST // 2**20} MiB, which is not read"
        return (
            f"a value of more than {SHORT // 2**10} KiB where functions are called that may take hours with longer ones"
        )

    def _bound(self, sql: str, parameters: int = 0) -> None:
        """`bound_values`, which prepares a statement once more, unless neither this one nor the schema names a function
        that could need it: most of ours do not, and few schemas."""
        if self._slow is None:
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            slow = slow_functions(self._connection)
            schema = self._connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            self._slow, self._schema_is_slow = slow, any(names_any(text, slow) for (text,) in schema)
        if self._schema_is_slow or names_any(sql, self._slow):
            bound_values(self._connection, sql, parameters)
        else:
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)

    def _fetch(self, sql: str, parameters: Sequence[Cell], limit: int | None) -> list[Row]:
        self._deadline = monotonic() + SECONDS
        self._bound(sql, len(parameters))
        with closing(self._connection.execute(sql, tuple(parameters))) as cursor:
            return cursor.fetchall() if limit is None else cursor.fetchmany(limit)

    def objects(self) -> list[TableInfo]:
        listed = self.execute(
            "SELECT name, type FROM pragma_table_list WHERE schema = 'main' ORDER BY type = 'view', name"
        )
        tables: list[TableInfo] = []
        faults: list[str] = []
        for name, kind in listed:
            if isinstance(name, bytes):
                faults.append(f"{_text(kind)} {name!r}: its name is not valid UTF-8; left out")
            elif not str(name).startswith("sqlite_") and kind != "shadow":
                try:
                    tables.append(self._table(str(name), kind == "view"))
                except DatabaseError as error:
                    faults.append(f"{_text(kind)} {name!r}: cannot be read, left out: {error}")
        self.faults += faults
        self.problems += faults
        return [replace(table, foreign_keys=self._foreign_keys(table, tables)) for table in tables]

    def _table(self, name: str, is_view: bool) -> TableInfo:
        at = literal(name)
        listed = self.execute(f'SELECT name, type, "notnull", pk FROM pragma_table_xinfo({at}) WHERE hidden <> 1')
        if not listed:  # the table-valued form says nothing of a broken view; the view itself does
            self.execute(f"SELECT 1 FROM {quoted(name)}", limit=1)
            raise DatabaseError(f"{self._db_id}: no columns")
        if unreadable := [column for column, *_ in listed if isinstance(column, bytes)]:
            raise DatabaseError(f"{self._db_id}: a column name is not valid UTF-8: {unreadable[0]!r}")
        made = self.execute("SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?", (name,))
        statement = _text(made[0][0]) if made else ""
        collations = {} if is_view else sqlite_collations(statement)
        computed = {} if is_view else formulas(statement, "sqlite")
        columns = tuple(
            ColumnInfo(
                str(column),
                _text(declared),
                bool(not_null),
                int(position or 0),
                collations.get(str(column), ""),
                computed.get(str(column), ""),
            )
            for column, declared, not_null, position in listed
        )
        self.execute(f"SELECT 1 FROM {quoted(name)}", limit=1)
        if is_view:
            return TableInfo(name, is_view, columns, definition=statement)
        keys = self._unique_keys(at, [column.name for column in columns])
        whole = tuple(dict.fromkeys(key.columns for key in keys if not key.condition))
        partial = tuple(key for key in keys if key.condition)
        said = checks(statement, "sqlite")
        return TableInfo(name, is_view, columns, _primary_key(columns), whole, checks=said, partial_keys=partial)

    def _unique_keys(self, at: str, columns: Sequence[str]) -> list[UniqueKey]:
        indexes = self.execute(
            f"""SELECT name, sql, partial FROM pragma_index_list({at}) JOIN sqlite_master USING (name)
                WHERE "unique" AND origin <> 'pk' ORDER BY name"""
        )
        keys: list[UniqueKey | None] = []
        for index, made, partial in indexes:
            listed = [
                key for (key,) in self.execute(f"SELECT name FROM pragma_index_info({literal(index)}) ORDER BY seqno")
            ]
            plain = None not in listed and not partial  # an expression has no name
            keys.append(UniqueKey(tuple(map(str, listed))) if plain else unique_key(_text(made), "sqlite", columns))
        return [key for key in keys if key is not None]

    def _foreign_keys(self, table: TableInfo, tables: list[TableInfo]) -> tuple[ForeignKeyInfo, ...]:
        by_name = {folded(other.name): other for other in tables}
        listed = self.execute(
            f"""SELECT id, "table", "from", "to" FROM pragma_foreign_key_list({literal(table.name)})
                ORDER BY id DESC, seq"""
        )
        grouped: dict[Cell, list[Row]] = {}
        for key, *rest in listed:
            grouped.setdefault(key, []).append(tuple(rest))
        found: list[ForeignKeyInfo] = []
        for pairs in grouped.values():
            parent_name = _text(pairs[0][0])
            parent = by_name.get(folded(parent_name))
            if parent is None:
                self._ignore(table, f"refers to table {parent_name!r}, which does not exist")
                continue
            columns = _named(table, [_text(column) for _, column, _ in pairs])
            written = [column for _, _, column in pairs]
            ref_columns = (
                parent.primary_key if None in written else _named(parent, [_text(column) for column in written])
            )
            if columns is None or not ref_columns or len(columns) != len(ref_columns):
                self._ignore(table, f"refers to columns of {parent.name!r} that do not exist or are no key")
                continue
            found.append(ForeignKeyInfo(columns, parent.name, ref_columns))
        return tuple(found)

    def _ignore(self, table: TableInfo, why: str) -> None:
        self.problems.append(f"table {table.name!r}: a foreign key {why}; the key is ignored")


class DuckdbConnection:
    """A DuckDB file, or a folder of Parquet and CSV files. Tables of all schemas are called by their bare names; where
    two have one name, the first in the search path (`opening.look_in_all_schemas`) is the one that is read."""

    dialect: Dialect = "duckdb"

    def __init__(self, database: Database, folder: Path) -> None:
        self._db_id = database.db_id
        self._files = {table.name for table in data_tables(database.path)} if database.layout == "files" else set()
        self._engine = Engine(database.path, database.layout, SECONDS, folder)
        self.unread, self.problems = self._engine.unread, self._engine.remarks
        self.faults: list[str] = []
        self._catalog = self._engine.name if database.layout == "duckdb" else "memory"

    def close(self) -> None:
        self._engine.close()

    def execute(self, sql: str, parameters: Sequence[Cell] = (), limit: int | None = None) -> list[Row]:
        try:
            return self._engine.execute(sql, parameters, limit)
        except DatabaseError as error:
            raise type(error)(f"{self._db_id}: {error}") from error
        except OSError as error:  # it had to be opened again
            raise DatabaseError(f"{self._db_id}: {discreet_line(error)}") from error

    def objects(self) -> list[TableInfo]:
        listed = self.execute(
            """SELECT table_name AS name, false AS is_view, schema_name
               FROM duckdb_tables() WHERE NOT internal AND database_name = $1
               UNION ALL
               SELECT view_name, true, schema_name FROM duckdb_views() WHERE NOT internal AND database_name = $1
               ORDER BY is_view, name""",
            (self._catalog,),
        )
        found = [(str(name), bool(is_view), str(schema)) for name, is_view, schema in listed]
        taken = {name: ".".join(BUILT_IN) for name in self._built_in()}  # the schema whose table has a name
        by_schema: dict[str, list[TableInfo]] = {}
        shadowed: dict[tuple[str, str], list[str]] = {}
        faults: list[str] = []
        for name, is_view, schema in sorted(found, key=lambda one: precedence(one[2])):
            if (first := taken.setdefault(folded(name), schema)) != schema:
                shadowed.setdefault((schema, first), []).append(name)
                continue
            try:
                table = self._table(schema, name, is_view and name not in self._files)
                by_schema.setdefault(schema, []).append(table)
            except EngineCrashed:
                raise
            except DatabaseError as error:
                faults.append(f"{'view' if is_view else 'table'} {name!r}: cannot be read, left out: {error}")
        self.faults += faults
        self.problems += faults
        self.problems += [_shadowed(*place, names) for place, names in shadowed.items()]
        tables: list[TableInfo] = []
        for each in by_schema.values():  # a key refers to a table of its own schema
            spelled = {folded(table.name): table for table in each}
            tables += [replace(table, foreign_keys=_spelled_keys(table.foreign_keys, spelled)) for table in each]
        return sorted(tables, key=lambda table: (table.is_view, table.name))

    def _built_in(self) -> list[str]:
        """Views of DuckDB's own that a bare name means, whatever a file calls its tables."""
        if self._catalog == "memory":  # a folder, whose tables come first
            return []
        listed = self.execute(
            "SELECT view_name FROM duckdb_views() WHERE internal AND database_name = ? AND schema_name = ?", BUILT_IN
        )
        return [folded(str(name)) for (name,) in listed]

    def _table(self, schema: str, name: str, is_view: bool) -> TableInfo:
        place = (self._catalog, schema, name)  # a schema may be called as the file is, a table as one of DuckDB's views
        self.execute(f"SELECT 1 FROM {'.'.join(map(quoted, place))}", limit=1)
        constraints = self.execute(
            """SELECT constraint_type, to_json(constraint_column_names), referenced_table,
                      to_json(referenced_column_names)
               FROM duckdb_constraints() WHERE database_name = ? AND schema_name = ? AND table_name = ?
               ORDER BY constraint_index""",
            place,
        )
        described = self.execute(
            """SELECT column_name, data_type, is_nullable FROM duckdb_columns()
               WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index""",
            place,
        )
        kind = "view" if is_view else "table"
        made = self.execute(
            f"SELECT sql FROM duckdb_{kind}s() WHERE database_name = ? AND schema_name = ? AND {kind}_name = ?", place
        )
        statement = _text(made[0][0]) if made else ""
        collations = {} if is_view else duckdb_collations(statement)
        computed = {} if is_view else formulas(statement, "duckdb")
        written = {folded(str(column)): str(column) for column, _, _ in described}  # a constraint keeps its own case
        keys = [
            (kind, tuple(written.get(folded(column), column) for column in _names(columns)), parent, _names(ref))
            for kind, columns, parent, ref in constraints
        ]
        primary = next((columns for kind, columns, _, _ in keys if kind == "PRIMARY KEY"), ())
        indexes = self.execute(
            """SELECT sql FROM duckdb_indexes()
               WHERE is_unique AND database_name = ? AND schema_name = ? AND table_name = ? ORDER BY index_name""",
            place,
        )
        unique = [columns for kind, columns, _, _ in keys if kind == "UNIQUE"]
        indexed = (unique_key(_text(index), "duckdb", written.values()) for (index,) in indexes)
        unique += [key.columns for key in indexed if key is not None and not key.condition]  # it has no partial ones
        return TableInfo(
            name,
            is_view,
            tuple(
                ColumnInfo(
                    str(column),
                    _text(declared),
                    not nullable,
                    primary.index(str(column)) + 1 if str(column) in primary else 0,
                    collations.get(str(column), ""),
                    computed.get(str(column), ""),
                )
                for column, declared, nullable in described
            ),
            primary,
            tuple(dict.fromkeys(unique)),
            tuple(
                ForeignKeyInfo(columns, str(parent), ref)
                for kind, columns, parent, ref in keys
                if kind == "FOREIGN KEY"
            ),
            statement if is_view else "",
            () if is_view else checks(statement, "duckdb"),
            namespace="" if folded(schema) in TAKEN else schema,
        )


def _shadowed(schema: str, first: str, names: Sequence[str]) -> str:
    """Why tables of a schema are not read."""
    if len(names) == 1:
        return f"{schema}.{names[0]}: {first}.{names[0]} has the name already; left out, rename one of them"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{schema}: {', '.join(names[:3])}{more} have the names of tables in {first}; left out"


def _spelled_keys(keys: Sequence[ForeignKeyInfo], tables: Mapping[str, TableInfo]) -> tuple[ForeignKeyInfo, ...]:
    """DuckDB's keys with their parents as these write themselves; without those whose parent cannot be read."""
    return tuple(
        ForeignKeyInfo(key.columns, parent.name, ref_columns)
        for key in keys
        if (parent := tables.get(folded(key.ref_table))) and (ref_columns := _named(parent, key.ref_columns))
    )


def _names(listed: Cell) -> tuple[str, ...]:
    """Column names of a list that the engine gave as JSON."""
    return tuple(json.loads(str(listed))) if listed is not None else ()


def _text(value: Cell) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")


def _primary_key(columns: Sequence[ColumnInfo]) -> tuple[str, ...]:
    key = sorted((column for column in columns if column.primary_key_position), key=lambda c: c.primary_key_position)
    return tuple(column.name for column in key)


def _named(table: TableInfo, names: Sequence[str]) -> tuple[str, ...] | None:
    """The names as the table writes them (engines ignore ASCII case), or None if it lacks one."""
    written = {folded(column.name): column.name for column in table.columns}
    found = [written.get(folded(name)) for name in names]
    return None if None in found else tuple(name for name in found if name is not None)
