"""A model behind a server, against a server on this machine."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import CliRunner
from making import make_school
from train.asked import gold_of, make_place
from train.scripted import one_database

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.llm.connection import TOKENS, Connection, Patience
from agro_data.llm.endpoint import EndpointError
from agro_data.protocol import STOPS, Turn, parse_turn
from agro_train.agents.choosing import told_apart
from agro_train.agents.endpoint import PER_TOKEN, Characters, EndpointSampler, messages_of
from agro_train.agents.opening import open_agent
from agro_train.answers import answer
from agro_train.asking import ask
from agro_train.cli import agro
from agro_train.comparison.figures import compare, table
from agro_train.comparison.scoring import scored_by
from agro_train.decoding import Decoding
from agro_train.language_model.tokens import encode, encode_prompt
from agro_train.predict import predict
from agro_train.questions import questions_of_file
from agro_train.sampling.types import Usage
from agro_train.tasks import Task

Handle = Callable[[str, dict[str, Any], dict[str, str]], tuple[int, Any]]


class Server:
    """Answers as `handle(path, body, headers)` says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.handle: Handle = lambda *_: (404, {})
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size) or b"{}")
                outer.asked.append(body)
                status, reply = outer.handle(self.path, body, dict(self.headers))
                content = reply.encode() if isinstance(reply, str) else json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.server.shutdown()
    one.server.server_close()


def completion(text: str, why: str = "stop") -> tuple[int, Any]:
    return 200, {"choices": [{"text": text, "finish_reason": why}]}


def message(text: str | None, why: str = "stop", **more: Any) -> tuple[int, Any]:
    usage = {"prompt_tokens": 70, "completion_tokens": 5}
    return 200, {"choices": [{"message": {"content": text, **more}, "finish_reason": why}], "usage": usage}


def sample(server: Server, prompts: list[str], chat: bool = False, **settings: Any) -> list[Any]:
    connection = Connection(server.base, 8, Patience(**{"tries": 4, "pause": 0.01, **settings}))
    sampler = EndpointSampler(connection, "m", chat)
    ids = [Characters()(prompt)["input_ids"] for prompt in prompts]
    return sampler(ids, temperature=0.5, max_tokens=400, seeds=list(range(len(prompts))))


def test_turns_come_back_in_order_with_the_tag_that_stopped_them(server: Server) -> None:
    replies = {
        "a": completion("<think>x</think><sql>SELECT 1"),
        "b": completion("<think>x</think><solution>SELECT 'é'"),
        "c": completion("I do not know"),
        "d": completion("<think>x</think><sql>SELEC", "length"),
        "e": completion("<think>x</think><sql>SELECT 1</sql>"),
    }
    server.handle = lambda path, body, headers: replies[body["prompt"]]
    turns = sample(server, list("abcde"))
    texts = [Characters().decode(turn.ids) for turn in turns]
    assert texts[0].endswith("SELECT 1</sql>")
    assert texts[1].endswith("SELECT 'é'</solution>")
    assert texts[2] == "I do not know"
    assert texts[3].endswith("SELEC")
    assert texts[4].count("</sql>") == 1
    assert [turn.cut for turn in turns] == [False, False, False, True, False]
    assert {body["max_tokens"] for body in server.asked} == {100}
    assert all(body["stop"] == list(STOPS) and body["temperature"] == 0.5 for body in server.asked)


def test_what_has_no_seed_is_asked_for_at_temperature_0(server: Server) -> None:
    server.handle = lambda path, body, headers: completion("x")
    sampler = EndpointSampler(Connection(server.base, 1, Patience()), "m", chat=False)
    sampler([[97], [98]], temperature=0.5, max_tokens=400, seeds=[None, 7])
    assert {body["prompt"]: body["temperature"] for body in server.asked} == {"a": 0.0, "b": 0.5}


