"""Each form of export, read by the program that it is for."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from exports.making_exports import exported

import agro_data
from agro_data.cli import data
from agro_data.databases.discovery.catalog import EXPORT
from agro_data.evaluation.load import load_pairs
from agro_data.exports import benchmarks
from agro_data.exports.chats import openai
from agro_data.exports.export import FORMS, Exported, write_files
from agro_data.exports.grading import Grader
from agro_data.exports.material import ExportError, LeftOut, answers, gather
from agro_data.profiling.serialising.serialise import estimate_tokens
from agro_data.publish.read import Version
from agro_data.verbs.export import FORMS as NAMED
from agro_data.verbs.export import left_out_of
from agro_data.verify.golds import Case, Grade


def test_the_verb_offers_every_form() -> None:
    assert set(NAMED) == set(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_bytes_are_the_same_and_name_no_place(form: str, corpus: Version, tmp_path: Path) -> None:
    first, second = exported(corpus, form, tmp_path / "a"), exported(corpus, form, tmp_path / "b")
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
        text = str(pl.read_parquet(first / name).to_dicts()) if name.suffix == ".parquet" else ""
        if name.suffix not in (".parquet", ".sqlite"):
            text = (first / name).read_text(encoding="utf-8")
        assert str(corpus.path.parents[2]) not in text


@pytest.mark.parametrize("form", FORMS)
def test_an_export_says_of_which_version_it_is(form: str, corpus: Version, tmp_path: Path) -> None:
    record = json.loads((exported(corpus, form, tmp_path) / EXPORT).read_text(encoding="utf-8"))
    assert (record["version"], record["fingerprint"], record["form"]) == (corpus.name, corpus.fingerprint, form)


def test_what_says_it_is_no_file_of_pairs(corpus: Version, tmp_path: Path) -> None:
    loaded = load_pairs(exported(corpus, "spider", tmp_path))
    assert not [note for note in loaded.notes if EXPORT in note]


def test_openai_takes_the_files(corpus: Version, tmp_path: Path) -> None:
    folder = exported(corpus, "openai", tmp_path)
    splits = corpus.manifest["counts"]["splits"]
    for split, count in splits.items():
        lines = (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == count
        for line in lines:
            example = json.loads(line)
            assert set(example) == {"messages"}
            assert [set(message) for message in example["messages"]] == [{"role", "content"}] * 2
            assert [message["role"] for message in example["messages"]] == ["user", "assistant"]
            assert all(isinstance(message["content"], str) and message["content"] for message in example["messages"])


def test_a_thought_says_the_steps_as_sentences(corpus: Version, tmp_path: Path) -> None:
    """As a trajectory's turns say them, one after the other."""
    rows = corpus.examples().sort("example_id").collect().filter(pl.col("steps").list.len() > 1)
    intents = [[step["intent"] for step in steps] for steps in rows["steps"]]
    assert intents
    assert {intent[-1] for steps in intents for intent in steps} == {"."}
    thoughts = [turn.partition("</think>")[0] for turn in answers(rows)]
    assert thoughts == [f"<think>{' '.join(steps)}" for steps in intents]


def test_spider_and_bird_are_read_back(corpus: Version, tmp_path: Path) -> None:
    rows = corpus.examples().select("split", "sql").collect()
    wanted = sorted(rows["sql"])
    spider, bird = exported(corpus, "spider", tmp_path), exported(corpus, "bird", tmp_path)
    parts = [load_pairs(folder).pairs for folder in sorted(bird.iterdir()) if folder.is_dir()]
    assert sorted(pair.sql for pairs in parts for pair in pairs) == wanted
    golds = [line.split("\t") for line in (spider / "train_gold.sql").read_text(encoding="utf-8").splitlines()]
    asked = json.loads((spider / "train_spider.json").read_text(encoding="utf-8"))
    assert golds == [[row["query"], row["db_id"]] for row in asked]
    assert sorted(sql for sql, _ in golds) == sorted(rows.filter(pl.col("split") == "train")["sql"])
    (entry,) = json.loads((spider / "tables.json").read_text(encoding="utf-8"))
    named = [entry["column_names_original"][place][1] for place in entry["primary_keys"]]
    assert sorted(named) == ["lesson_id", "school_id", "teacher_id"]


