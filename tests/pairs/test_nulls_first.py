"""NULL as an extreme: found where LIMIT keeps rows of which nothing is known, and mended by leaving these out."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.audit import Audit, audit_pairs

SCHEMA = """
CREATE TABLE depot (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL, room INT, opened TEXT NOT NULL);
INSERT INTO depot VALUES (1, 'North', 'Ghent', 400, '2001-05-01'), (2, 'River', 'Ghent', 250, '2003-02-01'),
  (3, 'Hill', 'Porto', NULL, '2004-01-01'), (4, 'East', 'Graz', 310, '2002-07-01'),
  (5, 'West', 'Graz', 500, '2006-08-01');
CREATE TABLE parcel (id INTEGER PRIMARY KEY, depot INTEGER NOT NULL REFERENCES depot(id), sent INT NOT NULL, came INT);
INSERT INTO parcel VALUES (1, 1, 10, 14), (2, 2, 11, 12), (3, 2, 12, NULL), (4, 4, 13, 19);
"""
FAULTY = [
    ("Which depot has the smallest room?", "SELECT name FROM depot ORDER BY room LIMIT 1",
     "SELECT name FROM depot WHERE room IS NOT NULL ORDER BY room LIMIT 1"),
    ("Which town has the smallest room on average?",
     "SELECT town FROM depot GROUP BY town ORDER BY AVG(room) ASC LIMIT 1",
     "SELECT town FROM depot GROUP BY town HAVING AVG(room) IS NOT NULL ORDER BY AVG(room) ASC LIMIT 1"),
    ("Which parcel took the shortest time?",
     "SELECT id, came - sent AS days FROM parcel WHERE id > 0 ORDER BY days LIMIT 1",
     "SELECT id, came - sent AS days FROM parcel WHERE id > 0 AND (came - sent) IS NOT NULL ORDER BY days LIMIT 1"),
    ("How many parcels has the depot with the smallest room?",
     "SELECT COUNT(*) FROM parcel WHERE depot = (SELECT id FROM depot ORDER BY room LIMIT 1)",
     "SELECT COUNT(*) FROM parcel WHERE depot = (SELECT id FROM depot WHERE room IS NOT NULL ORDER BY room LIMIT 1)"),
    ("Which depot has the lowest room?", "SELECT name FROM depot ORDER BY room DESC LIMIT 1",  # once it is turned
     "SELECT name FROM depot WHERE room IS NOT NULL ORDER BY room LIMIT 1"),
]  # fmt: skip
SOUND = [
    ("Which depot has the largest room?", "SELECT name FROM depot ORDER BY room DESC LIMIT 1"),
    ("Which depot has the smallest room?", "SELECT name FROM depot ORDER BY room NULLS LAST LIMIT 1"),
    (
        "List the first depot by room, unknown ones before all.",
        "SELECT name FROM depot ORDER BY room NULLS First LIMIT 1",
    ),
    ("Which depot has the smallest known room?", "SELECT name FROM depot WHERE room > 0 ORDER BY room LIMIT 1"),
    ("Which depot was opened first?", "SELECT name FROM depot ORDER BY opened LIMIT 1"),
    ("What are the depots by room?", "SELECT name FROM depot ORDER BY room, name"),
    ("Which depot has the largest room of all?", "SELECT name FROM depot ORDER BY room LIMIT 1"),  # turned: no more
]


def _audit(folder: str, tmp_path_factory: pytest.TempPathFactory, engine: str) -> Audit:
    asked = [*((question, sql) for question, sql, _ in FAULTY), *SOUND]
    return checked(audit_pairs, tmp_path_factory.mktemp(folder), engine, SCHEMA, asked)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return _audit("sqlite", tmp_path_factory, "sqlite")


@pytest.mark.parametrize("number", range(len(FAULTY)), ids=[sql for _, sql, _ in FAULTY])
def test_null_as_an_extreme_is_found_and_mended(audit: Audit, number: int) -> None:
    mended = audit.mended[number]
    assert mended.repairs[-1].finding.kind == "null_first"
    assert mended.sql == FAULTY[number][2]
    assert "null_first" not in {one.kind for one in mended.checked.findings}


@pytest.mark.parametrize("number", range(len(SOUND)), ids=[sql for _, sql in SOUND])
def test_where_a_value_comes_first_nothing_is_said(audit: Audit, number: int) -> None:
    assert "null_first" not in {one.kind for one in audit.verified.checked[len(FAULTY) + number].findings}


def test_an_engine_that_sorts_null_last_takes_a_value(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = _audit("duckdb", tmp_path_factory, "duckdb").verified.checked
    assert not [one for pair in found for one in pair.findings if one.kind == "null_first"]
