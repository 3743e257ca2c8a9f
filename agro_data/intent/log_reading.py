"""What a log file holds, as whoever keeps one has it: text, or a table with how often each query was asked.

A table is CSV, TSV, JSON, JSONL or Parquet: `pg_stat_statements`, a server's csvlog, the history of a warehouse. Which
of its columns holds queries is seen from the values.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import polars as pl
from polars.exceptions import PolarsError

START = re.compile(r"\b(?:select|with)\b", re.IGNORECASE)
TIMES = ("calls", "executions", "execution_count", "exec_count", "times", "count", "n")  # columns with how often
LOOKED_AT = 1_000  # rows of a table, for the column that holds queries
_LONGEST = 2**30  # characters of a cell

Table = tuple[Sequence[str], list[Sequence[object]]]  # names of columns, rows


def texts_in(content: bytes, suffix: str) -> Iterator[tuple[str, int]]:
    """The texts of a log file, each with how often what it holds was asked: the whole of it, or cells of a table.

    What is no table, whatever its `suffix` says, is text.
    """
    table = None
    if (read := _TABLES.get(suffix)) is not None:
        with suppress(ValueError, RecursionError, csv.Error, PolarsError):
            table = read(content)
    column = _column_of_queries(table) if table is not None else None
    if table is None or column is None:
        yield content.decode("utf-8", errors="replace"), 1
        return
    names, rows = table
    counts = next((place for name in TIMES for place, one in enumerate(names) if one.lower() == name), None)
    for row in rows:
        cell = row[column] if column < len(row) else None
        if isinstance(cell, str):
            yield _query_in(row, column) or cell, _times(row[counts] if counts is not None and counts < len(row) else 1)


def _column_of_queries(table: Table) -> int | None:
    """The place of the column in which most cells hold a query; None where no cell does."""
    _, rows = table
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


def _csv(delimiter: str) -> Callable[[bytes], Table]:
    def read(content: bytes) -> Table:
        before = csv.field_size_limit(_LONGEST)
        try:
            rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig", errors="replace")), delimiter=delimiter))
        finally:
            csv.field_size_limit(before)
        named = bool(rows) and not any(map(START.search, rows[0]))  # a csvlog has no names
        return (rows[0], rows[1:]) if named else ((), rows)  # type: ignore[return-value]

    return read


def _parquet(content: bytes) -> Table:
    frame = pl.read_parquet(io.BytesIO(content))
    return frame.columns, frame.rows()  # type: ignore[return-value]


def _json(content: bytes) -> Table:
    text = content.decode("utf-8-sig", errors="replace")
    try:
        objects = json.loads(text)
    except ValueError:  # lines of it
        objects = [json.loads(line) for line in text.splitlines() if line.strip()]
    objects = [one for one in (objects if isinstance(objects, list) else [objects]) if isinstance(one, dict)]
    names = list(dict.fromkeys(name for one in objects for name in one))
    return names, [[one.get(name) for name in names] for one in objects]


_TABLES: dict[str, Callable[[bytes], Table]] = {
    ".csv": _csv(","),
    ".tsv": _csv("\t"),
    ".parquet": _parquet,
    ".json": _json,
    ".jsonl": _json,
    ".ndjson": _json,
}
