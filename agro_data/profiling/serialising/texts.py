"""All texts that the columns of a database hold, for a question that says one of them.

A profile keeps the fifty most common values of a column. For customers, airports and songs these are few, and a
question is mostly about another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.linking import Name

ROWS = 200_000  # of a table, the first, in which texts are looked for
MOST = 20_000  # texts of a column
LONGEST = 60  # characters of a text: nobody says a longer one as it stands

Texts = Mapping[Name, tuple[str, ...]]


def read_texts(database: Database, profile: DatabaseProfile) -> Texts:
    """The texts of each column that has more than the profile's common ones: the first `MOST` in the engine's order,
    from the first `ROWS` rows. Views are left out: they repeat what their tables hold.

    A column that cannot be read has none. Raises `DatabaseError` when the database cannot be opened.
    """
    wanted = [*_larger(profile)]
    found: dict[Name, tuple[str, ...]] = {}
    if not wanted:
        return found
    with open_database(database) as connection:
        for table, column in wanted:
            name = quoted(column)
            some = f"SELECT {name} FROM {quoted(table)} LIMIT {ROWS}"
            sql = f"SELECT DISTINCT {name} FROM ({some}) WHERE length({name}) <= {LONGEST} ORDER BY 1"
            with suppress(DatabaseError):
                rows = connection.execute(sql, (), MOST)
                found[table, column] = tuple(text for (text,) in rows if isinstance(text, str))
    return found


def _larger(profile: DatabaseProfile) -> Iterator[Name]:
    for table in profile.tables:
        for column in () if table.is_view else table.columns:
            if column.distinct > len(column.common) and any(isinstance(value, str) for value, _ in column.common):
                yield table.name, column.name
