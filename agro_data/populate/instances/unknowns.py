"""Rows whose values are not chosen yet: unknowns, which may be equal, tests that they are to pass, and then values."""

from __future__ import annotations

import random
from collections.abc import Iterable

from agro_data.databases.types import Cell
from agro_data.populate.instances.directed.proposal import PartialRow, Unknown
from agro_data.populate.instances.values.arithmetic import Term, renamed, solve
from agro_data.populate.instances.values.comparisons import Test, choose
from agro_data.populate.instances.values.near import above, below, fit, holds, observed
from agro_data.populate.schema import ColumnSpec, Schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Place


class Unknowns:
    """Rows under construction. An unknown is a number; `equate` makes two the same."""

    def __init__(self, schema: Schema, profile: DatabaseProfile, rng: random.Random) -> None:
        self.schema, self.profile, self.rng = schema, profile, rng
        self.rows: list[tuple[str, dict[str, int]]] = []
        self._same: list[int] = []  # union-find
        self._places: list[Place] = []
        self._tests: dict[int, list[Test]] = {}
        self._computed: list[tuple[Term, Test]] = []
        self._smaller: list[tuple[int, int]] = []  # left below right
        self._differ: list[tuple[int, int]] = []
        self._alone: list[int] = []

    def add_row(self, table: str) -> int:
        self.rows.append((table, {}))
        return len(self.rows) - 1

    def cell(self, row: int, column: str) -> int:
        """The unknown that stands in a column of a row."""
        table, cells = self.rows[row]
        if column not in cells:
            cells[column] = len(self._same)
            self._same.append(len(self._same))
            self._places.append((table, column))
        return cells[column]

    def equate(self, left: int | None, right: int | None) -> None:
        if left is None or right is None:
            return
        left, right = self.root(left), self.root(right)
        if left != right:
            self._same[max(left, right)] = min(left, right)
            moved = self._tests.pop(max(left, right), [])
            if moved:
                self._tests.setdefault(min(left, right), []).extend(moved)

    def root(self, unknown: int) -> int:
        """The unknown that stands for all that are equal to this one."""
        while self._same[unknown] != unknown:
            unknown = self._same[unknown]
        return unknown

    def require(self, unknown: int, test: Test) -> None:
        self._tests.setdefault(self.root(unknown), []).append(test)

    def require_of(self, term: Term | None, test: Test) -> None:
        """What is computed from unknowns passes the test, as far as values for them are found."""
        if term is not None:
            self._computed.append((term, test))

    def set_below(self, left: int, right: int) -> None:
        """The first unknown lies below the second."""
        self._smaller.append((left, right))

    def set_apart(self, left: int, right: int) -> None:
        """The two are not equal."""
        self._differ.append((left, right))

    def give(self, unknown: int, value: Cell) -> None:
        """The unknown is this value."""
        self.require(unknown, Test("=", (value,)))

    def passes(self, unknown: int, value: Cell) -> bool:
        """Whether the unknown's column holds such a value, and no condition on it is against it."""
        tests = self._tests.get(self.root(unknown), ())
        return holds(value, self.spec(unknown)) and all(test.passes(value) for test in tests)

    def near(self, unknown: int) -> list[Cell]:
        """Values about the constants of the conditions on an unknown."""
        tests, known = self._tests.get(self.root(unknown), ()), self._observed(unknown)
        return [value for test in tests for value in test.candidates(self.spec(unknown), known, self.rng)]

    def known(self, unknown: int) -> list[Cell]:
        """Those, and values that the unknown's column has."""
        return [*self.near(unknown), *self._observed(unknown)]

    def _observed(self, unknown: int) -> list[Cell]:
        table, column = self._places[self.root(unknown)]
        return [fit(value, self.spec(unknown)) for value in observed(self.profile.table(table).column(column))]

    def stand_alone(self, unknowns: Iterable[int | None]) -> None:
        """Give these values that no other row holds, where nothing else is asked of them.

        What is shown of a row that others show too is not missed: under DISTINCT, in a set, in a group.
        """
        self._alone += [unknown for unknown in unknowns if unknown is not None]

    def is_key(self, unknown: int) -> bool:
        """Whether the unknown stands in a column that is a key by itself."""
        table, column = self._places[unknown]
        return self.schema.by_name[table].is_unique((column,))

    def is_free(self, unknown: int) -> bool:
        """Whether nothing is asked of an unknown, and it is no key."""
        return self.root(unknown) not in self._tests and not self.is_key(unknown)

    def is_unbound(self, unknown: int) -> bool:
        """Whether nothing is asked of an unknown: no condition, and no comparison with another."""
        root = self.root(unknown)
        below = (other for pair in self._smaller for other in pair)
        compared = (*below, *(other for _, cells in self.rows for other in cells.values() if other != unknown))
        return root not in self._tests and all(self.root(other) != root for other in compared)

    def free_numbers(self, row: int) -> list[str]:
        """Columns of a row that hold numbers, are no part of a key, and have no condition yet."""
        table, cells = self.rows[row]
        spec = self.schema.by_name[table]
        keys = {c for key in spec.keys for c in key} | {c for key in self.schema.keys_of(table) for c in key.columns}
        return [
            column.name
            for column in spec.columns
            if column.kind in ("integer", "real") and column.name not in keys and column.name not in cells
        ]

    def partial_rows(self) -> tuple[PartialRow, ...] | None:
        """The rows with values where conditions ask for some; None when no value meets all conditions of a column."""
        self._compute()
        values: dict[int, Cell] = {}
        for unknown, tests in self._tests.items():
            met, values[unknown] = choose(tests, self.spec(unknown), self._observed(unknown), self.rng)
            if not met:
                return None
        for left, right in self._smaller:
            self._order(self.root(left), self.root(right), values)
        for left, right in self._differ:
            if self.root(left) == self.root(right):
                return None
        counts: dict[int, int] = {}
        for _, cells in self.rows:
            for unknown in cells.values():
                counts[self.root(unknown)] = counts.get(self.root(unknown), 0) + 1
        alone = {self.root(unknown) for unknown in self._alone}
        rows = []
        for table, cells in self.rows:
            known_cells: dict[str, Cell | Unknown] = {}
            for column, unknown in cells.items():
                root = self.root(unknown)
                if root in values:
                    known_cells[column] = values[root]
                elif counts[root] > 1 or root in alone:
                    known_cells[column] = Unknown(root, root in alone)
            rows.append(PartialRow(table, known_cells))
        return tuple(rows)

    def _compute(self) -> None:
        """Give columns values by which what is computed from them passes its tests; where none are found, the tests ask
        for nothing."""
        tests: dict[Term, list[Test]] = {}
        for term, test in self._computed:
            tests.setdefault(renamed(term, self.root), []).append(test)
        for term, asked in tests.items():
            for unknown, value in (solve(term, asked, self, self.rng) or {}).items():
                self.give(unknown, value)

    def _order(self, left: int, right: int, values: dict[int, Cell]) -> None:
        """Values for two columns, one below the other."""
        spec = self.spec(left)
        if left not in values and right not in values:
            known = self._observed(left)
            values[left] = self.rng.choice(known) if known else fit(1, spec)
        if left not in values:
            lower = below(values[right], spec)
            if lower:
                values[left] = fit(lower[0], spec)
        elif right not in values:
            upper = above(values[left], self.spec(right))
            if upper:
                values[right] = fit(upper[0], self.spec(right))

    def spec(self, unknown: int) -> ColumnSpec:
        """The column of the unknown that stands for all that are equal to this one."""
        table, column = self._places[self.root(unknown)]
        return self.schema.by_name[table].by_name[column]
