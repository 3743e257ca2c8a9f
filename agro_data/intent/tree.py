"""The intent: what a query means, as a small typed tree.

SQL (`intent.rendering.to_sql`), the question (`intent.questions`), the decomposition (`intent.steps.decompose`) and
later mutants' hints are all rendered from this one tree. A tree is immutable, hashable, and survives a round trip
through JSON (`to_json`, `from_json`); it names tables and columns as the database spells them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any
from typing import Literal as OneOf

Shape = OneOf[
    "list",  # columns of a subject, filtered, perhaps ordered
    "count",  # how many subjects
    "aggregate",  # one row of aggregates over a subject
    "group",  # aggregates for each value of a category or each related parent
    "having",  # the groups whose aggregate meets a bound
    "superlative",  # the k subjects with the largest or smallest value (ORDER BY ... LIMIT k)
    "superlative_group",  # the group with the largest or smallest aggregate
    "extreme",  # all subjects that hold the maximum or minimum (= (SELECT MAX ...)), ties included
    "compare_average",  # subjects above or below an aggregate over all subjects (scalar subquery)
    "related_exists",  # subjects that have a related child (IN, EXISTS)
    "related_none",  # subjects without a related child (NOT IN, NOT EXISTS, LEFT JOIN ... IS NULL)
    "set_operation",  # UNION, INTERSECT, EXCEPT of two lists of the same thing
    "top_per_group",  # the best k subjects within each group (window)
    "window",  # rank, running total, share of total, difference from the group's average, previous value
    "self_join",  # pairs of rows of one table: same category, or a row and its parent row
    "buckets",  # CASE: bands or conditional counts
    "arithmetic",  # sum, difference, product or ratio of two columns
    "date_group",  # aggregates for each year or month
    "compare_groups",  # CTE: groups whose aggregate exceeds the average over groups
    "share",  # percentage of subjects that meet a condition
    "text_function",  # upper, lower, length, initial letters, concatenated names
    "metric",  # a metric of semantics.yml
]
TiePolicy = OneOf[
    "none",  # no order and no limit: ties cannot matter
    "total_order",  # the order asked for has no ties in this database
    "include_ties",  # all rows that share the extreme value are asked for
]
Comparator = OneOf["=", "!=", "<", "<=", ">", ">="]
AggregateFunction = OneOf["count", "sum", "avg", "min", "max"]
WindowFunction = OneOf["row_number", "rank", "dense_rank", "sum", "avg", "count", "lag"]
DateField = OneOf["year", "month", "day", "weekday", "year_month"]

# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of one source of the enclosing query. `source` is the alias of a `Source` in scope."""

    source: str
    name: str


@dataclass(frozen=True)
class Value:
    """A literal. `column` is the (table, column) it was drawn from, so that a code can be said by its meaning."""

    value: int | float | str | bool | None
    column: tuple[str, str] | None = None


@dataclass(frozen=True)
class Aggregate:
    """`function([DISTINCT] argument)`; `argument` None is COUNT(*). `where` restricts this aggregate alone (CASE)."""

    function: AggregateFunction
    argument: Expression | None = None
    distinct: bool = False
    where: Predicate | None = None


@dataclass(frozen=True)
class Arithmetic:
    """Two expressions joined by an operator."""

    operator: OneOf["+", "-", "*", "/"]  # "/" is true division and NULL when the divisor is 0
    left: Expression
    right: Expression


@dataclass(frozen=True)
class DatePart:
    """Part of an ISO date: year, month, day as integers; weekday as an English name; year_month as 'YYYY-MM'."""

    part: DateField
    argument: Expression


@dataclass(frozen=True)
class Days:
    """How many days after the date `start` the date `end` lies: whole calendar days, whatever the time of day."""

    start: Expression
    end: Expression


@dataclass(frozen=True)
class TextFunction:
    """upper, lower, length; `prefix`: the first `size` characters; `join_words`: arguments joined by one space."""

    function: OneOf["upper", "lower", "length", "prefix", "join_words"]
    arguments: tuple[Expression, ...]
    size: int | None = None


