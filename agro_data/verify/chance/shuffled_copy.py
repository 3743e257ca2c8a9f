"""A copy of a database with the same rows in another order: a query whose answer differs there hangs on chance.

Rows are shuffled, rowid aliases are gone (an INTEGER PRIMARY KEY would put the rows back in order), and keys are kept
only as plain indexes on large tables. Types, collations and views stay as they are.
"""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import monotonic
from urllib.parse import quote

import duckdb

from agro_data.databases.duckdb_settings import DUCKDB_SETTINGS, UTC
from agro_data.databases.engine import READ_ONLY, attached, attaching
from agro_data.databases.errors import DatabaseError, discreet_line
from agro_data.databases.files.data_files import data_files
from agro_data.databases.files.file_tables import create_tables
from agro_data.databases.opening import BUILT_IN, LONGEST, TIMED, bound_values, lock, open_sqlite, schemas_of, settled
from agro_data.databases.quoting import literal, quoted, quoted_list
from agro_data.databases.schema.collations import sqlite_collations
from agro_data.databases.schema.table_info import SECONDS
from agro_data.databases.trusted.sqlite_connection import PROGRESS_STEPS
from agro_data.databases.types import Database
from agro_data.faults import NO_SPACE, is_passing

VERSION = 3  # of the way copies are made; part of their file names
LARGE = 256 * 2**20  # bytes; a larger database is sampled
SAMPLE = 50_000  # rows of a table kept then
INDEXED = 500  # rows from which a key is worth an index


def shuffled_copy(database: Database, folder: Path, seed: int, large: int = LARGE) -> Database:
    """The database with its rows in another order, in `folder`, made once for a content and a seed.

    A database of more than `large` bytes is sampled (`SAMPLE` rows a table); a second copy of the same sample in its
    original order is then made beside it: `reference` finds it. Raises `DatabaseError` that names the database.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sampled = size_of(database) > large
    copy = _place(database, folder, "shuffled", seed)
    if sampled:
        _ensure(database, _place(database, folder, "reference", seed).path, None, sampled)
    _ensure(database, copy.path, seed, sampled)
    return copy


def written_copy(database: Database, folder: Path, seed: int) -> Database:
    """`shuffled_copy` of a small file that we have just written, in a third of the time where DuckDB made it: nothing
    in it is foreign, so that its copy needs no engine of its own. Raises like that.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copy = _place(database, folder, "shuffled", seed)
    _ensure(database, copy.path, seed, sampled=False, written=True)
    return copy


def shuffled_or_none(database: Database, folder: Path, seed: int) -> Database | None:
    """`shuffled_copy`; None if none can be made; dependence on row order is then not tested."""
    try:
        return shuffled_copy(database, folder, seed)
    except DatabaseError:
        return None


def reference(database: Database, shuffled: Database) -> Database:
    """The database with which a shuffled copy is compared: the sample in original order if there is one, else the
    database itself.
    """
    sample = shuffled.path.with_name(shuffled.path.name.replace(".shuffled.", ".reference."))
    if sample != shuffled.path and sample.exists():
        return replace(shuffled, path=sample, content_hash=_derived(shuffled.content_hash, "reference"))
    return database


def _place(database: Database, folder: Path, kind: str, seed: int) -> Database:
    suffix = "sqlite" if database.dialect == "sqlite" else "duckdb"
    name = f"{database.content_hash[:24]}-{seed}-v{VERSION}.{kind}.{suffix}"
    return replace(
        database,
        layout="sqlite" if database.dialect == "sqlite" else "duckdb",
        path=folder / name,
        relative_path=name,
        content_hash=_derived(database.content_hash, f"{kind}-{seed}"),
    )


def _derived(content_hash: str, kind: str) -> str:
    return sha256(f"{content_hash}:{kind}:v{VERSION}".encode()).hexdigest()


