"""What stands around a column, or a text, to say that it is a date."""

from __future__ import annotations

from sqlglot import exp

_ROUND_DATES = (exp.Date, exp.TsOrDsToDate, exp.TsOrDsToTimestamp)


def bare_date(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The column in DATE(column), or in a CAST to a kind of date, and whether it is cut to its day."""
    body, whole = node.unnest(), False
    while isinstance(body, _ROUND_DATES) or (isinstance(body, exp.Cast) and body.is_type(*exp.DataType.TEMPORAL_TYPES)):
        whole = whole or isinstance(body, exp.Date | exp.TsOrDsToDate) or body.is_type(exp.DataType.Type.DATE)
        body = body.this.unnest()
    return body, whole
