"""The first and the last: rows that would come first if one condition did not hold, and rows that come first together.

A query that keeps the first rows of an order, a minimum or a maximum looks at one end of a column; there a mistake
shows only if the row it lets in lies beyond all others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.populate.instances.directed.focus import places_of
from agro_data.populate.instances.directed.plans import ALONE, Plan, Query, cut_after_first, share_rows
from agro_data.populate.instances.directed.proposal import PartialRow
from agro_data.populate.instances.directed.tableau import Missed, Tableau
from agro_data.populate.instances.values.comparisons import Test
from agro_data.populate.instances.values.near import beyond
from agro_data.sql.names.resolution import Scope, Source

LEAST = 8  # number of which two just below it are more
DECIDED = 3  # rows, at most, that only the next key of an order puts in order
End = tuple[Scope, exp.Expr, bool]
"""A SELECT, the column whose end it looks at, and whether that is the upper end."""


def extremes(query: Query, missing: bool = False) -> Iterator[Plan]:
    """For each end that is looked at: rows beyond it that miss a condition and, unless only these are wanted, one that
    meets all, two that tie, and two that together outdo it.
    """
    for end in _ends(query):
        side = "last" if end[2] else "first"
        for name, missed in query.missable:
            yield Plan("extreme", f"{side} by {end[1].sql()}, differs in {name}", _Beyond(query, end, missed))
        if missing:
            continue
        yield Plan("extreme", f"{side} by {end[1].sql()}", _Beyond(query, end, {}))
        for source in _of_several(query, end):
            why = f"two of one {source.table} just behind that which is last by {end[1].sql()}"
            yield Plan("extreme", why, _Outdone(query, end, source))
        if not cut_after_first(end[0].select, query.found):
            yield Plan("extreme", f"two are {side} by {end[1].sql()} and show the same", _Tied(query, end))


def decided(query: Query) -> Iterator[Plan]:
    """For each end of an order by several keys rows that are first together by the first of them alone."""
    for end in _ends(query):
        if len(_keys(end[0])) > 1:
            why = f"some are {'last' if end[2] else 'first'} by {end[1].sql()}, and the next key decides"
            yield Plan("extreme", why, _Decided(query, end))


@dataclass(frozen=True)
class _Beyond:
    """One reading whose value lies beyond all others."""

    query: Query
    end: End
    missed: Missed

    def __call__(self, rng: random.Random) -> tuple[PartialRow, ...] | None:
        scope, term, upper = self.end
        tableau = self.query.tableau(rng)
        frame = tableau.query(self.query.tree, self.missed)
        if rng.random() < ALONE:  # what the other end shows may be the same by chance
            tableau.stand_alone(frame.outputs)
        value = _value(self.query, term, upper, rng)
        for cell in _cells(tableau, scope, term):
            tableau.require(cell, Test("=", (value,)))
        return tableau.partial_rows()


@dataclass(frozen=True)
class _Outdone:
    """The last reading by a number, and two of one row of `source` just behind it: by the sum of its partners that row
    would come last.
    """

    query: Query
    end: End
    source: Source

    def __call__(self, rng: random.Random) -> tuple[PartialRow, ...] | None:
        scope, term, upper = self.end
        value = _value(self.query, term, upper, rng)
        if not isinstance(value, int | float) or value < LEAST:
            return None
        tableau = self.query.tableau(rng)
        for _ in range(3):
            tableau.query(self.query.tree, {})
        frames = [frame for select, frame in tableau.frames if select == id(scope.select)]
        if len(frames) == 3:
            key = self.query.schema.by_name[self.source.table].primary_key
            share_rows(tableau, self.source, key, frames[1:])
        for behind, cell in enumerate(_cells(tableau, scope, term)):
            tableau.require(cell, Test("=", (value - behind,)))
        return tableau.partial_rows()


@dataclass(frozen=True)
class _Decided:
    """A few readings that are first together by all keys of an order but the last, or fewer."""

    query: Query
    end: End

    def __call__(self, rng: random.Random) -> tuple[PartialRow, ...] | None:
        scope, term, upper = self.end
        tableau = self.query.tableau(rng)
        for _ in range(rng.randint(2, DECIDED)):
            tableau.query(self.query.tree, {})
        keys = _keys(scope)
        value = _value(self.query, term, upper, rng)
        for key in keys[: rng.randrange(1, len(keys))]:
            cells = _cells(tableau, scope, key.this)
            if any(map(tableau.is_key, cells)):
                return None
            for cell in cells[1:]:
                tableau.equate(cells[0], cell)
            if key.this is term and cells:
                tableau.require(cells[0], Test("=", (value,)))
        return tableau.partial_rows()


@dataclass(frozen=True)
class _Tied:
    """Two readings that are first together; whichever an engine takes, it shows the same."""

    query: Query
    end: End

    def __call__(self, rng: random.Random) -> tuple[PartialRow, ...] | None:
        scope, term, upper = self.end
        tableau = self.query.tableau(rng)
        first, second = tableau.query(self.query.tree, {}), tableau.query(self.query.tree, {})
        for left, right in zip(first.outputs, second.outputs, strict=False):
            if left is not None and tableau.is_key(left):
                return None
            tableau.equate(left, right)
        value = _value(self.query, term, upper, rng)
        cells = _cells(tableau, scope, term)
        if any(map(tableau.is_key, cells)):
            return None
        for cell in cells:
            tableau.require(cell, Test("=", (value,)))
        return tableau.partial_rows()


def _cells(tableau: Tableau, scope: Scope, term: exp.Expr) -> list[int]:
    """What a term of a SELECT stands for in each of its readings."""
    found = (tableau.unknown_of(term, frame) for select, frame in tableau.frames if select == id(scope.select))
    return [unknown for unknown in found if unknown is not None]


def _value(query: Query, term: exp.Expr, upper: bool, rng: random.Random) -> Cell:
    table, column = places_of(query.found, term)[0]
    return beyond(query.schema.by_name[table].by_name[column], query.profile.table(table).column(column), upper, rng)


def _of_several(query: Query, end: End) -> Iterator[Source]:
    """The tables of a join whose rows may have several partners by whose number rows are ordered, the largest first."""
    scope, term, upper = end
    places = places_of(query.found, term)
    table, column = places[0]
    numeric = query.schema.by_name[table].by_name[column].kind in ("integer", "real")
    for source in scope.sources if upper and numeric and _keys(scope) else ():
        if source.table and source.table != table and query.schema.by_name[source.table].primary_key:
            yield source


def _keys(scope: Scope) -> list[exp.Expr]:
    """The keys by which a SELECT orders its rows; none where it has groups."""
    order = scope.select.args.get("order")
    return order.expressions if order is not None and scope.select.args.get("group") is None else []


def _ends(query: Query) -> Iterator[End]:
    for scope in query.found.scopes:
        select = scope.select
        order, limit = select.args.get("order"), select.args.get("limit")
        if order is not None and limit is not None and select.args.get("group") is None:
            key = order.expressions[0]
            if places_of(query.found, key.this):
                yield scope, key.this, bool(key.args.get("desc"))
        for item in select.expressions:
            for node in item.find_all(exp.Max, exp.Min):
                here = isinstance(node.this, exp.Column) and node.parent_select is select
                if here and places_of(query.found, node.this):
                    yield scope, node.this, isinstance(node, exp.Max)