def test_a_busy_server_is_asked_again_and_a_refusal_is_not(server: Server) -> None:
    def busy(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        return completion("x") if len(server.asked) > 2 else (503, {"error": "busy"})

    server.handle = busy
    assert Characters().decode(sample(server, ["a"])[0].ids) == "x"
    assert len(server.asked) == 3
    server.handle = lambda *_: (400, {"error": "no such model m"})
    (cut,) = sample(server, ["a"])
    assert (cut.ids, cut.cut) == ([], True)
    assert "no such model m" in cut.refusal
    assert len(server.asked) == 4


def test_a_model_that_reasons_takes_fewer_parameters_and_no_stop(server: Server) -> None:
    """As OpenAI's: what it does not take it names, one by one, and it cannot be asked for a single token."""
    turn = "<think>x</think><solution>SELECT 1"

    def reasons(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        for name in ("max_tokens", "temperature", "stop", "seed"):
            if name in body:
                said = f"Unsupported value: '{name}' does not support that with this model."
                return 400, {"error": {"message": said, "param": name, "code": "unsupported_value"}}
        if body["max_completion_tokens"] < 10:
            return 400, {"error": {"message": "Could not finish: max_tokens or model output limit was reached."}}
        return message(f"{turn}</solution>\n<observation>\n1\n</observation>\n<think>so")

    server.handle = reasons
    sampler, counts = EndpointSampler(Connection(server.base, 4, Patience(tries=1)), "m").probed()
    assert counts
    assert len(server.asked) == 2
    for _ in range(2):
        (found,) = sampler([Characters()("a")["input_ids"]], temperature=0.5, max_tokens=400, seeds=[None])
        assert Characters().decode(found.ids) == f"{turn}</solution>"
        assert (found.cut, found.refusal) == (False, "")
    assert len(server.asked) == 2 + 4 + 1  # what is known is not tried again
    assert set(server.asked[-1]) == {"model", "messages", "max_completion_tokens"}


def test_what_is_no_completion_is_asked_for_again(server: Server) -> None:
    server.handle = lambda *_: completion("x") if len(server.asked) > 1 else (200, {"hello": 1})
    assert Characters().decode(sample(server, ["a"])[0].ids) == "x"
    server.handle = lambda *_: (200, {"hello": 1})
    (cut,) = sample(server, ["a"], tries=2)
    assert cut.cut
    assert "expected a completion" in cut.refusal
    assert len(server.asked) == 4


def test_a_limit_of_the_server_loses_no_turn_and_who_fails_ends_the_waiting_of_all(server: Server) -> None:
    numbers = count(1)  # of requests: each has its own, however many are under way

    def limited(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        return completion("x") if next(numbers) % 6 == 0 else (429, {"error": "slow down"})

    server.handle = limited
    assert len(sample(server, list("abcdefgh"), tries=1)) == 8
    server.handle = lambda path, body, headers: (500 if body["prompt"] == "a" else 429, {"error": "no"})
    started = monotonic()
    with pytest.raises(EndpointError, match="HTTP 500"):
        sample(server, ["a", "b"], tries=2)
    assert monotonic() - started < 120  # not half an hour


def test_ctrl_c_does_not_wait_for_a_server_that_is_silent(server: Server) -> None:
    over, replied = threading.Event(), list[str]()

    def silent(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        if body["prompt"] == "a":
            os.kill(os.getpid(), signal.SIGINT)
        over.wait(60)
        replied.append(body["prompt"])
        return completion("x")

    server.handle = silent
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored behind `make test &`
    try:
        with pytest.raises(KeyboardInterrupt):
            sample(server, list("abc"))
        assert not replied
    finally:
        signal.signal(signal.SIGINT, before)
        over.set()


def test_errors_say_what_is_wrong(server: Server) -> None:
    server.handle = lambda *_: (500, {"error": "broken"})
    with pytest.raises(EndpointError, match=r"after 2 tries.*broken"):
        sample(server, ["a"], tries=2)
    server.handle = lambda *_: (200, {"hello": 1})
    with pytest.raises(EndpointError, match="expected a completion"):
        EndpointSampler(Connection(server.base, 1, Patience(1)), "m", chat=False).probed()
    with pytest.raises(EndpointError, match="no answer after 1 try"):
        EndpointSampler(Connection("http://127.0.0.1:9/v1", 1, Patience(1)), "m").probed()


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


def test_a_conversation_is_sent_with_its_roles() -> None:
    prompt = "Write <think>why</think> and <sql>a look</sql>.\n\nQuestion: Which?\n"
    ids = encode_prompt(prompt, Characters())
    said = [{"role": "user", "content": prompt}]
    assert messages_of(ids) == said
    for number in range(2):
        turn, seen = f"<think>so</think>\n<sql>SELECT {number}</sql>", f"<observation>\n{number}\n</observation>"
        ids += encode(turn, Characters()) + encode(f"\n{seen}\n", Characters())
        said += [{"role": "assistant", "content": turn}, {"role": "user", "content": seen}]
        assert messages_of(ids) == said
    assert Characters().decode(ids).startswith(prompt)


def test_a_thought_that_the_server_took_out_is_put_back(server: Server) -> None:
    server.handle = lambda *_: message("<sql>SELECT 1", reasoning_content="so")
    assert Characters().decode(sample(server, ["a"], chat=True)[0].ids) == "<think>so</think>\n<sql>SELECT 1</sql>"
    server.handle = lambda *_: message(None)
    [nothing] = sample(server, ["a"], chat=True)
    assert (nothing.ids, nothing.usage) == ([], Usage(70, 5))


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


@pytest.mark.parametrize(
    ("reply", "turn"),
    [
        (  # a server that leaves the reasoning in, and the thought that was asked for behind it
            "<think>\nFirst <think>why</think>, then <sql>a look</sql>.\n</think>\n\n<think>so</think>\n<sql>SELECT 1",
            "<think>\nFirst ‹think>why‹/think>, then ‹sql>a look‹/sql>.\n\nso</think>\n<sql>SELECT 1</sql>",
        ),
        ("<think>so <b></think>\n<sql>SELECT 1", "<think>so <b></think>\n<sql>SELECT 1</sql>"),
        (f"<think>{'a' * 9_000}b</think><sql>SELECT 1", f"<think>…{'a' * 1_999}b</think><sql>SELECT 1</sql>"),
        (  # of a server that pays no heed to a stop: what it imagines behind its action is not its turn
            "<think>a</think><sql>SELECT 1</sql><think>b</think><sql>SELECT 2</sql>",
            "<think>a</think><sql>SELECT 1</sql>",
        ),
        ("<think>I write <sql>", "<think>I write <sql></sql>"),
        ("so: <think>a</think><sql>SELECT 1", "so: <think>a</think><sql>SELECT 1</sql>"),
    ],
)
def test_reasoning_is_no_fault_of_a_turn(server: Server, reply: str, turn: str) -> None:
    server.handle = lambda *_: message(reply)
    assert Characters().decode(sample(server, ["a"], chat=True)[0].ids) == turn


def test_reasoning_that_a_server_took_out_may_speak_of_tags(server: Server) -> None:
    server.handle = lambda *_: message("<solution>SELECT 1", reasoning_content="A <sql>look</sql>, or not.")
    written = Characters().decode(sample(server, ["a"], chat=True)[0].ids)
    assert parse_turn(written) == Turn("A ‹sql>look‹/sql>, or not.", "solution", "SELECT 1")


@pytest.mark.parametrize("fault", ["fails", "is slow"])
def test_a_question_that_a_server_fails_at_costs_only_itself(server: Server, fault: str) -> None:
    """It answers others, so that all who wait are not held up by one; and not where it answers nobody."""

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        if body["prompt"] == "a" and fault == "is slow":
            sleep(1)
        return (500, {"error": "boom"}) if body["prompt"] == "a" else completion("x")

    server.handle = reply
    for prompts in (["a", "b", "c"], ["a"]):
        first, *others = sample(server, prompts, tries=2, timeout=0.5)
        assert (first.ids, first.cut) == ([], True)
        assert ("ReadTimeout" if fault == "is slow" else "HTTP 500") in first.refusal
        assert [Characters().decode(turn.ids) for turn in others] == ["x"] * len(others)
    server.handle = lambda path, body, headers: (500, {}) if body["prompt"] != "1" else completion("x")
    with pytest.raises(EndpointError, match="HTTP 500"):
        sample(server, list("abcdefghijkl"), tries=1)  # a word is all that it answers


def test_a_long_answer_is_waited_for(server: Server) -> None:
    """A model that reasons at length is given as much more time as it may write more."""

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        sleep(1)
        return completion("x")

    server.handle = reply
    connection = Connection(server.base, 1, Patience(tries=1, timeout=0.5))
    ids = [Characters()("a")["input_ids"]]

    def sampled(tokens: int) -> list[Any]:
        return EndpointSampler(connection, "m", chat=False)(
            ids, temperature=0.0, max_tokens=PER_TOKEN * tokens, seeds=[None]
        )

    assert Characters().decode(sampled(8 * TOKENS)[0].ids) == "x"
    with pytest.raises(EndpointError, match=r"ReadTimeout after 0\.5 s at most"):
        sampled(TOKENS)


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


def test_a_model_that_knows_no_turns_is_asked_for_a_query_at_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As most of text-to-SQL are trained: in turns none of its answers counts, which is said with what to do."""
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    place = make_place(tmp_path / "place")

    def reply(path: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        said = body["messages"][0]["content"]
        return message(f"Let me see.\n```sql\n{gold_of(said)}\n```" if "Question: " in said else "x")

    server.handle = reply
    asked = ["predict", "--questions", str(place / "questions.json"), "--databases", str(place / "databases")]
    asked += ["--model", f"{server.base}#m", "--instances", "none", "--json"]
    in_turns = CliRunner().invoke(agro, [*asked, "--out", str(tmp_path / "turns.jsonl")])
    assert in_turns.exit_code == 1
    assert "no prediction for 4 of 4 questions: 4 malformed (no tag" in in_turns.stderr
    assert "can be asked for a query at once: --direct" in in_turns.stderr
    at_once = CliRunner().invoke(agro, [*asked, "--direct", "--out", str(tmp_path / "direct.jsonl")])
    assert at_once.exit_code == 0, at_once.output
    figures = json.loads(at_once.stdout)
    [model] = figures["models"]
    assert (model["metrics"]["strict"]["score"]["mean"], model["turns"], model["direct"]) == (1.0, 1.0, True)
    assert "m: was asked for a query at once, not in turns" in figures["notes"]
    prompt = server.asked[-1]["messages"][0]["content"]
    assert "```sql" in prompt
    assert "<think>" not in prompt
    other = CliRunner().invoke(agro, [*asked, "--out", str(tmp_path / "direct.jsonl")])
    assert "reading.direct was True, is None" in str(other.exception)


@pytest.mark.parametrize(
    ("given", "told"),
    [(["--names"], "no turns in which SQL is held to names"), (["--decoding", "tree"], "a tree branches: use vote")],
)
def test_what_needs_turns_is_refused_where_a_query_is_asked_for_at_once(
    server: Server, tmp_path: Path, given: list[str], told: str
) -> None:
    server.handle = lambda *_: message("x")
    school = str(make_school(tmp_path / "school.sqlite"))
    asked = ["--model", f"{server.base}#m", "--direct", *given]
    done = CliRunner().invoke(agro, ["ask", "How many?", "--database", school, *asked])
    assert isinstance(done.exception, ConfigError)
    assert told in str(done.exception)


def test_a_person_is_answered_at_once(server: Server, tmp_path: Path) -> None:
    server.handle = lambda *_: message("Schools are rows.\n```sql\nSELECT COUNT(*) FROM school\n```")
    school = str(make_school(tmp_path / "school.sqlite"))
    asked = ["ask", "How many schools are there?", "--database", school, "--model", f"{server.base}#m", "--json"]
    done = CliRunner().invoke(agro, [*asked, "--direct"])
    assert done.exit_code == 0, done.output
    reply = json.loads(done.stdout)
    assert (reply["rows"], [step["thought"] for step in reply["steps"]]) == ([[6]], ["Schools are rows."])
    in_turns = CliRunner().invoke(agro, asked)
    assert in_turns.exit_code == 1
    assert "can be asked for a query at once: --direct" in in_turns.stderr
