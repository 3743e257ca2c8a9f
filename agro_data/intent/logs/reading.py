"""What a log file holds, as whoever keeps one has it: text, or a table with how often each query was asked.

A table is CSV, TSV, JSON, JSONL or Parquet: `pg_stat_statements`, a server's csvlog, the history of a warehouse. Which
of its columns holds queries is seen from the values.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from agro_data.rows import SUFFIXES, Row, UnreadableInput, decoded, long_cells, read_rows, separated_by

START = re.compile(r"\b(?:select|with)\b", re.IGNORECASE)
TIMES = ("calls", "executions", "execution_count", "exec_count", "times", "count", "n")  # columns with how often
LOOKED_AT = 1_000  # rows of a table, for the column that holds queries

Table = tuple[Sequence[str], list[Sequence[object]]]  # names of columns, rows


def texts_in(path: Path) -> Iterator[tuple[str, int]]:
    """The texts of a log file, each with how often what it holds was asked: the whole of it, or cells of a table.

    What is no table, whatever the file is called, is text. Raises `OSError` when it cannot be read.
    """
    names, rows = _table(path)
    column = _column_of_queries(rows)
    if column is None:
        yield path.read_text(encoding="utf-8", errors="replace"), 1
        return
    counts = next((place for name in TIMES for place, one in enumerate(names) if one.lower() == name), None)
    for row in rows:
        cell = row[column] if column < len(row) else None
        if isinstance(cell, str):
            yield _query_in(row, column) or cell, _times(row[counts] if counts is not None and counts < len(row) else 1)


def _table(path: Path) -> Table:
    suffix = path.suffix.lower()
    with suppress(UnreadableInput):
        if suffix in (".csv", ".tsv"):
            return _cells(path)
        if suffix in SUFFIXES:
            rows = [item.fields for item in read_rows(path) if isinstance(item, Row)]
            names = list(dict.fromkeys(name for row in rows for name in row))
            return names, [[row.get(name) for name in names] for row in rows]
    return (), []


def _cells(path: Path) -> Table:
    """Of text, also where the first line has no names, as in a server's csvlog."""
    text = decoded(path.read_bytes(), path)
    delimiter, quoted = separated_by(path, text)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    with long_cells():
        rows: list[Sequence[object]] = list(reader)
    named = bool(rows) and not any(_query_in(rows[0], place) for place in range(len(rows[0])))
    return (list(map(str, rows[0])), rows[1:]) if named else ((), rows)


def _column_of_queries(rows: Sequence[Sequence[object]]) -> int | None:
    """The place of the column in which most cells hold a query; None where no cell does."""
    widest = max(map(len, rows), default=0)
    held = [sum(_query_in(row, place) != "" for row in rows[:LOOKED_AT]) for place in range(widest)]
    return held.index(max(held)) if any(held) else None


def _query_in(row: Sequence[object], place: int) -> str:
    """What of a cell may be a query: "statement: " may stand before it."""
    cell = row[place] if place < len(row) else None
    start = START.search(cell) if isinstance(cell, str) else None
    return cell[start.start() :] if isinstance(cell, str) and start is not None else ""


def _times(value: object) -> int:
    """A count as a table holds it; what is none counts once."""
    with suppress(TypeError, ValueError, OverflowError):
        return max(int(float(value)), 1)  # type: ignore[arg-type]
    return 1
