"""Notes below the rows of a CSV, as statistical offices write them: the source, and what a star means."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from agro_data.databases.files.text_files import opened

_LINES = 30  # of notes, filled ones
_ROWS = 1_000_000  # a file with more is no table that somebody wrote notes below
_TITLE = 10  # lines above a header
_NOTE = re.compile(
    r"\W*(?:notes?|footnotes?|sources?|legend|explanations?|remarks?|copyright|last updated|data (?:from|source)|"
    r"figures|quelle|anmerkung(?:en)?|fu(?:ß|ss)noten?)\b|[*†‡#©]|\(?\d{1,2}\)|\[\d{1,2}\]|\([a-z]\)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Cut:
    """A copy of a file that ends with its last row, and how many lines of notes stand below that."""

    file: Path
    notes: int


@contextmanager
def without_footnotes(file: Path, delimiters: str) -> Iterator[Cut | None]:
    """A copy of `file`, while it is needed, without the notes below its rows; None where nothing shows that the lines
    below are notes, and not rows of which a part is lost.

    Notes have another number of cells than the rows, all of which have the same; they follow a blank line, or begin
    as notes do.
    """
    found = max((end for mark in delimiters if (end := _end(file, mark))), default=None)
    if found is None:
        yield None
        return
    _, line, notes = found
    with TemporaryDirectory() as folder, opened(file) as whole:
        copy = Path(folder) / "rows.csv"
        with copy.open("wb") as part:
            part.writelines(islice(whole, line))
        yield Cut(copy, notes)


def _end(file: Path, mark: str) -> tuple[int, int, int] | None:
    """How many cells rows have, the line of the last one, and how many filled lines are below it, if notes."""
    lines: list[tuple[int, int, str]] = []  # the last line of each row, its cells, and what it begins with
    with opened(file) as stream:
        rows = csv.reader((line.decode(errors="replace") for line in stream), delimiter=mark)
        try:
            lines += ((rows.line_num, len(cells), "".join(cells[:1])) for cells in islice(rows, _ROWS))
        except csv.Error:
            return None
    usual, number = Counter(cells for _, cells, _ in lines).most_common(1)[0] if lines else (0, 0)
    places = [place for place, (_, cells, _) in enumerate(lines) if cells == usual]
    below = lines[places[-1] + 1 :] if usual > 1 and len(lines) < _ROWS else []
    notes = [begin for _, cells, begin in below if cells and begin.strip()]
    whole = places[0] <= _TITLE and places[-1] - places[0] + 1 == number if places else False
    told = bool(notes) and (below[0][1] == 0 or all(map(_NOTE.match, notes[:1])))
    fits = whole and told and len(notes) <= min(_LINES, number)
    return (usual, lines[places[-1]][0], len(notes)) if fits else None
