"""Rows of a table before and after that are the same rows, told by a key: the surest sign of which column is which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agro_data.databases.quoting import folded
from agro_data.databases.types import Cell
from agro_data.migration.evidence import Side, plain
from agro_data.migration.likeness import held, keys_of
from agro_data.profiling.profile import TableProfile

MOST = 500  # rows that are compared
TRIED = 100  # rows by which a key is judged
KEYS = 4  # of each side that are tried
HALF = 0.5  # share of a key's values that must be there still
CHANCE = 1e-3  # of columns without anything in common, to agree in every row
ALL = 0.999  # share from which all rows agree

Texts = Sequence[str | None]


@dataclass(frozen=True)
class Agreement:
    """How two columns agree row by row: `share` is 0 as by chance, 1 in every row. `telling`: 1 were no chance."""

    share: float
    telling: bool


@dataclass(frozen=True)
class Aligned:
    """The values of each column, before and now, of the same rows in the same order."""

    old: Mapping[str, Texts]
    new: Mapping[str, Texts]

    def agreement(self, old: str, new: str) -> Agreement | None:
        """Of two columns; None where neither could differ from the other."""
        return agreement(self.old[old], self.new[new])


def agreement(old: Texts, new: Texts) -> Agreement | None:
    """Of two sequences of one length; None where both hold but one value, and the same."""
    if not old:
        return None
    often = Counter(new)
    chance = sum(count * often[value] for value, count in Counter(old).items()) / len(old) ** 2
    if chance > ALL:
        return None
    same = sum(a == b for a, b in zip(old, new, strict=True)) / len(old)
    return Agreement(max((same - chance) / (1 - chance), 0.0), chance ** len(old) < CHANCE)


def align(before: Side, old: TableProfile, after: Side, new: TableProfile) -> Aligned | None:
    """The rows of `old` found again in `new`, by the key by which most other columns agree in every row.

    None where no column does so by any key: keys are often 1, 2, 3 ..., and may have been given anew.
    """
    best, key = (0, False), ("", "")
    for own, other in _keys(before, old, after, new):
        agreeing = _agreeing(_joined(before, (old, own), after, (new, other), TRIED), own, other)
        if (worth := (agreeing, folded(own) == folded(other))) > best and agreeing:
            best, key = worth, (own, other)
    return _joined(before, (old, key[0]), after, (new, key[1]), MOST) if best[0] else None


def _keys(before: Side, old: TableProfile, after: Side, new: TableProfile) -> Iterator[tuple[str, str]]:
    """Pairs of keys that hold the same values, where rows of both sides are known."""
    for own in keys_of(old)[:KEYS]:
        for other in keys_of(new)[:KEYS]:
            one, two = (old.name, own), (new.name, other)
            if one in before.cells and two in after.cells and held(before.known[one], after.known[two]) >= HALF:
                yield own, other


def _joined(
    before: Side, old: tuple[TableProfile, str], after: Side, new: tuple[TableProfile, str], most: int
) -> Aligned:
    """`most` rows at most, spread over the table; `old` and `new` are a table and its key."""
    (was, own), (now, other) = old, new
    places = {plain(cell): place for place, cell in enumerate(after.cells[now.name, other]) if cell is not None}
    pairs = [
        (place, places[text])
        for place, cell in enumerate(before.cells[was.name, own])
        if cell is not None and (text := plain(cell)) in places
    ]
    pairs = pairs[:: max(len(pairs) // most, 1)][:most]
    return Aligned(
        {c.name: [_text(before.cells[was.name, c.name][place]) for place, _ in pairs] for c in was.columns},
        {c.name: [_text(after.cells[now.name, c.name][place]) for _, place in pairs] for c in now.columns},
    )


def _agreeing(found: Aligned, own: str, other: str) -> int:
    """How many columns besides the key agree with some column in every row, as chance would not have it."""
    return sum(
        any(
            (known := found.agreement(a, b)) is not None and known.telling and known.share >= ALL
            for b in found.new
            if b != other
        )
        for a in found.old
        if a != own
    )


def _text(cell: Cell) -> str | None:
    return None if cell is None else plain(cell)
