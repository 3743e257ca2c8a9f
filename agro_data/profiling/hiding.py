"""What is left of a schema when a person hides tables and columns, and which keys go with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agro_data.databases.checks import columns_of
from agro_data.databases.table_info import TableInfo
from agro_data.profiling.knowledge import Semantics


def visible_part(table: TableInfo, semantics: Semantics) -> TableInfo | None:
    """`table` without its hidden columns and the keys that need them; None when nothing is left to see."""
    known = semantics.table(table.name)
    columns = tuple(column for column in table.columns if not semantics.column(table.name, column.name).hidden)
    if known.hidden or not columns:
        return None
    names = {column.name for column in columns}
    return replace(
        table,
        columns=columns,
        primary_key=table.primary_key if names.issuperset(table.primary_key) else (),
        unique_keys=tuple(key for key in table.unique_keys if names.issuperset(key)),
        foreign_keys=tuple(key for key in table.foreign_keys if names.issuperset(key.columns)),
        checks=tuple(check for check in table.checks if names.issuperset(columns_of(check))),
        partial_keys=tuple(k for k in table.partial_keys if names.issuperset({*k.columns, *columns_of(k.condition)})),
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
