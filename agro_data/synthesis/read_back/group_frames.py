"""Which groups the questions say whole: see `frames`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Case,
    Column,
    Comparison,
    DatePart,
    Expression,
    IsNull,
    Keep,
    Predicate,
    Query,
    Share,
    Value,
    conjuncts,
    is_figure,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile
from agro_data.synthesis.read_back.bands import rising
from agro_data.synthesis.read_back.frame import Frame, may_lack, ranks, tells


def first_of_each(query: Query, keep: Keep, profile: DatabaseProfile) -> Frame | str:
    """The first rows of each group by one column of theirs, with those that tie with the last."""
    shown = [output.expression for output in query.select if isinstance(output.expression, Column)]
    parts = [part for part in keep.partition if isinstance(part, Column)]
    key = keep.order[0].expression
    if len(shown) < len(query.select) or len(parts) < len(keep.partition) or query.distinct or query.order_by:
        return "the first rows of groups by other than columns, or other than columns of them"
    if not isinstance(key, Column) or key.source != query.subject.alias or key in parts:
        return "the first rows of groups by other than a column of theirs"
    if not ranks(key, query, profile) or any(may_lack(part, query, profile) for part in parts):
        return "the first rows of groups by a column whose values may be unknown, or are not sorted by what they mean"
    owners = {part.source for part in parts}
    if len(owners) != 1 or tells(query.subject.alias, parts, query, profile):
        return "the first rows of groups of several tables, or of one row each"
    of_parent = owners != {query.subject.alias}
    if of_parent and not tells(parts[0].source, parts, query, profile):
        return "the first rows of groups by what several rows of another table may share"
    named = {column for column in shown if column.source in owners} if of_parent else set(parts) & set(shown)
    if not named or (not of_parent and named != set(parts)):
        return "the first rows of groups that are not shown"
    return Frame("top_per_group", "include_ties")


def grouped(query: Query, profile: DatabaseProfile) -> Frame | str:
    """Figures of groups: of those that come first, of those that pass a test, or of all."""
    if any(join.kind == "left" for join in query.joins):
        return _kept_groups(query, profile)
    if any(isinstance(key, Case) for key in query.group_by):
        return _bands(query, profile)
    fault = _unnamed_groups(query, profile)
    if fault:
        return fault
    dated = any(isinstance(key, DatePart) for key in query.group_by)
    orders = [key.expression for key in query.order_by]
    if query.limit is not None:
        return _first_groups(query, orders, dated, profile)
    shown = [output.expression for output in query.select]
    if query.having is not None:
        return _tested_groups(query, query.having, orders, dated, profile)
    if not any(map(is_figure, shown)):
        return "groups without a figure"
    if any(isinstance(expression, Share) for expression in shown):
        others = [one for one in (*shown, *orders) if is_figure(one) and not isinstance(one, Share)]
        alone = not dated and not others
        return Frame("share", "total_order" if orders else "none") if alone else "a percentage beside other figures"
    if any(map(_lacks_figure, walk(tuple(shown)))) or any(map(_divides_by_some, shown)):
        return "a figure that a group may not have"
    if any(map(_conditional, walk(tuple(shown)))) and (_refers(query, profile) or _narrowed(query)):
        return "a figure under a condition, of which groups without any row would be taken to have 0"
    if len(orders) > 2 or any(not isinstance(key, Aggregate) and key not in shown for key in orders):
        return "groups in an order that is not theirs"
    if any(_conditional(key) and key not in shown for key in orders):
        return "groups in the order of a figure under a condition that is not shown"
    if any(isinstance(key, DatePart) and key.part == "weekday" for key in orders):
        return "weekdays in the order of their names"
    return Frame("date_group" if dated else "group", "total_order" if orders else "none")


def _bands(query: Query, profile: DatabaseProfile) -> Frame | str:
    """Figures of the bands of one quantity."""
    shown = [output.expression for output in query.select]
    band = query.group_by[0]
    if len(query.group_by) > 1 or shown[0] != band or not all(isinstance(one, Aggregate) for one in shown[1:]):
        return "bands beside other groups, or without a figure"
    if len(shown) < 2 or query.joins or query.having is not None or query.order_by or query.distinct:
        return "bands over several tables, in another order than theirs, or some of them"
    known = isinstance(band, Case) and band.otherwise is not None and rising(band.branches, band.otherwise) == band
    if not known:
        return "bands that do not begin where the one below ends"
    columns = [node for node in walk(band) if isinstance(node, Column)]
    if any(may_lack(column, query, profile) for column in columns) or any(map(_conditional, shown)):
        return "bands of what may be unknown, or with a figure under a condition"
    return Frame("buckets")


def _kept_groups(query: Query, profile: DatabaseProfile) -> Frame | str:
    """How many children each parent has, also of those without any."""
    shown = [output.expression for output in query.select]
    figures = [expression for expression in shown if isinstance(expression, Aggregate)]
    names = [expression for expression in shown if expression not in figures]
    keys = [key for key in query.group_by if isinstance(key, Column)]
    if len(keys) < len(query.group_by) or not names or not set(names) <= set(keys) or query.distinct:
        return "groups that are not named by what they are grouped by"
    if shown not in ([*names, *figures], [*figures, *names]) or len(figures) > 1:
        return "figures in between the names of groups, or several beside a LEFT JOIN"
    if {key.source for key in keys} != {query.subject.alias} or not _own_rows(query, keys, profile):
        return "groups of what has no joined row (LEFT JOIN), by other than what tells the rows apart"
    if query.where is not None or query.limit is not None:
        return "some of the groups with what has no joined row (LEFT JOIN)"
    if not all(_counts_joined(node, query, profile) for node in walk(query) if isinstance(node, Aggregate)):
        return "a figure other than how many joined rows there are (LEFT JOIN)"
    orders = [key.expression for key in query.order_by]
    if len(orders) > 2 or any(key not in shown for key in orders):
        return "groups in an order that is not theirs"
    if query.having is not None:
        test = query.having
        below = isinstance(test, Comparison) and test.operator in ("<", "<=") and isinstance(test.right, Value)
        if not below or figures or orders:
            return "a bound on how many joined rows there are, with 0 among them, beside something else"
        return Frame("having")
    return Frame("group", "total_order" if orders else "none") if figures else "groups without a figure"


def _counts_joined(figure: Aggregate, query: Query, profile: DatabaseProfile) -> bool:
    """Whether a figure is the number of rows of what is joined by LEFT JOIN, of which each has a key."""
    join, column = query.joins[0], figure.argument
    if figure.function != "count" or figure.distinct or figure.where is not None or not isinstance(column, Column):
        return False
    table = profile.table(query.table_of(join.right))
    keys = {*table.primary_key, *(name for _, name in join.columns)}
    return column.source == join.right and column.name in keys


def _lacks_figure(expression: object) -> bool:
    """Whether a group has no such figure when none of its rows meets the condition: of none a count and a sum are 0."""
    return _conditional(expression) and expression.function not in ("count", "sum")


def _divides_by_some(expression: Expression) -> bool:
    """Whether a figure is divided by one of those rows alone that meet a condition, which may be none."""
    return isinstance(expression, Arithmetic) and expression.operator == "/" and _conditional(expression.right)


def _conditional(node: object) -> TypeGuard[Aggregate]:
    """Whether a figure is of those rows alone that meet a condition of its own."""
    return isinstance(node, Aggregate) and node.where is not None


def _refers(query: Query, profile: DatabaseProfile) -> bool:
    """Whether groups are told apart by what refers to another table's rows, and not by these."""
    tables = {source.alias: source.table for source in query.sources}
    keys = {(key.table, name) for key in profile.foreign_keys for name in key.columns}
    return any(isinstance(key, Column) and (tables[key.source], key.name) in keys for key in query.group_by)


