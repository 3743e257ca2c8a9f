"""Trajectories from decompositions, on a real engine: what is said to have been seen has been seen."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import database_at, make_school
from train.small import GOLD, MATCHED, example

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Result
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising.asked import Source
from agro_data.profiling.serialising.linking import index_schema
from agro_data.protocol import MAX_TURNS, parse_transcript, render_observation
from agro_data.publish.read import Version, latest
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_train.tasks import NoTask, Task, make_task
from agro_train.trajectories.store import TRAJECTORY, write_trajectories
from agro_train.trajectories.teachers import (
    FEATURES,
    Habits,
    _wrong_columns,
    _wrong_tables,
    make_trajectories,
    plan_trajectory,
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    database = database_at(make_school(tmp_path_factory.mktemp("teach") / "school.sqlite"))
    profile = profile_database(database)
    return Source(database, profile, index_schema(profile))


@pytest.fixture(scope="module")
def made(source: Source, sandbox: Sandbox) -> tuple[list[Task], pl.DataFrame, pl.DataFrame]:
    rows = [example(number) for number in range(40)]
    tasks = [make_task(row, source, Path()) for row in rows]
    return tasks, *make_trajectories(rows, tasks, {"school": source}, sandbox, habits=Habits(0.6, 0.6, 0.5))


def test_every_way_of_working_occurs(made: tuple[list[Task], pl.DataFrame, pl.DataFrame]) -> None:
    _, kept, dropped = made
    assert kept.height + dropped.height == 40
    assert kept.height >= 30
    assert set(dropped["reason"]) <= {"mistake_unseen"}
    counted = Counter(feature for features in kept["features"] for feature in features)
    assert set(counted) == set(FEATURES)
    assert set(kept["turns"].list.len()) <= set(range(2, MAX_TURNS + 1))


def test_a_gold_runs_once_to_judge_its_trajectory(
    source: Source, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [example(number) for number in range(4)]
    ran: list[str] = []
    run_many = sandbox.run_many

    def counted(pairs: Sequence[tuple[Database, str]], *rest: Any, **named: Any) -> list[Result]:
        ran.extend(sql for _, sql in pairs)
        return run_many(pairs, *rest, **named)

    monkeypatch.setattr(sandbox, "run_many", counted)
    tasks = [make_task(row, source, Path()) for row in rows]
    kept, _ = make_trajectories(rows, tasks, {"school": source}, sandbox, habits=Habits(0.0, 0.0, 0.0))
    assert kept.height == 4
    assert max(Counter(ran)[row["sql"]] for row in rows) == 1


def test_observations_are_what_the_engine_answers(
    made: tuple[list[Task], pl.DataFrame, pl.DataFrame], source: Source, sandbox: Sandbox
) -> None:
    _, kept, _ = made
    for row in kept.to_dicts():
        steps = parse_transcript(row["transcript"])
        assert isinstance(steps, tuple)
        assert steps[-1].turn.action == "solution"
        assert steps[-1].turn.text == GOLD
        asked = [turn["text"] for turn in row["turns"][:-1]]
        for place, result in enumerate(sandbox.run(source.database, asked, want="rows")):
            observed = steps[place].observation or ""
            if result.ok:
                assert observed == render_observation(result, MAX_TURNS - place - 1)
            else:
                assert re.match(r"Error: no (table|column) \w+", observed)


def test_mistakes_show_and_are_corrected(
    made: tuple[list[Task], pl.DataFrame, pl.DataFrame], source: Source, sandbox: Sandbox
) -> None:
    _, kept, _ = made
    for row in kept.to_dicts():
        classes = [turn["error_class"] for turn in row["turns"]]
        assert ("schema" in classes) == bool({"wrong_column", "wrong_table"} & set(row["features"]))
        wrong = {"wrong_table", "wrong_column", "wrong_query"} & set(row["features"])
        assert sum(not turn["learnt"] for turn in row["turns"]) == len(wrong)
        for kind in ("table", "column"):
            if f"wrong_{kind}" in wrong:
                after = row["turns"][classes.index("schema") + 1]
                assert after["thought"].startswith(f"There is no {kind} ")
                assert after["text"] == GOLD
        if "wrong_query" in wrong:
            place = next(place for place, turn in enumerate(row["turns"]) if not turn["learnt"])
            mistaken, after = row["turns"][place : place + 2]
            assert (mistaken["error_class"], after["text"], after["learnt"]) == ("", GOLD, True)
            gave, wanted = sandbox.run(source.database, [mistaken["text"], GOLD], want="rows")
            assert sorted(gave.rows) != sorted(wanted.rows)


def test_the_same_seed_gives_the_same_trajectories(source: Source, sandbox: Sandbox) -> None:
    rows = [example(number) for number in range(8)]
    tasks = [make_task(row, source, Path()) for row in rows]
    frames = [make_trajectories(rows, tasks, {"school": source}, sandbox, seed=3)[0] for _ in range(2)]
    assert frames[0].equals(frames[1])
    others = [plan_trajectory(row, source.profile, seed) for row in rows for seed in (3, 4)]
    assert others[::2] != others[1::2]


@pytest.mark.ci
def test_a_duckdb_database_is_worked_on_alike(tmp_path: Path, sandbox: Sandbox) -> None:
    """With names that must be quoted, values in any script, and NULLs."""
    with closing(duckdb.connect(tmp_path / "trade.duckdb")) as connection:
        connection.execute('CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR, "Größe m²" DOUBLE)')
        connection.execute(
            "CREATE TABLE sale (id INTEGER PRIMARY KEY, shop_id INTEGER REFERENCES shop (id), paid DOUBLE)"
        )
        connection.execute("INSERT INTO shop VALUES (1, '東京', 1.5), (2, 'Århus', NULL), (3, '</sql>', 2.5)")
        connection.execute("INSERT INTO sale VALUES (1, 1, 10), (2, 1, 20), (3, 2, NULL), (4, 3, 5)")
    (database,) = find_databases(tmp_path / "trade.duckdb").databases
    profile = profile_database(database)
    source = Source(database, profile, index_schema(profile))
    join = "SELECT sale.paid FROM sale JOIN shop ON sale.shop_id = shop.id WHERE shop.city = '東京' AND sale.paid > 10"
    golds = [join, 'SELECT city, "Größe m²" FROM shop'] * 20
    rows = [example(n, gold, db_id="trade", steps=[]) for n, gold in enumerate(golds)]
    tasks = [make_task(row, source, Path()) for row in rows]
    kept, dropped = make_trajectories(rows, tasks, {"trade": source}, sandbox, habits=Habits(0.7, 0.7, 0.5))
    assert kept.height > dropped.height
    assert set(dropped["reason"]) <= {"mistake_unseen"}
    found = {feature for features in kept["features"] for feature in features}
    assert found == {*FEATURES} - {"steps"}
    seen = "\n".join(turn["observation"] or "" for turns in kept["turns"] for turn in turns)
    assert all(shown in seen for shown in ("東京", "Größe m²", "NULL", "‹/sql>"))


def test_a_guess_that_is_a_reserved_word_is_no_fault_of_syntax(tmp_path: Path, sandbox: Sandbox) -> None:
    path = tmp_path / "trade.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, Total REAL)")
        connection.execute("INSERT INTO orders VALUES (1, 2.5)")
    (database,) = find_databases(path).databases
    names = resolve(parse_select("SELECT Total FROM orders", "sqlite"), "sqlite", profile_database(database).schema)
    guessed = [move.sql for move in _wrong_tables(names, profile_database(database))]
    assert 'SELECT Total FROM "order"' in guessed
    assert all("no such table" in result.error for result in sandbox.run(database, guessed))


def test_columns_that_no_query_names_are_not_named_wrongly(source: Source) -> None:
    """`SELECT *` with such a mistake would be the gold itself, whose trajectory is then dropped."""
    star = "SELECT * FROM school WHERE founded > 1900"
    names = resolve(parse_select(star, "sqlite"), "sqlite", source.profile.schema)
    guessed = [move.sql for move in _wrong_columns(names, source.profile)]
    assert guessed
    assert all("founded" not in text.split("WHERE")[1].split() and text != star for text in guessed)


@pytest.mark.ci
def test_many_steps_never_exceed_the_turns(source: Source) -> None:
    step = {"name": "x", "intent": "Look.", "sql": MATCHED}
    row = example(1, steps=[step] * 9 + [{"name": "answer", "intent": "Answer.", "sql": GOLD}])
    for seed in range(30):
        for most in (2, 4, 6):
            plan = plan_trajectory(row, source.profile, seed, Habits(1.0, 1.0, 1.0, max_turns=max(most, 4)))
            assert len(plan.turns) <= max(most, 4)
            assert len(plan.expected) == len(plan.turns) - 1


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 6), st.integers(1, 6), st.sampled_from((0.0, 1.0)), st.sampled_from((0.0, 1.0)), st.integers(0, 9)
)
def test_every_step_is_thought_of_once_whether_or_not_it_has_a_turn(
    source: Source, count: int, most: int, decompose: float, link: float, seed: int
) -> None:
    """Else the condition of a step that nobody takes is in the answer, and a model learns to think of none."""
    intents = [f"Do the part {number}." for number in range(count)]
    row = example(1, steps=[{"name": "x", "intent": one, "sql": MATCHED} for one in intents])
    habits = Habits(0.0, 0.0, 0.0, most, decompose, link)
    plan = plan_trajectory(row, source.profile, seed, habits)
    assert re.findall(r"Do the part \d+\.", " ".join(turn.thought for turn in plan.turns)) == intents
    assert len(plan.turns) == (min(count, most) if decompose else 1)


def test_what_cannot_be_used_is_dropped_with_its_reason(source: Source, sandbox: Sandbox) -> None:
    bad_step = [{"name": "x", "intent": "Look.", "sql": "SELECT ghost FROM school"}, example(0)["steps"][-1]]
    rows = [
        example(1, "SELECT name FROM school WHERE name = '</sql>'"),
        example(2, "SELECT ghost FROM school"),
        example(3, steps=bad_step),
    ]
    tasks = [make_task(row, source, Path()) for row in rows]
    kept, dropped = make_trajectories(rows, tasks, {"school": source}, sandbox, habits=Habits(0, 0, 0))
    assert kept.is_empty()
    assert dict(dropped.select("example_id", "reason").iter_rows()) == {
        rows[0]["example_id"]: "not_writable",
        rows[1]["example_id"]: "not_right",
        rows[2]["example_id"]: "step_failed",
    }


def test_a_missing_instance_is_said(source: Source, tmp_path: Path) -> None:
    with pytest.raises(NoTask, match="not there"):
        make_task(example(1, instances=["school/gone.sqlite"]), source, tmp_path)


def test_they_are_stored_as_a_version_of_their_own(
    made: tuple[list[Task], pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    _, kept, dropped = made
    corpus = Version(tmp_path / "shop" / "v0001-00000000")
    corpus.__dict__["manifest"] = {"corpus": "shop", "version": "v0001-00000000", "fingerprint": "0" * 64}
    first, again, other = (
        write_trajectories(tmp_path, corpus, kept, dropped, teacher="decomposition", settings={"seed": seed})
        for seed in (0, 0, 1)
    )
    assert first == again
    assert other.name.startswith("v0002-")
    assert latest(tmp_path, "shop-trajectories") == other
    version = Version(first)
    assert version.verify_hashes() == []
    assert version.manifest["of_corpus"]["version"] == "v0001-00000000"
    assert version.manifest["counts"]["trajectories"] == kept.height
    stored = version.examples().collect()
    assert stored.schema == TRAJECTORY
    assert stored.equals(kept.sort("trajectory_id"))
    with pytest.raises(ValueError, match="no trajectory was right"):
        write_trajectories(tmp_path, corpus, kept.clear(), dropped, teacher="decomposition", settings={})
