"""What the figures were measured on, and how much processor time and memory a process tree took."""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import threading
from contextlib import suppress
from types import TracebackType

import duckdb
import polars
import psutil


def description() -> str:
    """One line: processor, cores, memory, versions."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")),
        platform.machine(),
    )
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB; Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, DuckDB {duckdb.__version__}, polars {polars.__version__}"
    )


def _cpuinfo() -> list[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            return stream.read().splitlines()
    except OSError:
        return []


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Usage:
    """Processor time and largest resident memory of this process and its children together, sampled.

    `cpu_seconds` (user and system) can be read at any time inside the block, and says the same on a busy machine
    and on a quiet one, more or less. Children are told apart by their start, and count after they have ended.
    """

    def __init__(self, every: float = 0.1) -> None:
        self.every = every
        self.bytes = 0
        self._cpu: dict[tuple[int, float], float] = {}
        self._before = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Usage:
        self.look()
        self._before = sum(self._cpu.values())
        self._thread.start()
        return self

    @property
    def cpu_seconds(self) -> float:
        """Since the block began."""
        return sum(list(self._cpu.values())) - self._before

    @property
    def gibibytes(self) -> float:
        """Peak so far."""
        return round(self.bytes / 2**30, 2)

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self.every)

    def look(self) -> Usage:
        """Look now, not only every so often."""
        me = psutil.Process()
        processes = [me, *me.children(recursive=True)]
        for process in processes:
            with suppress(psutil.Error):  # it has just ended
                times = process.cpu_times()
                self._cpu[process.pid, process.create_time()] = times.user + times.system
        self.bytes = max(self.bytes, sum(_resident(process) for process in processes))
        return self


def _resident(process: psutil.Process) -> int:
    try:
        # Pages shared with the parent are counted once: proportional set size where the kernel gives it.
        return int(getattr(process.memory_full_info(), "pss", 0) or process.memory_info().rss)
    except psutil.Error:
        return 0
