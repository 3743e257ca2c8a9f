"""Spider's exact set match: two parses agree component by component, values and DISTINCT disregarded.

As the official script (`evaluation.py`) compares: SELECT, WHERE and GROUP BY as multisets, HAVING and ORDER BY as they
stand, columns that a foreign key makes one as the same, and the tables of FROM. Inside a subquery of a condition, and
in FROM, nothing is made equal: it must be written alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from agro_data.evaluation.exact_match.grammar import (
    Columns,
    ColumnUnit,
    Condition,
    Conditions,
    Query,
    ValueUnit,
    parse,
)
from agro_data.evaluation.exact_match.tokens import NotRead

Same = Mapping[str, str]  # "table.column" -> the column that stands for it and those its foreign keys tie to it


def exact_match(gold: str, predicted: str, columns: Columns, same: Same) -> tuple[bool, str]:
    """Whether the statements agree, and if not the first component that differs, in words.

    Raises `NotRead` when the gold is outside the official grammar; a prediction outside it counts as empty.
    """
    right = parse(gold, columns)
    try:
        mine = parse(predicted, columns)
    except NotRead as error:
        return False, f"not read by the official parser: {error}"
    different = _different(_levelled(mine, same), _levelled(right, same))
    return not different, different


def same_columns(foreign_keys: list[tuple[str, str]], order: Mapping[str, int]) -> dict[str, str]:
    """What `exact_match` takes as `same`: pairs "table.column" in the order they are declared, and each column's rank.

    As in the script, a pair joins the first group that holds one of its columns; groups are not merged.
    """
    groups: list[set[str]] = []
    for pair in foreign_keys:
        group = next((group for group in groups if group & set(pair)), None)
        if group is None:
            group = set()
            groups.append(group)
        group.update(pair)
    found: dict[str, str] = {}
    for group in groups:
        members = sorted(group, key=lambda column: order[column])
        found |= dict.fromkeys(members, members[0])
    return found


# --- what does not count -----------------------------------------------------------------------------------------


def _levelled(query: Query, same: Same) -> Query:
    tables = {table for table in query.tables if isinstance(table, str)}
    return _columns_made_one(_without_values(query), {c: s for c, s in same.items() if c.split(".")[0] in tables})


def _without_values(query: Query) -> Query:
    """Only subqueries stay as values of conditions. Derived tables are left as they are."""
    return replace(
        query,
        joins=_conditions_without_values(query.joins),
        where=_conditions_without_values(query.where),
        having=_conditions_without_values(query.having),
        combined=query.combined and (query.combined[0], _without_values(query.combined[1])),
    )


def _conditions_without_values(conditions: Conditions) -> Conditions:
    return tuple(
        replace(one, first=_value(one.first), second=_value(one.second)) if isinstance(one, Condition) else one
        for one in conditions
    )


def _value(value: Query | ColumnUnit | str | float | None) -> Query | None:
    return _without_values(value) if isinstance(value, Query) else None


def _columns_made_one(query: Query, same: Same) -> Query:
    def column(unit: ColumnUnit) -> ColumnUnit:
        return ColumnUnit(unit.aggregate, same.get(unit.column, unit.column), False)

    def value(unit: ValueUnit) -> ValueUnit:
        return ValueUnit(unit.operator, column(unit.left), unit.right and column(unit.right))

    def conditions(found: Conditions) -> Conditions:
        return tuple(replace(one, unit=value(one.unit)) if isinstance(one, Condition) else one for one in found)

    return replace(
        query,
        distinct=False,
        joins=conditions(query.joins),
        select=tuple((aggregate, value(unit)) for aggregate, unit in query.select),
        where=conditions(query.where),
        group=tuple(map(column, query.group)),
        having=conditions(query.having),
        order=query.order and (query.order[0], tuple(map(value, query.order[1]))),
        combined=query.combined and (query.combined[0], _columns_made_one(query.combined[1], same)),
    )


# --- components --------------------------------------------------------------------------------------------------


def _different(mine: Query, right: Query) -> str:
    """The first component that differs, or ""."""
    if Counter(mine.select) != Counter(right.select):
        return "SELECT differs"
    if Counter(mine.where[::2]) != Counter(right.where[::2]):
        return "WHERE differs"
    if Counter(_bare(mine)) != Counter(_bare(right)):
        return "GROUP BY differs"
    keys = [[unit.column for unit in query.group] for query in (mine, right)]
    if keys[0] != keys[1] or (keys[0] and mine.having != right.having):
        return "GROUP BY or HAVING differs"
    if _order(mine) != _order(right):
        return "ORDER BY or LIMIT differs"
    if set(mine.where[1::2]) != set(right.where[1::2]):
        return "AND or OR of WHERE differs"
    if (mine.combined is None) != (right.combined is None):
        return "INTERSECT, UNION or EXCEPT differs"
    if mine.combined is not None and right.combined is not None:
        if mine.combined[0] != right.combined[0]:
            return "INTERSECT, UNION or EXCEPT differs"
        inner = _different(mine.combined[1], right.combined[1])
        if inner:
            return f"after {right.combined[0].upper()}: {inner}"
    if _keywords(mine) != _keywords(right):
        return "keywords differ: " + ", ".join(sorted(_keywords(mine) ^ _keywords(right)))
    if right.tables and Counter(mine.tables) != Counter(right.tables):
        return "tables of FROM differ"
    return ""


def _bare(query: Query) -> list[str]:
    """Grouping columns without their tables."""
    return [unit.column.split(".")[-1] for unit in query.group]


def _order(query: Query) -> object:
    """Without an ORDER BY the script compares no LIMIT here (it is among the keywords)."""
    return (query.order, query.limit) if query.order is not None and query.order[1] else None


def _keywords(query: Query) -> set[str]:
    found = {
        word
        for word, there in (
            ("where", query.where),
            ("group", query.group),
            ("having", query.having),
            ("limit", query.limit),
        )
        if there
    }
    if query.order is not None:
        found |= {"order", query.order[0]}
    if query.combined is not None:
        found.add(query.combined[0])
    clauses = (query.joins, query.where, query.having)
    if any("or" in clause[1::2] for clause in clauses):
        found.add("or")
    for one in (one for clause in clauses for one in clause[::2] if isinstance(one, Condition)):
        if one.negated:
            found.add("not")
        found |= {one.operator} & {"in", "like"}
    return found
