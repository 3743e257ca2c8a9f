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
    ("SELECT id FROM car ORDER BY power LIMIT 1",  # what is missing is not the least
     "SELECT id FROM car ORDER BY CAST(NULLIF(power, 'null') AS INTEGER) ASC NULLS LAST LIMIT 1"),
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

FORMS = """
CREATE TABLE log (id INTEGER PRIMARY KEY, day TEXT, entered TEXT, budget TEXT, price TEXT, us TEXT, either TEXT,
                  loose TEXT, since TEXT);
INSERT INTO log VALUES
    (1, '31.01.2021', '2023-05-01', '5.408.000,00', '900', '9/30/19', '01.02.2019', '2020-9-3', '20210131'),
    (2, '05.03.2022', '14.12.2023', '950.000,50', '1,200', '10/2/18', '05.03.2018', '2020-11-20', '20220305'),
    (3, '02.12.2023', '11/23/21', '12,00', '75', '1/15/20', '04.04.2020', '2019-12-1', '20231202'),
    (4, '10.06.2020', '07.11.2014', '3.456.000,00', '10,500', '12/31/17', '03.05.2021', '2018-1-30', '20200610');
"""
# of these, what is offered; None: told, with more than one way to mend it
READ: list[tuple[str, str | None]] = [
    ("SELECT id FROM log ORDER BY day DESC LIMIT 1",
     "SELECT id FROM log ORDER BY SUBSTRING(day, 7, 4) || '-' || SUBSTRING(day, 4, 2) || '-' || SUBSTRING(day, 1, 2) "
     "DESC LIMIT 1"),
    ("SELECT count(*) FROM log WHERE day > '05.03.2022'",
     "SELECT COUNT(*) FROM log WHERE SUBSTRING(day, 7, 4) || '-' || SUBSTRING(day, 4, 2) || '-' || "
     "SUBSTRING(day, 1, 2) > '2022-03-05'"),
    ("SELECT max(day) FROM log", None),  # it would come out in another form
    ("SELECT id FROM log ORDER BY entered DESC LIMIT 1", None),
    ("SELECT id FROM log ORDER BY us DESC LIMIT 1", None),  # of which century?
    ("SELECT id FROM log ORDER BY either DESC LIMIT 1", None),  # the second or the first of the parts is the month
    ("SELECT id FROM log WHERE loose < '2020-10-01'",
     "SELECT id FROM log WHERE SUBSTRING(loose, 1, 4) || '-' || SUBSTRING('0' || SUBSTRING(loose, 6, "
     "INSTR(SUBSTRING(loose, 6), '-') - 1), -2) || '-' || SUBSTRING('0' || SUBSTRING(loose, 6 + "
     "INSTR(SUBSTRING(loose, 6), '-')), -2) < '2020-10-01'"),
    ("SELECT sum(budget) FROM log", "SELECT SUM(CAST(REPLACE(REPLACE(budget, '.', ''), ',', '.') AS REAL)) FROM log"),
    ("SELECT avg(budget) FROM log", "SELECT AVG(CAST(REPLACE(REPLACE(budget, '.', ''), ',', '.') AS REAL)) FROM log"),
    ("SELECT id FROM log ORDER BY budget DESC LIMIT 1",
     "SELECT id FROM log ORDER BY CAST(REPLACE(REPLACE(budget, '.', ''), ',', '.') AS REAL) DESC LIMIT 1"),
    ("SELECT id FROM log WHERE budget > '1.000.000,00'",
     "SELECT id FROM log WHERE CAST(REPLACE(REPLACE(budget, '.', ''), ',', '.') AS REAL) > 1000000"),
    ("SELECT sum(price) FROM log", None),  # is 1,200 more than a thousand?
]  # fmt: skip
UNREAD = [
    "SELECT max(since) FROM log",  # sorts as it is
    "SELECT day FROM log ORDER BY id",
    "SELECT id FROM log WHERE day = '05.03.2022'",
    "SELECT count(*) FROM log WHERE day > '2'",  # no date
    "SELECT max(day) FROM log WHERE id = 1",
    "SELECT id FROM log WHERE budget > '0'",
]


