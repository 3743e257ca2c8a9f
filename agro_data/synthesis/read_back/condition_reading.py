"""Conditions of SQL as parts of an intent's tree."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from agro_data.intent.sampling.atlas import Atlas, is_iso_date
from agro_data.intent.tree import (
    Aggregate,
    Between,
    Column,
    Comparator,
    Comparison,
    Exists,
    InList,
    IsNull,
    Join,
    Like,
    Or,
    Output,
    Predicate,
    Scalar,
    Value,
    conjuncts,
)
from agro_data.sql.comparisons import SIGNS, TURNED
from agro_data.sql.conditions import parts_of
from agro_data.sql.names.resolution import Scope
from agro_data.synthesis.read_back.expression_reading import PLAIN, Beyond, ExpressionReader, Merged, all_of

_SECOND = len("2020-01-01 10:30:00")  # of a longer moment nobody asks for more


class ConditionReader(ExpressionReader):
    """One reading of a statement: what its conditions mean."""

    def predicate(self, node: exp.Expr, scope: Scope) -> Predicate | Merged:
        body = node.unnest()
        outside = isinstance(body, exp.Not)
        inner = body.this.unnest() if outside else body
        negated = outside != bool(inner.args.get("negate"))  # NOT x NOT LIKE is LIKE
        if isinstance(inner, exp.Or) and not negated:
            parts = [self.predicate(part, scope) for part in parts_of(inner, exp.Or)]
            if any(not isinstance(part, PLAIN) for part in parts):
                raise Beyond("or", "a choice between other than plain conditions")
            return Or(tuple(parts))  # type: ignore[arg-type]
        if type(inner) in SIGNS and not negated:
            return self._comparison(inner, scope)
        if isinstance(inner, exp.Column) and (flag := self._flag(inner, negated)) is not None:
            return flag
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            return self._membership(inner, negated, scope)
        if isinstance(inner, exp.Exists):
            return self._existence(inner, negated, scope)
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return IsNull(self._tested(inner.this), negated)
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Boolean) and not negated:
            flag = inner.this.unnest()  # where it is unknown, neither holds
            if isinstance(flag, exp.Column) and (said := self._flag(flag, not inner.expression.this)) is not None:
                return said
        if isinstance(inner, exp.Between) and not negated:
            column = self._tested(inner.this)
            low, high = (self.value(inner.args[name], column) for name in ("low", "high"))
            if low is not None and high is not None:
                return Between(column, low, self._exact("<=", high))
        if isinstance(inner, exp.Like | exp.ILike):
            return self._like(inner, negated)
        if isinstance(inner, exp.In) and inner.expressions:
            column = self._tested(inner.this)
            values = [self.value(value, column) for value in inner.expressions]
            if all(value is not None for value in values):
                return InList(column, tuple(self._exact("=", value) for value in values if value is not None), negated)
        raise Beyond("condition", f"a condition on {self.said(inner)}")

    def _flag(self, node: exp.Column, negated: bool) -> Comparison | None:
        """A column of truth values that is a condition by itself: `WHERE is_current`."""
        column = self.column(node)
        if column is None or self.profile_of(column).kind != "boolean":
            return None
        return Comparison("=", column, Value(not negated, (self._table_of(column).name, column.name)))

    def _exact(self, operator: Comparator, value: Value) -> Value:
        if cuts_a_day(operator, value, self.atlas):
            raise Beyond("condition", "a day or a year is compared with longer dates, as the moment at which it begins")
        return value

    def _like(self, node: exp.Expr, negated: bool) -> Like:
        column, pattern = self._tested(node.this), self.value(node.expression, None)
        text = pattern.value if pattern is not None and isinstance(pattern.value, str) else ""
        core = text.strip("%")
        if not core or "%" in core or "_" in core or text.count("%") > 2:
            raise Beyond("pattern", "a pattern that is not a text with % at its ends")
        ends = (text.startswith("%"), text.endswith("%"))
        kinds = {(True, True): "contains", (False, True): "starts", (True, False): "ends"}
        if ends not in kinds:
            raise Beyond("pattern", "a pattern without %")
        value = self.value(exp.Literal.string(core), column)
        assert value is not None
        return Like(column, kinds[ends], value, negated)  # type: ignore[arg-type]

    def _comparison(self, node: exp.Expr, scope: Scope) -> Predicate:
        kind, left, right = type(node), node.this.unnest(), node.expression.unnest()
        if self.column(left) is None and self._year(left) is None and self.days(left) is None:
            kind, left, right = TURNED[kind], right, left
        operator = SIGNS[kind]
        year = self._year(left)
        if year is not None:
            value = self.value(right, None)
            said = str(value.value) if value is not None else ""
            if not (said.isascii() and said.isdigit()):
                raise Beyond("condition", "a year is compared with a number")
            return Comparison(operator, year, Value(int(said)))
        days = self.days(left)
        if days is not None:
            value = self.value(right, None)
            if value is None or type(value.value) is not int:
                raise Beyond("condition", "days between two dates are compared with a whole number")
            return Comparison(operator, days, value)
        column = self._tested(left)
        value = self.value(right, column)
        if value is not None:
            return Comparison(operator, column, self._exact(operator, value))
        if isinstance(right, exp.Select):
            return Comparison(operator, column, Scalar(self.select(right)))
        other = self.column(right, scope)
        if other is not None and other.source == column.source:
            return Comparison(operator, column, other)
        raise Beyond("condition", "a comparison with other than a value or a figure")

    def _membership(self, node: exp.In, negated: bool, scope: Scope) -> Predicate | Merged:
        """IN over related rows: children that there are or are not, or a parent that meets conditions."""
        column = self._tested(node.this)
        held = node.args["query"].unnest()
        if not isinstance(held, exp.Select):
            raise Beyond("membership", "IN over a set operation")
        inner = self.select(held)
        shown = inner.select[0].expression
        plain = not (inner.group_by or inner.limit or inner.order_by or inner.having) and len(inner.select) == 1
        if not plain or not isinstance(shown, Column) or shown.source != inner.subject.alias:
            raise Beyond("membership", "IN over other than a column of plain rows")
        table = self._table_of(column).name
        for edge in self.atlas.edges:
            if (edge.parent, edge.parent_columns) == (table, (column.name,)) and (edge.child, edge.child_columns) == (
                inner.subject.table,
                (shown.name,),
            ):
                self.rendering = "in"
                where = _without_guard(inner.where, shown) if negated else inner.where
                body = replace(inner, select=(Output(Value(1)),), distinct=False, where=where)
                return Exists(body, ((column, shown),), negated)
            above = (edge.child, edge.child_columns, edge.parent, edge.parent_columns)
            if not negated and above == (table, (column.name,), inner.subject.table, (shown.name,)):
                join = Join(column.source, inner.subject.alias, edge.pairs_up, "inner", "up")
                return Merged(list(inner.sources), [join, *inner.joins], list(conjuncts(inner.where)))
        raise Beyond("membership", "IN that follows no foreign key")

    def _existence(self, node: exp.Exists, negated: bool, scope: Scope) -> Exists:
        held = node.this.unnest()
        if not isinstance(held, exp.Select):
            raise Beyond("existence", "EXISTS over a set operation")
        inner = self.select(held, outer=scope)
        link = tuple(self.links)
        pairs = {(mine.name, outer.name) for outer, mine in link}
        plain = not (inner.group_by or inner.limit) and not any(
            isinstance(o.expression, Aggregate) for o in inner.select
        )
        if not link or not plain or any(mine.source != inner.subject.alias for _, mine in link):
            raise Beyond("existence", "EXISTS over rows that are not tied to the row outside")
        table = self._table_of(link[0][0]).name
        for edge in self.atlas.edges:
            if (edge.parent, edge.child) == (table, inner.subject.table) and set(edge.pairs_up) == pairs:
                self.rendering = "exists"
                return Exists(replace(inner, select=(Output(Value(1)),), distinct=False), link, negated)
        raise Beyond("existence", "EXISTS that follows no foreign key")

    def correlation(self, part: exp.Expr, scope: Scope, outer: Scope) -> tuple[Column, Column] | None:
        """(outer column, own column) of an equality that ties the rows of a subquery to the row outside."""
        if not isinstance(part, exp.EQ):
            return None
        for one, other in ((part.left, part.right), (part.right, part.left)):
            mine, theirs = self.column(one, scope), self.column(other, outer)
            if mine is not None and theirs is not None and theirs.source != mine.source:
                return theirs, mine
        return None


def cuts_a_day(operator: Comparator, value: Value, atlas: Atlas) -> bool:
    """Whether rows of the day or year `value` fall on the other side than a question with it would say.

    Beside longer dates "2015" is where 2015 begins: what lies after that is not what comes after 2015.
    """
    if value.column is None or operator in (">=", "<"):
        return False
    table, name = value.column
    profile = atlas.by_name[table].column(name)
    held = [len(cell) for cell in (profile.minimum, profile.maximum) if isinstance(cell, str)]
    return is_iso_date(profile) and len(str(value.value)) < min(_SECOND, max(held, default=0))


def _without_guard(where: Predicate | None, column: Column) -> Predicate | None:
    """A condition without the IS NOT NULL that keeps NULL out of NOT IN: rendering puts it back where it is needed."""
    return all_of([part for part in conjuncts(where) if part != IsNull(column, negated=True)])
