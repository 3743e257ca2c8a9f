"""Whether a condition holds for a sample row: enough to see that a condition cuts something off."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.databases.types import Cell
from agro_data.intent.sampling.atlas import Row
from agro_data.intent.tree import Between, Column, Comparison, DatePart, Expression, InList, IsNull, Like, Or, Predicate

FEW_ROWS = 8  # below this a sample says nothing


def holds(test: Predicate, row: Row) -> bool | None:
    """Truth of a condition on columns of one row; None where it cannot be told (SQL's NULL counts as false)."""
    match test:
        case Comparison():
            return _compared(test.operator, _cell(test.left, row), getattr(test.right, "value", None))
        case Between():
            low = _compared(">=", _cell(test.argument, row), test.low.value)
            return low and _compared("<=", _cell(test.argument, row), test.high.value)
        case InList():
            return (_cell(test.argument, row) in [v.value for v in test.values]) != test.negated
        case IsNull():
            return (_cell(test.argument, row) is None) != test.negated
        case Like():
            text, part = str(_cell(test.argument, row) or "").lower(), str(test.text.value).lower()
            found = {"contains": part in text, "starts": text.startswith(part), "ends": text.endswith(part)}
            return found[test.kind] != test.negated
        case Or():
            parts = [holds(p, row) for p in test.parts]
            return None if None in parts else any(parts)
    return None


def _cell(node: Expression, row: Row) -> Cell:
    if isinstance(node, Column):
        return row[node.name]
    if isinstance(node, DatePart) and node.part == "year" and isinstance(node.argument, Column):
        text = str(row[node.argument.name])[:4]
        return int(text) if text.isdigit() else None
    return None


def _compared(operator: str, left: Cell, right: object) -> bool | None:
    if left is None:
        return False
    if isinstance(left, str) != isinstance(right, str) or isinstance(left, bytes) or right is None:
        return None
    if operator in ("=", "!="):
        return (left == right) == (operator == "=")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]  # type: ignore[operator]


def cuts(tests: Sequence[Predicate], rows: Sequence[Row]) -> bool:
    """Whether, as far as the sample tells, each of `tests` cuts off a row that the others let through."""
    if len(rows) < FEW_ROWS:
        return True
    truths = [[holds(test, row) for row in rows] for test in tests]
    if any(None in truth for truth in truths):
        return True
    for at in range(len(tests)):
        others = [truth for i, truth in enumerate(truths) if i != at]
        if not any(not truths[at][k] and all(truth[k] for truth in others) for k in range(len(rows))):
            return False
    return True
