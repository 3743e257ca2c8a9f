"""What is wrong with a database, in words for people that repeat none of its values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from agro_data.errors import InWords


class DatabaseError(InWords):
    """A database cannot be opened or read; the message names it and says what to do."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where there is none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def interruptible() -> Iterator[None]:
    """DuckDB tells by an error of its own that Ctrl-C interrupts a statement; here it is told as Python tells it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise


_SPEAKS_OF_SCHEMA = frozenset(
    ("CatalogException", "BinderException", "ParserException", "SyntaxException", "IOException", "PermissionException")
)


def discreet_line(error: BaseException) -> str:
    """`first_line` without the values that an engine quotes when it cannot convert or decode one."""
    line = first_line(error)
    if isinstance(error, sqlite3.Error):
        return line.split(" with text ")[0]
    if type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb") and (
        type(error).__name__ not in _SPEAKS_OF_SCHEMA
    ):
        return line.partition(":")[0] + " (the engine's words may quote a value and are not repeated)"
    return line
