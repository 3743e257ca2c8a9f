"""Turns from a server: how it is asked, waited for and asked again, and how its replies are read."""

from __future__ import annotations

import os
import signal
import threading
from itertools import count
from time import monotonic, sleep
from typing import Any

import pytest
from train.model_server import Server, completion, message

from agro_data.llm.connection import TOKENS, Connection, Patience
from agro_data.llm.endpoint import EndpointError
from agro_data.protocol import STOPS, Turn, parse_turn
from agro_train.agents.endpoint import PER_TOKEN, Characters, EndpointSampler, messages_of
from agro_train.language_model.tokens import encode, encode_prompt
from agro_train.sampling.types import Usage


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
