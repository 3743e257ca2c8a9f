"""What the client costs: the same requests sent bare and through it, to a scripted server that answers after a while.

`python -m bench.llm [--requests N] [--at-once N] [--seconds S]`. Bare is a pool of threads that post and read JSON.
The server runs in a process of its own; each sending is done `--repeat` times by turns, and the best counts.

`--vllm MODEL` (a folder or a Hub id) measures vLLM's offline engine instead: bare is `LLM.generate` in a process of its
own, by the side of the engine's process as the backend has it, both loaded before; vLLM or its CPU build is needed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import httpx

from agro_data.llm.client import Client
from agro_data.llm.connection import Connection
from agro_data.llm.endpoint import Endpoint
from agro_data.llm.rendering import prompt_ids
from agro_data.llm.types import Message, Request, Sampling
from agro_data.llm.vllm_child import parameters
from agro_data.llm.vllm_engine import VllmEngine
from bench.parts.machine import description
from bench.parts.scripted_server import ScriptedServer
from bench.parts.tables import show

PROMPT = "a schema of a few tables and what is asked of it; " * 60  # about 3,000 characters
ENGINE = {"max_model_len": 2_048, "dtype": "bfloat16", "enforce_eager": True}


def measure(count: int, at_once: int, seconds: float, repeat: int) -> dict[str, float]:
    """Seconds of wall clock for `count` requests: bare, through the client, with the cache, and from the cache."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs, seconds), daemon=True)
    server.start()
    base = mine.recv()
    requests = [Request((Message("user", f"{PROMPT} {number}"),)) for number in range(count)]
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(repeat):
            cache = Path(folder) / str(turn)
            ways: dict[str, Callable[[], object]] = {
                "bare": lambda: _bare(base, requests, at_once),
                "client": lambda: _client(base, requests, at_once, None),
                "client, answers kept": lambda cache=cache: _client(base, requests, at_once, cache),
                "again, nothing sent": lambda cache=cache: _client(base, requests, at_once, cache),
            }
            for name, way in ways.items():
                started = time.perf_counter()
                way()
                best[name] = min(best.get(name, float("inf")), time.perf_counter() - started)
    server.terminate()
    return best


def _serve(pipe: Pipe, seconds: float) -> None:
    def reply(body: Mapping[str, Any]) -> str:
        time.sleep(seconds)
        return "SELECT name FROM singer " * 8

    with ScriptedServer(reply) as server:
        pipe.send(server.base)
        time.sleep(3_600)


def _bare(base: str, requests: list[Request], at_once: int) -> None:
    limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
    with httpx.Client(limits=limits, timeout=60) as client, ThreadPoolExecutor(at_once) as pool:
        bodies = [Endpoint(Connection(base), "m").body_of(request) for request in requests]
        list(pool.map(lambda body: client.post(f"{base}/chat/completions", json=body).json(), bodies))


def _client(base: str, requests: list[Request], at_once: int, cache: Path | None) -> None:
    with Client(Endpoint(Connection(base, at_once), "m"), cache) as client:
        assert all(one.ok for one in client.generate(requests))


def measure_engine(model: str, count: int, tokens: int, repeat: int) -> dict[str, float]:
    """Seconds of wall clock for `count` requests of up to `tokens` tokens: bare, and through the client."""
    sampling = Sampling(temperature=0.0, max_tokens=tokens)
    requests = [Request((Message("user", f"{PROMPT} {number}"),), sampling) for number in range(count)]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        best = {"bare": pool.submit(_bare_engine, model, requests, repeat).result()}
    with Client(VllmEngine(model, engine=ENGINE)) as client:
        client.generate(requests)  # loads the model, and reads what all prompts begin with
        best["client"] = _best(lambda: client.generate(requests), repeat)
    return best


def _bare_engine(model: str, requests: list[Request], repeat: int) -> float:
    from vllm import LLM

    engine = LLM(model=model, **ENGINE)
    tokenizer = engine.get_tokenizer()

    def write() -> None:
        prompts = [{"prompt_token_ids": prompt_ids(request.messages, tokenizer, {})} for request in requests]
        engine.generate(prompts, [parameters(request) for request in requests], use_tqdm=False)

    write()
    best = _best(write, repeat)
    engine.llm_engine.engine_core.shutdown()  # a process that leaves it running waits for it when it ends
    return best


def _best(way: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        way()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.5, help="that the server takes for a reply")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--vllm", default="", metavar="MODEL", help="measure vLLM's offline engine with this model")
    parser.add_argument("--tokens", type=int, default=64, help="that the engine writes for a reply")
    arguments = parser.parse_args()
    print(description())
    if arguments.vllm:
        found = measure_engine(arguments.vllm, arguments.requests, arguments.tokens, arguments.repeat)
        about = f"{arguments.requests} requests of up to {arguments.tokens} tokens, vLLM's offline engine"
    else:
        found = measure(arguments.requests, arguments.at_once, arguments.seconds, arguments.repeat)
        about = f"{arguments.requests} requests, {arguments.at_once} at once, {arguments.seconds} s each at the server"
    show(
        about,
        ["way", "seconds", "over bare"],
        [[name, round(value, 3), f"{value / found['bare'] - 1:+.1%}"] for name, value in found.items()],
    )


if __name__ == "__main__":
    main()
