"""What is mended, what is left to a person, and that a repair which does not hold is refused."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pairs.market import sqlite_market, write_pairs

from agro_data.databases.discovery import catalog
from agro_data.databases.discovery.catalog import find_databases
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.audit import Audit, audit_pairs, objection
from agro_data.pairs.finding import Checked, Finding
from agro_data.pairs.report import audit_lines, audit_summary, render_report
from agro_data.verbs.audit import audit_command

MENDED = [
    ("unknown_name", "SELECT nane FROM stall", "SELECT name FROM stall"),
    ("unknown_name", "SELECT name FROM stalls", "SELECT name FROM stall"),
    (
        "literal_other_case",
        "SELECT opened FROM stall WHERE name = 'pearson'",
        "SELECT opened FROM stall WHERE name = 'Pearson'",
    ),
    (
        "literal_misspelt",
        "SELECT opened FROM stall WHERE name = 'Pearsen'",
        "SELECT opened FROM stall WHERE name = 'Pearson'",
    ),
    (
        "tie_at_limit",
        "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1",
        "SELECT sale_id FROM sale ORDER BY amount DESC, sale_id LIMIT 1",
    ),
    ("tie_in_order", "SELECT name FROM stall ORDER BY opened", "SELECT name FROM stall ORDER BY opened, name"),
    (
        "useless_distinct",
        "SELECT stall_id FROM stall EXCEPT SELECT DISTINCT stall_id FROM sale",
        "SELECT stall_id FROM stall EXCEPT SELECT stall_id FROM sale",
    ),
    (
        "unlinked_join",
        "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2",
        "SELECT T1.name, T2.day FROM stall AS T1 JOIN sale AS T2 ON T2.stall_id = T1.stall_id",
    ),
]
LEFT = [
    "SELECT xyz FROM stall",  # nothing like it
    "SELECT opened FROM stall WHERE town = 'YORK'",  # York and york are there
    "SELECT name FROM stall WHERE opened < 1900",  # no data
    "SELECT * FROM stall ORDER BY opened",  # outputs without names
]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("audit")
    asked = [(f"Question {chr(ord('b') + n)}?", sql) for n, sql in enumerate([*(one[1] for one in MENDED), *LEFT])]
    pairs = write_pairs(folder / "pairs.json", asked)
    place = sqlite_market(folder / "databases")
    return audit_pairs(pairs, place, cache=folder / "cache", instances=folder / "out", mend_ties=True, workers=1)


@pytest.mark.parametrize("number", range(len(MENDED)), ids=lambda n: f"{MENDED[n][0]}-{n}")
def test_mended_with_what_follows(audit: Audit, number: int) -> None:
    kind, _, expected = MENDED[number]
    assert number in audit.mended, (audit.refused, audit.verified.checked[number].findings)
    mended = audit.mended[number]
    assert [one.finding.kind for one in mended.repairs] == [kind]
    assert mended.sql == expected
    assert kind not in {finding.kind for finding in mended.checked.findings}
    assert mended.checked.certificate is not None
    assert mended.checked.certificate.instances


def test_what_leaves_a_choice_is_left(audit: Audit) -> None:
    assert set(audit.mended) == set(range(len(MENDED)))
    assert all(one.findings for one in audit.verified.checked[len(MENDED) :])


def _checked(*kinds: str) -> Checked:
    return Checked(Pair("a, row 1", "market", "", "SELECT 1"), tuple(Finding(kind, kind) for kind in kinds))


def test_reserved_names_are_written_in_quotes(tmp_path: Path) -> None:
    place = tmp_path / "d" / "market" / "market.sqlite"
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(
            """CREATE TABLE stall (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "group" TEXT NOT NULL);
            CREATE TABLE "order" (id INTEGER PRIMARY KEY, "index" INTEGER NOT NULL REFERENCES stall (id));
            INSERT INTO stall VALUES (1, 'Pearson', 'a'), (2, 'Okafor', 'b');
            INSERT INTO "order" VALUES (1, 1), (2, 2), (3, 1);"""
        )
    mended = {
        'SELECT id FROM "ordr"': 'SELECT id FROM "order"',
        "SELECT stall.groop FROM stall": 'SELECT stall."group" FROM stall',
        'SELECT stall.name FROM stall JOIN "order"': (
            'SELECT stall.name FROM stall JOIN "order" ON "order"."index" = stall.id'
        ),
    }
    pairs = write_pairs(tmp_path / "a.json", [(f"Question {number}?", sql) for number, sql in enumerate(mended)])
    audit = audit_pairs(pairs, tmp_path / "d", cache=tmp_path / "cache", workers=1)
    assert [one.sql for one in audit.mended.values()] == list(mended.values()), audit.refused


def test_a_repair_must_take_the_fault_away_and_bring_no_other() -> None:
    fault = Finding("tie_at_limit", "tie_at_limit", mended="SELECT 1")
    assert objection(_checked("tie_at_limit"), _checked(), fault) == ""
    assert objection(_checked("tie_at_limit"), _checked("untested_join"), fault) == ""
    assert "again" in objection(_checked("tie_at_limit"), _checked("tie_at_limit"), fault)
    assert "empty" in objection(_checked("tie_at_limit"), _checked("empty"), fault)
    assert "zero" in objection(_checked("tie_at_limit"), _checked("zero"), fault)
    assert objection(_checked("tie_at_limit", "duplicate"), _checked("contradiction"), fault) == ""  # of other pairs


def test_a_repair_must_not_hide_a_fault_that_it_does_not_mend() -> None:
    tie, turned = (Finding(kind, kind, mended="SELECT 1") for kind in ("tie_at_limit", "extreme_reversed"))
    both = _checked("tie_at_limit", "extreme_reversed")
    assert "extreme_reversed is not seen any more" in objection(both, _checked(), tie)
    assert objection(both, _checked(), turned) == ""  # the other end may have no tie


def test_a_tie_is_less_than_a_wrong_end() -> None:
    turned, useless = (Finding(kind, kind, mended="SELECT 1") for kind in ("extreme_reversed", "useless_join"))
    assert objection(_checked("extreme_reversed"), _checked("tie_at_limit"), turned) == ""
    assert "tie_at_limit" in objection(_checked("useless_join"), _checked("tie_at_limit"), useless)


ENDS = [
    # a tie at the wrong end, none at the right one
    ("Which sale has the lowest amount?", "SELECT sale_id FROM sale ORDER BY amount DESC LIMIT 1"),
    # a tie at the right end
    ("Which sale has the largest amount?", "SELECT sale_id FROM sale ORDER BY amount LIMIT 1"),
]


def _audit(tmp_path: Path, asked: list[tuple[str, str]], **settings: Any) -> Audit:
    pairs = write_pairs(tmp_path / "a.json", asked)
    place = sqlite_market(tmp_path / "d")
    found = audit_pairs(pairs, place, cache=tmp_path / "cache", workers=1, **settings)
    assert [row["query"] for row in json.loads(pairs.read_text())] == [sql for _, sql in asked]
    return found


def test_min_and_max_are_exchanged(tmp_path: Path) -> None:
    asked = [("What is the minimum amount?", "SELECT max(amount) FROM sale")]
    assert _audit(tmp_path, asked).mended[0].sql == "SELECT MIN(amount) FROM sale"


def test_an_average_becomes_the_total_that_is_asked_for(tmp_path: Path) -> None:
    asked = [("What is the total amount of each stall?", "SELECT stall_id, AVG(amount) FROM sale GROUP BY stall_id")]
    assert _audit(tmp_path, asked).mended[0].sql == "SELECT stall_id, SUM(amount) FROM sale GROUP BY stall_id"


@pytest.mark.parametrize("mend_ties", [False, True])
def test_the_end_is_mended_before_ties(tmp_path: Path, mend_ties: bool) -> None:
    found = _audit(tmp_path, ENDS, mend_ties=mend_ties)
    assert found.mended[0].sql == "SELECT sale_id FROM sale ORDER BY amount LIMIT 1"
    steps = [repair.finding.kind for repair in found.mended[1].repairs]
    left = [finding.kind for finding in found.mended[1].checked.findings]
    if mend_ties:
        assert (steps, left) == (["extreme_reversed", "tie_at_limit"], [])
        assert found.mended[1].sql == "SELECT sale_id FROM sale ORDER BY amount DESC, sale_id LIMIT 1"
    else:
        assert (steps, left) == (["extreme_reversed"], ["tie_at_limit"])


def test_ties_are_told_and_left_unless_asked_for(tmp_path: Path) -> None:
    found = _audit(tmp_path, [(f"{one[0]}?", one[1]) for one in MENDED if one[0].startswith("tie")])
    assert not found.mended
    assert [f.kind for one in found.verified.checked for f in one.findings] == ["tie_at_limit", "tie_in_order"]


def test_a_useless_part_stays_in_sql_that_stays_at_fault(tmp_path: Path) -> None:
    """Without it the SQL would be as wrong, and be counted as mended; where the fault is mended the part goes, too."""
    join = "FROM stall AS a JOIN sale AS b ON b.stall_id = a.stall_id"
    asked = [
        ("How many stalls have made a sale?", f"SELECT COUNT(*) {join}"),
        ("How many sales are there?", f"SELECT COUNT(*) {join}"),
        ("How many sales were made on 2020-01-02 without a note?",
         f"SELECT COUNT(*) {join} WHERE b.day = '2020-01-02' AND b.note = NULL"),
    ]  # fmt: skip
    found = _audit(tmp_path, asked)
    first = {one.kind: one.mended for one in found.verified.checked[0].findings}
    assert first["useless_join"]
    assert not first["counted_again"]
    assert {number: one.sql for number, one in found.mended.items()} == {
        1: "SELECT COUNT(*) FROM sale AS b",
        2: "SELECT COUNT(*) FROM sale AS b WHERE b.day = '2020-01-02' AND b.note IS NULL",
    }


def test_classes_can_be_left(tmp_path: Path) -> None:
    assert not _audit(tmp_path, [ENDS[0]], leave=["extreme_reversed"]).mended


def test_what_was_tried_in_vain_is_told(tmp_path: Path) -> None:
    """Joined over the one key there is, the sales of a stall that has none are none."""
    sql = "SELECT T2.day FROM stall AS T1 JOIN sale AS T2 WHERE T1.name = 'Novak'"
    found = _audit(tmp_path, [("Days of Novak?", sql), ("Names?", "SELECT name FROM stall")])
    first, second = audit_lines(found)
    tried = "SELECT T2.day FROM stall AS T1 JOIN sale AS T2 ON T2.stall_id = T1.stall_id WHERE T1.name = 'Novak'"
    assert first["refused"] == [{"kind": "unlinked_join", "sql": tried, "why": "then empty is found"}]
    assert second["refused"] == []
    assert audit_summary(found)["refused"] == ["a.json, row 1: unlinked_join: not mended: then empty is found"]
    body = re.search(r'id="data">([^<]*)<', render_report(found.verified, "a", found))
    assert body is not None
    assert json.loads(gzip.decompress(base64.b64decode(body[1]))) == [first]


def test_the_databases_are_found_and_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rounds of repairs there are: a folder of others' databases may be large."""
    pairs = write_pairs(tmp_path / "a.json", [("Which?", MENDED[4][1])])
    market = sqlite_market(tmp_path / "d")
    searched: list[Path | str] = []
    monkeypatch.setattr(catalog, "find_databases", lambda path: (searched.append(path), find_databases(path))[1])
    found = audit_pairs(pairs, market, cache=tmp_path / "cache", instances=tmp_path / "out", mend_ties=True, workers=1)
    assert found.mended
    assert searched == [market]