def size_of(database: Database) -> int:
    """Bytes of its files."""
    files = data_files(database.path) if database.layout == "files" else [database.path]
    return sum(file.stat().st_size for file in files)


def _ensure(database: Database, target: Path, seed: int | None, sampled: bool, written: bool = False) -> None:
    """Make `target` unless it is there; it appears whole or not at all. `written`: the database is a file of ours."""
    if target.exists():
        return
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".copy-") as name:
        part = Path(name) / target.name
        stream = f"{database.content_hash}:{seed}"
        seconds = SECONDS * max(1, -(-size_of(database) // LARGE))  # also a sample is taken of all rows
        try:
            source = settled(database.path.absolute(), database.layout, Path(name) / "settled")
            if database.dialect == "sqlite":
                _copy_sqlite(source, part, stream, seed is not None, sampled, seconds)
            elif written:
                _copy_written(source, part, stream)
            else:
                _copy_duckdb(replace(database, path=source), part, stream, seed is not None, sampled, seconds)
        except (OSError, sqlite3.Error, duckdb.Error, DatabaseError) as error:
            if _is_full_disk(error):
                raise OSError(errno.ENOSPC, f"no room for a copy of {database.db_id}", str(target.parent)) from error
            if is_passing(error):
                raise
            why = f"it takes over {seconds:g} s, as of a column that is computed" if _is_late(error) else None
            raise DatabaseError(f"{database.db_id}: no shuffled copy: {why or discreet_line(error)}") from error
        os.replace(part, target)


def _is_full_disk(error: Exception) -> bool:
    """A copy that could not be written would be made on the next run: the build must not go on without it."""
    if isinstance(error, sqlite3.Error):
        return error.sqlite_errorcode in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
    if isinstance(error, duckdb.Error):
        return any(os.strerror(code) in str(error) for code in NO_SPACE)
    return isinstance(error, OSError) and error.errno in NO_SPACE


def _is_late(error: Exception) -> bool:
    """Whether a copy took longer than it may."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    return isinstance(error, duckdb.InterruptException)


# --- SQLite ------------------------------------------------------------------------------------------------------


def _copy_sqlite(source: Path, target: Path, seed: str, shuffle: bool, sampled: bool, seconds: float) -> None:
    """Rows travel inside SQLite, so that no cell changes, not even text that is not UTF-8."""
    deadline = monotonic() + seconds
    with closing(sqlite3.connect(target.absolute().as_uri(), uri=True, isolation_level=None)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "foreign_keys=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        with closing(open_sqlite(source)) as old:
            encoding = old.execute("PRAGMA encoding").fetchone()[0]
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute("CREATE TABLE agro_first (x)")  # fixes the encoding, which ATTACH would otherwise refuse
        connection.execute("DROP TABLE agro_first")
        uri = "file:" + quote(os.fsencode(source.absolute())) + "?mode=ro&immutable=1"
        connection.execute("ATTACH ? AS old", (uri,))
        connection.set_progress_handler(lambda: monotonic() > deadline, PROGRESS_STEPS)
        connection.execute("BEGIN")
        listed = connection.execute(
            """SELECT name, strict FROM pragma_table_list WHERE schema = 'old' AND type IN ('table', 'virtual')
               AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"""
        ).fetchall()
        for name, strict in listed:
            try:
                _copy_sqlite_table(connection, name, bool(strict), f"{seed}:{name}", shuffle, sampled)
            except (sqlite3.OperationalError, sqlite3.DataError, UnicodeDecodeError) as error:
                if _is_full_disk(error) or _is_late(error):
                    raise
                continue  # a table that cannot be read is in no schema either, so no statement names it
        for (sql,) in connection.execute(
            "SELECT sql FROM old.sqlite_master WHERE type = 'view' ORDER BY rowid"
        ).fetchall():
            connection.execute(sql)
        connection.execute("COMMIT")


def _copy_sqlite_table(
    connection: sqlite3.Connection, name: str, strict: bool, seed: str, shuffle: bool, sampled: bool
) -> None:
    described = connection.execute("SELECT name, type, pk FROM pragma_table_xinfo(?, 'old') WHERE hidden <> 1", (name,))
    columns = described.fetchall()
    [(made,)] = connection.execute("SELECT sql FROM old.sqlite_master WHERE name = ?", (name,))
    collations = sqlite_collations(made)
    rows = connection.execute(f"SELECT COUNT(*) FROM old.{quoted(name)}").fetchone()[0]
    definitions = (
        f"{quoted(column)} {_sqlite_type(declared)} COLLATE {collations.get(column, 'BINARY')}"
        for column, declared, _ in columns
    )
    connection.execute(f"CREATE TABLE main.{quoted(name)} ({', '.join(definitions)}){' STRICT' if strict else ''}")
    order, kept = random.Random(seed), random.Random(f"{name}:{rows}")  # both copies of a sample hold the same rows
    rate = SAMPLE / rows if sampled and rows > SAMPLE else 1.0
    connection.create_function("agro_order", 0, order.random)
    connection.create_function("agro_kept", 0, lambda: kept.random() < rate)
    listed = quoted_list(column for column, _, _ in columns)
    where = "WHERE agro_kept()" if rate < 1 else ""
    by = "ORDER BY agro_order()" if shuffle else ""
    read = f"SELECT {listed} FROM old.{quoted(name)}"
    bound_values(connection, read)  # a column may be computed
    connection.execute(f"INSERT INTO main.{quoted(name)} ({listed}) {read} {where} {by}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    key = [column for column, _, position in sorted(columns, key=lambda c: c[2]) if position]
    if key and rows >= INDEXED:
        index = quoted(f"agro_{name}")
        connection.execute(f"CREATE INDEX main.{index} ON {quoted(name)} ({quoted_list(key)})")


def _sqlite_type(declared: str) -> str:
    """A declared type as DDL takes it: one of odd characters is quoted."""
    plain = all(part.isalnum() or part in "_(), " for part in declared)
    return declared if plain else quoted(declared)


# --- DuckDB ------------------------------------------------------------------------------------------------------


def _copy_duckdb(database: Database, target: Path, seed: str, shuffle: bool, sampled: bool, seconds: float) -> None:
    """Tables, views and macros of a DuckDB file, or the files of a folder as tables.

    A file is copied in an engine of its own, which is locked before anything that it defines can be called. In SQL of
    ours DuckDB's functions come first: a macro of the file may be called `hash`.
    """
    files = database.layout == "files"
    source = (":memory:",) if files else (database.path, READ_ONLY)
    with (
        closing(duckdb.connect(":memory:", config=DUCKDB_SETTINGS)) as connection,
        attaching(connection, target) as own,
        attaching(connection, *source) as old,
    ):
        connection.execute(UTC)
        timed = f"SET {TIMED} = {int(seconds * 1000)}"
        views: list[str] = []
        if files:
            connection.execute(f"USE {old}")
            names = [("main", name) for name in create_tables(connection, database.path).tables]
            connection.execute(timed)
        else:
            connection.execute(timed)
            lock(connection)
            connection.execute(f"SET search_path = {literal('.'.join(BUILT_IN))}")
            names, views = _copy_definitions(connection, old, own)
        for schema, name in names:
            place = f"{quoted(schema)}.{quoted(name)}"
            try:
                _copy_duckdb_table(connection, old, own, place, f"{seed}:{name}", shuffle, sampled)
            except duckdb.Error as error:
                if not files or not _is_damage(error):
                    raise
                # Else a file that is damaged below its first rows would cost all other tables their copies.
        connection.execute(f"USE {own}")
        _execute_all(connection, views)


def _copy_written(source: Path, target: Path, seed: str) -> None:
    """A DuckDB file of our own, in the engine that wrote it."""
    with attached(target) as connection, attaching(connection, source, READ_ONLY) as old:
        ((own,),) = connection.execute("SELECT current_database()").fetchall()
        _make_schemas(connection, old, own)
        for schema, name in _tables(connection, old):
            place = f"{quoted(schema)}.{quoted(name)}"
            _copy_duckdb_table(connection, old, own, place, f"{seed}:{name}", shuffle=True, sampled=False)
        _execute_all(connection, _views(connection, old))


def _is_damage(error: duckdb.Error) -> bool:
    """Whether a file that was read is at fault, and neither the machine nor what was to be written."""
    return not (
        isinstance(error, duckdb.OutOfMemoryException) or is_passing(error) or _is_full_disk(error) or _is_late(error)
    )


def _copy_definitions(
    connection: duckdb.DuckDBPyConnection, old: str, own: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Copy macros, types and views; the tables, by schema and name, and the views as SQL.

    DuckDB gives the defaults of a macro's parameters away in a copy of all definitions only; the tables that come with
    it, empty and with their keys, make room again.
    """
    tables, views = _tables(connection, old), _views(connection, old)
    try:
        connection.execute(f"COPY FROM DATABASE {old} TO {own} (SCHEMA)")
    except duckdb.Error:  # it makes tables before the macros that they use: then views without macros must do
        pass
    else:
        _execute_all(connection, [f"DROP TABLE {own}.{quoted(s)}.{quoted(t)}" for s, t in _tables(connection, own)])
    _make_schemas(connection, old, own)
    return tables, views


def _make_schemas(connection: duckdb.DuckDBPyConnection, old: str, own: str) -> None:
    schemas = schemas_of(connection, old)
    _execute_all(connection, [f"CREATE SCHEMA IF NOT EXISTS {own}.{quoted(schema)}" for schema in schemas])


def _views(connection: duckdb.DuckDBPyConnection, database: str) -> list[str]:
    listed = connection.execute(
        """SELECT sql FROM duckdb_views() WHERE database_name = ? AND NOT internal
           ORDER BY schema_name <> 'main', schema_name, view_name""",
        [database],
    )
    return [str(sql) for (sql,) in listed.fetchall()]


def _tables(connection: duckdb.DuckDBPyConnection, database: str) -> list[tuple[str, str]]:
    listed = connection.execute(
        """SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal
           ORDER BY schema_name <> 'main', schema_name, table_name""",
        [database],
    )
    return [(str(schema), str(name)) for schema, name in listed.fetchall()]


def _copy_duckdb_table(
    connection: duckdb.DuckDBPyConnection, old: str, own: str, place: str, seed: str, shuffle: bool, sampled: bool
) -> None:
    source = f"{old}.{place}"
    numbered = f"(SELECT *, row_number() OVER () AS agro_row FROM {source})"
    try:
        (rows,) = connection.execute(f"SELECT COUNT(*) FROM {source}").fetchone() or (0,)
    except duckdb.Error:  # a file that is no table is in no schema either, so no statement names it
        return
    where = f"WHERE hash(agro_row, 'kept') % {rows} < {SAMPLE}" if sampled and rows > SAMPLE else ""
    by = f"hash(agro_row, {literal(seed)}), agro_row" if shuffle else "agro_row"
    connection.execute(
        f"CREATE TABLE {own}.{place} AS SELECT * EXCLUDE (agro_row) FROM {numbered} {where} ORDER BY {by}"
    )


def _execute_all(connection: duckdb.DuckDBPyConnection, statements: list[str]) -> None:
    """Executes statements that may need each other: tries again as long as one more succeeds.

    A view that never does works nowhere, or came with the definitions; a table that is referred to is dropped last.
    """
    waiting, before = statements, -1
    while waiting and len(waiting) != before:
        before, failed = len(waiting), []
        for sql in waiting:
            try:
                connection.execute(sql)
            except duckdb.Error:
                failed.append(sql)
        waiting = failed
