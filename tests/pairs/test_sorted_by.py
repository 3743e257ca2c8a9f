"""What happened first or last is the first of a date, not of another column."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE shipment (id INTEGER PRIMARY KEY, priority INTEGER, shipped_at TIMESTAMP, year INTEGER, weight REAL);
INSERT INTO shipment VALUES (1, 2, '2022-01-05 10:00:00', 2022, 7.5), (2, 1, '2022-01-31 12:00:00', 2022, 1.5),
  (3, 3, NULL, 2022, 2.5), (4, 4, '2021-12-15 09:00:00', 2021, 3.5);
"""
BY_DATE = "SELECT id FROM shipment ORDER BY shipment.shipped_at {}LIMIT 1"
# Question and SQL, and what the SQL is by the date
TOLD = [
    ("Which shipment was shipped first?", "SELECT id FROM shipment ORDER BY priority LIMIT 1",
     BY_DATE.format("NULLS LAST ")),
    ("Which shipment was shipped last?", "SELECT id FROM shipment ORDER BY weight DESC LIMIT 1",
     BY_DATE.format("DESC ")),
    ("What is the latest shipment?", "SELECT id FROM shipment ORDER BY id DESC LIMIT 1", BY_DATE.format("DESC ")),
]  # fmt: skip
SOUND = [
    ("Which shipment was shipped first?", "SELECT id FROM shipment ORDER BY shipped_at NULLS LAST LIMIT 1"),
    ("Which shipment was shipped first?", "SELECT id FROM shipment ORDER BY year LIMIT 1"),
    ("Which shipment has the first priority?", "SELECT id FROM shipment ORDER BY priority LIMIT 1"),
    ("Which shipment was weighed first?", "SELECT id FROM shipment ORDER BY priority LIMIT 1"),  # when?
    ("Which of the latest shipments weighs the most?", "SELECT id FROM shipment ORDER BY weight DESC LIMIT 1"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    asked = [*((question, sql) for question, sql, _ in TOLD), *SOUND]
    return checked(verify_pairs, tmp_path_factory.mktemp("yard"), request.param, SCHEMA, asked)


def test_what_came_first_is_sorted_by_its_date(verified: Verified) -> None:
    told = [[one for one in each.findings if one.kind == "sorted_by_no_date"] for each in verified.checked]
    assert [bool(some) for some in told] == [True] * len(TOLD) + [False] * len(SOUND)
    for (_, _, by_date), (one,) in zip(TOLD, told, strict=False):
        assert one.witness.partition(": ")[0].replace("NULLS LAST ", "") == by_date.replace("NULLS LAST ", "")
