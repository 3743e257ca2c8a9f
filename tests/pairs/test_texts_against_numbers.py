"""What strftime or SUBSTR gives is a text, which SQLite finds greater than any number."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agro_data.pairs.audit import Audit, audit_pairs

SCHEMA = """
CREATE TABLE sale (id INTEGER PRIMARY KEY, day TEXT, code TEXT, amount INTEGER);
INSERT INTO sale VALUES (1, '2010-03-05', '7a', 5), (2, '2011-11-06', '12', 6), (3, '2012-03-07', '2010', 7);
"""
FAULTY = [
    ("SELECT COUNT(*) FROM sale WHERE strftime('%Y', day) = 2010",
     "SELECT COUNT(*) FROM sale WHERE STRFTIME('%Y', day) = '2010'"),
    ("SELECT id FROM sale WHERE strftime('%Y', day) > 2010", "SELECT id FROM sale WHERE STRFTIME('%Y', day) > '2010'"),
    ("SELECT id FROM sale WHERE 3 = strftime('%m', day)", "SELECT id FROM sale WHERE '03' = STRFTIME('%m', day)"),
    ("SELECT id FROM sale WHERE substr(day, 1, 4) BETWEEN 2010 AND 2011",
     "SELECT id FROM sale WHERE SUBSTRING(day, 1, 4) BETWEEN '2010' AND '2011'"),
    ("SELECT id FROM sale WHERE strftime('%m', day) IN (1, 3)",
     "SELECT id FROM sale WHERE STRFTIME('%m', day) IN ('01', '03')"),
    ("SELECT id FROM sale WHERE upper(code) = 12", ""),  # '12', or '012'?
    ("SELECT id FROM sale WHERE strftime('%Y', day) < 10000", ""),  # no year of four digits
]  # fmt: skip
SOUND = [
    "SELECT id FROM sale WHERE code = 2010",  # a column of text reads it as one
    "SELECT id FROM sale WHERE CAST(strftime('%Y', day) AS INTEGER) = 2010",
    "SELECT id FROM sale WHERE strftime('%Y', day) = '2010'",
    "SELECT id FROM sale WHERE strftime('%Y', day) + 0 > 2010",
    "SELECT id FROM sale WHERE amount > 5",
    "SELECT id FROM sale WHERE instr(code, 'a') = 2",
]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder: Path = tmp_path_factory.mktemp("shop")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript(SCHEMA)
    statements = [*(sql for sql, _ in FAULTY), *SOUND]
    rows = [{"db_id": "shop", "question": f"Question {n}?", "query": sql} for n, sql in enumerate(statements)]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return audit_pairs(folder / "a.json", folder, cache=folder / "cache", workers=1)


@pytest.mark.parametrize("number", range(len(FAULTY)), ids=[sql for sql, _ in FAULTY])
def test_a_text_against_a_number_is_found_and_mended(audit: Audit, number: int) -> None:
    findings = audit.verified.checked[number].findings
    [found] = [one for one in findings if one.kind == "text_against_number"]
    assert found.mended == FAULTY[number][1]
    assert not {"zero", "empty", "untested_predicate"} & {one.kind for one in findings}
    assert (audit.mended[number].sql if number in audit.mended else "") == FAULTY[number][1], audit.refused


@pytest.mark.parametrize("number", range(len(SOUND)), ids=SOUND)
def test_what_is_read_as_a_text_or_a_number_is_no_finding(audit: Audit, number: int) -> None:
    findings = audit.verified.checked[len(FAULTY) + number].findings
    assert "text_against_number" not in {one.kind for one in findings}
