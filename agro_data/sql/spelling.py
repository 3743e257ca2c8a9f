"""Statements that differ in letter case and spacing only, without parsing: cheap enough for every prediction."""

from __future__ import annotations

import re

from agro_data.sql.parse import LONGEST

# What may not be touched: texts, quoted names, comments.
_KEPT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*\n?|/\*.*?\*/)""", re.DOTALL)
_SPACE = re.compile(r"\s+")
_AROUND = re.compile(r" ?([,()]) ?")


def spelling(sql: str) -> str:
    """Text that is equal for two statements only if they differ in ASCII case and space outside of quotes.

    Neither engine sees such a difference, except in the names of output columns. A statement that may hold quotes of
    another kind ($$Oslo$$, or a backslash) is left as it is, and so is one longer than any that is read.
    """
    whole = sql.strip().rstrip(";").rstrip()
    if "$" in whole or "\\" in whole or len(whole) > LONGEST:
        return whole
    parts = _KEPT.split(whole)
    for place in range(0, len(parts), 2):
        part = parts[place]
        lower = part.lower() if part.isascii() else part
        parts[place] = _AROUND.sub(r"\1", _SPACE.sub(" ", lower))
    return "".join(parts)
