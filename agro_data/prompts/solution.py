"""A query out of a reply: what the prompts that have one written share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agro_data.databases.quoting import COMMENTS
from agro_data.llm.prompt import Unparsed, fenced, without_thought

LONGEST = 20_000  # characters of a query
_STARTS = re.compile(r"^\s*(?:SELECT|WITH|\(\s*SELECT|VALUES)\b", re.IGNORECASE | re.MULTILINE)
_COMMENTS = re.compile(COMMENTS)


@dataclass(frozen=True)
class Solution:
    """A query as it was written, without the semicolon at its end. It has passed no gate."""

    sql: str


def parse_solution(text: str) -> Solution | Unparsed:
    """The query of a reply: its last block, or, without one, what stands from a line that begins a query to the end of
    that paragraph. Never raises.

    Classes: `empty`, `no_sql`, `too_long`.
    """
    bare = without_thought(text)
    if not bare:
        return Unparsed("empty", "the reply is empty")
    block = fenced(bare)
    if block is None and (start := _STARTS.search(bare)) is not None:
        block = re.split(r"\n\s*\n|```", bare[start.start() :].strip(), maxsplit=1)[0]
    sql = (block or "").strip().rstrip(";").rstrip()
    bare_sql = _COMMENTS.sub("", sql, count=1)
    if not _STARTS.match(bare_sql) or bare_sql.upper() == "SELECT ...":
        return Unparsed("no_sql", f"expected a query in a block, got {bare[-100:]!r}")
    if len(sql) > LONGEST:
        return Unparsed("too_long", f"the query has {len(sql)} characters, of which {LONGEST} are read")
    return Solution(sql)
