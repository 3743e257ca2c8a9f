"""Values for the columns of one instance: few enough to repeat and to meet, all different where an order looks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from agro_data.databases.schema.checks import allows, columns_of, constants_of
from agro_data.databases.types import Cell
from agro_data.populate.instances.directed.proposal import Focus
from agro_data.populate.instances.values.forms import as_written
from agro_data.populate.instances.values.near import beside, fit, fresh, holds, observed
from agro_data.populate.schema import ColumnSpec, Schema, stream
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile
from agro_data.sql.names.resolution import Place

_TRIES = 300  # draws for a value that a column was not given before
_FEW = 3  # draws once that many were in vain
_POOL = 7  # different values of a column besides the query's own
_LEAST = 3  # of them: with fewer, those of the source are among them
_ELSEWHERE = 0.08  # share of cells that hold a literal meant for another column of their kind
_START = 60  # where new keys begin, at times: the keys of two tables need not meet
_LITERAL = 0.4  # share of cells that hold a literal of the query or a neighbour of one
_MOST_NULL = 0.25
MOSTLY = 0.6  # share of cells that are NULL where a column is to be mostly NULL
_OFTEN_NULL, _HALF = 0.3, 0.5  # in so many instances half of a column is NULL: a query that passes over NULL shows


class Draws:
    """A stream of values for each column of one instance; the same seed gives the same values."""

    def __init__(self, schema: Schema, profile: DatabaseProfile, focus: Focus, seed: int) -> None:
        self._schema, self._profile, self._focus, self._seed = schema, profile, focus, seed
        self._columns: dict[Place, _Column] = {}
        self._checked: dict[Place, list[str]] = {}
        kinds: dict[str, list[Cell]] = {}
        for (table, name), values in focus.literals.items():
            kinds.setdefault(schema.by_name[table].by_name[name].kind, []).extend(values)
        self._of_kind = {kind: list(dict.fromkeys(values)) for kind, values in kinds.items()}

    def value(self, place: Place) -> Cell:
        """Any value the column may hold; a new one where rows are ordered by it."""
        column = self._column(place)
        return column.new(mixed=True) if place in self._focus.ordered else column.any()

    def known(self, place: Place) -> Cell:
        """Like `value`, never NULL."""
        return self._column(place).known() if place not in self._focus.ordered else self._column(place).new(mixed=True)

    def new(self, place: Place) -> Cell:
        """A value that this column was not given before."""
        return self._column(place).new()

    def alone(self, place: Place) -> Cell:
        """A value that this column was not given before, and will not be given again as far as it has others."""
        return self._column(place).alone()

    @property
    def focus(self) -> Focus:
        return self._focus

    def take(self, place: Place, value: Cell) -> None:
        """`value` stands in the column: `new` will not give it."""
        self._column(place).used.add(value)

    def can_hold(self, place: Place, value: Cell) -> bool:
        """Whether `value` may stand in the column: NULL where there is one, what its type holds and its table checks
        of it alone, and in SQLite no whole number of more than 64 bits.
        """
        table, name = place
        spec = self._schema.by_name[table].by_name[name]
        if not all(allows(check, {name: value}) for check in self._checks_of(place)):
            return False
        if value is None:
            return spec.nullable
        if self._profile.dialect == "sqlite" and isinstance(value, int) and not -(2**63) <= value < 2**63:
            return False
        return holds(value, spec)

    def _checks_of(self, place: Place) -> list[str]:
        """What is checked of a column alone."""
        table, name = place
        if place not in self._checked:
            self._checked[place] = [c for c in self._schema.by_name[table].checks if columns_of(c) == {name}]
        return self._checked[place]

    def _column(self, place: Place) -> _Column:
        found = self._columns.get(place)
        if found is None:
            table, name = place
            spec = self._schema.by_name[table].by_name[name]
            profile = self._profile.table(table).column(name)
            rng = stream(self._seed, "draw", table, name)
            may = partial(self.can_hold, place)
            literals = list(filter(may, _written(self._focus.literals.get(place, ()), spec, profile)))
            often = place not in self._focus.literals and rng.random() < _OFTEN_NULL
            nulls = _HALF if often else min(profile.null_share, _MOST_NULL)
            nulls = (MOSTLY if place in self._focus.unknown else nulls) if spec.nullable else 0.0
            listed = [value for check in self._checks_of(place) for value in constants_of(check)]
            seen = dict.fromkeys(fit(value, spec) for value in (*observed(profile), *listed))
            known = list(filter(may, seen))
            found = _Column(spec, literals, known, nulls, self._of_kind.get(spec.kind, []), rng, may)
            shunned = self._focus.shunned.get(place, ())
            found.pool = [value for value in found.pool if value not in shunned] or found.pool
            if name in self._schema.by_name[table].primary_key:
                found.number = rng.choice((0, 0, rng.randrange(_START)))
            self._columns[place] = found
        return found


def _written(values: Sequence[Cell], spec: ColumnSpec, profile: ColumnProfile) -> list[Cell]:
    """The constants of a query as the column would write them."""
    if not spec.formed:
        return list(values)
    known = [value for value in observed(profile) if isinstance(value, str)]
    return list(dict.fromkeys(text for value in values for text in as_written(value, known, spec)))


class _Column:
    def __init__(
        self,
        spec: ColumnSpec,
        literals: list[Cell],
        known: list[Cell],
        nulls: float,
        elsewhere: list[Cell],
        rng: random.Random,
        may: Callable[[Cell], bool],
    ) -> None:
        self.spec, self.observed, self.rng, self.may = spec, known, rng, may
        self.nulls = max(nulls, 0.1) if nulls else 0.0
        self.elsewhere = [value for value in elsewhere if value not in literals and may(value)]
        self.near = list(literals)
        for value in literals:
            neighbours = list(filter(may, beside(value, spec)))
            self.near += rng.sample(neighbours, min(2, len(neighbours)))
        numbers = rng.sample(range(_POOL * 3), rng.randint(3, _POOL))
        pool = dict.fromkeys(fresh(spec, known, number, rng) for number in numbers)
        kept = list(filter(may, pool))
        self.pool = kept if len(kept) >= _LEAST else list(dict.fromkeys((*kept, *known)))
        self.pool = self.pool or list(filter(may, (None,)))
        if not self.pool:  # a narrow type: the first numbers are the likeliest that it holds
            nearest = dict.fromkeys(fresh(spec, known, number, rng) for number in range(_POOL * 3))
            self.pool = list(filter(may, nearest)) or list(pool)
        self.used: set[Cell] = set()
        self.number = 0
        self.tries = _TRIES

    def any(self) -> Cell:
        if self.nulls and self.rng.random() < self.nulls:
            return None
        return self.known()

    def known(self) -> Cell:
        drawn = self.rng.random()
        if self.near and drawn < _LITERAL:
            return self.rng.choice(self.near)
        if self.elsewhere and drawn > 1 - _ELSEWHERE:
            return self.rng.choice(self.elsewhere)
        return self.rng.choice(self.pool)

    def alone(self) -> Cell:
        often = {*self.pool, *self.near, *self.elsewhere}
        start = self.rng.randrange(_TRIES)
        for number in range(start, start + _TRIES):
            value = fresh(self.spec, self.observed, number, self.rng)
            if value not in often and value not in self.used and self.may(value):
                self.used.add(value)
                return value
        return self.new()

    def new(self, mixed: bool = False) -> Cell:
        """Near the literals and the observed values first, then further and further away; `mixed`: numbers do not come
        in ascending order. Keys do, and rows would otherwise stand in the order of their keys.

        A column of few values (a boolean, a year) runs out of new ones: then one of them comes again.
        """
        if self.near and self.rng.random() < _LITERAL:
            near = self.rng.choice(self.near)
            if near not in self.used:
                self.used.add(near)
                return near
        value: Cell = None
        for _ in range(self.tries):
            climbing = not mixed and self.spec.kind in ("integer", "real", "boolean")
            start = self.number if climbing else self.rng.randrange(30)
            value = fresh(self.spec, self.observed, self.number + start % 7, self.rng)
            self.number += 1
            if value not in self.used and self.may(value):
                self.used.add(value)
                return value
        self.tries = _FEW  # it would be looked for in vain at every row
        return value if self.may(value) else self.rng.choice(self.pool)
