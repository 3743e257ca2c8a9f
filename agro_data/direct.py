"""A direct answer: one query, written at once, by a model that was not taught to work in turns.

Most models of text-to-SQL are asked so, and write their query in a block of backticks, in tags of their own, or bare,
with or without words around it. The reader is total, as `protocol.parse_turn` is, and gives the same `Turn`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agro_data.protocol import MAX_TURN, Malformed, Turn, parse_turn, untagged

MAX_THOUGHT = 2_000  # characters of the words before a query that are kept: the last ones, which lead to it
NO_THOUGHT = "(no words before the query)"

_THINK = re.compile(r"</?think>")
_BLOCK = re.compile(r"```[ \t]*(?P<language>\w*)[^\n`]*\n(?P<sql>.*?)(?P<end>```|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<(?P<name>sql|solution|answer)>(?P<sql>.*?)(?P<end></(?P=name)>|\Z)", re.DOTALL)
_CTE = r"WITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*(?:\([^()]*\)\s*)?AS\b"  # and not "With this query"
_BARE = re.compile(
    rf"(?:^|:)[ \t]*(?P<sql>(?:SELECT\b|{_CTE}).*?)(?P<end>;[ \t]*$|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_SQL = frozenset({"sql", "sqlite", "sqlite3", "duckdb", "postgresql", "postgres", "mysql"})


def read_direct(reply: str, *, cut: bool = False) -> Turn | Malformed:
    """The query of `reply` as a solution, with the words before it as the thought. Never raises.

    The last block of SQL counts, else what stands in tags, else what begins as a query does. `cut`: the reply met its
    limit, so that a query without an end of its own is none.
    """
    turn = parse_turn(reply)
    if isinstance(turn, Turn) and turn.action != "clarify":
        return Turn(turn.thought, "solution", turn.text)
    if not reply.strip():
        return Malformed("empty", "the reply is empty")
    reasoned, _, said = reply.rpartition("</think>")
    found = _last_block(said) or _last(_TAGGED.finditer(said)) or _BARE.search(said)
    if found is None:
        return Malformed("no_action", "no SQL: expected one query, in a block of ```sql")
    sql = untagged(found["sql"]).strip()
    if cut and not found["end"]:
        return Malformed("unclosed", "the query has no end")
    if not sql:
        return Malformed("empty_action", "the block holds nothing")
    if len(sql) > MAX_TURN:
        return Malformed("too_long", f"a query of {len(sql):,} characters; it has at most {MAX_TURN:,}")
    return Turn(_thought(f"{reasoned}\n{said[: found.start()]}"), "solution", sql)


def _last_block(said: str) -> re.Match[str] | None:
    """The last block that says that it is SQL, else the last that says nothing; one that is empty only if all are."""
    blocks = [*_BLOCK.finditer(said)]
    named = [one for one in blocks if one["language"].lower() in _SQL] or [one for one in blocks if not one["language"]]
    return _last([one for one in named if one["sql"].strip()] or named)


def _last(found: Iterable[re.Match[str]]) -> re.Match[str] | None:
    return next(reversed([*found]), None)


def _thought(before: str) -> str:
    """What was reasoned and said before the query."""
    plain = untagged(_THINK.sub("", before)).strip()
    kept = plain if len(plain) <= MAX_THOUGHT else f"…{plain[-MAX_THOUGHT:].strip()}"
    return kept or NO_THOUGHT
