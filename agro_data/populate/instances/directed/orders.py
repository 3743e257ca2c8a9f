"""Rows that only the whole of a value puts in order: days of one month, numbers of one whole number, texts of one
beginning in other case. A query that orders by the month, by the whole number or without regard to case shows there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.populate.instances.directed.focus import group_columns, places_of
from agro_data.populate.instances.directed.plans import Plan, Query
from agro_data.populate.instances.directed.proposal import PartialRow
from agro_data.populate.instances.values.near import WORDS, beyond, decimals, fit, observed
from agro_data.populate.schema import ColumnSpec, Schema
from agro_data.profiling.columns.statistics import is_uuid
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile
from agro_data.sql.names.resolution import Place, Resolution, Scope

Part = Literal["case", "month", "day", "whole"]
"""What a careless order goes by: a text without regard to case, the month or the day of a date, a whole number."""

READINGS = 4  # rows of one month: two would come in order by chance half of the time
_DAYS = ("03", "09", "14", "21", "27")
_CLOCKS = (" 03:10:00", " 09:40:00", " 15:20:00", " 21:50:00")
_FRACTIONS = (0.12, 0.14, 0.27, 0.31, 0.43)  # all are rounded down
_BASES = 6  # values that are made over, of each kind


def parts_of(column: ColumnSpec, seen: ColumnProfile) -> tuple[Part, ...]:
    """The parts of a column's values that an order may be mistaken to go by and that its values can show, the finest
    last.
    """
    if column.kind in ("date", "datetime") and column.typed:
        return ("month",) if column.kind == "date" else ("month", "day")
    if column.kind == "real":
        digits = decimals(column.declared_type)
        return ("whole",) if (digits is None or digits >= 2) and not seen.integral else ()
    if column.kind == "text" and not seen.date_format and not is_uuid(column.declared_type):
        texts = [value for value in observed(seen) if isinstance(value, str)]
        return ("case",) if all(any(letter.isalpha() for letter in text) for text in texts) else ()
    return ()


def ordered_parts(schema: Schema, profile: DatabaseProfile) -> Mapping[Place, tuple[Part, ...]]:
    """`parts_of` every column that has some."""
    found = {
        (table.name, column.name): parts_of(column, profile.table(table.name).column(column.name))
        for table in schema.tables
        for column in table.columns
    }
    return {place: parts for place, parts in found.items() if parts}


def first_key(found: Resolution, scope: Scope) -> tuple[exp.Ordered, Place] | None:
    """The first key of a SELECT's order where it is a column of a table, and that column; in groups one of their keys.
    None under HAVING, which says how many rows a group has.
    """
    select = scope.select
    order = select.args.get("order")
    if order is None or scope.correlated or select.args.get("having") is not None:
        return None
    key = order.expressions[0]
    named = found.aliased(key.this)
    term = key.this if named is None else named
    places = places_of(found, term) if isinstance(term, exp.Column) else []
    if len(places) != 1:
        return None
    if select.args.get("group") is not None:
        grouped = {place for column in group_columns(found, scope) for place in places_of(found, column)}
        if places[0] not in grouped:
            return None
    return key, places[0]


def orders(query: Query) -> Iterator[Plan]:
    """For each order rows that are alike in the finest part that it may be mistaken to go by, so in all."""
    for scope in query.found.scopes:
        first = first_key(query.found, scope)
        if first is not None:
            key, (table, name) = first
            column = query.schema.by_name[table].by_name[name]
            for part in parts_of(column, query.profile.table(table).column(name))[-1:]:
                why = f"only the whole of {key.this.sql()} puts them in order, not its {part}"
                yield Plan("order", why, _Alike(query, scope, key, (table, name), part))


@dataclass(frozen=True)
class _Alike:
    query: Query
    scope: Scope
    key: exp.Ordered
    place: Place
    part: Part

    def __call__(self, rng: random.Random) -> tuple[PartialRow, ...] | None:
        tableau = self.query.tableau(rng)
        for _ in range(READINGS):
            tableau.stand_alone(tableau.query(self.query.tree, {}).outputs)
        frames = [frame for select, frame in tableau.frames if select == id(self.scope.select)]
        unknowns = [tableau.unknown_of(self.key.this, frame) for frame in frames]
        cells = [unknown for unknown in unknowns if unknown is not None]
        if len(cells) != READINGS:
            return None
        for base in self._bases(tableau.near(cells[0]), rng):
            for values in alike(base, self.part, rng):
                if all(map(tableau.passes, cells, values)):
                    for cell, value in zip(cells, values, strict=True):
                        tableau.give(cell, value)
                    return tableau.partial_rows()
        return None

    def _bases(self, asked: Sequence[Cell], rng: random.Random) -> Iterator[Cell]:
        """Values to begin with: beyond all others where only the first rows are kept."""
        table, name = self.place
        column, seen = self.query.schema.by_name[table].by_name[name], self.query.profile.table(table).column(name)
        if self.scope.select.args.get("limit") is not None:
            yield beyond(column, seen, bool(self.key.args.get("desc")), rng)
        known = [fit(value, column) for value in observed(seen)]
        yield from rng.sample(known, min(_BASES, len(known)))
        yield from rng.sample(asked, min(_BASES, len(asked)))
        yield 7 if column.kind == "real" else WORDS[0] if column.kind == "text" else "2016-05-17"


def alike(base: Cell, part: Part, rng: random.Random) -> Iterator[tuple[Cell, ...]]:
    """Values about `base` that `part` puts in another order, or in none."""
    if part == "whole" and isinstance(base, int | float) and abs(base) < 2**31:
        sign = 1 if base >= 0 else -1
        yield tuple(round(int(base) + sign * more, 2) for more in rng.sample(_FRACTIONS, READINGS))
    elif part == "case" and isinstance(base, str):
        low, *high = sorted(rng.sample(WORDS, READINGS))
        words = (low, *(word.upper() for word in high))
        yield tuple(f"{base} {word}" for word in words)
        yield tuple(f"{word} {base}" for word in words)
    elif part == "month" and isinstance(base, str):
        yield tuple(base[:8] + day + base[10:] for day in rng.sample(_DAYS, READINGS))
    elif part == "day" and isinstance(base, str):
        yield tuple(base[:10] + clock for clock in rng.sample(_CLOCKS, READINGS))
