"""Places among rows, by ROW_NUMBER or RANK: of which rows a bound on one keeps the first."""

from __future__ import annotations

from sqlglot import exp

from agro_data.intent.tree import WindowFunction
from agro_data.sql.comparisons import TURNED

_FUNCTIONS: dict[type[exp.Expr], WindowFunction] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.Sum: "sum", exp.Lag: "lag",
}  # fmt: skip
_RUNNING = {"start": "UNBOUNDED", "start_side": "PRECEDING", "end": "CURRENT ROW"}


def window_of(node: exp.Window) -> tuple[WindowFunction, exp.Expr | None, exp.Expr, bool] | None:
    """Function, argument, and the one key of a window with its direction; None for any other window."""
    function, order, spec = _FUNCTIONS.get(type(node.this)), node.args.get("order"), node.args.get("spec")
    if function is None or order is None or len(order.expressions) != 1 or node.args.get("alias"):
        return None
    if spec is not None and {key: spec.args.get(key) for key in _RUNNING} != _RUNNING:
        return None
    plain = {name for name, value in node.this.args.items() if value} <= {"this"}
    key = order.expressions[0]
    return (function, node.this.args.get("this"), key.this, bool(key.args.get("desc"))) if plain else None


def first_places(condition: exp.Expr) -> tuple[exp.Window, int] | None:
    """The window by which rows are numbered, and how many of them are kept; None for any other condition."""
    test = condition.unnest()
    if type(test) not in (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE):
        return None
    kind, left, right = type(test), test.this.unnest(), test.expression.unnest()
    if isinstance(right, exp.Window):
        kind, left, right = TURNED[kind], right, left
    numbered = isinstance(left, exp.Window) and isinstance(left.this, exp.RowNumber | exp.Rank)
    if not numbered or not (isinstance(right, exp.Literal) and right.is_int):
        return None
    most = int(right.name) - (kind is exp.LT)
    asked = kind in (exp.LT, exp.LTE) or (kind is exp.EQ and most == 1)
    return (left, most) if asked and most > 0 and not left.args.get("spec") else None
