"""An experiment whose later arms or evaluation would be refused is refused before anything is trained."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from train.small import make_split_corpus

from bench import experiments


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line of an experiment about a corpus that holds the database academy back; no arm can train."""
    version = make_split_corpus(tmp_path)
    manifest = json.loads((version.path / "manifest.json").read_text())
    manifest["split"]["databases"]["academy"] = "test"
    (version.path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(experiments, "train", lambda *_: pytest.fail("an arm was trained"))
    places = ["--databases", str(tmp_path / "databases"), "--out", str(tmp_path / "out")]
    return ["experiments", "E1", "--corpus", str(version.path), *places]


def pairs(folder: Path, *databases: str) -> list[str]:
    asked = {"question": "What are the names?", "query": "SELECT name FROM school"}
    rows = [{"db_id": name, **asked} for name in databases]
    (folder / "pairs.json").write_text(json.dumps(rows))
    return ["--pairs", str(folder / "pairs.json")]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--evaluate", '{"limits": 3}'], "there is no setting 'limits'"),
        (["--cold-start", '{"budgets": 3}'], "there is no setting 'budgets'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_first(
    given: list[str],
    changed: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [*given, *pairs(tmp_path, "school"), *changed])
    with pytest.raises(SystemExit):
        experiments.main()
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("arm", ["human", "both"])
def test_pairs_about_databases_that_are_held_back_are_refused_first(
    given: list[str], arm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [*given, *pairs(tmp_path, "school", "academy"), "--arms", arm])
    with pytest.raises(SystemExit):
        experiments.main()
    assert "1 databases" in (told := capsys.readouterr().err)
    assert "(academy)" in told


def test_grpo_that_would_write_prompts_otherwise_is_refused_first(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given[1] = "E4"
    monkeypatch.setattr(sys, "argv", [*given, "--cold-start", '{"budget": 2000}'])
    with pytest.raises(SystemExit):
        experiments.main()
    assert "('compact', 2000, 4) and has ('compact', 250, 4)" in capsys.readouterr().err


def test_who_asks_about_others_alone_may_learn_from_them(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ["--cold-start", '{"allow_evaluated": true}', "--evaluate", '{"corpus": ""}']
    asked = ["--questions", str(tmp_path / "pairs.json"), *others]
    monkeypatch.setattr(sys, "argv", [*given, *pairs(tmp_path, "school", "academy"), *asked])
    with pytest.raises(pytest.fail.Exception, match="an arm was trained"):
        experiments.main()
