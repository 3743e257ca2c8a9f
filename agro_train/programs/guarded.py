"""Run a training program so that it leaves nothing behind: `python -m agro_train.programs.guarded COMMAND...`.

The command gets a session and process group of its own. It ends with its parent (even one that was killed), an
interrupt is passed on to it, and when it has ended, however it did, so does everything that it started: launchers and
inference engines start processes in sessions of their own, which a process group does not hold, so on Linux this
process adopts the orphans among them.

Within a Dagster Pipes session each line of the command's output becomes a line of the run's log (metrics, which are
JSON, in words), as does each of its errors that tells progress, and its last line and the last of its errors are
reported with its exit status; outside, it prints what the command prints and ends as it does.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from dagster_pipes import DAGSTER_PIPES_CONTEXT_ENV_VAR, open_dagster_pipes

from agro_data.progress import is_line
from agro_data.terminal.streams import let_go
from agro_train.programs.telling import said

PATIENCE = 20.0  # seconds between the request to stop and the end
LOOK = 0.2  # seconds between two looks at command and parent
ERROR_LINES = 200  # of which a launcher of eight processes writes eighty when one has failed
LAST_LINES = 5.0  # seconds to wait for what is still in the pipes
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_guarded(
    command: Sequence[str], write: Callable[[str], object], write_error: Callable[[str], object]
) -> tuple[int, list[str]]:
    """Exit status and last lines of errors of `command`; its lines go to the two functions as they come.

    Call it from the main thread of a process that does nothing else: it takes over the signals SIGINT and SIGTERM, and
    ends every descendant of this process.
    """
    parent = os.getppid()
    _adopt_orphans()
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        bufsize=1,
        start_new_session=True,
        preexec_fn=_prepare,  # noqa: PLW1509 (no thread has started yet)
    )
    errors: deque[str] = deque(maxlen=ERROR_LINES)
    readers = [
        threading.Thread(target=_relay, args=(child.stdout, write, errors), daemon=True),
        threading.Thread(target=_relay, args=(child.stderr, _both(errors.append, write_error), errors), daemon=True),
    ]
    for reader in readers:
        reader.start()
    while child.poll() is None and not asked and os.getppid() == parent:
        time.sleep(LOOK)
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGINT)
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
    _end_group(child.pid)
    status = child.wait()
    _end_descendants()
    for reader in readers:
        reader.join(LAST_LINES)
    return status, list(errors)


def _relay(stream: IO[str] | None, write: Callable[[str], object], errors: deque[str]) -> None:
    """Pass lines on until the stream ends. What cannot be written is still read: the command waits where a pipe is
    full, and would not end."""
    failed = False
    for line in stream or ():
        try:
            write(line.rstrip())
        except Exception as error:
            if not failed:  # a closed output or a full disk fails at every line
                errors.append(f"output was lost: {type(error).__name__}: {error}")
            failed = True


def _both(first: Callable[[str], object], second: Callable[[str], object]) -> Callable[[str], object]:
    return lambda line: (first(line), second(line))


def _adopt_orphans() -> None:
    """Descendants whose parent ends become this process's children, so that they can be found."""
    _set_process(_ADOPT_ORPHANS, 1)


def _prepare() -> None:
    """In the child, before the command: it hears interrupts, and ends with this process even if that is killed."""
    # A program started from the background of a script ignores SIGINT, and its children would inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _set_process(_END_WITH_PARENT, signal.SIGKILL)


def _set_process(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # empty; PermissionError is what macOS says of zombies
        return


def _end_descendants() -> None:
    """End children until there are none: the children of an ended child are adopted, and are next."""
    while children := _children():
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for pid in children:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:  # waited for already
                continue


def _children() -> list[int]:
    """This process's children, where the system lists processes as files (Linux)."""
    own = str(os.getpid())
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]  # the name before may hold anything
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        if parent == own and state != "Z":
            found.append(int(stat.parent.name))
    return found


def main(command: Sequence[str]) -> int:
    """Run `command`; inside a Pipes session, tell it the lines, at last status and last lines, and end with 0."""
    if DAGSTER_PIPES_CONTEXT_ENV_VAR not in os.environ:
        status, _ = run_guarded(command, _print, _print_error)
        let_go(sys.stdout, sys.stderr)
        return status if status >= 0 else 128 - status
    lines: deque[str] = deque(maxlen=1)
    with open_dagster_pipes() as pipes:

        def write(line: str) -> None:
            lines.append(line)
            pipes.log.info(_in_words(line))

        def write_error(line: str) -> None:
            tell = pipes.log.info if is_line(line) else _print_error
            tell(line)

        status, errors = run_guarded(command, write, write_error)
        pipes.report_custom_message({"status": status, "errors": errors, "last": "".join(lines)})
    return 0


def _in_words(line: str) -> str:
    try:
        metrics = json.loads(line)
    except json.JSONDecodeError:
        return line
    return said(metrics) if isinstance(metrics, dict) else line


def _print(line: str) -> None:
    print(line, flush=True)


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
