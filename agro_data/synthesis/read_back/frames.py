"""Which trees the questions say whole: a tree that no frame fits would be asked with a part of it left out.

The frames correspond to the shapes that the grammar draws (`intent.shapes`), and `intent.questions` is written for
these. A tree that was read from SQL or varied may be anything, so it is compared with the frames before it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Column,
    Comparison,
    Exists,
    Expression,
    InQuery,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Share,
    Window,
    conjuncts,
    is_figure,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile
from agro_data.synthesis.read_back.frame import Frame, may_lack, profile_of, ranks
from agro_data.synthesis.read_back.group_frames import first_of_each, grouped

MOST_SHOWN = 4  # columns and figures of an answer that a question still names well
MOST_CONDITIONS = 4
MOST_HOPS = 3


def frame_of(query: Query | SetOperation, atlas: Atlas) -> Frame | str:
    """The frame that says all of `query`, or why there is none."""
    profile = atlas.profile
    if isinstance(query, SetOperation):
        return _two_lists(query, profile)
    parts = conjuncts(query.where)
    faults = (
        (bool(query.ctes), "CTEs are drawn by the grammar alone"),
        (len(query.select) > MOST_SHOWN, f"more than {MOST_SHOWN} columns or figures"),
        (len(parts) > MOST_CONDITIONS, f"more than {MOST_CONDITIONS} conditions"),
        (len(query.joins) > MOST_HOPS, f"more than {MOST_HOPS} joins"),
        (len({o.expression for o in query.select}) < len(query.select), "a column that is shown twice"),
        (query.limit is not None and (query.limit < 1 or not query.order_by), "a limit without an order"),
        (_repeats(query), "one table twice, which a question could not tell apart"),
        (
            bool(stray := _stray(query, atlas)),
            f"one of several ways to {stray}, and none is said",
        ),
        (any(isinstance(part, InQuery) for part in parts), "a membership"),
        (_parts_differ(query, profile), "a sum of differences, of which a side may be unknown: not that of the sums"),
        (_loses_rows(query, atlas), "a figure under a condition on what not every row has"),
        (_repeats_values(query), "a sum or an average of what several rows share, each of them counted"),
    )
    for fault, said in faults:
        if fault:
            return said
    nested = _nested(query, parts)
    if isinstance(nested, str):
        return nested
    if query.keep is not None:
        return first_of_each(query, query.keep, profile) if nested is None else "the first rows, nested"
    if query.group_by:
        return grouped(query, profile) if nested is None else "groups of rows with a nested condition"
    if query.having is not None:
        return "a HAVING without groups"
    return _plain(query, nested, profile)


def _plain(query: Query, nested: Frame | None, profile: DatabaseProfile) -> Frame | str:
    """Rows, or figures over all of them."""
    shown = [output.expression for output in query.select]
    if any(map(is_figure, shown)):
        return _figures(query, shown, nested)
    if isinstance(shown[-1], Window):
        return (
            _beside_rows(query, shown[-1], profile) if nested is None else "a window over rows with a nested condition"
        )
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


def _beside_rows(query: Query, window: Window, profile: DatabaseProfile) -> Frame | str:
    """Columns of each row, and its rank, the total up to it, or the value before it."""
    names = [output.expression for output in query.select[:-1]]
    key = window.order[0]
    columns = [column for column in (key.expression, window.argument, *window.partition) if column is not None]
    if not names or not all(isinstance(one, Column) for one in names) or query.limit is not None or query.distinct:
        return "a window beside other than columns, or of some rows of the answer"
    own = [one for one in columns if isinstance(one, Column) and one.source == query.subject.alias]
    if len(own) < len(columns) or any(may_lack(column, query, profile) for column in own):
        return "a window over columns of other tables, or whose values may be unknown"
    if not isinstance(key.expression, Column) or not ranks(key.expression, query, profile):
        return "a window along a column that is not sorted by what it means"
    if window.function in ("sum", "lag"):
        alone = window.function == "lag" and bool(window.partition)
        if alone or key.descending or not profile_of(key.expression, query, profile).unique:
            return "a window along a column in which rows are equal, backwards, or within groups"
        if query.order_by not in ((), window.order):
            return "a window in another order than the answer"
        return Frame("window", "total_order" if query.order_by else "none")
    if window.function == "row_number" or len(query.order_by) > 1:
        return "places of rows that are told apart by chance, or an order of several keys"
    return Frame("window", "total_order" if query.order_by else "none")


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
    if not ranks(keys[0], query, profile):
        return "the first rows by a column whose values may be unknown, or are not sorted by what they mean"
    return Frame("superlative", "total_order")


def _two_lists(operation: SetOperation, profile: DatabaseProfile) -> Frame | str:
    """Two lists of one column of the same rows, under other conditions."""
    left, right = operation.left, operation.right
    if operation.order_by or not (_is_plain(left) and _is_plain(right)):
        return "a set operation of other than plain lists"
    if _rows_of(left) != _rows_of(right) or len(left.sources) > 2:
        return "a set operation over other tables on each side, or joined in another way"
    if (column := _only_column(left)) is None or column != _only_column(right):
        return "a set operation over other than one column"
    (table, name), shown = column, left.select[0].expression
    joined = isinstance(shown, Column) and shown.source != left.subject.alias
    if joined and operation.operator != "union" and (name,) not in profile.keys(table):
        return "a set operation over what several rows of another table may share"  # no one row then meets both
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
    return side.table_of(columns[0].source), columns[0].name


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


def _repeats_values(query: Query) -> bool:
    """Whether a value of a parent is summed once for each row that refers to it."""
    figures = [node for node in walk((query.select, query.having, query.order_by)) if isinstance(node, Aggregate)]
    added = tuple(figure.argument for figure in figures if figure.function in ("sum", "avg"))
    return any(isinstance(node, Column) and node.source != query.subject.alias for node in walk(added))


def _stray(query: Query, atlas: Atlas) -> str:
    """The parent of the subject to which a join leads otherwise than a question says it, or "": see `Atlas.ways`."""
    tables = {source.alias: source.table for source in query.sources}
    meant = {(edge.child, edge.parent, edge.pairs_up) for edge in atlas.ways(query.subject.table)}
    up = ((tables[join.left], tables[join.right], join.columns) for join in query.joins if join.direction == "up")
    return next((way[1] for way in up if way not in meant), "")
