"""Columns that are private of people in what is published: a salary or an address has no form by which it is found.

They are told by name (`profiling.hidden.private`) and named, with what to do; whether they are meant only a person can
say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from agro_data.databases.types import Database
from agro_data.profiling.cache import decode
from agro_data.profiling.hidden.private import private_columns
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.side_files.sources import stated_hiding
from agro_data.publish.read import Version


@dataclass(frozen=True)
class PrivateColumn:
    """`column` is `table.column`; `examples` read it, and `instances` of its database are published."""

    db_id: str
    column: str
    holds: str
    examples: int
    instances: int

    @property
    def says(self) -> str:
        """What it holds, where that stands, and what to do."""
        places = [f"{self.examples:,} examples ask for it"] if self.examples else []
        places += [f"{self.instances:,} instances hold it"] if self.instances else []
        return (
            f"{self.db_id}: {self.column} holds {self.holds}, and {' and '.join(places)}: hide it (`hidden: true` in "
            "semantics.yml) and build again, or say there that it is meant (`hidden: false`)"
        )


def published_private(
    version: Version, examples: pl.DataFrame, instances: Mapping[str, int], databases: Sequence[Database]
) -> list[PrivateColumn]:
    """The private columns that `examples` read, or of which `instances` (how many, by `db_id`) are published.

    Left out are those that a person means to be asked for, as the files beside `databases` say now. A version that was
    made without values of its databases has none.
    """
    if version.private:
        return []
    sources = {database.db_id: database for database in databases}
    asked = Counter(examples.select("db_id", pl.col("columns").list.unique()).explode("columns").iter_rows())
    profiles = version.profiles()
    found: list[PrivateColumn] = []
    for db_id in version.db_ids:
        profile = _profile(profiles.get(db_id, ""), sources.get(db_id))
        if profile is None:
            continue
        said = stated_hiding(sources[db_id]) if db_id in sources else {}
        for (table, name), holds in private_columns(profile).items():
            rows, copies = asked[db_id, f"{table}.{name}"], instances.get(db_id, 0)
            if (rows or copies) and said.get((table, name), True):
                found.append(PrivateColumn(db_id, f"{table}.{name}", holds, rows, copies))
    return found


def _profile(text: str, database: Database | None) -> DatabaseProfile | None:
    """What a version remembers of a database; where another release wrote that, or none did, what the database is."""
    try:
        return decode(text)
    except ValueError:
        return profile_database(database) if database is not None else None
