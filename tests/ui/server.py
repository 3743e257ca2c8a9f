"""The Dagster UI as `make ui` starts it, on a free port, with a history and folders of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
STARTS = 600.0  # seconds until it must answer; a busy machine takes minutes


@dataclass(frozen=True)
class Ui:
    """A UI that answers at `url`; datasets, models and caches lie below `folder`."""

    url: str
    folder: Path

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """What GraphQL answers. Raises `AssertionError` where it answers with errors."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            found: dict[str, Any] = json.load(reply)
        assert "errors" not in found, found["errors"]
        answer: dict[str, Any] = found["data"]
        return answer

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/server_info", timeout=5) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False


@contextmanager
def running_ui(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Ui]:
    """Start `dg dev` with everything it writes below `folder`; end it and all its processes afterwards."""
    home = folder / "home"
    home.mkdir()
    shutil.copy(ROOT / "dagster_home" / "dagster.yaml", home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ui = Ui(f"http://127.0.0.1:{port}", folder)
    log = folder / "ui.log"
    places = {"DAGSTER_HOME": str(home), "AGRO_CACHE": str(folder / "cache")}
    with log.open("w") as stream:
        shell = subprocess.Popen(
            # env.sh names the project's own folder as the place of datasets and models; here it is another one.
            ["bash", "-c", f"source env.sh && AGRO_ROOT='{folder}' dg dev --host 127.0.0.1 --port {port}"],
            cwd=ROOT,
            env=os.environ | places | dict(environment or {}),
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    started = psutil.Process(shell.pid)
    try:
        deadline = time.monotonic() + STARTS
        while not ui.answers():
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            assert shell.poll() is None, log.read_text()[-3000:]
            time.sleep(0.5)
        yield ui
    finally:
        processes = [*started.children(recursive=True), started]
        for process in processes:
            process.terminate()
        for process in psutil.wait_procs(processes, timeout=30)[1]:
            process.kill()
