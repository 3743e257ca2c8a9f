"""Rows of which nothing is known are not what a question says that others are not: `<>` leaves them out."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE driver (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE shipment (id INTEGER PRIMARY KEY, driver_id INTEGER REFERENCES driver (id), town TEXT NOT NULL, note TEXT);
INSERT INTO driver VALUES (1, 'Ann'), (2, 'Bo'), (3, 'Cy');
INSERT INTO shipment VALUES (1, 1, 'Oslo', 'late'), (2, 3, 'Rome', NULL), (3, NULL, 'Rome', 'new'), (4, 2, 'Bern', 'x');
"""
# Question and SQL, and what the SQL is with the rows of NULL
TOLD = [
    ("Which shipments were not carried by driver 3?", "SELECT id FROM shipment WHERE driver_id <> 3",
     "SELECT id FROM shipment WHERE (driver_id <> 3 OR driver_id IS NULL)"),
    ("How many shipments to Rome or Oslo did driver 1 or 3 not carry?",
     "SELECT COUNT(*) FROM shipment WHERE town <> 'Bern' AND driver_id NOT IN (1, 3)",
     "SELECT COUNT(*) FROM shipment WHERE town <> 'Bern' AND (NOT driver_id IN (1, 3) OR driver_id IS NULL)"),
    ("Which shipments aren't late?", "SELECT id FROM shipment WHERE note NOT LIKE 'late%'",
     "SELECT id FROM shipment WHERE (note NOT LIKE 'late%' OR note IS NULL)"),
]  # fmt: skip
SOUND = [
    ("Which shipments were not carried by driver 3?",
     "SELECT id FROM shipment WHERE driver_id <> 3 OR driver_id IS NULL"),
    ("Which shipments were not carried by driver 3?",
     "SELECT id FROM shipment WHERE driver_id <> 3 AND driver_id IS NOT NULL"),
    ("Which shipments were carried by another driver than 3?", "SELECT id FROM shipment WHERE driver_id <> 3"),
    ("Which shipments do not go to Rome?", "SELECT id FROM shipment WHERE town <> 'Rome'"),
    ("Which drivers that have a shipment are not Cy?",
     "SELECT d.name FROM driver AS d JOIN shipment AS s ON s.driver_id = d.id WHERE s.driver_id <> 3"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    asked = [*((question, sql) for question, sql, _ in TOLD), *SOUND]
    return checked(verify_pairs, tmp_path_factory.mktemp("fleet"), request.param, SCHEMA, asked)


def test_rows_of_null_are_told_where_the_question_negates(verified: Verified) -> None:
    told = [[one for one in each.findings if one.kind == "null_left_out"] for each in verified.checked]
    witnesses = [[one.witness.partition(": ")[0] for one in some] for some in told]
    assert witnesses == [[sql] for _, _, sql in TOLD] + [[]] * len(SOUND)
    assert told[0][0].says == "Rows of which driver_id is NULL fail driver_id <> 3: with them the answer is another."
