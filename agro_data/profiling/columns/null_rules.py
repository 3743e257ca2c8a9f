"""Where a column is NULL exactly in some states of its row: nothing is shipped while it is pending."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from agro_data.databases.types import Cell
from agro_data.profiling.columns.statistics import Statistics
from agro_data.profiling.profile import NullRule

_ROWS = 50  # fewer may be so by chance
_SIDE = 10  # rows with NULL, and rows without
_STATES = 6  # values of the column that says the state
_OF_EACH = 3  # rows in each
_CELLS = 5_000_000  # that are compared


def null_rules(columns: Mapping[str, Sequence[Cell]], statistics: Mapping[str, Statistics]) -> tuple[NullRule, ...]:
    """For each column that is NULL in some rows, by the first column of few values that says in which, if one does."""
    rows = max((len(cells) for cells in columns.values()), default=0)
    states = [name for name, found in statistics.items() if _says_states(found)]
    holes = [name for name, found in statistics.items() if _SIDE <= found.nulls <= rows - _SIDE]
    if rows < _ROWS or len(states) * len(holes) * rows > _CELLS:
        return ()
    found = (next(filter(None, (_rule(columns, hole, state) for state in states)), None) for hole in holes)
    return tuple(rule for rule in found if rule is not None)


def _says_states(found: Statistics) -> bool:
    return not found.nulls and 2 <= found.distinct <= _STATES and found.kind in ("text", "integer", "boolean")


def _rule(columns: Mapping[str, Sequence[Cell]], hole: str, state: str) -> NullRule | None:
    seen: dict[Cell, list[bool]] = defaultdict(list)
    for value, cell in zip(columns[state], columns[hole], strict=True):
        seen[value].append(cell is None)
    if any(len(set(nulls)) > 1 or len(nulls) < _OF_EACH for nulls in seen.values()):
        return None
    empty = tuple(value for value, nulls in seen.items() if nulls[0])
    filled = tuple(value for value in seen if value not in empty)
    fewer = filled if len(filled) < len(empty) else empty
    return NullRule(hole, state, tuple(sorted(fewer, key=str)), fewer is empty, len(seen) == 2)
