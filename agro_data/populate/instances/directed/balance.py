"""Means that are met: a column whose average, or so many times it, is one of its own values.

`x > (SELECT AVG(x) FROM t)` and `x >= ...` differ only in a row that lies at the average, and no row does by chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence, Set

from agro_data.databases.types import Cell

_TARGETS = 5  # values nearest the mean that are tried

Numbers = Mapping[int, float]
"""The number of each row that has one."""


def balance(
    rows: Sequence[dict[str, Cell]],
    column: str,
    may: Callable[[float], bool],
    free: Sequence[Set[str]],
    rng: random.Random,
    times: float = 1.0,
) -> None:
    """Change one number of `column`, or several where one cannot do it, so that `times` the mean of all is the number
    of a row.

    Only where the column is among a row's `free` ones and `may` allows the number. Nothing is changed where sums would
    not be exact (binary fractions finer than quarters), so that the order of the rows cannot decide.
    """
    numbered = [n for n, row in enumerate(rows) if isinstance(row[column], int | float)]
    loose = [n for n in numbered if column in free[n]]
    values = {n: float(rows[n][column]) for n in numbered}  # type: ignore[arg-type]
    whole = all(isinstance(rows[n][column], int) for n in numbered)
    values |= {n: round(4 * values[n]) / 4 for n in loose}
    if len(numbered) < 3 or any(not (4 * value).is_integer() or abs(value) > 2**40 for value in values.values()):
        return

    def fits(number: float) -> bool:
        return (number if whole else 4 * number).is_integer() and may(int(number) if whole else number)

    order = rng.sample(loose, len(loose))
    changed = _by_one(values, order, fits, times) or _by_several(values, order, fits, times)
    if changed:
        values |= changed
        for n in loose:
            rows[n][column] = int(values[n]) if whole else values[n]


def _by_one(values: Numbers, order: Sequence[int], fits: Callable[[float], bool], times: float) -> dict[int, float]:
    """A row and its number that makes so many times the mean the number of another row."""
    low, high, total = min(values.values()), max(values.values()), sum(values.values())
    span = high - low
    for n in order:
        for target in _nearest({value for other, value in values.items() if other != n}, times * total / len(values)):
            number = target / times * len(values) - (total - values[n])
            near = (0 if low >= 0 else low - span) <= number <= high + span
            if near and number != values[n] and fits(number) and _met(values, {n: number}, times):
                return {n: number}
    return {}


def _by_several(values: Numbers, order: Sequence[int], fits: Callable[[float], bool], times: float) -> dict[int, float]:
    """Rows and their numbers, none beyond those that are there, that make so many times the mean the number of some
    row: where few numbers may stand, as of a rating, one is not enough.
    """
    low, high, total = min(values.values()), max(values.values()), sum(values.values())
    for target in _nearest({*values.values()}, times * total / len(values)):
        missing, changed = target / times * len(values) - total, dict[int, float]()
        for n in order:
            number = min(max(values[n] + missing, low), high)
            if number != values[n] and fits(number):
                changed[n] = number
                missing -= number - values[n]
        if changed and _met(values, changed, times):
            return changed
    return {}


def _met(values: Numbers, changed: Numbers, times: float) -> bool:
    made = {**values, **changed}.values()
    return times * (sum(made) / len(made)) in made


def _nearest(numbers: Set[float], mean: float) -> list[float]:
    return sorted(numbers, key=lambda number: (abs(number - mean), number))[:_TARGETS]
