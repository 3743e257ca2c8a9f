"""Texts that begin alike: prompts about one database share its schema, and differ only in what is asked.

Each is cut in two. What stands before the cut is read once for all texts that begin so, what stands behind it for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

WORTH = 0.75  # reading in two passes costs something, too: part of the tokens of one pass that may be left


def cuts(texts: Sequence[Sequence[int]]) -> list[int]:
    """How many tokens of each text are read together with the texts that begin alike; all 0 if that saves little.

    Each text has at least one token behind its cut. Counted is what padding adds: both passes read rectangles.
    """
    order = sorted(range(len(texts)), key=lambda place: tuple(texts[place]))
    common = [_alike(texts[one], texts[other]) for one, other in pairwise(order)]
    best, least = [0] * len(texts), WORTH * len(texts) * max(map(len, texts))
    for wanted in sorted({*common} - {0}):
        groups = [*_groups(order, common, wanted)]
        found = _cut([len(text) for text in texts], groups)
        rest = max(len(text) - cut for text, cut in zip(texts, found, strict=True))
        cost = len(groups) * max(found) + len(texts) * rest
        if cost < least:
            best, least = found, cost
    return best


def places_read(texts: Sequence[Sequence[int]], behind: Sequence[int], known: bool = False) -> int:
    """Places of both rectangles, including padding, for texts cut `behind` these tokens; only of the second rectangle
    if the beginnings are `known`.
    """
    heads = {tuple(text[:cut]) for text, cut in zip(texts, behind, strict=True)} if any(behind) and not known else {()}
    rests = [len(text) - cut for text, cut in zip(texts, behind, strict=True)]
    return len(heads) * max(map(len, heads)) + len(rests) * max(rests)


def longest_row(texts: Sequence[Sequence[int]], behind: Sequence[int]) -> int:
    """Places of a row of both rectangles, including padding, for texts cut `behind` these tokens."""
    return max(behind) + max(len(text) - cut for text, cut in zip(texts, behind, strict=True))


Group = tuple[list[int], float]  # places of texts, and how many tokens they all begin with: inf for one text


def _groups(order: Sequence[int], common: Sequence[int], wanted: int) -> Iterator[Group]:
    """Neighbours in `order` that have at least `wanted` tokens in common."""
    group, alike = [order[0]], inf
    for place, shared in zip(order[1:], common, strict=True):
        if shared < wanted:
            yield group, alike
            group, alike = [place], inf
        else:
            group.append(place)
            alike = min(alike, shared)
    yield group, alike


def _cut(lengths: Sequence[int], groups: Sequence[Group]) -> list[int]:
    """The cuts of all texts, so that the longest rest is as short as it can be, then the beginnings are."""
    longest = [max(lengths[place] for place in group) for group, _ in groups]
    most = [min(alike, min(lengths[place] for place in group) - 1) for group, alike in groups]
    rest = max(long - cut for long, cut in zip(longest, most, strict=True))
    found = [0] * len(lengths)
    for (group, _), long in zip(groups, longest, strict=True):
        for place in group:
            found[place] = int(max(0, long - rest))
    return found


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two texts begin with alike."""
    least = min(len(one), len(other))
    return next((place for place in range(least) if one[place] != other[place]), least)
