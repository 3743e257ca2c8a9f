"""Tables of DuckDB made of a folder's data files: read into memory, or views that read the files anew.

Imports the standard library only, as `opening` does.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agro_data.databases.duckdb_settings import DUCKDB_SETTINGS
from agro_data.databases.errors import discreet_line
from agro_data.databases.files.csv_reading import NOT_WHOLE, fault, read_file, read_parts
from agro_data.databases.files.csv_sniffing import NoTable, patterns
from agro_data.databases.files.data_files import DataTable, data_tables, is_cut
from agro_data.databases.files.text_files import is_packed, opened
from agro_data.databases.quoting import quoted, quoted_list

if TYPE_CHECKING:
    import duckdb

CSV_LOADED = 256 * 2**20  # bytes of CSV, of all tables of a folder, read once into memory; others are views over files
UNPACKED = 2 * 2**30  # bytes of CSV in packed files of a table: each statement unpacks all, in the seconds that it has
PROBED = 10_000  # tables of which is known at a time whether an engine fails over them
_DEFLATED = 1_032  # times as many bytes, at most, as gzip packs them into
_probed: dict[tuple[DataTable, tuple[tuple[int, int, int], ...]], duckdb.Error | None] = {}  # why one does


class FolderTables(NamedTuple):
    """The tables made of the data files of a folder, and the problems met."""

    tables: dict[str, DataTable]
    read_later: list[Path]  # files that statements on the tables read
    problems: list[str]  # why some are no table
    remarks: list[str]  # on how tables were read


def create_tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> FolderTables:
    """Make what data files of a folder are tables of the current schema.

    Every reader of a folder comes by here, so that all of them see the same tables.
    """
    import duckdb  # noqa: PLC0415

    made = FolderTables({}, [], [], [])
    taken: dict[str, str] = {}
    found = data_tables(folder)
    bombs = {table for table in found if _unpacks_too_far(table)}
    loaded = _loaded([table for table in found if table not in bombs])
    spoiling = _spoiling([table for table in found if table.is_parquet])
    for table in found:
        name, place = table.name, table.place
        if name.lower() in taken:
            made.problems.append(f"{place}: is table {name!r} already, from {taken[name.lower()]}; rename one of them")
            continue
        try:
            if table in bombs:
                raise NoTable(f"unpacks to more than {UNPACKED >> 30} GiB; give it as Parquet")
            if table in spoiling:
                raise spoiling[table]
            read, remarks = _query(connection, table)
            kind = _create(connection, table, read, table in loaded)
        except NoTable as error:
            made.problems.append(f"{place}: {error}")
            continue
        except duckdb.Error as error:
            made.problems.append(f"{place}: cannot be read as a table: {_why(error, table, folder)}")
            continue
        except (gzip.BadGzipFile, EOFError, zlib.error):  # where its lines are looked at here
            made.problems.append(f"{place}: cannot be read as a table: {NOT_WHOLE}")
            continue
        made.tables[name] = table
        made.remarks.extend(f"{place}: {remark}" for remark in remarks)
        if kind == "VIEW":
            made.read_later.extend(table.files)
        taken[name.lower()] = place
    return made


def _spoiling(tables: Sequence[DataTable]) -> dict[DataTable, duckdb.Error]:
    """Parquet tables over which an engine fails for good, so that no other table could be read any more: found in an
    engine that has nothing to lose, once for each table as it is written."""
    import duckdb  # noqa: PLC0415

    states = {table: _state(table) for table in tables}
    waiting = [table for table in tables if states[table] not in _probed]
    if len(_probed) + len(waiting) > PROBED:
        _probed.clear()
        waiting = list(tables)
    while waiting:
        with duckdb.connect(":memory:", config={**DUCKDB_SETTINGS, "memory_limit": "1GiB"}) as engine:
            while waiting:
                table = waiting.pop()
                _probed[states[table]] = None
                try:
                    engine.execute(f"{_query(engine, table)[0]} LIMIT 1").fetchall()
                except (duckdb.InternalException, duckdb.FatalException) as error:
                    _probed[states[table]] = error.with_traceback(None)
                    break
                except duckdb.Error:  # what makes the table says so
                    continue
    return {table: why for table in tables if (why := _probed[states[table]]) is not None}


def _state(table: DataTable) -> tuple[DataTable, tuple[tuple[int, int, int], ...]]:
    """A table with the sizes, times and inodes of its files; a link to nowhere has none."""
    found = [file.stat() for file in table.files if file.exists()]
    return table, tuple((one.st_size, one.st_mtime_ns, one.st_ino) for one in found)


def _why(error: duckdb.Error, table: DataTable, folder: Path) -> str:
    """What is wrong with a table's files, and what to do."""
    if table.is_parquet:
        cut = next((file.relative_to(folder).as_posix() for file in table.files if is_cut(file)), "")
        damaged = type(error).__name__ in ("InternalException", "FatalException")
        why = f"it is damaged: {discreet_line(error)}; write it anew" if damaged else discreet_line(error)
        return f"{cut} does not end as a Parquet file does" if cut else why
    return fault(error)


