"""How a database is opened so that not a byte of it, nor of its folder, changes.

Shared by trusted connections and by the sandbox's workers, so it imports the standard library only; duckdb is
imported when a DuckDB database is first opened.
"""

from __future__ import annotations

import errno
import glob
import gzip
import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

from agro_data.databases.data_files import DataTable, data_files, data_tables, is_cut
from agro_data.databases.types import Cell, Layout, Stamp

if TYPE_CHECKING:
    import duckdb

SQLITE_SIDES = ("-wal", "-journal")
DUCKDB_SIDES = (".wal",)
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a further file, which SQLite then deletes
LONGEST = 64 * 2**20  # bytes of a value or row of SQLite in this process, which a view may make as large as it likes
DELIMITERS = ",;\t|"
CSV_LOADED = 256 * 2**20  # bytes of CSV, of all tables of a folder, read once into memory; others are views over files
TIMED = "max_execution_time"  # a setting that counts for statements, not for what is loaded before them

DUCKDB_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # else `FROM x` could read a Python variable x
    "temp_directory": "",  # no spilling: nothing is written anywhere
    "threads": "1",
    "async_threads": "0",  # else eight for each engine, with 8 MiB each of the address space that a worker may take
}
TAKEN = frozenset(("main", "memory", "system", "temp"))  # names that any engine of DuckDB has a database or schema of
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # of an `OSError`: a disk or quota is full
BUILT_IN = ("system", "main")  # database and schema of DuckDB's own functions
UTC = "SET TimeZone = 'UTC'"  # else a TIMESTAMPTZ would read otherwise on a machine in another time zone


class DatabaseError(Exception):
    """A database cannot be opened or read; the message names it and says what to do."""


def with_sides(path: Path, layout: Layout) -> list[Path]:
    """The file and those non-empty files beside it that hold a part of its content (log, journal).

    Of a link these lie beside what it leads to, where the engines write and look for them.
    """
    suffixes = {"sqlite": SQLITE_SIDES, "duckdb": DUCKDB_SIDES, "files": ()}[layout]
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    sides = [real.with_name(real.name + suffix) for suffix in suffixes]
    return [path, *(side for side in sides if side.is_file() and side.stat().st_size > 0)]


def settled(path: Path, layout: Layout, folder: Path) -> Path:
    """`path` if it is complete in itself, else a copy in `folder` with log or journal worked in.

    Opening such a database where it stands would write beside it, even with `mode=ro`. Raises `DatabaseError`
    when it keeps changing while it is copied, or when the engine cannot make it whole, and `OSError`.
    """
    if len(with_sides(path, layout)) == 1:
        return path
    path = Path(os.path.realpath(path))
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / path.name
    for _ in range(3):
        files = with_sides(path, layout)
        before = [_stamp(file) for file in files]
        for file in files:
            shutil.copyfile(file, folder / file.name)
        if files == with_sides(path, layout) and before == [_stamp(file) for file in files]:
            break
    else:
        raise DatabaseError(f"{path}: is being written to all the time; give a copy of it")
    if layout == "sqlite":
        _whole_sqlite(copy)
    else:
        _whole_duckdb(copy)
    return copy


def _whole_sqlite(copy: Path) -> None:
    """Replay the log or roll back the journal of a private copy."""
    _refuse_super_journal(copy)
    try:
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, f"no room for a private copy of {copy.name}") from error
        raise DatabaseError(f"{copy.name}, with the log or journal beside it: {first_line(error)}") from error


def _refuse_super_journal(copy: Path) -> None:
    """SQLite deletes the super-journal that a journal names, wherever that lies, once it has rolled back."""
    journal = copy.with_name(copy.name + "-journal")
    if not journal.exists():
        return
    with journal.open("rb") as stream:
        stream.seek(-min(len(SUPER_JOURNAL), journal.stat().st_size), os.SEEK_END)
        if stream.read() == SUPER_JOURNAL:
            raise DatabaseError(
                f"{copy.name}: the journal beside it is part of a transaction over several files; "
                "open it once with the program that wrote it"
            )


