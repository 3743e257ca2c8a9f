"""What can be written in several ways, in the one that what reads trees knows.

`x IN (VALUES (1), (2))` becomes `x IN (1, 2)`, or where a row is more than a constant a subquery over VALUES, as
sqlglot itself has `WITH v AS (VALUES ...)`. `x = ANY (SELECT ...)` becomes IN, `x <> ALL (SELECT ...)` NOT IN, and
FETCH FIRST becomes LIMIT, `COUNT()` COUNT(*). `json_each(x)` in a FROM is given its own name for an alias. In DuckDB
GROUP BY ALL gets its keys; LATERAL goes, since what stands in a FROM sees what stands before it in any case; `SELECT
m.range FROM range(3) AS m` becomes `SELECT m.m AS range FROM UNNEST(range(3)) AS m(m)`, and `[x + 1 FOR x IN l IF x >
2]` calls of list_transform and list_filter; `lambda X: x + 1` is a function of X.
"""

from __future__ import annotations

import re

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.called_columns import is_star
from agro_data.sql.names.one_column import with_columns_named
from agro_data.sql.walks import local_nodes

SEVERAL_FORMS = re.compile(  # other statements have but one
    r"\b(?:values|any|some|all|lateral|fetch|range|generate_series|unnest|for|lambda|json_each|json_tree)\b"
    r"|\bcount\s*\(\s*(?:\)|/\*|--)",
    re.IGNORECASE,
)
_MOST = 50  # list comprehensions: each is gone through again for those around it
_LOOSER = (exp.Connector, exp.Paren, exp.Where, exp.Having, exp.Qualify, exp.Join, exp.If, exp.Alias, exp.Select)


def in_one_form(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """The tree with such parts in one form. Changes it in place."""
    for rows in list(tree.find_all(exp.Values)):
        holder = rows.parent
        if isinstance(holder, exp.In) and len(holder.expressions) == 1:
            listed = [row.expressions[0] for row in rows.expressions if len(row.expressions) == 1]
            plain = len(listed) == len(rows.expressions) and all(isinstance(value, exp.Literal) for value in listed)
            holder.set("expressions", listed if plain else None)
            holder.set("query", None if plain else exp.Subquery(this=_selected(rows)))
        while isinstance(holder, (exp.Paren, exp.Subquery, exp.Tuple)):
            holder = holder.parent
        if isinstance(holder, (exp.Any, exp.All)):
            holder.set("this", exp.Subquery(this=_selected(rows)))
    for node in list(tree.find_all(exp.Any, exp.All, exp.Fetch)):
        holder = node.parent
        if isinstance(node, exp.Fetch):
            _as_limit(node)
        elif isinstance(node, exp.Any) and isinstance(holder, exp.EQ) and _is_query(node.this):
            _replace(holder, _member(holder, node.this))
        elif isinstance(node, exp.All) and isinstance(holder, exp.NEQ) and _is_query(node.this):
            _replace(holder, exp.Not(this=_member(holder, node.this)))
        elif isinstance(node, exp.Any) and isinstance(node.this, (exp.Select, exp.SetOperation)):
            node.set("this", exp.Subquery(this=node.this))
    if dialect == "duckdb":
        for group in list(tree.find_all(exp.Group)):
            _with_keys(group)
        for source in list(tree.find_all(exp.Lateral)):
            _as_source(source)
    for count in tree.find_all(exp.Count):
        if count.this is None:
            count.set("this", exp.Star())
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Anonymous) and not table.alias:
            alias = table.args.get("alias") or exp.TableAlias()
            alias.set("this", exp.to_identifier(table.this.name))
            table.set("alias", alias)
    if dialect == "duckdb":
        comprehensions = list(tree.find_all(exp.Comprehension))
        for one in reversed(comprehensions if len(comprehensions) <= _MOST else ()):  # what stands within comes first
            _as_calls(one)
        for function in list(tree.find_all(exp.Lambda)):
            _bind(function)
        with_columns_named(tree)
    return tree


