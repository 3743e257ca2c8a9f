"""Models behind a server as agents: found, asked questions, with what they refuse and cost."""

from __future__ import annotations

import json
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from making import make_school
from train.asked import make_place
from train.model_server import Server, completion, message
from train.scripted import one_database

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.llm.endpoint import EndpointError
from agro_train.agents.choosing import told_apart
from agro_train.agents.opening import open_agent
from agro_train.answers import answer
from agro_train.asking import ask
from agro_train.comparison.figures import compare, table
from agro_train.comparison.scoring import scored_by
from agro_train.decoding import Decoding
from agro_train.predict import predict
from agro_train.questions import questions_of_file
from agro_train.tasks import Task


def test_one_question_that_a_server_refuses_costs_only_itself(server: Server, tmp_path: Path) -> None:
    """The context is too short for one of three: the others are answered, and why it was not is said."""

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        said = body["messages"][-1]["content"] if body else ""
        if "teachers" in said:
            return 400, {"error": "this model's maximum context length is 9"}
        return message("<think>so</think><solution>SELECT COUNT(*) FROM school</solution>")

    server.handle = reply
    make_school(tmp_path / "school.sqlite")
    asked = [("schools", "school"), ("teachers", "teacher"), ("lessons", "lesson")]
    rows = [{"db_id": "school", "question": f"How many {n}?", "query": f"SELECT COUNT(*) FROM {t}"} for n, t in asked]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    questions = questions_of_file(tmp_path / "q.json", tmp_path, tmp_path / "cache")
    agent = open_agent(f"{server.base}#m", tmp_path, tmp_path)
    answers = predict(questions, agent, tmp_path / "preds.jsonl")
    assert [one.outcomes[0] for one in answers] == ["answered", "truncated", "answered"]
    scored = scored_by(questions, agent, answers, None, tmp_path / "cache")
    figures = compare(questions, [scored])
    assert figures["models"][0]["metrics"]["strict"]["right"] == 1
    (problem,) = figures["problems"]
    assert "refused 1 of the questions" in problem
    assert "maximum context length is 9" in problem
    server.handle, asked_before = lambda *_: reply("", {}, {}), len(server.asked)
    again = predict(questions, agent, tmp_path / "preds.jsonl")
    assert len(server.asked) == asked_before + 1, "what was answered is kept, and what was refused asked anew"
    assert [one.outcomes[0] for one in again] == ["answered"] * 3
    assert not scored_by(questions, agent, again, None, tmp_path / "cache").answers[1].refusal


@pytest.mark.ci
def test_what_a_server_has_answered_is_kept_soon(server: Server, tmp_path: Path) -> None:
    """Whoever is stopped loses no more than a few requests, which are paid for."""
    server.handle = lambda *_: message("<think>so</think><solution>SELECT COUNT(*) FROM school</solution>")
    make_school(tmp_path / "school.sqlite")
    rows = [{"question_id": n, "db_id": "school", "question": f"How many schools, {n}?"} for n in range(40)]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    questions = questions_of_file(tmp_path / "q.json", tmp_path, tmp_path / "cache")
    agent = open_agent(f"{server.base}#m", tmp_path, tmp_path)
    out, kept = tmp_path / "preds.jsonl", list[int]()

    def count(*_: object) -> None:
        kept.append(len(out.read_text().splitlines()) if out.exists() else 0)

    predict(questions, agent, out, progress=count)
    assert kept == [0, 16, 32, 40]
    kept.clear()
    predict(questions, agent, tmp_path / "votes.jsonl", decoding=Decoding("vote", 5, 1.0), progress=count)
    assert len(kept) == 1 + 14


