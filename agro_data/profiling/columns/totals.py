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
        counts, *sums = (np.bincount(owners, weights, len(values) + 1)[:-1].tolist() for weights in (None, *amounts))
        totals = (_totals(values, counts, added, step) for added, step in zip(sums, steps, strict=True))
        if total := next(chain.from_iterable(totals), ""):
            found[name] = total
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


def _totals(values: Sequence[str], counts: Sequence[int], sums: Sequence[float], step: float) -> Iterator[str]:
    """The values whose sum is that of their parts, `values` in their order, each with how many rows it has."""
    whole = sum(sums)
    for place, (value, total) in enumerate(zip(values, sums, strict=True)):
        others = [slice(place), slice(place + 1, None)]
        below = [slice(place + 1, bisect_left(values, value + chr(0x10FFFF)))]
        for parts, added in ((others, whole - total), (below, sum(sums[below[0]]))):
            if abs(added - total) + step > _CHANCE * total:
                continue
            rows = [count for part in parts for count in counts[part]]
            most = max(one for part in parts for one in sums[part])
            if most < added and max(rows) <= counts[place] <= _ROWS * sum(rows):
                yield value
