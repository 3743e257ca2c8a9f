"""Run shards in worker processes, and let one bad shard cost only itself.

Shards are independent and write their own files. A shard that raises, or kills its process, is reported by name, and
the others go on. With one worker everything runs in this process (tests, previews).

A shard that raises would raise again, so its failure is recorded and the build goes on. A shard is *lost* if its
process was killed, memory or another resource of the machine ran out, or its input has gone. This says nothing about
the shard itself, and a build without it would be incomplete.
"""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from agro_data.databases.errors import first_line
from agro_data.databases.hostile.sandbox import end_own_sandboxes
from agro_data.faults import NO_SPACE, is_passing

DISK_FULL = NO_SPACE | {errno.EROFS}
# Workers are forked from a process that has imported these and done nothing else: imports cost seconds, each stage
# starts a pool, and a fork of the caller itself would inherit its threads and locks.
PRELOADED = ["agro_data.stages.generating"]
PACKAGE = Path(__file__).parent
SELDOM = 100_000  # objects made before a worker looks for garbage among them: ten megabytes

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Outcome(Generic[Task, Answer]):
    """The outcome of a task: its answer, or one line that says what went wrong; `lost`: another run may do better."""

    task: Task
    answer: Answer | None
    error: str = ""
    lost: bool = False
    trace: str = ""  # where it went wrong, in many lines; empty where nothing was raised


STORED = (
    "no version is written without them. Run it again: only they are left to do. "
    "With fewer --workers each has more memory; --only leaves a database out"
)


class Lost(RuntimeError):
    """Raised by a task that was not tried, for a reason outside it: another run may do better."""


class ShardsLost(RuntimeError):
    """Shards that were lost; a process that died, died twice. `remedy` says what to do: all others are stored."""

    def __init__(self, lost: Sequence[Outcome[Any, Any]], remedy: str = STORED) -> None:
        super().__init__("\n".join([*(f"{outcome.task}: {outcome.error}" for outcome in lost), remedy]))


def run_shards(
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    workers: int,
    on_done: Callable[[Outcome[Task, Answer]], None],
    *,
    isolate: bool = False,
) -> list[Outcome[Task, Answer]]:
    """Outcomes in the order of `tasks`. With `workers` > 1 `function` and the tasks must be picklable and importable:
    workers never import the main module.

    `isolate` keeps even a single worker out of this process: what it loads, such as torch, goes when it ends. A task
    whose process died is tried once more, alone, so that a neighbour's crash is not blamed on it.
    """
    outcomes: dict[int, Outcome[Task, Answer]] = {}

    def settle(index: int, outcome: Outcome[Task, Answer]) -> None:
        outcomes[index] = outcome
        on_done(outcome)

    if not isolate and workers == 1:
        try:
            for index, task in enumerate(tasks):
                settle(index, _attempt(function, task))
        finally:
            end_own_sandboxes()  # as the end of a worker ends its own
    elif tasks:
        lost = _run_pool(function, dict(enumerate(tasks)), workers, settle)
        for index in lost:
            if _run_pool(function, {index: tasks[index]}, 1, settle):
                settle(
                    index, Outcome(tasks[index], None, "its worker process died (killed, or out of memory)", lost=True)
                )
    return [outcomes[index] for index in range(len(tasks))]


def _run_pool(
    function: Callable[[Task], Answer],
    tasks: dict[int, Task],
    workers: int,
    settle: Callable[[int, Outcome[Task, Answer]], None],
) -> list[int]:
    """Run tasks in a fresh pool; the indices whose process died before they ended.

    An interrupt ends the workers at once: their unfinished shards are done again by the next run.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    size = min(workers, len(tasks))
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(max_workers=size, mp_context=context, initializer=_start) as pool:
        lost: list[int] = []
        try:
            with _undisturbed(), _main_hidden():
                _start_server()
                futures = _submitted(pool, function, tasks)
            lost += sorted(set(tasks) - set(futures.values()))
            for future in as_completed(futures):
                try:
                    settle(futures[future], future.result())
                except BrokenProcessPool:
                    lost.append(futures[future])
        except BaseException:  # an interrupt, or a full disk: leaving the pool would wait for every task
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
    return sorted(lost)


def _submitted(
    pool: ProcessPoolExecutor, function: Callable[[Task], Answer], tasks: dict[int, Task]
) -> dict[Future[Outcome[Task, Answer]], int]:
    """The tasks that the pool took: it takes none any more once a worker has died, which the first may do at once."""
    futures: dict[Future[Outcome[Task, Answer]], int] = {}
    for index, task in tasks.items():
        try:
            futures[pool.submit(_attempt, function, task)] = index
        except BrokenProcessPool:
            break
    return futures


def _start_server() -> None:
    """Start the process that workers are forked from. It never hears of Ctrl-C, of which it would tell amid its
    imports, and neither do they.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _main_hidden() -> Iterator[None]:
    """Workers started meanwhile do not import the caller's main module.

    They need nothing of it, and a script without `if __name__ == "__main__"` would build again in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that stop this process wait until the workers have started: a half-started worker could neither be found
    nor ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # the signal is the main thread's to handle
        return
    came: list[int] = []
    stopping = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, lambda number, _: came.append(number)) for number in stopping]
    try:
        yield
    finally:
        for number, handler in zip(stopping, before, strict=True):
            signal.signal(number, handler)
    for first in came[:1]:
        signal.raise_signal(first)


def _start() -> None:
    """Make this process a worker. Imports are left out where garbage is looked for, which takes a tenth of the time of
    what makes many syntax trees if Python does it as often as it is wont to.
    """
    gc.freeze()
    gc.set_threshold(SELDOM, 10, 10)
    _end_with_parent()


def _end_with_parent() -> None:
    """End this worker when the process it works for is gone, even by `kill -9`: it would wait for tasks for ever.

    Ctrl-C reaches every process of a terminal; it is for the parent to act on.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _attempt(function: Callable[[Any], Any], task: Any) -> Outcome[Any, Any]:
    try:
        return Outcome(task, function(task))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise  # no shard can be written any more: stop the build, which resumes once there is room
        if isinstance(error, Lost):
            return Outcome(task, None, str(error), lost=True)
        trace = "".join(traceback.format_exception(error))
        if isinstance(error, MemoryError):
            return Outcome(task, None, "out of memory", lost=True, trace=trace)
        if is_passing(error):
            return Outcome(task, None, f"the machine was at fault: {error}", lost=True, trace=trace)
        return Outcome(task, None, fault_line(error), trace=trace)


def fault_line(error: Exception) -> str:
    """A fault of this program in one line, for who catches it: what was raised and where or, if a library raised it,
    where our code called the library.
    """
    called = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in called[1:] if Path(frame.filename).is_relative_to(PACKAGE)]  # the first has caught it
    frame = (ours or called)[-1]
    file = Path(frame.filename)
    shown = file.relative_to(PACKAGE.parent).as_posix() if ours else file.name
    return f"{type(error).__name__}: {first_line(error)} (at {shown}, line {frame.lineno}, in {frame.name})"
