"""Keys that only rows that meet a condition have: one row of an employee is the current one."""

from __future__ import annotations

from collections.abc import Mapping

from agro_data.databases.schema.checks import meets
from agro_data.databases.types import Cell
from agro_data.populate.schema import TableSpec

Claim = tuple[str, tuple[str, ...], str, tuple[Cell, ...]]
"""A table, the columns and the condition of a key, and the values that stand in these columns."""


def claimed_keys(spec: TableSpec, row: Mapping[str, Cell]) -> list[Claim]:
    """What no other row of the table may have where it meets the same condition; a key with NULL is not compared."""
    claims: list[Claim] = []
    for columns, condition in spec.partial_keys:
        value = tuple(row.get(column) for column in columns)
        if None not in value and meets(condition, row):
            claims.append((spec.name, columns, condition, value))
    return claims
