"""What a frame is, and what decides it: whether rows of an answer may lack a value, or have an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agro_data.intent.sampling.atlas import has_order
from agro_data.intent.tree import (
    Column,
    IsNull,
    Query,
    Shape,
    TiePolicy,
    conjuncts,
)
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile


@dataclass(frozen=True)
class Frame:
    """The shape that a tree has, and what it says of ties."""

    shape: Shape
    tie_policy: TiePolicy = "none"


def ranks(key: Column, query: Query, profile: DatabaseProfile) -> bool:
    """Whether the first rows by `key` are those with the largest or smallest value."""
    return has_order(profile_of(key, query, profile)) and not may_lack(key, query, profile)


def may_lack(column: Column, query: Query, profile: DatabaseProfile) -> bool:
    """Whether a row of the answer may hold NULL there, which SQLite puts before the smallest value."""
    known = table_of(column, query, profile).never_null(column.name)
    tested = (part for part in conjuncts(query.where) if part != IsNull(column))
    return not known and all(column not in (getattr(p, "left", None), getattr(p, "argument", None)) for p in tested)


def profile_of(column: Column, query: Query, profile: DatabaseProfile) -> ColumnProfile:
    """The profile of a column of a source of `query`."""
    return table_of(column, query, profile).column(column.name)


def table_of(column: Column, query: Query, profile: DatabaseProfile) -> TableProfile:
    """The profile of the table that a column of a source of `query` is of."""
    return profile.table(query.table_of(column.source))


def tells(alias: str, columns: Sequence[Column], query: Query, profile: DatabaseProfile) -> bool:
    """Whether some of the columns tell the rows of a source apart."""
    table = profile.table(query.table_of(alias))
    own = {column.name for column in columns if column.source == alias}
    key = bool(table.primary_key) and set(table.primary_key) <= own
    return key or any(table.column(name).unique for name in own)
