"""Figures as people and warehouses spell them: counted under a condition, rounded, cast to another type.

All look at the text alone: what names mean is for the reader (`expression_reading`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.intent.tree import AggregateFunction
from agro_data.sql.conditions import parts_of

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
    if isinstance(node, exp.Cast | exp.Nullif | exp.Coalesce):
        return is_figure(node.this.unnest())
    return isinstance(node, exp.Binary) and all(
        isinstance(side, exp.Literal) or is_figure(side) for side in (node.left.unnest(), node.right.unnest())
    )


def unrounded(node: exp.Expr) -> exp.Expr:
    """The figure in ROUND(AVG(x), 2), CAST(SUM(x) AS DECIMAL(12, 2)), COALESCE(SUM(x), 0) or SAFE_DIVIDE(a, b); any
    other expression as it stands.

    How many digits of a figure are shown is no part of what is asked, nor what is shown where there is none. A column
    is not taken out: rounded values group and repeat in another way.
    """
    body = inner = node.unnest()
    while True:
        if _shows_digits(inner):
            inner = inner.this.unnest()
        elif (known := _where_known(inner)) is not None:
            inner = known.unnest()
        else:
            return inner if is_figure(inner) else body


def _where_known(node: exp.Expr) -> exp.Expr | None:
    """What is shown where it is known, or where it can be divided, of COALESCE, and of what ZEROIFNULL, DIV0 and
    SAFE_DIVIDE are translated to; None for anything else.
    """
    if isinstance(node, exp.Coalesce):
        return node.this if [one.name for one in node.expressions] == ["0"] else None
    branch, otherwise = _branch(node), _otherwise(node)
    if branch is None or otherwise is None:
        return None
    test, value = branch.this.unnest(), branch.args["true"].unnest()
    zero = isinstance(value, exp.Literal) and value.name == "0"
    missing = isinstance(test, exp.Is) and isinstance(test.expression, exp.Null)
    if zero and missing and test.this == otherwise:
        return otherwise
    quotient = otherwise if zero else value
    divisor = quotient.expression.unnest() if isinstance(quotient, exp.Div) else None
    if zero:
        nothing = any(isinstance(part, exp.EQ) and _is_zero_test(part, divisor) for part in parts_of(test))
        return quotient if nothing else None
    return quotient if isinstance(test, exp.NEQ) and _is_zero_test(test, divisor) and _is_none(otherwise) else None


def _is_zero_test(test: exp.Binary, divisor: exp.Expr | None) -> bool:
    return test.left.unnest() == divisor and isinstance(test.right, exp.Literal) and test.right.name == "0"


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
    if function == "sum" and isinstance(inner.unnest(), exp.Predicate):
        return Conditional("count", None, inner.unnest())  # MySQL's SUM(status = 'open')
    if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
        branch = _branch(inner.expressions[0])
        value = branch.args["true"] if branch is not None and _is_none(_otherwise(inner.expressions[0])) else None
        return Conditional(function, value, branch.this, True) if branch is not None and value is not None else None
    return _over_branch(function, inner)


def average_truth(node: exp.Expr) -> exp.Expr | None:
    """The condition of which `node` is the percentage, or the part of 1, in AVG(CASE WHEN condition THEN 1 ELSE 0 END);
    None for any other expression.
    """
    over, under = _factors(node)
    return _truth(over[0].this) if len(over) == 1 and not under and isinstance(over[0], exp.Avg) else None


def quotient(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """The two figures of which `node` is the quotient, or its hundredfold; None for any other expression."""
    over, under = (list(map(_real, side)) for side in _factors(node))
    return (over[0], under[0]) if len(over) == len(under) == 1 and all(map(is_figure, (*over, *under))) else None


def is_hundredfold(node: exp.Expr) -> bool:
    """Whether a quotient is multiplied by 100."""
    return any(isinstance(one, exp.Literal) and one.name in ("100", "100.0") for one in _outside_conditions(node))


def divides(node: exp.Expr, dialect: Dialect) -> bool:
    """Whether a quotient of whole numbers has a fraction, which SQLite gives only where a side is written as real."""
    quotients = (one for one in _outside_conditions(node) if isinstance(one, exp.Div))
    return dialect != "sqlite" or all(any(map(_is_real, _outside_conditions(one))) for one in quotients)


def _outside_conditions(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a figure but for those of conditions in it."""
    tests = (exp.Predicate, exp.Connector, exp.Not)
    return (one for one in node.walk(prune=lambda part: isinstance(part, tests)) if not isinstance(one, tests))


def _is_real(node: exp.Expr) -> bool:
    """Whether a number is written as real: 1.0, CAST(x AS REAL)."""
    if isinstance(node, exp.Cast):
        return node.to.is_type(*exp.DataType.REAL_TYPES)
    return isinstance(node, exp.Literal) and not node.is_string and "." in node.name


def _factors(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """What a product and quotient multiplies, and what it divides by, but for 1 and 100."""
    body = unrounded(node)
    if isinstance(body, exp.Mul):
        (over, under), (more, less) = _factors(body.left), _factors(body.right)
        return over + more, under + less
    if isinstance(body, exp.Div):
        (over, under), (more, less) = _factors(body.left), _factors(body.right)
        return over + less, under + more
    if isinstance(body, exp.Nullif) and isinstance(body.expression, exp.Literal) and body.expression.name == "0":
        return _factors(body.this)  # a group has a row
    if isinstance(body, exp.Literal) and not body.is_string and float(body.name) in (1, 100):
        return [], []
    return [body], []


def _truth(node: exp.Expr) -> exp.Expr | None:
    """The condition of CASE WHEN condition THEN 1 ELSE 0 END, or of 100; None for any other expression."""
    branch, otherwise = _branch(node), _otherwise(node)
    if branch is None or not isinstance(otherwise, exp.Literal) or otherwise.name not in ("0", "0.0"):
        return None
    value = branch.args["true"].unnest()
    return branch.this if isinstance(value, exp.Literal) and value.name in ("1", "1.0", "100", "100.0") else None


def _real(node: exp.Expr) -> exp.Expr:
    return node.this.unnest() if isinstance(node, exp.Cast) and _is_real(node) else node


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
