"""Asking a server on this machine that fails in every way servers fail."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from agro_data.llm.client import Client
from agro_data.llm.connection import Connection, NoAnswer, Patience, _seconds
from agro_data.llm.endpoint import GONE, Endpoint, EndpointError, Malformed, open_endpoint, read_completion
from agro_data.llm.pace import Pace
from agro_data.llm.parameters import Parameters
from agro_data.llm.prompt import Unparsed, ask
from agro_data.llm.types import Completion, Message, Request, Sampling
from agro_data.prompts.write_question import WRITE_QUESTION, QuestionWanted
from bench.parts.scripted_server import FAULTS, PASSING, Fault, Faults, ScriptedServer

pytestmark = pytest.mark.ci

PATIENT = Patience(tries=4, pause=0.01, longest=1.0, timeout=60.0, connect=60.0, minutes=0.05)
QUICK = replace(PATIENT, timeout=2.0)  # where a server stays silent on purpose
SILENCE = 4.0


def requests(count: int, **settings: Any) -> list[Request]:
    return [Request((Message("user", f"question {number}"),), **settings) for number in range(count)]


def reply(body: Mapping[str, Any]) -> str:
    said = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    return f"{said.strip()} answered with seed {body['seed']}"


def endpoint(server: ScriptedServer, patience: Patience = PATIENT, **settings: Any) -> Endpoint:
    return Endpoint(Connection(server.base, 16, patience), "m", **settings)


def test_with_a_third_of_all_tries_failing_the_rest_is_as_without_faults(tmp_path: Path) -> None:
    asked = requests(150)
    with ScriptedServer(reply) as well, Client(endpoint(well)) as client:
        expected = client.generate(asked)
    assert all(one.ok for one in expected)
    with ScriptedServer(reply, Faults(0.3, PASSING, silence=SILENCE)) as ill:
        with Client(endpoint(ill, QUICK), tmp_path) as client:
            found = client.generate(asked)
            spent = client.spent["llm"]
        tries = ill.asked
        with Client(endpoint(ill, replace(QUICK, tries=12)), tmp_path) as client:
            again = client.generate(asked)
    assert [one.text for one in found if one.ok] == [e.text for e, f in zip(expected, found, strict=True) if f.ok]
    lost = [one.failure for one in found if not one.ok]
    assert len(lost) < 8
    assert all(one is not None and one.detail for one in lost)
    assert (spent.failed, spent.sent) == (len(lost), tries)
    assert tries > 150
    assert [one.text for one in again] == [one.text for one in expected]
    assert sum(not one.cached for one in again) == len(lost)


def test_nonsense_and_nothing_are_answers_for_a_parser_to_refuse() -> None:
    with ScriptedServer(reply, Faults(0.3, ("nonsense", "empty"))) as server, Client(endpoint(server)) as client:
        found = client.generate(requests(60))
    texts = {one.text for one in found if "answered" not in one.text}
    assert texts == {"", "lorem ipsum {[ dolor"}
    assert all(one.ok for one in found)


def test_questions_written_under_faults_of_every_kind_are_those_written_without_or_listed() -> None:
    def write(body: Mapping[str, Any]) -> str:
        asked = body["messages"][-1]["content"].splitlines()[4]
        return json.dumps({"question": f"What is answered by {asked}?", "evidence": None})

    wanted = [QuestionWanted("t(a)", f"SELECT {number}", "a number", "formal") for number in range(80)]
    with ScriptedServer(write) as well, Client(endpoint(well)) as client:
        expected = ask(client, WRITE_QUESTION, wanted)
    faults = Faults(0.3, silence=SILENCE, lasting=True)
    with ScriptedServer(write, faults) as ill, Client(endpoint(ill, replace(QUICK, tries=2))) as client:
        found = ask(client, WRITE_QUESTION, wanted)
    assert [one.place for one in found] == list(range(80))
    assert all(f.answer == e.answer for e, f in zip(expected, found, strict=True) if f.ok)
    listed = {one.answer.kind for one in found if isinstance(one.answer, Unparsed)}
    assert listed <= {"timeout", "busy", "server_error", "unreachable", "malformed", "no_json", "empty"}
    assert len(listed) > 4
    assert 40 < sum(one.ok for one in found) < 70


def test_what_a_model_takes_no_parameters_for_is_asked_without_them(caplog: pytest.LogCaptureFixture) -> None:
    """As OpenAI's models that reason: `max_tokens` is renamed, the rest left out, and a stop is heeded here."""
    bodies: list[dict[str, Any]] = []

    def write(body: Mapping[str, Any]) -> str:
        bodies.append(dict(body))
        return "one\nEND two"

    asked = requests(8, sampling=Sampling(temperature=0.0, stop=("END",), max_tokens=9))
    refused = ("max_tokens", "temperature", "top_p", "seed", "stop")
    with ScriptedServer(write, takes_no=refused) as server:
        opened = open_endpoint(server.base, patience=PATIENT)
        with Client(opened) as client:
            found = client.generate(asked)
        tries = server.asked
    assert [one.text for one in found] == ["one\n"] * 8
    assert {name for body in bodies for name in body} == {
        "model",
        "messages",
        "max_completion_tokens",
        "response_format",
    }
    assert bodies[-1]["max_completion_tokens"] == 9
    assert tries <= len(bodies) + len(refused) * 16  # once known, it is not tried again
    assert sorted(record.message.split(":")[0] for record in caplog.records) == [
        "m takes no seed",
        "m takes no temperature",
    ]


