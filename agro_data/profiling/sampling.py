"""Reading enough of a table to know it: all of a small one, a seeded spread of a huge one, in one pass.

What is read is bounded by rows, cells and bytes, so a table of 2 GB costs seconds: SQLite is entered at random
places of its rowid order, DuckDB samples by itself, and rows are never counted one by one where that can be avoided.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agro_data.databases.quoting import quoted, quoted_list
from agro_data.databases.types import Cell, Dialect

Row = tuple[Cell, ...]

ROWS = 100_000  # most rows that are read of one table
CELLS = 1_500_000
BYTES = 48 * 2**20
_FEWEST = 1_000  # rows that even the widest table gives
_PROBES = 50  # places at which a huge SQLite table is entered
_WIDTH_ROWS = 50  # rows from which the width of a row is judged


class Session(Protocol):
    """The part of an open database that profiling uses."""

    def execute(self, sql: str, parameters: Sequence[Cell] = ()) -> list[Row]:
        """Rows of one statement."""
        ...


@dataclass(frozen=True)
class TableSample:
    """Rows of a table in column order; `total` is an estimate when `sampled`."""

    rows: list[Row]
    total: int
    sampled: bool


@dataclass(frozen=True)
class _Rowids:
    """The name by which a table's rowid can be reached, and its ends."""

    name: str
    low: int
    high: int


def read_table(
    session: Session,
    dialect: Dialect,
    table: str,
    columns: Sequence[str],
    *,
    is_view: bool = False,
    seed: int = 0,
) -> TableSample:
    """The whole table when it is small, else a sample. Raises what the engine raises."""
    chosen, source = quoted_list(columns), quoted(table)
    first = session.execute(f"SELECT {chosen} FROM {source} LIMIT {_WIDTH_ROWS}")
    if len(first) < _WIDTH_ROWS:
        return TableSample(first, len(first), sampled=False)
    if dialect == "duckdb":
        sample = f"USING SAMPLE reservoir({_WIDTH_ROWS} ROWS) REPEATABLE ({seed % 2**31})"
        spread = session.execute(f"SELECT {chosen} FROM {source} {sample}")
        return _read_duckdb(session, chosen, source, _row_limit(first, spread), seed)
    rowids = None if is_view else _rowids(session, table, columns)
    limit = _row_limit(first, [] if rowids is None else _spread(session, chosen, source, rowids, seed))
    rows: list[Row] = []
    if rowids is None or _may_fit(session, source, rowids, limit):
        rows = session.execute(f"SELECT {chosen} FROM {source} LIMIT {limit + 1}")
        if len(rows) <= limit:
            return TableSample(rows, len(rows), sampled=False)
    if rowids is not None:
        reading = _read_rowids(session, chosen, source, rowids, limit, seed)
        if len(reading.rows) >= limit // 2:
            return reading
        # Else rowids stand in clusters, such as 1 to 300,000 and 2147483647, and most places lay in the gap.
        rows = rows or session.execute(f"SELECT {chosen} FROM {source} LIMIT {limit}")
    [(total,)] = session.execute(f"SELECT count(*) FROM {source}")
    return TableSample(rows[:limit], int(total or 0), sampled=True)


def _row_limit(first: list[Row], spread: list[Row]) -> int:
    """How many rows may be read, by the width of the first and of some spread over the table: the wider counts."""
    width = max(
        1, *(sum(_bytes(cell) for row in rows for cell in row) // len(rows) for rows in (first, spread) if rows)
    )
    return max(min(_FEWEST, BYTES // width), min(ROWS, CELLS // len(first[0]), BYTES // width), _WIDTH_ROWS)


def _bytes(cell: Cell) -> int:
    return len(cell) if isinstance(cell, str | bytes) else 8


def _read_duckdb(session: Session, chosen: str, source: str, limit: int, seed: int) -> TableSample:
    [(counted,)] = session.execute(f"SELECT count(*) FROM {source}")
    total = int(counted or 0)
    if total <= limit:
        return TableSample(session.execute(f"SELECT {chosen} FROM {source}"), total, sampled=False)
    sample = f"USING SAMPLE reservoir({limit} ROWS) REPEATABLE ({seed % 2**31})"
    return TableSample(session.execute(f"SELECT {chosen} FROM {source} {sample}"), total, sampled=True)


def _spread(session: Session, chosen: str, source: str, rowids: _Rowids, seed: int) -> list[Row]:
    """Single rows at seeded places of the rowid order."""
    rng = random.Random(seed)
    places = (rowids.low + int((rowids.high - rowids.low) * rng.random()) for _ in range(_WIDTH_ROWS))
    sql = f"SELECT {chosen} FROM {source} WHERE {rowids.name} >= ? ORDER BY {rowids.name} LIMIT 1"
    return [row for place in places for row in session.execute(sql, (place,))]


def _rowids(session: Session, table: str, columns: Sequence[str]) -> _Rowids | None:
    """None for a table WITHOUT ROWID, or one whose columns have taken all its names."""
    named = {column.lower() for column in columns}
    free = next((name for name in ("rowid", "_rowid_", "oid") if name not in named), None)
    if free is None:
        return None
    # A missing rowid is an error of the statement, so the schema is asked instead.
    [(without,)] = session.execute(
        "SELECT count(*) FROM pragma_table_list WHERE wr = 1 AND schema = 'main' AND name = ?", (table,)
    )
    if without:
        return None
    # Each end by itself: asked for both at once, SQLite would read the table through.
    [(low,)] = session.execute(f"SELECT min({free}) FROM {quoted(table)}")
    [(high,)] = session.execute(f"SELECT max({free}) FROM {quoted(table)}")
    return _Rowids(free, int(low or 0), int(high or 0))


def _may_fit(session: Session, source: str, rowids: _Rowids, limit: int) -> bool:
    """False when the last rowids lie so far apart that the table surely is huge and dense; True when in doubt."""
    if rowids.high - rowids.low < limit:
        return True
    middle = rowids.low + (rowids.high - rowids.low) // 2
    dense = session.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {rowids.name} >= ? LIMIT {limit})", (middle,)
    )
    return dense != [(limit,)]


def _read_rowids(session: Session, chosen: str, source: str, rowids: _Rowids, limit: int, seed: int) -> TableSample:
    """`limit` rows from seeded places of the rowid order; the density at those places estimates the total."""
    rowid, low, high = rowids.name, rowids.low, rowids.high
    rng = random.Random(seed)
    each = max(1, limit // _PROBES)
    starts = sorted(low + int((high - low) * (probe + rng.random()) / _PROBES) for probe in range(_PROBES))
    seen: dict[int, Row] = {}
    rows_met = span_met = 0
    for start in starts:
        block = session.execute(
            f"SELECT {rowid}, {chosen} FROM {source} WHERE {rowid} >= ? ORDER BY {rowid} LIMIT {each}",
            (start,),
        )
        if block:
            seen.update((int(row[0] or 0), row[1:]) for row in block)
            rows_met += len(block)
            span_met += int(block[-1][0] or 0) - start + 1
    total = round((high - low + 1) * rows_met / max(1, span_met))
    return TableSample([seen[key] for key in sorted(seen)], max(total, len(seen)), sampled=True)
