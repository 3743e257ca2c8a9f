"""Questions without one answer, from the corpus to the reward: what is shown, taught, earned and measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from airport import make_airport
from making import build_corpus
from train.scripted import Scripted, agent, turn

import agro_data
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.protocol import Turn, parse_transcript, parse_turn
from agro_data.publish.read import Version
from agro_data.verify.golds import GoldResults
from agro_train.abstention import abstention
from agro_train.agents.agent import Agent
from agro_train.answers import Answer
from agro_train.clarifying import points_at
from agro_train.comparison.figures import Compared, compare, table
from agro_train.comparison.page import render_page
from agro_train.comparison.scoring import answerable, scored_by
from agro_train.predict import predict
from agro_train.questions import COLUMNS, Questions, one_question, questions_of_version
from agro_train.rewards import AGRO, PRESETS, reward
from agro_train.sql_env import SqlEnv, check_golds, score, step
from agro_train.tasks import PromptFormat, Task
from agro_train.trajectories.teachers import ASKED_BACK, make_trajectories

pytestmark = pytest.mark.ci

PROMPT_FORMAT = PromptFormat(style="compact", budget=400)


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Version:
    folder = tmp_path_factory.mktemp("airport")
    (folder / "databases").mkdir()
    make_airport(folder / "databases" / "airport.sqlite")
    return build_corpus(folder, folder / "databases", size=40, unanswerable=1 / 3, seed=2).version


@pytest.fixture(scope="module")
def questions(version: Version) -> Questions:
    root = version.path.parents[2]
    return questions_of_version(version, root / "databases", root / "cache", "train", (*COLUMNS, "steps", "split"))


@pytest.fixture(scope="module")
def tasks(questions: Questions) -> list[Task]:
    return questions.tasks(PROMPT_FORMAT)


def play(tasks: list[Task], texts: list[str], sandbox: Sandbox) -> list[SqlEnv]:
    envs = [SqlEnv() for _ in tasks]
    for env, task in zip(envs, tasks, strict=True):
        env.reset(task)
    step(envs, texts, sandbox)
    return envs


def ending(action: str, text: str) -> str:
    return f"<think>so</think><{action}>{text}</{action}>"


def test_what_is_hidden_is_in_no_prompt_and_all_prompts_begin_alike(tasks: list[Task]) -> None:
    assert all("<clarify>" in task.prompt for task in tasks)
    for task in tasks:
        for one in task.hidden:
            schema, _, asked = task.prompt.partition("Question: ")
            shown = schema + asked.partition("\nNamed: ")[2]
            if one.value:
                assert one.value not in shown
            elif one.column:
                assert one.column not in shown
            else:
                assert f"{one.table}(" not in shown
    assert {bool(task.hidden) for task in tasks} == {bool(task.readings) for task in tasks} == {True, False}


def test_a_person_is_asked_back_by_who_was_trained_to(questions: Questions) -> None:
    database = next(iter(questions.sources.values())).database
    asked = one_question("How many flights?", database, questions.databases.parent / "cache")
    assert "<clarify>" not in asked.tasks(PromptFormat())[0].prompt
    assert "<clarify>" in asked.tasks(PromptFormat(clarify=True))[0].prompt


def test_the_environment_does_not_find_what_is_hidden(tasks: list[Task], sandbox: Sandbox) -> None:
    hiding = [task for task in tasks if task.hidden]
    first = play(hiding, [ending("sql", f"SELECT * FROM {task.hidden[0].table}") for task in hiding], sandbox)
    for task, env in zip(hiding, first, strict=True):
        seen, one = env.steps[0].observation or "", task.hidden[0]
        if not one.column:
            assert f"no table {one.table}" in seen
        elif not one.value:
            assert one.column not in seen.splitlines()[0]
    again = play(hiding, [ending("sql", task.gold) for task in hiding], sandbox)
    for task, env in zip(hiding, again, strict=True):
        if not task.hidden[0].value:
            assert (env.steps[0].observation or "").startswith("Error: no ")


def test_golds_earn_all_there_is_in_every_preset(tasks: list[Task], sandbox: Sandbox) -> None:
    golds = GoldResults()
    for preset in PRESETS.values():
        assert [str(fault) for fault in check_golds(tasks, sandbox, golds, preset)] == []


def test_asking_back_is_right_where_there_is_no_answer_and_nowhere_else(tasks: list[Task], sandbox: Sandbox) -> None:
    own = next(task.clarification for task in tasks if not task.answerable)
    said = [task.clarification or own for task in tasks]
    shown = score(play(tasks, [ending("clarify", text) for text in said], sandbox), sandbox, GoldResults())
    for task, finished in zip(tasks, shown, strict=True):
        assert finished.outcome == "clarified"
        assert finished.right == (not task.answerable)
        assert reward(finished, AGRO).total == (-0.5 if task.answerable else 1.0)


@pytest.mark.parametrize("words", ["I cannot answer this.", "Which column is meant?", "name date price seats " * 40])
def test_set_words_earn_nothing(tasks: list[Task], sandbox: Sandbox, words: str) -> None:
    shown = score(play(tasks, [ending("clarify", words)] * len(tasks), sandbox), sandbox, GoldResults())
    assert not any(finished.right for finished in shown)
    assert sum(reward(finished, AGRO).total for finished in shown) < 0


def test_the_question_again_points_at_nothing(tasks: list[Task]) -> None:
    for task in tasks:
        assert not points_at(f"What do you mean by: {task.question}", task.question, task.points)
        if not task.answerable:
            assert points_at(task.clarification, task.question, task.points)


ASKED = "What is the average salary of teachers who work in Berlin?"


@pytest.mark.parametrize(
    ("said", "points"),
    [
        ("average salary of teachers who work in Berlin?", False),
        ("is the average salary of teachers who work in Berlin", False),
        ("salary, teachers, Berlin", False),
        ("What is the average? Is salary? Is teachers? Who work? In Berlin? Please say more, I cannot tell.", False),
        ("The salary?", True),
        ("Nothing in this database says the salary of teachers.", True),
        ("There is no teacher with a salary in Berlin here.", True),
    ],
)
def test_words_of_the_question_point_at_nothing(said: str, points: bool) -> None:
    assert points_at(said, ASKED, (("salary", "pay"),)) is points


def test_a_long_name_is_not_the_question_again() -> None:
    title = "The Old Man Who Read Love Stories While Rivers Rose Behind His House"
    said = f"There is no book with the title '{title}' in this database."
    assert points_at(said, f"Is there a book with the title {title}?", ((title,),))


@pytest.mark.parametrize("name", ["A", "O+", "+", "to", "On"])
def test_small_words_are_named_as_they_are_spelled(name: str) -> None:
    assert not points_at("I can say nothing here.", "How many students?", ((name,),))
    assert not points_at("Please explain.", "How many students?", ((name, name),))
    assert points_at(f"There is no student with the grade '{name}'.", "How many students?", ((name,),))


def test_an_answer_to_what_has_none_is_wrong_and_one_reading_is_a_guess(tasks: list[Task], sandbox: Sandbox) -> None:
    golds = GoldResults()
    unclear = [task for task in tasks if task.readings]
    for place in (0, 1):
        texts = [ending("solution", task.readings[place].sql) for task in unclear]
        shown = score(play(unclear, texts, sandbox), sandbox, golds)
        assert all(finished.guessed and not finished.right for finished in shown)
    hiding = [task for task in tasks if task.hidden]
    shown = score(play(hiding, [ending("solution", task.gold) for task in hiding], sandbox), sandbox, golds)
    assert not any(finished.right or finished.guessed for finished in shown)


def test_trajectories_ask_back_and_look_for_values_first(
    questions: Questions, tasks: list[Task], sandbox: Sandbox
) -> None:
    kept, dropped = make_trajectories(questions.rows, tasks, questions.sources, sandbox)
    asking = kept.filter(pl.col("features").list.contains(ASKED_BACK))
    without = {task.example_id for task in tasks if not task.answerable}
    assert set(asking["example_id"]) == without
    assert not without & set(dropped["example_id"])
    for row in asking.to_dicts():
        steps = parse_transcript(row["transcript"])
        assert isinstance(steps, tuple)
        assert steps[-1].turn.action == "clarify"
        if "'" in row["turns"][-1]["text"]:
            assert "(1 row" in str(row["turns"][0]["observation"])


def answers_of(questions: Questions, texts: Sequence[str]) -> list[Answer]:
    """What a model would have answered that wrote these turns."""
    turns = [turn for turn in map(parse_turn, texts) if isinstance(turn, Turn)]
    return [
        Answer(
            example_id=row["example_id"],
            db_id=row["db_id"],
            question=row["question"],
            gold=row["sql"],
            predictions=(turn.text if turn.action == "solution" else "",),
            outcomes=("answered" if turn.action == "solution" else "clarified",),
            transcripts=(text,),
            votes=(1,),
            turns=(1,),
            read=0,
            written=0,
            seconds=0.0,
        )
        for row, turn, text in zip(questions.rows, turns, texts, strict=True)
    ]


def test_false_abstention_is_measured(questions: Questions) -> None:
    def told(texts: dict[bool, str]) -> dict[str, Any]:
        said = [texts[row["answerable"]] or ending("clarify", row["clarification"] or "") for row in questions.rows]
        return abstention(questions, answers_of(questions, said))

    right = told({True: ending("solution", "SELECT 1"), False: ""})
    assert (right["false_abstention"], right["abstention"], right["named"]) == (0.0, 1.0, 1.0)
    always = told({True: ending("clarify", "What?"), False: ending("clarify", "What?")})
    assert (always["false_abstention"], always["abstention"], always["named"]) == (1.0, 1.0, 0.0)
    never = told({True: ending("solution", "SELECT 1"), False: ending("solution", "SELECT 1")})
    assert (never["false_abstention"], never["abstention"]) == (0.0, 0.0)
    counted = sum(kind["count"] for kind in never["kinds"].values())
    assert counted == never["unanswerable"] == sum(not row["answerable"] for row in questions.rows)
    assert never["answerable"] + never["unanswerable"] == len(questions.rows)


def test_an_evaluation_scores_what_has_an_answer_and_tells_the_rest_apart(questions: Questions) -> None:
    texts = [
        ending("solution", row["sql"]) if row["answerable"] else ending("clarify", row["clarification"])
        for row in questions.rows
    ]
    asker = Agent("asker", cast(Any, None), None, PROMPT_FORMAT, "")
    cache = questions.databases.parent / "cache"
    one = scored_by(questions, asker, answers_of(questions, texts), questions.instances, cache)
    asked = answerable(questions)
    figures = compare(asked, [one])
    assert figures["count"] == len(asked.rows) < len(questions.rows)
    told = figures["models"][0]
    assert (told["metrics"]["strict-ts"]["score"]["mean"], told["format_rate"], told["clarified_rate"]) == (
        1.0,
        1.0,
        0.0,
    )
    assert told["asked_back"]["named"] == 1.0
    assert table(figures)[0]["in vain"] == "0.0%"
    page = render_page([Compared(asked, (one,), figures)], "Models side by side")
    assert "Asked back" in page
    assert "missing column" in page


def test_a_file_of_predictions_is_scored_on_as_many_questions_as_the_table_shows(
    questions: Questions, tmp_path: Path
) -> None:
    out = tmp_path / "preds.jsonl"
    predict(questions, agent(Scripted(lambda *_: turn("solution", "SELECT 1"))), out)
    scored = agro_data.evaluate(out, questions.databases)
    assert len(scored.verdicts) == len(answerable(questions).rows) < len(questions.rows)
    said = json.loads(out.read_text().splitlines()[0])
    assert said["answerable"] == questions.rows[0]["answerable"]


def test_a_few_questions_of_which_none_has_an_answer_have_a_page(questions: Questions) -> None:
    few = replace(questions, rows=tuple(row for row in questions.rows if not row["answerable"])[:3])
    asker = Agent("asker", cast(Any, None), None, PROMPT_FORMAT, "")
    texts = [ending("clarify", row["clarification"]) for row in few.rows]
    one = scored_by(few, asker, answers_of(few, texts), few.instances, few.databases.parent / "cache")
    asked = answerable(few)
    page = render_page([Compared(asked, (one,), compare(asked, [one]))], "Models side by side")
    assert "0 questions on 0 databases" in page
    assert "Asked back" in page
