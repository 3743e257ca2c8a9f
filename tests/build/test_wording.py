"""Questions that a model words, in a build over HTTP: styles, faults by class, the grammar's where none will do."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from making import make_school, one_worker
from recording import RecordingModel

import agro_data
from agro_data.config import STRUCTURAL, ConfigError
from agro_data.diversity.normal_forms import literals
from agro_data.hashing import seed_of
from agro_data.pipeline import prepare, run_stage
from agro_data.prompts.write_question import MANNERS, QUESTION_STYLES, WRITE_QUESTION
from bench.parts.scripted_server import ScriptedServer

pytestmark = pytest.mark.ci

PLAIN = re.compile(r"to be said in other words:\n(.+)")
STYLE = re.compile(r"^Style: ([a-z-]+)\.", re.MULTILINE)


class Model(RecordingModel):
    """Says the plain question in its own way; of ten replies one is no JSON, one names a column, one adds a year."""

    def answer(self, text: str, seed: int) -> str:
        style = STYLE.search(text)
        if style is None:
            return "Good day."
        drawn = seed_of(text, seed)
        if drawn % 10 == 0:
            return "I would say it thus."
        plain = PLAIN.search(text)
        sql = text.partition("Query:\n")[2].partition("\n\nWhat it means")[0]
        question = plain[1] if plain else f"What of {' and '.join(literals(sql)) or 'it all'} is there"
        word = "".join(chr(97 + int(digit)) for digit in str(drawn % 1_000))
        question = f"About {word}: {question}"
        if drawn % 10 == 1:
            question += " Give the teacher_id."
        if drawn % 10 == 2:
            question += " Only since 1877."
        if style[1] == "multi-turn":
            question = f"User: {question} Assistant: All of it? User: Yes."
        evidence = "It is meant as it stands." if style[1] in ("vague", "metaphorical") else None
        return json.dumps({"question": question, "evidence": evidence})


@pytest.fixture
def model() -> Iterator[tuple[Model, str]]:
    answers = Model()
    with ScriptedServer(answers.reply) as server:
        yield answers, server.base


def settings_of(databases: Path, address: str, **settings: Any) -> agro_data.BuildConfig:
    given = {"databases": str(databases), "size": 40, "embedding_model": STRUCTURAL, "certify": False}
    return agro_data.BuildConfig.from_dict(given | {"writer": address, "wording": "paraphrase"} | settings)


def build_at(place: Path, config: agro_data.BuildConfig) -> agro_data.Build:
    return agro_data.build(config=config, run=one_worker(place))


def test_nine_styles_and_what_was_dropped(model: tuple[Model, str], tmp_path: Path) -> None:
    answers, address = model
    config = settings_of(make_school(tmp_path / "school.sqlite"), address)
    built = build_at(tmp_path, config)
    examples = built.version.examples().collect()
    written = examples.filter(pl.col("alignment_method") == "written")
    assert set(written["style"]) == set(QUESTION_STYLES)
    assert written["question"].str.contains("About [a-j]+: ").all()
    assert not written["question"].str.contains("teacher_id|1877").any()
    assert written.filter(pl.col("style").is_in(["vague", "metaphorical"]))["evidence"].null_count() == 0
    assert written.filter(pl.col("style") == "multi-turn")["question"].str.starts_with("User: ").all()
    dropped = built.version.rejected().filter(pl.col("reason").str.starts_with("unwritten_")).collect()
    assert {"unwritten_no_json", "unwritten_leaks_name", "unwritten_value_added"} <= set(dropped["reason"])
    kept_as_it_came = dropped.filter(pl.col("reason") == "unwritten_no_json")["question"]
    assert set(kept_as_it_came) == {"I would say it thus."}
    asked = [text for text in answers.said if STYLE.search(text)]
    spoken = {manner for manner in MANNERS if any(WRITE_QUESTION.passages[f"manner {manner}"] in t for t in asked)}
    assert spoken == set(MANNERS)
    report = next(report for report in built.reports if report.stage == "questions")
    assert report.figures["requests"] == 3 * report.rows_in
    answers.said.clear()
    for shard in (next((tmp_path / "cache" / "work").iterdir()) / "questions").glob("*.parquet"):
        shard.unlink()
    again = build_at(tmp_path, agro_data.BuildConfig.from_dict(config.to_dict() | {"name": "again"})).version
    assert again.examples().collect().equals(examples)
    assert [text for text in answers.said if STYLE.search(text)] == [], "all its answers are on disk"


def test_the_grammars_question_stays_where_no_other_will_do(tmp_path: Path) -> None:
    with ScriptedServer(lambda body: "no") as server:
        config = settings_of(make_school(tmp_path / "school.sqlite"), server.base, size=12, phrasings=1)
        examples = build_at(tmp_path, config).version.examples().collect()
    assert examples.height == 12
    assert set(examples["alignment_method"]) == {"construction"}


def test_written_from_the_meaning_alone(model: tuple[Model, str], tmp_path: Path) -> None:
    answers, address = model
    config = settings_of(make_school(tmp_path / "school.sqlite"), address, size=12, wording="direct", phrasings=1)
    examples = build_at(tmp_path, config).version.examples().collect()
    assert "written" in set(examples["alignment_method"])
    assert not any(PLAIN.search(text) for text in answers.said)


def test_no_value_of_the_source_is_in_any_request(model: tuple[Model, str], tmp_path: Path) -> None:
    school = make_school(tmp_path / "school.sqlite", tag=" Zqcanary55")
    answers, address = model
    config = settings_of(school, address, size=20, values="synthetic")
    context = prepare(config, one_worker(tmp_path))
    for stage in ("profiles", "candidates", "verified", "questions"):
        run_stage(stage, context, workers=1)
    told = "\n".join(answers.said)
    assert "to be said in other words" in told
    with closing(sqlite3.connect(school)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM school UNION SELECT name FROM teacher")]
    assert [secret for secret in ("Zqcanary55", *names) if secret in told] == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"writer": ""}, "which model"), ({"wording": "prose"}, "wording"), ({"phrasings": 0}, "phras")],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings_of(Path("x"), "http://127.0.0.1:1/v1", **settings)
