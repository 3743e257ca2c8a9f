"""Which parent each child row gets: skewed, one to one, matching, or a forest. Row numbers in, row numbers out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, cycle, islice

from agro_data.databases.types import Cell
from agro_data.populate.hints import Parent

Rng = random.Random
Allowed = Callable[[int, int], bool]
"""Whether a child row may have a parent row."""

TRIES = 60


def exclusion(refs: Sequence[tuple[Cell, ...]], other: Sequence[Cell] | None, count: int) -> Allowed | None:
    """Forbid the parent that the row's `other` column already refers to."""
    if other is None:
        return None
    assert len(other) == count
    return lambda child, parent: refs[parent][0] != other[child]


def spread(pool: Sequence[int], count: int, rng: Rng, hint: Parent, allowed: Allowed | None = None) -> list[int | None]:
    """A parent for each of `count` children: some parents get none, some one, few get many."""
    if hint.even:
        return [*islice(cycle(pool), count)]
    parents = list(pool)
    rng.shuffle(parents)
    childless = int(len(parents) * hint.childless) if len(parents) >= 4 else 0
    active = parents[childless:]
    drawn: list[int | None] = []
    many = active
    if count >= len(active):
        drawn = list(active)
        many = active[int(len(active) * hint.single) :] if len(active) >= 4 else active
    weights = list(accumulate((i + 1) ** -hint.skew for i in range(len(many))))
    drawn += rng.choices(many, cum_weights=weights, k=count - len(drawn))
    rng.shuffle(drawn)
    if allowed is None:
        return drawn
    out: list[int | None] = []
    for child, first in enumerate(drawn):
        tried = chain((first,), (rng.choice(active) for _ in range(TRIES)))
        out.append(next((parent for parent in tried if parent is not None and allowed(child, parent)), None))
    return out


def one_to_one(pool: Sequence[int], count: int, rng: Rng) -> list[int | None]:
    """Different parents for at most `count` children, in parent order."""
    return [*sorted(rng.sample(list(pool), min(count, len(pool))))]


def matching(
    pool: Sequence[int],
    columns: dict[str, list[Cell]],
    given: Sequence[tuple[str, Sequence[Cell]]],
    count: int,
    *,
    rng: Rng,
    hint: Parent,
    allowed: Allowed | None = None,
) -> list[int | None]:
    """A parent whose columns equal the child's `given` values; None where there is none."""
    groups: dict[tuple[Cell, ...], list[int]] = {}
    for parent in pool:
        groups.setdefault(tuple(columns[name][parent] for name, _ in given), []).append(parent)
    for members in groups.values():
        rng.shuffle(members)
    weights = {
        key: list(accumulate((i + 1) ** -hint.skew for i in range(len(members)))) for key, members in groups.items()
    }
    drawn: list[int | None] = []
    for child in range(count):
        key = tuple(values[child] for _, values in given)
        members = groups.get(key, [])
        if allowed is not None:
            members = [parent for parent in members if allowed(child, parent)]
            drawn.append(rng.choice(members) if members else None)
        else:
            drawn.append(rng.choices(members, cum_weights=weights[key])[0] if members else None)
    return drawn


def redraw(
    drawn: Sequence[int | None],
    others: Sequence[tuple[Cell, ...]],
    rng: Rng,
    allowed: Allowed | None,
) -> list[int | None]:
    """`drawn` with parents replaced where (rest of the key, parent) repeats, as far as free pairs are found.

    Only parents that were drawn are drawn again, so that the childless stay so.
    """
    seen: dict[tuple[tuple[Cell, ...], int], None] = {}
    out: list[int | None] = []
    for child, (other, first) in enumerate(zip(others, drawn, strict=True)):
        parent, tries = first, 0
        while parent is not None and (other, parent) in seen and tries < TRIES:
            candidate, tries = rng.choice(drawn), tries + 1
            if candidate is not None and (allowed is None or allowed(child, candidate)):
                parent = candidate
        if parent is not None:
            seen[(other, parent)] = None
        out.append(parent)
    return out


def forest(count: int, rng: Rng, null_share: float | None, roots_to_self: bool) -> list[int | None]:
    """An earlier row for each row; roots get None, or themselves where a parent is required.

    Without `null_share` about one row in twenty is a root. The earlier a row, the more rows refer to it.
    """
    share = 0.05 if null_share is None else null_share
    drawn: list[int | None] = []
    for row in range(count):
        if row == 0 or rng.random() < share:
            drawn.append(row if roots_to_self else None)
        else:
            drawn.append(int(row * rng.random() ** 2))
    return drawn
