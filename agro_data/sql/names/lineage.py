"""Of which columns of tables what a query shows is made, through derived tables, CTEs and set operations."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.sql.names.resolution import Place, Resolution, Source

Seen = set[tuple[int, str]]  # what was gone through: recursive queries lead back to themselves


def places_shown(found: Resolution, place: int) -> frozenset[Place]:
    """The columns from which the output at `place` of a resolved query is computed, also in its subqueries."""
    return frozenset(_of_output(found, found.tree, place, set()))


def outputs_at(found: Resolution, query: exp.Expr, place: int) -> Iterator[tuple[exp.Select, int]]:
    """The SELECTs whose rows a query gives, without brackets, and where each has what is at `place` of them all."""
    if isinstance(query, exp.Select):
        yield query, place
    elif isinstance(query, exp.SetOperation):
        for side in (query.this, query.expression):
            if not query.args.get("by_name"):
                yield from outputs_at(found, side, place)
            elif (name := found.outputs[id(query)][place]) in found.outputs[id(side)]:
                yield from outputs_at(found, side, found.outputs[id(side)].index(name))
    elif query.this is not None:
        yield from outputs_at(found, query.this, place)


def _of_output(found: Resolution, query: exp.Expr, place: int, seen: Seen) -> Iterator[Place]:
    for select, at in outputs_at(found, query, place):
        origin = found.scope_of(select).origins[at]
        if isinstance(origin, tuple):
            yield from _of_source(found, *origin, seen)
        else:
            yield from _of_expression(found, origin, seen)


def _of_expression(found: Resolution, node: exp.Expr, seen: Seen) -> Iterator[Place]:
    if (id(node), "") in seen:
        return
    seen.add((id(node), ""))
    for column in node.find_all(exp.Column):
        binding = found.binding(column)
        if binding is not None and binding.expression is not None:
            yield from _of_expression(found, binding.expression, seen)
        elif binding is not None and binding.source is not None:
            yield from _of_source(found, binding.source, binding.name, seen)


def _of_source(found: Resolution, source: Source, name: str, seen: Seen) -> Iterator[Place]:
    if source.table:
        yield source.table, source.columns[name]
    elif source.query is None:  # rows that are written out, or that a function makes of its arguments
        yield from _of_expression(found, source.node, seen)
    elif (id(source.query), name) not in seen:
        seen.add((id(source.query), name))
        yield from _of_output(found, source.query.query, list(source.query.outputs).index(name), seen)
