"""An agent of this project as a solver: asked as it was trained, told no gold, fresh attempts each cycle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from making import database_at
from train import scripted
from train.small import Scripted, make_corpus

from agro_data.alignment.cycles import Rule, check
from agro_data.alignment.example import Example, Home
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Limits
from agro_data.profiling.cache import cached_profile
from agro_train.agents.agent import Agent
from agro_train.agents.endpoint import Characters
from agro_train.predict import TOGETHER
from agro_train.solving import agent_solver
from agro_train.tasks import PromptFormat

RIGHT = "<think>so</think><solution>SELECT name FROM school</solution>"
SANDBOX = Sandbox(limits=Limits())


@pytest.fixture
def rows(tmp_path: Path) -> list[Example]:
    version = make_corpus(tmp_path)
    database = database_at(tmp_path / "databases")
    profile = cached_profile(database, tmp_path / "profiles")
    home = Home.of(database, profile, version.path / "instances", ["school/other.sqlite"])
    said = version.examples().collect().head(2).to_dicts()
    return [home.example(row | {"style": "formal", "steps": [{"intent": "the names"}]}) for row in said]


def test_its_answers_are_held_against_the_gold(rows: list[Example], tmp_path: Path) -> None:
    read: list[str] = []
    seeds: list[int] = []

    def script(text: str, seed: int) -> str:
        read.append(text)
        seeds.append(seed)
        return RIGHT if len(read) % 2 else "I do not know"

    agent = Agent("a", Scripted(Characters(), script), Characters(), PromptFormat(), "0" * 64)
    solver = agent_solver(agent, SANDBOX, tmp_path, samples=2)
    first, second = check(rows, [solver], Rule(need=1, cycles=2), SANDBOX)
    assert (first.fate, first.score, first.history[0].ballot.asked) == ("verified", 0.5, 2)
    assert second.fate == "verified"  # 1 of 2 gives another answer, which the next cycle confirms
    assert second.example.sql == "SELECT name FROM school"
    assert len(set(seeds)) == len(seeds) == 6
    assert all(row.question in "".join(read) for row in rows)
    assert not any(row.sql in text for row in rows for text in read)
    drawn = {"samples": 2, "temperature": 0.7, "direct": False}
    assert solver.facts == {"model": "a", "weights": "0" * 64, "corpus": None, **drawn}


def test_what_was_answered_is_not_asked_again(rows: list[Example], tmp_path: Path) -> None:
    read: list[str] = []
    gone = [rows[1].question]

    def script(text: str, seed: int) -> str:
        read.append(text)
        if any(question in text for question in gone):
            raise ConnectionError("the server is gone")
        return RIGHT

    agent = Agent("a", Scripted(Characters(), script), Characters(), PromptFormat(), "0" * 64)

    def attempts(cycle: int) -> Sequence[Sequence[str]]:
        return agent_solver(agent, SANDBOX, tmp_path / "kept", samples=TOGETHER).attempts(rows, cycle)

    with pytest.raises(ConnectionError):
        attempts(1)
    assert sum(rows[0].question in text for text in read) == TOGETHER
    gone.clear()
    read.clear()
    found = attempts(1)
    assert [len(answers) for answers in found] == [TOGETHER, TOGETHER]
    assert not any(rows[0].question in text for text in read)
    read.clear()
    assert attempts(1) == found
    assert read == []
    attempts(2)
    assert len(read) == 2 * TOGETHER, "each cycle has attempts of its own"


def test_what_a_server_refused_is_asked_again(rows: list[Example], tmp_path: Path) -> None:
    sampler = scripted.Scripted(lambda *_: RIGHT)
    agent = Agent("a", sampler, Characters(), PromptFormat(), "0" * 64)
    told: list[str] = []
    solver = agent_solver(agent, SANDBOX, tmp_path / "kept", samples=2, refused=told.append)
    sampler.refusal = "the model is loading"
    assert solver.attempts(rows, 1) == [["", ""], ["", ""]]
    assert told == ["a: the model is loading"] * 2
    sampler.refusal = ""
    found = solver.attempts(rows, 1)
    assert found == [["SELECT name FROM school"] * 2] * 2
    calls = len(sampler.calls)
    assert solver.attempts(rows, 1) == found
    assert (len(sampler.calls), len(told)) == (calls, 2)
