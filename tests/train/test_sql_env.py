"""The environment on a real engine: what an agent sees, how a rollout ends, and what it earns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from making import database_at, make_school

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Limits, Result
from agro_data.protocol import Step, Turn, parse_transcript, render_transcript
from agro_data.verify.golds import GoldResults
from agro_train.rewards import AGRO, PRESETS, reward
from agro_train.sql_env import SqlEnv, check_golds, score, step
from agro_train.tasks import Task

SCHEMA = {
    "school": {"school_id": "INTEGER", "name": "TEXT", "city": "TEXT", "founded": "INTEGER"},
    "teacher": {
        "teacher_id": "INTEGER",
        "name": "TEXT",
        "subject": "TEXT",
        "salary": "REAL",
        "school_id": "INTEGER",
    },
}
GOLD = "SELECT name FROM school WHERE founded > 1921"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = make_school(tmp_path_factory.mktemp("env") / "school.sqlite")
    return database_at(path)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, database: Database) -> Database:
    """An instance in which a school was founded in 1922."""
    path = tmp_path_factory.mktemp("instance") / "other.sqlite"
    path.write_bytes(database.path.read_bytes())
    connection = sqlite3.connect(path)
    connection.execute("UPDATE school SET founded = 1922 WHERE school_id = 1")
    connection.commit()
    connection.close()
    return replace(database, path=path, content_hash="other", relative_path="school/other.sqlite")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, limits=Limits(seconds=2)) as one:
        yield one


def task_of(database: Database, *instances: Database, gold: str = GOLD) -> Task:
    return Task("0" * 16, "the prompt", "Which?", gold, database, instances, schema=SCHEMA)


def turn(action: str, sql: str) -> str:
    return f"<think>so</think><{action}>{sql}</{action}>"


def rollout(task: Task, texts: list[str], sandbox: Sandbox, max_turns: int = 6) -> SqlEnv:
    env = SqlEnv(max_turns=max_turns)
    assert env.reset(task) == "the prompt"
    for text in texts:
        step([env], [text], sandbox)
    return env


def test_a_rollout_sees_true_observations_and_is_scored(database: Database, sandbox: Sandbox) -> None:
    texts = [turn("sql", "SELECT founded FROM school LIMIT 2"), turn("sql", "SELECT nmae FROM school")]
    env = rollout(task_of(database), [*texts, turn("solution", GOLD)], sandbox)
    first, second, last = env.steps
    assert first.observation == "founded\n1907\n1914\n(2 rows, 5 turns left)"
    assert second.observation is not None
    assert "no column nmae in school (did you mean name?)" in second.observation
    assert last == Step(Turn("so", "solution", GOLD), None)
    assert env.outcome == "answered"
    assert [look.error_class for look in env.looks] == ["", "schema"]
    assert parse_transcript(render_transcript(env.steps)) == tuple(env.steps)
    (finished,) = score([env], sandbox, GoldResults(), details=True)
    assert finished.right
    assert finished.exact
    assert finished.exploration == 0.5
    assert reward(finished, AGRO).total == 1.0


def test_what_stood_before_a_turn_goes_on_by_itself(database: Database, sandbox: Sandbox) -> None:
    looks = [turn("sql", "SELECT 1"), turn("sql", "SELECT 2")]
    env = rollout(task_of(database), looks, sandbox)
    for turns in (1, 2):
        part = env.before(turns)
        assert (part.steps, part.outcome) == (env.steps[:turns], None)
        step([part], [turn("solution", GOLD)], sandbox)
        assert part.solution == GOLD
    assert (env.turns, len(env.looks), env.outcome) == (2, 2, None)
    with pytest.raises(ValueError, match="2 observations has no prefix of 3 turns"):
        env.before(3)


def test_a_share_of_the_instances(database: Database, other: Database) -> None:
    task = task_of(database, other, other, other)
    assert task.graded_on(1.0) == task
    assert task.graded_on(0.0).databases == (database,)
    assert len(task.graded_on(0.5).instances) == 2


def test_right_means_right_on_all_instances(database: Database, other: Database, sandbox: Sandbox) -> None:
    lucky = turn("solution", "SELECT name FROM school WHERE founded > 1925")
    golds = GoldResults()
    alone, both = (rollout(task, [lucky], sandbox) for task in (task_of(database), task_of(database, other)))
    found = score([alone, both], sandbox, golds)
    assert [one.right for one in found] == [True, False]
    assert both.grade is not None
    assert both.grade.place == "school/other.sqlite"
    assert [reward(one).total for one in found] == [1.0, 0.0]


def test_a_weaker_comparison_pays_for_rows_that_are_there_twice(database: Database, sandbox: Sandbox) -> None:
    twice = turn("solution", f"SELECT * FROM ({GOLD}) UNION ALL SELECT * FROM ({GOLD})")
    golds = GoldResults()
    asked = rollout(task_of(database), [twice], sandbox)
    (strict,), (bird,) = score([asked], sandbox, golds), score([asked], sandbox, golds, mode="bird")
    assert (strict.right, bird.right) == (False, True)
    assert (reward(strict).total, reward(bird).total) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("texts", "outcome", "earned"),
    [
        ([turn("solution", GOLD)], "answered", 1),
        ([turn("solution", "SELECT name FROM school")], "answered", 0),
        ([turn("solution", "SELECT ghost FROM school")], "answered", 0),
        ([turn("solution", "DROP TABLE school")], "answered", 0),
        (["I do not know"], "malformed", -1),
        ([turn("sql", GOLD), turn("sql", GOLD) + turn("sql", GOLD)], "malformed", -1),
        ([turn("sql", GOLD)] * 3, "truncated", 0),
    ],
)
def test_each_end_has_its_reward(
    database: Database, sandbox: Sandbox, texts: list[str], outcome: str, earned: float
) -> None:
    env = rollout(task_of(database), texts, sandbox, max_turns=3)
    (finished,) = score([env], sandbox, GoldResults())
    assert finished.outcome == outcome
    assert reward(finished, AGRO).total == earned
    assert finished.right == (earned == 1)


def test_a_cut_turn_is_truncated_and_never_a_success(database: Database, sandbox: Sandbox) -> None:
    env = SqlEnv()
    env.reset(task_of(database))
    assert step([env], [f"<think>so</think><solution>{GOLD}"], sandbox, cut=[True]) == [None]
    assert env.outcome == "truncated"
    (finished,) = score([env], sandbox, GoldResults())
    assert (finished.right, reward(finished).total) == (False, 0.0)


def test_many_step_together_with_one_call(
    database: Database, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    real = Sandbox.run_many

    def counted(self: Sandbox, pairs: object, want: object = "digest") -> list[Result]:
        asked = list(pairs)  # type: ignore[call-overload]
        calls.append(len(asked))
        return real(self, asked, want)  # type: ignore[arg-type]

    monkeypatch.setattr(Sandbox, "run_many", counted)
    envs = [SqlEnv() for _ in range(64)]
    for env in envs:
        env.reset(task_of(database))
    texts = [turn("sql", f"SELECT {n % 4} FROM school") if n % 2 else "no tags" for n in range(64)]
    seen = step(envs, texts, sandbox)
    assert calls == [2]  # two different queries, of 32
    assert [text is None for text in seen] == [n % 2 == 0 for n in range(64)]
    for number, text in enumerate(seen):
        assert text is None or f"\n{number % 4}\n" in text


def test_turns_are_taken_in_turn(database: Database) -> None:
    env = SqlEnv()
    with pytest.raises(RuntimeError, match="out of turn"):
        env.act(turn("sql", GOLD))
    env.reset(task_of(database))
    with pytest.raises(RuntimeError, match="without a query"):
        env.observe(Result("ok"))
    with pytest.raises(RuntimeError, match="has ended"):
        env.cases()
    assert env.act(turn("sql", GOLD)) == GOLD
    with pytest.raises(RuntimeError, match="out of turn"):
        env.act(turn("sql", GOLD))
    env.reset(task_of(database))
    assert (env.steps, env.looks, env.outcome) == ([], [], None)


def test_hostile_queries_cost_an_error_and_nothing_else(database: Database, sandbox: Sandbox) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    before = database.path.read_bytes()
    texts = [turn("sql", sql) for sql in ("DROP TABLE school", "ATTACH 'x' AS x", "SELECT 1; SELECT 2", endless)]
    env = rollout(task_of(database), texts, sandbox)
    assert all((one.observation or "").startswith("Error: ") for one in env.steps)
    assert env.looks[-1].error_class == "time_limit"
    assert database.path.read_bytes() == before


@pytest.mark.parametrize("odd", ["t INTERSECT SELECT name FROM school", "SELECT MAX(DISTINCT) FROM school", "SELECT ("])
def test_what_no_reader_follows_is_a_wrong_answer(database: Database, sandbox: Sandbox, odd: str) -> None:
    """Such a statement stopped the training of the model that wrote it."""
    env = rollout(task_of(database), [turn("sql", odd), turn("solution", odd)], sandbox)
    assert len(env.anchors()) == 2
    (finished,) = score([env], sandbox, GoldResults(), details=True)
    assert (finished.right, finished.executed, finished.entity, finished.exploration) == (False, False, 0.0, 0.0)


def test_anchors_are_shared_by_what_was_seen(database: Database, sandbox: Sandbox) -> None:
    task = task_of(database)
    one = rollout(task, [turn("sql", "SELECT name FROM school"), turn("solution", GOLD)], sandbox)
    two = rollout(task, [turn("sql", 'select  "name" from school'), turn("solution", GOLD)], sandbox)
    three = rollout(task, [turn("sql", "SELECT ghost FROM school"), turn("solution", GOLD)], sandbox)
    assert one.anchors() == two.anchors()
    assert one.anchors()[0] == three.anchors()[0]
    assert one.anchors()[1] != three.anchors()[1]


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_golds_are_checked_and_faults_are_listed(
    database: Database, other: Database, sandbox: Sandbox, name: str
) -> None:
    tasks = [task_of(database, other), task_of(database, gold="SELECT name FROM teacher WHERE salary > 2500")]
    assert check_golds(tasks, sandbox, GoldResults(), PRESETS[name]) == []
    broken = [*tasks, task_of(database, gold="SELECT ghost FROM school")]
    empty = task_of(database, gold="SELECT name FROM school WHERE founded > 3000")
    faults = check_golds([*broken, empty], sandbox, GoldResults(), PRESETS[name])
    assert len(faults) == 2
    assert "ghost" in str(faults[0])
    assert "empty on every instance" in str(faults[1])


def test_a_gold_that_fails_on_an_instance_is_a_fault(
    database: Database, other: Database, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Else an answer would be held to the instances that are left, and be right by luck."""
    bare = tmp_path / "bare.sqlite"
    sqlite3.connect(bare).execute("CREATE TABLE bare (x)")
    without = replace(other, path=bare, content_hash="bare")
    (fault,) = check_golds([task_of(database, other, without), task_of(database, other)], sandbox, GoldResults())
    assert "fails on 1 of 3 databases, first bare.sqlite" in str(fault)
