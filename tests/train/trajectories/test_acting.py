"""A model as the teacher: of what it did, that is learnt from which came out right."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from train.model_server import Server, message
from train.scripted import Scripted, agent, turn
from train.small import cold_start_config, make_split_corpus, make_writer, prompts_of
from train.tiny import make_tiny_model

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.publish.read import Version, open_version
from agro_train.cold_start import ColdStartConfig, train
from agro_train.language_model.loading import hash_as_read
from agro_train.programs.settings import SettingsError
from agro_train.questions import PLAIN, Questions, questions_of_version
from agro_train.tasks import PromptFormat
from agro_train.teach import make
from agro_train.trajectories.acting import Attempts, Teacher, act
from agro_train.trajectories.store import steps_of

pytestmark = pytest.mark.ci

Acted = Callable[..., tuple[pl.DataFrame, pl.DataFrame, Scripted]]

NAMES = "SELECT name FROM school"
ASKED = re.compile(r"What is the (\w+) of each (\w+)\?")


@pytest.fixture
def corpus(tmp_path: Path) -> Version:
    return make_split_corpus(tmp_path)


@pytest.fixture
def config(tmp_path: Path, corpus: Version) -> ColdStartConfig:
    small = cold_start_config(corpus, make_tiny_model(tmp_path / "tiny"))
    return replace(small, examples=9, pool=1.0, batch=1, micro_batch=1, check_questions=0, teacher="model")


@pytest.fixture
def acted(tmp_path: Path, corpus: Version, sandbox: Sandbox) -> Acted:
    """What comes of the question for the names of the schools, when a script answers it."""
    rows = questions_of_version(corpus, tmp_path / "databases", tmp_path / "cache", "train", columns=COLUMNS)
    asked = replace(rows, rows=tuple(row for row in rows.rows if row["sql"] == NAMES))

    def run(say: Callable[[str, int, int], str], **settings: Any) -> tuple[pl.DataFrame, pl.DataFrame, Scripted]:
        sampler = Scripted(say)
        teacher = Teacher.of(agent(sampler), Attempts(**settings), turns=3)
        return *play(asked, teacher, sandbox, tmp_path / "cache"), sampler

    return run


COLUMNS = (
    *("example_id", "db_id", "question", "evidence", "sql", "hardness"),
    *("order_matters", "alternatives", "instances", "split", *PLAIN),
)


def play(asked: Questions, teacher: Teacher, sandbox: Sandbox, cache: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    prompts = [task.prompt for task in asked.tasks(PromptFormat(turns=3))]
    return act(asked.rows, prompts, asked.tasks(teacher.agent.prompt_format), teacher, sandbox, cache)


def recovering(text: str, wrong: str = "SELECT nom FROM school") -> str:
    return turn("solution", NAMES) if "<observation>\n" in text else turn("sql", wrong, "I look.")


def test_what_is_right_is_kept_as_it_happened(acted: Acted) -> None:
    kept, dropped, _ = acted(lambda text, *_: recovering(text), samples=1)
    assert dropped.is_empty()
    [row] = kept.to_dicts()
    assert (row["teacher"], row["features"]) == ("scripted", ["looked", "recovered"])
    assert [one["error_class"] for one in row["turns"]] == ["schema", ""]
    first, last = steps_of(row)
    assert "no column nom in school" in str(first.observation)
    assert "2 turns left" in str(first.observation)
    assert (last.turn.text, last.observation) == (NAMES, None)
    assert "At most 3 turns" in row["prompt"]


def test_every_other_attempt_is_dropped_with_its_class(acted: Acted) -> None:
    said = [
        turn("solution", "SELECT city FROM school"),
        turn("solution", "SELECT name FROM school WHERE founded > 1900"),  # right on the database alone
        turn("solution", "SELECT nom FROM school"),
        "I do not know.",
        turn("sql", NAMES),
        turn("solution", NAMES),
        turn("solution", NAMES, "another thought"),
        turn("solution", "SELECT school.name FROM school"),
    ]

    def say(text: str, number: int, seed: int) -> str:
        return turn("sql", NAMES) if "<observation>\n" in text else said[number]

    kept, dropped, _ = acted(say, samples=8)
    assert kept["features"].to_list() == [[]]
    wrong = ["not_right", "not_right", "failed", "malformed", "truncated"]
    assert dropped["reason"].to_list() == [*wrong, "alike", "further"]
    assert dropped["detail"][3].startswith("malformed (no_tag)")
    assert "('Another') is missing" in dropped["detail"][1]  # a row of the instance
    both, dropped, _ = acted(say, samples=8, keep=2)
    assert both.height == 2
    assert dropped["reason"].to_list() == [*wrong, "alike"]


def test_a_program_that_was_ended_goes_on(acted: Acted) -> None:
    kept, dropped, sampler = acted(lambda text, *_: recovering(text))
    again, others, idle = acted(lambda text, *_: recovering(text))
    assert sampler.calls
    assert not idle.calls
    assert again.equals(kept)
    assert others.equals(dropped)
    assert acted(lambda text, *_: recovering(text), temperature=0.5)[2].calls  # other attempts


def test_what_a_server_refused_is_asked_again(tmp_path: Path, corpus: Version, sandbox: Sandbox) -> None:
    asked = questions_of_version(corpus, tmp_path / "databases", tmp_path / "cache", "train", columns=COLUMNS).first(1)
    sampler = Scripted(lambda *_: turn("solution", asked.rows[0]["sql"]))
    teacher = Teacher.of(agent(sampler), Attempts(samples=2), turns=3)
    sampler.refusal = "the model is loading"
    kept, dropped = play(asked, teacher, sandbox, tmp_path / "cache")
    assert kept.is_empty()
    assert dropped["reason"].to_list() == ["refused", "refused"]
    sampler.refusal = ""
    kept, dropped = play(asked, teacher, sandbox, tmp_path / "cache")
    assert (kept.height, dropped["reason"].to_list()) == (1, ["alike"])
    calls = len(sampler.calls)
    play(asked, teacher, sandbox, tmp_path / "cache")
    assert len(sampler.calls) == calls


def test_what_is_said_of_a_question_is_part_of_what_was_attempted(
    tmp_path: Path, corpus: Version, sandbox: Sandbox
) -> None:
    found = questions_of_version(corpus, tmp_path / "databases", tmp_path / "cache", "train", columns=COLUMNS)
    [row] = [row for row in found.rows if row["sql"] == NAMES]
    teacher = Teacher.of(agent(Scripted(lambda *_: turn("solution", NAMES))), Attempts(samples=1), turns=3)
    for hardness in ("easy", "hard"):
        asked = replace(found, rows=({**row, "hardness": hardness},))
        assert play(asked, teacher, sandbox, tmp_path / "cache")[0]["hardness"].to_list() == [hardness]


def test_an_answer_that_was_run_before_is_no_look(acted: Acted) -> None:
    kept, _, _ = acted(lambda text, *_: recovering(text, NAMES), samples=1)
    assert kept["features"].to_list() == [["rehearsed"]]


def test_attempts_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="all the same"):
        Attempts(samples=2, temperature=0.0)
    with pytest.raises(ConfigError, match="a temperature of -1: expected 0"):
        Attempts(samples=1, temperature=-1.0)
    with pytest.raises(ConfigError, match="cannot be kept"):
        Attempts(samples=2, keep=3)
    with pytest.raises(SettingsError, match="no teacher 'models'"):
        ColdStartConfig(teacher="models")  # type: ignore[arg-type]


def test_a_model_that_is_right_on_nothing(config: ColdStartConfig) -> None:
    with pytest.raises(SettingsError, match=r"tiny is right on none of 9 questions, 4 attempts at each \(\w+ \d+"):
        train(config)


def test_a_server_teaches_beside_the_decompositions(config: ColdStartConfig, tmp_path: Path) -> None:
    server = Server()

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        asked = ASKED.search(body["messages"][0]["content"])
        return message(turn("solution", f"SELECT {asked[1]} FROM {asked[2]}", "It is asked for.") if asked else "x")

    server.handle = reply
    try:
        both = replace(config, teacher="both", teacher_model=f"{server.base}#big", examples=18)
        made = make(both)
    finally:
        server.server.shutdown()
        server.server.server_close()
    assert made.teacher == "decomposition and big"
    assert made.trajectories["teacher"].value_counts().sort("teacher").rows() == [("big", 9), ("decomposition", 9)]
    assert made.stored is not None
    learnt = train(replace(both, learn_from=str(made.stored)))
    assert learnt.manifest["acting"]["model"] == "big"
    assert learnt.manifest["tokens"]["examples"] == 18


@pytest.mark.slow
def test_a_model_goes_on_from_its_own_right_answers(config: ColdStartConfig, corpus: Version, tmp_path: Path) -> None:
    """The tiny model, taught to answer one question, learns from what it then answers rightly."""
    [prompt] = [prompt for prompt in prompts_of(corpus) if "What is the name of each school?" in prompt]
    writer = make_writer(tmp_path / "writer", [prompt], [turn("solution", NAMES)], steps=200)
    own = replace(config, model=str(writer), teacher_samples=2, teacher_temperature=0.3)
    lines: list[Mapping[str, Any]] = []
    run = train(own, lines.append)
    made = open_version(tmp_path / run.manifest["trajectories"])
    rows = made.examples().collect()
    assert set(rows["teacher"]) == {"writer"}
    assert all(row["turns"][-1]["text"] == NAMES for row in rows.to_dicts())
    assert {line["phase"] for line in lines} >= {"teacher", "trajectories", "cold_start"}
    facts = run.manifest["acting"]
    assert facts == made.manifest["settings"]["acting"]
    assert (run.manifest["teacher"], facts["samples"], facts["temperature"], facts["keep"]) == ("writer", 2, 0.3, 1)
    assert facts["weights"] == hash_as_read(writer)
    assert run.manifest["dropped"]["not_right"]
    # another machine makes the same, and the run that came of it can teach in its turn
    elsewhere = make(replace(own, cache=str(tmp_path / "elsewhere"), trajectories=str(tmp_path / "there")))
    assert elsewhere.stored is not None
    assert elsewhere.stored.name == made.name
    student = train(replace(config, teacher_model="cold-start", teacher_samples=2, name="student"))
    assert student.manifest["teacher"] == run.name
    assert student.manifest["acting"]["weights"] == hash_as_read(run.model)
    assert student.manifest["databases"] == run.manifest["databases"]