def test_a_file_is_no_place_for_a_report(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    pairs = write_pairs(tmp_path / "pairs.json", [("All?", "SELECT 1")])
    given = [str(pairs), "--databases", str(tmp_path / "not looked at"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(audit_command, given, standalone_mode=False)
    assert "is a file; give a folder with --out" in str(done.exception)


@pytest.mark.parametrize("mine", ["pairs.json", "report.html"])
def test_only_what_an_audit_wrote_is_written_over(tmp_path: Path, mine: str) -> None:
    write_pairs(tmp_path / "pairs.json", [("How many?", "SELECT count(*) FROM stall")])
    out = tmp_path / "out"
    given = [
        str(tmp_path / "pairs.json"),
        "--databases",
        str(sqlite_market(tmp_path / "d")),
        "--out",
        str(out),
        "--workers",
    ]

    def done() -> Result:
        return CliRunner().invoke(audit_command, [*given, "1", "--no-certify"], standalone_mode=False)

    out.mkdir()
    (out / mine).write_text("my only copy")
    refused = done()
    assert f"{mine}: no audit wrote it, and it would be written over" in str(refused.exception)
    (out / "report.jsonl").write_text('{"mine": 1}\n')
    assert "no audit wrote it" in str(done().exception)
    assert (out / mine).read_text() == "my only copy"
    (out / mine).unlink()
    (out / "report.jsonl").unlink()
    for _ in range(2):
        assert done().exception is None
