"""Many questions to one server at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TypeVar

Asked = TypeVar("Asked")
Found = TypeVar("Found")
_LOOK = 1.0  # seconds between two looks for a signal: a wait without end hears only those that come to its own thread


def at_once(
    do: Callable[[Asked], Found], asked: Sequence[Asked], threads: int
) -> Generator[tuple[int, Found], None, None]:
    """Each place in `asked` with what `do` makes of it, in the order in which they are finished, in so many threads.

    Raises what `do` raises. Who ends it, by Ctrl-C too, waits for nothing that is under way: a server may be silent for
    long.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    finished: queue.SimpleQueue[tuple[int, Found | None, BaseException | None]] = queue.SimpleQueue()
    for place in range(len(asked)):
        waiting.put(place)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            try:
                place = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((place, do(asked[place]), None))
            except BaseException as error:  # the caller raises it
                finished.put((place, None, error))

    for _ in range(min(threads, len(asked))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in asked:
            place, found, error = _next(finished)
            if error is not None:
                raise error
            yield place, found  # type: ignore[misc]
    finally:
        over.set()


def _next(finished: queue.SimpleQueue[Found]) -> Found:
    while True:
        with suppress(queue.Empty):
            return finished.get(timeout=_LOOK)
