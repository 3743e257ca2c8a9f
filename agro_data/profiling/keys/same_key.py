"""Which columns of a database hold the same key: one refers to the other, or both to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from agro_data.databases.quoting import folded
from agro_data.profiling.profile import DatabaseProfile

Place = tuple[str, str]
"""A table and a column of it, in lower case."""


@dataclass(frozen=True)
class Keys:
    """`roots`: columns that refer to others or are referred to, each with one that stands for all of its key."""

    roots: Mapping[Place, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, profile: DatabaseProfile) -> Keys:
        """The keys that are declared and the keys that the profile has found."""
        roots: dict[Place, Place] = {}

        def root(place: Place) -> Place:
            while roots.setdefault(place, place) != place:
                place = roots[place]
            return place

        for key in profile.foreign_keys:
            for column, referred in zip(key.columns, key.ref_columns, strict=True):
                roots[root((folded(key.table), folded(column)))] = root((folded(key.ref_table), folded(referred)))
        return cls({place: root(place) for place in list(roots)})

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The key columns of each table that has keys."""
        return _gathered((table, column) for table, column in self.roots)

    @cached_property
    def _held(self) -> Mapping[Place, Mapping[str, frozenset[str]]]:
        """By what stands for a key: its columns in each table."""
        places: dict[Place, list[Place]] = {}
        for place, root in self.roots.items():
            places.setdefault(root, []).append(place)
        return {root: _gathered(found) for root, found in places.items()}

    def partners(self, place: Place, table: str) -> frozenset[str]:
        """The columns of `table` that hold the same key as `place`, itself among them."""
        held = self._held[self.roots[place]].get(table, frozenset()) if place in self.roots else frozenset()
        return held | {place[1]} if place[0] == table else held

    def same(self, left: Place, right: Place) -> bool:
        """Whether two columns hold the same key; each does with itself."""
        return self.roots.get(left, left) == self.roots.get(right, right)


NO_KEYS = Keys()


def _gathered(places: Iterable[Place]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for table, column in places:
        found.setdefault(table, set()).add(column)
    return {table: frozenset(columns) for table, columns in found.items()}
