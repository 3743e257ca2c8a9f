"""Tables of DuckDB made of a folder's data files: read into memory, or views that read the files anew.

Imports the standard library only, as `opening` does.
"""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agro_data.databases.data_files import DataTable, data_tables, is_cut
from agro_data.databases.errors import discreet_line
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

DELIMITERS = ",;\t|"
CSV_LOADED = 256 * 2**20  # bytes of CSV, of all tables of a folder, read once into memory; others are views over files
# What `sniff_csv` finds of how a file is written, and what `read_csv` calls it.
_MARKS = {
    "Delimiter": "delim",
    "Quote": "quote",
    "Escape": "escape",
    "NewLineDelimiter": "new_line",
    "Comment": "comment",
    "DateFormat": "dateformat",
    "TimestampFormat": "timestampformat",
}
_LOOK = ", ".join(("Columns", "HasHeader", "SkipRows", *_MARKS))


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
    one_csv = table.folder is None and not table.is_parquet  # parts may be written each in its own way
    try:
        read = _looked_at(connection, table.files[0]) if one_csv and not loaded else _query(table)
        connection.execute(f"CREATE {kind} {quoted(table.name)} AS {read}")
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
    """What reads a table's files, wherever they lie: to DuckDB any folder `year=2024` is a column."""
    patterns = ", ".join(map(_pattern, table.files))
    settings = f"hive_partitioning={str(bool(table.partitions)).lower()}"
    if table.folder is not None:
        settings += ", union_by_name=true"  # parts that were written later may have further columns
    if not table.is_parquet:
        settings += ", sample_size=-1"
    reader = "read_parquet" if table.is_parquet else "read_csv"
    above = ", ".join(map(quoted, sorted(table.above))) if table.partitions else ""
    return f"SELECT * {f'EXCLUDE ({above}) ' if above else ''}FROM {reader}([{patterns}], {settings})"


def _looked_at(connection: duckdb.DuckDBPyConnection, file: Path) -> str:
    """What reads a CSV as a first look found it to be written and typed: over `_query` every statement looks anew, at
    every row, which takes three times as long as to read them."""
    columns, header, skip, *marks = connection.execute(
        f"SELECT {_LOOK} FROM sniff_csv({_pattern(file)}, sample_size=-1)"
    ).fetchall()[0]
    types = ", ".join(f"{literal(column['name'])}: {literal(column['type'])}" for column in columns)
    written = [
        f"{name}={literal('' if mark == '(empty)' else mark)}"
        for name, mark in zip(_MARKS.values(), marks, strict=True)
        if mark is not None
    ]
    settings = ", ".join((*written, f"header={header}", f"skip={skip}", f"columns={{{types}}}"))
    return f"SELECT * FROM read_csv({_pattern(file)}, auto_detect=false, hive_partitioning=false, {settings})"


def _pattern(file: Path) -> str:
    """A file to DuckDB's readers, for which a name is a pattern: `report [1].csv` that of `report 1.csv`."""
    return literal(glob.escape(str(file)))
