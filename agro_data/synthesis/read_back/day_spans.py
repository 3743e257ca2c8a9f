"""How many days lie between two dates, as each engine spells it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from agro_data.sql.forms.bare_dates import bare_date


@dataclass(frozen=True)
class Span:
    """The days from one date to another. `whole`: between their calendar days, whatever the time of day. `bare`: a mere
    difference, which counts days where the engine knows dates.
    """

    start: exp.Expr
    end: exp.Expr
    whole: bool
    bare: bool = False


def span_of(node: exp.Expr) -> Span | None:
    """The span that `node` counts in days; None for any other expression, and for other units."""
    body = node.unnest()
    if isinstance(body, exp.Cast) and body.is_type(*exp.DataType.NUMERIC_TYPES):
        return span_of(body.this)
    if isinstance(body, exp.DateDiff):
        unit = body.args.get("unit")
        days = unit is None or unit.name.upper() == "DAY"
        return Span(bare_date(body.expression)[0], bare_date(body.this)[0], True) if days else None
    if not isinstance(body, exp.Sub):
        return None
    sides = [_number(side.unnest()) for side in (body.right, body.left)]
    if not all(julian for _, julian in sides) and any(julian for _, julian in sides):
        return None
    (start, start_whole), (end, end_whole) = (bare_date(side) for side, _ in sides)
    return Span(start, end, start_whole and end_whole, not any(julian for _, julian in sides))


def _number(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The date of which SQLite gives the number of its day, and whether it does."""
    julian = isinstance(node, exp.Anonymous) and node.name.upper() in ("JULIANDAY", "JULIAN")
    return (node.expressions[0], True) if julian and len(node.expressions) == 1 else (node, False)
