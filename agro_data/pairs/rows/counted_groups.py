"""A count for each group where one number is asked for: "how many countries have more than two makers" answered by the
makers of each of these countries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.databases.types import Result
from agro_data.pairs.finding import Finding
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.said import plain

_ONE_NUMBER = re.compile(
    r"(?:please )?(?:how many|(?:count|find|give|show|return|tell|what is|what s|report|compute|calculate)(?: me)?"
    r"(?: the)?(?: total)? number of)\b"
)
_OF_EACH = re.compile(
    r"\b(?:each|every|per|by|respective|respectively|different|distinct|various|all|both|group|groups|grouped|and|or)\b"
)


def check_counted_groups(question: str, found: Resolution, result: Result | None) -> Iterator[Finding]:
    """Told where several counts come out, and nothing that the question says asks for several."""
    said, tree = plain(question), found.tree
    if _ONE_NUMBER.match(said) is None or _OF_EACH.search(said) or result is None or result.row_count < 2:
        return
    if not isinstance(tree, exp.Select) or tree.args.get("group") is None or tree.args.get("limit") is not None:
        return
    shown = [item.unalias() for item in tree.expressions]
    if len(shown) != 1 or not isinstance(shown[0], exp.Count) or not is_aggregate(shown[0]):
        return
    several = result.row_count
    yield Finding("groups_counted", f"One number is asked for, and {several} come out, each the count of a group.")