def test_what_needs_evidence_is_not_in_spiders_files_and_is_in_birds(corpus: Version, tmp_path: Path) -> None:
    material = gather(corpus, Path(corpus.manifest["config"]["databases"]), tmp_path / "profiles")
    needs = set(material.splits()["train"]["example_id"].head(3))
    said = pl.when(pl.col("example_id").is_in(list(needs))).then(pl.lit("price_level 3 is expensive"))
    material = replace(material, rows=material.rows.with_columns(evidence=said))
    made = benchmarks.spider(material)
    assert {row.example_id for row in made.left_out if row.reason == benchmarks.NO_EVIDENCE} == needs
    asked = json.loads(str(made.files["train_spider.json"]))
    assert len(asked) == made.rows["train"] == material.splits()["train"].height - len(needs)
    assert not needs & {row["example_id"] for row in asked}
    told = json.loads(str(benchmarks.bird(material).files["train/train.json"]))
    assert {row["example_id"] for row in told if row["evidence"]} == needs
    with pytest.raises(ExportError, match="every row about an SQLite database needs its evidence"):
        benchmarks.spider(replace(material, rows=material.rows.with_columns(evidence=pl.lit("x"))))


@pytest.mark.parametrize("metric", ["spider-ex", "spider-em"])
def test_golds_of_the_spider_layout_score_as_the_official_script_reads_them(
    metric: str, corpus: Version, tmp_path: Path
) -> None:
    folder = exported(corpus, "spider", tmp_path)
    for name in ("dev", "test"):
        asked = load_pairs(folder / f"{name}.json").pairs
        assert 0 < len(asked) <= corpus.manifest["counts"]["splits"]["validation" if name == "dev" else name]
        found = agro_data.evaluate(
            folder / f"{name}_gold.sql", folder / "database", gold=folder / f"{name}.json", metric=metric
        )
        assert [verdict.score for verdict in found.verdicts] == [1.0] * len(asked)


def test_golds_of_the_bird_layout_score_as_the_official_script_reads_them(corpus: Version, tmp_path: Path) -> None:
    """Its script reads predictions as one JSON object: by the place of a question the SQL, a mark and the database."""
    folder = exported(corpus, "bird", tmp_path) / "dev"
    golds = [line.split("\t") for line in (folder / "dev.sql").read_text(encoding="utf-8").splitlines()]
    asked = json.loads((folder / "dev.json").read_text(encoding="utf-8"))
    assert [row["question_id"] for row in asked] == list(range(len(golds)))
    assert {row["difficulty"] for row in asked} <= {"simple", "moderate", "challenging"}
    said = {str(place): f"{sql}\t----- bird -----\t{db_id}" for place, (sql, db_id) in enumerate(golds)}
    predictions = tmp_path / "predict_dev.json"
    predictions.write_text(json.dumps(said), encoding="utf-8")
    found = agro_data.evaluate(predictions, folder / "dev_databases", gold=folder / "dev.json", metric="bird-ex")
    assert [verdict.score for verdict in found.verdicts] == [1.0] * len(golds)


def test_the_grader_of_an_export_tells_right_from_wrong(corpus: Version, tmp_path: Path) -> None:
    folder = exported(corpus, "grpo", tmp_path)
    rows = pl.read_parquet(folder / "data" / "train.parquet").to_dicts()
    grader = Grader(folder)
    try:
        assert {grade.score for grade in grader.grades([row["sql"] for row in rows], rows)} == {1.0}
        assert grader.score("<think>so</think><solution>SELECT 1</solution>", rows[0]) == 0.0
        columns: dict[str, Any] = {name: [row[name] for row in rows[:2]] for name in rows[0]}
        said = [[{"role": "assistant", "content": row["sql"]}] for row in rows[:2]]
        assert grader.reward(said, trainer_state=None, **columns) == [1.0, 1.0]
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
        (slow,) = grader.grades([endless], rows[:1])
        assert slow.error_class == "time_limit"
        assert "steps" in slow.reason  # and not by the clock, which would make a reward depend on what else runs
    finally:
        grader.close()


def test_a_grader_that_is_asked_from_many_threads_grades_in_turn(
    corpus: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, grading = [], []

    def grades(cases: list[Case], *_: object, **__: object) -> list[Grade]:
        grading.append(1)
        sleep(0.01)
        at_once.append(len(grading))
        grading.pop()
        return [Grade(1.0) for _ in cases]

    monkeypatch.setattr("agro_data.exports.grading.grade_many", grades)
    folder = exported(corpus, "grpo", tmp_path)
    row = pl.read_parquet(folder / "data" / "train.parquet").row(0, named=True)
    grader = Grader(folder)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(grader.score, [row["sql"]] * 16, [row] * 16))
    assert at_once == [1] * 16


