"""Rows of which some columns are known: the keys that they hold, and rows that share one made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agro_data.databases.schema.checks import allows
from agro_data.databases.types import Cell
from agro_data.populate.schema import TableSpec

Partial = dict[str, Cell]
Key = tuple[Cell, ...]
"""The values of the columns of a key."""
Merged = tuple[Partial, Sequence[Partial]]
"""A row, and those of which it was made."""
Held = dict[tuple[str, tuple[str, ...]], set[Key]]
"""The values that the rows of a table have in some of its columns."""


def key_of(row: Partial, columns: Sequence[str]) -> Key | None:
    """The values of `columns`, or None where one is missing or NULL: such a key is not compared."""
    value = tuple(row.get(column) for column in columns)
    return None if None in value else value


def keys_of(rows: Sequence[Partial], columns: Sequence[str]) -> list[Key]:
    """The values of `columns` that rows have, each once."""
    return list(dict.fromkeys(value for row in rows if (value := key_of(row, columns)) is not None))


def hold(index: Held, table: str, row: Partial) -> None:
    """Add a row of a table to what is held."""
    for place, found in index.items():
        if place[0] == table and (value := key_of(row, place[1])) is not None:
            found.add(value)


def meets(spec: TableSpec, row: Partial) -> bool:
    """Whether a row fails nothing that its table checks, as far as its columns are known."""
    return all(allows(check, row) for check in spec.checks)


def merged(spec: TableSpec, rows: Sequence[Partial]) -> tuple[list[Partial], list[Merged]]:
    """Rows that share a key as one; where they disagree the first has its way. What a row takes over may make it share
    a key with a third. Also what was made of several.
    """
    kept: dict[int, Partial] = {}
    parts: dict[int, list[Partial]] = {}
    by_key: dict[tuple[Any, ...], int] = {}
    for number, row in enumerate(rows):
        place, kept[number], parts[number] = number, row, [row]
        while others := {by_key.get(entry, place) for entry in _entries(spec, kept[place])} - {place}:
            place, gone = sorted((place, min(others)))
            for entry in _entries(spec, kept[gone]):
                if by_key.get(entry) == gone:
                    del by_key[entry]
            parts[place] += parts.pop(gone)
            kept[place] = kept.pop(gone) | kept[place]
        by_key |= dict.fromkeys(_entries(spec, kept[place]), place)
    return [*kept.values()], [(kept[place], made_of) for place, made_of in parts.items() if len(made_of) > 1]


def _entries(spec: TableSpec, row: Partial) -> list[tuple[Any, ...]]:
    """The keys of which a row has all values, with these."""
    return [(key, value) for key in spec.keys if (value := key_of(row, key)) is not None]
