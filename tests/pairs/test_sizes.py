"""Numbers and dates that are kept as text, where their size counts; what would be the same answer is no finding."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from agro_data.pairs.audit import Audit, audit_pairs
from agro_data.pairs.verify import verify_pairs

CARS = """
CREATE TABLE car (id INTEGER PRIMARY KEY, model TEXT, power TEXT, days TEXT, built TEXT, code TEXT, heat INTEGER,
                  since TEXT, till TEXT);
INSERT INTO car VALUES
    (1, 'amc', '90', '7', '1999', '02', 60, '2019-12-01', '2020-01-05'),
    (2, 'ford', '110', '40', '2003', '10', 72, '2020-01-01', '2020-11-30'),
    (3, 'opel', 'null', '112', '2010', '9', 90, '2018-03-01', '2019-09-01'),
    (4, 'saab', '97', '1285', '2011', '100', '', '2019-01-01', '2019-03-01');
"""
# SQL, and what is offered for it; "" where more than one way is left
FOUND = [
    ("SELECT id FROM car ORDER BY days DESC LIMIT 1", "SELECT id FROM car ORDER BY CAST(days AS INTEGER) DESC LIMIT 1"),
    ("SELECT count(*) FROM car WHERE days > 40", "SELECT COUNT(*) FROM car WHERE CAST(days AS INTEGER) > 40"),
    ("SELECT count(*) FROM car WHERE days > '40'", "SELECT COUNT(*) FROM car WHERE CAST(days AS INTEGER) > '40'"),
    ("SELECT max(days) FROM car", "SELECT MAX(CAST(days AS INTEGER)) FROM car"),
    ("SELECT id FROM car WHERE days BETWEEN 100 AND 200",
     "SELECT id FROM car WHERE CAST(days AS INTEGER) BETWEEN 100 AND 200"),
    ("SELECT max(power) FROM car", "SELECT MAX(CAST(NULLIF(power, 'null') AS INTEGER)) FROM car"),
    ("SELECT avg(power) FROM car", "SELECT AVG(CAST(NULLIF(power, 'null') AS INTEGER)) FROM car"),
    ("SELECT id FROM car ORDER BY power LIMIT 1", ""),  # is what is missing the least?
    ("SELECT id FROM car WHERE heat > 80", "SELECT id FROM car WHERE CAST(NULLIF(heat, '') AS INTEGER) > 80"),
    ("SELECT max(days) FROM car UNION SELECT days FROM car WHERE id = 1", ""),
    ("SELECT id FROM car ORDER BY till - since LIMIT 1",
     "SELECT id FROM car ORDER BY JULIANDAY(till) - JULIANDAY(since) LIMIT 1"),
    ("SELECT avg(till - since) FROM car", ""),  # of days, or years?
]  # fmt: skip
SAME = [
    "SELECT model FROM car ORDER BY built DESC LIMIT 1",  # as long as each other
    "SELECT model FROM car WHERE built > 2003",
    "SELECT sum(days), avg(days) FROM car",  # read as numbers by SQLite
    "SELECT model FROM car WHERE days = 40",
    "SELECT model FROM car WHERE days > 0",  # all of them, either way
    "SELECT max(code) FROM car",  # '02': no number
    "SELECT max(model) FROM car",
    "SELECT model, till - since FROM car",  # of years, as may be asked for
    "SELECT model FROM car WHERE till - since > 0",
]


def _audit(folder: Path, statements: list[str]) -> Audit:
    with closing(sqlite3.connect(folder / "cars.sqlite")) as connection:
        connection.executescript(CARS)
    rows = [{"db_id": "cars", "question": f"Question {number}?", "query": sql} for number, sql in enumerate(statements)]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return audit_pairs(folder / "a.json", folder, cache=folder / "cache", mend_ties=True, workers=1)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return _audit(tmp_path_factory.mktemp("cars"), [*(sql for sql, _ in FOUND), *SAME])


@pytest.mark.parametrize("number", range(len(FOUND)), ids=[sql for sql, _ in FOUND])
def test_a_size_that_is_read_as_text_is_found_and_mended(audit: Audit, number: int) -> None:
    found = [one for one in audit.verified.checked[number].findings if one.kind == "text_as_number"]
    assert len(found) == 1
    assert found[0].mended == FOUND[number][1]
    assert (audit.mended[number].sql if number in audit.mended else "") == FOUND[number][1]


@pytest.mark.parametrize("number", range(len(SAME)), ids=SAME)
def test_what_gives_the_same_answer_is_no_finding(audit: Audit, number: int) -> None:
    findings = audit.verified.checked[len(FOUND) + number].findings
    assert "text_as_number" not in {one.kind for one in findings}


def test_texts_that_tie_are_no_tie_to_settle(tmp_path: Path) -> None:
    """Two say 'null', which is the greatest text: there is nothing to choose between."""
    sql = "SELECT model FROM car ORDER BY power {} LIMIT 1"
    folder = tmp_path / "d"
    folder.mkdir()
    _audit(folder, ["SELECT 1"])
    with closing(sqlite3.connect(folder / "cars.sqlite")) as connection:
        connection.execute("INSERT INTO car (id, model, power) VALUES (5, 'seat', 'null')")
        connection.commit()
    rows = [{"db_id": "cars", "question": "Which?", "query": sql.format(way)} for way in ("DESC", "")]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = audit_pairs(folder / "a.json", folder, cache=tmp_path / "cache", mend_ties=True, workers=1)
    kinds = {one.kind: one.mended for one in found.verified.checked[0].findings}
    assert kinds["tie_at_limit"] == ""
    assert [repair.finding.kind for repair in found.mended[0].repairs] == ["text_as_number"]
    assert 1 not in found.mended


def test_duckdb(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "cars.duckdb") as connection:
        connection.execute("CREATE TABLE car (model VARCHAR, days VARCHAR)")
        connection.execute("INSERT INTO car VALUES ('amc', '7'), ('ford', '40'), ('opel', '112')")
    rows = [{"db_id": "cars", "question": "Which?", "query": "SELECT model FROM car ORDER BY days DESC LIMIT 1"}]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.json", tmp_path, cache=tmp_path / "cache", workers=1)
    assert [one.mended for one in found.checked[0].findings if one.kind == "text_as_number"] == [
        "SELECT model FROM car ORDER BY CAST(days AS BIGINT) DESC LIMIT 1"
    ]
