"""Identifiers in SQL text: which need quotes, and which are written bare."""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp

from agro_data.databases.quoting import quoted

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The keywords of SQLite (sqlite.org/lang_keywords.html) that people do not write bare, and the words of DuckDB
# (`duckdb_keywords()`) that it does not read as names: to quote a word too many is harmless, one too few is an error.
_KEYWORDS = """
abort action add after all alter always analyse analyze and any anti array as asc asof asymmetric at attach
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
transaction trigger true try_cast unbounded union unique unpack unpivot update user using vacuum values variadic verbose
view virtual when where window with within without
"""
_RESERVED = frozenset(_KEYWORDS.split())


@lru_cache(maxsize=65536)
def needs_quotes(name: str) -> bool:
    """Whether an engine would read `name`, written bare, as something else."""
    return not _PLAIN.match(name) or name.lower() in _RESERVED


def identifier(name: str) -> exp.Identifier:
    """`name` as an identifier, quoted only where an engine could not read it otherwise."""
    return exp.Identifier(this=name, quoted=needs_quotes(name))


def spelled(name: str) -> str:
    """`name` as a person writes it in SQL: bare where that can be read, else quoted."""
    return quoted(name) if needs_quotes(name) else name