def _unnamed_groups(query: Query, profile: DatabaseProfile) -> str:
    """Why a question could not name the groups by what is shown of them; "" where it can."""
    shown = [output.expression for output in query.select]
    figures = [expression for expression in shown if is_figure(expression)]
    names = [expression for expression in shown if expression not in figures]
    keys = query.group_by
    if not names or not set(names) <= set(keys) or query.distinct:
        return "groups that are not named by what they are grouped by"
    if shown not in ([*names, *figures], [*figures, *names]):
        return "figures in between the names of groups"
    columns = [key for key in keys if isinstance(key, Column)]
    if any(isinstance(key, DatePart) for key in keys):
        if len(columns) < len(keys) - 1 or _own_rows(query, columns, profile):
            return "groups by several parts of dates, or of one row each"
    elif len(columns) < len(keys) or _own_rows(query, columns, profile):
        return "groups of one row each, or by an expression"
    if set(keys) - set(names) and not _is_entity(query, columns, profile):
        return "groups by a column that is not shown"
    return ""


def _first_groups(query: Query, orders: Sequence[Expression], dated: bool, profile: DatabaseProfile) -> Frame | str:
    """The first groups by a figure of theirs."""
    if query.having is not None or dated or len(orders) != 1 or not isinstance(orders[0], Aggregate):
        return "the first groups by other than one figure"
    figure, descending = orders[0], query.order_by[0].descending
    if any(map(_conditional, walk(query))):
        return "the first groups, with a figure under a condition"
    argument = figure.argument if figure.function != "count" else None  # of nothing a count is 0
    columns = [node for node in walk(argument) if isinstance(node, Column)]
    if not descending and figure.function in ("count", "sum") and (query.joins or _narrowed(query)):
        return "the last groups, of which those without a row are none"
    if not descending and any(may_lack(column, query, profile) for column in columns):
        return "the last groups by a figure that may be unknown"
    return Frame("superlative_group", "total_order")