@dataclass(frozen=True)
class Case:
    """First branch whose predicate holds gives its label; else `otherwise`."""

    branches: tuple[tuple[Predicate, Value], ...]
    otherwise: Value | None = None


@dataclass(frozen=True)
class Share:
    """Percentage (0 to 100, real) of the rows of the group or table for which `where` holds."""

    where: Predicate


@dataclass(frozen=True)
class Window:
    """Window function over the rows of the query.

    `sum` with an order is a running total (ROWS UNBOUNDED PRECEDING); `avg`, `sum`, `count` without one are over
    the partition; `lag` is the previous row's value. rank functions take no argument.
    """

    function: WindowFunction
    argument: Expression | None = None
    partition: tuple[Expression, ...] = ()
    order: tuple[OrderKey, ...] = ()


@dataclass(frozen=True)
class Scalar:
    """A subquery of one row and one column. `alone` says it sees nothing of the outer query."""

    query: Query
    alone: bool = True


@dataclass(frozen=True)
class MetricCall:
    """A metric of the profile, by name. Its columns belong to `source`."""

    name: str
    source: str


Expression = (
    Column
    | Value
    | Aggregate
    | Arithmetic
    | DatePart
    | Days
    | TextFunction
    | Case
    | Share
    | Window
    | Scalar
    | MetricCall
)

# --- predicates --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """`left operator right`."""

    operator: Comparator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Between:
    """Both ends included."""

    argument: Expression
    low: Value
    high: Value


@dataclass(frozen=True)
class Like:
    """`text` holds no wildcard. SQLite's LIKE ignores ASCII case; on DuckDB ILIKE is rendered, so both agree."""

    argument: Expression
    kind: OneOf["contains", "starts", "ends"]
    text: Value
    negated: bool = False


@dataclass(frozen=True)
class InList:
    """`argument [NOT] IN (values)`."""

    argument: Expression
    values: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True)
class IsNull:
    """`argument IS [NOT] NULL`."""

    argument: Expression
    negated: bool = False


@dataclass(frozen=True)
class InQuery:
    """`argument [NOT] IN (SELECT ...)`; with `negated` the subquery never yields NULL (a filter is added)."""

    argument: Expression
    query: Query
    negated: bool = False


@dataclass(frozen=True)
class Exists:
    """`[NOT] EXISTS (SELECT 1 FROM ... WHERE link AND ...)`; `link` pairs (outer column, inner column) are equal."""

    query: Query
    link: tuple[tuple[Column, Column], ...]
    negated: bool = False


@dataclass(frozen=True)
class And:
    """All parts hold."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    """At least one part holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: Predicate


Predicate = Comparison | Between | Like | InList | IsNull | InQuery | Exists | And | Or | Not

# --- queries -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """One occurrence of a table (or of a CTE of this query, when `table` is its name)."""

    alias: str
    table: str


@dataclass(frozen=True)
class Join:
    """Equality join of `left` and `right` sources along a foreign key; `columns` pairs (left column, right column).

    `kind` left keeps all rows of the sources before it. `direction` reads along the foreign key: "up" goes from a
    child to its parent (many to one), "down" from a parent to its children (one to many), "peer" is a self join
    on equal values, which is no foreign key; `less` is then the column whose value must be smaller on the left.
    """

    left: str
    right: str
    columns: tuple[tuple[str, str], ...]
    kind: OneOf["inner", "left"] = "inner"
    direction: OneOf["up", "down", "peer", "derived"] = "up"
    less: str | None = None


@dataclass(frozen=True)
class Output:
    """One output column; `name` is its alias in SQL where the expression is not a plain column."""

    expression: Expression
    name: str | None = None


