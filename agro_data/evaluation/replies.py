"""Predictions that are a model's replies: the SQL in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agro_data.evaluation.loaded import Prediction
from agro_data.llm.prompt import fenced, without_thought
from agro_data.prompts.solution import Solution, parse_solution

# What no SQL has at the beginning of a line; a model may say something before it.
_SPOKEN = re.compile(r"^[ \t]*(?:```|</?think>|<solution>)", re.MULTILINE)
# Whatever else the turn is like: a thought may be long or begun by the prompt, and a stop takes the closing tag away.
_ACTION = re.compile(r"<(sql|solution|answer|clarify)>(.*?)(?:</\1>|\Z)", re.DOTALL)


def solved(rows: Sequence[Prediction]) -> tuple[Prediction, ...]:
    """`rows` with the query of each reply: of an agent's last turn its solution, else the last block, without thoughts.
    A reply without a query is a missing prediction."""
    return tuple(replace(row, predictions=tuple(map(query_of, row.predictions))) for row in rows)


def spoken(rows: Sequence[Prediction]) -> Iterator[str]:
    """A note where predictions are replies, not SQL, and score 0."""
    found = sum(any(map(_SPOKEN.search, row.predictions)) for row in rows)
    if found:
        what = "predictions with code fences, thoughts or tags, which no engine and no official script takes for SQL"
        mends = "`agro evaluate --replies` takes the SQL out of them"
        yield f"{found:,} of {len(rows):,} questions have {what}: {mends}"


def query_of(reply: str) -> str:
    """The query of a reply, as `solved` takes it; "" where it has none. Never raises."""
    actions = _ACTION.findall(without_thought(reply))
    if actions:
        action, text = actions[-1]
        return (fenced(text) or text).strip() if action in ("solution", "answer") else ""
    found = parse_solution(reply)
    return found.sql if isinstance(found, Solution) else ""