@pytest.mark.parametrize("chat", [True, False])
def test_a_server_answers_a_question(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: bool
) -> None:
    """With chat or without: what it costs is what the server counts, and is estimated where it does not."""
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    keys = []

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        keys.append(headers["Authorization"])
        if path == "/v1/models":
            return 200, {"data": [{"id": "big"}]}
        if path == "/v1/chat/completions" and not chat:
            return 400, {"error": "default chat template is no longer allowed"}
        text = body["messages"][-1]["content"] if chat else body["prompt"]
        turn = f"<think>so</think><{'solution' if '</observation>' in text else 'sql'}>SELECT COUNT(*) FROM school"
        return message(turn) if chat else completion(turn)

    server.handle = reply
    agent = open_agent(server.base, tmp_path, tmp_path)
    assert (agent.name, agent.unit) == ("big", "tokens" if chat else "estimated tokens")
    found = ask("How many schools?", one_database(make_school(tmp_path / "school.sqlite")), agent, tmp_path)
    assert found.result is not None
    assert found.result.rows == ((6,),)
    assert len(found.steps) == 2
    assert set(keys) == {"Bearer hush"}
    roles = [[one["role"] for one in body.get("messages", [])] for body in server.asked[-2:]]
    assert roles == ([["user"], ["user", "assistant", "user"]] if chat else [[], []])
    assert found.written == 10 if chat else 20 < found.written < 60


def test_a_vote_costs_what_the_server_counts_for_each_answer(server: Server, tmp_path: Path) -> None:
    server.handle = lambda *_: message("<think>so</think><solution>SELECT COUNT(*) FROM school")
    school = one_database(make_school(tmp_path / "school.sqlite"))
    task = Task("e", "prompt\n", "How many?", "", school)
    policy = open_agent(f"{server.base}#m", tmp_path, tmp_path).policy
    with Sandbox(1) as sandbox:
        [answered] = answer([task], policy, sandbox, Decoding("vote", 3, 1.0))
    assert (answered.read, answered.written) == (3 * 70, 3 * 5)


def test_what_a_person_would_wait_for_a_server_is_measured(server: Server, tmp_path: Path) -> None:
    """The turns of a question in a row, and not its share of what is asked together."""
    place = make_place(tmp_path / "place")

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        sleep(0.3)
        said = body["messages"][-1]["content"]
        return message(f"<think>so</think><{'solution' if '</observation>' in said else 'sql'}>SELECT COUNT(*) FROM a")

    server.handle = reply
    asked = questions_of_file(place / "questions.json", place / "databases", tmp_path)
    agent = open_agent(f"{server.base}#m", tmp_path, tmp_path)
    answers = predict(asked, agent, tmp_path / "answers.jsonl")
    assert all(one.latency >= 0.6 for one in answers)
    figures = compare(asked, [scored_by(asked, agent, answers, "none", tmp_path)])
    assert figures["models"][0]["latency"] >= 0.6
    [row] = table(figures)
    assert row["latency"] == f"{figures['models'][0]['latency']:.2f}"


def test_several_models_and_refusals(server: Server, tmp_path: Path) -> None:
    server.handle = lambda path, *_: message("x") if "chat" in path else (200, {"data": [{"id": "a"}, {"id": "b"}]})
    with pytest.raises(EndpointError, match=r"serves a, b: say which"):
        open_agent(server.base, tmp_path, tmp_path)
    assert open_agent(f"{server.base}#b", tmp_path, tmp_path).name == "b"
    server.handle = lambda *_: (401, {"error": "no key"})
    with pytest.raises(EndpointError, match=r"no key.*; it takes the key that .* OPENAI_API_KEY holds"):
        open_agent(f"{server.base}#b", tmp_path, tmp_path)
    server.handle = lambda *_: (404, {})
    with pytest.raises(EndpointError, match=r"404.*; does the address end as the API does, in /v1"):
        open_agent(server.base, tmp_path, tmp_path)


def test_a_server_that_was_found_is_not_asked_again_as_it_is_opened(server: Server, tmp_path: Path) -> None:
    server.handle = lambda path, *_: message("x") if "chat" in path else (200, {"data": [{"id": "a"}]})
    [(own, found)] = told_apart([server.base], tmp_path, tmp_path).items()
    asked = len(server.asked)
    agent = open_agent(found, tmp_path, tmp_path)
    assert (own, agent.name, len(server.asked)) == ("a", "a", asked)
    by_other_names = [server.base, f"{server.base}/", f"{server.base}#a"]
    assert list(told_apart([*by_other_names, f"{server.base}#b"], tmp_path, tmp_path)) == ["a", "b"]


def test_a_web_page_is_no_server_of_models(server: Server, tmp_path: Path) -> None:
    server.handle = lambda *_: (200, "<html>hello</html>")
    with pytest.raises(EndpointError, match=r"no answer of an OpenAI-compatible server: .*/models: a web page"):
        open_agent(server.base, tmp_path, tmp_path)
    assert len(server.asked) == 1
