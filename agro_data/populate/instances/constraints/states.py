"""Rows that keep what their state says of NULL (`NullRule`): what is pending is not shipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from agro_data.databases.types import Cell
from agro_data.profiling.profile import NullRule

_DRAWS = 12  # for a state of the other kind


def keep_rules(rules: Sequence[NullRule], row: dict[str, Cell], fixed: Set[str], draw: Callable[[str], Cell]) -> bool:
    """Change what is not `fixed` of a row so that it keeps the rules; whether it does. `draw` gives a column a value
    that is not NULL.
    """
    for rule in rules:
        if not rule.kept(row) and rule.column in fixed and rule.state not in fixed:
            others = (draw(rule.state) for _ in range(_DRAWS))
            row[rule.state] = next(
                (value for value in (*rule.values, *others) if rule.kept({**row, rule.state: value})), row[rule.state]
            )
    for rule in rules:
        if not rule.kept(row) and rule.column not in fixed:
            row[rule.column] = draw(rule.column) if row[rule.column] is None else None
    return all(rule.kept(row) for rule in rules)
