"""What a database is called: stable ids.

Ids match `[A-Za-z0-9_][A-Za-z0-9_.-]*`: each run of other characters becomes one `_`. Where several databases
would have one id, each takes its whole relative path instead (`a/shop.db` and `b/shop.db` become `a.shop` and
`b.shop`), with its extension where that is not enough, and then with a hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def distinct_ids(places: Sequence[tuple[str, str]]) -> list[str]:
    """An id for each (relative path, name without extension); the same set of places gives the same ids.

    Ids that differ only by case count as one: they name folders and files.
    """
    candidates = [_candidates(relative, name) for relative, name in places]
    level = [0] * len(places)
    while clashing := [group for group in _groups(candidates, level) if len(group) > 1]:
        for group in clashing:
            for index in group:
                level[index] += 1
    return [names[chosen] for names, chosen in zip(candidates, level, strict=True)]


def _candidates(relative: str, name: str) -> tuple[str, ...]:
    """Ids from the plainest to one that no other path has."""
    path = PurePosixPath(relative)
    full = ".".join(path.parts) or name
    digest = hashlib.sha256(relative.encode("utf-8", "surrogateescape")).hexdigest()
    unique = f"{database_id(full)}-{digest[:8]}"
    return (
        database_id(name),
        database_id(".".join((*path.parts[:-1], name))),
        database_id(full),
        unique,
        f"{unique}{digest[8:]}",
    )


def _groups(candidates: list[tuple[str, ...]], level: list[int]) -> list[list[int]]:
    """Places by the id they have now."""
    groups: dict[str, list[int]] = {}
    for index, names in enumerate(candidates):
        groups.setdefault(names[level[index]].lower(), []).append(index)
    return list(groups.values())


def database_id(name: str) -> str:
    """A name as an id: `my shop (1)` -> `my_shop_1`, `...` -> `_`."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).lstrip(".-")
    if not re.search(r"\w$", name):
        cleaned = cleaned.rstrip("_")
    return cleaned or "_"


def one_line(text: str) -> str:
    """Text with line breaks and other control characters written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
