"""Which column of which table an operand is."""

from __future__ import annotations

from sqlglot import exp

from agro_data.profiling.profile import ColumnProfile, DatabaseProfile
from agro_data.sql.names.resolution import Place, Resolution


def column_of(node: exp.Expr, found: Resolution) -> exp.Expr | None:
    """The column that an operand is, also by the name of an output."""
    inner = node.unnest()
    if not isinstance(inner, exp.Column):
        return None
    binding = found.binding(inner)
    if binding is not None and binding.kind == "alias" and isinstance(binding.expression, exp.Column):
        return binding.expression
    return inner


def profile_at(place: Place, profile: DatabaseProfile) -> ColumnProfile:
    """What is known of the column at a place."""
    return profile.table(place[0]).column(place[1])
