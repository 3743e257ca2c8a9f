"""Which databases are alike: copies, versions and relatives must not stand on both sides of a split."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from agro_data.databases.types import Cell
from agro_data.profiling.profile import DatabaseProfile

SHARE = 0.5  # of the smaller side
LEAST_NAMES = 4  # fewer shared names or values than these say nothing
LEAST_VALUES = 16
SKETCH = 1_024


@dataclass(frozen=True)
class Sketch:
    """The parts of a database that are compared: its names as "table" and "table.column", and hashes of distinctive
    values.

    `values` are the `SKETCH` smallest of the 48-bit hashes (a bottom-k sketch), so that two sketches of large
    databases estimate how much all their values overlap.
    """

    db_id: str
    names: frozenset[str] = field(default_factory=frozenset)
    values: frozenset[int] = field(default_factory=frozenset)


def sketch(profile: DatabaseProfile) -> Sketch:
    """The sketch of a profiled database: its schema, and the common and sampled values the profile holds."""
    names: set[str] = set()
    values: set[int] = set()
    for table in profile.tables:
        names.add(_plain(table.name))
        for place, column in enumerate(table.columns):
            names.add(f"{_plain(table.name)}.{_plain(column.name)}")
            seen = [value for value, _ in column.common] + [row[place] for row in table.sample_rows]
            values.update(_hash(text) for text in map(_telling, seen) if text)
    return Sketch(profile.db_id, frozenset(names), frozenset(sorted(values)[:SKETCH]))


def clusters(sketches: Sequence[Sketch]) -> list[list[str]]:
    """Databases in groups, sorted; two are together when their names or values overlap by half of the smaller."""
    by_id = {one.db_id: one for one in sketches}
    groups = Groups(sorted(by_id))
    names = {db_id: one.names for db_id, one in by_id.items()}
    for left, right in _sharing(names, LEAST_NAMES):
        if len(names[left] & names[right]) >= SHARE * min(len(names[left]), len(names[right])):
            groups.join(left, right)
    for left, right in _sharing({db_id: one.values for db_id, one in by_id.items()}, LEAST_VALUES):
        if _overlap(by_id[left].values, by_id[right].values) >= SHARE:
            groups.join(left, right)
    return groups.members()


class Groups:
    """Disjoint sets of names (union-find)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        root = name
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[name] != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def join(self, left: str, right: str) -> None:
        one, other = sorted((self.find(left), self.find(right)))
        self._parent[other] = one

    def members(self) -> list[list[str]]:
        groups: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self._parent):
            groups[self.find(name)].append(name)
        return sorted(groups.values())


def _sharing(sets: dict[str, frozenset[str]] | dict[str, frozenset[int]], least: int) -> list[tuple[str, str]]:
    """Pairs of names whose sets share `least` elements or more, found by way of the shared elements."""
    holders: dict[str | int, list[str]] = defaultdict(list)
    for name in sorted(sets):
        for element in sets[name]:
            holders[element].append(name)
    shared = Counter(pair for names in holders.values() for pair in combinations(names, 2))
    return sorted(pair for pair, count in shared.items() if count >= least)


def _overlap(left: frozenset[int], right: frozenset[int]) -> float:
    """Share of the smaller set of values that the other holds too, estimated where both sketches speak."""
    ends = [max(values) for values in (left, right) if len(values) >= SKETCH]
    end = min(ends, default=1 << 64)
    one = {value for value in left if value <= end}
    other = {value for value in right if value <= end}
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller >= LEAST_VALUES else 0.0


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _telling(value: Cell) -> str:
    """`value` as text when it says something of its database: no flag, small number or single letter."""
    if isinstance(value, bool) or value is None or isinstance(value, bytes):
        return ""
    if isinstance(value, int):
        return str(value) if abs(value) >= 3_000 else ""
    if isinstance(value, float):
        telling = math.isfinite(value) and (not value.is_integer() or abs(value) >= 3_000)
        return repr(round(value, 6)) if telling else ""
    text = " ".join(value.lower().split())
    return text if len(text) >= 4 else ""


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).digest(), "big")
