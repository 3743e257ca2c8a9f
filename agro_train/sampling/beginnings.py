"""Texts that begin alike: prompts about one database share its schema, and differ only in what is asked.

Each is cut in two. What stands before the cut is read once for all texts that begin so, what stands behind it for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

WORTH = 0.75  # reading in two passes costs something, too: part of the tokens of one pass that may be left


def cuts(texts: Sequence[Sequence[int]]) -> list[int]:
    """How many tokens of each text are read with those of the texts that begin so; all 0 where that saves little.

    Each text has at least one token behind its cut. Counted is what padding adds: both passes read rectangles.
    """
    order = sorted(range(len(texts)), key=lambda place: tuple(texts[place]))
    common = [_alike(texts[one], texts[other]) for one, other in pairwise(order)]
    best, least = [0] * len(texts), WORTH * len(texts) * max(map(len, texts))
    for wanted in sorted({*common} - {0}):
        groups = [*_groups(order, common, wanted)]
        found = _cut(texts, groups)
        cost = len(groups) * max(found) + max(
            len(texts) * (len(text) - cut) for text, cut in zip(texts, found, strict=True)
        )
        if cost < least:
            best, least = found, cost
    return best


def _groups(order: Sequence[int], common: Sequence[int], wanted: int) -> Iterator[list[int]]:
    """Places of neighbours that have at least `wanted` tokens in common."""
    group = [order[0]]
    for place, shared in zip(order[1:], common, strict=True):
        if shared < wanted:
            yield group
            group = []
        group.append(place)
    yield group


def _cut(texts: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> list[int]:
    """The cuts of all texts, so that the longest rest is as short as it can be, then the beginnings are."""
    lengths = [[len(texts[place]) for place in group] for group in groups]
    shared = [_alike(texts[group[0]], texts[group[-1]]) for group in groups]  # in order: the first and last differ most
    most = [min(alike, min(some) - 1) for alike, some in zip(shared, lengths, strict=True)]
    rest = max(max(some) - cut for some, cut in zip(lengths, most, strict=True))
    found = [0] * len(texts)
    for group, some in zip(groups, lengths, strict=True):
        for place in group:
            found[place] = max(0, max(some) - rest)
    return found


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two texts begin with alike."""
    least = min(len(one), len(other))
    return next((place for place in range(least) if one[place] != other[place]), least)
