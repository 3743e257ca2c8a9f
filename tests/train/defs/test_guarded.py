"""A guarded program leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

# Three processes that ignore requests to stop: in the program's group, in a session of its own, and an orphan in one.
STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(300)"
NASTY = f"""
import pathlib, subprocess, sys, time
start = [sys.executable, "-c", {STUBBORN!r}]
one = subprocess.Popen(start)
two = subprocess.Popen(start, start_new_session=True)
orphan = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=2).pid)"
three = subprocess.run([sys.executable, "-c", orphan, *start], stdout=subprocess.PIPE, text=True).stdout.strip()
pathlib.Path(sys.argv[1]).write_text(f"{{one.pid}} {{two.pid}} {{three}}")
print("first line", flush=True)
if sys.argv[2] == "stay":
    time.sleep(300)
print("it is over", file=sys.stderr)
sys.exit(3)
"""


def command(folder: Path, how: str) -> list[str]:
    script = folder / "nasty.py"
    script.write_text(NASTY)
    return [sys.executable, "-m", "agro_train.programs.guarded", sys.executable, str(script), str(folder / "pids"), how]


def started(folder: Path) -> list[psutil.Process]:
    """The stubborn processes, once they are there."""
    deadline = time.monotonic() + 30
    while not (folder / "pids").is_file() or len((folder / "pids").read_text().split()) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [psutil.Process(int(pid)) for pid in (folder / "pids").read_text().split()]


def ended(processes: Sequence[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=10)[1]


def test_output_errors_and_status_come_through_and_nothing_stays(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path, "go"), capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "first line\n", "it is over\n")
    for pid in (tmp_path / "pids").read_text().split():
        assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE


def test_a_command_whose_output_nobody_reads_ends_all_the_same() -> None:
    """It writes more than a pipe holds, and would wait for ever for somebody who reads on."""
    many = "for number in range(20_000): print('a line that is forty characters long', number)"
    guard = subprocess.Popen(
        [sys.executable, "-m", "agro_train.programs.guarded", sys.executable, "-c", many],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert guard.stdout is not None
    assert guard.stdout.readline().startswith("a line")
    guard.stdout.close()
    assert guard.wait(timeout=60) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all(number: signal.Signals, tmp_path: Path) -> None:
    guard = subprocess.Popen(command(tmp_path, "stay"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stubborn = started(tmp_path)
    guard.send_signal(number)
    assert guard.wait(timeout=30) != 0
    assert ended(stubborn)


def test_a_parent_that_is_killed_takes_all_with_it(tmp_path: Path) -> None:
    forker = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], stdout=2).pid, flush=True); input()"
    parent = subprocess.Popen(
        [sys.executable, "-c", forker, *command(tmp_path, "stay")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    guard = psutil.Process(int(parent.stdout.readline()))
    stubborn = started(tmp_path)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert ended([guard, *stubborn])
