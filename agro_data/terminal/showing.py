"""Texts, tables and problems as a terminal shows them.

Results go to standard output (`screen`), progress and problems to standard error (`notes`). What is piped into another
program is never wrapped: a row stays a line.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from agro_data.terminal.streams import AS_IT_IS, Screen, notes, screen, unread

WIDEST = 100_000  # characters of a line that is piped
SHOWN = 3  # problems of one reason
LONGEST_CELL = 200  # characters of a cell of a result
# With the marks that turn the direction of writing: a text may be shown in another order than it is run.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text as a terminal may be given it: control characters, which could move its cursor or change what it shows, are
    written as escapes. Line breaks and tabs stay."""
    return _CONTROL.sub(lambda one: one[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def shortened(text: str, most: int = LONGEST_CELL) -> str:
    """The first line of a text, at most so many characters of it; what is left out is an ellipsis."""
    first = text[:most].partition("\n")[0]
    return first if first == text else f"{first}…"


def say(text: str, first: str = "", rest: str = "", style: str | None = None) -> None:
    """Text as paragraphs with a hanging indent; one long line each where the output is no terminal."""
    text = visible(text)
    if not screen.is_terminal:
        screen.print(first + text, soft_wrap=True)
        return
    for line in text.splitlines():
        lines = textwrap.wrap(
            line, screen.width, initial_indent=first, subsequent_indent=rest or first, replace_whitespace=False,
            drop_whitespace=True, break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        screen.print("\n".join(lines), style=style, soft_wrap=True)


@contextmanager
def doing() -> Iterator[Callable[[str], None]]:
    """While the block runs, a terminal shows what is being done, as last told; nothing of it stays."""
    with notes.status("") as status:
        yield lambda what: status.update(Text(visible(what)))


def put(text: str) -> None:
    """Text for a program to read: a line, unchanged."""
    try:
        click.echo(text)
    except BrokenPipeError:
        unread(sys.stdout)


def show_table(listing: Sequence[Mapping[str, Any]]) -> None:
    """Rows of one shape as a table; numbers to the right, with separators."""
    if not listing:
        screen.print("nothing")
        return
    numbers = {key for key in listing[0] if any(isinstance(row.get(key), int | float) for row in listing)}
    headings = {key.replace("_", " "): key in numbers for key in listing[0]}
    _draw(headings.items(), [[_cell(cell) for cell in row.values()] for row in listing])


def show_result(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    """What a query gave: columns as the engine names them, and of each cell as much as a person takes in at once."""
    _draw([(shortened(name), False) for name in columns], [[*map(shortened, row)] for row in rows])


def _draw(headings: Iterable[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> None:
    """A table; each heading with whether its column stands to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, right in headings:
        table.add_column(visible(heading), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(visible, row))
    # A console never prints wider than it is, and one that is piped takes itself for 80 characters wide.
    wide = screen if screen.is_terminal else Screen(file=screen.file, width=WIDEST, **AS_IT_IS)
    wide.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def show_pairs(pairs: Mapping[str, str]) -> None:
    """Names to the right of a margin, what they are beside them."""
    margin = max(map(len, pairs), default=0) + 2
    for name, value in pairs.items():
        say(value, first=f"{name:>{margin}}  ", rest=" " * (margin + 2))


def tell(lines: Iterable[str], style: str) -> None:
    """Lines on standard error, each once, unbroken."""
    for line in dict.fromkeys(lines):
        notes.print(visible(line), style=style, soft_wrap=True)


def few_of_each(problems: Iterable[str]) -> list[str]:
    """Problems ("place: reason"); of those with one reason the first `SHOWN`, and how many more there are."""
    places: dict[str, list[str]] = defaultdict(list)
    for problem in dict.fromkeys(problems):
        places[problem.partition(": ")[2] or problem].append(problem)
    lines: list[str] = []
    for reason, some in places.items():
        lines += some[:SHOWN]
        lines += [f"and {len(some) - SHOWN:,} more: {reason}"] if len(some) > SHOWN else []
    return lines
