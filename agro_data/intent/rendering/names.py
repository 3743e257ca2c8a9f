"""Aliases: what a table is called inside one statement."""

from __future__ import annotations

from typing import Literal

from agro_data.intent.tree import Query, SetOperation, Source, walk
from agro_data.sql.identifiers import needs_quotes, words_in
from agro_data.sql.said import plain

NameStyle = Literal["t", "T", "initials", "tables"]


def pick_style(seed: int) -> NameStyle:
    """How tables are called in a join; spread over the ways people write it."""
    styles: tuple[NameStyle, ...] = ("T", "T", "t", "initials", "tables")
    return styles[seed // 7 % len(styles)]


def alias_names(query: Query | SetOperation, style: NameStyle) -> dict[str, str]:
    """SQL alias of each source alias of the tree. No two sources of one statement share one."""
    sources = [node for node in walk(query) if isinstance(node, Source)]
    tables = [s.table for s in sources]
    if style == "tables" and len({t.lower() for t in tables}) == len(tables):
        return {s.alias: s.table for s in sources}
    if style == "initials":
        return _initials(sources)
    letter = "t" if style == "t" else "T"
    return {s.alias: f"{letter}{number}" for number, s in enumerate(sources, 1)}


def _initials(sources: list[Source]) -> dict[str, str]:
    """`order_items` is `oi`; a second one is `oi2`. Names of tables are never reused as an alias."""
    taken = {s.table.lower() for s in sources}
    names: dict[str, str] = {}
    for source in sources:
        first = [plain(word)[:1] for word in words_in(source.table)]
        short = "".join(letter for letter in first if letter.isascii() and letter.isalpha()) or "t"
        name, number = short, 2
        while name in taken or needs_quotes(name):
            name, number = f"{short}{number}", number + 1
        taken.add(name)
        names[source.alias] = name
    return names
