"""Lines around the rows of a CSV that a sheet was saved as: a title, notes and blank ones, which have as many cells as
the rows have, and nothing in any but the first."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from agro_data.databases.files.number_texts import MISSING, NUMBER
from agro_data.databases.files.text_files import LONGEST_LINE, is_packed, opened

TITLE_LINES = 10  # above a header
_LOOKED_AT = 20  # rows below it
_TAIL = 2**16  # bytes
_NUMBER = re.compile(rf"{NUMBER}|[+-]?\d[\d.,'’\xa0\u202f]*")  # in any country's way


def is_padded(cells: Sequence[str]) -> bool:
    """Whether a line holds nothing but a first cell, or nothing at all."""
    return not any(cell.strip() for cell in cells[1:])


def lines_above(file: Path, delimiters: str) -> int:
    """How many padded lines stand above a header. Without a blank one they are a title only if the line below them is
    seen to be a header by the numbers below it: a header, too, may name its first column only."""
    with opened(file) as stream:
        head = [stream.readline(LONGEST_LINE).decode(errors="replace") for _ in range(TITLE_LINES + _LOOKED_AT)]
    head[0] = head[0].removeprefix("\ufeff")
    return max(_above(head, mark) for mark in delimiters)


def last_lines(file: Path) -> list[str]:
    """The whole lines that a look at the end of a file shows, but for its first; a packed file is read up to there."""
    tail = b""
    with opened(file) as stream:
        if not is_packed(file):
            stream.seek(max(0, file.stat().st_size - _TAIL))
        while piece := stream.read(2**20):
            tail = (tail + piece)[-_TAIL:]
    return tail.decode(errors="replace").splitlines()[1:]


def padded_at_end(lines: Sequence[str], mark: str) -> list[str]:
    """The first cells of the padded lines at the end of `lines`."""
    cells = (next(csv.reader([line], delimiter=mark), []) for line in reversed(lines))
    padded = list(takewhile(is_padded, cells))
    return ["".join(one[:1]) for one in reversed(padded)] if any(len(one) > 1 for one in padded) else []


def _above(head: Sequence[str], mark: str) -> int:
    reader = csv.reader(head, delimiter=mark)
    try:
        rows = [(reader.line_num, cells) for cells in reader]
    except csv.Error:
        return 0
    above = list(takewhile(lambda row: is_padded(row[1]), rows))
    below = [cells for _, cells in rows[len(above) :]]
    width = len(below[0]) if below else 0
    widths = {len(cells) for _, cells in above}
    if width < 2 or width not in widths or not widths <= {0, width} or above[-1][0] > TITLE_LINES:
        return 0
    blank = any(not "".join(cells).strip() for _, cells in above)
    columns = zip(*(cells for cells in below[1:] if len(cells) == width), strict=True)
    told = _is_header(below[0]) and (blank or any(map(_are_numbers, columns)))
    return above[-1][0] if told else 0


def _is_header(cells: Sequence[str]) -> bool:
    named = {cell.strip() for cell in cells}
    return len(named) == len(cells) and "" not in named and not any(map(_NUMBER.fullmatch, named))


def _are_numbers(cells: Sequence[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip().lower() not in MISSING]
    return bool(filled) and all(map(_NUMBER.fullmatch, filled))
