"""Which columns of the database a query compares with what, orders by, and groups by."""

from __future__ import annotations

import random
from collections.abc import Iterator

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Cell
from agro_data.populate.instances.directed.proposal import Focus
from agro_data.populate.instances.directed.tableau import ATOMS
from agro_data.populate.instances.values.arithmetic import literal
from agro_data.populate.instances.values.near import fit
from agro_data.populate.instances.values.views import neighbours, view_of
from agro_data.populate.schema import Schema
from agro_data.sql.names.resolution import Place, Resolution, Scope
from agro_data.sql.walks import leftmost


def focus_of(found: Resolution, schema: Schema) -> Focus:
    """The literals that the query writes beside a column, and the columns that decide an order which is seen."""
    literals: dict[Place, list[Cell]] = {}
    comparisons: Iterator[exp.Expr] = found.tree.find_all(*ATOMS)
    for node in comparisons:
        places = [place for column in _columns(node) for place in places_of(found, column)]
        values = _viewed(node)
        if values is None:
            values = [literal(value) for value in _literals(node)] + [
                binding.name
                for column in _columns(node)
                if (binding := found.binding(column)) is not None and binding.kind == "string"
            ]
        values += [value for column in _columns(node) for value in _written(found, column)]
        for table, column in places:
            spec = schema.by_name[table].by_name[column]
            plain = [value for value in values if not (isinstance(value, str) and "%" in value)]
            plain += [value.replace("%", "") for value in values if isinstance(value, str) and "%" in value]
            literals.setdefault((table, column), []).extend(fit(value, spec) for value in plain if value != "")
    ordered = {
        place
        for node in found.tree.find_all(exp.Order)
        for key in _deciding(node, found, schema)
        for column in key.find_all(exp.Column)
        for place in places_of(found, column)
    }
    known = {place: tuple(dict.fromkeys(values)) for place, values in literals.items()}
    return Focus(known, frozenset(ordered), frozenset(_averaged(found)))


def _deciding(order: exp.Order, found: Resolution, schema: Schema) -> list[exp.Expr]:
    """The keys of an order that should not tie: all, or the first that is a key of the one table that is read."""
    scope = next((scope for scope in found.scopes if scope.select is order.parent_select), None)
    source = scope.sources[0] if scope is not None and len(scope.sources) == 1 else None
    for key in order.expressions if source is not None and source.table else ():
        binding = found.binding(key.this)
        own = source if binding is not None and binding.source is source else None
        if binding is not None and own and schema.by_name[own.table].is_unique((own.columns[binding.name],)):
            return [key]
    return list(order.expressions)


def _written(found: Resolution, column: exp.Expr) -> Iterator[Cell]:
    """The constants that a column of VALUES holds, directly or under WITH."""
    binding = found.binding(column)
    source = binding.source if binding is not None else None
    if binding is None or source is None or source.table:
        return
    query = _derived(found, source.node)
    start = query.args.get("from_") if query is not None and query.is_star else None
    rows = start.this if start is not None else source.node
    place = list(source.columns).index(binding.name)
    for row in rows.expressions if isinstance(rows, exp.Values) else ():
        values = [value for value in row.expressions[place : place + 1] if isinstance(value, exp.Literal)]
        yield from map(literal, values)


def _averaged(found: Resolution) -> Iterator[tuple[Place, float]]:
    """Columns whose mean over a whole table a subquery takes, and how many times that the query asks for."""
    for node in found.tree.find_all(exp.Avg):
        select = node.parent_select
        if not isinstance(select, exp.Select) or select is found.tree or not isinstance(node.this, exp.Column):
            continue
        if not any(select.args.get(clause) for clause in ("where", "group", "joins", "limit")):
            yield from ((place, _times(node)) for place in places_of(found, node.this))