@dataclass(frozen=True)
class OrderKey:
    """One key of an order; ascending unless `descending`."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class Keep:
    """Top k rows of each partition by `order`; `ties` True is RANK() <= k, False is ROW_NUMBER() <= k."""

    partition: tuple[Expression, ...]
    order: tuple[OrderKey, ...]
    k: int
    ties: bool = True


@dataclass(frozen=True)
class Cte:
    """A named subquery; its outputs all have names. The name is a snake_case identifier made by the sampler."""

    name: str
    query: Query


@dataclass(frozen=True)
class Query:
    """SELECT. `sources[0]` is the subject: what a row of the (ungrouped) answer is about."""

    sources: tuple[Source, ...]
    select: tuple[Output, ...]
    joins: tuple[Join, ...] = ()
    where: Predicate | None = None
    group_by: tuple[Expression, ...] = ()
    having: Predicate | None = None
    order_by: tuple[OrderKey, ...] = ()
    limit: int | None = None
    distinct: bool = False
    ctes: tuple[Cte, ...] = ()
    keep: Keep | None = None

    @property
    def subject(self) -> Source:
        return self.sources[0]

    def table_of(self, alias: str) -> str:
        """The table or CTE that a source reads."""
        return next(source.table for source in self.sources if source.alias == alias)


@dataclass(frozen=True)
class SetOperation:
    """Two queries with the same kinds of output columns."""

    operator: OneOf["union", "union_all", "intersect", "except"]
    left: Query
    right: Query
    order_by: tuple[OrderKey, ...] = ()  # keys are output columns of the left query


@dataclass(frozen=True)
class Intent:
    """One thing to ask of one database.

    `rendering` picks among equivalent SQL for the same meaning ("in", "exists", "join", "cte", "subquery"), so that
    the corpus shows them all; the question does not depend on it.
    """

    db_id: str
    shape: Shape
    query: Query | SetOperation
    seed: int
    tie_policy: TiePolicy = "none"
    plausibility: float = 1.0
    rendering: str = ""

    @property
    def main(self) -> Query:
        return self.query.left if isinstance(self.query, SetOperation) else self.query


_TYPES = {
    t.__name__: t
    for t in (
        Column, Value, Aggregate, Arithmetic, DatePart, Days, TextFunction, Case, Share, Window, Scalar, MetricCall,
        Comparison, Between, Like, InList, IsNull, InQuery, Exists, And, Or, Not,
        Source, Join, Output, OrderKey, Keep, Cte, Query, SetOperation, Intent,
    )
}  # fmt: skip


def walk(node: Any) -> Iterator[Any]:
    """Yield every dataclass node of the tree, parents first."""
    waiting = [node]
    while waiting:  # not recursive: this is the innermost loop of sampling
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(reversed(node))
        elif names := _field_names(node.__class__):
            yield node
            waiting.extend([getattr(node, name) for name in reversed(names)])


def is_figure(node: Any) -> bool:
    """Whether an expression is one number of many rows: an aggregate, or what is computed of such."""
    if isinstance(node, Arithmetic):
        return is_figure(node.left) and is_figure(node.right)
    return isinstance(node, Aggregate | Share | MetricCall)


def conjuncts(where: Predicate | None) -> tuple[Predicate, ...]:
    """The conditions that `where` asks to hold together; none for None."""
    if where is None:
        return ()
    return where.parts if isinstance(where, And) else (where,)


def conjunction(parts: Sequence[Predicate]) -> Predicate | None:
    """All of `parts`; None for none."""
    return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    """Names of a node's fields; none for the plain values at the leaves."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def to_json(node: Any) -> str:
    """One line of JSON; equal trees give equal text."""
    return json.dumps(_encode(node), ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """The tree that `to_json` wrote. Raises `KeyError` on a node type this version does not know."""
    return _decode(json.loads(text))


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        body = {
            field.name: _encode(getattr(value, field.name))
            for field in fields(value)
            if getattr(value, field.name) != field.default
        }
        return {"_": type(value).__name__, **body}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        kind = _TYPES[value["_"]]
        return kind(**{name: _decode(item) for name, item in value.items() if name != "_"})
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    return value
