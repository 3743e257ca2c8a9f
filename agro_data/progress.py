"""How long work says where it stands: one small callback, rendered at the edge.

The library calls `progress(stage, done, total, unit)` as shards finish. The terminal draws a bar, Dagster writes a
line every few seconds, tests pass `silent`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from agro_data.words import counted

SLOW = 0.1  # a second: less is said as the time that each takes


class Reporter(Protocol):
    """Receives `done` of `total` units of a stage: 0 starts it (again, in a further round), `total` ends it."""

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None: ...


def silent(stage: str, done: int, total: int, unit: str) -> None:
    """Report nothing."""


def counting(progress: Reporter, stage: str, total: int, unit: str) -> Callable[[int], None]:
    """Starts a stage that has something to do; what it gives is called with each part of `total` that is done."""
    done = 0

    def add(part: int) -> None:
        nonlocal done
        done += part
        progress(stage, done, total, unit)

    if total:
        progress(stage, 0, total, unit)
    return add


@contextmanager
def watching(look: Callable[[bool], object], every: float) -> Iterator[None]:
    """While the block runs, a thread calls `look(False)` every `every` seconds; when it is over, `look(True)` once."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every):
            look(False)
        look(True)

    thread = threading.Thread(target=watch, name="watching")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


_LINE = re.compile(r".+: (?:[\d,]+ \S+ to do|[\d,]+ of [\d,]+ \S+, .+ (?:left|done in .+))")


def is_line(text: str) -> bool:
    """Whether a text is what `Lines` writes: on standard error it stands among warnings and stacks."""
    return _LINE.fullmatch(text) is not None


def pace(done: int, elapsed: float, unit: str = "") -> str:
    """How fast it goes: "50 candidates/s", or "26 s each" where that is less than one in ten seconds."""
    rate = done / elapsed
    if rate < SLOW:
        return f"{clock(elapsed / done)} each"
    return f"{rate:,.{0 if rate >= 10 else 1}f}{f' {unit}' if unit else ''}/s"


class Lines:
    """One line every `every` seconds, with rate and time left, to a function such as a logger's."""

    def __init__(self, write: Callable[[str], object], every: float = 5.0) -> None:
        self.write = write
        self.every = every
        self.started: dict[str, float] = {}
        self.last: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        now = time.monotonic()
        if done == 0:
            self.started[stage] = self.last[stage] = now
            self.write(f"{stage}: {counted(total, unit)} to do")
            return
        start = self.started.setdefault(stage, now)
        due = now - self.last.get(stage, start) >= self.every
        if not due and done < total:
            return
        self.last[stage] = now
        elapsed = max(now - start, 1e-9)
        tail = f"{clock(time_left(elapsed, done, total))} left" if done < total else f"done in {clock(elapsed)}"
        self.write(f"{stage}: {done:,} of {counted(total, unit)}, {pace(done, elapsed, unit)}, {tail}")


class Bars:
    """A bar per stage on a terminal; plain lines where there is none. Use as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.tasks: dict[str, TaskID] = {}
        self.lines = Lines(partial(self.console.print, soft_wrap=True), every=10.0)  # each whole
        self.progress = Progress(
            TextColumn("{task.description:<12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]} {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=False,
        )

    def __enter__(self) -> Bars:
        if self.console.is_terminal:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.progress.stop()

    def __call__(self, stage: str, done: int, total: int, unit: str) -> None:
        if not self.console.is_terminal:
            self.lines(stage, done, total, unit)
            return
        if stage not in self.tasks:
            self.tasks[stage] = self.progress.add_task(stage, total=total, unit=unit, rate="")
        if done == 0:
            self.progress.reset(self.tasks[stage], total=total)
        task = self.progress.tasks[self.tasks[stage]]
        rate = pace(done, task.elapsed) if done and task.elapsed else ""
        self.progress.update(task.id, completed=done, total=total, rate=rate)


def time_left(elapsed: float, done: int, total: int) -> float:
    """Seconds until `total` at the pace so far; infinite before anything is done."""
    return elapsed / done * (total - done) if done else float("inf")


def clock(seconds: float) -> str:
    """A span of time in words: "2 h 5 min", "3 min 20 s", "unknown time" if it is infinite."""
    if seconds == float("inf"):
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    hours, over = divmod(minutes, 60)
    if hours:
        return f"{hours} h {over} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
