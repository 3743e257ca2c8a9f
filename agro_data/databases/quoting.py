"""Identifiers and text literals as both engines take them, and identifiers as both compare them."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_lowercase, ascii_uppercase

SPACES = " \t\n\f\r"  # between words, to both engines; any other, as U+00A0, is part of a name to SQLite
COMMENTS = r"(?>\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)*+"  # a pattern of what may stand before a statement's first word


def quoted(identifier: str) -> str:
    """An identifier as both engines take it."""
    return '"' + identifier.replace('"', '""') + '"'


def quoted_list(identifiers: Iterable[str]) -> str:
    """Identifiers between commas, as a statement lists columns."""
    return ", ".join(map(quoted, identifiers))


def unended(sql: str) -> str:
    """A statement without the semicolons and spaces at its end."""
    return sql.rstrip(f";{SPACES}")


_NO_CASE = str.maketrans(ascii_uppercase, ascii_lowercase)


def folded(identifier: str) -> str:
    """An identifier as both engines compare it: without case in ASCII letters only, so that Ärzte is not ärzte."""
    return identifier.lower() if identifier.isascii() else identifier.translate(_NO_CASE)


def literal(value: object) -> str:
    """A text literal as both engines take it."""
    return "'" + str(value).replace("'", "''") + "'"
