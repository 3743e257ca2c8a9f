"""The conditions of a SELECT: what they join, the predicates that they are made of, and which of these link sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from sqlglot import exp

from agro_data.sql.names.resolution import Resolution, Scope


def parts_of(condition: exp.Expr, kind: type[exp.Connector] = exp.And) -> Iterator[exp.Expr]:
    """What a condition joins by AND, or by another connector, also in brackets."""
    inner = condition.unnest()
    if isinstance(inner, kind):
        yield from parts_of(inner.this, kind)
        yield from parts_of(inner.expression, kind)
    else:
        yield condition


def parts_of_where(select: exp.Select) -> Iterator[exp.Expr]:
    """What the WHERE of a SELECT joins by AND, each without brackets; nothing where it has none."""
    where = select.args.get("where")
    if where is not None:
        yield from (part.unnest() for part in parts_of(where.this))


def joined(conditions: Iterable[exp.Expr], kind: type[exp.Connector] = exp.And) -> exp.Expr:
    """Copies of conditions, of at least one, joined by AND, or by another connector.

    What others join gets brackets: sqlglot writes trees as they stand, and an OR below an AND would be read as another
    condition.
    """
    bracketed = (
        exp.paren(condition)
        if isinstance(condition, exp.Connector) and not isinstance(condition, kind)
        else condition.copy()
        for condition in conditions
    )
    return reduce(lambda one, two: kind(this=one, expression=two), bracketed)


def leaves(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The predicates that AND, OR, NOT and parentheses combine; a negated one with its NOT."""
    if isinstance(condition, exp.Paren):
        yield from leaves(condition.this)
    elif isinstance(condition, (exp.And, exp.Or)):
        yield from leaves(condition.this)
        yield from leaves(condition.expression)
    elif isinstance(condition, exp.Not) and isinstance(condition.this.unnest(), exp.Connector):
        yield from leaves(condition.this)
    else:
        yield condition


def conditions(scope: Scope) -> Iterator[tuple[str, exp.Expr, str, exp.Expr]]:
    """(clause, holder, slot, condition) of every condition of one SELECT."""
    for clause in ("where", "having", "qualify"):
        node = scope.select.args.get(clause)
        if node is not None:
            yield clause.upper(), node, "this", node.this
    for join in scope.select.args.get("joins") or ():
        if join.args.get("on") is not None:
            yield "ON", join, "on", join.args["on"]


def links(found: Resolution, part: exp.Expr, scope: Scope) -> bool:
    """Whether a predicate is an equality of columns of two sources of this FROM."""
    bare = part.unnest()
    if not isinstance(bare, exp.EQ):
        return False
    sides = [found.binding(side) for side in (bare.left, bare.right)]
    owners = {
        id(side.source)
        for side in sides
        if side is not None and side.source is not None and any(side.source is own for own in scope.sources)
    }
    return len(owners) == 2


def linking(found: Resolution, scope: Scope) -> set[int]:
    """`id` of every column node in an equality that links two sources of this FROM."""
    return {
        id(side)
        for _, _, _, condition in conditions(scope)
        for part in leaves(condition)
        if links(found, part, scope)
        for side in part.unnest().iter_expressions()
    }
