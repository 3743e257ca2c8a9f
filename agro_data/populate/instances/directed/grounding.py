"""Values for the unknowns of proposals: keys that no row has yet, known values elsewhere, and parents of their own for
rows that would share a key.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agro_data.databases.types import Cell
from agro_data.populate.instances.directed.proposal import Proposal, Unknown
from agro_data.populate.instances.partial_rows import Partial
from agro_data.populate.instances.values.draw import Draws
from agro_data.populate.instances.values.near import fit
from agro_data.populate.schema import Schema, TableSpec
from agro_data.sql.names.resolution import Place


class Grounding:
    """Gives unknowns their values, drawn for one instance. A reference has its value from the key at its end."""

    def __init__(self, schema: Schema, draws: Draws, rng: random.Random) -> None:
        self.schema, self.draws, self.rng = schema, draws, rng
        self.up = {  # what a column refers to
            (key.table, column): (key.ref_table, ref)
            for key in reversed(schema.foreign_keys)
            for column, ref in zip(key.columns, key.ref_columns, strict=True)
        }
        self.key_columns = {(t.name, c) for t in schema.tables for key in t.keys for c in key}
        self.key_columns |= set(self.up) | set(self.up.values())
        self._partners: dict[Place, list[Cell]] = {}  # the keys of parents that were found for rows alike
        self._met: Counter[tuple[Any, ...]] = Counter()  # how many of these are taken, by what the rows have in common

    def rows(self, proposal: Proposal) -> list[tuple[str, Partial]]:
        """The rows of a proposal, each with its table; without cells whose columns cannot hold what was chosen."""
        chosen = self._chosen(proposal)
        made: list[tuple[str, Partial]] = []
        for row in proposal.rows:
            spec = self.schema.by_name[row.table]
            cells = {
                column: fit(chosen[cell.number] if isinstance(cell, Unknown) else cell, spec.by_name[column])
                for column, cell in row.cells.items()
            }
            held = {column: cell for column, cell in cells.items() if self.draws.can_hold((row.table, column), cell)}
            made.append((row.table, held))
        for table, held in made:
            if held:
                self._find_partners(self.schema.by_name[table], held)
        return made

    def new(self, place: Place) -> Cell:
        """A key that is new where `place` has it from."""
        table, column = place
        return fit(self.draws.new(self._root(place)), self.schema.by_name[table].by_name[column])

    def take(self, place: Place, value: Cell) -> None:
        """`value` stands at `place`, and so it will where that has its keys from."""
        self.draws.take(place, value)
        root = self._root(place)
        if root != place:
            self.draws.take(root, fit(value, self.schema.by_name[root[0]].by_name[root[1]]))

    def _chosen(self, proposal: Proposal) -> dict[int, Cell]:
        """The value of each unknown, by its number."""
        places: dict[int, list[Place]] = {}
        alone: set[int] = set()
        for row in proposal.rows:
            for column, cell in row.cells.items():
                if isinstance(cell, Unknown):
                    places.setdefault(cell.number, []).append((row.table, column))
                    alone |= {cell.number} if cell.alone else set()
        return {number: self._choose(found, number in alone) for number, found in places.items()}

    def _choose(self, places: Sequence[Place], alone: bool) -> Cell:
        """A new key where one of the places is a key or refers to one, else a value of the first."""
        keyed = next((place for place in places if place in self.key_columns), None)
        if keyed is None:
            return self.draws.alone(places[0]) if alone else self.draws.known(places[0])
        return self.new(keyed)

    def _find_partners(self, spec: TableSpec, row: Partial) -> None:
        """Where a free reference is part of a key, rows alike in the rest of the key refer to different parents.

        Drawn among few parents they would repeat a key, and be left out.
        """
        for key in spec.keys:
            free = [c for c in key if c not in row and (spec.name, c) in self.up]
            if not free or len(free) < sum(c not in row for c in key):
                continue
            rest = (spec.name, key, tuple(row.get(c) for c in key))
            self._met[rest] += 1 + self.rng.randrange(2)
            root = self._root((spec.name, free[0]))
            known = self._partners.setdefault(root, [])
            while len(known) <= self._met[rest]:
                known.append(self.draws.new(root))
            row[free[0]] = fit(known[self._met[rest]], spec.by_name[free[0]])

    def _root(self, place: Place) -> Place:
        """Where the key comes from that a column refers to, over several foreign keys."""
        seen = [place]
        while seen[-1] in self.up and self.up[seen[-1]] not in seen:
            seen.append(self.up[seen[-1]])
        return seen[-1]
