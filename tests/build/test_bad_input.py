"""Bad input through the whole build: a clear line that names the file, the others go on, nothing is lost."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bad_databases import make_unusable, make_usable
from making import hashes_and_times, make_school, one_worker

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.databases.cells import plain_rows
from agro_data.databases.digest import result_digest
from agro_data.databases.opening import open_duckdb
from agro_data.pipeline import STAGES, prepare, run_stage, write_corpus

pytestmark = pytest.mark.ci

LOCK = (
    "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
    "c.execute('BEGIN EXCLUSIVE'); print(1, flush=True); time.sleep(300)"
)


def settings(databases: Path, place: Path, **more: object) -> tuple[agro_data.BuildConfig, agro_data.RunConfig]:
    config = {"databases": str(databases), "embedding_model": STRUCTURAL} | more
    return agro_data.BuildConfig.from_dict(config), one_worker(place)


@dataclass(frozen=True)
class Mixed:
    """One build over a folder of everything, and the folder before and after it."""

    folder: Path
    result: agro_data.Build
    examples: pl.DataFrame
    unusable: dict[str, str]
    usable: dict[str, str]
    before: dict[str, tuple[str, int]]
    after: dict[str, tuple[str, int]]


@pytest.fixture(scope="module", params=[pytest.param(None, id="all", marks=pytest.mark.slow)])  # takes two minutes
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    place = tmp_path_factory.mktemp("mixed")
    folder = place / "databases"
    folder.mkdir()
    unusable, usable = make_unusable(folder), make_usable(folder)
    busy = make_school(folder / "busy.sqlite")
    unusable["busy.sqlite"] = "locked: another program is writing"
    before = hashes_and_times(folder)
    config, run = settings(folder, place, size=330)
    with subprocess.Popen([sys.executable, "-c", LOCK, str(busy)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            result = agro_data.build(config=config, run=run)
        finally:
            writer.kill()
    examples = result.version.examples().collect()
    return Mixed(folder, result, examples, unusable, usable, before, hashes_and_times(folder))


def test_every_unusable_file_is_named_with_its_reason(mixed: Mixed) -> None:
    for name, reason in mixed.unusable.items():
        (line,) = [problem for problem in mixed.result.problems if problem.startswith(f"{name}: ")]
        assert re.search(reason, line), line
    assert len(mixed.result.problems) == len(mixed.unusable)
    assert all("\n" not in line for line in (*mixed.result.problems, *mixed.result.notes))


def test_every_usable_database_gives_its_share(mixed: Mixed) -> None:
    counts = dict(mixed.examples["db_id"].value_counts().rows())
    assert set(counts) == set(mixed.usable)
    assert min(counts.values()) >= 15, counts
    assert mixed.result.complete
    assert mixed.result.version.verify_hashes() == []


def test_what_is_odd_about_a_usable_one_is_noted(mixed: Mixed) -> None:
    for db_id, note in mixed.usable.items():
        assert note in "\n".join(mixed.result.notes), db_id
    notes = [line for line in mixed.result.notes if line.startswith("told")]
    for part in ("tables.teachers", "tables.school.columns.town", "metrics.wealth", "joins[0].to"):
        assert any(f"semantics.yml: {part}" in line for line in notes), part


def test_the_sources_are_as_they_were(mixed: Mixed) -> None:
    assert mixed.after == mixed.before


def test_stored_sql_runs_without_us_and_gives_its_digest(mixed: Mixed) -> None:
    paths = {db["db_id"]: mixed.folder / db["relative_path"] for db in mixed.result.version.manifest["databases"]}
    for row in mixed.examples.iter_rows(named=True):
        answer = run_plainly(paths[row["db_id"]], row)
        assert len(answer) == row["result_rows"], row["sql"]
        assert result_digest(row["result_columns"], answer, row["order_matters"]) == row["result_digest"], row["sql"]


def run_plainly(path: Path, row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows by the engine's own reader."""
    if row["dialect"] == "duckdb":
        connection, *_ = open_duckdb(path, "files" if path.is_dir() else "duckdb", {})
        with closing(connection):
            return list(plain_rows(connection.execute(str(row["sql"])).fetchall()))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as plain:
        plain.text_factory = text_or_bytes
        return plain.execute(str(row["sql"])).fetchall()


