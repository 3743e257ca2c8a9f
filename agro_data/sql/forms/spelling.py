"""Statements that differ in letter case and spacing only, without parsing: cheap enough for every prediction."""

from __future__ import annotations

import re

from agro_data.databases.quoting import SPACES, unended
from agro_data.sql.parse import LONGEST

# What may not be touched: texts, quoted names, comments. Brackets and comments that nothing ends go to the end, so that
# none is looked for again from each of many beginnings.
_KEPT = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*(?:\]|\Z)|--[^\n]*\n?|/\*.*?(?:\*/|\Z))""", re.DOTALL
)
# A text in a list of DuckDB, or a name of SQLite with a quote in it: where the brackets end cannot be told.
_QUOTE_IN_BRACKETS = re.compile(r"""\[[^\[\]'"`]*['"`]""")
_SPACE = re.compile(f"[{SPACES}]+")
_AROUND = re.compile(r" ?([,()]) ?")


def spelling(sql: str) -> str:
    """Text that is equal for two statements only if they differ in ASCII case and space outside of quotes.

    Neither engine sees such a difference, except in the names of output columns. A statement that may hold quotes of
    another kind ($$Oslo$$, a backslash, ['a]']) is left as it is, and so is one longer than any that is read.
    """
    whole = unended(sql.lstrip(SPACES))
    if "$" in whole or "\\" in whole or len(whole) > LONGEST or _QUOTE_IN_BRACKETS.search(whole):
        return whole
    parts = _KEPT.split(whole)
    for place in range(0, len(parts), 2):
        part = parts[place]
        lower = part.lower() if part.isascii() else part
        parts[place] = _AROUND.sub(r"\1", _SPACE.sub(" ", lower))
    return "".join(parts)
