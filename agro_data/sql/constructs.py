"""What a query is built of, in one vocabulary."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.walks import around, local_nodes

CONSTRUCTS = (
    "join_2",  # some SELECT reads two sources (tables, derived tables, CTEs)
    "join_3",
    "join_4plus",
    "left_join",  # any outer join
    "self_join",  # one table twice in one FROM
    "aggregate",
    "group_by",
    "having",
    "order_by",
    "limit",
    "top_k_per_group",  # a rank or row number within a partition, bounded outside
    "distinct",  # SELECT DISTINCT
    "count_distinct",
    "between",
    "like",
    "in_list",
    "is_null",  # IS NULL and IS NOT NULL
    "arithmetic",
    "date_part",
    "text_function",
    "case",
    "in_subquery",
    "not_in_subquery",
    "exists",
    "not_exists",
    "scalar_subquery",  # a subquery where a value stands
    "union",
    "intersect",
    "except",
    "cte",
    "window",
    "or",  # a disjunction
    "derived_table",  # a subquery in FROM
)

_JOINS = {2: "join_2", 3: "join_3"}
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_DATE = (
    exp.TimeToStr, exp.Extract, exp.Year, exp.Month, exp.Day, exp.DayOfWeek, exp.DayOfMonth, exp.DayOfYear,
    exp.Week, exp.Quarter, exp.Hour, exp.Minute, exp.Second, exp.DateTrunc, exp.TimestampTrunc, exp.Date, exp.DateDiff,
)  # fmt: skip
_TEXT = (
    exp.Upper, exp.Lower, exp.Length, exp.Substring, exp.DPipe, exp.Concat, exp.ConcatWs, exp.Trim, exp.Replace,
    exp.Left, exp.Right, exp.StrPosition, exp.Initcap, exp.Reverse,
)  # fmt: skip
_DATE_NAMES = frozenset({"date_part", "datepart", "strftime", "julianday", "dayname", "monthname", "datetime", "time"})
_TEXT_NAMES = frozenset({"instr", "ltrim", "rtrim", "upper", "lower", "length", "substr", "printf", "format"})
_AGGREGATE_NAMES = frozenset({"total"})


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the node is an aggregate call that collapses rows (not the function of a window)."""
    named = isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATE_NAMES
    many = isinstance(node, (exp.Max, exp.Min)) and node.expressions  # SQLite's max(a, b) is a scalar
    if not (isinstance(node, exp.AggFunc) or named) or many:
        return False
    parent = node.parent.parent if isinstance(node.parent, exp.Filter) else node.parent
    return not isinstance(parent, exp.Window)


def aggregates_of(select: exp.Select) -> list[exp.Expr]:
    """The calls over rows of one SELECT, without those of its subqueries."""
    return [
        call for call in select.find_all(exp.AggFunc) if call.find_ancestor(exp.Select) is select and is_aggregate(call)
    ]


def is_grouping(key: exp.Expr) -> bool:
    """Whether a key of GROUP BY groups rows in several ways side by side."""
    return isinstance(key, (exp.Rollup, exp.Cube, exp.GroupingSets))


def is_many_groupings(group: exp.Expr) -> bool:
    """Whether a GROUP BY has such a key."""
    return any(map(is_grouping, group.expressions))


def makes_rows(select: exp.Expr) -> bool:
    """Whether a SELECT shows each of its rows as often as a list in it has values."""
    return any(isinstance(node, exp.Explode) for item in select.expressions for node in local_nodes(item))


def is_one_row(query: exp.Expr) -> bool:
    """Whether a query is an aggregate without grouping, and turns no list into rows."""
    if not isinstance(query, exp.Select) or query.args.get("group") is not None or makes_rows(query):
        return False
    return any(is_aggregate(part) for item in query.expressions for part in local_nodes(item))


def number_of(query: exp.Expr, clause: str) -> int | None:
    """The number that LIMIT or OFFSET of a query says, None where it says none."""
    value = query.args.get(clause)
    literal = value.expression if value is not None else None
    return int(literal.this) if isinstance(literal, exp.Literal) and literal.is_int else None


