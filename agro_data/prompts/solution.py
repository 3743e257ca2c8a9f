"""A query out of a reply: what the prompts that have one written share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agro_data.databases.quoting import COMMENTS
from agro_data.llm.prompt import Unparsed, blocks, without_thought

LONGEST = 20_000  # characters of a query
_STARTS = re.compile(r"^\s*(?:SELECT|WITH|\(\s*SELECT|VALUES)\b", re.IGNORECASE | re.MULTILINE)
# Among prose, which may begin with "With", too.
_NAME = r"""(?:\w+|"[^"]*"|`[^`]*`|\[[^]]*\])"""
_CTE = rf"WITH\s+(?:RECURSIVE\s+)?{_NAME}\s*(?:\([^()]*\)\s*)?AS"
_BEGINS = re.compile(rf"^\s*(?:SELECT|{_CTE}|\(\s*SELECT|VALUES)\b", re.IGNORECASE | re.MULTILINE)
_COMMENTS = re.compile(COMMENTS)


@dataclass(frozen=True)
class Solution:
    """A query as it was written, without the semicolon at its end. It has passed no gate."""

    sql: str


def parse_solution(text: str) -> Solution | Unparsed:
    """The query of a reply: its last block that is one, or, without a block, what stands from a line that begins a
    query to its semicolon or the end of that paragraph. Never raises.

    Classes: `empty`, `no_sql`, `too_long`.
    """
    bare = without_thought(text)
    if not bare:
        return Unparsed("empty", "the reply is empty")
    found = blocks(bare)
    block = next(filter(_is_query, reversed(found)), found[-1] if found else None)
    if block is None and (start := _BEGINS.search(bare)) is not None:
        block = re.split(r"\n\s*\n|```|;[ \t]*\n", bare[start.start() :].strip(), maxsplit=1)[0]
    sql = (block or "").strip().rstrip(";").rstrip()
    if not _is_query(sql):
        return Unparsed("no_sql", f"expected a query in a block, got {bare[-100:]!r}")
    if len(sql) > LONGEST:
        return Unparsed("too_long", f"the query has {len(sql)} characters, of which {LONGEST} are read")
    return Solution(sql)


def _is_query(sql: str) -> bool:
    bare = _COMMENTS.sub("", sql.strip(), count=1)
    return _STARTS.match(bare) is not None and bare.upper() != "SELECT ..."
