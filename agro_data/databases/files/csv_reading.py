"""How a CSV is written: found once, at every row, so that no row is lost and no date is guessed without a word.

DuckDB's sniffer skips lines until the rest fits, takes lines that begin with `#` for comments, and reads `01/02/2024`
by the first format that fits. Here the lines that it skips must look like a title, and such dates stay texts.
"""

from __future__ import annotations

import csv
import glob
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agro_data.databases.errors import discreet_line
from agro_data.databases.files.csv_amounts import amounts_in, remarks_on_amounts
from agro_data.databases.files.csv_dates import dates_in, remarks_on_dates, stays_text
from agro_data.databases.files.csv_footnotes import ends_as_rows_do, footnotes
from agro_data.databases.files.csv_numbers import numbers_in, remarks_on
from agro_data.databases.files.csv_padding import TITLE_LINES, lines_above
from agro_data.databases.files.text_files import LONGEST_LINE, opened, readable
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

DELIMITERS = ",;\t|"
YEARS = 3  # behind each other in a line that is a header
# What `sniff_csv` finds of how a file is written, and what `read_csv` calls it.
_MARKS = {
    "Delimiter": "delim",
    "Quote": "quote",
    "Escape": "escape",
    "NewLineDelimiter": "new_line",
    "DateFormat": "dateformat",
    "TimestampFormat": "timestampformat",
}
_LOOK = ", ".join(("Columns", "HasHeader", "SkipRows", *_MARKS))
_NO_COMMENTS = "comment=''"  # else each line that begins with `#` would be one, be it a row of numbers `#17`
_EVERY_LINE = f"skip=0, {_NO_COMMENTS}"
_DOUBLED = """quote='"', escape='"'"""
_FORMATS = {"dateformat": "DATE", "timestampformat": "TIMESTAMP"}  # and the types of columns that are written so
_DAY = re.compile(r"%[dmyY]")
_YEAR = re.compile(r"1[6-9]\d\d|20\d\d")
_LOOKED_THROUGH = 1_000_000  # rows among which one is sought that differs

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


class NoTable(Exception):
    """The rows of a file cannot be told; the message says why and what to do."""


@dataclass(frozen=True)
class Written:
    """How a file is written, and the columns that it has."""

    columns: Mapping[str, str]  # types by name
    header: bool
    skipped: int  # lines above the header
    marks: Mapping[str, str]
    doubled: bool = False  # a quote in a cell is written twice, whatever the engine takes for an escape
    passes_over: bool = False  # lines with another number of cells, or another type, which are no rows
    passes_over_padded: tuple[str, ...] = ()  # first cells, "" too, of lines that hold nothing else and are no rows
    passes_over_prose: tuple[str, ...] = ()  # first cells of lines that are none, whatever else they hold

    def settings(self) -> str:
        """What `read_csv` is told, so that it does not look itself."""
        columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in self.columns.items())
        marks = ", ".join(f"{name}={literal(mark)}" for name, mark in self.marks.items())
        skip = f"skip={self.skipped}, {_NO_COMMENTS}{', ignore_errors=true' * self.passes_over}"
        return f"auto_detect=false, {skip}, header={self.header}, {marks}, columns={{{columns}}}"

    @property
    def uncut(self) -> str:
        """A delimiter in the name of the only column, or "": a file with ragged rows is read so, line by line."""
        name = next(iter(self.columns))
        return next((mark for mark in DELIMITERS if mark in name), "") if len(self.columns) == 1 else ""


