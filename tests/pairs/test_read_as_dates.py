"""Columns that SQLite's functions of dates do not read: NULL in every row, or years before Christ."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from agro_data.pairs.audit import Audit, audit_pairs
from agro_data.pairs.report import audit_lines

SCHEMA = """
CREATE TABLE sale (id INTEGER PRIMARY KEY, us TEXT, dotted TEXT, either TEXT, year INTEGER, compact TEXT,
                   iso TEXT, moment TEXT, seconds INTEGER, julian REAL, mixed TEXT, none TEXT);
INSERT INTO sale VALUES
    (1, '03/29/2009', '29.03.2009', '03/04/2009', 2009, '20090329', '2009-03-29', '2009-03-29T10:00:00', 1238284800,
     2454919.5, '2009-03-29', NULL),
    (2, '12/01/2010', '01.12.2010', '12/01/2010', 2010, '20101201', '2010-12-01', '2010-12-01T10:00:00', 1291161600,
     2455531.5, '12/01/2010', NULL),
    (3, '07/04/2011', '04.07.2011', '07/04/2011', 2011, '20110704', '2011-07-04', '2011-07-04T10:00:00', 1309737600,
     2455746.5, 'unknown', NULL),
    (4, NULL, '', '', NULL, NULL, NULL, NULL, NULL, NULL, '', NULL);
"""
US = "SUBSTRING(us, 7, 4) || '-' || SUBSTRING(us, 1, 2) || '-' || SUBSTRING(us, 4, 2)"
DOTTED = "SUBSTRING(dotted, 7, 4) || '-' || SUBSTRING(dotted, 4, 2) || '-' || SUBSTRING(dotted, 1, 2)"
# SQL, and what it is mended to; "" where there is more than one way
FOUND = [
    ("SELECT id FROM sale WHERE strftime('%Y', us) = '2009'",
     f"SELECT id FROM sale WHERE STRFTIME('%Y', {US}) = '2009'"),
    ("SELECT id FROM sale ORDER BY julianday(us) DESC LIMIT 1",
     f"SELECT id FROM sale ORDER BY JULIANDAY({US}) DESC LIMIT 1"),
    ("SELECT COUNT(*) FROM sale WHERE DATE(dotted) > '2009-12-31'",
     f"SELECT COUNT(*) FROM sale WHERE DATE({DOTTED}) > '2009-12-31'"),
    ("SELECT date(us, '+1 day') FROM sale", f"SELECT DATE({US}, '+1 day') FROM sale"),
    ("SELECT strftime('%m', either) FROM sale", ""),
    ("SELECT COUNT(*) FROM sale WHERE strftime('%Y', year) = '2009'", ""),
    ("SELECT strftime('%Y', compact), COUNT(*) FROM sale GROUP BY 1", ""),
    ("SELECT strftime('%Y', seconds) FROM sale", ""),
    ("SELECT MAX(strftime('%Y', T1.us)) FROM sale AS T1",
     f"SELECT MAX(STRFTIME('%Y', {US.replace('us,', 'T1.us,')})) FROM sale AS T1"),
]  # fmt: skip
READ = [
    "SELECT id FROM sale WHERE strftime('%Y', iso) = '2009'",
    "SELECT id FROM sale WHERE strftime('%H', moment) = '10'",
    "SELECT strftime('%Y', seconds, 'unixepoch') FROM sale",
    "SELECT date(julian) FROM sale",
    "SELECT date(mixed) FROM sale",  # some of them
    "SELECT date(none) FROM sale",
    "SELECT strftime('%Y', SUBSTR(us, 7, 4) || '-' || SUBSTR(us, 1, 2) || '-' || SUBSTR(us, 4, 2)) FROM sale",
    "SELECT SUBSTR(us, 7, 4) FROM sale",
]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("shop")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript(SCHEMA)
    statements = [*(sql for sql, _ in FOUND), *READ]
    rows = [{"db_id": "shop", "question": "Which of 2009?", "query": sql} for sql in statements]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return audit_pairs(folder / "a.json", folder, cache=folder / "cache", workers=1)


@pytest.mark.parametrize("number", range(len(FOUND)), ids=[sql for sql, _ in FOUND])
def test_what_is_not_read_is_told_alone_and_mended(audit: Audit, number: int) -> None:
    found = audit.verified.checked[number].findings
    assert {"date_not_read"} == {one.kind for one in found} & {"date_not_read", "empty", "zero", "null_only"}
    assert next(one.mended for one in found if one.kind == "date_not_read") == FOUND[number][1]


@pytest.mark.parametrize("number", range(len(READ)), ids=READ)
def test_what_is_read_is_not(audit: Audit, number: int) -> None:
    assert "date_not_read" not in {one.kind for one in audit.verified.checked[len(FOUND) + number].findings}


def test_a_value_is_shown(audit: Audit) -> None:
    (says,) = (one.says for one in audit.verified.checked[0].findings if one.kind == "date_not_read")
    assert says == "STRFTIME('%Y', us) reads no value of sale.us as a date ('03/29/2009')."


def test_the_report_says_what_was_done(audit: Audit) -> None:
    assert all(step["did"] for line in audit_lines(audit) if line["repair"] for step in line["repair"]["steps"])
