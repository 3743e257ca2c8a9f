"""A year or a month that the SQL ends beside its last day; and spans that are whole, or others."""

from __future__ import annotations

import pytest
from checked_pairs import checked

from agro_data.pairs.audit import Audit, audit_pairs

SCHEMA = """
CREATE TABLE parcel (id INTEGER PRIMARY KEY, sent DATE, loaded TIMESTAMP);
INSERT INTO parcel VALUES (1, '2022-01-05', '2022-01-05 10:00:00'), (2, '2022-06-01', '2022-06-01 09:30:00'),
  (3, '2021-12-31', '2021-12-31 18:00:00'), (4, '2023-01-09', '2023-01-09 10:00:00'),
  (5, '2022-12-31', '2022-12-31 08:15:00'), (6, '2022-01-31', '2022-01-31 11:00:00');
"""
SENT, LOADED = "SELECT id FROM parcel WHERE sent {}", "SELECT id FROM parcel WHERE loaded {}"
YEAR, MONTH = "Which parcels were sent in 2022?", "List the parcels of January 2022."
# question, SQL, and what it is mended to; None: one repair of several
BESIDE = [
    (YEAR, SENT.format("BETWEEN '2022-01-01' AND '2022-12-30'"), SENT.format("BETWEEN '2022-01-01' AND '2022-12-31'")),
    (YEAR, SENT.format("BETWEEN '2022-01-01' AND '2023-01-01'"), SENT.format("BETWEEN '2022-01-01' AND '2022-12-31'")),
    (YEAR, SENT.format(">= '2022-01-01' AND sent < '2022-12-31'"),
     SENT.format(">= '2022-01-01' AND sent < '2023-01-01'")),
    (YEAR, SENT.format("> '2022-01-01' AND '2022-12-31' >= sent"),
     SENT.format("> '2021-12-31' AND '2022-12-31' >= sent")),
    (MONTH, SENT.format("BETWEEN '2022-01-01' AND '2022-01-30'"), SENT.format("BETWEEN '2022-01-01' AND '2022-01-31'")),
    (MONTH, LOADED.format(">= '2022-01-01' AND loaded < '2022-01-31'"), None),
]  # fmt: skip
WHOLE = [
    (YEAR, SENT.format("BETWEEN '2022-01-01' AND '2022-12-31'")),
    (YEAR, SENT.format(">= '2022-01-01' AND sent < '2023-01-01'")),
    (YEAR, SENT.format("> '2021-12-31' AND sent < '2023-01-01'")),
    (YEAR, LOADED.format("BETWEEN '2022-01-01' AND '2023-01-01'")),  # its first moment
    (YEAR, LOADED.format(">= '2022-01-01' AND loaded < '2023-01-01'")),
    (YEAR, SENT.format(">= '2022-01-01'")),
    (YEAR, SENT.format("BETWEEN '2022-01-01' AND '2022-06-30'")),  # another span
    (YEAR, SENT.format("> '9999-12-31' AND sent < '0001-01-01'")),
    ("Which parcels were sent in February 2022?", SENT.format("BETWEEN '2022-02-01' AND '2022-02-28'")),
    ("Which were sent in 2022, but before New Year's Eve?", SENT.format("BETWEEN '2022-01-01' AND '2022-12-30'")),
    ("Which were sent in 2022 until December 30?", SENT.format("BETWEEN '2022-01-01' AND '2022-12-30'")),
    ("Which were sent in the fiscal year 2022?", SENT.format("BETWEEN '2022-01-01' AND '2022-12-30'")),
    ("Which were sent in 2022 or 2023?", SENT.format("BETWEEN '2022-01-01' AND '2023-01-01'")),
    (YEAR, SENT.format("NOT BETWEEN '2022-01-01' AND '2022-12-30'")),
    (YEAR, SENT.format("< '2022-12-31' AND loaded > '2022-01-01'")),  # of two columns
]


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def audit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    asked = [*((question, sql) for question, sql, _ in BESIDE), *WHOLE]
    return checked(audit_pairs, tmp_path_factory.mktemp("post"), request.param, SCHEMA, asked)


@pytest.mark.parametrize("number", range(len(BESIDE)), ids=[sql for _, sql, _ in BESIDE])
def test_a_span_that_ends_beside_what_is_asked_for_is_told_and_mended(audit: Audit, number: int) -> None:
    assert "bound_differs" in {one.kind for one in audit.verified.checked[number].findings}
    assert (audit.mended[number].sql if number in audit.mended else None) == BESIDE[number][2]


@pytest.mark.parametrize("number", range(len(WHOLE)), ids=[f"{question} {sql}" for question, sql in WHOLE])
def test_whole_and_other_spans_are_not(audit: Audit, number: int) -> None:
    found = audit.verified.checked[len(BESIDE) + number].findings
    assert "bound_differs" not in {one.kind for one in found}


def test_what_is_said(audit: Audit) -> None:
    says = [one.says for one in audit.verified.checked[0].findings if one.kind == "bound_differs"]
    assert says == ["The question says 'in 2022', what the SQL asks for ends on 2022-12-30."]
