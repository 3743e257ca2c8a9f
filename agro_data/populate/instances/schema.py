"""What every instance of a database obeys, and so what a proof that two queries are equivalent may use."""

from __future__ import annotations

from dataclasses import replace

from agro_data.populate.schema import Schema
from agro_data.populate.surrogate import surrogate_schema
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile


def instance_schema(profile: DatabaseProfile) -> Schema:
    """The schema of all instances: primary and declared unique keys, foreign keys (declared, and inferred ones that are
    plausible, even where the source's own rows break them), and NULL only where the source has one.

    A foreign key that no order of filling can keep (a cycle of keys) is left out. Raises `PopulateError` when the
    profile has no table.
    """
    tables = tuple(
        replace(table, columns=tuple(replace(c, nullable=_may_be_null(table, c)) for c in table.columns))
        for table in profile.tables
    )
    return surrogate_schema(replace(profile, tables=tables))


def _may_be_null(table: TableProfile, column: ColumnProfile) -> bool:
    return column.nullable and not table.never_null(column.name)
