"""`agro verify` as a person meets it: output, files, exit status, and errors in one line."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pairs.market import sqlite_market, write_pairs
from typed import typed

SOUND = ("How many stalls?", "SELECT count(*) FROM stall")
TIED = ("The largest sale?", "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1")
FAILING = ("Names?", "SELECT nane FROM stall")

Agro = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def agro(tmp_path: Path) -> Agro:
    sqlite_market(tmp_path / "databases")

    return partial(typed, tmp_path, "verify")


def test_sound_pairs_end_with_0(agro: Agro, tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", [SOUND])
    done = agro("a.json", "--databases", "databases", "--fail-under", "1")
    assert done.returncode == 0, done.stderr
    assert "100.0% of 1 pairs are sound" in done.stdout


def test_a_warning_ends_with_0_unless_too_few_are_sound(agro: Agro, tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", [SOUND, TIED])
    assert agro("a.json", "--databases", "databases").returncode == 0
    assert agro("a.json", "--databases", "databases", "--fail-under", "0.5").returncode == 0
    done = agro("a.json", "--databases", "databases", "--fail-under", "0.9")
    assert done.returncode == 1
    assert "0.5000 of the pairs are sound, asked for were 0.9" in done.stderr


def test_an_error_or_an_unread_row_ends_with_1(agro: Agro, tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", [SOUND, FAILING])
    done = agro("a.json", "--databases", "databases")
    assert done.returncode == 1
    assert "1 of 2 pairs cannot be used as they are" in done.stderr
    assert "unknown_name" in done.stdout
    (tmp_path / "b.jsonl").write_text(
        json.dumps({"db_id": "market", "question": SOUND[0], "sql": SOUND[1]}) + "\n{\n", encoding="utf-8"
    )
    done = agro("b.jsonl", "--databases", "databases")
    assert done.returncode == 1
    assert "b.jsonl, line 2" in done.stderr
    assert "50.0% of 2 rows are sound: " in done.stdout  # a share of what it says
    assert "1 have no finding at all; 1 could not be read." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.json", "--databases", "databases"), "nowhere.json: no such file or folder"),
        (("a.json", "--databases", "nowhere"), "nowhere: no such file or folder"),
        (("a.json",), "--databases"),
        (("a.json", "--databases", "databases", "--fail-under", "2"), "--fail-under"),
    ],
)
def test_what_cannot_start_ends_with_2(agro: Agro, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    write_pairs(tmp_path / "a.json", [SOUND])
    done = agro(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_files_and_json(agro: Agro, tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", [SOUND, TIED, ("</script><b>", FAILING[1])])
    done = agro("a.json", "--databases", "databases", "--output", "o/v.jsonl", "--html", "o/v.html", "--json")
    figures = json.loads(done.stdout)
    assert (figures["pairs"], figures["sound"]) == (3, 0.333333)
    assert [one["kind"] for one in figures["classes"]] == ["unknown_name", "tie_at_limit"]
    lines = [json.loads(line) for line in (tmp_path / "o" / "v.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["score"] for line in lines] == [1.0, 0.0, 0.0]
    assert lines[1]["findings"][0]["kind"] == "tie_at_limit"
    page = (tmp_path / "o" / "v.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=|https?://", page)
    assert page.count("</script>") == 2
    packed = re.search(r'id="data">([^<]+)<', page)
    assert packed is not None
    rows = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert [row["place"] for row in rows] == ["a.json, row 2", "a.json, row 3"]


def test_pairs_that_could_not_be_checked_are_neither_sound_nor_at_fault(agro: Agro, tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.json", [SOUND, TIED, FAILING])
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "shuffled").write_text("no folder")
    done = agro("a.json", "--databases", "databases", "--output", "v.jsonl")
    assert done.returncode == 1
    assert "0.0% of 3 pairs are sound" in done.stdout
    assert "0 have no finding at all; 3 could not be checked." in done.stdout
    assert done.stderr.count("database market") == 3
    assert "cannot be used as they are" not in done.stderr
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["score"] for line in lines] == [None, None, None]
    assert all("market" in line["unchecked"] for line in lines)
