"""A direct answer: one query, written at once, by a model that was not taught to work in turns.

The reader is total, as `protocol.parse_turn` is, and gives the same `Turn`; it finds a query where `agro evaluate
--replies` does.
"""

from __future__ import annotations

import re

from agro_data.evaluation.replies import query_of
from agro_data.protocol import Malformed, Turn, parse_turn, untagged

MAX_THOUGHT = 2_000  # characters of the words before a query that are kept: the last ones, which lead to it
NO_THOUGHT = "(no words before the query)"
_OPENING = re.compile(r"</?think>|```\w*\s*\Z|<\w+>\s*\Z")  # of the thought, or of what holds the query


def read_direct(reply: str, *, cut: bool = False) -> Turn | Malformed:
    """The query of `reply` as a solution, with the words before it as the thought. Never raises.

    `cut`: the reply met its limit, so that what it wrote last is not whole.
    """
    turn = parse_turn(reply)
    if isinstance(turn, Turn) and turn.action != "clarify":
        return Turn(turn.thought, "solution", turn.text)
    sql = untagged(query_of(_whole(reply) if cut else reply)).strip()
    if not sql:
        return Malformed("no_action", "no SQL: expected one query, in a block of ```sql")
    return Turn(_thought(reply.rpartition(sql)[0]), "solution", sql)


def _whole(reply: str) -> str:
    """What had ended before a reply was cut: its blocks that are closed, and its paragraphs."""
    if reply.count("```") % 2:
        return reply[: reply.rfind("```")]
    return reply[: max(reply.rfind("\n\n"), reply.rfind("```") + 3)] if "\n\n" in reply or "```" in reply else ""


def _thought(before: str) -> str:
    """What was reasoned and said before the query."""
    plain = untagged(_OPENING.sub("", before)).strip()
    kept = plain if len(plain) <= MAX_THOUGHT else f"…{plain[-MAX_THOUGHT:].strip()}"
    return kept or NO_THOUGHT
