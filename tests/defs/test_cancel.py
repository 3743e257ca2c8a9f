"""A run that is cancelled leaves no process behind, and can be started again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from making import make_school

ROOT = Path(__file__).resolve().parents[2]


def run_config(folder: Path) -> Path:
    """Four databases and far more rows than a minute gives, so that workers are busy when the signal comes."""
    for number in range(4):
        (folder / "schools").mkdir(exist_ok=True)
        make_school(folder / "schools" / f"school_{number}.sqlite", tag=str(number))
    config = folder / "run.yaml"
    config.write_text(
        f"""
resources:
  place:
    config: {{datasets: "{folder / "out"}", workers: 2}}
ops:
  databases:
    config: {{databases: "{folder / "schools"}", name: school, size: 50000, embedding_model: structural}}
"""
    )
    return config


def descendants(process: psutil.Process) -> list[psutil.Process]:
    return process.children(recursive=True) if process.is_running() else []


@pytest.mark.ci
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_cancelled_run_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    log = tmp_path / "log"
    with log.open("w") as stream:
        run = subprocess.Popen(
            ["bash", "-c", f"source env.sh && exec dagster job execute -j build_corpus -c {run_config(tmp_path)}"],
            cwd=ROOT,
            env=os.environ | {"DAGSTER_HOME": str(home), "AGRO_CACHE": str(tmp_path / "cache")},
            stdout=stream,
            stderr=subprocess.STDOUT,
            # A runner in the background of a script ignores SIGINT, and its children would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
    root = psutil.Process(run.pid)
    started: list[psutil.Process] = []
    try:
        deadline = time.monotonic() + 120
        while run.poll() is None and time.monotonic() < deadline:
            started = descendants(root)
            if "candidates: " in log.read_text() and len(started) >= 3:  # the fork server and two workers
                break
            time.sleep(0.1)
        assert run.poll() is None, log.read_text()[-3000:]
        assert len(started) >= 3, log.read_text()[-3000:]
        run.send_signal(number)
        assert run.wait(timeout=60) != 0
        _, alive = psutil.wait_procs(started, timeout=10)
        assert not alive, log.read_text()[-3000:]
        assert not list((tmp_path / "out").glob("school/v*"))
    finally:
        for process in started if run.poll() is not None else [*started, root]:
            if process.is_running():
                process.kill()
