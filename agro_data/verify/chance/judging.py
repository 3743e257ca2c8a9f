"""What the rows of a probe for ties mean: "" is harmless, else a sentence for a person."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from agro_data.databases.types import Cell
from agro_data.verify.difference import shown
from agro_data.verify.equivalence import Row, Rows

CUT = "LIMIT falls between them"  # the message for a tie that decides which rows are in the answer


@dataclass(frozen=True, kw_only=True)
class OrderJudge:
    """Rows come in order, outputs first, `added` key columns last. `cuts` are places where LIMIT or OFFSET falls."""

    positions: tuple[int, ...]  # of each key: an output, or (negative) an added column
    added: int
    folded: tuple[bool, ...]  # keys with a collation: letter case may not count
    cuts: tuple[int, ...]
    ordered: bool  # the order of the rows that are kept counts too
    kept: range  # places whose row and the row before it are both in the answer
    whole: tuple[bool, int]  # whether the first row is there; rows that were asked for, 0 for all
    any_cut: bool = False  # a tie at a cut is harm whatever the tied rows show
    seen: frozenset[int] | None = None  # the outputs that anything outside reads, None for all
    width: int = 0  # how many outputs there are, as far as their names tell: else all are looked at

    def __call__(self, rows: Rows) -> str:
        for place, (left, right) in enumerate(pairwise(rows), 1):
            if self._key(left) != self._key(right):
                continue
            outputs = len(left) - self.added
            which = f"rows {place} {shown(left[:outputs])} and {place + 1} {shown(right[:outputs])}"
            if place in self.cuts and (self.any_cut or not self._all_alike(rows, place)):
                return f"{which} compare equal and {CUT}"
            if self.ordered and place in self.kept and self._shown(left) != self._shown(right):
                return f"{which} differ but compare equal: their order is left open"
        return ""

    def _all_alike(self, rows: Rows, place: int) -> bool:
        """Whether all rows that compare equal at a cut are seen and show the same: any of them may be kept."""
        start = end = place
        while start > 0 and self._key(rows[start - 1]) == self._key(rows[place]):
            start -= 1
        while end < len(rows) and self._key(rows[end]) == self._key(rows[place]):
            end += 1
        first, asked = self.whole
        seen = (start > 0 or first) and (end < len(rows) or not asked or len(rows) < asked)
        return seen and all(self._shown(row) == self._shown(rows[place]) for row in rows[start:end])

    def _shown(self, row: Row) -> Row:
        outputs = row[: len(row) - self.added]
        if self.seen is None or len(outputs) != self.width:
            return outputs
        return tuple([outputs[place] for place in sorted(self.seen)])

    def _key(self, row: Row) -> tuple[Cell, ...]:
        keys = []
        for position, caseless in zip(self.positions, self.folded, strict=True):
            cell = row[position]
            keys.append(cell.casefold() if caseless and isinstance(cell, str) else cell)
        return tuple(keys)


@dataclass(frozen=True)
class Harmful:
    """Any row at all is harm; `detail` says which."""

    detail: str

    def __call__(self, rows: Rows) -> str:
        return self.detail if rows else ""


def several_rows(rows: Rows) -> str:
    """The fault that a count shows: it is more than 1; else ""."""
    count = rows[0][0] if rows else 0
    if isinstance(count, int) and count > 1:
        return f"a subquery that stands for one value has {count} rows"
    return ""
