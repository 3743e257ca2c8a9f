"""What is summed, compared or put in order is in one unit: amounts in euros, or in dollars, but not all of them.

Nor are debits added to credits, balances of one day to those of another, or parts to their total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass, replace

from agro_data.intent.sampling.atlas import sayable
from agro_data.intent.sampling.holds import holds
from agro_data.intent.sampling.scene import Draft, Scene
from agro_data.intent.tree import (
    Aggregate,
    Between,
    Column,
    Comparison,
    InList,
    Join,
    Keep,
    OrderKey,
    Query,
    SetOperation,
    Source,
    Value,
    Window,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile, TableProfile, Within

# What sets the values of several rows, or a value and a bound, against each other.
_SETTING = Aggregate | Between | Comparison | InList | Keep | OrderKey | Window


@dataclass(frozen=True)
class _Unit:
    """What the rows of a source should have alike."""

    source: str
    within: Within


def mixes_units(query: Query | SetOperation, profile: DatabaseProfile) -> bool:
    """Whether somewhere in `query` quantities are set against each other that may be in different units."""
    return any(_mixed(body, profile, outer=body is query) for body in walk(query) if isinstance(body, Query))


def in_one_unit(scene: Scene, draft: Draft | None) -> Draft | None:
    """The draft, asked of the rows in one unit where it would mix several; None where a condition would not do.

    A second query inside would need it, too; parents that are kept without rows would be lost; and of what all rows
    have nothing is shown.
    """
    if draft is None or not mixes_units(draft.query, scene.atlas.profile):
        return draft
    query = draft.query
    alone = sum(isinstance(n, Query) for n in walk(query)) == 1
    if not isinstance(query, Query) or not alone or any(join.kind == "left" for join in query.joins):
        return None
    named = {n for part in (query.where, query.select, query.group_by) for n in walk(part)}
    for unit in dict.fromkeys(_mixed(query, scene.atlas.profile, outer=True)):
        told = _joined(scene, query, unit)
        test = None if told is None else _held(scene, *told)
        if told is None or test is None or test.left in named:
            return None
        query = replace(told[0], where=conjunction([*conjuncts(told[0].where), test]))
    return replace(draft, query=query)


def _joined(scene: Scene, query: Query, unit: _Unit) -> tuple[Query, Column] | None:
    """The query with the tables on the way to the one that says the unit, and its column there; None where a question
    does not go this way.
    """
    atlas = scene.atlas
    reached = _reached(unit, query)
    alias = reached[-1]
    sources, joins = [*query.sources], [*query.joins]
    for key in unit.within.path[len(reached) - 1 :]:
        edge = next((e for e in atlas.up.get(key.table, ()) if e.child_columns == key.columns), None)
        if edge is None or any(source.table == key.ref_table for source in sources):
            return None
        right = scene.alias()
        sources.append(Source(right, key.ref_table))
        joins.append(Join(alias, right, edge.pairs_up, "inner", "up"))
        alias = right
    return replace(query, sources=tuple(sources), joins=tuple(joins)), Column(alias, unit.within.column)


def _held(scene: Scene, query: Query, unit: Column) -> Comparison | None:
    """A condition that rows have one unit, which some sample row has that meets the other conditions of its table; None
    where there is none, or where it would leave one row.
    """
    table = query.table_of(unit.source)
    column = scene.atlas.by_name[table].by_name.get(unit.name)
    if column is None or column.unique:
        return None
    tests = [
        test
        for test in conjuncts(query.where)
        if {n.source for n in walk(test) if isinstance(n, Column)} == {unit.source}
    ]
    rows = [row for row in scene.atlas.rows(table) if all(holds(test, row) is not False for test in tests)]
    kinds = str if column.role == "identifier" else (str, int)
    known = [value for row in rows if isinstance(value := row[unit.name], kinds) and sayable(value)]
    return Comparison("=", unit, Value(scene.pick(known), (table, unit.name))) if known else None


def _mixed(body: Query, profile: DatabaseProfile, *, outer: bool) -> list[_Unit]:
    """What should be held to one value in `body`, and is not.

    Figures of groups may be in as many units as there are groups, where they are only shown.
    """
    tables = {s.alias: profile.by_name[s.table] for s in body.sources if s.table in profile.by_name}
    if not any(c.within for table in tables.values() for c in table.columns):
        return []
    held = [p.left for p in conjuncts(body.where) if isinstance(p, Comparison) and p.operator == "="]
    shown = {o.expression for o in body.select} if outer and not body.ctes else set()
    clauses = (body.where, body.having, body.keep, body.order_by, tuple(o.expression for o in body.select))
    units: list[_Unit] = []
    for node in _outside_queries(clauses):
        if not isinstance(node, _SETTING) or (isinstance(node, Aggregate) and node.function == "count"):
            continue
        if isinstance(node, Comparison) and isinstance(node.right, Column):
            sides = [{*_units_of(side, tables, summed=False)} for side in (node.left, node.right)]
            if sides[0] == sides[1]:
                continue  # the total and the tax of one row
        summed = isinstance(node, Aggregate | Window) and node.function == "sum"
        apart = node.partition if isinstance(node, Window | Keep) else body.group_by if node in shown else ()
        found = _units_of(node, tables, summed=summed)
        units += [unit for unit in found if not _told_apart(unit, {*held, *apart}, body, tables)]
    return units


def _units_of(node: object, tables: Mapping[str, TableProfile], *, summed: bool) -> list[_Unit]:
    """What rows should have alike for the quantities in `node` to be compared, and `summed`."""
    columns = [n for n in _outside_queries(node) if isinstance(n, Column) and n.source in tables]
    return [
        _Unit(column.source, within)
        for column in columns
        if column.name in tables[column.source].by_name
        for within in tables[column.source].by_name[column.name].within
        if summed or not within.summed
    ]


def _reached(unit: _Unit, body: Query) -> list[str]:
    """The sources on the way from rows to what says their unit, as far as `body` joins them."""
    found = [unit.source]
    for key in unit.within.path:
        up = tuple(zip(key.columns, key.ref_columns, strict=True))
        down = tuple(zip(key.ref_columns, key.columns, strict=True))
        parents = [
            *(j.right for j in body.joins if j.left == found[-1] and j.columns == up and j.direction == "up"),
            *(j.left for j in body.joins if j.right == found[-1] and j.columns == down and j.direction == "down"),
        ]
        if len(parents) != 1:
            break
        found += parents
    return found


def _told_apart(unit: _Unit, alike: Set[object], body: Query, tables: Mapping[str, TableProfile]) -> bool:
    """Whether rows that have the expressions `alike` have one unit: it is one of them, or by a key they belong to one
    row on the way to it. One row alone is nothing to compare: where no two have the same, as of a total and its parts
    with a row each, nothing tells them apart.
    """
    reached, path = _reached(unit, body), unit.within.path
    telling = None if path else tables[unit.source].by_name.get(unit.within.column)
    if telling is not None and telling.unique:
        return False
    if len(reached) > len(path) and Column(reached[-1], unit.within.column) in alike:
        return True
    keys = [(alias, tables[alias].primary_key) for alias in reached if alias in tables]
    keys += [(alias, key.columns) for alias, key in zip(reached, path, strict=False)]
    return any(names and all(Column(alias, name) in alike for name in names) for alias, names in keys)


def _outside_queries(node: object) -> Iterator[object]:
    """Every node of the tree but those of queries inside it."""
    if isinstance(node, tuple):
        for part in node:
            yield from _outside_queries(part)
    elif is_dataclass(node) and not isinstance(node, Query):
        yield node
        for field in fields(node):
            yield from _outside_queries(getattr(node, field.name))
