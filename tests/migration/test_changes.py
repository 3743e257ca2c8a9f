"""What distinguishes two databases, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from migration.shop import make_shop

from agro_data.migration.changes import schema_changes
from agro_data.migration.evidence import of_database
from agro_data.migration.matching import match
from agro_data.profiling.profiler import profile_database

KEYED = "CREATE TABLE visit (visit_id INTEGER, customer_id INTEGER REFERENCES customer (customer_id), day TEXT)"
UNKEYED = "CREATE TABLE visit (visit_id INTEGER, customer_id INTEGER, day TEXT)"
FILLED = "INSERT INTO visit SELECT purchase_id, customer_id, day FROM purchase"


@pytest.mark.parametrize(
    ("was", "changes", "kinds"),
    [
        ([], ["ALTER TABLE staff RENAME COLUMN name TO called"], ["column_renamed"]),
        ([], ["ALTER TABLE staff ADD COLUMN phone TEXT"], ["column_added"]),
        ([KEYED, FILLED], ["DROP TABLE visit", UNKEYED, FILLED], ["foreign_key_dropped"]),
        ([UNKEYED, FILLED], ["DROP TABLE visit", KEYED, FILLED], ["foreign_key_added"]),
        ([KEYED, FILLED], ["ALTER TABLE customer RENAME TO client"], ["table_renamed"]),
    ],
)
def test_every_difference_is_said_once(
    tmp_path: Path, was: Sequence[str], changes: Sequence[str], kinds: list[str]
) -> None:
    found = [make_shop(tmp_path / str(n), "sqlite", some) for n, some in enumerate((was, [*was, *changes]))]
    before, after = (of_database(database, profile_database(database)) for database in found)
    assert [change.kind for change in schema_changes(before, after, match(before, after))] == kinds