def _whole_duckdb(copy: Path) -> None:
    """Replay the log of a private copy."""
    import duckdb  # noqa: PLC0415

    try:
        with duckdb.connect(copy, config={**DUCKDB_SETTINGS, "enable_external_access": "false"}) as duck:
            duck.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise DatabaseError(f"{copy.name}, with the log beside it: {discreet_line(error)}") from error


def stamp(path: Path, layout: Layout) -> Stamp:
    """What changes when the content does, without reading it: name, size, time and inode of each file."""
    if layout == "files":
        return tuple((file.relative_to(path).as_posix(), *_stamp(file)) for file in data_files(path))
    return tuple((file.name, *_stamp(file)) for file in with_sides(path, layout))


def _stamp(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def open_sqlite(path: Path, *, cached_statements: int = 128) -> sqlite3.Connection:
    """Read-only connection to a settled file. `immutable` takes no lock and makes no file."""
    uri = "file:" + quote(os.fsencode(path.absolute())) + "?mode=ro&immutable=1"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=cached_statements
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def open_duckdb(
    path: Path, layout: Layout, settings: Mapping[str, str], *, own_first: bool = False
) -> tuple[duckdb.DuckDBPyConnection, list[str]]:
    """Locked connection without access to anything outside, and what of the database could not be read.

    A folder becomes a database in memory: Parquet files as views, CSV files as tables (views if large). `own_first`:
    what a file defines comes before DuckDB's own, as it does for those who wrote it; else a macro `count` of the file
    would be called by SQL of ours.
    """
    import duckdb  # noqa: PLC0415

    if layout == "duckdb":
        # Attached, not connected to: DuckDB has one engine in a process for all that connect to a file, with one
        # configuration, which would be that of whoever came first, a person's own connection or ours.
        connection = duckdb.connect(":memory:", config={**DUCKDB_SETTINGS, **settings})
        name = name_in_engine(path)
        try:
            connection.execute(f"ATTACH {literal(path)} AS {quoted(name)} (TYPE duckdb, READ_ONLY)")
        except duckdb.ResourceInUseException as error:
            raise DatabaseError(
                f"{path.name}: this process has it open to write to; close it, or give a copy"
            ) from error
        except duckdb.IOException as error:
            if "lock" not in str(error):
                raise
            raise DatabaseError(
                f"{path.name}: another program has it open to write to; close it there, or give a copy"
            ) from error
        connection.execute(UTC)
        lock(connection)  # before anything that a file defines can be called
        look_in_all_schemas(connection, name, own_first=own_first)
        return connection, []
    config = {**DUCKDB_SETTINGS, **settings}
    seconds = config.pop(TIMED, None)
    connection = duckdb.connect(":memory:", config=config)
    _, read_later, problems = create_tables(connection, path)
    allowed = [literal(name) for file in read_later for name in (file, glob.escape(str(file)))]
    connection.execute(f"SET allowed_paths = [{', '.join(allowed)}]")
    if seconds is not None:
        connection.execute(f"SET {TIMED} = '{seconds}'")
    connection.execute(UTC)
    lock(connection)
    return connection, problems


def name_in_engine(path: Path) -> str:
    """By which `open_duckdb` attaches a file."""
    return "agro" if path.stem.lower() in TAKEN else path.stem


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Let an engine read and write what it has attached by now, and nothing else."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def schemas_of(connection: duckdb.DuckDBPyConnection, catalog: str) -> list[str]:
    """The schemas of a DuckDB file that is attached: `main`, then those that hold a table or view.

    Functions by their full names: what a file defines may go by the same ones.
    """
    if not connection.execute("SELECT 1 FROM system.main.duckdb_schemas() WHERE NOT internal LIMIT 1").fetchone():
        return ["main"]  # as mostly; the catalogs below cost ten milliseconds when they are first looked at
    found = connection.execute(
        """SELECT DISTINCT schema_name FROM (
             SELECT database_name, schema_name, internal FROM system.main.duckdb_tables()
             UNION ALL SELECT database_name, schema_name, internal FROM system.main.duckdb_views())
           WHERE NOT internal AND schema_name <> 'main' AND database_name = ?
           ORDER BY schema_name""",
        [catalog],
    ).fetchall()
    return ["main", *(str(schema) for (schema,) in found)]


def look_in_all_schemas(connection: duckdb.DuckDBPyConnection, catalog: str, *, own_first: bool) -> None:
    """Let `orders` be `marts.orders` where `main` has none, as people call it and a model is shown it.

    Of tables with one name the first in the order of `schemas_of` is meant. Every reader of a file comes by here.
    """
    places = [(catalog, schema) for schema in schemas_of(connection, catalog)]
    if not own_first:
        places.insert(0, BUILT_IN)
    listed = ",".join(f"{quoted(database)}.{quoted(schema)}" for database, schema in places)
    connection.execute(f"SET search_path = {literal(listed)}")


def create_tables(
    connection: duckdb.DuckDBPyConnection, folder: Path
) -> tuple[dict[str, DataTable], list[Path], list[str]]:
    """Make what data files of a folder are tables of the current schema: these by name, the files that statements on
    them read, and why others are none.

    Every reader of a folder comes by here, so that all of them see the same tables.
    """
    import duckdb  # noqa: PLC0415

    tables: dict[str, DataTable] = {}
    taken: dict[str, str] = {}
    read_later: list[Path] = []
    problems: list[str] = []
    found = data_tables(folder)
    loaded = _loaded(found)
    for table in found:
        name, place = table.name, table.place
        if name.lower() in taken:
            problems.append(f"{place}: is table {name!r} already, from {taken[name.lower()]}; rename one of them")
            continue
        try:
            kind = _create(connection, table, table in loaded)
        except duckdb.Error as error:
            remedy = "" if table.is_parquet else "; save it as CSV in UTF-8"
            cut = next((file.relative_to(folder).as_posix() for file in table.files if is_cut(file)), "")
            why = f"{cut} does not end as a Parquet file does" if cut else discreet_line(error)
            problems.append(f"{place}: cannot be read as a table: {why}{remedy}")
            continue
        if not table.is_parquet and (mark := _uncut(connection, name)):
            connection.execute(f"DROP {kind} {quoted(name)}")
            problems.append(
                f"{place}: would be one column with {mark!r} in its name: its rows have not all the same number of "
                "cells; mend those that differ, or rename the column"
            )
            continue
        tables[name] = table
        if kind == "VIEW":
            read_later += table.files
        taken[name.lower()] = place
    return tables, read_later, problems


def _create(connection: duckdb.DuckDBPyConnection, table: DataTable, loaded: bool) -> str:
    """Make a table of data files, or a view over them where they are not to be loaded or memory is short."""
    import duckdb  # noqa: PLC0415

    kind = "TABLE" if loaded else "VIEW"
    try:
        connection.execute(f"CREATE {kind} {quoted(table.name)} AS {_query(table)}")
    except duckdb.OutOfMemoryException:
        if not loaded:
            raise
        return _create(connection, table, False)
    return kind


def _uncut(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """A delimiter in the name of a CSV's only column, or "": a file with ragged rows is read so, line by line."""
    columns = [str(name) for name, *_ in connection.execute(f"DESCRIBE {quoted(table)}").fetchall()]
    return next((mark for mark in DELIMITERS if mark in columns[0]), "") if len(columns) == 1 else ""


def _loaded(tables: Sequence[DataTable]) -> list[DataTable]:
    """The CSV tables that are read into memory: the smallest, as long as all of them are few bytes."""
    loaded: list[DataTable] = []
    room = CSV_LOADED
    for table in sorted((table for table in tables if not table.is_parquet), key=lambda table: table.size):
        for file in table.files:
            if room >= 0:
                room -= _text_bytes(file, room)
        if room < 0:
            break
        loaded.append(table)
    return loaded


def _text_bytes(file: Path, most: int) -> int:
    """Bytes of a CSV, unpacked; some number above `most` where there are more."""
    if file.suffix.lower() != ".gz":
        return file.stat().st_size
    count = 0
    with suppress(OSError, EOFError, zlib.error), gzip.open(file) as stream:  # DuckDB will say what is wrong with it
        while count <= most and (piece := stream.read(2**20)):
            count += len(piece)
    return count


def _query(table: DataTable) -> str:
    """What reads a table's files, wherever they lie.

    To DuckDB a name is a pattern, `report [1].csv` that of `report 1.csv`, and any folder `year=2024` a column.
    """
    patterns = ", ".join(literal(glob.escape(str(file))) for file in table.files)
    settings = f"hive_partitioning={str(bool(table.partitions)).lower()}"
    if table.folder is not None:
        settings += ", union_by_name=true"  # parts that were written later may have further columns
    if not table.is_parquet:
        settings += ", sample_size=-1"
    reader = "read_parquet" if table.is_parquet else "read_csv"
    above = ", ".join(map(quoted, sorted(table.above))) if table.partitions else ""
    return f"SELECT * {f'EXCLUDE ({above}) ' if above else ''}FROM {reader}([{patterns}], {settings})"


def quoted(identifier: str) -> str:
    """An identifier as both engines take it."""
    return '"' + identifier.replace('"', '""') + '"'


_NO_CASE = str.maketrans(ascii_uppercase, ascii_lowercase)


def folded(identifier: str) -> str:
    """An identifier as both engines compare it: without case in ASCII letters only, so that Ärzte is not ärzte."""
    return identifier.lower() if identifier.isascii() else identifier.translate(_NO_CASE)


def literal(value: object) -> str:
    """A text literal as both engines take it."""
    return "'" + str(value).replace("'", "''") + "'"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_SPEAKS_OF_SCHEMA = frozenset(
    ("CatalogException", "BinderException", "ParserException", "SyntaxException", "IOException", "PermissionException")
)


def discreet_line(error: BaseException) -> str:
    """`first_line` without the values that an engine quotes when it cannot convert or decode one."""
    line = first_line(error)
    if isinstance(error, sqlite3.Error):
        return line.split(" with text ")[0]
    if type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb") and (
        type(error).__name__ not in _SPEAKS_OF_SCHEMA
    ):
        return line.partition(":")[0] + " (the engine's words may quote a value and are not repeated)"
    return line


def decode_text(raw: bytes) -> str | bytes:
    """Text of a cell; its bytes when they are not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def is_undecodable(error: sqlite3.Error) -> bool:
    """Whether `sqlite3` met text that is not UTF-8: the statement then runs again with `decode_text`.

    The retry costs once; calling `decode_text` for every text of every database would cost always.
    """
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith("Could not decode to UTF-8")


_CELLS = frozenset((type(None), int, float, str, bytes))


def plain_rows(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Cell, ...]]:
    """DuckDB's rows with every value as a `Cell`."""
    return [
        row if all(type(value) in _CELLS for value in row) else tuple([plain(value) for value in row]) for row in rows
    ]


def plain(value: Any) -> Cell:
    """One DuckDB value as a `Cell`: see `Result`."""
    kind = type(value)
    if kind in _CELLS:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return int(value)
    if kind is Decimal:
        return int(value) if value == value.to_integral_value() else float(value)
    if kind in (bytearray, memoryview):
        return bytes(value)
    if kind in (date, datetime, time, timedelta, UUID):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=_json)
    except TypeError:  # a MAP with keys that JSON has not, such as dates
        return json.dumps(_with_text_keys(value), ensure_ascii=False, default=_json)


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(_json(key)): _with_text_keys(item) for key, item in value.items()}
    return [_with_text_keys(item) for item in value] if isinstance(value, list | tuple) else value


def _json(value: object) -> object:
    return value.hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)
