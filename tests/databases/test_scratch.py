"""Temporary folders with copies of databases: gone with the process, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agro_data.databases.scratch import ScratchFolder, sweep

# As a verb that has a copy of a database, until it is stopped.
HOLDING = """
import signal, sys, time
import click
from agro_data.databases.scratch import ScratchFolder
from agro_data.terminal.running import run
for number in signal.SIGTERM, signal.SIGHUP:  # a test may run behind nohup itself
    signal.signal(number, signal.SIG_DFL)
if len(sys.argv) > 1:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
@click.command()
def hold():
    with ScratchFolder("test") as folder:
        print(folder, flush=True)
        time.sleep(60)
sys.argv[1:] = []
run(hold)
"""


def holding(temporary: Path, *arguments: str) -> tuple[subprocess.Popen[str], Path]:
    """A process that has a folder in `temporary`, and that folder."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDING, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert child.stdout is not None
    return child, Path(child.stdout.readline().strip())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    child, folder = holding(tmp_path)
    assert folder.is_dir()
    child.send_signal(number)
    _, said = child.communicate(timeout=20)
    assert (child.returncode, said.strip()) == (128 + number, f"stopped by {number.name}")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And neither what a living one has, a hang-up ignored, nor what is not ours."""
    (tmp_path / "agro-notes").mkdir()
    (tmp_path / f"agro-test-{os.getpid()}-linked__").symlink_to(tmp_path / "agro-notes")
    killed, left = holding(tmp_path)
    living, used = holding(tmp_path, "nohup")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        killed.kill()
        killed.wait()
        living.send_signal(signal.SIGHUP)
        (left / "copy.sqlite").write_bytes(b"rows")
        with ScratchFolder("test") as own:
            sweep()
            assert Path(own).is_dir()
        names = {entry.name for entry in tmp_path.iterdir()}
        assert names == {used.name, "agro-notes", f"agro-test-{os.getpid()}-linked__"}
        assert living.poll() is None
    finally:
        living.kill()
        living.wait()
