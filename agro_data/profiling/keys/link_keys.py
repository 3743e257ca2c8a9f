"""The key of what only links two tables, where files declare none: of "pokemon types" no two have both alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.schema.table_info import Connection
from agro_data.profiling.names.naming import Names
from agro_data.profiling.profile import ForeignKey
from agro_data.profiling.reading import TableRead

_ROWS = 20  # fewer may hold no pair twice by chance


def link_key(
    connection: Connection, read: TableRead, keys: Sequence[ForeignKey], names: Mapping[str, Names]
) -> tuple[str, ...]:
    """The two columns that refer to others, of the table's own `keys`, if it declares no key, is called by what it
    links, and no row of it repeats another's pair, or lacks a half; else ().
    """
    table = read.info
    own = [key for key in keys if key.ref_table != table.name and len(key.columns) == 1]
    if table.primary_key or table.unique_keys or table.is_view or len(own) != 2 or read.total < _ROWS:
        return ()
    ends = [names[key.ref_table].words for key in own]
    if names[table.name].words not in (ends[0] + ends[1], ends[1] + ends[0]):
        return ()
    pair = tuple(key.columns[0] for key in own)
    columns = ", ".join(map(quoted, pair))
    whole = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in pair)
    pairs = f"SELECT DISTINCT {columns} FROM {quoted(table.name)} WHERE {whole}"
    try:
        [(kinds,)] = connection.execute(f"SELECT COUNT(*) FROM ({pairs}) AS pairs")
    except DatabaseError:
        return ()
    return pair if kinds == read.total else ()
