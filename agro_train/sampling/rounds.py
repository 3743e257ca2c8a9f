"""Turns that go round: they say the same over and over.

A model that takes the likeliest token does not leave such a round, nor does one that draws, but rarely. Such a turn
would end at its limit; it is cut where it is seen, since each token costs a pass of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 32  # tokens of what is said again, at most
ROUNDS = 4  # times that it is said
LEAST = 64  # tokens of all of them, at least: short words may well be repeated


def goes_round(ids: Sequence[int]) -> bool:
    """Whether `ids` end with the same passage, `ROUNDS` times or more, and for `LEAST` tokens or more."""
    if len(ids) < LEAST:
        return False
    last = ids[-1]
    return any(
        ids[-1 - length] == last and _repeats(ids, length) for length in range(1, min(LONGEST, len(ids) // ROUNDS) + 1)
    )


def _repeats(ids: Sequence[int], length: int) -> bool:
    """Whether what `ids` end with is what stood `length` tokens before it."""
    said = max(ROUNDS * length, LEAST)
    return ids[-said:-length] == ids[len(ids) - said + length :]
