"""What a selection covers: tables and columns by set cover, and the space of examples by its radius."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from agro_data.diversity.embeddings import Vectors

Floats = NDArray[np.float32]
_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Radius:
    """Cosine distances (0 to 2) from a sample of the candidates to the nearest selected one."""

    largest: float
    mean: float
    percentile_95: float


def cover(elements: Sequence[Collection[str]], preference: Sequence[float], at_most: int) -> list[int]:
    """Rows that together hold every element, in the order chosen: greedy set cover, at most `at_most` rows.

    Each step takes the row with most elements not yet held; equal ones by `preference` (higher first), then
    by row.
    """
    wanted: set[str] = set().union(*elements)
    heap = [(-len(held), -preference[row], row) for row, held in enumerate(elements) if held]
    heapify(heap)
    chosen: list[int] = []
    while wanted and heap and len(chosen) < at_most:
        promised, disliked, row = heappop(heap)
        gain = sum(1 for element in elements[row] if element in wanted)
        if gain == -promised:
            chosen.append(row)
            wanted.difference_update(elements[row])
        elif gain:
            heappush(heap, (-gain, disliked, row))
    return chosen


def coverage_radius(sample: Vectors, selected: Vectors) -> Radius:
    """Distances from the rows of `sample` (m, d) to the nearest of `selected` (k, d)."""
    if len(sample) == 0 or len(selected) == 0:
        return Radius(0.0, 0.0, 0.0) if len(sample) == 0 else Radius(2.0, 2.0, 2.0)
    nearest = np.full(len(sample), -1.0)
    rows = _directions(sample)
    for start in range(0, len(selected), _ROWS_AT_ONCE * 8):
        block = _directions(selected[start : start + _ROWS_AT_ONCE * 8])
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            nearest[part] = np.maximum(nearest[part], (rows[part] @ block.T).max(axis=1))
    distance = np.round(np.clip(1.0 - nearest, 0.0, 2.0), 4)
    return Radius(float(distance.max()), round(float(distance.mean()), 4), round(float(np.percentile(distance, 95)), 4))


def _directions(vectors: Vectors) -> Floats:
    whole = vectors.astype(np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", whole, whole))[:, None]
    directions: Floats = np.divide(whole, length, out=np.zeros_like(whole), where=length > 0)
    return directions
