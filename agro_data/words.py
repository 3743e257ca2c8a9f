"""How a number of things, some of many names, a sentence's beginning and a long text are put for a person."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, unit: str) -> str:
    """So many of a unit, which is given in the plural."""
    return f"{number:,} {unit.removesuffix('s') if number == 1 else unit}"


def capital(text: str) -> str:
    """The text with its first letter large, and nothing else changed."""
    return text[:1].upper() + text[1:]


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters: the last is an ellipsis where some are left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
