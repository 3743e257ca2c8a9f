"""Which trees the questions say whole: a tree that no frame fits would be asked with a part of it left out.

The frames correspond to the shapes that the grammar draws (`intent.shapes`), and `intent.questions` is written for
these. A tree that was read from SQL or varied may be anything, so it is compared with the frames before it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agro_data.intent.atlas import Atlas, has_order
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    DatePart,
    Exists,
    InQuery,
    IsNull,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Shape,
    TiePolicy,
    Value,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile

MOST_SHOWN = 4  # columns and figures of an answer that a question still names well
MOST_CONDITIONS = 4
MOST_HOPS = 3


@dataclass(frozen=True)
class Frame:
    """The shape that a tree has, and what it says of ties."""

    shape: Shape
    tie_policy: TiePolicy = "none"


def frame_of(query: Query | SetOperation, atlas: Atlas) -> Frame | str:
    """The frame that says all of `query`, or why there is none."""
    profile = atlas.profile
    if isinstance(query, SetOperation):
        return _two_lists(query)
    parts = conjuncts(query.where)
    faults = (
        (query.keep is not None or bool(query.ctes), "windows and CTEs are drawn by the grammar alone"),
        (len(query.select) > MOST_SHOWN, f"more than {MOST_SHOWN} columns or figures"),
        (len(parts) > MOST_CONDITIONS, f"more than {MOST_CONDITIONS} conditions"),
        (len(query.joins) > MOST_HOPS, f"more than {MOST_HOPS} joins"),
        (len({o.expression for o in query.select}) < len(query.select), "a column that is shown twice"),
        (query.limit is not None and (query.limit < 1 or not query.order_by), "a limit without an order"),
        (_repeats(query), "one table twice, which a question could not tell apart"),
        (_strays(query, atlas), "a parent on another way than its question would be taken to mean"),
        (any(isinstance(part, InQuery) for part in parts), "a membership"),
    )
    for fault, said in faults:
        if fault:
            return said
    nested = _nested(query, parts)
    if isinstance(nested, str):
        return nested
    if query.group_by:
        return _grouped(query, profile) if nested is None else "groups of rows with a nested condition"
    if query.having is not None:
        return "a HAVING without groups"
    return _plain(query, nested, profile)


def _plain(query: Query, nested: Frame | None, profile: DatabaseProfile) -> Frame | str:
    """Rows, or figures over all of them."""
    shown = [output.expression for output in query.select]
    figures = [expression for expression in shown if isinstance(expression, Aggregate)]
    if figures:
        if len(figures) < len(shown) or query.order_by or query.distinct:
            return "figures beside rows"
        counts = len(figures) == 1 and figures[0].function == "count"
        return nested or Frame("count" if counts else "aggregate")
    if not all(isinstance(expression, Column) for expression in shown):
        return "something else than columns and figures is shown"
    keys = [key.expression for key in query.order_by]
    if not all(isinstance(key, Column) for key in keys) or len(keys) > 2:
        return "an order by other than one or two columns"
    if query.limit is not None:
        root = query.subject.alias
        if len(keys) != 1 or query.distinct or not (isinstance(keys[0], Column) and keys[0].source == root):
            return "the first rows by other than one column of their own"
        if not _ranks(keys[0], query, profile):
            return "the first rows by a column whose values may be unknown, or are not sorted by what they mean"
        return Frame("superlative", "total_order")
    if query.distinct and not set(keys) <= set(shown):
        return "different values in an order that is not theirs"
    found = nested or Frame("list")
    return Frame(found.shape, "total_order") if keys else found


def _grouped(query: Query, profile: DatabaseProfile) -> Frame | str:
    shown = [output.expression for output in query.select]
    figures = [expression for expression in shown if isinstance(expression, Aggregate)]
    keys = [expression for expression in shown if not isinstance(expression, Aggregate)]
    if not keys or not set(keys) <= set(query.group_by) or query.distinct:
        return "groups that are not named by what they are grouped by"
    if shown not in ([*keys, *figures], [*figures, *keys]):
        return "figures in between the names of groups"
    dated = [key for key in query.group_by if isinstance(key, DatePart)]
    if dated and len(query.group_by) > 1:
        return "groups by a date and something else"
    columns = [key for key in query.group_by if isinstance(key, Column)]
    if not dated and (len(columns) < len(query.group_by) or _own_rows(query, columns, profile)):
        return "groups of one row each, or by an expression"
    hidden = set(query.group_by) - set(keys)
    if hidden and not _is_entity(query, columns, profile):
        return "groups by a column that is not shown"
    orders = [key.expression for key in query.order_by]
    if query.limit is not None:
        if query.having is not None or len(orders) != 1 or not isinstance(orders[0], Aggregate) or dated:
            return "the first groups by other than one figure"
        argument = orders[0].argument if orders[0].function != "count" else None  # of nothing a count is 0
        if isinstance(argument, Column) and not query.order_by[0].descending and _may_lack(argument, query, profile):
            return "the last groups by a figure that may be unknown"
        return Frame("superlative_group", "total_order")
    if query.having is not None:
        test = query.having
        if not (isinstance(test, Comparison) and isinstance(test.left, Aggregate) and isinstance(test.right, Value)):
            return "a HAVING other than a figure against a number"
        if dated or orders:
            return "a HAVING over dates, or in an order"
        return Frame("having")
    if not figures:
        return "groups without a figure"
    if len(orders) > 2 or any(not isinstance(key, Aggregate) and key not in keys for key in orders):
        return "groups in an order that is not theirs"
    return Frame("date_group" if dated else "group", "total_order" if orders else "none")


def _two_lists(operation: SetOperation) -> Frame | str:
    """Two lists of one column of the same rows, under other conditions."""
    sides = (operation.left, operation.right)
    if operation.order_by or any(side.group_by or side.limit or side.order_by or side.distinct for side in sides):
        return "a set operation of other than plain lists"
    read = [([s.table for s in side.sources], [join.columns for join in side.joins]) for side in sides]
    if read[0] != read[1] or len(sides[0].sources) > 2:
        return "a set operation over other tables on each side, or joined in another way"
    shown = [
        (next(s.table for s in side.sources if s.alias == output.expression.source), output.expression.name)
        for side in sides
        for output in side.select
        if isinstance(output.expression, Column)
    ]
    if len(shown) != 2 or shown[0] != shown[1] or any(len(side.select) != 1 for side in sides):
        return "a set operation over other than one column"
    parts = [conjuncts(side.where) for side in sides]
    if any(
        len(found) > 2 or any(isinstance(n, Scalar | Exists | InQuery) for n in walk(tuple(found))) for found in parts
    ):
        return "a set operation with nested conditions"
    if not parts[1] or (not parts[0] and operation.operator != "except"):
        return "a set operation with a side that has no condition"
    return Frame("set_operation")


def _nested(query: Query, parts: Sequence[Predicate]) -> Frame | str | None:
    """The shape that a nested condition makes; None where there is none, a reason where it is not said."""
    scalars = [part for part in parts if isinstance(part, Comparison) and isinstance(part.right, Scalar)]
    related = [part for part in parts if isinstance(part, Exists)]
    if sum(isinstance(node, Scalar | Exists | InQuery) for node in walk(query)) > len(scalars) + len(related):
        return "a nested query within another"
    if len(scalars) + len(related) > 1:
        return "two nested conditions"
    if related:
        inner = related[0].query
        plain = len(inner.joins) <= 1 and len(conjuncts(inner.where)) <= 1
        if not plain or query.limit is not None:
            return "a nested condition of many parts"
        return Frame("related_none" if related[0].negated else "related_exists")
    if scalars:
        return _compared(query, scalars[0], parts)
    return None


def _compared(query: Query, test: Comparison, parts: Sequence[Predicate]) -> Frame | str:
    """A column against a figure over all rows of its table."""
    assert isinstance(test.right, Scalar)
    inner = test.right.query
    output = inner.select[0].expression
    table = next((s.table for s in query.sources if isinstance(test.left, Column) and s.alias == test.left.source), "")
    over_all = len(inner.sources) == 1 and inner.subject.table == table and inner.where is None and not inner.group_by
    if not over_all or not isinstance(output, Aggregate) or len(inner.select) != 1 or inner.limit is not None:
        return "a comparison with a figure over other rows"
    if isinstance(output.argument, Column) and isinstance(test.left, Column) and output.argument.name != test.left.name:
        return "a comparison with a figure of another column"
    if query.limit is not None or query.joins:
        return "a comparison with a figure among joined rows"
    if output.function in ("min", "max"):
        whole = test.operator == "=" and len(parts) == 1
        return Frame("extreme", "include_ties") if whole else "an extreme beside other conditions"
    if output.function != "avg" or test.operator not in ("<", ">"):
        return "a comparison with other than an average"
    return Frame("compare_average")


def _repeats(query: Query) -> bool:
    tables = [source.table for source in query.sources]
    return len(set(tables)) < len(tables)


def _strays(query: Query, atlas: Atlas) -> bool:
    """Whether a join leads to a parent of the subject otherwise than a question says it: see `Atlas.ways`."""
    tables = {source.alias: source.table for source in query.sources}
    meant = {(edge.child, edge.parent, edge.pairs_up) for edge in atlas.ways(query.subject.table)}
    return any(
        join.direction == "up" and (tables[join.left], tables[join.right], join.columns) not in meant
        for join in query.joins
    )


def _ranks(key: Column, query: Query, profile: DatabaseProfile) -> bool:
    """Whether the first rows by `key` are those with the largest or smallest value."""
    return has_order(_profile_of(key, query, profile)) and not _may_lack(key, query, profile)


def _may_lack(column: Column, query: Query, profile: DatabaseProfile) -> bool:
    """Whether a row of the answer may hold NULL there, which SQLite puts before the smallest value."""
    known = _table_of(column, query, profile).never_null(column.name)
    tested = (part for part in conjuncts(query.where) if part != IsNull(column))
    return not known and all(column not in (getattr(p, "left", None), getattr(p, "argument", None)) for p in tested)


def _profile_of(column: Column, query: Query, profile: DatabaseProfile) -> ColumnProfile:
    return _table_of(column, query, profile).column(column.name)


def _table_of(column: Column, query: Query, profile: DatabaseProfile) -> TableProfile:
    return profile.table(next(s.table for s in query.sources if s.alias == column.source))


def _is_entity(query: Query, columns: Sequence[Column], profile: DatabaseProfile) -> bool:
    """Whether groups are the rows of one joined parent."""
    if len({column.source for column in columns}) != 1 or columns[0].source == query.subject.alias:
        return False
    table = profile.table(next(s.table for s in query.sources if s.alias == columns[0].source))
    return bool(table.primary_key) and set(table.primary_key) <= {column.name for column in columns}


def _own_rows(query: Query, columns: Sequence[Column], profile: DatabaseProfile) -> bool:
    """Whether each group is a single row."""
    table = profile.table(query.subject.table)
    own = [column.name for column in columns if column.source == query.subject.alias]
    key = bool(table.primary_key) and set(table.primary_key) <= set(own)
    return key or any(table.column(name).unique for name in own)