def logged_sqlite(path: Path) -> list[Path]:
    """A file whose last row lies in its log, as a program that still has it open leaves it."""
    writer = sqlite3.connect(path.with_name("open.sqlite"), isolation_level=None)
    with closing(writer):
        writer.executescript("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)")
        writer.executescript("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (7)")
        sides = [path, path.with_name(f"{path.name}-wal")]
        for side, ending in zip(sides, ("", "-wal"), strict=True):
            shutil.copyfile(path.with_name(f"open.sqlite{ending}"), side)
    return sides


def rolled_back_sqlite(path: Path) -> list[Path]:
    """A file that was half changed when its program died; the journal beside it has what was there before."""
    writer = sqlite3.connect(path.with_name("open.sqlite"), isolation_level=None)
    with closing(writer):
        writer.executescript("PRAGMA cache_size = 1; CREATE TABLE t (a, b); INSERT INTO t VALUES (7, '')")
        writer.execute("BEGIN")
        writer.executemany("INSERT INTO t VALUES (8, ?)", [("long" * 500,)] * 50)
        sides = [path, path.with_name(f"{path.name}-journal")]
        for side, ending in zip(sides, ("", "-journal"), strict=True):
            shutil.copyfile(path.with_name(f"open.sqlite{ending}"), side)
    return sides


def logged_duckdb(path: Path) -> list[Path]:
    with duckdb.connect(path) as writer:
        writer.execute("CREATE TABLE t (a INTEGER)")
        writer.execute("CHECKPOINT")
        writer.execute("PRAGMA disable_checkpoint_on_shutdown")
        writer.execute("INSERT INTO t VALUES (7)")
    return [path, path.with_name(f"{path.name}.wal")]


@pytest.mark.parametrize(
    ("name", "made"),
    [("a.sqlite", logged_sqlite), ("a.db", rolled_back_sqlite), ("a.duckdb", logged_duckdb), ("b.db", logged_duckdb)],
)
def test_a_database_is_copied_with_what_its_log_holds_and_left_as_it_was(
    name: str, made: Callable[[Path], list[Path]], tmp_path: Path
) -> None:
    sides = made(tmp_path / name)
    before = [side.read_bytes() for side in sides]
    assert all(before)
    write_files(tmp_path / "out", {f"database/{name}": tmp_path / name})
    assert [side.read_bytes() for side in sides] == before
    (copy,) = (file for file in (tmp_path / "out").rglob("*") if file.is_file())
    with closing(duckdb.connect(copy) if made is logged_duckdb else sqlite3.connect(copy)) as plain:
        assert plain.execute("SELECT a FROM t").fetchall() == [(7,)]


def test_a_database_whose_log_cannot_be_read_is_not_given_away(tmp_path: Path) -> None:
    database = tmp_path / "a.sqlite"
    database.write_bytes(b"no database at all, whatever it is called" * 50)
    (tmp_path / "a.sqlite-wal").write_bytes(b"changes")
    with pytest.raises(ExportError, match="with the log or journal beside it"):
        write_files(tmp_path / "out", {"a.sqlite": database})
    assert not (tmp_path / "out").exists()


@pytest.mark.ci
def test_what_is_counted_is_what_was_written(corpus: Version, mixed: Version, tmp_path: Path) -> None:
    for form in FORMS:
        for name, version in (("one", corpus), ("mixed", mixed)):
            run = agro_data.RunConfig(cache=version.path.parents[2] / "cache")
            out = tmp_path / name / form
            done = agro_data.export(version, form, out, run=run)
            assert done.rows == written(out, form), form
            assert sum(done.rows.values()) + len(done.left_out) == version.manifest["counts"]["examples"]


def written(folder: Path, form: str) -> dict[str, int]:
    """How many rows of each split an export holds."""
    spider = {"train": "train_spider.json", "validation": "dev.json", "test": "test.json"}
    bird = {"train": "train/train.json", "validation": "dev/dev.json", "test": "test/test.json"}
    found: dict[str, int] = {}
    for split in spider:
        if form in ("spider", "bird"):
            path = folder / (spider if form == "spider" else bird)[split]
            count = len(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else 0
        else:
            paths = [*folder.rglob(f"{split}.parquet"), *folder.rglob(f"{split}.jsonl")]
            count = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths if path.suffix == ".jsonl")
            count += sum(pl.read_parquet(path).height for path in paths if path.suffix == ".parquet")
        found |= {split: count} if count else {}
    return found


