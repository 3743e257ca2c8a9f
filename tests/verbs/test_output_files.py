"""A file of results that cannot be written: figures are shown all the same, the reason is told, the status is not 0.

One that would lie on what is read is refused before anything is done.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from migration.test_drift import change, write_shop
from pairs.market import sqlite_market, write_pairs

from agro_data.cli import data
from agro_data.config import ConfigError

SQL = "SELECT town FROM stall"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`databases` with a market, a pair and a prediction that are right, and `file`, below which nothing can be."""
    sqlite_market(tmp_path / "databases")
    write_pairs(tmp_path / "pairs.json", [("Towns?", SQL)])
    row = {"db_id": "market", "question": "Towns?", "gold": SQL, "pred": SQL}
    (tmp_path / "predictions.json").write_text(json.dumps([row]), encoding="utf-8")
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agro(*arguments: str) -> Result:
    return CliRunner().invoke(data, [*arguments, "--databases", "databases", "--workers", "1"])


VERBS = [(("evaluate", "--predictions", "predictions.json"), "100.0% of 1"), (("verify", "pairs.json"), "100.0% of 1")]


@pytest.mark.parametrize(("verb", "figure"), VERBS, ids=lambda value: value[0])
@pytest.mark.parametrize("target", ["file/v.jsonl", "databases", "/proc/version", "loop"])
def test_figures_come_before_a_file_that_cannot_be_written(
    place: Path, verb: tuple[str, ...], figure: str, target: str
) -> None:
    (place / "loop").symlink_to("loop")
    done = agro(*verb, "--output", target, "--html", "page.html")
    assert done.exit_code == 1, done.output
    assert figure in done.stdout
    assert f"{target}: cannot be written: " in done.stderr
    assert "page.html: written" in done.stderr  # one file that fails costs only itself
    assert (place / "page.html").is_file()


@pytest.mark.parametrize(
    ("verb", "figure"),
    [
        *VERBS,
        (("evaluate", "--predictions", "predictions.json", "--metric", "strict-ts"), "100.0% of 1"),
        (("audit", "pairs.json", "--out", "audited"), "100.0% of 1"),
    ],
    ids=lambda value: value[-1],
)
def test_a_cache_that_cannot_be_written_is_done_without(
    place: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...], figure: str
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(place / "file" / "cache"))
    done = agro(*verb)
    assert done.exit_code == 0, done.output
    assert figure in done.stdout
    assert done.stderr.count("cannot be written") == done.stderr.count("AGRO_CACHE") == 1, done.stderr


def test_the_folder_of_an_audit_is_looked_at_first(place: Path) -> None:
    done = agro("audit", "pairs.json", "--out", "file/audited")
    assert isinstance(done.exception, ConfigError)
    assert "file/audited: nothing can be written there: Not a directory; give another" in str(done.exception)
    assert "pairs" not in done.stderr  # no progress yet


@pytest.mark.parametrize("verb", [verb for verb, _ in VERBS], ids=lambda value: value[0])
def test_json_is_whole_and_a_page_may_fail_too(place: Path, verb: tuple[str, ...]) -> None:
    done = agro(*verb, "--output", "v.jsonl", "--html", "file/page.html", "--json")
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)["problems"] == []
    assert "file/page.html: cannot be written: " in done.stderr
    assert len((place / "v.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    assert agro(*verb, "--output", "v.jsonl", "--html", "page.html").exit_code == 0


@pytest.mark.parametrize("verb", [verb for verb, _ in VERBS], ids=lambda value: value[0])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--output", "link.json"), "link.json: is read by this very command"),
        (("--html", "databases/market/market.sqlite"), "market.sqlite: is a database"),
        (("--html", "elsewhere.db"), "elsewhere.db: is a database"),
        (("--output", "databases/prices.csv"), "prices.csv: is read by this very command"),
        (("--output", "same", "--html", "./same"), "same: named by --output and by --html"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_nothing_is_written_over_what_is_read(
    place: Path, verb: tuple[str, ...], given: tuple[str, ...], says: str
) -> None:
    (place / "link.json").symlink_to(verb[-1])
    (place / "elsewhere.db").write_bytes((place / "databases" / "market" / "market.sqlite").read_bytes())
    (place / "databases" / "prices.csv").write_text("a,b\n1,2\n")
    before = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    done = agro(*verb, *given)
    assert isinstance(done.exception, ConfigError), done.output
    assert says in str(done.exception)
    assert {file: file.read_bytes() for file in before} == before
    assert not (place / "same").exists()


def test_a_file_of_results_is_written_anew_wherever_it_lies(place: Path) -> None:
    """Verdicts beside the databases, and standard output for both, are no input."""
    for _ in range(2):
        done = agro("verify", "pairs.json", "--output", "databases/verdicts.jsonl", "--html", "databases/page.html")
        assert done.exit_code == 0, done.output
    assert agro("verify", "pairs.json", "--output", "/dev/null", "--html", "/dev/null").exit_code == 0


def test_a_version_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = write_shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    manifest = version.path / "manifest.json"
    before = manifest.read_bytes()
    for verb in (
        ("report", str(version.path), "--html", str(manifest)),
        ("verify", str(version.path), "--databases", ".", "--output", str(manifest)),
        ("versions", "diff", str(version.path), str(version.path), "--output", str(manifest)),
        ("next-round", "verdicts.jsonl", "--corpus", str(version.path), "--out", str(manifest)),
    ):
        done = CliRunner().invoke(data, verb)
        assert isinstance(done.exception, ConfigError), done.output
        assert "is read by this very command" in str(done.exception)
    assert manifest.read_bytes() == before


def test_of_a_version_neither_file_nor_folder_costs_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = write_shop(tmp_path)
    change(tmp_path)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    asked = ("verify", str(version.path), "--fail-under", "0.5")
    for arguments, says in (
        (("--output", "file/drift.jsonl"), "file/drift.jsonl: cannot be written: "),
        (("--out", "file/datasets"), "no version is opened: "),
    ):
        done = agro(*asked, *arguments)
        assert done.exit_code == 1, done.output
        assert "3 of 4 examples hold" in done.stdout
        assert says in done.stderr
