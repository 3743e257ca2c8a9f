"""The differences between two schemas and their contents, in sentences: for a whole database, and for one query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agro_data.databases.quoting import folded
from agro_data.migration.evidence import Place, Side
from agro_data.migration.matching import Matching
from agro_data.profiling.columns.statistics import declared_kind
from agro_data.profiling.profile import ColumnProfile, TableProfile


@dataclass(frozen=True)
class Change:
    """One difference. `kind` is a class, `says` a sentence; `table` and `column` are names of the old schema, or ""."""

    kind: str
    says: str
    table: str = ""
    column: str = ""


def schema_changes(before: Side, after: Side, matching: Matching) -> list[Change]:
    """Every difference of two databases, in the order of the old schema; what was added comes last."""
    found: list[Change] = []
    for table in before.profile.tables:
        found += _of_table(table, after, matching)
        for column in table.columns:
            found += _of_column(table, column, after, matching)
    return [*found, *_keys(before, after, matching), *_added(after, matching)]


def concerning(changes: Iterable[Change], tables: Iterable[str], columns: Iterable[Place]) -> list[Change]:
    """The changes that a query meets which uses these tables and columns of the old schema."""
    named, places = set(tables), set(columns)
    return [c for c in changes if c.table in named and (not c.column or (c.table, c.column) in places)]


def _of_table(table: TableProfile, after: Side, matching: Matching) -> Iterator[Change]:
    match = matching.tables[table.name]
    if match.new is None:
        yield Change("table_dropped", match.why, table.name)
        return
    new = after.profile.table(match.new)
    if match.why:
        merged = any(other.new == match.new for name, other in matching.tables.items() if name != table.name)
        yield Change("table_merged" if merged else "table_renamed", match.why, table.name)
    if match.pieces:
        pieces = ", ".join(match.pieces)
        yield Change("table_split", f"columns of {table.name} stand in {pieces} now, row by row", table.name)
    if new.is_view and not table.is_view:
        yield Change("view_now", f"{new.name} is a view now", table.name)
    if table.is_view and not new.is_view:
        yield Change("table_now", f"{new.name} is a table now", table.name)
    if new.rows != table.rows:
        yield Change("rows_changed", f"{new.name} has {new.rows:,} rows, it had {table.rows:,}", table.name)
    was, now = _primary(table), _primary(new)
    renamed = [place[1] for c in table.primary_key if (place := matching.columns[table.name, c].new) is not None]
    if [folded(c) for c in renamed] != [folded(c) for c in new.primary_key] or len(renamed) != len(table.primary_key):
        yield Change("key_changed", f"the primary key of {new.name} is {now}, it was {was}", table.name)


def _primary(table: TableProfile) -> str:
    return ", ".join(table.primary_key) or "not declared"


def _of_column(table: TableProfile, column: ColumnProfile, after: Side, matching: Matching) -> Iterator[Change]:
    match = matching.columns[table.name, column.name]
    where = f"{table.name}.{column.name}"
    if match.new is None:
        yield Change("column_dropped", match.why, table.name, column.name)
        return
    home, name = match.new
    new = after.profile.table(home).column(name)
    main = matching.tables[table.name].new
    if home != main:
        yield Change("column_moved", f"{where} is {home}.{name} now: {match.why}", table.name, column.name)
    elif folded(name) != folded(column.name):
        yield Change("column_renamed", f"{where} is called {name} now: {match.why}", table.name, column.name)
    if new.kind != column.kind or declared_kind(new.declared_type) != declared_kind(column.declared_type):
        was, now = _said_type(column), _said_type(new)
        yield Change("type_changed", f"{home}.{name} is {now}, it was {was}", table.name, column.name)
    if column.nullable and not new.nullable:
        yield Change("not_null_added", f"{home}.{name} may not be NULL any more", table.name, column.name)
    if not column.nullable and new.nullable:
        yield Change("not_null_dropped", f"{home}.{name} may be NULL now", table.name, column.name)
    if match.replaced:
        yield Change("values_recoded", f"{home}.{name} has other values: {match.why}", table.name, column.name)
    elif match.likeness is not None and not match.same:
        yield Change("values_changed", f"values of {home}.{name} changed: {match.why}", table.name, column.name)


def _said_type(column: ColumnProfile) -> str:
    declared = column.declared_type.upper().strip() or "untyped"
    return f"{declared} holding {column.kind}" if column.distinct else declared


def _keys(before: Side, after: Side, matching: Matching) -> Iterator[Change]:
    """Declared foreign keys that are gone or new, each under the table that refers."""
    new = {_ends(k.table, k.columns, k.ref_table, k.ref_columns): k for k in after.profile.foreign_keys if k.declared}
    kept: set[tuple[object, ...]] = set()
    for key in before.profile.foreign_keys:
        child = [matching.columns[key.table, c].new for c in key.columns]
        parent = [matching.columns[key.ref_table, c].new for c in key.ref_columns]
        if not key.declared or None in child or None in parent:
            continue
        places = [place for place in (*child, *parent) if place is not None]
        half = len(child)
        ends = _ends(places[0][0], [c for _, c in places[:half]], places[half][0], [c for _, c in places[half:]])
        if ends in new:
            kept.add(ends)
        else:
            says = f"{key.table}({', '.join(key.columns)}) does not refer to {key.ref_table} any more"
            yield Change("foreign_key_dropped", says, key.table)
    for key in (key for ends, key in new.items() if ends not in kept):
        yield Change("foreign_key_added", f"{key.table}({', '.join(key.columns)}) refers to {key.ref_table} now")


def _ends(table: str, columns: Iterable[str], ref_table: str, ref_columns: Iterable[str]) -> tuple[object, ...]:
    return folded(table), tuple(map(folded, columns)), folded(ref_table), tuple(map(folded, ref_columns))


def _added(after: Side, matching: Matching) -> Iterator[Change]:
    tables = {match.new for match in matching.tables.values()}
    tables |= {piece for match in matching.tables.values() for piece in match.pieces}
    places = {match.new for match in matching.columns.values()}
    links = {(piece, link[1]) for match in matching.tables.values() for piece, link in match.pieces.items()}
    for table in after.profile.tables:
        if table.name not in tables:
            yield Change("table_added", f"table {table.name} is new")
            continue
        for column in table.columns:
            if (table.name, column.name) not in places | links:
                yield Change("column_added", f"{table.name}.{column.name} is new")
