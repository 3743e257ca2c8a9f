"""Notes and blank lines below the rows of a CSV, as statistical offices write them: the source, what a star means."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from agro_data.databases.files.csv_padding import TITLE_LINES, is_padded, last_lines, padded_at_end
from agro_data.databases.files.text_files import opened

_LINES = 30  # of notes, filled ones
_ROWS = 1_000_000  # a file with more is no table that somebody wrote notes below
_NOTE = re.compile(
    r"\W*(?:notes?|footnotes?|sources?|legend|explanations?|remarks?|copyright|last updated|data (?:from|source)|"
    r"figures|quelle|anmerkung(?:en)?|fu(?:ß|ss)noten?)\b|[*†‡#©]|\(?\d{1,2}\)|\[\d{1,2}\]|\([a-z]\)",
    re.IGNORECASE,
)


@dataclass(frozen=True, order=True)
class Footnotes:
    """What stands below the rows of a file."""

    cells: int  # that each row has
    end: int  # the line of the last row
    filled: int  # lines below it
    padded: tuple[str, ...]  # first cells of lines there that have a row's cells, and nothing in the others
    prose: tuple[str, ...] = ()  # first cells of those that a delimiter cuts into as many, as a comma does words


def footnotes(file: Path, delimiters: str) -> Footnotes | None:
    """The notes and the blank lines below the rows of a file; None where there are none, or nothing shows that the
    lines below are notes, and not rows of which a part is lost.

    Notes have another number of cells than the rows, all of which have the same, or are padded to these, or are words
    with gaps behind the delimiters, as no row has them; they follow a blank line, or begin as notes do.
    """
    return max((found for mark in delimiters if (found := _below(file, mark))), default=None)


def ends_as_rows_do(file: Path, delimiters: str) -> bool:
    """Whether a look at the end of a file shows notes or blank lines that may have as many cells as a row: to the
    engine they are rows like others."""
    lines = last_lines(file)
    ends = (padded_at_end(lines, mark) for mark in delimiters)
    last = next((line for line in reversed(lines) if line.strip()), "")
    prose = any(_is_prose(next(csv.reader([last], delimiter=mark), [])) for mark in delimiters)
    return prose or any(cells and _begins(cells[0], True) for cells in ends)


class _Row(NamedTuple):
    """A row of a CSV, be it one of the table or not."""

    ends: int  # its last line
    cells: int
    first: str  # cell that holds something; "" of a blank line
    padded: bool
    gaps: bool  # behind a delimiter, before what a cell holds
    prose: bool


def _below(file: Path, mark: str) -> Footnotes | None:
    seen: list[_Row] = []
    with opened(file) as stream:
        reader = csv.reader((line.decode(errors="replace") for line in stream), delimiter=mark)
        read = (
            _Row(
                reader.line_num,
                len(cells),
                next((c for c in map(str.strip, cells) if c), ""),
                is_padded(cells),
                any(cell[:1] == " " and cell.strip() for cell in cells[1:]),
                _is_prose(cells),
            )
            for cells in islice(reader, _ROWS)
        )
        try:
            seen += islice(read, TITLE_LINES + 1)
            if any(row.cells > 1 for row in seen):  # else it is another mark that parts cells
                seen += read
        except csv.Error:
            return None
    usual = Counter(row.cells for row in seen).most_common(1)[0][0] if seen else 0
    written = all(row.prose for row in seen if row.gaps)  # no row has gaps
    filled = len(seen) - sum(1 for _ in takewhile(lambda row: row.padded or (row.prose and written), reversed(seen)))
    end = max((place for place, row in enumerate(seen[:filled], 1) if row.cells == usual), default=0)
    count = sum(1 for _ in takewhile(lambda row: row.cells in (0, usual), reversed(seen[:end])))  # 0: a blank line
    below = seen[end:] if usual > 1 and count and len(seen) < _ROWS else []
    if not below or end - count > TITLE_LINES:
        return None
    padded, prose = (
        tuple(dict.fromkeys(row.first for row in below if row.cells == usual and row.padded is whether))
        for whether in (True, False)
    )
    notes = sum(bool(row.first) for row in below)
    if notes > min(_LINES, count) or not _begins(below[0].first, bool(padded or prose)):
        return None
    return Footnotes(usual, seen[end - 1].ends, notes, padded, prose)


def _is_prose(cells: Sequence[str]) -> bool:
    """Whether a line begins as a note does, and goes on as words do behind a comma: "Note: by hand, twice, in May"."""
    return (
        len(cells) > 1
        and all(cell[:1] == " " and cell.strip() for cell in cells[1:])
        and bool(cells[0].strip())
        and _begins(cells[0].strip(), True)
    )


def _begins(first: str, as_row: bool) -> bool:
    """Whether what stands below rows begins with this cell: with none, or with one that begins as notes do. One that
    is padded to a row says more than "Note", which could be a value."""
    return not first.strip() or bool(_NOTE.match(first) and not (as_row and _NOTE.fullmatch(first)))
