"""Expressions and predicates of an intent as sqlglot nodes of one dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import assert_never

from sqlglot import exp

from agro_data.intent.tree import (
    Aggregate,
    And,
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    DatePart,
    Days,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    MetricCall,
    Not,
    Or,
    OrderKey,
    Output,
    Predicate,
    Query,
    Scalar,
    Share,
    TextFunction,
    Value,
    Window,
    conjuncts,
)
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.comparisons import BY_SIGN
from agro_data.sql.identifiers import identifier
from agro_data.sql.parse import parse_expression
from agro_data.sql.said import WEEKDAYS

_AGGREGATES: dict[str, type[exp.AggFunc]] = {
    "count": exp.Count, "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max,
}  # fmt: skip
_ARITHMETIC: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul}
_WEEKDAYS = (WEEKDAYS[-1], *WEEKDAYS[:-1])  # as the engines number them
_SQLITE_DATE_CODES = {"year": "%Y", "month": "%m", "day": "%d", "weekday": "%w", "year_month": "%Y-%m"}


class ExpressionWriter(ABC):
    """One rendering pass over a tree: what its aliases stand for, and how its expressions are written."""

    def __init__(self, profile: DatabaseProfile, names: dict[str, str], inline: bool) -> None:
        self.profile = profile
        self.dialect = profile.dialect
        self.names = names  # tree alias -> SQL alias
        self.inline = inline  # derived tables in place of CTEs
        self.tables: dict[str, str] = {}  # tree alias -> table, of all scopes entered so far
        self.qualified: set[str] = set()  # tree aliases whose columns are written with a qualifier
        self.derived: dict[str, Query] = {}  # CTE name -> its query

    @abstractmethod
    def query(self, query: Query, correlated: bool = False) -> exp.Select:
        """The SELECT of a query that stands inside an expression."""

    def order_key(self, key: OrderKey) -> exp.Ordered:
        return self._ordered(self.expression(key.expression), key.descending)

    def _ordered(self, body: exp.Expr, descending: bool) -> exp.Ordered:
        # Where NULLs go is left to the engine; sqlglot is told so by naming the engine's own default.
        first = not descending if self.dialect == "sqlite" else False
        return exp.Ordered(this=body, desc=descending or None, nulls_first=first)

    def identifier(self, name: str) -> exp.Identifier:
        return identifier(name)

    def column(self, column: Column) -> exp.Column:
        table = self.identifier(self.names[column.source]) if column.source in self.qualified else None
        return exp.Column(this=self.identifier(column.name), table=table)

    def expression(self, node: Expression) -> exp.Expr:
        match node:
            case Column():
                return self.column(node)
            case Value():
                return self.value(node)
            case Aggregate():
                return self.aggregate(node)
            case Arithmetic():
                return self.arithmetic(node)
            case DatePart():
                return self.date_part(node)
            case Days():
                return self.days(node)
            case TextFunction():
                return self.text_function(node)
            case Case():
                case = exp.Case(ifs=[exp.If(this=self.predicate(p), true=self.value(v)) for p, v in node.branches])
                if node.otherwise is not None:
                    case.set("default", self.value(node.otherwise))
                return case
            case Share():
                ones = _when(self.predicate(node.where), exp.Literal.number(1), exp.Literal.number(0))
                part = exp.Mul(this=exp.Literal.number("100.0"), expression=exp.Sum(this=ones))
                return self._divide(part, exp.Count(this=exp.Star()), guard=False)
            case Window():
                return self.window(node)
            case Scalar():
                return exp.Subquery(this=self.query(node.query, correlated=not node.alone))
            case MetricCall():
                return self.metric(node)
        assert_never(node)

    def value(self, node: Value) -> exp.Expr:
        value = node.value
        if value is None:
            return exp.Null()
        if isinstance(value, bool) or (self._is_boolean(node) and value in (0, 1)):
            if self.dialect == "duckdb":
                return exp.Boolean(this=bool(value))
            return exp.Literal.number(int(value))
        if isinstance(value, str):
            return exp.Literal.string(value)
        return exp.Literal.number(repr(value))

    def _is_boolean(self, node: Value) -> bool:
        if node.column is None or self.dialect != "duckdb":
            return False
        table, column = node.column
        return self.profile.table(table).column(column).declared_type.upper().startswith("BOOL")

    def aggregate(self, node: Aggregate) -> exp.Expr:
        kind = _AGGREGATES[node.function]
        if node.where is not None:
            condition = self.predicate(node.where)
            if node.function == "count":
                if node.argument is not None and node.distinct:
                    return exp.Count(this=exp.Distinct(expressions=[_when(condition, self.expression(node.argument))]))
                return exp.Count(this=_when(condition, exp.Literal.number(1)))
            argument = self.expression(_argument(node))
            default = exp.Literal.number(0) if node.function == "sum" else None
            return kind(this=_when(condition, argument, default))
        if node.argument is None:
            return exp.Count(this=exp.Star(), big_int=True)
        argument = self.expression(node.argument)
        if node.distinct:
            return kind(this=exp.Distinct(expressions=[argument]))
        return kind(this=argument)

    def arithmetic(self, node: Arithmetic) -> exp.Expr:
        left, right = (
            self._operand(node.left, node.operator, False),
            self._operand(node.right, node.operator, True),
        )
        if node.operator == "/":
            if self.dialect == "sqlite" and not self._is_real(node.left):
                left = exp.Mul(this=left, expression=exp.Literal.number("1.0"))
            return self._divide(left, right, guard=not self._never_zero(node.right))
        return _ARITHMETIC[node.operator](this=left, expression=right)

    def _operand(self, node: Expression, operator: str, right: bool) -> exp.Expr:
        body = self.expression(node)
        if not isinstance(node, Arithmetic):
            return body
        loose = node.operator in "+-"
        needs = loose and (operator in "*/" or (right and operator == "-"))
        return exp.paren(body) if needs or (right and operator == "/") else body

    def _divide(self, left: exp.Expr, right: exp.Expr, guard: bool) -> exp.Expr:
        # `typed` and `safe` tell sqlglot that the division already is what the engine computes.
        if guard:
            right = exp.Nullif(this=right, expression=exp.Literal.number(0))
        sqlite = self.dialect == "sqlite"
        return exp.Div(this=left, expression=right, typed=sqlite, safe=sqlite)

    def _is_real(self, node: Expression) -> bool:
        match node:
            case Value():
                return isinstance(node.value, float)
            case Arithmetic():
                return node.operator == "/" or self._is_real(node.left) or self._is_real(node.right)
            case Share():
                return True
            case Aggregate():
                return node.function == "avg"
        return False

    def _never_zero(self, node: Expression) -> bool:
        # SQLite yields NULL for x / 0 by itself, DuckDB does not for doubles.
        if isinstance(node, Value):
            return bool(node.value)
        if isinstance(node, Column) and self.dialect == "sqlite" and self.tables[node.source] in self.profile.by_name:
            low = self.profile.table(self.tables[node.source]).column(node.name).minimum
            return isinstance(low, int | float) and low > 0
        return isinstance(node, Aggregate) and node.function == "count" and node.argument is None

    def date_part(self, node: DatePart) -> exp.Expr:
        argument = self.expression(node.argument)
        if self.dialect == "sqlite":
            code = exp.Literal.string(_SQLITE_DATE_CODES[node.part])
            text = exp.Anonymous(this="STRFTIME", expressions=[code, argument])
            if node.part == "year_month":
                return text
            if node.part == "weekday":
                days = [
                    exp.If(this=exp.Literal.string(str(i)), true=exp.Literal.string(day))
                    for i, day in enumerate(_WEEKDAYS)
                ]
                return exp.Case(this=text, ifs=days)
            return exp.Cast(this=text, to=exp.DataType(this=exp.DataType.Type.INT))
        if not self._is_temporal(node.argument):
            kind = exp.DataType.Type.TIMESTAMP if node.part != "year" else exp.DataType.Type.DATE
            argument = exp.Cast(this=argument, to=exp.DataType(this=kind))
        if node.part == "year_month":
            return exp.Anonymous(this="STRFTIME", expressions=[argument, exp.Literal.string("%Y-%m")])
        if node.part == "weekday":
            return exp.Anonymous(this="DAYNAME", expressions=[argument])
        return exp.Extract(this=exp.var(node.part.upper()), expression=argument)

    def days(self, node: Days) -> exp.Expr:
        start, end = (self.expression(side) for side in (node.start, node.end))
        if self.dialect == "duckdb":
            sides = [
                one if self._is_temporal(side) else exp.Cast(this=one, to=exp.DataType(this=exp.DataType.Type.DATE))
                for one, side in ((start, node.start), (end, node.end))
            ]
            return exp.Anonymous(this="DATE_DIFF", expressions=[exp.Literal.string("day"), *sides])
        last, first = (
            exp.Anonymous(this="JULIANDAY", expressions=[exp.Anonymous(this="DATE", expressions=[one])])
            for one in (end, start)
        )
        return exp.Cast(this=exp.Sub(this=last, expression=first), to=exp.DataType(this=exp.DataType.Type.INT))

    def _is_temporal(self, node: Expression) -> bool:
        if isinstance(node, Column) and self.tables[node.source] in self.profile.by_name:
            declared = self.profile.table(self.tables[node.source]).column(node.name).declared_type
            return declared.upper().startswith(("DATE", "TIMESTAMP"))
        return False

    def text_function(self, node: TextFunction) -> exp.Expr:
        arguments = [self.expression(a) for a in node.arguments]
        match node.function:
            case "upper":
                return exp.Upper(this=arguments[0])
            case "lower":
                return exp.Lower(this=arguments[0])
            case "length":
                return exp.Length(this=arguments[0])
            case "prefix":
                ends = [exp.Literal.number(1), exp.Literal.number(node.size or 1)]
                return exp.Anonymous(this="SUBSTR", expressions=[arguments[0], *ends])
            case "join_words":
                body = arguments[0]
                for argument in arguments[1:]:
                    spaced = exp.DPipe(this=body, expression=exp.Literal.string(" "), safe=True)
                    body = exp.DPipe(this=spaced, expression=argument, safe=True)
                return body
        assert_never(node.function)

    def window(self, node: Window) -> exp.Expr:
        function: exp.Expr
        match node.function:
            case "row_number":
                function = exp.RowNumber()
            case "rank":
                function = exp.Rank()
            case "dense_rank":
                function = exp.DenseRank()
            case "lag":
                function = exp.Lag(this=self.expression(_argument(node)))
            case "count":
                function = exp.Count(this=self.expression(node.argument) if node.argument else exp.Star())
            case _:
                function = _AGGREGATES[node.function](this=self.expression(_argument(node)))
        over = self._over(node.partition, node.order)
        if node.order and node.function in ("sum", "avg", "count"):
            over["spec"] = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
        return exp.Window(this=function, **over)

    def _over(self, partition: tuple[Expression, ...], order: tuple[OrderKey, ...]) -> dict[str, object]:
        over: dict[str, object] = {"over": "OVER"}
        if partition:
            over["partition_by"] = [self.expression(e) for e in partition]
        if order:
            over["order"] = exp.Order(expressions=[self.order_key(k) for k in order])
        return over

    def metric(self, node: MetricCall) -> exp.Expr:
        metric = next(m for m in self.profile.metrics if m.name == node.name)
        body = parse_expression(metric.sql, self.dialect)
        if node.source in self.qualified:
            for column in body.find_all(exp.Column):
                column.set("table", self.identifier(self.names[node.source]))
        return body

    # --- predicates ---

    def predicate(self, node: Predicate) -> exp.Expr:
        match node:
            case Comparison():
                return BY_SIGN[node.operator](this=self.expression(node.left), expression=self.expression(node.right))
            case Between():
                return exp.Between(
                    this=self.expression(node.argument), low=self.value(node.low), high=self.value(node.high)
                )
            case Like():
                return self.like(node)
            case InList():
                argument = self._tested(node.argument, node.negated)
                return exp.In(this=argument, expressions=[self.value(v) for v in node.values])
            case IsNull():
                null: exp.Expr = exp.Not(this=exp.Null()) if node.negated else exp.Null()
                return exp.Is(this=self.expression(node.argument), expression=null)
            case InQuery():
                argument = self._tested(node.argument, node.negated)
                inner = self._without_nulls(node.query) if node.negated else node.query
                return exp.In(this=argument, query=exp.Subquery(this=self.query(inner)))
            case Exists():
                return self.exists(node)
            case And():
                return conjunction([self._grouped(p) for p in node.parts])
            case Or():
                return exp.or_(*(self._grouped(p) for p in node.parts), copy=False, wrap=False)
            case Not():
                return exp.Not(this=exp.paren(self.predicate(node.part)))
        assert_never(node)

    def _grouped(self, node: Predicate) -> exp.Expr:
        body = self.predicate(node)
        return exp.paren(body) if isinstance(node, And | Or) else body

    def _tested(self, node: Expression, negated: bool) -> exp.Expr:
        body = self.expression(node)
        # sqlglot writes NOT x IN (...); people write x NOT IN (...).
        return exp.Var(this=f"{body.sql(dialect=self.dialect)} NOT") if negated else body

    def like(self, node: Like) -> exp.Expr:
        before = "" if node.kind == "starts" else "%"
        after = "" if node.kind == "ends" else "%"
        kind = exp.ILike if self.dialect == "duckdb" else exp.Like
        body = kind(
            this=self.expression(node.argument),
            expression=exp.Literal.string(f"{before}{node.text.value}{after}"),
        )
        return exp.Not(this=body) if node.negated else body

    def exists(self, node: Exists) -> exp.Expr:
        inner = self.query(
            Query(node.query.sources, (Output(Value(1)),), node.query.joins, node.query.where),
            correlated=True,
        )
        links = [exp.EQ(this=self.column(b), expression=self.column(a)) for a, b in node.link]
        where = inner.args.get("where")
        rest = [exp.paren(where.this) if isinstance(node.query.where, Or) else where.this] if where else []
        inner.set("where", exp.Where(this=conjunction([*links, *rest])))
        body = exp.Exists(this=inner)
        return exp.Not(this=body) if node.negated else body

    def _without_nulls(self, query: Query) -> Query:
        """`query` with a filter that keeps NULL out of NOT IN, where its column may hold one."""
        output = query.select[0].expression
        if not isinstance(output, Column):
            return query
        table = query.table_of(output.source)
        if table not in self.profile.by_name:
            return query
        if self.profile.table(table).never_null(output.name):
            return query
        known = IsNull(output, negated=True)
        where = known if query.where is None else And((*conjuncts(query.where), known))
        return Query(query.sources, query.select, query.joins, where, query.group_by, query.having)


def conjunction(parts: Sequence[exp.Expr]) -> exp.Expr:
    """`parts` joined by AND."""
    return parts[0] if len(parts) == 1 else exp.and_(*parts, copy=False, wrap=False)


def _when(condition: exp.Expr, value: exp.Expr, default: exp.Expr | None = None) -> exp.Case:
    case = exp.Case(ifs=[exp.If(this=condition, true=value)])
    if default is not None:
        case.set("default", default)
    return case


def _argument(node: Aggregate | Window) -> Expression:
    if node.argument is None:
        raise ValueError(f"{node.function} needs an argument")
    return node.argument
