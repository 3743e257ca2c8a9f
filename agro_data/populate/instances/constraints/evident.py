"""What every row of a database shows of a column, though no constraint says it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.profile import ColumnProfile

_BITS: frozenset[Cell] = frozenset((0, 1))
_LIMITS = {"month": 12, "quarter": 4, "day": 31, "weekday": 7, "hour": 23}


def evident_checks(columns: Iterable[tuple[ColumnSpec, ColumnProfile]]) -> tuple[str, ...]:
    """Conditions, as `databases.schema.checks` gives them: a flag (`Y` or `N`, 0 or 1) has one of its two values, and a
    month is one of twelve.

    Without them `SUM(active)` and `active <> 0` would be wrong where `active = 1` is right, and `make_date` would fail.
    A BOOLEAN of DuckDB holds no others in any case.
    """
    return tuple(filter(None, (_evident(*column) for column in columns)))


def state_check(seen: ColumnProfile) -> str:
    """The condition that a column has one of its two values, where they are known."""
    values = _pair(seen)
    return _one_of(seen.name, values) if values else ""


def _evident(column: ColumnSpec, seen: ColumnProfile) -> str:
    if seen.role == "boolean" and not (column.typed and column.kind == "boolean"):
        values = _both(seen)
        return _one_of(column.name, values) if values else ""
    ends = _ends(seen)
    if ends is None:
        return ""
    low, high = (exp.Literal.number(str(end)) for end in ends)
    return exp.Between(this=_named(column.name), low=low, high=high).sql(identify=True)


def _ends(seen: ColumnProfile) -> tuple[int, int] | None:
    """The least and the largest number of a column of months or hours."""
    limit = _LIMITS.get(seen.phrase.rpartition(" ")[2].lower())
    least, most = seen.minimum, seen.maximum
    if limit is None or seen.role != "category" or not isinstance(least, int) or not isinstance(most, int):
        return None
    return (min(least, 1), limit) if 0 <= least <= most <= limit else None


def _both(flag: ColumnProfile) -> tuple[Cell, ...]:
    """The two values of a flag; of one that was met with one of them only, if they are 0 and 1."""
    values = {value for value, _ in flag.common}
    return (0, 1) if values and values <= _BITS else _pair(flag)


def _pair(seen: ColumnProfile) -> tuple[Cell, ...]:
    """The values of a column that has two."""
    return tuple(sorted((value for value, _ in seen.common), key=str)) if len(seen.common) == seen.distinct == 2 else ()


def _one_of(column: str, values: tuple[Cell, ...]) -> str:
    constants = [exp.Literal.string(v) if isinstance(v, str) else exp.Literal.number(str(v)) for v in values]
    return exp.In(this=_named(column), expressions=constants).sql(identify=True)


def _named(column: str) -> exp.Column:
    return exp.column(exp.to_identifier(column, quoted=True))
