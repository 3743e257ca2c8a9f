"""What queries give, as text for whoever judges them."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.protocol import render_result
from agro_data.verify.execution import execute

TOGETHER = 128  # results whose rows are held at a time: a text has a few of them, a result up to ten thousand


def as_shown(pairs: Sequence[tuple[Database, str]], sandbox: Sandbox) -> list[str]:
    """The text of what each query gives on its database, in order; pairs that occur twice run once."""
    unique = list(dict.fromkeys(pairs))
    texts: dict[tuple[Database, str], str] = {}
    for first in range(0, len(unique), TOGETHER):
        some = unique[first : first + TOGETHER]
        texts |= zip(some, map(render_result, execute(some, sandbox, "rows")), strict=True)
    return [texts[pair] for pair in pairs]