def text_or_bytes(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def test_questions_are_said_as_people_write(mixed: Mixed) -> None:
    for row in mixed.examples.iter_rows(named=True):
        question = row["question"]
        assert question.isprintable(), question
        assert not re.search(r"[A-Za-z]_[A-Za-z]|_\d|[`\[\]]|\"\"|\\|\bt\d+\.", question), question


def test_odd_tables_columns_and_values_are_asked_about(mixed: Mixed) -> None:
    def used(db_id: str) -> set[str]:
        return {column for row in mixed.examples.filter(pl.col("db_id") == db_id)["columns"] for column in row}

    tables = {column.split(".")[0] for column in used("odd_names")}
    assert tables == {"order", "Customer Group", "Ärzte", "ärzte"}
    assert {'order.a "b" c', "order.Größe", "order.unit.price", "order.owner's name", "order.from"} <= used("odd_names")
    assert {"sample.label", "sample.note"} <= used("dirty_cells")
    assert {"sample.weight", "sample.reading"} & used("dirty_cells")  # shown now and then
    assert {"employee.boss_id", "employee.department_id"} & used("keys")
    assert {"visit.iso_day", "visit.moment"} <= used("dates")
    assert {"Sensor Reading.Taken At", "Sensor Reading.select"} <= used("duck")
    assert len(used("wide")) > 15
    assert {"Orders.Name", "Orders.name_1"} <= used("files")


def test_no_question_repeats_a_value_nobody_can_write(mixed: Mixed) -> None:
    dirty = mixed.examples.filter(pl.col("db_id").is_in(["dirty_cells", "duck"]))
    for text in (*dirty["question"], *dirty["sql"]):
        assert not re.search(r"\b(nan|inf|infinity)\b|\\x|x'|�", text, re.IGNORECASE), text


def test_files_and_folders_without_permission_are_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("closed")
    for above in (place, *place.parents):
        if above.name.startswith(("closed", "popen", "pytest")):  # `popen-gw0` only where workers share the tests out
            above.chmod(0o755)
    folder = place / "databases"
    (folder / "shut").mkdir(parents=True)
    make_school(folder / "good.sqlite")
    make_school(folder / "secret.sqlite").chmod(0)
    make_school(folder / "shut" / "inner.sqlite")
    (folder / "shut").chmod(0)
    (place / "cache").mkdir()
    (place / "cache").chmod(0o777)
    config, run = settings(folder, place, size=10)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may read everything
    try:
        context = prepare(config, run)
    finally:
        os.seteuid(user)
    for name in STAGES:
        run_stage(name, context, 1)
    version = write_corpus(context, run.out)
    (folder / "shut").chmod(0o755)
    problems = context.work.read_json("catalog.json")["problems"]
    assert version.examples().collect().height == 10
    assert any(line.startswith("secret.sqlite: cannot be read: Permission denied") for line in problems), problems
    assert any(line.startswith("shut: folder cannot be listed") for line in problems), problems
    assert len(problems) == 2


def test_a_database_with_a_log_is_read_whole_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    path = make_school(folder / "school.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute(
            "INSERT INTO teacher SELECT teacher_id + 100, name || ' II', subject, salary + 0.5, 6 FROM teacher"
        )
        before = hashes_and_times(folder)
        assert before["school.sqlite-wal"][0] != hashlib.sha256(b"").hexdigest()
        config, run = settings(folder, tmp_path, size=60, certify=False)
        result = agro_data.build(config=config, run=run)
        after = hashes_and_times(folder)
        answers = {
            row["sql"]: (len(writer.execute(row["sql"]).fetchall()), row["result_rows"])
            for row in result.version.examples().collect().iter_rows(named=True)
        }
    assert after == before
    assert len(answers) == 60
    assert all(found == stored for found, stored in answers.values())  # what stands in the log was read


def test_a_read_only_folder_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "shelf"
    folder.mkdir()
    make_school(folder / "school.sqlite").chmod(0o444)
    folder.chmod(0o555)
    before = hashes_and_times(folder)
    config, run = settings(folder, tmp_path, size=20)
    result = agro_data.build(config=config, run=run)
    folder.chmod(0o755)
    assert result.version.examples().collect().height == 20
    assert hashes_and_times(folder) == before


def test_of_databases_with_the_same_content_one_is_learnt_from(tmp_path: Path) -> None:
    folder = tmp_path / "databases"
    folder.mkdir()
    make_school(folder / "a.sqlite")
    shutil.copy(folder / "a.sqlite", folder / "b.sqlite")
    make_school(folder / "c.sqlite", "C")
    config, run = settings(folder, tmp_path, size=40, certify=False)
    result = agro_data.build(config=config, run=run)
    assert result.problems == (
        "b.sqlite: holds the same as a.sqlite; left out (to learn from it instead, give --only b)",
    )
    assert set(result.version.examples().collect()["db_id"]) == {"a", "c"}
    alone = replace(config, only=("b",))
    assert [database.db_id for database in prepare(alone, run).databases()] == ["b"]