def _times(mean: exp.Expr) -> float:
    """The constant by which a mean is multiplied before it is compared: 1.5 in `x > 1.5 * (SELECT AVG(x) FROM t)`."""
    times, node = 1.0, mean
    while isinstance(node.parent, (exp.Paren, exp.Subquery, exp.Select, exp.Mul, exp.Div, exp.Alias)):
        outer = node.parent
        if isinstance(outer, (exp.Mul, exp.Div)):
            other = outer.expression if outer.this is node else outer.this
            number = float(other.this) if isinstance(other, exp.Literal) and other.is_number else 0.0
            if not number or (isinstance(outer, exp.Div) and other is outer.this):
                return 1.0
            times = times * number if isinstance(outer, exp.Mul) else times / number
        node = outer
    return times


def _viewed(node: exp.Expr) -> list[Cell] | None:
    """Where a part of a column is compared: values with the parts that the query names, and with those beside them."""
    sides = [side for side in node.args.values() if isinstance(side, exp.Expr)] + node.expressions
    view = next((view for _, view in map(view_of, sides) if view is not None), None)
    if view is None:
        return None
    rng = random.Random(0)
    shown = [fit(literal(side), view.shown) for side in sides if isinstance(side, exp.Literal)]
    every = [value for constant in shown for value in (constant, *neighbours(view, constant))]
    return [value for one in every for value in view.made(one, (), rng)[:1]]


def read_places(found: Resolution) -> frozenset[Place]:
    """Every column of a base table that a query names."""
    columns: Iterator[exp.Column] = found.tree.find_all(exp.Column)
    return frozenset(place for column in columns for place in places_of(found, column))


def places_of(found: Resolution, column: exp.Expr) -> list[Place]:
    """The columns of base tables whose values a reference shows, through aliases, derived tables and CTEs."""
    return list(dict.fromkeys(_places(found, column, 0)))


def _places(found: Resolution, column: exp.Expr, depth: int) -> Iterator[Place]:
    binding = found.binding(column)
    if binding is None or depth > 8:
        return
    named = found.aliased(column)
    if named is not None:
        for inner in named.find_all(exp.Column):
            if inner is not column:
                yield from _places(found, inner, depth + 1)
    elif binding.kind == "output":
        for item in leftmost(found.tree).expressions:
            if folded(item.alias_or_name) == binding.name:
                for inner in item.find_all(exp.Column):
                    yield from _places(found, inner, depth + 1)
    elif binding.source is not None and binding.source.table:
        yield binding.source.table, binding.source.columns[binding.name]
    elif binding.source is not None:
        query = _derived(found, binding.source.node)
        for item in leftmost(query).expressions if query is not None else ():
            if folded(item.alias_or_name) == binding.name:
                for inner in item.find_all(exp.Column):
                    yield from _places(found, inner, depth + 1)


def _derived(found: Resolution, node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.Subquery):
        return node.this if isinstance(node.this, exp.Query) else None
    return next((cte.this for cte in found.tree.find_all(exp.CTE) if folded(cte.alias) == folded(node.name)), None)


def group_terms(found: Resolution, scope: Scope) -> Iterator[exp.Expr]:
    """What a SELECT groups by, aliases and positions as what they stand for."""
    group = scope.select.args.get("group")
    return (found.meaning(key, scope.select) for key in (group.expressions if group is not None else ()))


def group_columns(found: Resolution, scope: Scope) -> list[exp.Column]:
    """The columns that a SELECT groups by, or by what it computes of them."""
    columns = (column for term in group_terms(found, scope) for column in term.find_all(exp.Column))
    return [column for column in columns if found.binding(column) is not None]


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Columns that stand in a comparison itself, not in a query within it."""
    for child in node.iter_expressions():
        if isinstance(child, exp.Column):
            yield child
        elif not isinstance(child, (exp.Query, exp.And, exp.Or)):
            yield from _columns(child)


def _literals(node: exp.Expr) -> Iterator[exp.Literal]:
    for child in node.iter_expressions():
        if isinstance(child, exp.Literal):
            yield child
        elif not isinstance(child, (exp.Query, exp.And, exp.Or)):
            yield from _literals(child)
