"""NULL in comparisons and in the lists of NOT IN: found, mended where one way is left, and what follows is not told."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.audit import Audit, audit_pairs

SCHEMA = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER, fired TEXT);
CREATE TABLE ticket (id INTEGER PRIMARY KEY, title TEXT, closed_by INTEGER, owner INTEGER NOT NULL, gone TEXT);
INSERT INTO person VALUES (1, 'Ada', NULL, NULL), (2, 'Bo', 1, '2020-01-01'), (3, 'Cy', 1, NULL);
INSERT INTO ticket VALUES (1, 'Printer', 1, 1, NULL), (2, 'Mouse', NULL, 1, '2021-01-01'), (3, 'Desk', 2, 2, NULL);
"""
COMPARED = [
    ("How many are not gone?", "SELECT COUNT(*) FROM ticket WHERE gone = NULL",
     "SELECT COUNT(*) FROM ticket WHERE gone IS NULL"),
    ("Which are gone?", "SELECT title FROM ticket WHERE gone <> NULL AND owner != NULL",
     "SELECT title FROM ticket WHERE gone IS NOT NULL AND owner IS NOT NULL"),
    ("Which are without an end?", "SELECT title FROM ticket WHERE NULL = gone OR id = 2",
     "SELECT title FROM ticket WHERE gone IS NULL OR id = 2"),
    ("Which person has no boss, not even Bo?", "SELECT name FROM person WHERE boss = NULL AND name = 'Bo'",
     "SELECT name FROM person WHERE boss IS NULL AND name = 'Bo'"),  # none on this data, and right
    ("Is each gone?", "SELECT id, gone = NULL FROM ticket", ""),  # shown as it is
    ("Which are not gone?", "SELECT title FROM ticket WHERE NOT gone = NULL",
     "SELECT title FROM ticket WHERE NOT gone IS NULL"),
    ("Which is after nothing?", "SELECT title FROM ticket WHERE gone > NULL", ""),
    ("Is each gone?", "SELECT CASE gone WHEN NULL THEN 'here' ELSE 'gone' END FROM ticket", ""),
]  # fmt: skip
LISTED = [
    ("Who closed nothing?", "SELECT name FROM person WHERE id NOT IN (SELECT closed_by FROM ticket)",
     "SELECT name FROM person WHERE NOT id IN (SELECT closed_by FROM ticket WHERE closed_by IS NOT NULL)"),
    ("How many closed no desk?",
     "SELECT COUNT(*) FROM person WHERE id NOT IN (SELECT T1.closed_by FROM ticket AS T1 WHERE title <> 'Desk')",
     "SELECT COUNT(*) FROM person WHERE NOT id IN (SELECT T1.closed_by FROM ticket AS T1 WHERE title <> 'Desk' "
     "AND T1.closed_by IS NOT NULL)"),
    ("Who closed nothing at all?", "SELECT name FROM person WHERE NOT (id IN (SELECT closed_by FROM ticket))",
     "SELECT name FROM person WHERE NOT (id IN (SELECT closed_by FROM ticket WHERE closed_by IS NOT NULL))"),
    ("Who is neither 1 nor of no id?", "SELECT name FROM person WHERE id NOT IN (1, NULL)", ""),
    ("Whose boss closed nothing?", "SELECT name FROM person WHERE boss NOT IN (SELECT closed_by FROM ticket)", ""),
    ("Who closed nothing?", "SELECT name FROM person WHERE id NOT IN (SELECT max(closed_by) FROM ticket GROUP BY id)",
     ""),
    ("Who closed nothing of Ada's?",
     "WITH hers AS (SELECT closed_by AS closer FROM ticket WHERE owner = 1) "
     "SELECT name FROM person WHERE id NOT IN (SELECT closer FROM hers)",
     "WITH hers AS (SELECT closed_by AS closer FROM ticket WHERE owner = 1) "
     "SELECT name FROM person WHERE NOT id IN (SELECT closer FROM hers WHERE closer IS NOT NULL)"),
    ("Who closed at no time anything?",
     "WITH one AS (SELECT closed_by FROM ticket), two AS (SELECT closed_by FROM one UNION SELECT owner FROM ticket) "
     "SELECT name FROM person WHERE id NOT IN (SELECT max(closed_by) FROM two GROUP BY closed_by)", ""),
]  # fmt: skip
FAULTY = [*COMPARED, *LISTED]
SOUND = [
    "SELECT name FROM person WHERE boss IS NULL",
    "SELECT name FROM person WHERE id NOT IN (SELECT closed_by FROM ticket WHERE closed_by IS NOT NULL)",
    "SELECT name FROM person WHERE id NOT IN (SELECT owner FROM ticket)",
    "SELECT name FROM person WHERE id IN (SELECT closed_by FROM ticket)",
    "SELECT name FROM person WHERE NOT (id NOT IN (SELECT closed_by FROM ticket))",
    "WITH closers AS (SELECT closed_by FROM ticket WHERE closed_by IS NOT NULL) "
    "SELECT name FROM person WHERE id NOT IN (SELECT closed_by FROM closers)",
    "SELECT name FROM person AS p WHERE id NOT IN (SELECT closed_by FROM ticket WHERE owner = p.id AND gone IS NULL)",
]
FOLLOWING = {"empty", "zero", "negation_missing", "untested_predicate", "useless_predicate"}


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def audit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    asked = [*((question, sql) for question, sql, _ in FAULTY), *(("Who?", sql) for sql in SOUND)]
    return checked(audit_pairs, tmp_path_factory.mktemp("desk"), request.param, SCHEMA, asked)


@pytest.mark.parametrize("number", range(len(FAULTY)), ids=[sql for _, sql, _ in FAULTY])
def test_what_null_makes_of_a_condition_is_found_and_mended(audit: Audit, number: int) -> None:
    kind, (_, _, expected) = ("null_compared" if number < len(COMPARED) else "null_in_list"), FAULTY[number]
    found = audit.verified.checked[number].findings
    assert [one.kind for one in found if one.kind in FOLLOWING or one.kind.startswith("null_")] == [kind]
    assert (audit.mended[number].repairs[0].sql if number in audit.mended else "") == expected, audit.refused


def test_a_row_with_the_null_is_shown(audit: Audit) -> None:
    witnesses = [one.findings[0].witness for one in audit.verified.checked[len(COMPARED) : len(FAULTY)]]
    assert witnesses[0].endswith("WHERE closed_by IS NULL LIMIT 1 gives (2, 'Mouse', NULL, 1, '2021-01-01')")
    assert witnesses[5].endswith("gives (NULL)")
    assert witnesses[6].startswith("WITH hers AS (")
    assert witnesses[6].endswith("FROM hers WHERE closer IS NULL LIMIT 1 gives (NULL)")


@pytest.mark.parametrize("number", range(len(SOUND)), ids=SOUND)
def test_what_null_does_not_spoil_is_no_finding(audit: Audit, number: int) -> None:
    kinds = {one.kind for one in audit.verified.checked[len(FAULTY) + number].findings}
    assert not kinds & {"null_compared", "null_in_list"}
