"""Spider's `tables.json`: what it says of each database that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

NOT_SPIDERS = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
"""What reading a file or an entry may raise that is not as Spider writes it."""


def spider_entries(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """The entries of a `tables.json` by the database's name. The parsed file is kept for the next database.

    Raises one of `NOT_SPIDERS`. What an entry holds is not looked at.
    """
    return _entries(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _entries(path: str, _stamp: int) -> Mapping[str, Mapping[str, Any]]:
    found = json.loads(Path(path).read_bytes())  # of bytes it finds the encoding, as of what Windows saves as UTF-16
    return {str(entry["db_id"]): entry for entry in found}
