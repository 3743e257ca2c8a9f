"""Queries in a FROM written as one SELECT with the query around them, where that gives the same rows.

dbt's `WITH orders AS (SELECT * FROM shop.orders)`, Metabase's `FROM (SELECT ...) AS "source"`, figures of a named query
that are bounded and sorted outside: how people and tools lay out one question, of which the tree has one form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.conditions import joined, parts_of
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.joined_on import joined_on
from agro_data.sql.names.scope import Schema, resolve
from agro_data.synthesis.read_back.spelled_out import in_their_places, spell_out

_ROWS = frozenset({"kind", "expressions", "from_", "joins", "where", "order"})  # clauses that leave rows what they are
_WHOLE = _ROWS | {"group", "having", "limit", "qualify"}
_PASSES = frozenset({"kind", "expressions", "from_", "where", "order", "limit"})  # of a query around groups
Items = Mapping[str, exp.Expr]  # the outputs of a query in a FROM, by their folded names


def merged(tree: exp.Query, dialect: Dialect, schema: Schema, *, ranks: bool = False) -> exp.Query:
    """`tree` with the queries in its FROM, named ones too, written in their place; `tree` itself where none can be.

    With `ranks` a bound on a window function of such a query becomes a QUALIFY, which SQLite reads nowhere.
    """
    if tree.args.get("with_") is None and not any(map(_holder, tree.find_all(exp.Subquery))):
        return tree
    own = in_their_places(tree.copy()) if tree.args.get("with_") is not None else tree.copy()
    found = resolve(own, dialect, schema) if own is not None else None
    if found is None or found.problems or not spell_out(found := joined_on(found, dialect, schema)):
        return tree
    made, changed = found.tree, False
    while (following := _one_less(made, ranks)) is not None:
        made, changed = following, True
    return made if changed and not resolve(made, dialect, schema).problems else tree


def _one_less(tree: exp.Query, ranks: bool) -> exp.Query | None:
    """The tree with one query in a FROM less; None where none can be merged."""
    for held in list(tree.find_all(exp.Subquery)):
        outer, inner = _holder(held), held.this
        if outer is None or not isinstance(inner, exp.Select) or set(_set(held)) - {"this", "alias"}:
            continue
        items = {folded(item.alias_or_name): item.unalias() for item in inner.expressions}
        named = {folded(column.name) for column in _uses(held, outer)}
        if len(items) < len(inner.expressions) or not named <= items.keys():
            continue
        used = {name: items[name] for name in named}
        if any(isinstance(value, exp.Literal) or value.find(exp.Query) for value in used.values()):
            continue  # a number that a key would become is a position
        if _is_rows(inner) and _rows_into(outer, held, inner, used):
            return tree
        made = _around(outer, held, inner, used, ranks)
        if made is not None:
            return outer.replace(made) if outer is not tree else made
    return None


def _holder(held: exp.Subquery) -> exp.Select | None:
    """The SELECT in whose FROM a query stands."""
    place = held.parent
    if isinstance(place, exp.From | exp.Join) and place.this is held and isinstance(place.parent, exp.Select):
        return place.parent
    return None


def _set(node: exp.Expr) -> Iterator[str]:
    """The names of what a node has."""
    return (name for name, value in node.args.items() if value)


def _uses(held: exp.Subquery, outer: exp.Select) -> list[exp.Column]:
    alias = folded(held.alias)
    return [column for column in outer.find_all(exp.Column) if folded(column.table) == alias]


def _is_rows(inner: exp.Select) -> bool:
    """Whether a query gives rows as they stand in tables: neither groups nor places nor only the first of them."""
    if set(_set(inner)) - _ROWS or inner.args.get("from_") is None:
        return False
    return not any(isinstance(node, exp.Window) or is_aggregate(node) for node in _shown(inner))


def _shown(select: exp.Select) -> Iterator[exp.Expr]:
    return (node for item in select.expressions for node in item.walk())


# --- rows ----------------------------------------------------------------------------------------------------------


def _rows_into(outer: exp.Select, held: exp.Subquery, inner: exp.Select, used: Items) -> bool:
    """Put what a query of rows reads in its place, in the tree itself. Whether that gives the same."""
    joins, own = outer.args.get("joins") or [], inner.args.get("joins") or []
    if any((join.side or "").upper() in ("RIGHT", "FULL") for join in (*joins, *own)):
        return False
    place, condition = held.parent, inner.args.get("where")
    conditions = list(parts_of(condition.this)) if condition is not None else []
    at = 0
    if isinstance(place, exp.Join):
        at = joins.index(place) + 1
        tied = place.args.get("on")
        if (place.side or "").upper() == "LEFT" and not place.kind:
            # Without a row it is NULL, and what is made of the row's columns may not be.
            if own or tied is None or not all(isinstance(value, exp.Column) for value in used.values()):
                return False
            place.set("on", joined([*parts_of(tied), *conditions]))
            conditions = []
        elif place.side or place.method or (place.kind or "INNER") not in ("INNER", "CROSS"):
            return False
        elif own and tied is not None:  # it may be tied by what is only joined after it
            conditions += parts_of(tied)
            place.set("on", None)
            place.set("kind", "CROSS")
    held.replace(inner.args["from_"].this)
    outer.set("joins", [*joins[:at], *own, *joins[at:]])
    where = outer.args.get("where")
    every = [*(parts_of(where.this) if where is not None else ()), *conditions]
    if every:
        outer.set("where", exp.Where(this=joined(every)))
    _substitute(outer, folded(held.alias), used)
    return True


def _substitute(node: exp.Expr, alias: str, used: Items) -> None:
    """Write what the columns of a query in a FROM stand for in their place, under the names that they have."""
    for column in [one for one in node.find_all(exp.Column) if folded(one.table) == alias]:
        value = used[folded(column.name)].copy()
        if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
            same = isinstance(value, exp.Column) and folded(value.name) == folded(column.name)
            column.replace(value if same else exp.alias_(value, identifier(column.name), copy=False))
        else:
            column.replace(exp.paren(value) if isinstance(value, exp.Binary | exp.Case | exp.Not) else value)


# --- groups, places, and the first rows ----------------------------------------------------------------------------


def _around(outer: exp.Select, held: exp.Subquery, inner: exp.Select, used: Items, ranks: bool) -> exp.Select | None:
    """One SELECT for a query that only passes on what the query in its FROM gives: bounded, sorted, the first of it."""
    if set(_set(outer)) - _PASSES or set(_set(inner)) - _WHOLE or not isinstance(held.parent, exp.From):
        return None
    nested = any(column.parent_select is not outer for column in _uses(held, outer))
    if nested or any(is_aggregate(node) for node in _shown(outer)):
        return None
    where, later = outer.args.get("where"), [name for name in ("where", "order", "limit") if outer.args.get(name)]
    placed = any(isinstance(value, exp.Window) for value in used.values()) or inner.args.get("qualify") is not None
    grouped = inner.args.get("group") is not None
    totals = any(is_aggregate(node) for node in _shown(inner)) and not grouped
    if (inner.args.get("limit") is not None and later) or (totals and where is not None):
        return None
    if any(isinstance(node, exp.Window) for node in outer.walk() if node.find_ancestor(exp.Subquery) is not held) and (
        placed or inner.args.get("limit") is not None
    ):
        return None
    tests: dict[str, list[exp.Expr]] = {"where": [], "having": [], "qualify": []}
    for part in parts_of(where.this) if where is not None else ():
        values = [used[folded(column.name)] for column in part.find_all(exp.Column)]
        kind = _place_of(values, inner, placed)
        if kind is None or part.find(exp.Query) or (kind == "qualify" and not ranks):
            return None
        tests[kind].append(part)
    made = inner.copy()
    made.set("expressions", [item.copy() for item in outer.expressions])
    order = outer.args.get("order")
    for name, value in (("order", order), ("limit", outer.args.get("limit"))):
        if value is not None:
            made.set(name, value.copy())
    for name, parts in tests.items():
        kind_of_clause = {"where": exp.Where, "having": exp.Having, "qualify": exp.Qualify}[name]
        before = made.args.get(name)
        every = [*(parts_of(before.this) if before is not None else ()), *parts]
        if every:
            made.set(name, kind_of_clause(this=joined(every)))
    _substitute(made, folded(held.alias), used)
    return made


def _place_of(values: list[exp.Expr], inner: exp.Select, placed: bool) -> str | None:
    """The clause in which a condition on these outputs of a query is one of its own; None where there is none."""
    if placed:
        return "qualify"
    if any(is_aggregate(node) for value in values for node in value.walk()):
        return "having"
    group = inner.args.get("group")
    keys = list(group.expressions) if group is not None else values
    return "where" if all(value in keys for value in values) else None
