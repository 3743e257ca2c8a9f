"""What a server's model wrote, as a turn: how it reasons is its own, and no fault of the turn's form.

A model that reasons before it answers does so at length. It repeats the tags that it was told of, and then writes the
thought that it was asked for behind its own. A turn has one thought, without tags, and not longer than others read it.
"""

from __future__ import annotations

import re

from agro_data.protocol import untagged

LONGEST = 2_000  # characters of a thought that are kept: the last ones, which lead to the action

_ACTION = re.compile(r"\s*<(?:sql|solution|clarify)>")
_ANOTHER = re.compile(r"</think>\s*<think>")


def as_turn(reply: str) -> str:
    """`reply` with what stands before its action as one thought; unchanged where no action follows a thought.

    A thought ends at the first `</think>` if it holds no tag and an action follows, else at the last one.
    """
    start, opened, rest = reply.partition("<think>")
    if start.strip() or not opened:
        return reply
    thought, _, action = rest.partition("</think>")
    if not _ACTION.match(action) or thought != untagged(thought):
        thought, _, action = rest.rpartition("</think>")
    return f"<think>{_kept(thought)}</think>{action}" if _ACTION.match(action) else reply


def _kept(thought: str) -> str:
    plain = untagged(_ANOTHER.sub("\n", thought))
    return plain if len(plain) <= LONGEST else f"…{plain[-LONGEST:]}"
