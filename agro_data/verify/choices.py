"""Where a query shows the first row of a group, or all in an order: DISTINCT ON, arg_max, string_agg with ORDER BY.

Rows that tie in that order leave open what is shown. And windows, whole: with what they take from a named one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.opening import folded
from agro_data.sql.scope import local_nodes


@dataclass(frozen=True)
class Choice:
    """`values` of rows that agree in `within` are shown in the order of `keys`; with `first`, those of the first row.

    `where` are conditions that a row must fulfil to be looked at. All are nodes of the tree that was read.
    """

    what: str
    values: tuple[exp.Expr, ...]
    within: tuple[exp.Expr, ...]
    keys: tuple[exp.Ordered, ...]
    first: bool
    where: tuple[exp.Expr, ...] = ()


def choices(select: exp.Select) -> Iterator[Choice]:
    """The choices that one SELECT makes, in its own clauses."""
    on, order = distinct_on(select), select.args.get("order")
    if on and order is not None and select.args.get("group") is None:
        yield Choice("DISTINCT ON", tuple(select.expressions), on, tuple(order.expressions), first=True)
    group = select.args.get("group")
    if group is not None and not group.expressions:
        return  # GROUP BY ALL, GROUPING SETS: left to the run on reordered rows
    within = tuple(group.expressions) if group is not None else ()
    for clause in (*select.expressions, select.args.get("having"), order):
        for node in local_nodes(clause) if clause is not None else ():
            choice = _aggregate(node, within)
            if choice is not None and not isinstance(node.parent, exp.Window):
                yield choice


def _aggregate(node: exp.Expr, within: tuple[exp.Expr, ...]) -> Choice | None:
    where = (node.parent.expression.this,) if isinstance(node.parent, exp.Filter) else ()
    if isinstance(node, (exp.ArgMax, exp.ArgMin)) and node.args.get("count") is None:
        key = exp.Ordered(this=node.expression.copy(), desc=isinstance(node, exp.ArgMax), nulls_first=False)
        known = tuple(exp.Not(this=exp.Is(this=side.copy(), expression=exp.Null())) for side in (node.this, key.this))
        return Choice(node.sql_name().lower(), (node.this,), within, (key,), first=True, where=(*where, *known))
    if isinstance(node, exp.AggFunc) and isinstance(node.this, exp.Order):
        inner = node.this.this
        values = inner.expressions if isinstance(inner, exp.Distinct) else [inner]
        keys = tuple(node.this.expressions)
        return Choice(f"{node.sql_name().lower()} with ORDER BY", tuple(values), within, keys, first=False, where=where)
    return None


def distinct_on(select: exp.Select) -> tuple[exp.Expr, ...]:
    """What DISTINCT ON keeps one row of."""
    distinct = select.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    return tuple(on.expressions if isinstance(on, exp.Tuple) else [on]) if on is not None else ()


def whole_window(window: exp.Window) -> exp.Window:
    """A window with the partition, order and frame that it takes from those of the WINDOW clause."""
    select = window.find_ancestor(exp.Select)
    return _filled(window, select.args.get("windows") or () if select is not None else ())


def _filled(window: exp.Window, known: Sequence[exp.Window]) -> exp.Window:
    name = folded(window.text("alias"))
    for place, named in enumerate(known if name else ()):
        if folded(named.this.name) == name:
            base, whole = _filled(named, known[:place]), window.copy()
            for slot in ("partition_by", "order", "spec"):
                if not whole.args.get(slot):
                    value = base.args.get(slot)
                    whole.set(
                        slot, [one.copy() for one in value] if isinstance(value, list) else value and value.copy()
                    )
            return whole
    return window
