"""Columns by which a query in place of a value names one row: of `(SELECT id FROM artist WHERE name = 'Ann')` people
expect one artist, and two would leave the answer open. So instances for such a query hold no name twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from agro_data.populate.schema import Schema
from agro_data.sql.conditions import parts_of_where
from agro_data.sql.constructs import is_one_row
from agro_data.sql.names.resolution import Resolution, Scope, value_of


def with_names_once(schema: Schema, found: Resolution) -> Schema:
    """The schema with a unique key over the columns by which a query in place of a value names its row."""
    named: dict[str, list[tuple[str, ...]]] = {}
    for table, columns in _named_by(found):
        if not any(set(key) <= set(columns) for key in schema.by_name[table].keys):
            named.setdefault(table, []).append(columns)
    if not named:
        return schema
    tables = (
        replace(table, unique_keys=(*table.unique_keys, *dict.fromkeys(named.get(table.name, ()))))
        for table in schema.tables
    )
    return replace(schema, tables=tuple(tables))


def _named_by(found: Resolution) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Tables and the columns that such queries compare with constants, where they ask nothing else."""
    for scope in found.scopes:
        if not _gives_a_value(scope.select) or len(scope.sources) != 1 or not scope.sources[0].table:
            continue
        columns = [_equated(condition, scope, found) for condition in parts_of_where(scope.select)]
        if columns and all(columns):
            yield scope.sources[0].table, tuple(sorted({*filter(None, columns)}))


def _gives_a_value(select: exp.Select) -> bool:
    """Whether a SELECT stands for a value, and nothing in it keeps it to one row."""
    outside = select.parent.parent if isinstance(select.parent, exp.Subquery) else None
    cut = any(select.args.get(clause) for clause in ("limit", "group", "distinct", "having"))
    return isinstance(outside, (exp.Binary, exp.Between)) and not cut and not is_one_row(select)


def _equated(condition: exp.Expr, scope: Scope, found: Resolution) -> str | None:
    """The column that a condition equates with a constant."""
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
    others = [side for side in sides if value_of(side, found) is None]
    binding = found.binding(others[0]) if len(others) == 1 else None
    own = binding is not None and binding.source is scope.sources[0]
    return scope.sources[0].columns[binding.name] if binding is not None and own else None