def read_file(connection: duckdb.DuckDBPyConnection, file: Path) -> tuple[str, list[str]]:
    """What reads the rows of a CSV, and remarks on it. Raises `NoTable` and `duckdb.Error`."""
    import duckdb  # noqa: PLC0415

    if ends_as_rows_do(file, DELIMITERS) and (found := _without_footnotes(connection, file)) is not None:
        return found
    try:
        written, remarks = _written(connection, file)
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
    written, remarks = _written(connection, file, below.end)
    with readable(file, below.end) as path:
        rows = _filled_rows(connection, f"SELECT * FROM {_reader(path, written)}", written)
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
        reader = _reader(str(file), replace(written, columns=columns, marks={**written.marks, **formats}))
        first, *others = map(quoted, columns)
        begins = f"coalesce(trim(CAST({first} AS VARCHAR)), '')"
        held: list[str] = []
        if padded := ", ".join(map(literal, written.passes_over_padded)):
            filled = [f"{name} IS NOT NULL" for name in others]
            held.append(f"({' OR '.join([*filled, f'{begins} NOT IN ({padded})'])})")
        if prose := ", ".join(map(literal, written.passes_over_prose)):
            held.append(f"{begins} NOT IN ({prose})")
        where = f" WHERE {' AND '.join(held)}" if held else ""
        return f"SELECT {chosen} FROM {reader}{where}"

    texts, formats = _dates(connection, [written], lambda columns: query(columns, {}))
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
    parts = [_sniffed(connection, file, _EVERY_LINE) for file in files]
    first = parts[0]
    for file, part in zip(files, parts, strict=True):
        name = file.relative_to(folder).as_posix()
        if part.uncut:
            raise NoTable(f"{name} {_ragged(file, part.uncut)}")
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

    doubled = _are_doubled(connection, files, parts)

    def settings(texts: Sequence[str], formats: Mapping[str, str]) -> str:
        told = [f"{_EVERY_LINE}, header={first.header}, union_by_name=true, sample_size=-1"]
        told += [_DOUBLED] * doubled
        told += [f"{name}={literal(mark)}" for name, mark in formats.items()]
        types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in texts)
        return ", ".join([*told, *([f"types={{{types}}}"] if texts else [])])

    def query(texts: Sequence[str], formats: Mapping[str, str]) -> str:
        return f"SELECT * FROM read_csv({patterns(files)}, {settings(texts, formats)}, hive_partitioning=false)"

    texts, formats = _dates(connection, parts, lambda columns: query(columns, {}))
    rows = query(texts, formats)
    replaced, remarks = _with_texts_read(connection, rows, parts, texts)
    filled, told = _blank_rows(connection, rows, {name: None for part in parts for name in part.columns})
    return Parts(settings(texts, formats), replaced, filled, [*told, *remarks])


def _are_doubled(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], parts: Sequence[Written]) -> bool:
    """Whether the engine is to be told that quotes are doubled: it finds another escape in a part, and no part has
    quotes or escapes of its own."""
    if not any(part.doubled for part in parts):
        return False
    own = {part.marks.get(mark) for part in parts for mark in ("quote", "escape")} - {"", '"', None}
    return not own and all(
        part.doubled or _looked_at(connection, file, f"{_EVERY_LINE}, {_DOUBLED}", None).columns == part.columns
        for file, part in zip(files, parts, strict=True)
    )


def _reader(path: str, written: Written) -> str:
    return f"read_csv({patterns([path])}, {written.settings()}, hive_partitioning=false)"


def patterns(files: Iterable[Path | str]) -> str:
    """Files for DuckDB's readers, which read a name as a pattern: `report [1].csv` would match `report 1.csv`."""
    return f"[{', '.join(literal(glob.escape(str(file))) for file in files)}]"


def fault(error: duckdb.Error) -> str:
    """Why a CSV cannot be read, and what to do; the engine's words may quote a row."""
    said = str(error)
    known = next((words for mark, words in _FAULTS.items() if mark in said), "")
    return known or f"{discreet_line(error)}; save it anew as CSV in UTF-8"


# --- lines and cells ---------------------------------------------------------------------------------------------


def _written(connection: duckdb.DuckDBPyConnection, file: Path, end: int | None = None) -> tuple[Written, list[str]]:
    """How a file is written, up to the line `end` if rows do not go on, and remarks on its lines."""
    if title := lines_above(file, DELIMITERS):
        written = replace(_sniffed(connection, file, f"skip={title}, {_NO_COMMENTS}", end), skipped=title)
        if written.header and not written.uncut:
            return written, [_title_told(title)]
    written, remarks = _sniffed(connection, file, _NO_COMMENTS, end), []
    if skipped := written.skipped:
        if mark := _mark_of_header(file, written):
            own = written.marks["delim"]
            raise NoTable(f"has {mark!r} between the names of its header and {own!r} in its rows; write both with one")
        above = _title(file, written)
        if above is not None:
            return written, [_title_told(above)] * bool(above)
        cells = len(written.columns)
        written = _sniffed(connection, file, _EVERY_LINE, end)
        if len(written.columns) == 1 < cells:
            remarks.append(f"each line is one cell, though those below line {skipped} could be cut into {cells}")
    if written.uncut:
        raise NoTable(_ragged(file, written.uncut))
    return written, remarks


def _title_told(above: int) -> str:
    lines = "first line is" if above == 1 else f"first {above} lines are"
    return f"its {lines} taken for a title or comment above the header, and no row"


