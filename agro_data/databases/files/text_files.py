"""Files of text, packed or not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO


def opened(file: Path) -> IO[bytes]:
    """The bytes of a file; of one called `.gz`, those that are packed in it."""
    return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")  # type: ignore[return-value]
