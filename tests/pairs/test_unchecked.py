"""Pairs whose database could not be looked at: neither sound nor at fault, counted once, and told with the reason."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pairs.market import sqlite_market, write_pairs

from agro_data import verify_pairs
from agro_data.pairs.audit import audit_pairs
from agro_data.pairs.report import render_report, summary, verdict

ROOT = Path(__file__).resolve().parents[2]
ASKED = [("Towns?", "SELECT town FROM stall"), ("Names?", "SELECT nane FROM stall"), ("Days?", "SELECT day FROM sale")]
WRITING = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE'); print(1, flush=True); input()"
)


@contextmanager
def written_by_another(database: Path) -> Iterator[None]:
    """A lock is told to other processes only."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            yield
        finally:
            other.communicate(b"\n")


def add(folder: Path, name: str) -> Path:
    path = folder / f"{name}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2);")
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_fails_leaves_its_pairs_unchecked(tmp_path: Path, workers: int) -> None:
    pairs = write_pairs(tmp_path / "a.json", ASKED)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "shuffled").write_text("no folder")
    found = verify_pairs(pairs, sqlite_market(tmp_path / "d"), cache=tmp_path / "cache", workers=workers)
    assert found.sound == 0
    assert len(found.problems) == 3
    figures = summary(found)
    assert (figures["pairs"], figures["without_findings"], figures["unchecked"]) == (3, 0, 3)
    for one, problem in zip(found.checked, found.problems, strict=True):
        assert verdict(one)["score"] is None
        assert problem == f"{one.pair.place}: {one.unchecked}"
        assert "database market" in one.unchecked
    assert "3 could not be checked" in render_report(found, "a")


def test_what_is_checked_is_counted_beside_it(tmp_path: Path) -> None:
    place = sqlite_market(tmp_path / "d")
    add(place, "other").write_bytes(b"SQLite format 3\0" + bytes(50))
    rows = [{"db_id": "market", "question": q, "sql": s} for q, s in ASKED]
    rows += [{"db_id": "Other", "question": "Which a?", "sql": "SELECT a FROM t"}]
    (tmp_path / "a.jsonl").write_text("\n".join([*map(json.dumps, rows), "{"]), encoding="utf-8")
    found = verify_pairs(tmp_path / "a.jsonl", place, cache=tmp_path / "cache", workers=1)
    assert [verdict(one)["score"] for one in found.checked] == [1, 0, 1, None]
    assert found.sound == 2 / 5  # the row that is no JSON, and the one whose database is truncated, once each
    assert summary(found)["without_findings"] == 2
    assert len(found.problems) == 2


def test_an_audit_mends_nothing_of_what_it_could_not_check(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "a.json", ASKED)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "shuffled").write_text("no folder")
    audit = audit_pairs(pairs, sqlite_market(tmp_path / "d"), cache=tmp_path / "cache", workers=1)
    assert not audit.mended
    assert audit.verified.sound == 0


def test_why_a_database_that_is_there_cannot_be_used(tmp_path: Path) -> None:
    place = sqlite_market(tmp_path / "d")
    pairs = tmp_path / "a.json"
    rows = [{"db_id": name, "question": "Which a?", "sql": "SELECT a FROM t"} for name in ("shop", "sealed", "markt")]
    pairs.write_text(json.dumps(rows), encoding="utf-8")
    (place / "sealed.sqlite").write_bytes(bytes(range(200)))
    add(place, "other")
    with written_by_another(add(place, "shop")):
        found = verify_pairs(pairs, place, cache=tmp_path / "cache", workers=1)
    shop, sealed, markt = found.checked
    assert "shop.sqlite: locked: another program is writing to it" in shop.unchecked
    assert "sealed.sqlite: not a database" in sealed.unchecked
    assert not shop.findings
    assert not sealed.findings
    (finding,) = markt.findings
    assert (markt.unchecked, finding.kind) == ("", "no_database")
    assert finding.says == f"No database markt under {place}: there are market, other."


def test_a_table_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    place = tmp_path / "d"
    place.mkdir()
    path = add(place, "shop")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bad (b TEXT)")
        connection.executemany("INSERT INTO bad VALUES (?)", [("x" * 3000,) for _ in range(20)])
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'bad'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        first = connection.execute("SELECT min(pageno) FROM dbstat WHERE name = 'bad' AND pagetype = 'leaf'").fetchone()
    assert first[0] != root
    with path.open("r+b") as file:  # not the first leaf, whose first row a catalog reads
        file.seek((first[0] + 1) * size)
        file.write(b"\xff" * size)
    pairs = tmp_path / "a.json"
    pairs.write_text(json.dumps([{"db_id": "shop", "question": "Which a?", "sql": "SELECT a FROM t"}]))
    found = verify_pairs(pairs, place, cache=tmp_path / "cache", workers=1)
    assert found.sound == 1
    assert any(note.startswith("shop: table 'bad': cannot be read, left out") for note in found.notes), found.notes


def test_what_is_not_read_of_a_database_is_told_and_no_advice_for_builds(tmp_path: Path) -> None:
    for name, folder in (("shop", tmp_path / "d" / "shop"), ("other", tmp_path / "d" / "other")):
        folder.mkdir(parents=True)
        (folder / "sale.csv").write_text("amount,day\n" + "".join(f"{n},2020-01-{n:02}\n" for n in range(1, 9)))
        (folder / "stall.csv").write_text("name,town\nAda,York\nBo,Hull\n")
        (folder / f"{name}s.csv").write_bytes("name,town\nJürgen,Köln\n".encode("latin-1"))
    rows = [{"db_id": "shop", "question": "Names?", "query": "SELECT name FROM shops"}]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    for place in (tmp_path / "d", tmp_path / "d" / "shop"):
        found = verify_pairs(tmp_path / "a.json", place, cache=tmp_path / "cache", workers=1)
        assert [one.kind for one in found.checked[0].findings] == ["unknown_name"]
        [note] = found.notes
        assert "shops.csv: cannot be read as a table: it is not UTF-8" in note