def _ragged(file: Path, mark: str) -> str:
    return (
        f"would be one column with {mark!r} in its name: its rows have not all the same number of cells"
        f"{_first_odd(file, mark)}; mend those that differ, delete lines that are none (a title, comments, footnotes), "
        "or rename the column"
    )


def _first_odd(file: Path, mark: str) -> str:
    """The first line with another number of cells than most have, in brackets."""
    first: dict[int, int] = {}
    counts: Counter[int] = Counter()
    with opened(file) as stream, suppress(csv.Error):
        rows = csv.reader((line.decode(errors="replace") for line in stream), delimiter=mark)
        for cells in islice(rows, _LOOKED_THROUGH):
            if cells:
                first.setdefault(len(cells), rows.line_num)
                counts[len(cells)] += 1
    usual = counts.most_common(1)[0][0] if counts else 0
    odd = min((line for cells, line in first.items() if cells != usual), default=0)
    return f" (line {odd} is the first that has not {usual})" if odd else ""


def _sniffed(connection: duckdb.DuckDBPyConnection, file: Path, settings: str, end: int | None = None) -> Written:
    """How a file is written, as DuckDB finds it at every row; a header of years is one, too."""
    found = _found(connection, file, settings, end)
    if found.header or not _is_header_of_years(line := _first_line(file, found), found.columns):
        return found
    lines = settings if "skip=" in settings else f"{settings}, skip={found.skipped}"
    named = replace(_found(connection, file, f"{lines}, header=true", end), skipped=found.skipped)
    return found if _is_row_of_years(connection, file, named, line, end) else named


def _found(connection: duckdb.DuckDBPyConnection, file: Path, settings: str, end: int | None) -> Written:
    """How a file is written. To DuckDB "1'234.50" is a number with an escape in it: an apostrophe is none between
    quotes of another kind.
    """
    found = _looked_at(connection, file, settings, end)
    odd = found.marks.get("quote") == '"' and found.marks.get("escape") == "'"
    return replace(_looked_at(connection, file, f"{settings}, {_DOUBLED}", end), doubled=True) if odd else found


def _looked_at(connection: duckdb.DuckDBPyConnection, file: Path, settings: str, end: int | None) -> Written:
    with readable(file, end) as path:
        columns, header, skipped, *marks = connection.execute(
            f"SELECT {_LOOK} FROM sniff_csv({literal(glob.escape(path))}, sample_size=-1, {settings})"
        ).fetchall()[0]
    return Written(
        {column["name"]: column["type"] for column in columns},
        header,
        skipped,
        {
            name: "" if mark == "(empty)" else mark
            for name, mark in zip(_MARKS.values(), marks, strict=True)
            if mark is not None
        },
    )


def _first_line(file: Path, written: Written) -> list[str]:
    """The cells of the first line that was not skipped."""
    with opened(file) as stream:
        for _ in range(written.skipped):
            stream.readline(LONGEST_LINE)
        line = stream.readline(LONGEST_LINE).decode(errors="replace").removeprefix("\ufeff")
    quote = written.marks.get("quote") or None
    cells = csv.reader(
        [line],
        delimiter=written.marks["delim"],
        quotechar=quote,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )
    return [cell.strip() for cell in next(cells, [])]


