"""What a training program writes while it runs: the lines of its draft's `metrics.jsonl`, as they come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from agro_data.progress import watching
from agro_train.runs.store import METRICS

Line = dict[str, Any]
Show = Callable[[Line], object]

LOOK = 0.5  # seconds between two looks at the file
EVERY = 5.0  # seconds, at least, between two calls


class Tail:
    """The lines added to a model's draft since this was made, from the file that was written to after that.

    A draft that goes on after an interruption has lines already. The program may drop the last of them first; the lines
    that it keeps are not given again. Finishing a run renames its folder, which an open file does not mind.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = self._sizes()
        self._file: IO[str] | None = None
        self._rest = ""

    def read(self) -> list[Line]:
        """Whole lines that came since the last call."""
        if self._file is None and (found := self._growing()) is not None:
            self._file = found.open(encoding="utf-8")
            self._file.seek(self._before.get(found, 0))
        if self._file is None:
            return []
        *whole, self._rest = (self._rest + self._file.read()).split("\n")
        return [json.loads(line) for line in whole if line]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _growing(self) -> Path | None:
        sizes = self._sizes()
        grown = next((path for path, size in sizes.items() if size > self._before.get(path, 0)), None)
        self._before |= {path: min(size, self._before.get(path, 0)) for path, size in sizes.items()}
        return grown

    def _sizes(self) -> dict[Path, int]:
        """Bytes of the metrics of each draft."""
        found: dict[Path, int] = {}
        for path in sorted(self.folder.glob(f".draft-*/{METRICS}")):
            with suppress(FileNotFoundError):  # the run is finished, and its folder renamed, between two looks
                found[path] = path.stat().st_size
        return found


@contextmanager
def following(folder: Path, show: Show) -> Iterator[None]:
    """While the block runs, call `show` with the newest metrics of the model in `folder`, and at last with the last.

    It is called in a thread, at most once in `EVERY` seconds. Lines between two calls are merged, so that what only
    some lines hold is shown too.
    """
    tail = Tail(folder)
    merged: Line = {}
    shown = time.monotonic() - EVERY

    def look(over: bool) -> None:
        nonlocal shown
        for line in tail.read():
            merged.update(line)
        if merged and (over or time.monotonic() - shown >= EVERY):
            show(dict(merged))
            merged.clear()
            shown = time.monotonic()

    try:
        with watching(look, LOOK):
            yield
    finally:
        tail.close()
