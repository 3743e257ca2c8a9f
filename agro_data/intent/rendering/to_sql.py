"""Render an intent as SQL text for SQLite or DuckDB, through sqlglot expressions.

The text is what a careful person would write: one table alone is not aliased, joins carry short aliases, names are
quoted only where the engine needs it. Meaning follows `intent.tree`; where the engines differ (division, dates, LIKE)
the rendering differs so that the meaning does not.
"""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.intent.rendering.expression_sql import ExpressionWriter, conjunction
from agro_data.intent.rendering.names import NameStyle, alias_names, pick_style
from agro_data.intent.rendering.renderings import rewrite
from agro_data.intent.tree import (
    Column,
    Exists,
    Intent,
    Join,
    Keep,
    Or,
    OrderKey,
    Output,
    Query,
    Scalar,
    SetOperation,
    Source,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile

_SET_OPERATIONS: dict[str, type[exp.SetOperation]] = {
    "union": exp.Union, "union_all": exp.Union, "intersect": exp.Intersect, "except": exp.Except,
}  # fmt: skip


def render_sql(intent: Intent, profile: DatabaseProfile) -> str:
    """SQL text of `intent` on the database of `profile`, in its dialect, without a trailing semicolon.

    Raises `KeyError` when the tree names a table, column or metric that the profile lacks.
    """
    query = rewrite(intent.query, intent.rendering, profile)
    return render_query(query, profile, style=pick_style(intent.seed), rendering=intent.rendering)


def render_query(
    query: Query | SetOperation, profile: DatabaseProfile, *, style: NameStyle = "t", rendering: str = ""
) -> str:
    """SQL text of a bare query tree, as it stands (no rewriting)."""
    writer = QueryWriter(profile, alias_names(query, style), inline=rendering == "subquery")
    return writer.statement(query).sql(dialect=profile.dialect)


def _correlated(query: Query) -> bool:
    """Whether a subquery of this very query refers to its rows, so that its columns must be qualified."""
    parts = (query.select, query.where, query.having, query.order_by)
    return any(isinstance(n, Exists) or (isinstance(n, Scalar) and not n.alone) for n in walk(parts))


class QueryWriter(ExpressionWriter):
    """Writes queries around the expressions."""

    def statement(self, query: Query | SetOperation) -> exp.Query:
        if isinstance(query, SetOperation):
            kind = _SET_OPERATIONS[query.operator]
            body = kind(
                this=self.query(query.left),
                expression=self.query(query.right),
                distinct=query.operator != "union_all",
            )
            if query.order_by:
                # After a set operation only output columns are in scope, by bare name.
                keys = [self._ordered(self._output_name(k, query.left), k.descending) for k in query.order_by]
                body.set("order", exp.Order(expressions=keys))
            return body
        return self.query(query)

    def _output_name(self, key: OrderKey, query: Query) -> exp.Expr:
        for position, output in enumerate(query.select, 1):
            if output.expression == key.expression:
                if output.name:
                    return exp.column(self.identifier(output.name))
                if isinstance(output.expression, Column):
                    return exp.column(self.identifier(output.expression.name))
                return exp.Literal.number(position)
        raise ValueError(f"order key {key.expression} of a set operation is not among its output columns")

    def query(self, query: Query, correlated: bool = False) -> exp.Select:
        for cte in query.ctes:
            self.derived[cte.name] = cte.query
        qualify = correlated or len(query.sources) > 1 or _correlated(query)
        for source in query.sources:
            self.tables[source.alias] = source.table
            if qualify:
                self.qualified.add(source.alias)
        select = self._keep(query, query.keep, qualify) if query.keep else self._select(query, qualify)
        if query.ctes and not self.inline:
            ctes = [self._cte(cte.name, self.query(cte.query)) for cte in query.ctes]
            own = select.args.get("with_")
            select.set("with_", exp.With(expressions=ctes + (own.expressions if own else [])))
        return select

    def _cte(self, name: str, body: exp.Expr) -> exp.CTE:
        return exp.CTE(this=body, alias=exp.TableAlias(this=self.identifier(name)))

    def _select(self, query: Query, qualify: bool) -> exp.Select:
        select = exp.Select(expressions=[self.output(o) for o in query.select])
        if query.distinct:
            select.set("distinct", exp.Distinct())
        self._body(select, query, qualify)
        if query.order_by:
            select.set("order", exp.Order(expressions=[self.order_key(k) for k in query.order_by]))
        if query.limit is not None:
            select.set("limit", exp.Limit(expression=exp.Literal.number(query.limit)))
        return select

    def _body(self, select: exp.Select, query: Query, qualify: bool) -> None:
        by_alias = {source.alias: source for source in query.sources}
        select.set("from_", exp.From(this=self.source(query.sources[0], qualify)))
        joins = [self.join(join, by_alias[join.right]) for join in query.joins]
        if joins:
            select.set("joins", joins)
        conditions: list[exp.Expr] = [
            exp.LT(this=self.column(Column(j.left, j.less)), expression=self.column(Column(j.right, j.less)))
            for j in query.joins
            if j.less
        ]
        if query.where is not None:
            where = self.predicate(query.where)
            conditions.append(exp.paren(where) if conditions and isinstance(query.where, Or) else where)
        if conditions:
            select.set("where", exp.Where(this=conjunction(conditions)))
        if query.group_by:
            select.set("group", exp.Group(expressions=[self.expression(e) for e in query.group_by]))
        if query.having is not None:
            select.set("having", exp.Having(this=self.predicate(query.having)))

    def _keep(self, query: Query, keep: Keep, qualify: bool) -> exp.Select:
        """Rank inside, cut outside: a window cannot stand in WHERE."""
        rank: exp.Expr = exp.Rank() if keep.ties else exp.RowNumber()
        over = exp.Window(this=rank, **self._over(keep.partition, keep.order))
        named = _unique_names(query.select, self.tables, self.profile)
        position = _fresh("rnk" if keep.ties else "rn", set(named))
        inner = exp.Select(
            expressions=[
                *(self.output(Output(o.expression, n)) for o, n in zip(query.select, named, strict=True)),
                exp.alias_(over, self.identifier(position)),
            ]
        )
        self._body(inner, query, qualify)
        wrapper = _fresh("ranked", {folded(t.name) for t in self.profile.tables} | set(self.derived))
        outer = exp.Select(expressions=[exp.column(self.identifier(n)) for n in named])
        if query.distinct:
            outer.set("distinct", exp.Distinct())
        if self.inline:
            outer.set(
                "from_",
                exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=self.identifier(wrapper)))),
            )
        else:
            outer.set("with_", exp.With(expressions=[self._cte(wrapper, inner)]))
            outer.set("from_", exp.From(this=exp.Table(this=self.identifier(wrapper))))
        cut = exp.EQ if keep.k == 1 else exp.LTE
        limit = exp.Literal.number(keep.k)
        outer.set("where", exp.Where(this=cut(this=exp.column(self.identifier(position)), expression=limit)))
        if query.order_by:
            outputs = {o.expression: n for o, n in zip(query.select, named, strict=True)}
            keys = [
                self._ordered(exp.column(self.identifier(outputs[k.expression])), k.descending) for k in query.order_by
            ]
            outer.set("order", exp.Order(expressions=keys))
        return outer

    def source(self, source: Source, aliased: bool) -> exp.Expr:
        alias = self.names[source.alias]
        inner = self.derived.get(source.table)
        if inner is not None and self.inline:
            return exp.Subquery(this=self.query(inner), alias=exp.TableAlias(this=self.identifier(alias)))
        table = exp.Table(this=self.identifier(source.table))
        if aliased and alias != source.table:
            table.set("alias", exp.TableAlias(this=self.identifier(alias)))
        return table

    def join(self, join: Join, right: Source) -> exp.Join:
        on = [
            exp.EQ(this=self.column(Column(join.left, a)), expression=self.column(Column(join.right, b)))
            for a, b in join.columns
        ]
        side = "LEFT" if join.kind == "left" else None
        return exp.Join(this=self.source(right, True), side=side, on=conjunction(list(on)))

    def output(self, output: Output) -> exp.Expr:
        body = self.expression(output.expression)
        if output.name is None:
            return body
        if isinstance(output.expression, Column) and output.expression.name == output.name:
            return body
        return exp.alias_(body, self.identifier(output.name))


def _fresh(wanted: str, taken: set[str]) -> str:
    lowered = {name.lower() for name in taken}
    name, number = wanted, 2
    while name in lowered:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _unique_names(select: tuple[Output, ...], tables: dict[str, str], profile: DatabaseProfile) -> list[str]:
    """One name an output, no name twice: a column under its own name, else `<table noun>_<column>`."""
    names: list[str] = []
    for position, output in enumerate(select, 1):
        body = output.expression
        name = output.name or (body.name if isinstance(body, Column) else f"value_{position}")
        if name.lower() in {n.lower() for n in names} and isinstance(body, Column):
            table = profile.by_name.get(tables[body.source])
            name = f"{(table.singular if table else body.source).replace(' ', '_')}_{body.name}"
        names.append(_fresh(name, set(names)) if name.lower() in {n.lower() for n in names} else name)
    return names
