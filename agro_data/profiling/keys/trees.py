"""Whether a table's references to itself make a tree: who is whose manager, what is part of what."""

from __future__ import annotations

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted, quoted_list
from agro_data.databases.schema.table_info import Connection
from agro_data.databases.types import Cell
from agro_data.profiling.profile import ForeignKey
from agro_data.profiling.reading import TableRead

Value = tuple[Cell, ...]


def is_tree(connection: Connection, key: ForeignKey, read: TableRead) -> bool:
    """Whether `key` refers to its own table and leads from no row back to it; False where not all rows were read."""
    if key.table != key.ref_table or read.sampled or read.info.is_view:
        return False
    names = quoted_list((*key.ref_columns, *key.columns))
    try:
        rows = connection.execute(f"SELECT {names} FROM {quoted(key.table)}")
    except DatabaseError:
        return False
    size = len(key.columns)
    return not has_circle({row[:size]: row[size:] for row in rows if None not in row})


def has_circle(above: dict[Value, Value]) -> bool:
    """Whether something stands above itself; `above` names what stands above each, if anything does."""
    done: set[Value] = set()
    for start in above:
        path: set[Value] = set()
        place: Value | None = start
        while place is not None and place not in done:
            if place in path:
                return True
            path.add(place)
            place = above.get(place)
        done |= path
    return False
