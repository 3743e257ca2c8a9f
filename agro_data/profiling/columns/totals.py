"""Rows that are the totals of others, told by their numbers: "Austria" among its states, AT1 above AT11, AT12 and AT13.

Tables of statistics hold them, and only some call them "Total" (`unit_columns`). The quantities of a total are the sums
of its parts'; parts are all other rows or, of codes, those whose code begins with the total's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from agro_data.databases.types import Cell
from agro_data.profiling.columns.statistics import Statistics

_KINDS = range(3, 5_001)  # distinct values of a column that may tell totals from parts
_CELLS = 5_000_000  # that are added up
_ROWS = 0.6  # most rows of a total, as a share of its parts' rows: it stands once where each of them does
_CHANCE = 1e-4  # of a total, how far its parts may miss it, and the last digit of the numbers is worth at most
_DIGITS = range(-9, 7)  # behind the point that numbers are looked at; below 0, of tens, hundreds and so on


def totals_among(columns: Mapping[str, Sequence[Cell]], statistics: Mapping[str, Statistics]) -> dict[str, str]:
    """The columns of texts by which some rows are totals of others, each with the first value that has them. `columns`
    are whole.

    One quantity that adds up is enough, since rates and densities beside it do not. Years, days and running numbers are
    no quantities: their sums follow from how many rows there are.
    """
    texts = [name for name, known in statistics.items() if known.kind == "text" and known.distinct in _KINDS]
    numbers = [name for name, known in statistics.items() if _is_quantity(known)]
    rows = max((len(cells) for cells in columns.values()), default=0)
    if not numbers or len(texts) * len(numbers) * rows > _CELLS:
        return {}
    amounts = [np.array([cell or 0 for cell in columns[name]], dtype=np.float64) for name in numbers]
    steps = [_last_digit(cells) for cells in amounts]
    found = {}
    for name in texts:
        values = sorted({cell for cell in columns[name] if isinstance(cell, str)})
        places: dict[Cell, int] = {value: place for place, value in enumerate(values)}
        owners = np.array([places.get(cell, len(values)) for cell in columns[name]])
        ends = np.array([bisect_left(values, value + chr(0x10FFFF)) for value in values])
        counts, *sums = (
            np.bincount(owners, weights, len(values) + 1)[:-1].astype(np.float64) for weights in (None, *amounts)
        )
        totals = (_totals(ends, counts, added, step) for added, step in zip(sums, steps, strict=True))
        if (total := next(chain.from_iterable(totals), None)) is not None:
            found[name] = values[total]
    return found


def _is_quantity(known: Statistics) -> bool:
    return (
        known.kind in ("integer", "real")
        and not (known.years or known.days or (known.unique and known.integral and _is_dense(known)))
        and isinstance(known.minimum, int | float)
        and known.minimum >= 0
    )


def _is_dense(known: Statistics) -> bool:
    low, high = known.minimum, known.maximum
    return isinstance(low, int | float) and isinstance(high, int | float) and high - low < 2 * known.distinct


def _last_digit(amounts: NDArray[np.float64]) -> float:
    """What the last digit of any of `amounts` is worth that is no 0: 1,000 of amounts that are rounded to thousands."""
    return next((10.0**-n for n in _DIGITS if (np.round(amounts, n) == amounts).all()), 10.0 ** -_DIGITS[-1])


def _totals(
    ends: NDArray[np.int64], counts: NDArray[np.float64], sums: NDArray[np.float64], step: float
) -> Iterator[int]:
    """The places of values whose sum is that of their parts: of all others, or of those behind them up to their end.
    Each has so many rows.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of what a DOUBLE cannot hold nothing is the total
        before = np.concatenate(([0.0], np.cumsum(sums)))
        added = (before[-1] - sums, before[ends] - before[1:])
        near = [np.abs(one - sums) + step <= _CHANCE * sums for one in added]
    every = np.arange(len(sums))
    for place in np.flatnonzero(near[0] | near[1]).tolist():
        parts = (every != place, (every > place) & (every < ends[place]))
        chosen = [of for of, is_near in zip(parts, near, strict=True) if is_near[place]]
        if any(_are_parts(counts[of], sums[of], counts[place]) for of in chosen):
            yield place


def _are_parts(counts: NDArray[np.float64], sums: NDArray[np.float64], whole: float) -> bool:
    """Whether what adds up is of several parts, and their total, with `whole` rows, stands once where each does."""
    return bool(sums.max() < sums.sum() and counts.max() <= whole <= _ROWS * counts.sum())
