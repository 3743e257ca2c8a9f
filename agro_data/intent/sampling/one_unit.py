"""What is summed, compared or put in order is in one unit: amounts in euros, or in dollars, but not all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace

from agro_data.intent.sampling.atlas import sayable
from agro_data.intent.sampling.holds import holds
from agro_data.intent.sampling.scene import Draft, Scene
from agro_data.intent.tree import (
    Aggregate,
    Between,
    Column,
    Comparison,
    InList,
    Keep,
    OrderKey,
    Query,
    SetOperation,
    Value,
    Window,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile, TableProfile

# What sets the values of several rows, or a value and a bound, against each other.
_SETTING = Aggregate | Between | Comparison | InList | Keep | OrderKey | Window


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
    parts = [*conjuncts(query.where)]
    named = {n for part in (query.where, query.select, query.group_by) for n in walk(part)}
    for unit in dict.fromkeys(_mixed(query, scene.atlas.profile, outer=True)):
        held = None if unit in named else _held(scene, query, unit)
        if held is None:
            return None
        parts.append(held)
    return replace(draft, query=replace(query, where=conjunction(parts)))


def _held(scene: Scene, query: Query, unit: Column) -> Comparison | None:
    """A condition that rows have one unit, which some sample row has that meets the other conditions of its table; None
    where there is none, or the table that says the unit is not asked.
    """
    table = next((s.table for s in query.sources if s.alias == unit.source), None)
    if table is None:
        return None
    tests = [
        test
        for test in conjuncts(query.where)
        if {n.source for n in walk(test) if isinstance(n, Column)} == {unit.source}
    ]
    rows = [row for row in scene.atlas.rows(table) if all(holds(test, row) is not False for test in tests)]
    known = [value for row in rows if isinstance(value := row[unit.name], str) and sayable(value)]
    return Comparison("=", unit, Value(scene.pick(known), (table, unit.name))) if known else None


def _mixed(body: Query, profile: DatabaseProfile, *, outer: bool) -> list[Column]:
    """The columns of units that should be held to one value in `body`, and are not.

    Figures of groups may be in as many units as there are groups, where they are only shown.
    """
    tables = {s.alias: profile.by_name[s.table] for s in body.sources if s.table in profile.by_name}
    if not any(c.unit_column for table in tables.values() for c in table.columns):
        return []
    held = {p.left for p in conjuncts(body.where) if isinstance(p, Comparison) and p.operator == "="}
    shown = {o.expression for o in body.select} if outer and not body.ctes else set()
    clauses = (body.where, body.having, body.keep, body.order_by, tuple(o.expression for o in body.select))
    units: list[Column] = []
    for node in _outside_queries(clauses):
        if not isinstance(node, _SETTING) or (isinstance(node, Aggregate) and node.function == "count"):
            continue
        found = [unit for n in _outside_queries(node) if (unit := _unit_of(n, tables)) is not None]
        if isinstance(node, Comparison) and isinstance(node.right, Column) and len(set(found)) < len(found):
            continue  # the total and the tax of one row
        apart = node.partition if isinstance(node, Window | Keep) else body.group_by if node in shown else ()
        units += [unit for unit in found if unit not in held and not _told_apart(unit, apart, tables)]
    return units


def _told_apart(unit: Column, apart: Sequence[object], tables: Mapping[str, TableProfile]) -> bool:
    """Whether groups by the columns `apart` have one unit each: groups by it, or by the key of its row."""
    key = tables[unit.source].primary_key if unit.source in tables else ()
    return unit in apart or (bool(key) and all(Column(unit.source, name) in apart for name in key))


def _unit_of(node: object, tables: Mapping[str, TableProfile]) -> Column | None:
    """The column that says the unit of a column; None where it has but one, or for any other node.

    It is of no source where its table is not among `tables`, or not once.
    """
    if not isinstance(node, Column) or node.source not in tables:
        return None
    known = tables[node.source].by_name.get(node.name)
    if known is None or not known.unit_column:
        return None
    if not known.unit_table:
        return Column(node.source, known.unit_column)
    parents = [alias for alias, table in tables.items() if table.name == known.unit_table]
    return Column(parents[0] if len(parents) == 1 else "", known.unit_column)


def _outside_queries(node: object) -> Iterator[object]:
    """Every node of the tree but those of queries inside it."""
    if isinstance(node, tuple):
        for part in node:
            yield from _outside_queries(part)
    elif is_dataclass(node) and not isinstance(node, Query):
        yield node
        for field in fields(node):
            yield from _outside_queries(getattr(node, field.name))
