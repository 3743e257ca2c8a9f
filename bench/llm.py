"""What the client costs: the same requests sent bare and through it, to a scripted server that answers after a while.

`python -m bench.llm [--requests N] [--at-once N] [--seconds S]`. Bare is a pool of threads that post and read JSON.
The server runs in a process of its own; each sending is done `--repeat` times by turns, and the best counts.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import httpx

from agro_data.llm.client import Client
from agro_data.llm.connection import Connection
from agro_data.llm.endpoint import Endpoint
from agro_data.llm.scripted_server import ScriptedServer
from agro_data.llm.types import Message, Request
from bench.machine import description
from bench.tables import show

PROMPT = "a schema of a few tables and what is asked of it; " * 60  # about 3,000 characters


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.5, help="that the server takes for a reply")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(description())
    found = measure(arguments.requests, arguments.at_once, arguments.seconds, arguments.repeat)
    show(
        f"{arguments.requests} requests, {arguments.at_once} at once, {arguments.seconds} s each at the server",
        ["way", "seconds", "over bare"],
        [[name, round(value, 3), f"{value / found['bare'] - 1:+.1%}"] for name, value in found.items()],
    )


if __name__ == "__main__":
    main()
