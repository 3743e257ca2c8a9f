"""Files of pairs as a person gives them: their rows, their databases, their certificates."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from pairs.market import sqlite_market, write_pairs
from pairs.twins import CASES

from agro_data import verify_pairs
from agro_data.config import ConfigError
from agro_data.databases.digest import result_digest


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sqlite_market(tmp_path_factory.mktemp("databases"))


def test_a_question_in_two_splits(market: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "market", "question": "Towns?", "query": "SELECT town FROM stall", "split": split}
        for split in ("train", "dev")
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.json", market, cache=tmp_path / "cache", workers=1)
    assert [f.kind for f in found.checked[1].findings] == ["split_leak", "duplicate"]
    assert not found.checked[0].findings
    assert found.sound == 0.5


def test_a_missing_database_is_a_finding_and_an_unreadable_row_a_problem(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    good = {"db_id": "MARKET", "question": "Towns?", "query": "SELECT town FROM stall"}
    file.write_text("\n".join([json.dumps(good), "{", json.dumps({**good, "db_id": "zoo"})]), encoding="utf-8")
    found = verify_pairs(file, market, cache=tmp_path / "cache", workers=1)
    assert [[f.kind for f in one.findings] for one in found.checked] == [[], ["no_database"]]
    assert len(found.problems) == 1
    assert found.sound == pytest.approx(1 / 3)


def test_what_is_accepted_beside_the_gold_must_run(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.json"
    golds = ["SELECT name FROM stall", "SELECT nane FROM stall", "SELECT stall_id FROM stall WHERE opened < 1900"]
    file.write_text(json.dumps([{"db_id": "market", "question": "Names?", "query": golds}]), encoding="utf-8")
    [checked] = verify_pairs(file, market, workers=1).checked
    [found] = checked.findings
    assert found.kind == "unknown_name"
    assert found.says.startswith("Accepted SQL 2 of 3: No column nane")
    assert not found.mended


def test_a_question_without_an_answer_is_not_checked(market: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "market", "question": "Names?", "query": "SELECT name FROM stall", "is_impossible": False},
        {"db_id": "market", "question": "Weather?", "query": "null", "is_impossible": True},
        {"db_id": "market", "question": "Rain?", "query": "", "is_impossible": True},
    ]
    (tmp_path / "pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    found = verify_pairs(tmp_path / "pairs.json", market, workers=1)
    assert [one.findings for one in found.checked] == [()]
    assert not found.problems
    assert "2 rows without SQL, since no SQL answers the question: not checked" in found.notes


def test_rows_without_a_database_are_about_the_one_that_is_given(market: Path, tmp_path: Path) -> None:
    rows = [{"question": "Names?", "query": "SELECT name FROM stall"}, {"question": "All?", "query": "SELECT 1"}]
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    one = market / "market" / "market.sqlite"
    found = verify_pairs(file, one, workers=1)
    assert [[finding.kind for finding in checked.findings] for checked in found.checked] == [[], ["no_table"]]
    with pytest.raises(ConfigError, match="no database field"):
        verify_pairs(file, market, workers=1)  # a folder may hold several
    file.write_text(json.dumps([{**rows[0], "db_id": "market"}, rows[1]]), encoding="utf-8")
    assert len(verify_pairs(file, one, workers=1).problems) == 1  # one row names it: the other lacks it
    (tmp_path / "gold.sql").write_text("SELECT name FROM stall\n", encoding="utf-8")
    assert not verify_pairs(tmp_path / "gold.sql", one, workers=1).checked[0].findings


def test_rows_that_a_program_holds_are_checked_as_those_of_a_file(market: Path, tmp_path: Path) -> None:
    asked = [("How many stalls are there?", "SELECT COUNT(*) FROM stall"), ("All?", "SELECT 1 FROM stal")]
    rows = [{"db_id": "market", "question": question, "query": sql} for question, sql in asked]
    held = verify_pairs(pl.DataFrame(rows).iter_rows(named=True), market, workers=1)
    written = verify_pairs(write_pairs(tmp_path / "pairs.json", asked), market, workers=1)
    assert held.counts == written.counts == {"unknown_name": 1}
    assert [one.pair.place for one in held.checked] == ["row 1", "row 2"]
    with pytest.raises(ConfigError, match="no pairs: no row was given"):
        verify_pairs([], market)
    with pytest.raises(ConfigError, match=r"expected rows with db_id, question and query \(mappings\), found str"):
        verify_pairs(["SELECT 1"], market)  # type: ignore[list-item]


def test_certificates_and_their_instances(market: Path, tmp_path: Path) -> None:
    asked = [
        ("Which stalls opened after 2000?", "SELECT name FROM stall WHERE opened > 2000"),
        ("Town of Okafor in Leeds?", "SELECT town FROM stall WHERE name = 'Okafor' AND town = 'Leeds'"),
        ("Names?", "SELECT nane FROM stall"),
    ]
    pairs = write_pairs(tmp_path / "a.json", asked)
    found = verify_pairs(pairs, market, cache=tmp_path / "cache", instances=tmp_path / "instances", workers=1)
    first, second, failing = found.checked
    assert failing.certificate is None
    index = pl.read_parquet(tmp_path / "instances" / "index.parquet")
    for one in (first, second):
        assert one.certificate is not None
        assert 0 < one.certificate.mutants_killed <= one.certificate.mutants_total
        assert set(one.certificate.instances) <= set(index["file"])
        for name, digest in zip(one.certificate.instances, one.certificate.digests, strict=True):
            with closing(sqlite3.connect(tmp_path / "instances" / name)) as connection:
                rows = connection.execute(one.pair.sql).fetchall()
            assert result_digest(1, rows, ordered=False) == digest
    told = [finding.says for finding in second.findings if finding.kind == "untested_predicate"]
    assert any("tells them apart" in says and "No instance" not in says for says in told), told


def test_instances_never_take_the_place_of_a_database(market: Path, tmp_path: Path) -> None:
    """Nor of other files: an instance is named `01.sqlite`, as a database may be."""
    pairs = write_pairs(tmp_path / "a.json", [("Names?", "SELECT name FROM stall")])
    own, other = tmp_path / "databases" / "market" / "market.sqlite", tmp_path / "other" / "market" / "17.sqlite"
    content = next(market.rglob("market.sqlite")).read_bytes()
    for path in (own, other):
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    for folder, said in (("databases", "itself lies"), ("other", "has databases in it")):
        with pytest.raises(ConfigError, match=said):
            verify_pairs(pairs, own, cache=tmp_path / "cache", instances=tmp_path / folder, workers=1)
    assert own.read_bytes() == other.read_bytes() == content
    assert sorted(path.name for path in tmp_path.glob("*/market/*")) == [other.name, own.name]


def test_workers_do_not_change_what_is_found(tmp_path: Path) -> None:
    place = sqlite_market(tmp_path / "one")
    with closing(sqlite3.connect(place / "other.sqlite")) as connection:
        connection.executescript("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2);")
    rows = [{"db_id": "other", "question": "Which a?", "sql": "SELECT a FROM t LIMIT 1"}]
    rows += [{"db_id": "market", "question": q, "sql": s} for _, (q, s), _ in CASES]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    alone, two = (verify_pairs(tmp_path / "a.json", place, cache=tmp_path / f"cache{n}", workers=n) for n in (1, 2))
    assert alone == two


def test_no_databases(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "a.json", [("q", "SELECT 1")])
    with pytest.raises(ConfigError, match="no such file or folder"):
        verify_pairs(pairs, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="empty: holds no database"):
        verify_pairs(pairs, tmp_path / "empty")
