"""Passwords, keys and tokens: names in a schema, asked for by nobody, and no value of them goes anywhere."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from agro_data.databases.types import Cell, Database
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.sample import sample_intents
from agro_data.profiling.cache import encode
from agro_data.profiling.hidden.credentials import holds_credentials
from agro_data.profiling.profile import Kind
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising.serialise import fit_schema
from agro_data.records import CANDIDATE
from agro_data.stages.shard.synthesised import stored
from agro_data.synthesis.ideas import Idea

KEY = "ff14d6828c058775b9ea{:012d}"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    path = tmp_path / "app.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, encrypted_password TEXT, city TEXT, age INTEGER)"
        )
        rows = [(n, f"Member {n}", KEY.format(n), ("Oslo", "Bern")[n % 2], n % 7) for n in range(60)]
        connection.executemany("INSERT INTO members VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    return Database("app", "sqlite", "sqlite", path, hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


@pytest.mark.parametrize(
    ("name", "kind", "values", "held"),
    [
        ("password", "text", ["hunter2"], True),
        ("client secret", "text", ["a"], True),
        ("api key", "text", ["x"], True),
        ("cvv", "integer", [123, 456], True),
        ("reset password token", "text", [None, "eb3a83170d9679854a51"], True),
        ("token", "text", ["eb3a83170d9679854a51", "9f3a83170d9679854a52"], True),
        ("hash", "text", ["$2b$12$" + "a" * 53], True),  # told by its values
        ("token", "text", ["ETH", "BTC"], False),  # of a coin
        ("password changed at", "datetime", ["2024-01-01 10:00:00"], False),
        ("password hint", "text", ["my dog"], False),
        ("salt", "real", [0.5, 1.25], False),  # of a dish
        ("commit hash", "text", ["eb3a83170d9679854a51"], False),
        ("key", "text", ["C minor", "D major"], False),
        ("secretary", "text", ["Ann"], False),
        ("token count", "integer", [3], False),
    ],
)
def test_what_lets_somebody_in(name: str, kind: Kind, values: list[Cell], held: bool) -> None:
    assert holds_credentials(name.split(), kind, values) is held


def test_such_a_column_is_a_name_alone(database: Database) -> None:
    profile = profile_database(database)
    column = profile.table("members").column("encrypted_password")
    assert column.hidden
    assert column.distinct == 60  # how many there are is no secret
    assert KEY[:20] not in encode(profile)
    assert "encrypted_password" in fit_schema(profile, style="mschema", budget=2_000).text
    asked = [render_sql(intent, profile) for intent in islice(sample_intents(profile, seed=1), 300)]
    assert any("city" in sql for sql in asked)
    assert not any("password" in sql for sql in asked)
    [remark] = [problem for problem in profile.problems if "encrypted_password" in problem]
    assert "never asked for" in remark


def test_who_wants_it_says_so(database: Database, tmp_path: Path) -> None:
    wanted = tmp_path / "app.semantics.yml"
    wanted.write_text("tables: {members: {columns: {encrypted_password: {hidden: false}}}}")
    profile = profile_database(replace(database, semantics=wanted))
    assert not profile.hidden_columns
    assert not profile.problems


def test_a_query_that_reads_it_is_refused(database: Database) -> None:
    ideas = [
        Idea("SELECT encrypted_password FROM members", "llm:simple", 1),
        Idea("SELECT city FROM members", "llm:simple", 2),
    ]
    kept, refused = stored(ideas, profile_database(database), count=5, asked=True)
    assert kept.columns == list(CANDIDATE)
    assert kept["sql"].to_list() == ["SELECT city FROM members"]
    assert refused["reason"].to_list() == ["guarded"]
