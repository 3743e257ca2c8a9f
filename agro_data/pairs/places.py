"""Which column of which table an operand is."""

from __future__ import annotations

from sqlglot import exp

from agro_data.sql.resolution import Binding, Resolution

Place = tuple[str, str]  # table and column, as the schema spells them


def column_of(node: exp.Expr, found: Resolution) -> exp.Expr | None:
    """The column that an operand is, also by the name of an output."""
    inner = node.unnest()
    if not isinstance(inner, exp.Column):
        return None
    binding = found.binding(inner)
    if binding is not None and binding.kind == "alias" and isinstance(binding.expression, exp.Column):
        return binding.expression
    return inner


def place_of(binding: Binding | None) -> Place | None:
    """Where a column stands; None of one that a query makes."""
    if binding is None or binding.kind != "column" or binding.source is None or not binding.source.table:
        return None
    return binding.source.table, binding.source.columns[binding.name]
