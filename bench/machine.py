"""What the figures were measured on, and how much memory a process tree took."""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
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


class PeakMemory:
    """Largest resident memory of this process and its children together, sampled; `bytes` after the block."""

    def __init__(self, every: float = 0.25) -> None:
        self.every = every
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.is_set():
            self.bytes = max(self.bytes, sum(_resident(p) for p in [me, *me.children(recursive=True)]))
            time.sleep(self.every)


def _resident(process: psutil.Process) -> int:
    try:
        # Pages shared with the parent are counted once: proportional set size where the kernel gives it.
        return int(getattr(process.memory_full_info(), "pss", 0) or process.memory_info().rss)
    except psutil.Error:
        return 0
