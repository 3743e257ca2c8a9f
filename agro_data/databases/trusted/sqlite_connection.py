"""SQLite as a trusted connection: its tables and keys from pragmas, its statements bounded in time and memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from time import monotonic

from agro_data.databases.cells import decode_text, is_undecodable
from agro_data.databases.errors import DatabaseError, discreet_line
from agro_data.databases.opening import (
    LONGEST,
    SHORT,
    bound_values,
    names_any,
    open_sqlite,
    slow_functions,
)
from agro_data.databases.quoting import folded, literal, quoted
from agro_data.databases.schema.checks import checks
from agro_data.databases.schema.collations import sqlite_collations
from agro_data.databases.schema.computed import formulas
from agro_data.databases.schema.table_info import SECONDS, ColumnInfo, ForeignKeyInfo, Row, TableInfo, text_of
from agro_data.databases.schema.unique_indexes import UniqueKey, unique_key
from agro_data.databases.trusted.apart import LATE
from agro_data.databases.types import Cell, Database, Dialect

PROGRESS_STEPS = 100_000  # of SQLite's virtual machine, between two looks at the clock
HEAP = 2 * 2**30  # bytes of memory for all of SQLite in this process: a view can sort without end, too


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
                faults.append(f"{text_of(kind)} {name!r}: its name is not valid UTF-8; left out")
            elif not str(name).startswith("sqlite_") and kind != "shadow":
                try:
                    tables.append(self._table(str(name), kind == "view"))
                except DatabaseError as error:
                    faults.append(f"{text_of(kind)} {name!r}: cannot be read, left out: {error}")
        self.faults += faults
        self.problems += faults
        by_name = {folded(table.name): table for table in tables}
        return [replace(table, foreign_keys=self._foreign_keys(table, by_name)) for table in tables]

    def _table(self, name: str, is_view: bool) -> TableInfo:
        at = literal(name)
        listed = self.execute(f'SELECT name, type, "notnull", pk FROM pragma_table_xinfo({at}) WHERE hidden <> 1')
        if not listed:  # the table-valued form says nothing of a broken view; the view itself does
            self.execute(f"SELECT 1 FROM {quoted(name)}", limit=1)
            raise DatabaseError(f"{self._db_id}: no columns")
        if unreadable := [column for column, *_ in listed if isinstance(column, bytes)]:
            raise DatabaseError(f"{self._db_id}: a column name is not valid UTF-8: {unreadable[0]!r}")
        made = self.execute("SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?", (name,))
        statement = text_of(made[0][0]) if made else ""
        collations = {} if is_view else sqlite_collations(statement)
        computed = {} if is_view else formulas(statement, "sqlite")
        columns = tuple(
            ColumnInfo(
                str(column),
                text_of(declared),
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
            keys.append(UniqueKey(tuple(map(str, listed))) if plain else unique_key(text_of(made), "sqlite", columns))
        return [key for key in keys if key is not None]

    def _foreign_keys(self, table: TableInfo, by_name: Mapping[str, TableInfo]) -> tuple[ForeignKeyInfo, ...]:
        listed = self.execute(
            f"""SELECT id, "table", "from", "to" FROM pragma_foreign_key_list({literal(table.name)})
                ORDER BY id DESC, seq"""
        )
        grouped: dict[Cell, list[Row]] = {}
        for key, *rest in listed:
            grouped.setdefault(key, []).append(tuple(rest))
        found: list[ForeignKeyInfo] = []
        for pairs in grouped.values():
            parent_name = text_of(pairs[0][0])
            parent = by_name.get(folded(parent_name))
            if parent is None:
                self._ignore(table, f"refers to table {parent_name!r}, which does not exist")
                continue
            columns = table.spelled([text_of(column) for _, column, _ in pairs])
            written = [column for _, _, column in pairs]
            ref_columns = (
                parent.primary_key if None in written else parent.spelled([text_of(column) for column in written])
            )
            if columns is None or not ref_columns or len(columns) != len(ref_columns):
                self._ignore(table, f"refers to columns of {parent.name!r} that do not exist or are no key")
                continue
            found.append(ForeignKeyInfo(columns, parent.name, ref_columns))
        return tuple(found)

    def _ignore(self, table: TableInfo, why: str) -> None:
        self.problems.append(f"table {table.name!r}: a foreign key {why}; the key is ignored")


def _primary_key(columns: Sequence[ColumnInfo]) -> tuple[str, ...]:
    key = sorted((column for column in columns if column.primary_key_position), key=lambda c: c.primary_key_position)
    return tuple(column.name for column in key)
