"""Files of text, packed or not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO


def is_packed(file: Path) -> bool:
    """Whether it is called `.gz`."""
    return file.suffix.lower() == ".gz"


def opened(file: Path) -> IO[bytes]:
    """The bytes of a file; of one called `.gz`, those that are packed in it."""
    return gzip.open(file) if is_packed(file) else file.open("rb")  # type: ignore[return-value]