def _as_limit(fetch: exp.Fetch) -> None:
    """FETCH FIRST as LIMIT, unless it asks for a share of the rows, or for those that compare equal to the last."""
    options = fetch.args.get("limit_options")
    if options is None or not (options.args.get("percent") or options.args.get("with_ties")):
        fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))


def _with_keys(group: exp.Group) -> None:
    """GROUP BY ALL with the places of what it means: all that is shown and no aggregate. Left as it is beside a star, a
    constant or a window."""
    select = group.parent
    if not group.args.get("all") or not isinstance(select, exp.Select):
        return
    shown = [item.unalias() for item in select.expressions]
    if any(is_star(item) or isinstance(item, exp.Literal) or item.find(exp.Window) for item in shown):
        return
    alone = [not any(is_aggregate(node) for node in local_nodes(item)) for item in shown]
    keys = [exp.Literal.number(place) for place, key in enumerate(alone, 1) if key]
    select.set("group", exp.Group(expressions=keys) if keys else None)


def _as_source(lateral: exp.Lateral) -> None:
    """LATERAL as what it holds: a query, UNNEST, or a function that gives rows."""
    held: exp.Expr = lateral.this
    if isinstance(held, (exp.GenerateSeries, exp.Anonymous)):
        held = exp.Table(this=held, ordinality=lateral.args.get("ordinality"))
    if isinstance(held, (exp.Unnest, exp.Subquery, exp.Table)):
        held.set("alias", lateral.args.get("alias"))
        lateral.replace(held)


def _as_calls(comprehension: exp.Comprehension) -> None:
    """A list comprehension as list_transform, of a list_filter if it has a condition."""
    holder, name, values = comprehension.parent, comprehension.args["expression"], comprehension.args["iterator"]
    position, condition = comprehension.args.get("position"), comprehension.args.get("condition")
    if not isinstance(holder, exp.Array) or len(holder.expressions) != 1:
        return
    if not isinstance(name, exp.Identifier):
        return
    made, names = comprehension.this, [name, position] if position is not None else [name]
    if condition is not None and position is not None:  # a place in the list as it was: what is made waits beside
        pairs = exp.Struct(expressions=[_field("kept", condition), _field("made", made)])
        values = exp.Transform(this=values, expression=_lambda(pairs, names))
        names = [exp.to_identifier("pair")]
        condition, made = (
            exp.Bracket(this=names[0].copy(), expressions=[exp.Literal.string(part)]) for part in ("kept", "made")
        )
    if condition is not None:
        values = exp.ArrayFilter(this=values, expression=_lambda(condition, names[:1]))
    holder.replace(exp.Transform(this=values, expression=_lambda(made, names)))


def _field(name: str, value: exp.Expr) -> exp.PropertyEQ:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value)


def _lambda(body: exp.Expr, names: list[exp.Expr]) -> exp.Lambda:
    """A function whose body calls what it is given by `names`."""
    made = exp.Lambda(this=body, expressions=[name.copy() for name in names])
    _bind(made)
    return made


def _bind(function: exp.Lambda) -> None:
    """Make what a body calls by the names of what it is given no columns, as sqlglot does where their case is one."""
    names = {folded(name.name) for name in function.expressions}
    for column in list(function.this.find_all(exp.Column)):
        first, *further = column.parts
        if folded(first.name) in names and not isinstance(column.this, exp.Star):
            value = first.copy()
            for part in further:
                value = exp.Dot(this=value, expression=part.copy())
            column.replace(value)


def _selected(rows: exp.Expr) -> exp.Select:
    """VALUES as a query."""
    rows.set("alias", exp.TableAlias(this=exp.to_identifier("_values")))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=rows))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node.unnest(), exp.Query)


def _member(comparison: exp.Expr, query: exp.Expr) -> exp.In:
    return exp.In(this=comparison.this, query=exp.Subquery(this=query.unnest()))


def _replace(old: exp.Expr, new: exp.Expr) -> None:
    """Put a predicate in the place of a comparison, in brackets where what is around may bind more tightly."""
    old.replace(new if old.parent is None or isinstance(old.parent, _LOOSER) else exp.Paren(this=new))
