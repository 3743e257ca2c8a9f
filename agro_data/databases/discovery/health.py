"""Whether a database can be used at all, found out before anything costly is done with it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path, PurePosixPath

from agro_data.databases.discovery.identity import one_line
from agro_data.databases.errors import DatabaseError, first_line
from agro_data.databases.files.data_files import data_files
from agro_data.databases.opening import with_sides
from agro_data.databases.quoting import quoted
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database, Problem
from agro_data.words import some

SHARED_LOCK = (510, 0x40000002)  # length and start of the bytes that SQLite readers share and a writer takes


def examine(database: Database) -> list[Problem]:
    """What is wrong with a database; it is usable unless one of the problems at its own path has `left_out`.

    A data file that is no table is left out at its own path. What else is odd about a table, its profile says.
    Reads the schema and the first row of each table: milliseconds, whatever the size.
    """
    where = one_line(database.relative_path)

    def problem(reason: str, remedy: str = "", left_out: bool = True) -> Problem:
        return Problem(where, one_line(reason), remedy, left_out)

    try:
        if reason := _locked(database) or _truncated(database):
            return [problem(*reason)]
        with open_database(database) as connection:
            unread = [_unread(database, reason) for reason in connection.unread]
            if links := _links_out(database):
                told = f"data files are links that lead out of the folder: {some(links)}"
                unread.append(problem(told, "remove those that are not meant; what they lead to is read", False))
            tables = connection.objects()
            empty = [
                table.name for table in tables if not connection.execute(f"SELECT 1 FROM {quoted(table.name)}", limit=1)
            ]
            notes = [problem(note, left_out=False) for note in connection.problems]
    except OSError as error:
        return [problem(f"cannot be read: {error.strerror}", "check its permissions")]
    except DatabaseError as error:
        return [problem(first_line(error), "check it with the engine's own tools, or give a copy")]
    if not tables:
        return [*unread, *notes, problem("no table that can be read", "give a database with at least one table")]
    if len(empty) == len(tables):
        return [*unread, *notes, problem("no table has a row", "give a copy that holds data")]
    if empty:
        unread.append(problem(f"{len(empty)} of {len(tables)} tables have no rows: {some(empty)}", left_out=False))
    return unread


def _unread(database: Database, reason: str) -> Problem:
    """The problem of a data file, which the reason names first."""
    name, _, why = reason.partition(": ")
    return Problem(one_line((PurePosixPath(database.relative_path) / name).as_posix()), one_line(why))


def _links_out(database: Database) -> list[str]:
    """Data files of a folder that lie elsewhere, as of one that somebody else has packed: they are read, but told."""
    if database.layout != "files":
        return []
    folder = Path(os.path.realpath(database.path))
    files = data_files(database.path)
    outside = [file for file in files if not Path(os.path.realpath(file)).is_relative_to(folder)]
    return [file.relative_to(database.path).as_posix() for file in outside]


def _locked(database: Database) -> tuple[str, str] | None:
    """Whether another program is writing a SQLite file just now. DuckDB says so itself when it is opened."""
    if database.layout != "sqlite":
        return None
    with database.path.open("rb") as stream:
        try:
            fcntl.lockf(stream, fcntl.LOCK_SH | fcntl.LOCK_NB, *SHARED_LOCK)
        except OSError:
            return "locked: another program is writing to it", "let it finish, or give a copy"
    return None


def _truncated(database: Database) -> tuple[str, str] | None:
    """Whether a SQLite file is shorter than its header says. One with a log may be: its end is in the log."""
    if database.layout != "sqlite" or len(with_sides(database.path, "sqlite")) > 1:
        return None
    size = database.path.stat().st_size
    with database.path.open("rb") as stream:
        header = stream.read(100)
    page = int.from_bytes(header[16:18], "big")
    needed = int.from_bytes(header[28:32], "big") * (65_536 if page == 1 else page)
    counted = header[24:28] == header[92:96]  # else an old version of SQLite wrote last, and left a wrong count
    if len(header) < 100 or (counted and size < needed):
        return f"truncated SQLite file: {size} of {max(needed, 100)} bytes", "give a whole copy"
    return None
