"""An average over rows of which nothing is known; and quotients that are none, or of what each row has."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.verify import Verified, verify_pairs

SCHEMA = """
CREATE TABLE parcel (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, weight REAL, price REAL);
INSERT INTO parcel VALUES (1, 1, 2.5, 4), (2, 1, NULL, 6), (3, 2, 4.0, 3), (4, 2, NULL, 8);
"""
ASKED = "What is the average weight of parcels?"
# question, SQL, and the SQL with another answer
FOUND = [
    (ASKED, "SELECT SUM(weight) / COUNT(*) FROM parcel", "SELECT SUM(weight) / COUNT(weight) FROM parcel"),
    ("What is the mean weight for each owner?",
     "SELECT owner, SUM(weight) * 1.0 / COUNT(*) FROM parcel GROUP BY owner",
     "SELECT owner, SUM(weight) * 1.0 / COUNT(weight) FROM parcel GROUP BY owner"),
]  # fmt: skip
SOUND = [
    (ASKED, "SELECT AVG(weight) FROM parcel"),
    (ASKED, "SELECT SUM(weight) / COUNT(weight) FROM parcel"),
    (ASKED, "SELECT SUM(weight) / COUNT(*) FROM parcel WHERE weight IS NOT NULL"),
    ("What is the average price of parcels?", "SELECT SUM(price) / COUNT(*) FROM parcel"),
    ("How much weight is known for each parcel?", "SELECT SUM(weight) / COUNT(*) FROM parcel"),
    ("What average share of parcels is heavy?",
     "SELECT SUM(CASE WHEN weight > 3 THEN 1.0 END) / COUNT(*) FROM parcel"),
    ("What is the average weight of all, if unknown is 0?", "SELECT SUM(COALESCE(weight, 0)) / COUNT(*) FROM parcel"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Verified:
    asked = [*((question, sql) for question, sql, _ in FOUND), *SOUND]
    return checked(verify_pairs, tmp_path_factory.mktemp("post"), request.param, SCHEMA, asked)


@pytest.mark.parametrize("number", range(len(FOUND)), ids=[sql for _, sql, _ in FOUND])
def test_rows_without_a_value_are_told(verified: Verified, number: int) -> None:
    told = [one for one in verified.checked[number].findings if one.kind == "null_averaged"]
    assert [one.witness.partition(": ")[0] for one in told] == [FOUND[number][2]]
    assert not verified.checked[number].grave  # what is not known may count as 0


@pytest.mark.parametrize("number", range(len(SOUND)), ids=[f"{question} {sql}" for question, sql in SOUND])
def test_averages_of_what_is_known_are_not(verified: Verified, number: int) -> None:
    assert "null_averaged" not in {one.kind for one in verified.checked[len(FOUND) + number].findings}
