"""What every row of a database shows of a column, though no constraint says it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.profile import ColumnProfile

_BITS: frozenset[Cell] = frozenset((0, 1))


def evident_checks(columns: Iterable[tuple[ColumnSpec, ColumnProfile]]) -> tuple[str, ...]:
    """Conditions, as `databases.checks` gives them, that a flag (`Y` or `N`, 0 or 1) has one of its two values.

    Without them `SUM(active)` and `active <> 0` would be wrong where `active = 1` is right. A BOOLEAN of DuckDB holds
    no others in any case.
    """
    return tuple(
        _one_of(column.name, values)
        for column, seen in columns
        if seen.role == "boolean" and not (column.typed and column.kind == "boolean") and (values := _both(seen))
    )


def _both(flag: ColumnProfile) -> tuple[Cell, ...]:
    """The two values of a flag; of one that was met with one of them only, if they are 0 and 1."""
    values = [value for value, _ in flag.common if value is not None]
    if values and set(values) <= _BITS:
        return 0, 1
    return tuple(sorted(values, key=str)) if len(values) == flag.distinct == 2 else ()


def _one_of(column: str, values: tuple[Cell, ...]) -> str:
    constants = [exp.Literal.string(v) if isinstance(v, str) else exp.Literal.number(str(v)) for v in values]
    return exp.In(this=exp.column(exp.to_identifier(column, quoted=True)), expressions=constants).sql(identify=True)