def test_rows_too_long_for_openai_are_not_counted(
    corpus: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    material = gather(corpus, Path(corpus.manifest["config"]["databases"]), tmp_path / "profiles")
    asked = material.rows.filter(pl.col("split") == "train").with_columns(answers(material.splits()["train"]))
    tokens = sorted(estimate_tokens(prompt + answer) for prompt, answer in asked.select("prompt", "answer").iter_rows())
    monkeypatch.setattr("agro_data.exports.chats.FEWEST", 1)
    monkeypatch.setattr("agro_data.exports.chats.LONGEST", tokens[len(tokens) // 2])
    made = openai(material)
    assert made.left_out
    assert sum(made.rows.values()) + len(made.left_out) == material.rows.height
    assert {f"{split}.jsonl": count for split, count in made.rows.items()} == {
        name: str(content).count("\n") for name, content in made.files.items()
    }


def test_what_is_left_out_is_counted_by_split_and_reason(
    mixed: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(mixed.path.parents[2] / "cache"))
    done = CliRunner().invoke(data, ["export", str(mixed.path), "--format", "bird", "--out", str(tmp_path / "out")])
    assert done.exit_code == 1, done.output
    rows = mixed.examples().select("split", "dialect").collect()
    lost = rows.filter(pl.col("dialect") != "sqlite").group_by("split").len().rows()
    assert lost
    for split, count in lost:
        of = rows.filter(pl.col("split") == split).height
        assert f"{split}: {count} of {of} rows are left out: its database is no SQLite file\n  " in done.output


def test_a_split_of_which_nothing_is_left_is_told_however_many_rows_come_before(tmp_path: Path) -> None:
    early = [LeftOut(f"a{number}", "validation", "too long", f"{number % 2}") for number in range(50)]
    last = [LeftOut(f"b{number}", "test", "too long") for number in range(7)]
    done = Exported(tmp_path, "spider", {"train": 9, "validation": 50}, (*early, *last))
    assert list(left_out_of(done)) == [
        "validation: 50 of 100 rows are left out: too long",
        *("  a0: 0", "  a1: 1"),
        "test: 7 of 7 rows are left out: too long",
        "  b0",
        "test: no row is left, so that this split is not there",
    ]


def test_of_a_folder_of_tables_only_the_tables_are_given_away(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / "private").mkdir(parents=True)
    for name in ("customer.csv", "passwords.txt", "private/keys.csv", ".hidden.csv"):
        (folder / name).write_text("a\n1\n")
    write_files(tmp_path / "out", {"database/shop/shop": folder})
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["customer.csv"]


def test_preferred_is_right_and_the_other_is_not(corpus: Version, tmp_path: Path) -> None:
    pairs = pl.read_parquet(sorted((exported(corpus, "preference", tmp_path) / "data").glob("*.parquet")))
    rows = pl.read_parquet(exported(corpus, "grpo", tmp_path) / "data" / "*.parquet")
    held = pairs.select("example_id", "chosen", "rejected", "witness").join(rows, on="example_id").to_dicts()
    grader = Grader(tmp_path / "grpo")
    try:
        right = grader.grades([row["chosen"][-1]["content"] for row in held], held)
        wrong = grader.grades([row["rejected"][-1]["content"] for row in held], held)
    finally:
        grader.close()
    assert {grade.score for grade in right} == {1.0}
    assert {grade.score for grade in wrong} == {0.0}
    assert all(row["witness"] for row in held)


def test_verl_fields_and_its_reward(corpus: Version, tmp_path: Path) -> None:
    folder = exported(corpus, "verl", tmp_path)
    row = pl.read_parquet(folder / "train.parquet").row(0, named=True)
    assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert row["reward_model"]["style"] == "rule"
    scope: dict[str, Any] = {"__file__": str(folder / "reward.py")}
    exec((folder / "reward.py").read_text(encoding="utf-8"), scope)
    gold = row["reward_model"]["ground_truth"]
    try:
        assert scope["compute_score"](row["data_source"], gold, gold, row["extra_info"]) == 1.0
        assert scope["compute_score"](row["data_source"], "SELECT 1", gold, row["extra_info"]) == 0.0
    finally:
        scope["GRADER"].close()


def test_what_cannot_be_written_is_said(corpus: Version, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ExportError, match="is there already"):
        agro_data.export(corpus, "sft", tmp_path / "there")
    with pytest.raises(ExportError, match="use one of sft"):
        agro_data.export(corpus, "csv", tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExportError, match="unchanged"):
        agro_data.export(corpus, "sft", tmp_path / "other", databases=tmp_path / "empty")
    assert [path.name for path in tmp_path.iterdir() if "other" in path.name] == []
