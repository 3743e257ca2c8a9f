"""Where a query shows the first rows of a group, or all in an order: DISTINCT ON, arg_max, string_agg with ORDER BY.

Rows that tie in that order leave open what is shown. And windows, whole: with what they take from a named one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.constructs import is_many_groupings
from agro_data.sql.walks import local_nodes


@dataclass(frozen=True)
class Key:
    """What rows are put in order by."""

    term: exp.Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Choice:
    """Shows the `values` of rows that agree in `within`, in the order of `keys`: of the first `most` rows, or of all.

    `where` are conditions that a row must fulfil to be looked at; with `known`, its values and keys must not be NULL.
    All are nodes of the tree that was read, so that their names can be looked up.
    """

    what: str
    values: tuple[exp.Expr, ...]
    within: tuple[exp.Expr, ...]
    keys: tuple[Key, ...]
    most: int | None
    known: bool = False
    where: tuple[exp.Expr, ...] = ()


def choices(select: exp.Select) -> Iterator[Choice]:
    """The choices that one SELECT makes, in its own clauses."""
    on, order, group = distinct_on(select), select.args.get("order"), select.args.get("group")
    if on and order is not None and group is None:
        yield Choice("DISTINCT ON", tuple(select.expressions), on, _keys(order), most=1)
    if group is not None and (not group.expressions or is_many_groupings(group)):
        return  # GROUP BY ALL, GROUPING SETS: left to the run on reordered rows
    within = tuple(group.expressions) if group is not None else ()
    for clause in (*select.expressions, select.args.get("having"), order):
        for node in local_nodes(clause) if clause is not None else ():
            choice = _aggregate(node, within)
            if choice is not None:
                yield choice


def _aggregate(node: exp.Expr, within: tuple[exp.Expr, ...]) -> Choice | None:
    if not isinstance(node, exp.AggFunc):
        return None
    filtered = node.parent if isinstance(node.parent, exp.Filter) else None
    if isinstance((filtered or node).parent, exp.Window):
        return None
    where = (filtered.expression.this,) if filtered is not None else ()
    what = node.sql_name().lower()
    if isinstance(node, (exp.ArgMax, exp.ArgMin)):
        key = Key(node.expression, isinstance(node, exp.ArgMax), nulls_first=False)
        count = node.args.get("count")
        written = isinstance(count, exp.Literal) and count.is_int
        most = 1 if count is None else int(count.this) if written else None
        return Choice(what, _shown(node.this), within, (key,), most, known=True, where=where)
    if isinstance(node.this, exp.Order):
        keys = _keys(node.this)
        return Choice(f"{what} with ORDER BY", _shown(node.this.this), within, keys, None, where=where)
    return None


def _keys(order: exp.Order) -> tuple[Key, ...]:
    return tuple(
        [Key(key.this, bool(key.args.get("desc")), bool(key.args.get("nulls_first"))) for key in order.expressions]
    )


def _shown(argument: exp.Expr) -> tuple[exp.Expr, ...]:
    return tuple(argument.expressions) if isinstance(argument, exp.Distinct) else (argument,)


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
    place = next((place for place, named in enumerate(known) if name and folded(named.this.name) == name), None)
    if place is None:
        return window
    base, whole = _filled(known[place], known[:place]).copy(), window.copy()
    for slot in ("partition_by", "order", "spec"):
        if not whole.args.get(slot):
            whole.set(slot, base.args.get(slot))
    return whole
