"""Figures as tables that read well in a terminal and can be pasted into Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a title and a Markdown table with aligned columns; numbers stand to the right."""
    table = [list(map(_text, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *table, strict=True)]
    right = [all(_is_number(row[place]) for row in rows) for place in range(len(columns))]
    print(f"\n### {title}\n")
    print(_line(columns, widths, right))
    print("| " + " | ".join("-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)) + " |")
    for row in table:
        print(_line(row, widths, right), flush=True)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
    return "| " + " | ".join(padded) + " |"


def _text(value: object) -> str:
    return f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
