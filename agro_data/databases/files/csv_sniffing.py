"""How a CSV is written: its delimiter and quotes, its header, and the lines above it.

DuckDB's sniffer skips lines until the rest fits, and takes lines that begin with `#` for comments. Here it looks at
every row, and the lines that it skips must look like a title.
"""

from __future__ import annotations

import csv
import glob
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

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
EVERY_LINE = f"skip=0, {_NO_COMMENTS}"
DOUBLED = """quote='"', escape='"'"""
_YEAR = re.compile(r"1[6-9]\d\d|20\d\d")
_LOOKED_THROUGH = 1_000_000  # rows among which one is sought that differs


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


def patterns(files: Iterable[Path | str]) -> str:
    """Files for DuckDB's readers, which read a name as a pattern: `report [1].csv` would match `report 1.csv`."""
    return f"[{', '.join(literal(glob.escape(str(file))) for file in files)}]"


def reader(path: str, written: Written) -> str:
    """SQL of what reads a file that is so written."""
    return f"read_csv({patterns([path])}, {written.settings()}, hive_partitioning=false)"


def written_as(connection: duckdb.DuckDBPyConnection, file: Path, end: int | None = None) -> tuple[Written, list[str]]:
    """How a file is written, up to the line `end` if rows do not go on, and remarks on its lines."""
    if title := lines_above(file, DELIMITERS):
        written = replace(sniffed(connection, file, f"skip={title}, {_NO_COMMENTS}", end), skipped=title)
        if written.header and not written.uncut:
            return written, [_title_told(title)]
    written, remarks = sniffed(connection, file, _NO_COMMENTS, end), []
    if skipped := written.skipped:
        if mark := _mark_of_header(file, written):
            own = written.marks["delim"]
            raise NoTable(f"has {mark!r} between the names of its header and {own!r} in its rows; write both with one")
        above = _title(file, written)
        if above is not None:
            return written, [_title_told(above)] * bool(above)
        cells = len(written.columns)
        written = sniffed(connection, file, EVERY_LINE, end)
        if len(written.columns) == 1 < cells:
            remarks.append(f"each line is one cell, though those below line {skipped} could be cut into {cells}")
    if written.uncut:
        raise NoTable(ragged(file, written.uncut))
    return written, remarks


def _title_told(above: int) -> str:
    lines = "first line is" if above == 1 else f"first {above} lines are"
    return f"its {lines} taken for a title or comment above the header, and no row"


def ragged(file: Path, mark: str) -> str:
    """What is told of a file with ragged rows, with a delimiter in the name of its only column."""
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


def sniffed(connection: duckdb.DuckDBPyConnection, file: Path, settings: str, end: int | None = None) -> Written:
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
    return replace(_looked_at(connection, file, f"{settings}, {DOUBLED}", end), doubled=True) if odd else found


def are_doubled(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], parts: Sequence[Written]) -> bool:
    """Whether the engine is to be told that quotes are doubled: it finds another escape in a part, and no part has
    quotes or escapes of its own."""
    if not any(part.doubled for part in parts):
        return False
    own = {part.marks.get(mark) for part in parts for mark in ("quote", "escape")} - {"", '"', None}
    return not own and all(
        part.doubled or _looked_at(connection, file, f"{EVERY_LINE}, {DOUBLED}", None).columns == part.columns
        for file, part in zip(files, parts, strict=True)
    )


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
            rows = f"SELECT 1 FROM {reader(path, as_texts)} WHERE {where} LIMIT 1"
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
