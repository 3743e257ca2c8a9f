"""What reads the rows of a CSV, or of the parts of one: found once, at every row, so that no row is lost and no value
is guessed without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agro_data.databases.errors import discreet_line
from agro_data.databases.files.csv_amounts import amounts_in, remarks_on_amounts
from agro_data.databases.files.csv_dates import date_formats, dates_in, remarks_on_dates, stays_text
from agro_data.databases.files.csv_footnotes import ends_as_rows_do, footnotes
from agro_data.databases.files.csv_numbers import numbers_in, remarks_on
from agro_data.databases.files.csv_sniffing import (
    DELIMITERS,
    DOUBLED,
    EVERY_LINE,
    NoTable,
    Written,
    are_doubled,
    patterns,
    ragged,
    reader,
    sniffed,
    written_as,
)
from agro_data.databases.files.text_files import readable
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

NOT_WHOLE = "it is no whole gzip file; give a whole copy"
# Words of the engine's message that show why it cannot read a file, and our words for the cause and the remedy.
_FAULTS = {
    "not utf-8 encoded": "it is not UTF-8; save it as CSV in UTF-8",
    "to automatically detect the CSV parsing": "no delimiter, quote and end of line fit all of its lines (some may end "
    "as on Windows and others not); save it anew as CSV",
    "\nMaximum line size of": "it has a row of more than 2 MB (is a quote not closed?); mend it, or give it as Parquet",
    "Out of Memory Error": "it takes more memory than DuckDB is given here; give it as Parquet",
    "GZIP": NOT_WHOLE,
}


def read_file(connection: duckdb.DuckDBPyConnection, file: Path) -> tuple[str, list[str]]:
    """What reads the rows of a CSV, and remarks on it. Raises `NoTable` and `duckdb.Error`."""
    import duckdb  # noqa: PLC0415

    if ends_as_rows_do(file, DELIMITERS) and (found := _without_footnotes(connection, file)) is not None:
        return found
    try:
        written, remarks = written_as(connection, file)
    except (NoTable, duckdb.InvalidInputException):
        found = _without_footnotes(connection, file)
        if found is None:
            raise
        return found
    if len(written.columns) == 1 and (found := _without_footnotes(connection, file)) is not None:
        return found  # rows of several cells between a title and notes of one
    query, further = _query(connection, file, written)
    return query, [*remarks, *further]


def _without_footnotes(connection: duckdb.DuckDBPyConnection, file: Path) -> tuple[str, list[str]] | None:
    """What reads the rows of a CSV above its notes; None where it has none, or they cannot be told from rows."""
    below = footnotes(file, DELIMITERS)
    if below is None:
        return None
    written, remarks = written_as(connection, file, below.end)
    with readable(file, below.end) as path:
        rows = _filled_rows(connection, f"SELECT * FROM {reader(path, written)}", written)
    marks = dict(written.marks)
    if not marks.get("quote") and not written.skipped:  # lines of a title are counted otherwise where quotes are known
        marks["quote"] = '"'  # around a note
    over = replace(
        written, marks=marks, passes_over=True, passes_over_padded=below.padded, passes_over_prose=below.prose
    )
    query, further = _query(connection, file, over)
    if _filled_rows(connection, query, written) != rows:
        return None
    lines = "last line is" if below.filled == 1 else f"last {below.filled} lines are"
    told = [f"its {lines} taken for notes below the rows, and no row"] * bool(below.filled)
    return query, [*remarks, *told, *further]


def _filled_rows(connection: duckdb.DuckDBPyConnection, query: str, written: Written) -> object:
    """How many rows hold something."""
    counted = f"SELECT count(*) FROM ({query}) WHERE {_holds_something(written.columns)}"
    return connection.execute(counted).fetchall()[0][0]


def _holds_something(columns: Iterable[str]) -> str:
    return " OR ".join(f"{quoted(name)} IS NOT NULL" for name in columns)


def _blank_rows(connection: duckdb.DuckDBPyConnection, query: str, columns: Collection[str]) -> tuple[str, list[str]]:
    """The SQL of which rows are no blank lines, and a remark that some are; nothing where there are none, or no column
    shows that rows that hold nothing are none: it has a value in all others."""
    if len(columns) < 2:
        return "", []
    held = ", ".join(f"count({quoted(name)})" for name in columns)
    filled = _holds_something(columns)
    blank = f"count(*) FILTER (WHERE NOT ({filled}))"
    every, nothing, *counts = connection.execute(f"SELECT count(*), {blank}, {held} FROM ({query})").fetchall()[0]
    if not 0 < nothing < every or every - nothing not in counts:
        return "", []
    lines = "line that holds nothing is" if nothing == 1 else f"{nothing} lines that hold nothing are"
    return f" WHERE {filled}", [f"its {lines} taken for no row"]


def _query(connection: duckdb.DuckDBPyConnection, file: Path, written: Written) -> tuple[str, list[str]]:
    """What reads the rows of a file that is so written, and remarks on its columns."""

    def query(texts: Sequence[str], formats: Mapping[str, str], chosen: str = "*") -> str:
        columns = {name: "VARCHAR" if name in texts else kind for name, kind in written.columns.items()}
        written_so = reader(str(file), replace(written, columns=columns, marks={**written.marks, **formats}))
        first, *others = map(quoted, columns)
        begins = f"coalesce(trim(CAST({first} AS VARCHAR)), '')"
        held: list[str] = []
        if padded := ", ".join(map(literal, written.passes_over_padded)):
            filled = [f"{name} IS NOT NULL" for name in others]
            held.append(f"({' OR '.join([*filled, f'{begins} NOT IN ({padded})'])})")
        if prose := ", ".join(map(literal, written.passes_over_prose)):
            held.append(f"{begins} NOT IN ({prose})")
        where = f" WHERE {' AND '.join(held)}" if held else ""
        return f"SELECT {chosen} FROM {written_so}{where}"

    texts, formats = date_formats(connection, [written], lambda columns: query(columns, {}))
    chosen, remarks = _with_texts_read(connection, query(texts, formats), [written], texts)
    rows = query(texts, formats, f"*{chosen}")
    filled, told = _blank_rows(connection, query(texts, formats), written.columns)
    return f"SELECT * FROM ({rows}){filled}" if filled else rows, [*told, *remarks]


def _with_texts_read(
    connection: duckdb.DuckDBPyConnection, rows: str, parts: Sequence[Written], open_dates: Sequence[str]
) -> tuple[str, list[str]]:
    """What replaces in `*` columns of `rows` that are numbers or dates written as texts, or nothing, and remarks on
    them and on the columns whose dates leave day and month open."""
    kept = dict.fromkeys(name for part in parts for name, kind in part.columns.items() if kind == "VARCHAR")
    commas = "," if any(part.marks["delim"] == "," for part in parts) else ""
    numbers = numbers_in(connection, rows, {name: quoted(name) for name in kept}, commas)
    amounts = amounts_in(connection, rows, [name for name in kept if name not in numbers])
    numbers |= numbers_in(connection, rows, {name: one.text for name, one in amounts.items()}, commas, amounts=True)
    dates = dates_in(connection, rows, [name for name in kept if name not in numbers])
    read = {name: one.read for name, one in numbers.items()} | dates
    replaced = ", ".join(f"{one} AS {quoted(name)}" for name, one in read.items() if one)
    remarks = [stays_text(name) for name in open_dates if name not in dates]
    remarks += remarks_on(numbers) + remarks_on_amounts(amounts, numbers) + remarks_on_dates(dates)
    return f" REPLACE ({replaced})" * bool(replaced), remarks


class Parts(NamedTuple):
    """How `read_csv` reads the parts of a table, what replaces columns in `*` of their rows, which of these are rows,
    and remarks."""

    settings: str
    replaced: str
    filled: str
    remarks: list[str]


def read_parts(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], folder: Path) -> Parts:
    """How parts below `folder` are read. Each may have its own delimiters and further columns. Raises `NoTable` and
    `duckdb.Error`.
    """
    parts = [sniffed(connection, file, EVERY_LINE) for file in files]
    first = parts[0]
    for file, part in zip(files, parts, strict=True):
        name = file.relative_to(folder).as_posix()
        if part.uncut:
            raise NoTable(f"{name} {ragged(file, part.uncut)}")
        if part.header != first.header:
            with_it, without = (files[0], file) if first.header else (file, files[0])
            raise NoTable(
                f"{without.relative_to(folder).as_posix()} has no header as {with_it.relative_to(folder).as_posix()} "
                "has; give each part the same header"
            )
        if not part.columns.keys() & first.columns.keys():
            raise NoTable(
                f"{name} has no column that {files[0].relative_to(folder).as_posix()} has: give each part the same "
                "header, or move it to a folder of its own"
            )

    doubled = are_doubled(connection, files, parts)

    def settings(texts: Sequence[str], formats: Mapping[str, str]) -> str:
        told = [f"{EVERY_LINE}, header={first.header}, union_by_name=true, sample_size=-1"]
        told += [DOUBLED] * doubled
        told += [f"{name}={literal(mark)}" for name, mark in formats.items()]
        types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in texts)
        return ", ".join([*told, *([f"types={{{types}}}"] if texts else [])])

    def query(texts: Sequence[str], formats: Mapping[str, str]) -> str:
        return f"SELECT * FROM read_csv({patterns(files)}, {settings(texts, formats)}, hive_partitioning=false)"

    texts, formats = date_formats(connection, parts, lambda columns: query(columns, {}))
    rows = query(texts, formats)
    replaced, remarks = _with_texts_read(connection, rows, parts, texts)
    filled, told = _blank_rows(connection, rows, {name: None for part in parts for name in part.columns})
    return Parts(settings(texts, formats), replaced, filled, [*told, *remarks])


def fault(error: duckdb.Error) -> str:
    """Why a CSV cannot be read, and what to do; the engine's words may quote a row."""
    said = str(error)
    known = next((words for mark, words in _FAULTS.items() if mark in said), "")
    return known or f"{discreet_line(error)}; save it anew as CSV in UTF-8"
