"""Shares: how many of each kind, when some kinds have fewer than their share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
_ROUNDS = 40  # of a table's fitting, at most


def water_fill(
    total: int,
    capacity: Sequence[int] | Counts,
    weight: Sequence[float] | NDArray[np.float64] | Counts | None = None,
    floor: Sequence[int] | Counts | None = None,
    order: Sequence[int] | None = None,
) -> Counts:
    """Split `total` over kinds in proportion to `weight`; what a kind cannot take goes to the others.

    Each share lies between its `floor` and its `capacity`. The sum is min(total, sum of capacity), or the
    sum of floors where that is more. Fractions are rounded by largest remainder, equal ones in `order` (a
    permutation).
    """
    upper: Counts = np.asarray(capacity, dtype=np.int64)
    lower: Counts = np.zeros_like(upper)
    if floor is not None:
        lower = np.minimum(np.asarray(floor, dtype=np.int64), upper)
    slope = np.ones(len(upper)) if weight is None else np.maximum(np.asarray(weight, dtype=np.float64), 1e-9)
    want = min(int(total), int(upper.sum()))
    if len(upper) == 0 or lower.sum() >= want:
        return lower
    exact = _levels(np.array([float(want)]), lower[None], upper[None], slope)[0]
    shares: Counts = np.clip(np.floor(exact + 1e-9).astype(np.int64), lower, upper)
    turn = np.arange(len(upper)) if order is None else np.argsort(np.asarray(order))
    rest = want - int(shares.sum())
    while rest > 0:
        open_kinds = np.flatnonzero(shares < upper)
        owed = np.round(exact[open_kinds] - shares[open_kinds], 9)
        chosen = open_kinds[np.lexsort((turn[open_kinds], -owed))][:rest]
        shares[chosen] += 1
        rest -= len(chosen)
    return shares


def fit_table(row_totals: Counts, column_weight: NDArray[np.float64], floor: Counts, capacity: Counts) -> Counts:
    """Counts for each (row, column) whose rows sum to `row_totals` and whose columns come near
    `column_weight`.

    Proportional fitting within bounds: rows are exact (where their capacity allows), columns as near as
    bounds permit. Fractions are handed on from row to row, so that many small rows still add up to the
    wanted columns.
    """
    wanted = column_weight / column_weight.sum() * row_totals.sum()
    weight = np.maximum(column_weight.astype(np.float64), 1e-6)
    exact = np.zeros(capacity.shape)
    possible = np.minimum(row_totals, capacity.sum(axis=1)).astype(np.float64)
    for _ in range(_ROUNDS):
        exact = _levels(possible, floor, capacity, weight)
        given = exact.sum(axis=0)
        if np.all(np.abs(given - wanted) <= 0.002 * row_totals.sum() + 0.5):
            break
        weight = np.clip(weight * (wanted + 1e-9) / (given + 1e-9), 1e-6, 1e6)
    counts = np.zeros(capacity.shape, dtype=np.int64)
    owed = np.zeros(capacity.shape[1])
    for row in range(len(counts)):
        owed += exact[row]
        counts[row] = np.clip(np.floor(exact[row] + 1e-9).astype(np.int64), floor[row], capacity[row])
        want = max(int(min(row_totals[row], capacity[row].sum())), int(counts[row].sum()))
        owed -= counts[row]
        for _ in range(want - int(counts[row].sum())):
            room = np.flatnonzero(counts[row] < capacity[row])
            chosen = room[np.argmax(np.round(owed[room], 9))]
            counts[row, chosen] += 1
            owed[chosen] -= 1
    return counts


def _levels(want: NDArray[np.float64], lower: Counts, upper: Counts, slope: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row the shares clip(level * slope, lower, upper) at the level where they sum to `want`.

    `lower` and `upper` are (rows, columns), `slope` (columns,) and `want` (rows,).
    """
    low, high = np.zeros(len(want)), (upper / slope).max(axis=1)
    for _ in range(128):  # to the last bit, whatever the ratio of weights
        middle = (low + high) / 2
        under = np.clip(middle[:, None] * slope, lower, upper).sum(axis=1) < want
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    shares: NDArray[np.float64] = np.clip(high[:, None] * slope, lower, upper)
    return shares
