"""What can be written in several ways, in the one that what reads trees knows.

`x IN (VALUES (1), (2))` becomes `x IN (1, 2)`, or where a row is more than a constant a subquery over VALUES, as
sqlglot itself has `WITH v AS (VALUES ...)`. `x = ANY (SELECT ...)` becomes IN, `x <> ALL (SELECT ...)` NOT IN. LATERAL
goes before UNNEST, which sees what stands before it in any case.
"""

from __future__ import annotations

import re

from sqlglot import exp

SEVERAL_FORMS = re.compile(r"\b(?:values|any|some|all|lateral)\b", re.IGNORECASE)  # other statements have but one
COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_LOOSER = (exp.Connector, exp.Paren, exp.Where, exp.Having, exp.Qualify, exp.Join, exp.If, exp.Alias, exp.Select)


def in_one_form(tree: exp.Expr) -> exp.Expr:
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
    for node in list(tree.find_all(exp.Any, exp.All, exp.Lateral)):
        holder = node.parent
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Unnest):
            unnest = node.this
            unnest.set("alias", node.args.get("alias"))
            node.replace(unnest)
        elif isinstance(node, exp.Any) and isinstance(holder, exp.EQ) and _is_query(node.this):
            _replace(holder, _member(holder, node.this))
        elif isinstance(node, exp.All) and isinstance(holder, exp.NEQ) and _is_query(node.this):
            _replace(holder, exp.Not(this=_member(holder, node.this)))
        elif isinstance(node, exp.Any) and isinstance(node.this, (exp.Select, exp.SetOperation)):
            node.set("this", exp.Subquery(this=node.this))
    return tree


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
