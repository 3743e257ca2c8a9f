"""Further rows, made for those that did not hold, stand beside the rows before them, which stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from making import make_school, one_worker

from agro_data.config import STRUCTURAL, BuildConfig
from agro_data.pipeline import prepare
from agro_data.progress import silent
from agro_data.records import CANDIDATE, DISTINCT, QUESTION, REJECTED, VERIFIED
from agro_data.stages import certifying, saying, tally
from agro_data.stages.context import Context
from agro_data.stages.task import Task


@pytest.fixture
def context(tmp_path: Path) -> Context:
    (tmp_path / "databases").mkdir()
    for name in ("first", "second"):
        make_school(tmp_path / "databases" / f"{name}.sqlite")
    config = BuildConfig(databases=str(tmp_path / "databases"), size=20, embedding_model=STRUCTURAL)
    context = prepare(config, one_worker(tmp_path))
    context.work.write_json("usable.json", ["first", "second"])
    return context


def row(schema: pl.Schema, **given: Any) -> pl.DataFrame:
    lists: dict[str, Any] = {name: [] for name, kind in schema.items() if isinstance(kind, pl.List)}
    return pl.DataFrame([dict.fromkeys(schema) | lists | given], schema=schema)


def asked(name: str, question: str, sql: str, plausibility: float) -> dict[str, Any]:
    said = {"candidate_id": name, "question": question, "sql": sql, "plausibility": plausibility}
    return said | {"db_id": "first", "dialect": "sqlite", "skeleton": sql, "result_digest": "same", "style": "plain"}


@pytest.mark.parametrize(
    "repeated",
    [
        asked("1" * 16, "How many schools are there?", "SELECT COUNT(school_id) FROM school", 0.9),
        asked("2" * 16, "Count the schools.", "SELECT COUNT(*) FROM school", 0.9),
    ],
    ids=["question", "sql"],
)
def test_a_further_row_that_repeats_an_older_one_goes(context: Context, repeated: dict[str, Any]) -> None:
    old = row(DISTINCT, **asked("0" * 16, "How many schools are there?", "SELECT COUNT(*) FROM school", 0.5))
    new = asked("3" * 16, "How many teachers are there?", "SELECT COUNT(*) FROM teacher", 0.1)
    context.work.write("questions", "first.01.000", pl.concat([row(QUESTION, **repeated), row(QUESTION, **new)]))
    kept, refused = saying.sift(Task(context, "first", "first.01.more", 50, ("first.01.000",)), old)
    assert kept["candidate_id"].to_list() == ["3" * 16]
    assert refused["candidate_id"].to_list() == [repeated["candidate_id"]]


def test_what_two_shards_of_a_round_refuse_stands_once(context: Context) -> None:
    """They do not wait for each other; another database may have the same query, being a copy."""
    for shard in ("first.01.000", "first.01.001", "second.01.000"):
        db_id = shard.partition(".")[0]
        refused = row(REJECTED, candidate_id="0" * 16, db_id=db_id, stage="verified", reason="empty", detail="no row")
        context.work.write("candidates", shard, row(CANDIDATE, candidate_id="0" * 16, db_id=db_id))
        context.work.write("verified", shard, pl.DataFrame(schema=VERIFIED), refused)
    assert tally.different(context.work, "candidates") == 2
    assert tally.once(context.work.read_rejected())["db_id"].to_list() == ["first", "second"]


def test_a_database_may_be_asked_for_more_in_a_later_round_alone(context: Context) -> None:
    """`first` held its share after the first round; what it lacked after the second is made up for then."""
    work = context.work
    work.write("distinct", "first", pl.DataFrame(schema=DISTINCT))
    for stage in ("profiles", "candidates", "verified", "questions", "distinct"):
        work.write_json(f"{stage}.json", {"in": 0, "out": 0, "figures": {}})
    for stage, schema in (("candidates", CANDIDATE), ("verified", VERIFIED), ("questions", QUESTION)):
        said = asked("0" * 16, "How many schools are there?", "SELECT COUNT(*) FROM school", 0.5)
        work.write(stage, "first.01.000", row(schema, **{k: v for k, v in said.items() if k in schema}))
    further = [Task(context, "first", "first.01.000", 1)]
    assert certifying._make_up(further, 2, 1, silent) == []
    assert work.read("distinct", "first.02.more")["candidate_id"].to_list() == ["0" * 16]
