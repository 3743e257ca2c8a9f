"""Parts of dates as each engine spells them: a year, a month of a year, a month of any year, a weekday."""

from __future__ import annotations

from sqlglot import exp

from agro_data.intent.tree import DateField
from agro_data.sql.forms.bare_dates import bare_date
from agro_data.synthesis.literals import date_part

_FORMATS: dict[str, DateField] = {
    "%Y": "year", "%m": "month", "%b": "month", "%B": "month", "%Y-%m": "year_month",
    "%w": "weekday", "%u": "weekday", "%a": "weekday", "%A": "weekday",
}  # fmt: skip
_TRUNCATED: dict[str, DateField] = {"YEAR": "year", "MONTH": "year_month"}
_WEEKDAYS = ("DOW", "DAYOFWEEK", "ISODOW", "WEEKDAY")


def calendar_part(node: exp.Expr) -> tuple[exp.Expr, DateField] | None:
    """The date from which `node` takes a part, and the part; None for any other expression.

    What is grouped by it counts, and not how it is shown: DATE_TRUNC('month', d) gives the first day of the month,
    EXTRACT(DOW FROM d) a number for the weekday.
    """
    body = node.unnest()
    if isinstance(body, exp.Cast) and (inner := calendar_part(body.this)) is not None:
        return inner  # DATE_TRUNC('month', d)::date, CAST(strftime('%Y', d) AS INTEGER)
    found = _part(body)
    return (bare_date(found[0])[0], found[1]) if found is not None else None


def _part(node: exp.Expr) -> tuple[exp.Expr, DateField] | None:
    found = date_part(node)
    if found is not None:
        return (found[0], _FORMATS[found[1]]) if found[1] in _FORMATS else None
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc | exp.DatetimeTrunc):
        part = _TRUNCATED.get(node.args["unit"].name.upper())
        return (node.this, part) if part is not None else None
    if isinstance(node, exp.Dayname | exp.DayOfWeek | exp.DayOfWeekIso):
        return node.this, "weekday"
    if isinstance(node, exp.Monthname):
        return node.this, "month"
    if isinstance(node, exp.Extract) and node.name.upper() in _WEEKDAYS:
        return node.expression, "weekday"
    return None
