"""Turns that repeat themselves: they say the same over and over.

A model that takes the likeliest token does not leave off, and one that draws rarely does. Such a turn would end at its
limit; it is cut where that is seen, since each token costs a pass of the model. vLLM does the same
(`RepetitionDetectionParams`), and is asked to by these figures.
"""

from __future__ import annotations

from collections.abc import Sequence

SHORTEST, LONGEST = 16, 32  # tokens of a passage that is said again: one of five is a passage of twenty, too
TIMES = 4  # times that it is said


def repeats_itself(ids: Sequence[int]) -> bool:
    """Whether `ids` end with the same passage, `TIMES` times."""
    return any(_repeats(ids, length) for length in range(SHORTEST, min(LONGEST, len(ids) // TIMES) + 1))


def _repeats(ids: Sequence[int], length: int) -> bool:
    if ids[-1] != ids[-1 - length]:  # nearly always
        return False
    return ids[-TIMES * length : -length] == ids[(1 - TIMES) * length :]
