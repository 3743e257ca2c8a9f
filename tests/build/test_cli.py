"""The verbs of `agro` as a user types them: output, exit status, and errors in words."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import polars as pl
import pytest
import yaml
from making import make_school, packed
from polars.exceptions import ColumnNotFoundError, ComputeError

from agro_data.cli import VERBS
from agro_data.estimate import BYTES_PER_EXAMPLE
from agro_data.locking import Locked
from agro_data.terminal.running import in_words
from agro_train.cli import OWN

# A shell may have started us with interrupts ignored, and children inherit that.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
Run = subprocess.CompletedProcess[str]


def agro(*arguments: object, cwd: Path, columns: int = 120) -> Run:
    command = [sys.executable, "-c", "from agro_train.cli import main; main()", *map(str, arguments)]
    environment = os.environ | {"AGRO_CACHE": str(cwd / "cache"), "COLUMNS": str(columns)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    make_school(folder / "school.sqlite")
    done = agro(
        "build", "--databases", "school.sqlite", "--out", "out", "--name", "s", "--size", 24,
        "--embedding-model", "structural", "--workers", 1, "--json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["examples"] == 24
    return folder


def test_every_verb_has_help_with_an_example() -> None:
    for verb in (*VERBS, *OWN):
        name, command = verb.name, verb.load()
        assert command.help, name
        assert verb.says == command.get_short_help_str(limit=200)
        assert f"  agro {name}" in command.help, name
        for parameter in command.params:
            said = parameter.param_type_name == "argument" or parameter.help
            assert said, f"{name} {parameter.name}"


@pytest.mark.parametrize("verb", ["", "build", "databases", "verify", "versions", "explain", "report"])
def test_help_fits_a_terminal_of_80_columns(verb: str, tmp_path: Path) -> None:
    done = agro(*filter(None, [verb]), "--help", cwd=tmp_path, columns=80)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert not [line for line in done.stdout.splitlines()[1:] if "..." in line]  # no sentence is cut short


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    done = agro("--version", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == f"agro {version('agro-sql')}\n"


@pytest.mark.ci
def test_versions_lists_and_shows(place: Path) -> None:
    listing = json.loads(agro("versions", "out", "--json", cwd=place).stdout)
    assert [(row["corpus"], row["examples"]) for row in listing] == [("s", 24)]
    shown = agro("versions", "out", "--show", "latest", cwd=place)
    assert shown.returncode == 0
    for word in ("SELECT", "examples", "verified", "digest"):
        assert word in shown.stdout


def test_explain_and_report(place: Path) -> None:
    built = next((place / "out" / "s").glob("v*"))
    example = pl.read_parquet(built / "data" / "*.parquet").row(0, named=True)
    explained = agro("explain", example["example_id"], "--out", "out", cwd=place)
    assert explained.returncode == 0, explained.stderr
    assert example["sql"] in explained.stdout
    assert "Open school.sqlite read-only" in " ".join(explained.stdout.split())
    reported = agro("report", "--out", "out", "--html", "page.html", cwd=place)
    assert reported.returncode == 0, reported.stderr
    index = packed(place / "page.html")[0]
    assert example["example_id"] in index["example_id"]
    assert example["sql"] in index["sql"]


@pytest.mark.ci
def test_preview_shows_rows_and_writes_nothing(place: Path) -> None:
    before = sorted(p.name for p in place.iterdir())
    done = agro("build", "--databases", "school.sqlite", "--preview", 5, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 5
    assert "verified: " in done.stderr  # how far it is
    assert sorted(p.name for p in place.iterdir()) == before


@pytest.mark.slow
def test_dry_run_estimates(place: Path) -> None:
    done = agro("build", "--databases", "school.sqlite", "--dry-run", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["databases"] == 1
    assert "probes: 3 of 3 probes" in done.stderr
    assert 0 < figures["seconds"] <= figures["seconds_as_busy"]
    rows = figures["examples_asked"] * BYTES_PER_EXAMPLE / 1e6
    assert figures["disk_megabytes"] > figures["kept_megabytes"] > rows + 0.1  # with the instances


def test_views_are_told_from_tables(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "pets.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE pet (id INTEGER PRIMARY KEY, age INTEGER); INSERT INTO pet VALUES (1, 2)"
        )
        connection.execute("CREATE VIEW old AS SELECT id FROM pet WHERE age > 1")
        connection.commit()
    [found] = json.loads(agro("databases", "pets.sqlite", "--json", cwd=tmp_path).stdout)["databases"]
    assert {name: found[name] for name in ("tables", "views", "rows", "columns")} == {
        "tables": 1, "views": 1, "rows": 1, "columns": 2,
    }  # fmt: skip


def test_databases_lists_and_drafts(place: Path) -> None:
    listing = json.loads(agro("databases", "school.sqlite", "--json", cwd=place).stdout)
    assert (listing["databases"][0]["tables"], listing["databases"][0]["views"]) == (3, 0)
    draft = agro("databases", "school.sqlite", "--draft", cwd=place)
    assert "teacher" in draft.stdout


def test_a_draft_in_the_place_of_a_file_keeps_what_it_hides(tmp_path: Path) -> None:
    """A shell that writes the file would empty it before it is read."""
    make_school(tmp_path / "school.sqlite")
    beside = tmp_path / "school.semantics.yml"
    beside.write_text("tables: {teacher: {columns: {name: {hidden: true}}}}", encoding="utf-8")
    agro("databases", "school.sqlite", "--draft", "--out", beside.name, cwd=tmp_path)
    assert yaml.safe_load(beside.read_text())["tables"]["teacher"]["columns"]["name"]["hidden"] is True
    refused = agro("databases", "school.sqlite", "--out", beside.name, cwd=tmp_path)
    assert refused.returncode == 2
    assert "a file for the --draft of one database" in refused.stderr


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


def test_the_first_digits_of_an_id_are_enough(place: Path) -> None:
    built = next((place / "out" / "s").glob("v*"))
    example_id = pl.read_parquet(built / "data" / "*.parquet")["example_id"][0]
    explained = agro("explain", example_id[:10], "--out", "out", cwd=place)
    assert explained.returncode == 0, explained.stderr
    assert example_id in explained.stdout


def test_an_example_of_another_corpus_is_found(place: Path, tmp_path: Path) -> None:
    for corpus in ("s", "newer"):
        shutil.copytree(place / "out" / "s", tmp_path / corpus)
    (file,) = (tmp_path / "newer").glob("v*/data/train-*.parquet")
    rows = pl.read_parquet(file)
    rows[1:].write_parquet(file)
    os.utime(file.parents[1])
    gone = rows["example_id"][0]
    explained = agro("explain", gone, "--out", ".", cwd=tmp_path)
    assert f"Example {gone} of s v0001-" in explained.stdout, explained.stderr
    assert "no example" in agro("explain", gone, "--out", ".", "--name", "newer", cwd=tmp_path).stderr


@pytest.mark.slow
def test_fewer_than_asked_exits_1_and_names_what_limits(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "city.csv").write_text("name,residents\nBonn,330\nKiel,250\nUlm,130\n")
    done = agro(
        "build", "--databases", "shop", "--size", 50_000, "--embedding-model", "structural", "--json",
        "--preview", 1_000, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert 0 < len(json.loads(done.stdout)) < 1_000
    assert "of the 1,000 examples asked for" in done.stderr
    assert "shop" in done.stderr.splitlines()[-1]


@pytest.mark.ci
def test_no_example_left_writes_no_version_and_says_what_became_of_the_candidates(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "city.csv").write_text("name\nBonn\n")
    said = "build --databases shop --size 10 --embedding-model structural --no-certify --workers 1"
    settings = said.split()
    agro(*settings, "--out", "first", cwd=tmp_path)
    asked = pl.read_parquet(next((tmp_path / "first" / "corpus").glob("v*")) / "data" / "*.parquet")
    asked.select("question", "sql").write_ndjson(tmp_path / "known.jsonl")
    done = agro(*settings, "--out", "second", "--exclude", "known.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "no example is left" in done.stderr.splitlines()[-1]
    assert not list((tmp_path / "second").glob("*/v*"))


def test_what_is_piped_is_not_wrapped(place: Path) -> None:
    shown = agro("versions", "out", "--show", "latest", cwd=place, columns=20).stdout
    (built,) = (place / "out" / "s").glob("v*")
    for sql in pl.read_parquet(built / "data" / "*.parquet").sort("example_id")["sql"].head(3):
        assert sql in shown
    for row in json.loads(agro("versions", "out", "--show", "latest", "--json", cwd=place).stdout)["funnel"]:
        assert row["stage"] in shown


@pytest.mark.ci
def test_a_damaged_version_is_named_and_the_others_are_listed(place: Path, tmp_path: Path) -> None:
    corpora = tmp_path / "out"
    shutil.copytree(place / "out" / "s", corpora / "s")
    shutil.copytree(place / "out" / "s", corpora / "t")
    (whole,) = (corpora / "s").glob("v*")
    (broken,) = (corpora / "t").glob("v*")
    (data_file,) = (broken / "data").glob("train-*.parquet")
    data_file.chmod(0o644)
    data_file.write_bytes(b"no parquet")
    done = agro("explain", "ffff", "--version", broken, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert data_file.name in done.stderr
    (broken / "manifest.json").chmod(0o644)
    manifest = json.loads((broken / "manifest.json").read_text())
    publishing = ("publish", broken, "--repo-id", "a/b", "--license", "mit", "--source-license", "mit", "--dry-run")
    exporting = ("export", broken, "--format", "sft", "--out", tmp_path / "sft")
    without = {name: value for name, value in manifest.items() if name != "files"}
    for verb, content in ((exporting, manifest), (exporting, without), (publishing, without)):
        (broken / "manifest.json").write_text(json.dumps(content))
        done = agro(*verb, cwd=place)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"{broken}: damaged: " in done.stderr
    (broken / "manifest.json").write_text("{}")
    done = agro("versions", corpora, "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert [row["version"] for row in json.loads(done.stdout)] == [whole.name]
    assert str(broken) in done.stderr


def test_a_reader_that_stops_early_sees_no_error(place: Path) -> None:
    command = (
        f"{sys.executable} -c 'from agro_train.cli import main; main()' versions out --show latest --json | head -1"
    )
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True, check=False)
    assert done.stdout == "{\n"
    assert done.stderr == ""


@pytest.mark.ci
@pytest.mark.parametrize(("verb", "status"), [("versions out", 0), ("versions out --json", 0), ("databases .", 1)])
def test_a_reader_that_leaves_does_not_change_how_a_verb_ends(
    verb: str, status: int, place: Path, tmp_path: Path
) -> None:
    """A gate that is piped into `head` is a gate."""
    shutil.copytree(place / "out", tmp_path / "out")
    make_school(tmp_path / "school.sqlite")
    (tmp_path / "broken.sqlite").write_bytes(b"no database")
    program = f"{sys.executable} -c 'from agro_train.cli import main; main()'"
    line = f"export AGRO_CACHE=cache; {program} {verb} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "no room to write"),
        (PermissionError(errno.EACCES, "Permission denied", "log.sql"), "log.sql: Permission denied"),
        (Locked("datasets/shop: process 7 is writing"), "process 7"),
        (RuntimeError("first\nsecond"), "unexpected RuntimeError: first"),
        (ComputeError("parquet: File out of specification: it has no end"), "could not be read as Parquet"),
        (ColumnNotFoundError('unable to find column "a"'), "unexpected ColumnNotFoundError"),
    ],
)
def test_every_error_is_said_in_one_line(error: Exception, said: str) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        fail()
    line = in_words(caught.value)
    assert said in line
    assert "\n" not in line


def test_an_interrupt_ends_in_one_line_and_the_next_run_goes_on(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        make_school(tmp_path / f"{name}.sqlite", tag=name)
    arguments = ["build", "--databases", ".", "--size", "3000", "--embedding-model", "structural", "--out", "out"]
    child = subprocess.Popen(
        [sys.executable, "-c", f"{INTERRUPTIBLE}; from agro_train.cli import main; main()", *arguments],
        cwd=tmp_path,
        env=os.environ | {"AGRO_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "cache").glob("work/*/catalog.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert "goes on where it was" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert not list((tmp_path / "out").glob("*/v*"))
