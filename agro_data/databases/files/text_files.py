"""Files of text, packed or not."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import IO

LONGEST_LINE = 2**20  # bytes of one that is looked at


def is_packed(file: Path) -> bool:
    """Whether it is called `.gz`."""
    return file.suffix.lower() == ".gz"


def opened(file: Path) -> IO[bytes]:
    """The bytes of a file; of one called `.gz`, those that are packed in it."""
    return gzip.open(file) if is_packed(file) else file.open("rb")  # type: ignore[return-value]


@contextmanager
def readable(file: Path, end: int | None) -> Iterator[str]:
    """A path at which a file can be read once, up to and with its line `end`, or whole.

    A part of it comes through a pipe: who runs hostile SQL may write no file.
    """
    if end is None:
        yield str(file)
        return
    reading, writing = os.pipe()

    def fill() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe, opened(file) as whole:
            pipe.writelines(islice(whole, end))

    filler = Thread(target=fill, daemon=True)
    filler.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        filler.join()
