"""What all child processes have in common in which an engine reads databases of others: how long they have, what they
are started with, and how they end. Imports the standard library only.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path
from time import sleep

import agro_data

OPEN_SECONDS = 120.0  # to open a database (a folder of CSV files is read then), or to start a worker
KILL_FACTOR, KILL_SLACK = 1.5, 0.2  # a worker is killed after limit x factor + slack: within twice the limit


def cause(code: int) -> str:
    """Why a child process gave no answer."""
    return f"its process ended by signal {-code}" if code < 0 else f"its process ended with exit status {code}"


def environment() -> dict[str, str]:
    """The environment variables that a worker needs, without the secrets of this process."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    root = str(Path(agro_data.__file__).parents[1])
    # One malloc arena: each further one takes 64 MiB of the address space that is limited.
    return {**kept, "PYTHONPATH": root, "PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "1"}


def end_with(parent: int) -> None:
    """End this process when its parent is gone, even by `kill -9` and even amid a statement.

    Not PR_SET_PDEATHSIG: that signal also comes when only the thread that started this process ends.
    """
    while os.getppid() == parent:
        sleep(0.5)
    os._exit(0)


def bound_memory(size: int) -> None:
    """Limit the address space to what is taken now and `size` bytes more, where the system tells it."""
    taken, _ = _memory()
    if taken:
        resource.setrlimit(resource.RLIMIT_AS, (taken + size, resource.RLIM_INFINITY))


def resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell."""
    return _memory()[1]


def _memory() -> tuple[int, int]:
    """Bytes of address space and of memory that this process has; zeros where the system does not tell."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0, 0
    space, resident = statm.read_text().split()[:2]
    return int(space) * resource.getpagesize(), int(resident) * resource.getpagesize()
