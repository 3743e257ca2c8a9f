"""SQL written piece by piece, as a model would, where it may name only what a schema has."""

from __future__ import annotations

from itertools import pairwise

from agro_train.naming.levels import Names
from agro_train.naming.partial_query import PartialQuery
from agro_train.naming.scopes import Scopes
from agro_train.naming.writing import Written


def write(sql: str, names: Names, cuts: list[int] | None = None) -> bool:
    """Whether the query can be written in pieces that end at `cuts`; without them letter by letter."""
    text = f"{sql}</solution>"
    places = sorted({0, len(text), *(cuts if cuts is not None else range(len(text)))})
    written: Written | None = Written(PartialQuery(Scopes(names)), closing="solution")
    for start, end in pairwise(places):
        written = written.then(text[start:end]) if written is not None else None
    return written is not None and written.ended
