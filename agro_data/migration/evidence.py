"""What is known of the values of each column, in a form that outlives a change of type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Cell, Database
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.sampling import read_table

LONG = 300  # characters: of longer texts a profile keeps none
KEPT = 5_000  # rows of a table that are kept whole, but for what is long

Place = tuple[str, str]  # table, column


@dataclass(frozen=True)
class Known:
    """Different values of a column as `plain` writes them; `complete` when there are no others."""

    values: frozenset[str] = frozenset()
    complete: bool = False


@dataclass(frozen=True)
class Side:
    """A database before or after: its profile, what is known of its values, and the columns of the rows that are."""

    profile: DatabaseProfile
    known: Mapping[Place, Known]
    cells: Mapping[Place, Sequence[Cell]] = field(default_factory=dict)


def plain(value: Cell) -> str:
    """A value as text: the same for `5`, `5.0` and `'5'`, so that a column keeps its values when its type changes.

    Fractions count to six digits: as many as a four-byte float holds for certain.
    """
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        number = _number(value)
        return value if number is None else plain(number)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value == int(value) else repr(float(f"{value:.6g}"))
    return str(value)


def of_profile(profile: DatabaseProfile) -> Side:
    """What a profile alone tells: common values, both ends, and its sample of rows."""
    found: dict[Place, Known] = {}
    held: dict[Place, Sequence[Cell]] = {}
    for table in profile.tables:
        for place, column in enumerate(table.columns):
            cells = [value for value, _ in column.common] + [column.minimum, column.maximum]
            cells += [row[place] for row in table.sample_rows]
            values = frozenset(plain(cell) for cell in cells if cell is not None and not _long(cell))
            found[table.name, column.name] = Known(values, not table.sampled and len(values) == column.distinct)
            if table.sample_rows:
                held[table.name, column.name] = [_short(row[place]) for row in table.sample_rows]
    return Side(profile, found, held)


def of_database(database: Database, profile: DatabaseProfile) -> Side:
    """All values of small tables, and the values of a seeded sample of large ones. Raises `DatabaseError` if it cannot
    be read.

    Long texts are left out, as a profile leaves them out.
    """
    found: dict[Place, Known] = {}
    held: dict[Place, Sequence[Cell]] = {}
    with open_database(database) as connection:
        for table in profile.tables:
            names = [column.name for column in table.columns]
            reading = read_table(connection, connection.dialect, table.name, names, is_view=table.is_view)
            for name, cells in zip(names, zip(*reading.rows, strict=True) if reading.rows else (), strict=False):
                distinct = {cell for cell in cells if cell is not None}
                values = frozenset(plain(cell) for cell in distinct if not _long(cell))
                complete = not reading.sampled and not any(map(_long, distinct))
                found[table.name, name] = Known(values, complete)
                held[table.name, name] = [_short(cell) for cell in cells[:KEPT]]
            for name in names:
                found.setdefault((table.name, name), Known(complete=True))
    return Side(profile, found, held)


def _long(cell: Cell) -> bool:
    return isinstance(cell, str | bytes) and len(cell) > LONG


def _short(cell: Cell) -> Cell:
    return cell[:LONG] if isinstance(cell, str | bytes) else cell


def _number(text: str) -> float | int | None:
    if not text or "_" in text or not (text[-1].isdigit() and (text[0].isdigit() or text[0] in "+-.")):
        return None  # `int` would read 1_000
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