def test_a_refusal_for_another_reason_is_one() -> None:
    parameters = Parameters()
    sent = {"model": "m", "max_tokens": 1, "messages": []}

    def said(message: str, **more: str) -> bytes:
        return json.dumps({"error": {"message": message, **more}}).encode()

    assert not parameters.learn(sent, b"<html>")
    assert not parameters.learn(sent, b'{"error": "max_tokens is too large"}')
    assert not parameters.learn(sent, said("max_tokens is too large", param="max_tokens", code="invalid_value"))
    assert not parameters.learn(sent, said("Unsupported parameter: 'temperature'"))  # which was not sent
    assert not parameters.learn(sent, said("Unsupported parameter: 'messages'"))  # without which nothing is asked
    assert parameters.of(sent) == sent
    assert parameters.learn(sent, said("Unsupported parameter: 'max_tokens' is not supported with this model."))
    assert parameters.of(sent) == {"model": "m", "max_completion_tokens": 1, "messages": []}
    assert parameters.of({**sent, "model": "other"}) == {**sent, "model": "other"}


KINDS = {
    "timeout": "timeout",
    "busy": "busy",
    "broken": "server_error",
    "dropped": "unreachable",
    "truncated": "malformed",
    "garbled": "malformed",
}


@pytest.mark.parametrize("fault", PASSING)
def test_what_never_gets_well_is_a_failure_with_its_reason(fault: Fault) -> None:
    with ScriptedServer(reply, Faults(1.0, (fault,), silence=SILENCE)) as server:
        patience = replace(QUICK, tries=2)
        with Client(endpoint(server, patience)) as client:
            [found] = client.generate(requests(1))
        assert found.failure is not None
        assert (found.failure.kind, found.tries) == (KINDS[fault], server.asked)
        assert server.asked > 4 if fault == "busy" else server.asked == 2
        assert server.base in found.failure.detail
    assert set(KINDS) | {"nonsense", "empty"} == set(FAULTS)


def test_a_key_that_no_longer_holds_is_held_against_the_server_and_no_request(tmp_path: Path) -> None:
    asked = requests(100)
    with ScriptedServer(reply) as well, ScriptedServer(reply, Faults(1.0, ("denied",))) as ill:
        with Client(endpoint(ill), tmp_path) as client:
            lost = client.generate(asked)
            spent = client.spent["llm"]
        with Client(endpoint(well), tmp_path) as client:
            found = client.generate(asked)
        assert GONE <= ill.asked < GONE + 16  # it is not asked for ever
    assert {one.failure.kind for one in lost if one.failure} == {"denied", "unreachable"}
    assert lost[0].failure is not None
    assert "HTTP 401" in lost[0].failure.detail
    assert spent.unanswered == 100  # another run may have an answer
    assert all(one.ok for one in found)
    with ScriptedServer(reply, Faults(1.0, ("denied",))) as ill, pytest.raises(EndpointError, match=r"refuses: .*401"):
        open_endpoint(ill.base)


