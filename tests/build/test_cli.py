"""The verbs of `agro` as a user types them: output, exit status, and errors in words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from making import make_school, packed

from agro_data.cli import data

Run = subprocess.CompletedProcess[str]


def agro(*arguments: object, cwd: Path) -> Run:
    command = [sys.executable, "-c", "from agro_train.cli import main; main()", *map(str, arguments)]
    environment = os.environ | {"AGRO_CACHE": str(cwd / "cache"), "COLUMNS": "120"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    make_school(folder / "school.sqlite")
    done = agro(
        "build", "--databases", "school.sqlite", "--out", "out", "--name", "s", "--size", 40,
        "--embedding-model", "structural", "--workers", 1, "--json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["examples"] == 40
    return folder


def test_every_verb_has_help_with_an_example() -> None:
    for name, command in data.commands.items():
        assert command.help, name
        assert f"Example: agro {name}" in command.help, name


def test_versions_lists_and_shows(place: Path) -> None:
    listing = json.loads(agro("versions", "out", "--json", cwd=place).stdout)
    assert [(row["corpus"], row["examples"]) for row in listing] == [("s", 40)]
    shown = agro("versions", "out", "--show", "latest", cwd=place)
    assert shown.returncode == 0
    for word in ("SELECT", "examples", "verified", "digest"):
        assert word in shown.stdout


def test_explain_and_report(place: Path) -> None:
    version = next((place / "out" / "s").glob("v*"))
    import polars as pl

    example = pl.read_parquet(version / "data" / "*.parquet").row(0, named=True)
    explained = agro("explain", example["example_id"], "--out", "out", cwd=place)
    assert explained.returncode == 0, explained.stderr
    assert example["sql"] in explained.stdout
    reported = agro("report", "--out", "out", "--html", "page.html", cwd=place)
    assert reported.returncode == 0, reported.stderr
    index = packed(place / "page.html")[0]
    assert example["example_id"] in index["example_id"]
    assert example["sql"] in index["sql"]


def test_preview_shows_rows_and_writes_nothing(place: Path) -> None:
    before = sorted(p.name for p in place.iterdir())
    done = agro("build", "--databases", "school.sqlite", "--preview", 5, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 5
    assert sorted(p.name for p in place.iterdir()) == before


def test_dry_run_estimates(place: Path) -> None:
    done = agro("build", "--databases", "school.sqlite", "--dry-run", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["databases"] == 1
    assert figures["seconds"] >= 0
    assert figures["disk_megabytes"] > 0


def test_databases_lists_and_drafts(place: Path) -> None:
    listing = json.loads(agro("databases", "school.sqlite", "--json", cwd=place).stdout)
    assert listing["databases"][0]["tables"] == 3
    draft = agro("databases", "school.sqlite", "--draft", cwd=place)
    assert "teacher" in draft.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build"], "--databases"),
        (["build", "--databases", "absent"], "no such file"),
        (["build", "--databases", "school.sqlite", "--size", "0"], "at least 1"),
        (["databases", "absent"], "no such file"),
        (["report", "--out", "absent"], "no corpus"),
        (["explain", "ffffffffffffffff", "--out", "out"], "no example"),
        (["build", "--config", "absent.json"], "cannot be read"),
    ],
)
def test_what_cannot_start_says_why_and_exits_2(place: Path, arguments: list[str], message: str) -> None:
    done = agro(*arguments, cwd=place)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_some_failed_exits_1_and_lists_them(place: Path, tmp_path: Path) -> None:
    make_school(tmp_path / "school.sqlite")
    (tmp_path / "noise.sqlite").write_bytes(b"no database at all" * 100)
    done = agro("databases", tmp_path, cwd=place)
    assert done.returncode == 1
    assert "noise.sqlite" in done.stderr