def _narrowed(query: Query) -> bool:
    """Whether rows are left out that a group would have, but for those that are in no group."""
    return any(not (isinstance(part, IsNull) and part.argument in query.group_by) for part in conjuncts(query.where))


def _tested_groups(
    query: Query, test: Predicate, orders: Sequence[Expression], dated: bool, profile: DatabaseProfile
) -> Frame | str:
    """The groups that pass HAVING."""
    if not (isinstance(test, Comparison) and isinstance(test.left, Aggregate) and isinstance(test.right, Value)):
        return "a HAVING other than a figure against a number"
    shown = [output.expression for output in query.select]
    if any(map(_conditional, (test.left, *shown, *orders))):
        return "a HAVING with a figure under a condition"
    if _narrowed(query) and (orders or any(map(is_figure, shown))):
        return "a HAVING over some rows with a figure beside it, which might be that of all of them"
    below = test.operator in ("<", "<=", "!=") and test.left.function in ("count", "sum")
    if below and (query.joins or _refers(query, profile) or _narrowed(query)):
        return "groups below a bound, of which those without a row are none"
    if dated or len(orders) > 2 or any(not isinstance(key, Aggregate) and key not in shown for key in orders):
        return "a HAVING over dates, or in an order that is not that of the groups"
    return Frame("having", "total_order" if orders else "none")


def _is_entity(query: Query, columns: Sequence[Column], profile: DatabaseProfile) -> bool:
    """Whether groups are the rows of one joined parent."""
    if len({column.source for column in columns}) != 1 or columns[0].source == query.subject.alias:
        return False
    table = profile.table(query.table_of(columns[0].source))
    return bool(table.primary_key) and set(table.primary_key) <= {column.name for column in columns}


def _own_rows(query: Query, columns: Sequence[Column], profile: DatabaseProfile) -> bool:
    """Whether each group is a single row."""
    return tells(query.subject.alias, columns, query, profile)
