"""How a database is opened so that not a byte of it, nor of its folder, changes.

Shared by trusted connections and by the sandbox's workers, so it imports the standard library only; duckdb is
imported when a DuckDB database is first opened.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from agro_data.databases.duckdb_settings import DUCKDB_SETTINGS, UTC
from agro_data.databases.errors import DatabaseError, discreet_line, first_line
from agro_data.databases.files.data_files import data_files
from agro_data.databases.files.file_tables import create_tables
from agro_data.databases.quoting import literal, quoted
from agro_data.databases.types import MAIN, Layout, Stamp

if TYPE_CHECKING:
    import duckdb

SQLITE_SIDES = ("-wal", "-journal")
DUCKDB_SIDES = (".wal",)
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # ends a journal that names a further file, which SQLite then deletes
LONGEST = 64 * 2**20  # bytes of a value or row of SQLite in this process, which a view may make as large as it likes
SHORT = 2**17  # where functions are called that may take the product of two lengths: they then take some 20 s a call
LONGEST_PATTERN = 2_000  # bytes of LIKE and GLOB
TIMED = "max_execution_time"  # a setting that counts for statements, not for what is loaded before them

CALLS = frozenset(("Function", "PureFunc", "AggStep", "AggStep1", "AggInverse", "AggValue", "AggFinal"))  # opcodes
# Functions of SQLite that take no longer than what they are given is long; a new one is not among them.
LINEAR = frozenset((
    *("count", "sum", "total", "avg", "min", "max", "group_concat", "abs", "round", "sign", "length", "octet_length"),
    *("lower", "upper", "substr", "substring", "hex", "quote", "unicode", "char", "typeof", "printf", "format"),
    *("coalesce", "ifnull", "nullif", "iif", "likely", "unlikely", "likelihood", "zeroblob", "json", "json_extract"),
    *("->", "->>", "json_valid", "json_type", "json_array_length", "json_group_array", "json_group_object"),
    *("date", "time", "datetime", "julianday", "strftime", "unixepoch", "row_number", "rank", "dense_rank"),
    *("lag", "lead", "first_value", "last_value", "nth_value", "ntile"),
))  # fmt: skip

_WORD = re.compile(r"\w+", re.ASCII)  # as long as a name of SQLite's that is ASCII, or shorter

TAKEN = frozenset(("main", "memory", "system", "temp"))  # names that any engine of DuckDB has a database or schema of
BUILT_IN = ("system", MAIN)  # database and schema of DuckDB's own functions
# What a schema is called, or its name ends or begins with, that holds what people ask about, what leads to it, and what
# was loaded; of each table a pipeline may keep all three.
_LAYERS = (
    re.compile(r"(?:.*_)?(?:gold|marts?|presentation|reporting|analytics)(?:_.*)?"),
    re.compile(r"(?:.*_)?(?:silver|staging|stg|intermediate|conformed)(?:_.*)?"),
    re.compile(r"(?:.*_)?(?:bronze|raw|landing|sources?|src|backup|archive)(?:_.*)?"),
)


def with_sides(path: Path, layout: Layout) -> list[Path]:
    """The file and those non-empty files beside it that hold a part of its content (log, journal).

    If `path` is a link, they lie beside its target, where the engines write and look for them.
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
            raise OSError(errno.ENOSPC, f"no room for a private copy of {copy.name}", str(copy.parent)) from error
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
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)
    for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def bound_values(connection: sqlite3.Connection, sql: str, parameters: int = 0) -> None:
    """Bound the values of a statement that is about to run in this process, by what it calls itself or by a view or
    column that is computed: within one call of a function SQLite looks at no clock and heeds no interrupt, and `instr`
    of a text of `LONGEST` bytes in another takes hours.

    `parameters` is their number. The bound stays until it is set anew. Raises `sqlite3.Error`.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 0")  # reads the schema, whose texts may be long
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SHORT)  # SQLite may compute constants while it prepares
    program = connection.execute(f"EXPLAIN {sql}", (None,) * parameters)
    # An authorizer is not told what a generated column calls.
    called = {str(given).partition("(")[0].lower() for _, step, *_, given, _, _ in program if step in CALLS}
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST if called <= LINEAR else SHORT)


def slow_functions(connection: sqlite3.Connection) -> frozenset[str]:
    """The functions of a connection that are not `LINEAR`. Raises `sqlite3.Error`."""
    listed = connection.execute("SELECT DISTINCT lower(name) FROM pragma_function_list")
    return frozenset(name for (name,) in listed) - LINEAR


def names_any(text: str | bytes, functions: frozenset[str]) -> bool:
    """Whether a word of some SQL, be it in quotes, is one of `functions`: else none of them can be called there."""
    text = text if isinstance(text, str) else text.decode("latin-1")
    return not functions.isdisjoint(_WORD.findall(text.lower()))


def open_duckdb(
    path: Path, layout: Layout, settings: Mapping[str, str], *, own_first: bool = False
) -> tuple[duckdb.DuckDBPyConnection, list[str], list[str]]:
    """Locked connection without access to anything outside, what of the database could not be read, and remarks on how
    the rest was.

    A folder becomes a database in memory: Parquet files as views, CSV files as tables (views if large). `own_first`:
    what a file defines comes before DuckDB's own, as it does for those who wrote it; else a macro `count` of the file
    would be called by SQL of ours.
    """
    import duckdb  # noqa: PLC0415

    if layout == "duckdb":
        # Attached, not connected to: in a process DuckDB has one engine for all connections to a file. Its
        # configuration would be set by whichever connection came first, a person's own or ours.
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
                f"{path.name}: another program, or this one, has it open to write to; close it there, or give a copy"
            ) from error
        connection.execute(UTC)
        lock(connection)  # before anything that a file defines can be called
        look_in_all_schemas(connection, name, own_first=own_first)
        return connection, [], []
    config = {**DUCKDB_SETTINGS, **settings}
    seconds = config.pop(TIMED, None)
    connection = duckdb.connect(":memory:", config=config)
    made = create_tables(connection, path)
    allowed = [literal(name) for file in made.read_later for name in (file, glob.escape(str(file)))]
    connection.execute(f"SET allowed_paths = [{', '.join(allowed)}]")
    if seconds is not None:
        connection.execute(f"SET {TIMED} = '{seconds}'")
    connection.execute(UTC)
    lock(connection)
    return connection, made.problems, made.remarks


def name_in_engine(path: Path) -> str:
    """By which `open_duckdb` attaches a file."""
    return "agro" if path.stem.lower() in TAKEN else path.stem


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Let an engine read and write what it has attached by now, and nothing else."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def schemas_of(connection: duckdb.DuckDBPyConnection, catalog: str) -> list[str]:
    """The schemas of a DuckDB file that is attached, in the order of `precedence`.

    A function by its full name: what a file defines may go by the same one. Which schemas hold something is not asked,
    since DuckDB takes ten times as long to list tables.
    """
    found = connection.execute(
        """SELECT schema_name FROM system.main.duckdb_schemas()
           WHERE NOT internal AND schema_name <> 'main' AND database_name = ?""",
        [catalog],
    ).fetchall()
    return sorted([MAIN, *(str(schema) for (schema,) in found)], key=precedence)


def precedence(schema: str) -> tuple[int, str]:
    """The less, the sooner a bare name means the table of this schema: `main` comes first, then what a pipeline makes
    for people (`gold`, `marts`), then schemas that say nothing, then what leads there and at last what was loaded.
    """
    name = schema.lower()
    final, between, loaded = (layer.fullmatch(name) is not None for layer in _LAYERS)
    return (0 if schema == MAIN else 1 if final else 4 if loaded else 3 if between else 2), schema


def look_in_all_schemas(connection: duckdb.DuckDBPyConnection, catalog: str, *, own_first: bool) -> None:
    """Let `orders` be `marts.orders` where `main` has none, as people call it and a model is shown it.

    If several tables have the same name, the first in the order of `schemas_of` is meant. Every reader of a file comes
    by here.
    """
    places = [(catalog, schema) for schema in schemas_of(connection, catalog)]
    if not own_first:
        places.insert(0, BUILT_IN)
    listed = ",".join(f"{quoted(database)}.{quoted(schema)}" for database, schema in places)
    connection.execute(f"SET search_path = {literal(listed)}")
