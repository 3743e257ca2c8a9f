"""Tables whose rows are versions of a thing, as slowly changing dimensions keep them (type 2): who counts their rows
counts no customers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.schema.table_info import Connection
from agro_data.profiling.names.words import split_identifier, word_set
from agro_data.profiling.profile import ColumnProfile, TableProfile, Versions

_BOUND = r"(?:dbt_)?(?:valid|eff(?:ective)?|row|record|scd)_?(?:%s)(?:_?(?:date|dt|ts|at))?"  # when rows hold
_BEGINS, _ENDS = (re.compile(_BOUND % words) for words in ("from|start|begin", "to|until|thru|end"))
_CURRENT = re.compile(r"(?:is_?)?(?:current|latest)(?:_?(?:flag|ind|indicator|row|record|version))?")
# When what nothing has followed ends, where that is not NULL.
_NEVER = re.compile(r"(?:9999|2999|3000)-?\d\d-?\d\d.*")
_CODES = word_set("code id number no nr key")
_YES = ("1", "y", "yes", "t", "true", "current")
_CHANGED = 5  # things of several versions, from which on it is seen what no version changes


def keeps_versions(columns: Sequence[ColumnProfile], noun: str) -> bool:
    """Whether rows, each called `noun`, hold from a day or until one, one is the current one, and others have its
    identifier, too.

    Which is current is said by a column. Else it is that which has no end, if the identifier is called as the row is:
    the prices of a product are no versions of it.
    """
    names = [column.name.lower() for column in columns]
    shared = [c for c in columns if _is_shared(c)]
    if any(map(_CURRENT.fullmatch, names)) or "dbt_valid_from" in names:
        return bool(shared) and any(_BEGINS.fullmatch(name) or _ENDS.fullmatch(name) for name in names)
    return any(map(_BEGINS.fullmatch, names)) and any(map(_is_open, columns)) and any(_is_of(c, noun) for c in shared)


def _is_of(column: ColumnProfile, noun: str) -> bool:
    """Whether an identifier is called as the row is, or as nothing: a code."""
    of = set(split_identifier(column.name)) - _CODES
    return not of or bool(of & set(noun.lower().split()))


def _is_shared(column: ColumnProfile) -> bool:
    """Whether it tells things apart that may have several rows: a code that groups rows, too."""
    code = column.role == "category" and not _CODES.isdisjoint(split_identifier(column.name)[-1:])
    return (column.role == "identifier" or code) and column.has_values and not column.unique


def _is_open(column: ColumnProfile) -> bool:
    """Whether it says when rows end, and some have no end."""
    return bool(_ENDS.fullmatch(column.name.lower())) and (column.null_share > 0 or _never(column) is not None)


def _never(column: ColumnProfile) -> int | str | None:
    last = column.maximum
    return last if isinstance(last, int | str) and _NEVER.fullmatch(str(last)) else None


def with_versions(
    connection: Connection, table: TableProfile, thing: tuple[str, str], references: Collection[str]
) -> TableProfile:
    """`table` with what its rows are versions of, if it keeps some and all of its rows prove it.

    `thing` is what one and many of these are called, `references` are the columns by which rows belong to others. Its
    instances then have at most one current row of each thing, too.
    """
    if table.named or table.is_view or not keeps_versions(table.columns, thing[0]):
        return table
    shared = [c for c in table.columns if _is_shared(c) and not c.hidden and c.name not in references]
    shared.sort(key=lambda column: column.role != "identifier")
    try:
        key, (column, current) = next(
            (key.name, current)
            for key in shared
            for current in _currents(table.columns)
            if _is_one_each(connection, table.name, key.name, *current)
        )
        steady = _steady(connection, table, key)
    except (DatabaseError, StopIteration):
        return table
    validity = tuple(c.name for c in table.columns if _tells_when(c.name))
    versions = Versions(*thing, key, column, current, steady, validity)
    one_each = ((key,), _condition(versions))
    return replace(table, versions=versions, partial_keys=tuple(dict.fromkeys((*table.partial_keys, one_each))))


def _tells_when(name: str) -> bool:
    return any(pattern.fullmatch(name.lower()) for pattern in (_BEGINS, _ENDS, _CURRENT))


def _currents(columns: Sequence[ColumnProfile]) -> Iterator[tuple[str, int | str | None]]:
    """Columns that may say which row is the current one, with the value (None for NULL) that says so; what has no end
    where there is none that is called so.
    """
    called = [column for column in columns if _CURRENT.fullmatch(column.name.lower())]
    for column in called:
        said = [value for value, _ in column.common if isinstance(value, int | str)]
        yield from ((column.name, value) for value in said if str(value).strip().lower() in _YES)
    open_ended = [] if called else [column for column in columns if _is_open(column)]
    yield from ((column.name, None if column.null_share else _never(column)) for column in open_ended)


def _is_one_each(connection: Connection, table: str, key: str, column: str, value: int | str | None) -> bool:
    """Whether some rows are current, and no two of these have the same `key`, nor none."""
    test, values = (f"{quoted(column)} IS NULL", []) if value is None else (f"{quoted(column)} = ?", [value])
    counts = f"COUNT(*), COUNT(DISTINCT {quoted(key)})"
    [(rows, things)] = connection.execute(f"SELECT {counts} FROM {quoted(table)} WHERE {test}", values)
    return bool(rows) and rows == things


def _steady(connection: Connection, table: TableProfile, key: str) -> tuple[str, ...]:
    """The columns that each row has, and all versions of a thing alike."""
    whole = [c.name for c in table.columns if c.name != key and c.has_values and table.never_null(c.name)]
    if not whole:
        return ()
    counted = ", ".join(f"COUNT(DISTINCT {quoted(name)}) AS n{place}" for place, name in enumerate(whole))
    most = ", ".join(f"MAX(n{place})" for place in range(len(whole)))
    things = f"SELECT {counted} FROM {quoted(table.name)} GROUP BY {quoted(key)} HAVING COUNT(*) > 1"
    [(changed, *kinds)] = connection.execute(f"SELECT COUNT(*), {most} FROM ({things}) AS things")
    steady = isinstance(changed, int) and changed >= _CHANGED
    return tuple(name for name, kind in zip(whole, kinds, strict=True) if kind == 1) if steady else ()


def _condition(versions: Versions) -> str:
    """That a row is current, as `databases.schema.checks` writes conditions."""
    column = exp.column(versions.column, quoted=True)
    if versions.current is None:
        return exp.Is(this=column, expression=exp.Null()).sql()
    value = int(versions.current) if isinstance(versions.current, bool) else versions.current
    return exp.EQ(this=column, expression=exp.convert(value)).sql()
