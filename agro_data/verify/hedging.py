"""A choice among answers is not an answer.

`intent` lets a prediction show columns that nobody asked for. Without a bound, one SELECT with every aggregate in it
would be right for any question of that kind; plain columns beside the answer are only more of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.scope import written_columns

FURTHER_COMPUTED = 1  # such as the count that an order goes by
FURTHER_WRITTEN = 40  # a table that is listed column by column

Outputs = list[tuple[str, bool]]  # lower-case name, whether it is computed


def hedges(gold: exp.Query, predicted: exp.Query, dialect: Dialect) -> str:
    """Why a prediction is a choice among answers to the gold's question, or ""."""
    asked, given = _computed(gold, dialect), _computed(predicted, dialect)
    if given > asked + FURTHER_COMPUTED:
        return f"{given} computed columns side by side where {asked} answer: a choice, not an answer"
    if len(predicted.selects) > len(gold.selects) + FURTHER_WRITTEN:
        return f"{len(predicted.selects)} columns where {len(gold.selects)} answer: a choice, not an answer"
    return ""


def _computed(query: exp.Query, dialect: Dialect) -> int:
    return sum(computed for _, computed in _outputs(query, {}, dialect))


def _outputs(query: exp.Expr, known: Mapping[str, Outputs], dialect: Dialect) -> Outputs:
    """The outputs of a query as far as they are written out: the columns of a table behind a star are not."""
    clause = query.args.get("with_")
    for cte in clause.expressions if clause else ():
        known = {**known, cte.alias.lower(): _renamed(cte, _outputs(cte.this, known, dialect))}
    if isinstance(query, exp.Subquery):
        return _outputs(query.this, known, dialect)
    if isinstance(query, exp.SetOperation):
        first, second = _outputs(query.this, known, dialect), _outputs(query.expression, known, dialect)
        sides = zip_longest(first, second, fillvalue=("", False))
        return [(left, mine or theirs) for (left, mine), (_, theirs) in sides]
    sources = _sources(query, known, dialect)
    found: Outputs = []
    for item in query.selects if isinstance(query, exp.Select) else ():
        value = item.unalias()
        table = value.table.lower() if isinstance(value, exp.Column) else ""
        behind = [outputs for alias, outputs in sources.items() if table in ("", alias)]
        if value.is_star:
            found += [output for outputs in behind for output in outputs]
        elif isinstance(value, exp.Column):
            name = value.name.lower()
            found.append((item.alias_or_name.lower(), any((name, True) in outputs for outputs in behind)))
        else:
            found.append((item.alias_or_name.lower(), True))
    return found


def _sources(select: exp.Expr, known: Mapping[str, Outputs], dialect: Dialect) -> dict[str, Outputs]:
    """Outputs of the derived tables, written rows and common table expressions that a SELECT reads, by alias."""
    start = select.args.get("from_")
    items = [start.this] if start else []
    items += [join.this for join in select.args.get("joins") or ()]
    sources: dict[str, Outputs] = {}
    for item in items:
        if isinstance(item, exp.Subquery):
            sources[item.alias.lower()] = _renamed(item, _outputs(item, known, dialect))
        elif isinstance(item, (exp.Values, exp.Unnest)):
            sources[item.alias.lower()] = [(name, True) for name in written_columns(item, dialect)]
        elif isinstance(item, exp.Table) and item.name.lower() in known:
            sources[item.alias_or_name.lower()] = known[item.name.lower()]
    return sources


def _renamed(item: exp.Expr, outputs: Outputs) -> Outputs:
    alias = item.args.get("alias")
    names = [column.name.lower() for column in alias.args.get("columns") or ()] if alias else []
    names += [name for name, _ in outputs[len(names) :]]
    return [(name, computed) for name, (_, computed) in zip(names, outputs, strict=False)]
