"""The best assignment of some things to others, and how certain each of its pairs is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Pair = tuple[str, str]

_BARRED = 1e6  # the cost of a pair that is none


def best_pairs(weights: Mapping[Pair, float]) -> dict[Pair, float]:
    """The pairs, no two with an end in common, whose weights (above 0) have the greatest sum. Each has its margin: by
    how much the sum falls if this pair is barred.
    """
    if not weights:
        return {}
    left, right = ({end: place for place, end in enumerate(sorted(set(ends)))} for ends in zip(*weights, strict=True))
    size = len(left) + len(right)  # each end may also stay alone, which weighs nothing
    costs = np.zeros((size, size))
    costs[: len(left), : len(right)] = _BARRED
    for (a, b), weight in weights.items():
        costs[left[a], right[b]] = -weight
    best = _Assignment(costs)
    for row in range(size):
        best.give(row)
    return {(a, b): best.without(left[a], right[b]) for a, b in sorted(weights) if best.rows[right[b]] == left[a]}


class _Assignment:
    """The Hungarian method on a square of costs: rows get columns one after another, each time at the least cost."""

    def __init__(self, costs: npt.NDArray[np.float64]) -> None:
        size = len(costs)
        self.costs = costs
        self.rows = np.full(size, -1)  # of each column
        self._of_row, self._of_column = (
            np.zeros(size),
            np.zeros(size),
        )  # what each costs; a pair costs no less than both

    def give(self, row: int) -> None:
        """Give `row` a column; other rows may get others for that."""
        size = len(self.costs)
        least, through = np.full(size, np.inf), np.full(size, -1)
        seen = np.zeros(size, dtype=bool)
        column = -1
        while column < 0 or self.rows[column] >= 0:
            here = row if column < 0 else int(self.rows[column])
            slack = self.costs[here] - self._of_row[here] - self._of_column
            nearer = ~seen & (slack < least)
            least[nearer], through[nearer] = slack[nearer], column
            nearest = int(np.argmin(np.where(seen, np.inf, least)))
            step = least[nearest]
            self._of_row[row] += step
            self._of_row[self.rows[seen]] += step
            self._of_column[seen] -= step
            least[~seen] -= step
            seen[nearest], column = True, nearest
        while column >= 0:
            before = int(through[column])
            self.rows[column] = row if before < 0 else self.rows[before]
            column = before

    def without(self, row: int, column: int) -> float:
        """How much more the best assignment costs in which `row` may not have `column`, its own now."""
        other = _Assignment(self.costs.copy())
        other.rows, other._of_row, other._of_column = self.rows.copy(), self._of_row.copy(), self._of_column.copy()
        other.rows[column], other.costs[row, column] = -1, _BARRED
        other.give(row)
        return other._cost() - self._cost()

    def _cost(self) -> float:
        return float(self.costs[self.rows, np.arange(len(self.rows))].sum())
