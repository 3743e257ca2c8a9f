"""Dates in another form than the column's: told where the answer is another in its form, and mended where it is one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from checked_pairs import checked

from agro_data.pairs.audit import Audit, audit_pairs
from agro_data.pairs.verify import verify_pairs

SCHEMA = """
CREATE TABLE sale (id INTEGER PRIMARY KEY, made TEXT, compact TEXT, paid_date INTEGER, dotted TEXT, day TEXT,
                   sent TEXT);
INSERT INTO sale VALUES
    (1, '2023-01-01 08:15:00', '20230101', 20230101, '01.01.2023', '2023-01-01', '2023-01-01T08:00:00'),
    (2, '2023-05-17 00:00:00', '20230517', 20230517, '17.05.2023', '2023-05-17', '2023-05-17T09:30:00'),
    (3, '2023-12-31 17:45:10', '20231231', 20231231, '31.12.2023', '2023-12-31', '2023-12-31T23:00:00'),
    (4, '2024-01-01 10:00:00', '20240101', 20240101, '01.01.2024', '2024-01-01', '2024-01-01T10:00:00'),
    (5, '2022-07-04 12:00:00', '20220704', 20220704, '04.07.2022', '2022-07-04', '2022-07-04T12:00:00');
"""
DAYS = ", ".join(f"({n}, NULL, NULL, 202202{n - 5:02}, NULL, NULL, NULL)" for n in range(6, 16))
# SQL, and what it is mended to; "" where there is more than one way
FOUND = [
    ("SELECT id FROM sale WHERE compact > '2023-04-01'", "SELECT id FROM sale WHERE compact > '20230401'"),
    ("SELECT id FROM sale WHERE compact BETWEEN '2023-01-02' AND \"2023-12-31\"",
     "SELECT id FROM sale WHERE compact BETWEEN '20230102' AND '20231231'"),
    ("SELECT COUNT(*) FROM sale WHERE compact = '2023-05-17'", "SELECT COUNT(*) FROM sale WHERE compact = '20230517'"),
    ("SELECT id FROM sale WHERE paid_date >= '2023-05-17'", "SELECT id FROM sale WHERE paid_date >= 20230517"),
    ("SELECT id FROM sale WHERE dotted = '2023-05-17'", "SELECT id FROM sale WHERE dotted = '17.05.2023'"),
    ("SELECT id FROM sale WHERE day IN ('17.05.2023', '2024-01-01')",
     "SELECT id FROM sale WHERE day IN ('2023-05-17', '2024-01-01')"),
    ("SELECT id FROM sale WHERE day >= '2023-12-31 00:00:00'", "SELECT id FROM sale WHERE day >= '2023-12-31'"),
    ("SELECT id FROM sale WHERE sent >= '2023-05-17 10:00:00'",
     "SELECT id FROM sale WHERE sent >= '2023-05-17T10:00:00'"),
    ("SELECT id FROM sale WHERE made BETWEEN '2023-01-01' AND '2023-12-31'", ""),
    ("SELECT id FROM sale WHERE '2023-12-31' >= made", ""),
    ("SELECT COUNT(*) FROM sale WHERE made = '2023-01-01'", ""),
]  # fmt: skip
RIGHT = [
    "SELECT id FROM sale WHERE compact > '20230401'",
    "SELECT id FROM sale WHERE compact >= '2023-01-01'",  # the same rows, but for chance
    "SELECT id FROM sale WHERE made >= '2023-01-01' AND made < '2024-01-01'",
    "SELECT id FROM sale WHERE made BETWEEN '2023-01-01' AND '2024-01-01'",  # the year 2023
    "SELECT id FROM sale WHERE made BETWEEN '2023-12-24' AND '2023-12-31'",  # a week
    "SELECT id FROM sale WHERE made <= '2023-06-30'",  # no row of that day
    "SELECT id FROM sale WHERE made <= '2023-12-31 23:59:59'",
    "SELECT id FROM sale WHERE made = '2023-05-17 00:00:00'",
    "SELECT id FROM sale WHERE day BETWEEN '2023-01-01' AND '2023-12-31'",
    "SELECT id FROM sale WHERE dotted > '2023-04-01'",  # no text would do: they do not sort as dates
    "SELECT id FROM sale WHERE day = '05/06/2023'",  # in May, or in June?
]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("sales")
    with closing(sqlite3.connect(folder / "sales.sqlite")) as connection:
        connection.executescript(f"{SCHEMA} INSERT INTO sale VALUES {DAYS};")
    statements = [*(sql for sql, _ in FOUND), *RIGHT]
    rows = [{"db_id": "sales", "question": "", "query": sql} for sql in statements]
    (folder / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    return audit_pairs(folder / "a.json", folder, cache=folder / "cache", workers=1)


@pytest.mark.parametrize("number", range(len(FOUND)), ids=[sql for sql, _ in FOUND])
def test_a_date_in_another_form_is_found_and_mended(audit: Audit, number: int) -> None:
    findings = audit.verified.checked[number].findings
    found = [one for one in findings if one.kind in ("literal_other_form", "literal_absent", "zero")]
    assert [(one.kind, one.mended) for one in found] == [("literal_other_form", FOUND[number][1])], findings
    assert ": expected " in found[0].witness or "row" in found[0].witness
    assert (audit.mended[number].repairs[0].sql if number in audit.mended else "") == FOUND[number][1], audit.refused


@pytest.mark.parametrize("number", range(len(RIGHT)), ids=RIGHT)
def test_what_gives_the_same_answer_or_may_be_meant_is_no_finding(audit: Audit, number: int) -> None:
    findings = audit.verified.checked[len(FOUND) + number].findings
    assert "literal_other_form" not in {one.kind for one in findings}


@pytest.mark.parametrize(
    ("question", "sql", "witness"),
    [
        ("Which were made after 2023-01-01?", "SELECT id FROM sale WHERE made > '2023-01-01'",
         "SELECT id FROM sale WHERE made > '2023-01-01 23:59:59.999999'"),
        ("Which were made later than 31 December 2023?", "SELECT id FROM sale WHERE '2023-12-31' < made",
         "SELECT id FROM sale WHERE '2023-12-31 23:59:59.999999' < made"),
        ("Which were sent after 2023-01-01?", "SELECT id FROM sale WHERE sent > '2023-01-01'",
         "SELECT id FROM sale WHERE sent > '2023-01-01T23:59:59.999999'"),
        ("Which were made since 2023?", "SELECT id FROM sale WHERE made > '2023-01-01'", ""),
        ("Which were made after 2023-06-30?", "SELECT id FROM sale WHERE made > '2023-06-30'", ""),  # none that day
        ("Which were made after 2023-01-01?", "SELECT id FROM sale WHERE made >= '2023-01-02'", ""),
        ("Which are of days after 2023-01-01?", "SELECT id FROM sale WHERE day > '2023-01-01'", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_what_is_after_a_day_is_no_moment_of_it(
    question: str, sql: str, witness: str, dialect: str, tmp_path: Path
) -> None:
    found = checked(verify_pairs, tmp_path, dialect, SCHEMA, [(question, sql)])
    told = [one for one in found.checked[0].findings if one.kind == "literal_other_form"]
    assert [one.witness.partition(": ")[0] for one in told] == ([witness] if witness else [])
    assert not any(one.mended for one in told)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_last_day_that_ends_at_its_first_moment_is_noted_before_a_row_shows_it(dialect: str, tmp_path: Path) -> None:
    schema = """CREATE TABLE sale (id INTEGER PRIMARY KEY, made TIMESTAMP, night TIMESTAMP);
        INSERT INTO sale VALUES (1, '2023-01-01 08:15:00', '2023-01-01 00:00:00'),
            (2, '2023-05-17 12:00:00', '2023-05-17 00:00:00');"""
    asked = {
        "SELECT id FROM sale WHERE made <= '2023-06-30'": True,
        "SELECT id FROM sale WHERE made BETWEEN '2023-02-01' AND '2023-06-30'": True,
        "SELECT id FROM sale WHERE made < '2023-07-01'": False,
        "SELECT id FROM sale WHERE made <= '2023-07-01'": False,  # the end of the month before
        "SELECT id FROM sale WHERE made <= '2023-06-30 23:59:59'": False,
        "SELECT id FROM sale WHERE night <= '2023-06-30'": False,  # days, as moments
        "SELECT id FROM sale WHERE made <= '2023-05-17'": False,  # told by another answer
    }
    found = checked(verify_pairs, tmp_path, dialect, schema, [("Which were made?", sql) for sql in asked])
    kinds = [{one.kind for one in pair.findings} for pair in found.checked]
    assert ["day_cut_short" in some for some in kinds] == list(asked.values())
    assert "literal_other_form" in kinds[-1]


def test_duckdb(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "sales.duckdb") as connection:
        connection.execute("CREATE TABLE sale (id INTEGER, made TIMESTAMP, day DATE, compact VARCHAR)")
        connection.execute(
            "INSERT INTO sale VALUES (1, '2023-01-01 08:15:00', '2023-01-01', '20230101'), "
            "(2, '2023-12-31 10:00:00', '2023-12-31', '20231231'), (3, '2022-03-04 11:30:00', '2022-03-04', '20220304')"
        )
    asked = {
        "SELECT id FROM sale WHERE made BETWEEN '2023-01-01' AND '2023-12-31'": True,
        "SELECT id FROM sale WHERE made = '2023-01-01'": True,
        "SELECT id FROM sale WHERE compact <= '2023-12-30'": True,
        "SELECT id FROM sale WHERE day BETWEEN '2023-01-01' AND '2023-12-31'": False,
        "SELECT id FROM sale WHERE day >= '2023-01-01 00:00:00'": False,
    }
    rows = [{"db_id": "sales", "question": "", "query": sql} for sql in asked]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.json", tmp_path, cache=tmp_path / "cache", workers=1)
    kinds = [{one.kind for one in pair.findings} for pair in found.checked]
    assert ["literal_other_form" in some for some in kinds] == list(asked.values())