def _is_header_of_years(cells: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Whether a line names columns of texts and, behind each other, of years, as `Country,1960,1961,1962`. To DuckDB it
    is a row like those below, where a year is a number among numbers."""
    years = [int(cell) for cell in cells if _YEAR.fullmatch(cell)]
    named = [cell for cell in cells if cell and not _YEAR.fullmatch(cell)]
    follow = years == list(range(years[0], years[0] + len(years))) if len(years) >= YEARS else False
    texts = not any(character.isdecimal() for cell in named for character in cell[:1])
    return follow and bool(named) and texts and len({*named}) == len(named) and len(cells) == len(columns)


def _is_row_of_years(
    connection: duckdb.DuckDBPyConnection, file: Path, named: Written, line: Sequence[str], end: int | None
) -> bool:
    """Whether below a line that may be a header of years there are rows, and in its columns of years they hold nothing
    but years, as `Norway,2001,2002,2003` above `Peru,1998,2004,2011`."""
    as_texts = replace(named, columns=dict.fromkeys(named.columns, "VARCHAR"))
    years = [quoted(name) for name, cell in zip(named.columns, line, strict=True) if _YEAR.fullmatch(cell)]
    others = " OR ".join(f"NOT regexp_full_match(trim({year}), {literal(_YEAR.pattern)})" for year in years)

    def has(where: str) -> bool:
        with readable(file, end) as path:
            rows = f"SELECT 1 FROM {_reader(path, as_texts)} WHERE {where} LIMIT 1"
            return connection.execute(rows).fetchone() is not None

    return not has(others) and has(f"coalesce({', '.join(years)}) IS NOT NULL")


def _mark_of_header(file: Path, written: Written) -> str:
    """What parts the line above the rows into as many names as they have cells, where it is another delimiter and the
    rows have no header; "" if it does not: a title may have a comma, with a gap behind it.
    """
    if written.header:
        return ""
    with opened(file) as stream:
        lines = [stream.readline(LONGEST_LINE) for _ in range(written.skipped)]
    last = lines[-1].decode(errors="replace").removeprefix("\ufeff").strip()
    for mark in DELIMITERS.replace(written.marks["delim"], ""):
        cells = last.split(mark)
        names = {cell.strip().strip('"').casefold() for cell in cells if cell[:1] != " "}
        if len(names) == len(cells) == len(written.columns) > 1 and "" not in names:
            return mark
    return ""


def _title(file: Path, written: Written) -> int | None:
    """How many of the lines that were skipped hold something; None where they may be rows.

    A title is few lines without a cell's end, and not more than there are lines below it; comments begin with `#`.
    Above a blank line a title may have cells, fewer than the table.
    """
    if written.skipped > TITLE_LINES:
        return None
    with opened(file) as stream:
        lines = [stream.readline(LONGEST_LINE).strip() for _ in range(written.skipped)]
        below = sum(1 for _ in islice(iter(lambda: stream.readline(LONGEST_LINE), b""), 1 + written.skipped)) - 1
    filled = [line for line in lines if line.removeprefix(b"\xef\xbb\xbf")]
    titles = [line for line in filled if not line.removeprefix(b"\xef\xbb\xbf").startswith(b"#")]
    ends = 0 if lines[-1] else len(written.columns) - 2  # of cells, in one of a line
    if len(titles) > below or any(line.count(written.marks["delim"].encode()) > max(ends, 0) for line in titles):
        return None
    return len(filled)


# --- dates -------------------------------------------------------------------------------------------------------


def _dates(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[Written], as_texts: Callable[[Sequence[str]], str]
) -> tuple[list[str], dict[str, str]]:
    """Columns whose dates leave day and month open, and the formats of the columns whose dates do not.

    All columns of a kind are written in one format, which must be the only one that fits every value. `as_texts` reads
    the rows with some columns as texts.
    """
    texts: list[str] = []
    formats: dict[str, str] = {}
    for name, kind in _FORMATS.items():
        found = list(dict.fromkeys(part.marks[name] for part in parts if name in part.marks))
        columns = [
            *dict.fromkeys(
                column for part in parts if name in part.marks for column, held in part.columns.items() if held == kind
            )
        ]
        tried = list(dict.fromkeys(other for each in found for other in (each, *_other_orders(each))))
        if not columns or len(tried) < 2:
            continue
        fitting = _fitting(connection, as_texts(columns), columns, tried)
        if len(fitting) == 1:
            formats[name] = fitting[0]
        else:
            texts += columns
    return texts, formats


def _other_orders(form: str) -> list[str]:
    """Formats with the day, month and year of this one in another order; none where the year has four digits and is
    the first."""
    order = _DAY.findall(form)
    if sorted(order) not in (["%Y", "%d", "%m"], ["%d", "%m", "%y"]) or order[0] == "%Y":
        return []
    year = next(part for part in order if part in ("%y", "%Y"))
    orders = [["%d", "%m", year], ["%m", "%d", year], *([[year, "%m", "%d"]] if year == "%y" else [])]
    return [_DAY.sub("{}", form).format(*other) for other in orders if other != order]


def _fitting(
    connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str], formats: Sequence[str]
) -> list[str]:
    """The formats that every value of the columns fits, one of those that read all of them alike."""
    cells = [
        (quoted(column), f"try_strptime({quoted(column)}, {literal(form)})") for form in formats for column in columns
    ]
    fits = ", ".join(f"bool_and({column} IS NULL OR {date} IS NOT NULL)" for column, date in cells)
    sums = ", ".join(f"sum(hash({column}, {date}))" for column, date in cells)
    row = connection.execute(f"SELECT {fits}, {sums} FROM ({rows})").fetchall()[0]
    read: dict[tuple[object, ...], str] = {}
    for at, form in enumerate(formats):
        place = slice(at * len(columns), (at + 1) * len(columns))
        if all(held is not False for held in row[: len(cells)][place]):
            read.setdefault(row[len(cells) :][place], form)
    return list(read.values())