class Longer(Faults):
    """It wants to be left alone for a second, and then for a day."""

    def of(self, body: Mapping[str, Any], attempt: int) -> Fault | None:
        object.__setattr__(self, "after", 1 if attempt == 1 else 86_400)
        return "busy"


def test_a_busy_server_is_left_alone_for_as_long_as_it_says() -> None:
    with ScriptedServer(reply, Longer()) as server:
        started = monotonic()
        with Client(endpoint(server, replace(PATIENT, minutes=5.0))) as client:
            [found] = client.generate(requests(1))
        assert (found.failure and found.failure.kind, server.asked) == ("busy", 2)
        assert monotonic() - started > 0.9
    with ScriptedServer(reply, Faults(1.0, ("busy",), after=3600)) as server, Client(endpoint(server)) as client:
        [found] = client.generate(requests(1))
    assert found.tries == 1
    assert "asks to be left alone for 1 h 0 min; waited for at most 3 s" in (
        found.failure.detail if found.failure else ""
    )


def test_a_server_with_a_limit_is_asked_as_fast_as_it_takes_requests(caplog: pytest.LogCaptureFixture) -> None:
    """Being busy is no try, so no request is lost while others pass; and most that is sent is taken."""
    with ScriptedServer(reply, Faults(rate=40)) as server:
        with Client(endpoint(server, Patience(tries=1, pause=0.1, longest=1.0))) as client:
            started = monotonic()
            found = client.generate(requests(120))
            assert monotonic() - started < 20 * 120 / 40  # also on a busy machine
        assert all(one.ok for one in found)
        assert sum(one.tries for one in found) == server.asked < 3 * 120
    [said] = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert "is busy (HTTP 429" in said
    assert "asked more slowly, for 30 min 0 s at most without an answer" in said


def test_a_server_that_is_busy_for_ever_is_waited_for_once() -> None:
    with ScriptedServer(reply, Faults(1.0, ("busy",))) as server:
        started = monotonic()
        with Client(endpoint(server, replace(PATIENT, minutes=1 / 60))) as client:
            found = client.generate(requests(100))
        assert monotonic() - started < 60  # not each of them for a second, and this on a busy machine
    assert {"busy"} <= {one.failure.kind for one in found if one.failure} <= {"busy", "unreachable"}
    assert not any(one.ok for one in found)
    assert server.asked < 200


def test_a_server_that_is_gone_is_not_asked_for_ever() -> None:
    with ScriptedServer(reply) as server:
        base = server.base
    connection = Connection(base, 4, Patience(2, 0.001, 0.01, 0.5))
    found = Client(Endpoint(connection, "m")).generate(requests(200))
    assert {one.failure.kind for one in found if one.failure} == {"unreachable"}
    assert len([one for one in found if not one.ok]) == 200
    sent = sum(one.tries for one in found)
    assert 2 * GONE <= sent <= 2 * (GONE + 8)
    assert found[-1].failure is not None
    assert "not sent" in found[-1].failure.detail


def test_answers_are_kept_as_they_come_even_when_the_caller_fails(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int, unit: str) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with ScriptedServer(reply) as server:
        with Client(endpoint(server), tmp_path) as client, pytest.raises(KeyboardInterrupt):
            client.generate(requests(100), progress=stop)
        with Client(endpoint(server), tmp_path) as client:
            found = client.generate(requests(100))
    assert sum(one.cached for one in found) == 20
    assert all(one.ok for one in found)


@pytest.mark.parametrize("chat", [True, False])
def test_what_is_sent(chat: bool) -> None:
    seen: list[Mapping[str, Any]] = []

    def look(body: Mapping[str, Any]) -> str:
        seen.append(body)
        return "a b"

    sampling = Sampling(0.2, 0.9, 33, ("END",), 4, logprobs=True)
    one = Request((Message("system", "s"), Message("user", "u")), sampling, '{"type": "object"}', sample=2)
    with ScriptedServer(look) as server, Client(endpoint(server, chat=chat, extra={"top_k": 5})) as client:
        [found] = client.generate([one])
    body = dict(seen[0])
    assert body.pop("messages" if chat else "prompt") == (
        [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}] if chat else "s\n\nu\n"
    )
    assert body.pop("response_format")["json_schema"]["schema"] == {"type": "object"}
    assert body.pop("logprobs") in (True, 1)
    assert body == {
        **{"model": "m", "max_tokens": 33, "temperature": 0.2, "top_p": 0.9, "seed": one.seed},
        **{"stop": ["END"], "top_k": 5},
    }
    assert found.logprobs == (("a", -0.5), ("b", -0.5))
    assert (found.usage.read, found.usage.written, found.usage.estimated) == (2, 2, False)


