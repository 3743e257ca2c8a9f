"""Figures as people and warehouses spell them: counted under a condition, rounded, cast to another type.

All look at the text alone: what names mean is for the reader (`synthesis.expression_reading`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.intent.tree import AggregateFunction

AGGREGATES: dict[type[exp.Expr], AggregateFunction] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
}  # fmt: skip


@dataclass(frozen=True)
class Conditional:
    """A figure over the rows that meet `condition`. `argument` None counts rows."""

    function: AggregateFunction
    argument: exp.Expr | None
    condition: exp.Expr
    distinct: bool = False


def is_figure(node: exp.Expr) -> bool:
    """Whether `node` is an aggregate, or is computed from aggregates alone."""
    if isinstance(node, exp.Filter | exp.AggFunc):
        return True
    if isinstance(node, exp.Cast | exp.Nullif):
        return is_figure(node.this.unnest())
    return isinstance(node, exp.Binary) and all(
        isinstance(side, exp.Literal) or is_figure(side) for side in (node.left.unnest(), node.right.unnest())
    )


def unrounded(node: exp.Expr) -> exp.Expr:
    """The figure in ROUND(AVG(x), 2) or CAST(SUM(x) AS DECIMAL(12, 2)); any other expression as it stands.

    How many digits of a figure are shown is no part of what is asked. A column is not taken out: rounded values group
    and repeat in another way.
    """
    body = inner = node.unnest()
    while _shows_digits(inner):
        inner = inner.this.unnest()
    return inner if is_figure(inner) else body


def _shows_digits(node: exp.Expr) -> bool:
    """Whether `node` only says how a number is written. ROUND(x, -3) says more: nobody asks for thousands unsaid."""
    if isinstance(node, exp.Round):
        return not isinstance(node.args.get("decimals"), exp.Neg)
    return isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.NUMERIC_TYPES)


def conditional(node: exp.Expr) -> Conditional | None:
    """FILTER, COUNT_IF, and aggregates of a CASE with one branch, in one form; None for any other expression."""
    if isinstance(node, exp.Filter):
        function = AGGREGATES.get(type(node.this))
        plain = function is not None and conditional(node.this) is None
        return _of(function, node.this.this, node.expression.this) if plain and function is not None else None
    if isinstance(node, exp.CountIf):
        return Conditional("count", None, node.this)
    function = AGGREGATES.get(type(node))
    inner = node.this if function is not None else None
    if function is None or node.expressions or inner is None:
        return None
    if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
        branch = _branch(inner.expressions[0])
        value = branch.args["true"] if branch is not None and _is_none(_otherwise(inner.expressions[0])) else None
        return Conditional(function, value, branch.this, True) if branch is not None and value is not None else None
    return _over_branch(function, inner)


def percentage(node: exp.Expr, dialect: Dialect) -> exp.Expr | None:
    """The condition of which `node` is the percentage: 100.0 * COUNT_IF(condition) / COUNT(*), in any order of these.

    None also where SQLite would divide whole numbers.
    """
    body = node.unnest()
    over, under = _factors(body)
    hundreds = [one for one in over if isinstance(one, exp.Literal) and not one.is_string and float(one.name) == 100]
    counted = [found for one in over if (found := conditional(_real(one))) is not None]
    total = under[0] if len(under) == 1 else None
    if len(over) != 2 or len(hundreds) != 1 or len(counted) != 1 or not isinstance(total, exp.Count):
        return None
    whole = isinstance(total.this, exp.Star | exp.Literal) and not total.expressions
    is_count = counted[0].function == "count" and counted[0].argument is None
    divides = dialect != "sqlite" or any(isinstance(one, exp.Cast) or one.name == "100.0" for one in (*over, *under))
    return counted[0].condition if whole and is_count and divides else None


def _factors(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """What a product and quotient multiplies, and what it divides by."""
    body = node.unnest()
    if isinstance(body, exp.Mul):
        (over, under), (more, less) = _factors(body.left), _factors(body.right)
        return over + more, under + less
    if isinstance(body, exp.Div):
        (over, under), (more, less) = _factors(body.left), _factors(body.right)
        return over + less, under + more
    if isinstance(body, exp.Nullif) and isinstance(body.expression, exp.Literal) and body.expression.name == "0":
        return [body.this.unnest()], []  # a group has a row
    return [body], []


def _real(node: exp.Expr) -> exp.Expr:
    return node.this.unnest() if isinstance(node, exp.Cast) and node.to.is_type(*exp.DataType.REAL_TYPES) else node


def _over_branch(function: AggregateFunction, inner: exp.Expr) -> Conditional | None:
    """An aggregate of CASE WHEN condition THEN value END. A sum of ones and zeros counts."""
    branch, otherwise = _branch(inner), _otherwise(inner)
    if branch is None:
        return None
    value = branch.args["true"].unnest()
    one = isinstance(value, exp.Literal) and not value.is_string and float(value.name) == 1
    if _is_none(otherwise):
        return (
            Conditional("count", None, branch.this)
            if one and function in ("count", "sum")
            else _of(function, value, branch.this)
        )
    if function != "sum" or not (isinstance(otherwise, exp.Literal) and otherwise.name in ("0", "0.0")):
        return None
    return Conditional("count", None, branch.this) if one else Conditional("sum", value, branch.this)


def _of(function: AggregateFunction, inner: exp.Expr, condition: exp.Expr) -> Conditional | None:
    distinct = isinstance(inner, exp.Distinct)
    if distinct and len(inner.expressions) != 1:
        return None
    argument = inner.expressions[0] if distinct else inner
    if isinstance(argument, exp.Star | exp.Literal):
        return Conditional("count", None, condition) if function == "count" and not distinct else None
    return Conditional(function, argument, condition, distinct)


def _branch(node: exp.Expr) -> exp.If | None:
    """The one branch of a searched CASE, or of IF and IIF."""
    body = node.unnest()
    if isinstance(body, exp.If):
        return body
    one = isinstance(body, exp.Case) and body.this is None and len(body.args["ifs"]) == 1
    return body.args["ifs"][0] if one else None


def _otherwise(node: exp.Expr) -> exp.Expr | None:
    body = node.unnest()
    found = body.args.get("false" if isinstance(body, exp.If) else "default")
    return found.unnest() if found is not None else None


def _is_none(node: exp.Expr | None) -> bool:
    return node is None or isinstance(node, exp.Null)
