"""One table after its reading: statistics of its columns, values of its keys, a sample of its rows."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agro_data.databases.errors import DatabaseError
from agro_data.databases.files.number_texts import shortest
from agro_data.databases.quoting import quoted
from agro_data.databases.schema.table_info import Connection, TableInfo
from agro_data.databases.types import Cell
from agro_data.profiling.columns.null_rules import null_rules
from agro_data.profiling.columns.statistics import Statistics, describe
from agro_data.profiling.columns.totals import totals_among
from agro_data.profiling.profile import NullRule
from agro_data.profiling.sampling import Row, TableSample, read_table

_LONG = 4096  # characters or bytes of a cell that a sample row keeps
SEARCHED = 20_000_000  # cells that are looked at for NULL beside those that are read: a second or two

Group = tuple[str, ...]
Tuples = Counter[tuple[Cell, ...]]


@dataclass(frozen=True)
class TableRead:
    """One table after its reading: statistics by column, values of the key columns, the sample."""

    info: TableInfo
    statistics: dict[str, Statistics]
    groups: dict[Group, Tuples]
    sample: tuple[Row, ...]
    total: int
    sampled: bool
    searched: frozenset[str] = frozenset()  # columns of a sampled table that were searched for NULL in every row
    null_rules: tuple[NullRule, ...] = ()
    totals: Mapping[str, str] = field(default_factory=dict)  # `totals_among`


def stable_seed(seed: int, *parts: str) -> int:
    """A 64-bit seed from `seed` and the names of what is drawn; the same everywhere."""
    return int.from_bytes(hashlib.sha256("\0".join((str(seed), *parts)).encode()).digest()[:8], "big")


def read_values(
    connection: Connection, table: TableInfo, groups: Sequence[Group], *, seed: int, sample_rows: int
) -> TableRead:
    """Read `table` once. `groups` are the column groups whose values key inference will compare."""
    names = [column.name for column in table.columns]
    reading = read_table(connection, connection.dialect, table.name, names, is_view=table.is_view, seed=seed)
    if connection.dialect == "duckdb":
        reading = _as_written(reading, [column.declared_type == "FLOAT" for column in table.columns])
    places = {name: place for place, name in enumerate(names)}
    columns: Sequence[Sequence[Cell]] = list(zip(*reading.rows, strict=True)) or [()] * len(names)
    statistics = {
        column.name: describe(cells, column.declared_type) for column, cells in zip(table.columns, columns, strict=True)
    }
    searched: frozenset[str] = frozenset()
    if reading.sampled:
        statistics, searched = _searched(connection, table, reading.total, statistics)
    elif connection.dialect == "sqlite":
        statistics = _folded(connection, table.name, statistics)
    by_name = dict(zip(names, columns, strict=True))
    return TableRead(
        info=table,
        statistics=statistics,
        groups={group: _tuples([columns[places[name]] for name in group]) for group in groups},
        sample=_sample(reading, seed, sample_rows),
        total=reading.total,
        sampled=reading.sampled,
        searched=searched,
        null_rules=() if table.is_view else null_rules(by_name, statistics),
        totals={} if reading.sampled else totals_among(by_name, statistics),
    )


def _searched(
    connection: Connection, table: TableInfo, total: int, statistics: dict[str, Statistics]
) -> tuple[dict[str, Statistics], frozenset[str]]:
    """Every row looked at for the NULL that a sample has not met, where that takes seconds; the columns looked at."""
    asked = [c.name for c in table.columns if not c.not_null and not statistics[c.name].nulls]
    if not asked or total * len(asked) > SEARCHED:
        return statistics, frozenset()
    nulls = ", ".join(f"count(*) - count({quoted(name)})" for name in asked)
    try:
        [counted] = connection.execute(f"SELECT {nulls} FROM {quoted(table.name)}")
    except DatabaseError:  # a view may fail in a row that the sample has not met
        return statistics, frozenset()
    met = {name for name, count in zip(asked, counted, strict=True) if count}
    found = {name: replace(known, nulls=1) if name in met else known for name, known in statistics.items()}
    return found, frozenset(asked) - met


def _folded(connection: Connection, table: str, statistics: dict[str, Statistics]) -> dict[str, Statistics]:
    """Values counted as SQLite compares them: by a column's collation "Oslo" and "OSLO" may be one."""
    if not any("collate" in str(sql).lower() for (sql,) in connection.execute("SELECT sql FROM sqlite_master")):
        return statistics
    counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in statistics)
    try:
        [counted] = connection.execute(f"SELECT {counts} FROM {quoted(table)}")
    except DatabaseError:  # a collation that only the program knows which wrote the file
        return statistics
    return {
        name: replace(known, distinct=min(known.distinct, int(count or 0)))
        for (name, known), count in zip(statistics.items(), counted, strict=True)
    }


def _as_written(reading: TableSample, single: Sequence[bool]) -> TableSample:
    """The reading with the shortest numbers in its columns of single precision."""
    if not any(single):
        return reading
    rows = [
        tuple(_shortest(cell) if one else cell for cell, one in zip(row, single, strict=True)) for row in reading.rows
    ]
    return replace(reading, rows=rows)


def _shortest(cell: Cell) -> Cell:
    """A FLOAT as somebody may have written it: 0.199 for 0.19900000095367432, which nobody asks for.

    DuckDB compares a FLOAT with a decimal as FLOATs, so `x = 0.199` finds it; with an exponent it compares as DOUBLEs.
    """
    return shortest(cell) if isinstance(cell, float) and 1e-4 <= abs(cell) < 1e16 else cell


def _tuples(columns: Sequence[Sequence[Cell]]) -> Tuples:
    """Counts of the rows of a key that have no NULL in it."""
    counts = Counter(zip(*columns, strict=True))
    return Counter({key: count for key, count in counts.items() if None not in key})


def _sample(reading: TableSample, seed: int, size: int) -> tuple[Row, ...]:
    if len(reading.rows) > size:
        places = sorted(random.Random(seed).sample(range(len(reading.rows)), size))
        rows = [reading.rows[place] for place in places]
    else:
        rows = reading.rows
    return tuple(tuple(cell[:_LONG] if isinstance(cell, str | bytes) else cell for cell in row) for row in rows)
