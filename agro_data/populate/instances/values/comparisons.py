"""Comparisons of a column with constants: whether a value passes, and the values at which passing begins or ends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from agro_data.databases.types import Cell
from agro_data.populate.instances.values.forms import with_literal
from agro_data.populate.instances.values.near import (
    above,
    as_long,
    below,
    beside,
    fit,
    holds,
    in_other_case,
    later_that_day,
    like,
    matches,
)
from agro_data.populate.instances.values.views import Length, View, neighbours
from agro_data.populate.schema import ColumnSpec

Operator = Literal["=", "<", "<=", ">", ">=", "like", "null", "in", "between"]

_BOUNDED: frozenset[Operator] = frozenset(("<", "<=", ">", ">="))
_PATTERNS = 3  # that are put into one text
AT_BOUND = 0.5  # share of the values that miss a bound and are the bound itself
OTHER_CASE = 0.4  # share of the texts that miss a text and are that text in other case


@dataclass(frozen=True)
class Test:
    """`operator` with its constants, to be met or (`wanted` False) to be missed; by what `view` shows of a value."""

    operator: Operator
    values: tuple[Cell, ...]
    wanted: bool = True
    view: View | None = None

    def passes(self, value: Cell) -> bool:
        """Whether `value` does what is wanted; NULL passes only where NULL is asked for."""
        if self.view is not None:
            value = self.view.of(value)
        if self.operator == "null":
            return (value is None) == self.wanted
        return value is not None and self._holds(value) == self.wanted

    def _holds(self, value: Cell) -> bool:
        if self.operator == "like":
            return matches(str(self.values[0]), value)
        if self.operator in ("=", "in"):
            return value in self.values
        if self.operator == "between":
            return not _less(value, self.values[0]) and not _less(self.values[1], value)
        other = self.values[0]
        if self.operator == "<":
            return _less(value, other)
        if self.operator == "<=":
            return not _less(other, value)
        return _less(other, value) if self.operator == ">" else not _less(value, other)

    def candidates(self, column: ColumnSpec, others: Sequence[Cell], rng: random.Random) -> list[Cell]:
        """Values around the constants, on both sides; the caller keeps those that pass. `others`: known values."""
        if self.view is not None:
            return self._viewed(self.view, column, others, rng)
        if self.operator == "null":
            return [None] if column.nullable else []
        if self.operator == "like":
            pattern = str(self.values[0])
            made: list[Cell] = [like(pattern, rng) for _ in range(4)]
            if column.formed:
                return [*with_literal(pattern, [text for text in others if isinstance(text, str)], column)]
            bare = pattern.replace("%", "").replace("_", "")
            return [*made, bare, *beside(bare, column)] if bare else made
        found: list[Cell] = []
        for value in self.values:
            found += [value, *above(value, column), *below(value, column)]
            found += later_that_day(value, others) if column.kind == "datetime" else []
            if self.operator in ("=", "in"):
                found += beside(value, column)
        if self.operator == "between" and all(isinstance(v, int) for v in self.values):
            low, high = self.values
            found.append((low + high) // 2)  # type: ignore[operator]
        return [fit(value, column) for value in dict.fromkeys(found)]

    def lengths(self) -> list[int]:
        """Lengths of texts about the constants."""
        near = (length for value in self.values if isinstance(value, int) for length in (value, value + 1, value - 1))
        return [length for length in near if length > 0]

    def _viewed(self, view: View, column: ColumnSpec, others: Sequence[Cell], rng: random.Random) -> list[Cell]:
        shown = [value for constant in self.values for value in (constant, *neighbours(view, constant))]
        if self.operator == "like":
            shown = [like(str(self.values[0]), rng) for _ in range(4)]
        return [fit(made, column) for value in dict.fromkeys(shown) for made in view.made(value, others, rng)]


def choose(tests: Sequence[Test], column: ColumnSpec, others: Sequence[Cell], rng: random.Random) -> tuple[bool, Cell]:
    """A value that passes all `tests`, near their constants if possible, else of `others`; (False, None) if none."""
    about = _about(tests, column, others, rng)
    passing = [value for value in about if holds(value, column) and _passes_all(value, tests)]
    bounds = [v for t in tests if not t.wanted and t.operator in _BOUNDED for v in t.values if v in passing]
    if bounds and rng.random() < AT_BOUND:  # what a stricter or a laxer bound is told by
        return True, rng.choice(bounds)
    missed = (value for value in _equalled(tests, wanted=False) if isinstance(value, str))
    cased = [other for text in missed for other in in_other_case(text) if other in passing]
    if cased and rng.random() < OTHER_CASE:
        return True, rng.choice(cased)
    exact = [value for value in _equalled(tests, wanted=True) if value in passing]
    best = exact or passing or [value for value in others if _passes_all(value, tests)]
    return (True, rng.choice(best)) if best else (False, None)


def _about(tests: Sequence[Test], column: ColumnSpec, others: Sequence[Cell], rng: random.Random) -> list[Cell]:
    """What each test alone suggests, and texts that are like a pattern and as long as wanted, or like all patterns."""
    found = [value for test in tests for value in test.candidates(column, others, rng)]
    patterns = [str(test.values[0]) for test in tests if test.operator == "like" and test.wanted and test.view is None]
    if patterns:
        lengths = [length for test in tests if isinstance(test.view, Length) for length in test.lengths()]
        found += [as_long(pattern, length) for pattern in patterns for length in lengths]
    if len(patterns) > 1:
        found += [" ".join(like(pattern, rng) for pattern in order) for order in permutations(patterns[:_PATTERNS])]
    return found


def _passes_all(value: Cell, tests: Sequence[Test]) -> bool:
    return all(test.passes(value) for test in tests)


def _equalled(tests: Sequence[Test], *, wanted: bool) -> list[Cell]:
    """The constants that the column itself is to equal, or (`wanted` False) to differ from."""
    about = (test for test in tests if test.operator in ("=", "in") and test.view is None and test.wanted == wanted)
    return [value for test in about for value in test.values]


def _less(left: Cell, right: Cell) -> bool:
    """SQLite's order of storage classes: numbers before text."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left < right
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    return isinstance(left, int | float) and isinstance(right, str)
