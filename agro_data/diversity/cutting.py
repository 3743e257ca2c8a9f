"""Three parts of one database's examples that share nothing by which a model could have learnt the answer.

Every row has keys (its skeleton, its question, its literals), and no key may stand in two parts. Most keys
hang together by way of common literals, so whole connected components would leave one giant part. Instead
skeletons are dealt to the parts first; where a key then stands in several, one part keeps it and the rows
of the others are dropped. The share dealt to the small parts is raised until what is left has the wanted
proportions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from agro_data.hashing import seed_of

SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
_FAVOUR = {"train": 1, "validation": 2, "test": 2}  # what a row counts when parts contend for a key
_ROUNDS = 8

Labels = list[str | None]


@dataclass(frozen=True)
class Row:
    """One example: `group` is its skeleton, dealt whole; `keys` are what else it may not share across parts.

    `stratum` (its hardness, say) is spread over the parts in proportion.
    """

    group: str
    keys: tuple[tuple[str, Hashable], ...]
    stratum: str = ""


def cut(rows: Sequence[Row], seed: int) -> Labels:
    """The part of each row, or None where keeping it would let a key into two parts.

    No group and no key of the kept rows stands in two parts, for any input. Every part gets rows unless the
    keys leave no way to it (fewer groups than parts, one key on all rows).
    """
    dealt = dict(SHARES)
    best: Labels = []
    best_fault = float("inf")
    for _ in range(_ROUNDS):
        labels = _settle(rows, _deal(rows, dealt, seed))
        kept = Counter(label for label in labels if label is not None)
        total = max(1, sum(kept.values()))
        empty = sum(1 for part in SHARES if not kept[part])
        fault = empty * 10 + 2 * sum(abs(kept[part] / total - share) for part, share in SHARES.items())
        fault += (len(rows) - total) / max(1, len(rows))
        if fault < best_fault:
            best, best_fault = labels, fault
        for part, share in SHARES.items():
            if part != "train":
                dealt[part] = min(0.3, dealt[part] * min(2.0, share * total / max(1, kept[part])))
        dealt["train"] = 1.0 - sum(share for part, share in dealt.items() if part != "train")
    return best


def _deal(rows: Sequence[Row], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    """A part for each group, so that rows come near `shares` within each stratum."""
    sizes = Counter(row.group for row in rows)
    strata: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        strata[row.group][row.stratum] += 1
    usual = {group: min(found, key=lambda name: (-found[name], name)) for group, found in strata.items()}
    order = sorted(sizes, key=lambda group: (usual[group], seed_of(seed, group), group))
    parts: dict[str, str] = {}
    given: Counter[str] = Counter()
    seen = 0
    for place, group in enumerate(order):
        size = sizes[group]
        seen += size
        empty = [part for part in shares if not given[part]]
        open_parts = empty if len(order) - place <= len(empty) else list(shares)
        # The part that is furthest behind its share of what has been dealt, this group included.
        part = max(open_parts, key=lambda name: shares[name] * seen - given[name] - size * (1 - shares[name]) / 2)
        parts[group] = part
        given[part] += size
    return parts


def _settle(rows: Sequence[Row], parts: Mapping[str, str]) -> Labels:
    """Labels by group, without the rows that lose a key they share with another part."""
    labels: Labels = [parts[row.group] for row in rows]
    holders: dict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        for key in row.keys:
            holders[key].append(number)
    for members in sorted(holders.values(), key=lambda members: (-len(members), members)):
        counts = Counter(label for label in (labels[number] for number in members) if label is not None)
        if len(counts) < 2:
            continue
        keeper = max(counts, key=lambda part: (counts[part] * _FAVOUR.get(part, 1), part))
        for number in members:
            if labels[number] != keeper:
                labels[number] = None
    return labels
