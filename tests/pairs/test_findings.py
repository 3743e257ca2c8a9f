"""What is found in a pair: every class on the market, where it is, and where it is not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pairs.market import duckdb_market, sqlite_market, write_pairs
from pairs.twins import CASES

from agro_data import verify_pairs
from agro_data.pairs.finding import KINDS
from agro_data.pairs.verify import Verified

IDS = [f"{kind}-{number}" for number, (kind, _, _) in enumerate(CASES)]


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sqlite_market(tmp_path_factory.mktemp("databases"))


@pytest.fixture(scope="module")
def check(market: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Verified]:
    folder = tmp_path_factory.mktemp("checks")

    def run(asked: list[tuple[str, str]]) -> Verified:
        return verify_pairs(write_pairs(folder / "pairs.json", asked), market, cache=folder / "cache", workers=1)

    return run


@pytest.fixture(scope="module")
def all_faulty(check: Callable[..., Verified]) -> Verified:
    return check([faulty for _, faulty, _ in CASES])


@pytest.fixture(scope="module")
def all_sound(check: Callable[..., Verified]) -> Verified:
    return check([sound for _, _, sound in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_the_fault_is_found(all_faulty: Verified, number: int) -> None:
    kind, (question, sql), _ = CASES[number]
    found = [finding.kind for finding in all_faulty.checked[number].findings]
    assert kind in found, (question, sql, found)


@pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)
def test_the_sound_twin_does_not_have_it(all_sound: Verified, number: int) -> None:
    kind, _, (question, sql) = CASES[number]
    found = [finding.kind for finding in all_sound.checked[number].findings]
    assert kind not in found, (question, sql)


def test_every_finding_has_a_class_and_a_sentence(all_faulty: Verified) -> None:
    for one in all_faulty.checked:
        for finding in one.findings:
            assert finding.kind in KINDS
            assert finding.says.endswith(".")
            assert finding.says[0].isupper() or finding.says[0] in "'\"0123456789", finding.says


def test_pairs_against_each_other(check: Callable[..., Verified]) -> None:
    asked = [
        ("Towns of stalls?", "SELECT town FROM stall"),
        ("towns of  stalls", "select T.town from stall as T"),
        ("Towns of stalls?", "SELECT town FROM stall WHERE opened > 1900"),
        ("Towns of stalls?", "SELECT name FROM stall"),
        ("Towns?", "SELECT town FROM stall"),
    ]
    kinds = [[finding.kind for finding in one.findings] for one in check(asked).checked]
    assert kinds[0] == []
    assert kinds[1] == ["duplicate"]
    assert "same_question" in kinds[2]
    assert kinds[3] == ["contradiction"]
    assert kinds[4] == []


def test_evidence_counts_as_said(market: Path, tmp_path: Path) -> None:
    sql = "SELECT name FROM stall WHERE town = 'York' AND opened > 1980"
    row = {"db_id": "market", "question": "Old northern stalls?", "SQL": sql, "evidence": "northern: York; old: 1980"}
    (tmp_path / "dev.json").write_text(json.dumps([row]), encoding="utf-8")
    found = verify_pairs(tmp_path / "dev.json", market, cache=tmp_path / "cache", workers=1)
    assert not {f.kind for f in found.checked[0].findings} & {"value_not_asked", "number_not_asked"}


@pytest.mark.parametrize(
    ("sql", "kind", "says"),
    [
        (
            "SELECT name FROM stall WHERE opened > ALL (SELECT 1)",
            "syntax",
            'The engine says: near "ALL": syntax error.',
        ),
        ("SELECT name FROM stall WHERE opened =", "syntax", "Something is missing. Line 1, Col: "),
        (
            "SELECT 1; SELECT 2",
            "not_a_query",
            "If each is a right answer, give them as a list in place of the text (in CSV as JSON).",
        ),
        ("SELECT CAST(julianday('now') - opened AS INTEGER) FROM stall", "reads_clock", "Function julianday reads the"),
        ("SELECT strftime('%Y', 'now') - opened FROM stall", "reads_clock", "Function strftime reads the clock."),
    ],
)
def test_sentences(market: Path, tmp_path: Path, sql: str, kind: str, says: str) -> None:
    [checked] = verify_pairs(write_pairs(tmp_path / "pairs.json", [("Names?", sql)]), market, workers=1).checked
    [found] = [one for one in checked.findings if one.kind == kind]
    assert says in found.says


def test_duckdb(tmp_path: Path) -> None:
    place = duckdb_market(tmp_path / "databases")
    asked = [
        ("Which town is Dean in?", "SELECT town FROM stall WHERE name = 'Daan'"),
        ("Stalls in hull?", "SELECT name FROM stall WHERE town = 'hull' OR town = 'York'"),
        ("The largest sale?", "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1"),
        ("Names?", "SELECT nane FROM stall"),
        ("Names?", "SELECT name FROM stall"),
    ]
    found = verify_pairs(write_pairs(tmp_path / "a.json", asked), place, cache=tmp_path / "cache", workers=1)
    kinds = [[finding.kind for finding in one.findings] for one in found.checked]
    assert kinds[0] == ["value_differs"]
    assert "literal_other_case" in kinds[1]
    assert kinds[2] == ["tie_at_limit"]
    assert kinds[3] == ["unknown_name"]


def test_parts_of_a_whole_name_and_of_a_zero_are_not_told_one_by_one(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "staff.sqlite")) as connection:
        connection.executescript(
            """CREATE TABLE member (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, town TEXT, age INTEGER);
            INSERT INTO member VALUES (1, 'Ada', 'Byron', 'London', 36), (2, 'Alan', 'Turing', 'London', 41),
                                      (3, 'Grace', 'Hopper', 'Arlington', 85), (4, 'Kurt', 'Adler', 'Brno', 71);"""
        )
    where = {
        "the whole name": "first_name = 'Ada' AND last_name = 'Byron'",
        "the town too": "first_name = 'Ada' AND last_name = 'Byron' AND town = 'London'",
        "no name": "age = 36 AND town = 'London'",
        "one or the other": "first_name = 'Ada' OR last_name = 'Byron'",
    }
    asked = [(f"How old, given {said}?", f"SELECT age FROM member WHERE {sql}") for said, sql in where.items()]
    asked.append(("How many of age 36 in Brno?", "SELECT count(*) FROM member WHERE age = 36 AND town = 'Brno'"))
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"db_id": "staff", "question": q, "query": s} for q, s in asked]), encoding="utf-8")
    found = verify_pairs(file, tmp_path, cache=tmp_path / "cache", workers=1)
    idle = [
        [f.says.split("without ")[1] for f in one.findings if f.kind.startswith("untested_")] for one in found.checked
    ]
    assert idle[0] == []
    assert idle[1] == ["WHERE town = 'London'."]
    assert "WHERE town = 'London'." in idle[2]
    assert idle[3] == ["WHERE first_name = 'Ada'.", "WHERE last_name = 'Byron'."]
    assert [f.kind for f in found.checked[4].findings] == ["zero"]
