"""SQL that was written as a block of backticks."""

from __future__ import annotations

import re

_FENCED = re.compile(r"\s*```\w*[ \t]*\n((?:(?!```).)*)\n[ \t]*```\s*", re.DOTALL)


def unfenced(text: str) -> str | None:
    """What stands in the block that `text` is as a whole; None where it is none, or several."""
    found = _FENCED.fullmatch(text)
    return None if found is None else found[1].strip()