def test_equal_rows_in_the_order_of_an_index_are_no_other_answer(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as connection:
        connection.executescript(
            """CREATE TABLE log (id INTEGER PRIMARY KEY, day TEXT); CREATE INDEX by_day ON log (day);
            INSERT INTO log (day) VALUES ('14.03.2022'), ('16.03.2022'), ('16.03.2022'), ('15.03.2022');"""
        )
    rows = [{"db_id": "log", "question": "Which?", "query": "SELECT id FROM log ORDER BY day DESC LIMIT 1"}]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.json", tmp_path, cache=tmp_path / "cache", workers=1)
    assert [one.kind for one in found.checked[0].findings] == ["tie_at_limit"]


def _log(folder: Path) -> Audit:
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
        connection.executescript(FORMS)
    statements = [*(sql for sql, _ in READ), *UNREAD]
    asked = [f"Question {number}, below 1,000,000?" for number in range(len(statements))]
    rows = [{"db_id": "log", "question": one, "query": sql} for one, sql in zip(asked, statements, strict=True)]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return audit_pairs(folder / "a.json", folder, cache=folder / "cache", workers=1)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return _log(tmp_path_factory.mktemp("log"))


@pytest.mark.parametrize("number", range(len(READ)), ids=[sql for sql, _ in READ])
def test_dates_and_separated_numbers_are_read_as_what_they_are(log: Audit, number: int) -> None:
    found = [one for one in log.verified.checked[number].findings if one.kind == "text_as_number"]
    assert [one.mended for one in found] == [READ[number][1] or ""]
    assert (log.mended[number].sql if number in log.mended else None) == READ[number][1], log.refused


@pytest.mark.parametrize("number", range(len(UNREAD)), ids=UNREAD)
def test_what_needs_no_reading_is_no_finding(log: Audit, number: int) -> None:
    assert "text_as_number" not in {one.kind for one in log.verified.checked[len(READ) + number].findings}


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
    assert [repair.finding.kind for repair in found.mended[1].repairs] == ["text_as_number"]


PAID = """
CREATE TABLE pay (id INTEGER PRIMARY KEY, net TEXT, share TEXT, gross TEXT, plain TEXT, weight TEXT);
INSERT INTO pay VALUES
    (1, '1,234', '5%', '$1,200.50', '10', '12'), (2, '900', '12%', '$75.00', '20.5', ''),
    (3, '12,345', '7.5%', '$980.10', '3', '8'), (4, '10,000.5', '100%', '$10,000.00', '7', '10');
"""
CAST: list[tuple[str, str]] = [
    ("SELECT sum(CAST(net AS REAL)) FROM pay", "SELECT SUM(CAST(REPLACE(net, ',', '') AS REAL)) FROM pay"),
    ("SELECT id FROM pay WHERE CAST(net AS INTEGER) > 1000",
     "SELECT id FROM pay WHERE CAST(REPLACE(net, ',', '') AS INTEGER) > 1000"),
    ("SELECT id FROM pay ORDER BY CAST(gross AS REAL) DESC LIMIT 1",
     "SELECT id FROM pay ORDER BY CAST(REPLACE(REPLACE(gross, ',', ''), '$', '') AS REAL) DESC LIMIT 1"),
    ("SELECT id FROM pay ORDER BY share DESC LIMIT 1",
     "SELECT id FROM pay ORDER BY CAST(REPLACE(share, '%', '') AS REAL) DESC LIMIT 1"),
    ("SELECT avg(CAST(weight AS REAL)) FROM pay", "SELECT AVG(CAST(NULLIF(weight, '') AS REAL)) FROM pay"),
]  # fmt: skip
READ_WHOLE = [
    "SELECT sum(CAST(plain AS REAL)), CAST(plain AS INTEGER) / 2 FROM pay",
    "SELECT sum(CAST(share AS REAL)) FROM pay",
    "SELECT sum(CAST(REPLACE(net, ',', '') AS REAL)) FROM pay",
    "SELECT sum(CAST(weight AS REAL)) FROM pay",  # 0 or none, as much
    "SELECT CAST(net AS TEXT) FROM pay",
]


@pytest.fixture(scope="module")
def pay(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("pay")
    with closing(sqlite3.connect(folder / "pay.sqlite")) as connection:
        connection.executescript(PAID)
    statements = [*(sql for sql, _ in CAST), *READ_WHOLE]
    rows = [{"db_id": "pay", "question": f"What of 1000, {n}?", "query": sql} for n, sql in enumerate(statements)]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return audit_pairs(folder / "a.json", folder, cache=folder / "cache", workers=1)


@pytest.mark.parametrize("number", range(len(CAST)), ids=[sql for sql, _ in CAST])
def test_what_a_cast_or_a_sign_cuts_is_read_whole(pay: Audit, number: int) -> None:
    found = [one for one in pay.verified.checked[number].findings if one.kind == "text_as_number"]
    assert [one.mended for one in found] == [CAST[number][1]]
    assert pay.mended[number].sql == CAST[number][1]


@pytest.mark.parametrize("number", range(len(READ_WHOLE)), ids=READ_WHOLE)
def test_a_cast_that_reads_all_of_it_is_no_finding(pay: Audit, number: int) -> None:
    assert "text_as_number" not in {one.kind for one in pay.verified.checked[len(CAST) + number].findings}


def test_duckdb(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "cars.duckdb") as connection:
        connection.execute("CREATE TABLE car (model VARCHAR, days VARCHAR, built VARCHAR, price VARCHAR)")
        connection.execute(
            "INSERT INTO car VALUES ('amc', '7', '30.1.2020', '1.200,00'), ('ford', '40', '4.12.2021', '900,50'), "
            "('opel', '112', '9.10.2019', '15.000,00')"
        )
    keys = ("days", "built", "price")
    statements = [f"SELECT model FROM car ORDER BY {key} DESC LIMIT 1" for key in keys]
    rows = [{"db_id": "cars", "question": f"{sql}?", "query": sql} for sql in statements]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.json", tmp_path, cache=tmp_path / "cache", workers=1)
    mended = [one.mended for pair in found.checked for one in pair.findings if one.kind == "text_as_number"]
    assert mended == [
        "SELECT model FROM car ORDER BY CAST(days AS BIGINT) DESC LIMIT 1",
        "SELECT model FROM car ORDER BY SUBSTRING(built, -4) || '-' || SUBSTRING('0' || SUBSTRING(built, "
        "STRPOS(built, '.') + 1, LENGTH(built) - STRPOS(built, '.') - 5), -2) || '-' || SUBSTRING('0' || "
        "SUBSTRING(built, 1, STRPOS(built, '.') - 1), -2) DESC LIMIT 1",
        "SELECT model FROM car ORDER BY CAST(REPLACE(REPLACE(price, '.', ''), ',', '.') AS DOUBLE) DESC LIMIT 1",
    ]