def _create(connection: duckdb.DuckDBPyConnection, table: DataTable, read: str, loaded: bool) -> str:
    """Make a table of what reads its data files, or a view where they are not to be loaded or memory is short."""
    import duckdb  # noqa: PLC0415

    kind = "TABLE" if loaded else "VIEW"
    try:
        connection.execute(f"CREATE {kind} {quoted(table.name)} AS {read}")
    except duckdb.OutOfMemoryException:
        if not loaded:
            raise
        return _create(connection, table, read, False)
    return kind


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
    if not is_packed(file):
        return file.stat().st_size
    count = 0
    with suppress(OSError, EOFError, zlib.error), opened(file) as stream:  # DuckDB will say what is wrong with it
        while count <= most and (piece := stream.read(2**20)):
            count += len(piece)
    return count


def _unpacks_too_far(table: DataTable) -> bool:
    """Whether its packed files hold more than `UNPACKED` bytes. To find out how a CSV is written DuckDB reads all of
    it, and over one the whole folder would take too long."""
    packed = [file for file in table.files if is_packed(file) and file.exists()]
    if sum(file.stat().st_size for file in packed) * _DEFLATED <= UNPACKED:
        return False
    room = UNPACKED
    for file in packed:
        if room >= 0:
            status = file.stat()
            room -= _unpacked(file, room, status.st_size, status.st_mtime_ns)
    return room < 0


@lru_cache(maxsize=256)
def _unpacked(file: Path, most: int, _size: int, _written: int) -> int:
    """`_text_bytes` of a file that is asked for at each opening of its folder."""
    return _text_bytes(file, most)


def _query(connection: duckdb.DuckDBPyConnection, table: DataTable) -> tuple[str, list[str]]:
    """What reads a table's files, wherever they lie (to DuckDB any folder `year=2024` is a column), and remarks on it.

    How a CSV is written is said once: every statement over a view would look anew, at every row, which takes three
    times as long as to read them. Parts may be written each in its own way.
    """
    if table.folder is None and not table.is_parquet:
        return read_file(connection, table.files[0])
    files = table.files
    chosen, filled, remarks = "*", "", list[str]()
    settings = f"hive_partitioning={str(bool(table.partitions)).lower()}"
    if table.partitions and table.above:
        chosen += f" EXCLUDE ({quoted_list(sorted(table.above))})"
    if table.is_parquet:
        settings += ", union_by_name=true" if table.folder else ""  # parts that were written later have further columns
    else:
        files = tuple(file for file in files if file.stat().st_size) or files[:1]  # an empty part has no column
        told, replaced, filled, remarks = read_parts(connection, files, table.folder or files[0].parent)
        settings += f", {told}"
        chosen += replaced
    reader = "read_parquet" if table.is_parquet else "read_csv"
    return f"SELECT {chosen} FROM {reader}({patterns(files)}, {settings}){filled}", remarks
