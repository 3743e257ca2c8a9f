"""Which trees the questions say whole: a tree that no frame fits would be asked with a part of it left out.

The frames correspond to the shapes that the grammar draws (`intent.shapes`), and `intent.questions` is written for
these. A tree that was read from SQL or varied may be anything, so it is compared with the frames before it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from agro_data.intent.sampling.atlas import Atlas, has_order
from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Column,
    Comparison,
    DatePart,
    Exists,
    Expression,
    InQuery,
    IsNull,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Shape,
    Share,
    TiePolicy,
    Value,
    conjuncts,
    is_figure,
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
        (_parts_differ(query, profile), "a sum of differences, of which a side may be unknown: not that of the sums"),
        (_loses_rows(query, atlas), "a figure under a condition on what not every row has"),
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
    if any(map(is_figure, shown)):
        return _figures(query, shown, nested)
    if not all(isinstance(expression, Column) for expression in shown):
        return "something else than columns and figures is shown"
    keys = [key.expression for key in query.order_by if isinstance(key.expression, Column)]
    if len(keys) < len(query.order_by) or len(keys) > 2:
        return "an order by other than one or two columns"
    if query.limit is not None:
        return _first_rows(query, keys, profile)
    if query.distinct and not set(keys) <= set(shown):
        return "different values in an order that is not theirs"
    found = nested or Frame("list")
    return Frame(found.shape, "total_order") if keys else found


def _figures(query: Query, shown: Sequence[Expression], nested: Frame | None) -> Frame | str:
    figures = [expression for expression in shown if isinstance(expression, Aggregate)]
    if not all(map(is_figure, shown)) or (len(shown) > 1 and any(isinstance(one, Share) for one in shown)):
        return "figures beside rows, or a percentage beside something else"
    if len(figures) < len(shown) and nested is not None:
        return "a percentage or a quotient of rows with a nested condition"
    if query.order_by or query.distinct:
        return "figures in an order"
    if isinstance(shown[0], Share):
        return Frame("share")
    if any(isinstance(node, Arithmetic) for node in walk(tuple(shown))):
        return nested or Frame("arithmetic")
    counts = len(figures) == 1 and figures[0].function == "count"
    return nested or Frame("count" if counts else "aggregate")


def _first_rows(query: Query, keys: Sequence[Column], profile: DatabaseProfile) -> Frame | str:
    if len(keys) != 1 or query.distinct or keys[0].source != query.subject.alias:
        return "the first rows by other than one column of their own"
    if not _ranks(keys[0], query, profile):
        return "the first rows by a column whose values may be unknown, or are not sorted by what they mean"
    return Frame("superlative", "total_order")


def _grouped(query: Query, profile: DatabaseProfile) -> Frame | str:
    """Figures of groups: of those that come first, of those that pass a test, or of all."""
    if any(join.kind == "left" for join in query.joins):
        return _kept_groups(query, profile)
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
        if len(keys) > 1:
            return "groups by a date and something else"
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


def _two_lists(operation: SetOperation) -> Frame | str:
    """Two lists of one column of the same rows, under other conditions."""
    left, right = operation.left, operation.right
    if operation.order_by or not (_is_plain(left) and _is_plain(right)):
        return "a set operation of other than plain lists"
    if _rows_of(left) != _rows_of(right) or len(left.sources) > 2:
        return "a set operation over other tables on each side, or joined in another way"
    if (column := _only_column(left)) is None or column != _only_column(right):
        return "a set operation over other than one column"
    if _is_nested(left) or _is_nested(right):
        return "a set operation with nested conditions"
    if not conjuncts(right.where) or (not conjuncts(left.where) and operation.operator != "except"):
        return "a set operation with a side that has no condition"
    return Frame("set_operation")


def _is_plain(side: Query) -> bool:
    return not (side.group_by or side.limit or side.order_by or side.distinct)


def _rows_of(side: Query) -> tuple[object, ...]:
    """The tables of a query and how they are joined, whatever their aliases."""
    return [source.table for source in side.sources], [join.columns for join in side.joins]


def _only_column(side: Query) -> tuple[str, str] | None:
    """Table and name of the one column that is shown; None where it is another thing, or several are."""
    columns = [output.expression for output in side.select if isinstance(output.expression, Column)]
    if not len(columns) == len(side.select) == 1:
        return None
    table = next(source.table for source in side.sources if source.alias == columns[0].source)
    return table, columns[0].name


def _is_nested(side: Query) -> bool:
    """Whether there are more than two conditions, or a query in one."""
    parts = conjuncts(side.where)
    return len(parts) > 2 or any(isinstance(node, Scalar | Exists | InQuery) for node in walk(tuple(parts)))


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


def _parts_differ(query: Query, profile: DatabaseProfile) -> bool:
    """Whether a figure of sums or differences may differ from that of each side, for which a question may be taken."""
    added = [n for n in walk(query) if isinstance(n, Arithmetic) and n.operator in "+-" and not is_figure(n)]
    return any(may_lack(node, query, profile) for node in walk(tuple(added)) if isinstance(node, Column))


def _loses_rows(query: Query, atlas: Atlas) -> bool:
    """Whether rows without a parent are left out unsaid, where a figure of the others is under a condition on it."""
    tables = {source.alias: source.table for source in query.sources}
    whole = {(edge.child, edge.parent, edge.pairs_up) for edge in atlas.edges if edge.whole}
    tests = [node.where for node in walk(query) if isinstance(node, Aggregate | Share)]
    tested = {node.source for node in walk(tuple(tests)) if isinstance(node, Column)}
    joined = ((tables[join.left], tables[join.right], join.columns) in whole for join in query.joins)
    return bool(tested - {query.subject.alias}) and not all(joined)


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
    return has_order(_profile_of(key, query, profile)) and not may_lack(key, query, profile)


def may_lack(column: Column, query: Query, profile: DatabaseProfile) -> bool:
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
