"""Names in SQL text: when an identifier needs quotes, and what a table is called inside one statement."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.intent.tree import Query, SetOperation, Source, walk

NameStyle = Literal["t", "T", "initials", "tables"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The keywords of SQLite (sqlite.org/lang_keywords.html) that people do not write bare, and the reserved words of
# DuckDB (`duckdb_keywords()`): to quote a word too many is harmless, one too few is an error.
_KEYWORDS = """
abort action add after all alter always analyse analyze and any anti array as asc asof asymmetric attach
authorization autoincrement before begin between binary both by cascade case cast check collate collation column
commit concurrently conflict constraint create cross current current_catalog current_date current_role
current_schema current_time current_timestamp current_user cube database default deferrable deferred delete desc
describe detach distinct do drop each else end escape except exclude exclusive exists explain fail false fetch
filter final first following for foreign freeze from full generated glob grant group grouping groups having if
ignore ilike immediate in index indexed initially inner insert instead intersect interval into is isnull join key
lambda last lateral leading left like limit localtime localtimestamp map match materialized natural no not nothing
notnull null nulls of offset on only or order others outer over overlaps partition pivot pivot_longer pivot_wider
placing plan positional pragma preceding primary qualify query raise range recursive references regexp reindex
release rename replace restrict returning right rollback rollup row rows savepoint schema select semi session_user
set sets show similar some struct summarize symmetric table tablesample temp temporary then ties to trailing
transaction trigger true try_cast unbounded union unique unpivot update user using vacuum values variadic verbose
view virtual when where window with within without
"""
_RESERVED = frozenset(_KEYWORDS.split())


@lru_cache(maxsize=65536)
def _needs_quotes(name: str) -> bool:
    return not _PLAIN.match(name) or name.lower() in _RESERVED


def identifier(name: str, dialect: Dialect) -> exp.Identifier:
    """`name` as an identifier of `dialect`, quoted only where the engine could not read it otherwise."""
    del dialect  # both engines quote with double quotes and share one list of reserved words
    return exp.Identifier(this=name, quoted=_needs_quotes(name))


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
        words = re.findall(r"[A-Za-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", source.table))
        short = "".join(word[0] for word in words).lower() or "t"
        name, number = short, 2
        while name in taken or name in _RESERVED:
            name, number = f"{short}{number}", number + 1
        taken.add(name)
        names[source.alias] = name
    return names