def constructs_of(found: Resolution) -> tuple[str, ...]:
    """Names of `CONSTRUCTS` that the query uses, in that order."""
    present = set(_of_sources(found))
    for node in found.tree.walk():
        present.update(_of_node(node))
    if _is_top_k_per_group(found):
        present.add("top_k_per_group")
    return tuple(name for name in CONSTRUCTS if name in present)


def _of_sources(found: Resolution) -> Iterator[str]:
    for scope in found.scopes:
        if len(scope.sources) > 1:
            yield _JOINS.get(len(scope.sources), "join_4plus")
        tables = [source.table for source in scope.sources if source.table]
        if len(tables) > len(set(tables)):
            yield "self_join"


def _of_node(node: exp.Expr) -> Iterator[str]:
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        yield from _of_function(node)
    elif isinstance(node, exp.Select):
        if node.args.get("distinct") is not None:
            yield "distinct"
    elif isinstance(node, exp.SetOperation):
        yield {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}[type(node)]
    elif isinstance(node, exp.Subquery):
        yield from _of_subquery(node)
    elif isinstance(node, exp.All):
        if isinstance(node.this, exp.Query):
            yield "scalar_subquery"
    elif isinstance(node, exp.In):
        if node.args.get("query") is None:
            yield "in_list"
        else:
            yield "not_in_subquery" if _negated(node) else "in_subquery"
    elif isinstance(node, exp.Is):
        if isinstance(node.expression, exp.Null):
            yield "is_null"
    elif isinstance(node, exp.Join):
        if node.side in ("LEFT", "RIGHT", "FULL"):
            yield "left_join"
    elif isinstance(node, _ARITHMETIC):
        yield "arithmetic"
    elif isinstance(node, exp.Order) and isinstance(node.parent, exp.Query):
        yield "order_by"
    if isinstance(node, exp.Connector):
        if isinstance(node, exp.Or):
            yield "or"
    elif isinstance(node, _TEXT):
        yield "text_function"
    elif isinstance(node, (exp.Like, exp.ILike, exp.Glob)):
        yield "like"
    simple = _SIMPLE.get(type(node))
    if simple:
        yield simple


_SIMPLE: dict[type, str] = {
    exp.Group: "group_by",
    exp.Having: "having",
    exp.Limit: "limit",
    exp.Between: "between",
    exp.Case: "case",
    exp.CTE: "cte",
    exp.Window: "window",
}


def _of_function(node: exp.Func) -> Iterator[str]:
    if is_aggregate(node):
        yield "aggregate"
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
        yield "count_distinct"
    elif isinstance(node, _DATE):
        yield "date_part"
    elif isinstance(node, exp.Exists):
        yield "not_exists" if _negated(node) else "exists"
    elif isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        yield "case"
    elif isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name in _DATE_NAMES:
            yield "date_part"
        elif name in _TEXT_NAMES:
            yield "text_function"


def _of_subquery(node: exp.Subquery) -> Iterator[str]:
    if not isinstance(node.this, exp.Query):
        return
    if isinstance(node.parent, (exp.From, exp.Join)):
        yield "derived_table"
    elif not isinstance(node.parent, (exp.In, exp.Exists, exp.SetOperation, exp.CTE, exp.Subquery)):
        yield "scalar_subquery"


def _negated(node: exp.Expr) -> bool:
    return isinstance(around(node), exp.Not)


def _is_top_k_per_group(found: Resolution) -> bool:
    ranks: set[str] = set()
    for window in found.tree.find_all(exp.Window):
        if isinstance(window.this, _RANKS) and window.args.get("partition_by"):
            if isinstance(window.parent, exp.Alias):
                ranks.add(folded(window.parent.alias))
            elif window.find_ancestor(exp.Qualify) is not None:
                return True
    if not ranks:
        return False
    for clause in found.tree.find_all(exp.Where, exp.Qualify):
        for column in clause.find_all(exp.Column):
            if folded(column.name) in ranks and isinstance(column.parent, (exp.LT, exp.LTE, exp.EQ, exp.Between)):
                return True
    return False
