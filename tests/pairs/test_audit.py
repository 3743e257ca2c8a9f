"""What is mended, what is left to a person, and that a repair which does not hold is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pairs.market import sqlite_market, write_pairs

from agro_data.databases.catalog import find_databases
from agro_data.evaluation.loaded import Pair
from agro_data.pairs import verify
from agro_data.pairs.audit import Audit, audit_pairs, objection
from agro_data.pairs.finding import Checked, Finding
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
    asked = [(f"Question {n}?", sql) for n, sql in enumerate([*(one[1] for one in MENDED), *LEFT])]
    pairs = write_pairs(folder / "pairs.json", asked)
    return audit_pairs(
        pairs, sqlite_market(folder / "databases"), cache=folder / "cache", instances=folder / "out", workers=1
    )


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


def test_a_repair_must_take_the_fault_away_and_bring_no_other() -> None:
    fault = Finding("tie_at_limit", "tie_at_limit", mended="SELECT 1")
    assert objection(_checked("tie_at_limit"), _checked(), fault) == ""
    assert objection(_checked("tie_at_limit"), _checked("untested_join"), fault) == ""
    assert "again" in objection(_checked("tie_at_limit"), _checked("tie_at_limit"), fault)
    assert "empty" in objection(_checked("tie_at_limit"), _checked("empty"), fault)
    assert "zero" in objection(_checked("tie_at_limit"), _checked("zero"), fault)
    assert objection(_checked("tie_at_limit", "duplicate"), _checked("contradiction"), fault) == ""  # of other pairs


def test_classes_can_be_left(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "a.json", [("Which?", MENDED[4][1])])
    found = audit_pairs(
        pairs, sqlite_market(tmp_path / "d"), cache=tmp_path / "cache", leave=["tie_at_limit"], workers=1
    )
    assert not found.mended
    assert [f.kind for f in found.verified.checked[0].findings] == ["tie_at_limit"]
    assert json.loads(pairs.read_text())[0]["query"] == MENDED[4][1]


def test_the_databases_are_found_and_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rounds of repairs there are: a folder of others' databases may be large."""
    pairs = write_pairs(tmp_path / "a.json", [("Which?", MENDED[4][1])])
    market = sqlite_market(tmp_path / "d")
    searched: list[Path | str] = []
    monkeypatch.setattr(verify, "find_databases", lambda path: (searched.append(path), find_databases(path))[1])
    found = audit_pairs(pairs, market, cache=tmp_path / "cache", instances=tmp_path / "out", workers=1)
    assert found.mended
    assert searched == [market]


def test_a_file_is_no_place_for_a_report(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    pairs = write_pairs(tmp_path / "pairs.json", [("All?", "SELECT 1")])
    given = [str(pairs), "--databases", str(tmp_path / "not looked at"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(audit_command, given, standalone_mode=False)
    assert "is a file; give a folder with --out" in str(done.exception)
