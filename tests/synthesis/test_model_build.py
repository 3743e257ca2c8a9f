"""A build whose SQL a model writes, over HTTP: what it writes is certified, what it does not is listed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from making import build_corpus, make_school, one_worker
from synthesis.school_log import LOG, SECRETS
from synthesis.school_model import Model

import agro_data
from agro_data.config import STRUCTURAL, ConfigError
from agro_data.pipeline import prepare, run_stage
from bench.parts.scripted_server import ScriptedServer

pytestmark = pytest.mark.ci


@pytest.fixture
def model() -> Iterator[tuple[Model, str]]:
    answers = Model()
    with ScriptedServer(answers.reply) as server:
        yield answers, server.base


build_at = partial(build_corpus, size=12)


@pytest.mark.slow
def test_a_model_writes_and_the_gate_decides(model: tuple[Model, str], tmp_path: Path) -> None:
    school = make_school(tmp_path / "school.sqlite")
    answers, address = model
    built = build_at(tmp_path, school, generator="llm", writer=address)
    examples = built.version.examples().collect()
    assert examples["generator"].str.starts_with("llm:").all()
    methods = set(examples["alignment_method"])
    assert methods == {"construction", "written"}, "what an intent says is asked by the grammar, the rest by the model"
    written = examples.filter(pl.col("alignment_method") == "written")
    assert written["question"].str.contains("number").all()
    assert written.filter(pl.col("sql").str.contains("WITH"))["steps"].list.len().min() == 2
    with closing(sqlite3.connect(school)) as connection:
        for sql, rows in examples.select("sql", "result_rows").iter_rows():
            assert len(connection.execute(sql).fetchall()) == rows
    refused = built.version.rejected().collect()
    reasons = set(refused["reason"])
    assert {"unwritten_no_sql", "unknown_column"} <= reasons
    sent = [text for text in answers.asked if "What it means:" not in text]
    took = built.version.manifest["asked_of_a_model"]
    assert took["candidates"]["requests"] >= len(sent) > 0, "equal requests are sent once"
    assert took["questions"]["tokens_written"] > 0

    answers.said.clear()
    again = build_at(tmp_path, school, generator="llm", writer=address)
    assert again.version.path == built.version.path
    assert answers.said == [], "finished stages ask nothing"

    work = next((tmp_path / "cache" / "work").iterdir())
    for stage in ("candidates", "verified", "questions"):
        for shard in (work / stage).glob("*.parquet"):
            shard.unlink()
    build_at(tmp_path, school, generator="llm", writer=address, name="other")
    assert answers.asked == [], "a stage that is done again has its answers on disk"


def test_half_of_both(model: tuple[Model, str], tmp_path: Path) -> None:
    school = make_school(tmp_path / "school.sqlite")
    built = build_at(tmp_path, school, generator="both", writer=model[1], certify=False)
    kinds = {generator.partition(":")[0] for generator in built.version.examples().collect()["generator"]}
    assert kinds == {"grammar", "llm"}


def test_no_value_of_the_source_is_in_any_request(model: tuple[Model, str], tmp_path: Path) -> None:
    school = make_school(tmp_path / "school.sqlite", tag=" Zqsecret77")
    (tmp_path / "log.sql").write_text(LOG.replace("Oslo", "Zqoslo88"))
    answers, address = model
    settings: dict[str, Any] = {"generator": "llm", "writer": address, "values": "synthetic"}
    settings["query_log"] = str(tmp_path / "log.sql")
    config = agro_data.BuildConfig(databases=str(school), size=12, embedding_model=STRUCTURAL, **settings)
    context = prepare(config, one_worker(tmp_path))
    for stage in ("profiles", "candidates", "verified", "questions"):
        run_stage(stage, context, workers=1)
    assert any("Change:" in text for text in answers.asked)
    assert any("Write one query" in text for text in answers.asked)
    with closing(sqlite3.connect(school)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM school UNION SELECT name FROM teacher")]
    told = "\n".join(answers.asked)
    secrets = [*SECRETS, "Zqsecret77", "Zqoslo88", *names]
    assert [secret for secret in secrets if secret in told] == []


def test_a_writer_that_is_not_there_is_said_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="writer"):
        build_at(tmp_path, make_school(tmp_path / "school.sqlite"), generator="llm", writer="http://127.0.0.1:9/v1#m")
