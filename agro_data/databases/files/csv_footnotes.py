"""Notes and blank lines below the rows of a CSV, as statistical offices write them: the source, what a star means."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from agro_data.databases.files.csv_padding import TITLE_LINES, is_padded
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
    padded: bool  # whether a line there has as many cells as a row


def footnotes(file: Path, delimiters: str) -> Footnotes | None:
    """The notes and the blank lines below the rows of a file; None where there are none, or nothing shows that the
    lines below are notes, and not rows of which a part is lost.

    Notes have another number of cells than the rows, all of which have the same, or are padded to these; they follow a
    blank line, or begin as notes do.
    """
    return max((found for mark in delimiters if (found := _below(file, mark))), default=None)


def _below(file: Path, mark: str) -> Footnotes | None:
    lines: list[tuple[int, int, str, bool]] = []  # the last line of each row, its cells, the first one, if it is padded
    with opened(file) as stream:
        rows = csv.reader((line.decode(errors="replace") for line in stream), delimiter=mark)
        read = ((rows.line_num, len(cells), "".join(cells[:1]), is_padded(cells)) for cells in islice(rows, _ROWS))
        try:
            lines += islice(read, TITLE_LINES + 1)
            if any(cells > 1 for _, cells, _, _ in lines):  # else it is another mark that parts cells
                lines += read
        except csv.Error:
            return None
    usual = Counter(cells for _, cells, _, _ in lines).most_common(1)[0][0] if lines else 0
    padded = list(takewhile(lambda line: line[3], reversed(lines)))
    places = [place for place, line in enumerate(lines[: len(lines) - len(padded)]) if line[1] == usual]
    below = lines[places[-1] + 1 :] if usual > 1 and places and len(lines) < _ROWS else []
    if not below:
        return None
    as_rows = any(line[1] == usual for line in below)
    notes = [begin for _, _, begin, _ in below if begin.strip()]
    whole = places[0] <= TITLE_LINES and places[-1] - places[0] + 1 == len(places)
    told = not below[0][2].strip() or bool(_NOTE.match(notes[0]) and not (as_rows and _NOTE.fullmatch(notes[0])))
    fits = whole and told and len(notes) <= min(_LINES, len(places))
    return Footnotes(usual, lines[places[-1]][0], len(notes), as_rows) if fits else None
