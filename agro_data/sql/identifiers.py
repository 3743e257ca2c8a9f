"""Identifiers: which need quotes in SQL text and which are written bare, and the words that they are made of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from sqlglot import exp

from agro_data.databases.quoting import quoted

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The keywords of SQLite (sqlite.org/lang_keywords.html) that people do not write bare, and the words of DuckDB
# (`duckdb_keywords()`) that it does not read as names: to quote a word too many is harmless, one too few is an error.
_KEYWORDS = """
abort add after all alter always analyse analyze and any anti array as asc asof asymmetric at attach
authorization autoincrement before begin between binary both by cascade case cast check collate collation column
commit concurrently conflict constraint create cross current current_catalog current_date current_role
current_schema current_time current_timestamp current_user cube database default deferrable deferred delete desc
describe detach distinct do drop each else end escape except exclude exclusive exists explain fail false fetch
filter final first following for foreign freeze from full generated glob grant group grouping groups having if
ignore ilike immediate in index indexed initially inner insert instead intersect interval into is isnull join key
lambda last lateral leading left like limit localtime localtimestamp map materialized natural no not nothing
notnull null nulls of offset on only or order others outer over overlaps partition pivot pivot_longer pivot_wider
placing positional pragma preceding primary qualify query raise range recursive references regexp reindex
release rename replace restrict returning right rollback rollup row rows savepoint schema select semi session_user
set sets show similar some struct summarize symmetric table tablesample temp temporary then ties to trailing
transaction trigger true try_cast unbounded union unique unpack unpivot update user using vacuum values variadic verbose
view virtual when where window with within without
"""
_RESERVED = frozenset(_KEYWORDS.split())

# Where words begin in the shape of a name (`_shape`).
_RUN = re.compile(r"[^_]+")
_HUMP = re.compile(r"(?<=[a0])(?=A)|(?<=A)(?=Aaa)|(?<=x)(?=[Aa])|(?<=[Aa])(?=x)")
_DIGITS = re.compile(r"(?<=[Aax])(?=0)|(?<=0)(?=[Aax])")
_ORDINAL = re.compile(r"[0-9]*(1st|2nd|3rd|[0-9]th)", re.IGNORECASE)


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


@lru_cache(maxsize=65536)
def words_in(name: str) -> tuple[str, ...]:
    """The words of a name in snake, kebab or camel case, in any script, as they are written.

    >>> words_in("customerName2"), words_in("HTTPStatus"), words_in("2nd_half"), words_in("Größe_Übergabe")
    (('customer', 'Name', '2'), ('HTTP', 'Status'), ('2nd', 'half'), ('Größe', 'Übergabe'))
    """
    letters, shape = _shape(name)
    words: list[str] = []
    for run in _RUN.finditer(shape):
        for start, end in _pieces(_HUMP, shape, *run.span()):
            ordinal = _ORDINAL.fullmatch("".join(letters[start:end]))
            pieces = [(start, end)] if ordinal else _pieces(_DIGITS, shape, start, end)
            words += ["".join(letters[first:last]) for first, last in pieces]
    return tuple(words)


def _pieces(cut: re.Pattern[str], shape: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Beginning and end of what lies between the cuts."""
    places = (found.start() for found in cut.finditer(shape, start, end) if found.start() > start)
    return pairwise([start, *places, end])


def _shape(name: str) -> tuple[list[str], str]:
    """The letters of a name, each with the accents, vowel signs and raised digits that follow it, and their kinds:
    A for a capital, a for a small one, x in a script without case, 0 for a digit, _ for any other character.
    """
    letters: list[str] = []
    kinds: list[str] = []
    for character in name:
        kind = _kind(character)
        if kind or not letters:
            letters.append(character)
            kinds.append(kind or "x")
        else:
            letters[-1] += character
    return letters, "".join(kinds)


@cache
def _kind(character: str) -> str:
    """A character's kind in `_shape`; "" for what only follows others."""
    if character.isupper() or character.istitle():
        return "A"
    if character.islower():
        return "a"
    if character.isdecimal():
        return "0"
    if unicodedata.category(character) == "Lo":
        return "x"
    return "" if unicodedata.category(character) in ("Mn", "Mc", "Me", "Lm", "No", "Nl") else "_"
