"""What is left of a schema when a person hides tables and columns, and which keys go with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace

from agro_data.databases.quoting import folded
from agro_data.databases.schema.checks import columns_of
from agro_data.databases.schema.table_info import TableInfo
from agro_data.profiling.hidden.credentials import unread
from agro_data.profiling.hidden.views import Views
from agro_data.profiling.profile import TableProfile
from agro_data.profiling.side_files.knowledge import Semantics
from agro_data.sql.names.resolution import Place


def hidden_places(listed: Sequence[TableInfo], semantics: Semantics, views: Views) -> tuple[set[Place], set[Place]]:
    """The columns that a person hides, those of hidden tables included, and those of views that show a hidden column.

    Views of a hidden table stay: hiding the tables below is how views alone are asked about.
    """
    stated = {(t.name, c.name): semantics.column(t.name, c.name).hidden for t in listed for c in t.columns}
    tables = {table.name for table in listed if semantics.table(table.name).hidden}
    columns = {place for place, said in stated.items() if said}
    in_views = views.showing(columns, {place for place, said in stated.items() if said is False})
    return columns | {place for place in stated if place[0] in tables}, in_views


def visible_part(table: TableInfo, hidden: Collection[Place]) -> TableInfo | None:
    """`table` without its hidden columns and the keys that need them; None when nothing is left to see."""
    columns = tuple(column for column in table.columns if (table.name, column.name) not in hidden)
    if not columns:
        return None
    names = {column.name for column in columns}
    return replace(
        table,
        columns=columns,
        definition="" if _names_any(table.definition, hidden) else table.definition,
        primary_key=table.primary_key if names.issuperset(table.primary_key) else (),
        unique_keys=tuple(key for key in table.unique_keys if names.issuperset(key)),
        foreign_keys=tuple(key for key in table.foreign_keys if names.issuperset(key.columns)),
        checks=tuple(check for check in table.checks if names.issuperset(columns_of(check))),
        partial_keys=tuple(k for k in table.partial_keys if names.issuperset({*k.columns, *columns_of(k.condition)})),
    )


def _names_any(definition: str, hidden: Collection[Place]) -> bool:
    """Whether the statement of a view may name a hidden column, and say a value of it."""
    text = folded(definition)
    return any(folded(table) in text and folded(column) in text for table, column in hidden)


def said_of_views(gone: Collection[Place]) -> Iterator[str]:
    """That columns of views are hidden, too."""
    for view in dict.fromkeys(view for view, _ in sorted(gone)):
        names = ", ".join(name for table, name in sorted(gone) if table == view)
        yield f"view {view!r} shows what is hidden: {names} hidden, too, unless semantics.yml has `hidden: false` there"


def guarded(tables: Sequence[TableProfile], semantics: Semantics, views: Views) -> list[TableProfile]:
    """The tables, where columns of views that show passwords and the like are unread, whatever they are called."""
    places = [(table.name, column) for table in tables for column in table.columns]
    secret = {(table, column.name) for table, column in places if column.hidden}
    meant = {(table, column.name) for table, column in places if semantics.column(table, column.name).hidden is False}
    again = views.showing(secret, meant)
    return [_unread(table, {name for view, name in again if view == table.name}) for table in tables]


def _unread(table: TableProfile, names: Set[str]) -> TableProfile:
    if not names:
        return table
    kept = [column.name not in names for column in table.columns]
    return replace(
        table,
        columns=tuple(c if keep else unread(c) for c, keep in zip(table.columns, kept, strict=True)),
        label_columns=tuple(name for name in table.label_columns if name not in names),
        sample_rows=tuple(
            tuple(cell if keep else None for cell, keep in zip(row, kept, strict=True)) for row in table.sample_rows
        ),
    )


def lost_keys(listed: Sequence[TableInfo], visible: Sequence[TableInfo]) -> Iterator[str]:
    """Declared keys that go with a hidden column, though the tables stay: nobody who hides a client's number, which
    stands in every key, means to hide the keys.
    """
    seen = {table.name: {column.name for column in table.columns} for table in visible}
    for table in listed:
        for key in table.foreign_keys if table.name in seen else ():
            own = [f"{table.name}.{name}" for name in key.columns if name not in seen[table.name]]
            parents = seen.get(key.ref_table, {*key.ref_columns})
            other = [f"{key.ref_table}.{name}" for name in key.ref_columns if name not in parents]
            if hidden := own[: len(key.columns) > 1] or other[:1]:
                yield (
                    f"hiding {hidden[0]} takes away the key by which {table.name} refers to {key.ref_table}, so no "
                    "question joins them by it; state what is left of it under `joins` in semantics.yml"
                )
