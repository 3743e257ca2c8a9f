"""LIKE a whole text of a column's form is =, and is proved to be."""

from __future__ import annotations

import pytest

from agro_data.databases.types import Dialect
from agro_data.populate.schema import ColumnSpec, Schema, TableSpec
from agro_data.verify.proofs import proved_equivalent

SCHEMA = Schema(
    "shop",
    (
        TableSpec(
            "item",
            (
                ColumnSpec("id", "INTEGER", "integer", nullable=False),
                ColumnSpec("code", "TEXT", "text", typed=True, form="P[0-9]{4,4}"),
                ColumnSpec("price", "TEXT", "text", typed=True, form=r"\$[0-9]{1,3}\.[0-9]{2,2}"),
                ColumnSpec("name", "TEXT", "text"),
            ),
            ("id",),
        ),
    ),
    (),
    "",
)


@pytest.mark.parametrize(
    ("condition", "other", "dialect", "same"),
    [
        ("code LIKE '%P0042%'", "code = 'P0042'", "sqlite", True),
        ("code LIKE '%p0042'", "code = 'P0042'", "sqlite", True),
        ("code NOT LIKE 'P0042%'", "code <> 'P0042'", "sqlite", True),
        ("code LIKE '%P0042%'", "code = 'P0042'", "duckdb", True),
        ("code LIKE '%p0042%'", "code = 'P0042'", "duckdb", False),
        ("code ILIKE '%p0042%'", "code = 'P0042'", "duckdb", True),
        ("code LIKE '%042%'", "code = 'P0042'", "sqlite", False),
        ("code LIKE 'P_042'", "code = 'P0042'", "sqlite", False),
        ("price LIKE '%$100.50%'", "price = '$100.50'", "sqlite", True),
        ("price LIKE '%$10.50%'", "price = '$10.50'", "sqlite", False),  # not seen, as the longest text is longer
        ("name LIKE '%P0042%'", "name = 'P0042'", "sqlite", False),
    ],
)
def test_like_a_whole_text(condition: str, other: str, dialect: Dialect, same: bool) -> None:
    one, two = (f"SELECT id FROM item WHERE {where}" for where in (condition, other))
    assert bool(proved_equivalent(one, two, dialect, SCHEMA)) is same
