"""Whether a query orders its rows, and by which of its outputs."""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.parse import SqlRefused, parse_select
from agro_data.sql.scope import leftmost


@cache
def orders(sql: str, dialect: Dialect) -> bool:
    """Whether a query orders its rows at top level; one that cannot be parsed does not."""
    try:
        return parse_select(sql, dialect).args.get("order") is not None
    except SqlRefused:
        return False


def order_is_open(sql: str, dialect: Dialect) -> bool:
    """Whether the rows of a query, all of which are in its answer, come in the order that the engine likes."""
    try:
        tree = parse_select(sql, dialect)
    except SqlRefused:
        return False
    return tree.args.get("order") is None and tree.args.get("limit") is None


@cache
def order_keys(sql: str, dialect: Dialect) -> tuple[int, ...] | None:
    """The output columns (from 0) that a query orders by at top level; None if a key is not among its outputs."""
    try:
        tree = parse_select(sql, dialect)
    except SqlRefused:
        return None
    order = tree.args.get("order")
    items = leftmost(tree).expressions
    if order is None or any(item.is_star for item in items):
        return None
    names = {item.alias_or_name.lower(): place for place, item in reversed(list(enumerate(items)))}
    found: list[int] = []
    for term in (key.this for key in order.expressions):
        same = [place for place, item in enumerate(items) if item.unalias() == term]
        if isinstance(term, exp.Literal) and term.is_int and 0 < int(term.this) <= len(items):
            found.append(int(term.this) - 1)
        elif isinstance(term, exp.Column) and not term.table and term.name.lower() in names:
            found.append(names[term.name.lower()])  # an output before a column of a source, as engines read it
        elif same:
            found.append(same[0])
        else:
            return None
    return tuple(found)
