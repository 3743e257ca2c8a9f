"""Rows of a warehouse's dimension that stand for no thing: what a sale without a customer refers to is no customer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.schema.table_info import Connection
from agro_data.databases.types import Cell
from agro_data.profiling.profile import ForeignKey, TableProfile, Unknown

_MOST, _LEAST = 5, 3  # such rows at most, and things beside them at least
_NOTHING = re.compile(
    r"(?:unknown|missing|unspecified|undefined|unassigned|invalid|none|null|n/?a|no|"
    r"not (?:applicable|available|specified|known|assigned|set|provided))(?: \w+)?|[-?.\s]*",
    re.IGNORECASE,
)


def stands_for_nothing(value: Cell) -> bool:
    """Whether a text says that something is not known or does not apply: "Unknown", "N/A", "No promotion", "-"."""
    return isinstance(value, str) and _NOTHING.fullmatch(value.strip("()[]<># ")) is not None


def with_unknown_members(connection: Connection, table: TableProfile, keys: Iterable[ForeignKey]) -> TableProfile:
    """`table` with its rows that stand for none, if `keys`, those of the database, refer to it.

    Such a row has a number up to 0 where all things have positive ones, and what it is called by stands for nothing;
    where rows have no name, one of its texts does.
    """
    referred = {key.ref_columns for key in keys if key.ref_table == table.name != key.table}
    found = next((columns[0] for columns in sorted(referred) if len(columns) == 1), "")
    column = table.by_name.get(found)
    if column is None or table.is_view or column.hidden or column.kind != "integer" or not column.unique:
        return table
    told = table.label_columns or tuple(c.name for c in table.columns if c.kind == "text" and not c.hidden)
    names = ", ".join(quoted(name) for name in (found, *told))
    test = f"{quoted(found)} <= 0 ORDER BY {quoted(found)}"
    try:
        rows = connection.execute(f"SELECT {names} FROM {quoted(table.name)} WHERE {test}", limit=_MOST + 1)
    except DatabaseError:
        return table
    every = all if table.label_columns else any
    nobody = all(every(stands_for_nothing(text) for text in texts) for _, *texts in rows)
    if not told or not 0 < len(rows) <= _MOST or table.rows < len(rows) + _LEAST or not nobody:
        return table
    return replace(table, unknown=Unknown(found, tuple(key for key, *_ in rows if isinstance(key, int))))
