"""Databases under other names, on real engines: queries follow, and give what they gave."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from making import database_at, make_school
from train.small import GOLD, MATCHED, example

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising.linking import index_schema
from agro_train.questions import Questions
from agro_train.tasks import PromptFormat, Source
from agro_train.trajectories.respelling import VARIANTS, respelt
from agro_train.trajectories.teachers import RESPELT, Habits, make_trajectories

pytestmark = pytest.mark.ci

GOLDS = (
    GOLD,
    "SELECT COUNT(*) FROM lesson",
    "SELECT name FROM school WHERE school_id IN (SELECT school_id FROM teacher GROUP BY school_id HAVING COUNT(*) > 2)",
    "SELECT subject, AVG(salary) FROM teacher GROUP BY subject ORDER BY 2 DESC LIMIT 1",
    "SELECT * FROM school WHERE city = 'Oslo'",
    "WITH old AS (SELECT name AS called FROM school WHERE founded < 1920) SELECT called FROM old",
)


def row(number: int, sql: str, **changes: Any) -> dict[str, Any]:
    steps = [{"name": "matched", "intent": "Match the teachers and schools.", "sql": MATCHED}]
    return example(number, sql, steps=steps, instances=["school/other.sqlite"], place=str(number), **changes)


def as_duckdb(path: Path, schema: str = "main") -> Path:
    """The same tables and rows in a DuckDB file beside it."""
    target = path.with_suffix(".duckdb")
    with closing(sqlite3.connect(path)) as old, duckdb.connect(target) as connection:
        connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"; USE "{schema}"')
        for name, sql in old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid"):
            connection.execute(sql)
            rows = old.execute(f"SELECT * FROM {name}").fetchall()
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return target


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "duckdb, not in main"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Source:
    folder = tmp_path_factory.mktemp("respelt")
    path = make_school(folder / "school.sqlite")
    if request.param != "sqlite":
        path = as_duckdb(path, "main" if request.param == "duckdb" else "class room")
    database = database_at(path)
    profile = profile_database(database)
    return Source(database, profile, index_schema(profile))


def test_questions_stand_in_both_parts_where_names_are_spelt_otherwise_beside(
    source: Source, sandbox: Sandbox, tmp_path: Path
) -> None:
    rows = tuple(row(number, GOLDS[number % len(GOLDS)]) for number in range(12))
    parts = respelt(Questions("q", rows, {"school": source}, tmp_path), 1.0, 0, tmp_path, sandbox, beside=True)
    own, *others = parts
    assert own.rows == rows
    assert own.sources["school"] is source
    again = [one["example_id"] for part in others for one in part.rows]
    assert len(again) == len(set(again)) >= 10
    assert all(one[RESPELT] for part in others for one in part.rows)


def test_every_question_follows_its_database(source: Source, sandbox: Sandbox, tmp_path: Path) -> None:
    rows = tuple(row(number, GOLDS[number % len(GOLDS)]) for number in range(48))
    parts = respelt(Questions("q", rows, {"school": source}, tmp_path), 1.0, 0, tmp_path, sandbox)
    assert sorted(one["example_id"] for part in parts for one in part.rows) == [one["example_id"] for one in rows]
    spelt = [part for part in parts if part.instances is None and part.rows[0].get(RESPELT)]
    assert 1 < len(spelt) <= VARIANTS
    assert sum(len(part.rows) for part in spelt) >= 44
    schemas = {tuple(part.sources["school"].profile.schema) for part in spelt}
    assert len(schemas) > 1
    for part in spelt:
        there = part.sources["school"]
        names = {*there.profile.schema, *(column for table in there.profile.schema.values() for column in table)}
        for one in part.rows:
            gold = next(old["sql"] for old in rows if old["example_id"] == one["example_id"])
            before, after = sandbox.run_many([(source.database, gold), (there.database, one["sql"])])
            assert before.digest == after.digest
            assert one["instances"] == []
        used = {name for table in there.profile.schema for name in (table,) if table in part.rows[0]["sql"]}
        assert used <= names


def test_trajectories_speak_of_the_other_names(source: Source, sandbox: Sandbox, tmp_path: Path) -> None:
    rows = tuple(row(number, GOLDS[0]) for number in range(12))
    parts = respelt(Questions("q", rows, {"school": source}, tmp_path), 1.0, 3, tmp_path, sandbox)
    part = next(one for one in parts if "school_id" not in str(one.sources["school"].profile.schema))
    habits = Habits(explore=0.5, mistake=0.0, rehearse=1.0)
    kept, _ = make_trajectories(part.rows, part.tasks(PromptFormat()), part.sources, sandbox, habits=habits)
    table = next(iter(part.sources["school"].profile.schema))
    assert kept.height
    for one in kept.iter_rows(named=True):
        assert RESPELT in one["features"]
        assert table in one["prompt"]
        assert "school_id" not in one["prompt"] + one["transcript"]


def test_what_cannot_follow_stays(source: Source, sandbox: Sandbox, tmp_path: Path) -> None:
    rows = (
        row(0, GOLDS[1], evidence="a lesson is a row of lesson"),
        row(1, "SELECT ghost FROM school"),
        row(2, GOLDS[1], answerable=False),
        row(3, GOLDS[1]),
    )
    asked = Questions("q", rows, {"school": source}, tmp_path)
    stays, moved = respelt(asked, 1.0, 0, tmp_path, sandbox)
    assert [one["example_id"][-1] for one in stays.rows] == ["0", "1", "2"]
    assert stays.sources["school"] is source
    assert [one["example_id"][-1] for one in moved.rows] == ["3"]
    assert respelt(asked, 0.0, 0, tmp_path, sandbox) == [asked]


def test_the_same_seed_spells_alike(source: Source, sandbox: Sandbox, tmp_path: Path) -> None:
    asked = Questions("q", tuple(row(n, GOLDS[n % 3]) for n in range(9)), {"school": source}, tmp_path)
    one, other = (respelt(asked, 0.5, 7, tmp_path, sandbox) for _ in range(2))
    assert [part.rows for part in one] == [part.rows for part in other]
