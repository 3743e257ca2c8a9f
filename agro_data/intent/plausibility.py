"""How likely a person asks this: a product of simple, stated penalties, in [0, 1]."""

from __future__ import annotations

from agro_data.intent.tree import (
    And,
    Between,
    Column,
    Comparison,
    Exists,
    InList,
    InQuery,
    Like,
    Or,
    Query,
    SetOperation,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile

_SHOWN = {"identifier": 0.6, "other": 0.4, "free_text": 0.85}
_TESTED = {"identifier": 0.55, "other": 0.3, "free_text": 0.7}


def plausibility(query: Query | SetOperation, profile: DatabaseProfile) -> float:
    """Product of these factors, rounded to 4 digits.

    Columns shown or tested: identifiers, free text and untyped columns are asked for less. Conditions: each beyond
    the second 0.75. Joins: each beyond the second 0.85. Depth: each query inside another beyond the first 0.9.
    Columns shown: each beyond the third 0.8. Numbers with many digits 0.9 each. A table nobody named rows of 0.9.
    """
    queries = [n for n in walk(query) if isinstance(n, Query)]
    tables = {s.alias: s.table for q in queries for s in q.sources}
    score = 1.0
    for body in queries:
        for output in body.select:
            column = _profile(output.expression, tables, profile)
            if column is not None:
                score *= _SHOWN.get(column.role, 1.0)
        score *= 0.85 ** max(0, len(body.joins) - 2) * 0.8 ** max(0, len(body.select) - 3)
    tests = [n for n in walk(query) if isinstance(n, Comparison | Between | Like | InList)]
    for test in tests:
        column = _profile(test.left if isinstance(test, Comparison) else test.argument, tables, profile)
        if column is not None:
            score *= _TESTED.get(column.role, 1.0)
    score *= 0.75 ** max(0, _conditions(query) - 2)
    score *= 0.9 ** max(0, len(queries) - 2)
    subject = profile.by_name.get(queries[0].subject.table)
    if subject is not None and not subject.label_columns:
        score *= 0.9
    return round(score, 4)


def _profile(node: object, tables: dict[str, str], profile: DatabaseProfile) -> ColumnProfile | None:
    if not isinstance(node, Column) or tables[node.source] not in profile.by_name:
        return None
    return profile.table(tables[node.source]).column(node.name)


def _conditions(query: Query | SetOperation) -> int:
    return sum(1 for n in walk(query) if isinstance(n, Comparison | Between | Like | InList | InQuery | Exists)) - sum(
        1 for n in walk(query) if isinstance(n, Or) for _ in n.parts[1:] if not isinstance(n, And)
    )