def test_a_thought_is_put_back_and_tokens_are_estimated_where_none_are_counted() -> None:
    choice = {"message": {"content": "x", "reasoning_content": "so"}, "finish_reason": "length"}
    found = read_completion({"choices": [choice], "usage": {}}, 40)
    assert (found.text, found.cut, found.usage.estimated) == ("<think>so</think>\nx", True, True)


def test_a_thought_that_the_servers_template_began_has_its_tag() -> None:
    found = read_completion({"choices": [{"message": {"content": "so</think>\nx"}}]}, 40)
    assert found.text == "<think>so</think>\nx"


def test_a_message_in_parts_is_its_text() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}
    content = [thought, {"type": "text", "text": "SELECT "}, {"type": "text", "text": "1"}]
    found = read_completion({"choices": [{"message": {"content": content}}]}, 40)
    assert found.text == "<think>so</think>\nSELECT 1"


@pytest.mark.parametrize("odd", [{"message": {"content": 1.5}}, {"message": {"content": {"sql": "SELECT 1"}}}])
def test_what_is_no_text_is_no_answer(odd: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        read_completion({"choices": [odd]}, 40)


def test_a_count_that_is_no_number_is_no_answer_and_no_end() -> None:
    found = json.loads('{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": Infinity}}')
    found["usage"]["completion_tokens"] = 1
    with pytest.raises(Malformed):
        read_completion(found, 40)


@pytest.mark.parametrize("chat", [True, False])
def test_half_a_surrogate_pair_which_no_file_can_hold_is_replaced(chat: bool) -> None:
    said = json.loads('"SELECT \\ud800"')
    found = read_completion({"choices": [{"text": said, "message": {"content": said}}]}, 40, chat=chat)
    assert found.text == "SELECT ?"


def test_opening_finds_out_what_the_server_can() -> None:
    with ScriptedServer(reply, models=("a", "b")) as server:
        with pytest.raises(EndpointError, match="serves a, b: say which"):
            open_endpoint(server.base)
        opened = open_endpoint(f"{server.base}#b", revision="1")
        assert (opened.model, opened.chat, opened.structured) == ("b", True, "json_schema")
        assert "127.0.0.1" not in str(opened.identity)
    with pytest.raises(EndpointError, match="is the server running"):
        open_endpoint(f"{server.base}#b", patience=Patience(1, 0.0, 0.0, 0.5))


@pytest.mark.parametrize("fault", ["busy", "broken"])
def test_of_a_server_that_answers_and_fails_nobody_asks_whether_it_runs(fault: Fault) -> None:
    says = r"HTTP .*; the server is there: ask again"
    with ScriptedServer(reply, Faults(1.0, (fault,), lasting=True)) as server, pytest.raises(EndpointError, match=says):
        open_endpoint(f"{server.base}#m", patience=Patience(2, 0.01, 0.01, 5.0, minutes=0.001))


def test_the_pace_is_what_the_server_takes() -> None:
    pace = Pace(pause=1.0, longest=8.0)
    assert [pace.ahead(who, now=100.0) for who in "abc"] == [0.0, 0.0, 0.0]
    pace.busy(sent=100.0, now=101.0)
    pace.busy(sent=100.0, now=101.0)  # the same news
    assert 0.5 <= pace.ahead("a", now=101.0) <= 1.0
    assert [pace.ahead("a", now=102.0), pace.ahead("b", now=102.0)] == [0.0, 1.0]  # one finds out for all
    pace.busy(sent=102.0, after=20.0, now=103.0)
    assert pace.ahead("b", now=103.0) == 20.0
    assert pace.busy_for(now=104.0) == 3.0
    assert pace.ahead("b", now=123.0) == 0.0
    pace.answered(sent=123.0, now=124.0)
    assert (pace.busy_for(now=125.0), pace.busy_for(refused=101.0, now=125.0)) == (0.0, 24.0)
    assert [pace.ahead(who, now=125.0) for who in "ab"] == [0.0, pytest.approx(0.1 * 0.97)]
    for number in range(200):
        pace.answered(sent=126.0 + number, now=126.0 + number)
    pace.ahead("b", now=400.0)
    assert pace.ahead("c", now=400.0) < 0.001


def test_who_waits_for_a_busy_server_keeps_its_place() -> None:
    pace = Pace(pause=1.0, longest=8.0)
    pace.busy(sent=100.0, after=10.0, now=100.0)
    assert [pace.ahead(who, now=101.0) for who in "abc"] == pytest.approx([9.0, 9.1, 9.2])
    assert pace.ahead("c", now=110.0) > 0  # it looked first, and is third
    assert pace.ahead("a", now=110.0) == 0
    pace.busy(sent=110.0, now=110.0)
    assert [pace.ahead(who, now=120.0) > 0 for who in "abc"] == [True, False, True]  # a is the last now
    pace.leave("c")
    assert pace.ahead("a", now=130.0) == 0


def test_who_is_interrupted_as_it_waits_stands_in_nobodys_way() -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    connection = Connection("http://127.0.0.1:9/v1", stopped=Interrupted())
    now = monotonic()
    connection.pace.busy(sent=now, after=1.0, now=now)
    with pytest.raises(KeyboardInterrupt):
        connection.ask("models")
    assert connection.pace.ahead("next", now=now + 60.0) == 0.0


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert _seconds("7") == 7.0
    assert _seconds("Sat, 21 Nov 2026 12:00:30 GMT", now) == 30.0
    assert _seconds("Sat, 21 Nov 2026 11:00:00 GMT", now) == 0.0
    for odd in ("soon", "²", "Mon, 01 Jan 99999999999 00:00:00 GMT", None):
        assert _seconds(odd) == 0.0


@pytest.mark.parametrize("key", ["hush", "hush\r", "hu\rsh", "hush…"])
def test_a_key_is_sent_and_never_said(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ScriptedServer(reply, Faults(1.0, ("broken",))) as server:
        with pytest.raises(NoAnswer) as error:
            Connection(server.base, 1, Patience(1)).ask("chat/completions", {"messages": []})
        assert not {"hush", "hu", "sh"} & set(re.findall("[a-z]+", str(error.value)))
        assert error.value.kind == ("server_error" if key.strip() == "hush" else "refused")
        assert server.asked == (key.strip() == "hush")


def test_an_address_that_is_none_is_an_error_for_a_person() -> None:
    with pytest.raises(EndpointError, match="no address: Invalid port"):
        open_endpoint("http://localhost:port/v1#m", patience=QUICK)


def test_a_reply_nested_without_end_is_a_malformed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "dumps", lambda *_: "[" * 100_000)  # of the server, which is in this process
    with ScriptedServer(reply) as server, pytest.raises(NoAnswer) as error:
        Connection(server.base, 1, Patience(1)).ask("models")
    assert error.value.kind == "malformed"


def test_text_that_cannot_be_sent_costs_only_its_row() -> None:
    asked = [Request((Message("user", "caf\udce9"),)), *requests(1)]
    with ScriptedServer(reply) as server, Client(endpoint(server)) as client:
        bad, good = client.generate(asked)
    assert (bad.failure and bad.failure.kind, good.ok) == ("refused", True)


def test_closing_ends_the_waiting() -> None:
    with ScriptedServer(reply, Faults(1.0, ("busy",), after=30)) as server:
        one = endpoint(server, replace(PATIENT, minutes=5.0))
        found: list[Completion] = []
        thread = threading.Thread(target=lambda: found.extend(Client(one).generate(requests(1))))
        thread.start()
        while not server.asked:
            threading.Event().wait(0.01)
        one.close()
        thread.join(timeout=10)
        assert not thread.is_alive()
        assert not found[0].ok
