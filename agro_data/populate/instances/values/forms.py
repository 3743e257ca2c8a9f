"""Texts of the form that a column's texts have (`profiling.columns.forms`): functions that take them apart read no
others."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from agro_data.databases.types import Cell
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.columns.dates import date_format
from agro_data.profiling.columns.forms import is_number, parts_of
from agro_data.profiling.columns.statistics import as_number

_MIXED = 5  # of so many new texts, all but one mix the parts of known ones
_COMMAS = str.maketrans(",.", ".,")
_ENDS = 60  # new texts among which the last, or first, is looked for
_MANY = 100  # texts of a key
_BASES = 6  # known texts into which letters are put


def has_form(value: str, column: ColumnSpec) -> bool:
    """Whether a text has the form of its column: a date that there is, an object of JSON, a code."""
    if column.structured:
        return _is_json(value)
    if not column.form:
        return True
    dated = column.kind not in ("date", "datetime") or bool(date_format([value])[0])
    return dated and _expression(column.form).fullmatch(value) is not None


def has_many(column: ColumnSpec, known: Sequence[Cell], unique: bool) -> bool:
    """Whether enough texts of a column's form come to mind: many where no two rows share one, else one."""
    texts = [value for value in known if isinstance(value, str)]
    if not texts:
        return False
    found = {text for number in range(2 * _MANY) if has_form(text := formed(texts, number), column)}
    return len(found) >= (_MANY if unique else 1)


def formed(known: Sequence[str], number: int) -> str:
    """A text of the form of `known` ones; another `number` gives another, as far as the form has others."""
    if number < len(known):
        return known[number]
    parts = [*parts_of(known[number % len(known)])]
    places = [place for place, part in enumerate(parts) if is_number(part)]
    if len(places) < 2 or number % _MIXED == 0:
        return _counted(parts, places, known, number)
    for step, place in enumerate(places, start=2):
        other = parts_of(known[(number + 1) * step % len(known)])
        if len(other) == len(parts) and is_number(other[place]):
            parts[place] = other[place]
    return "".join(parts)


def farthest(column: ColumnSpec, known: Sequence[str], upper: bool) -> str:
    """The last of the texts of a column's form in their order, or the first, as far as they come to mind."""
    digit = "9" if upper else "0"
    ends = ["".join(digit * len(p) if is_number(p) else p for p in parts_of(text)) for text in known]
    found = [text for text in (*ends, *(formed(known, number) for number in range(_ENDS))) if has_form(text, column)]
    return (max if upper else min)(found or known)


def with_literal(pattern: str, known: Sequence[str], column: ColumnSpec) -> list[str]:
    """Texts of a column's form that hold the letters of a LIKE pattern, where these stand in a row."""
    literal = pattern.strip("%")
    if not literal or "%" in literal or "_" in literal:
        return []
    found = (
        text[:place] + literal + text[place + len(literal) :]
        for text in known[:_BASES]
        for place in range(len(text) - len(literal) + 1)
    )
    return [text for text in dict.fromkeys(found) if has_form(text, column)]


def as_written(value: Cell, known: Sequence[str], column: ColumnSpec) -> list[Cell]:
    """What a constant is in the form of a column's texts: itself, or of 1250 `$1,250.00`; nothing where it has none."""
    if not isinstance(value, str | int | float) or (isinstance(value, str) and has_form(value, column)):
        return [value]
    number = as_number(value)
    if number is None:
        return []
    said = (f"{number:,.2f}", f"{number:.2f}", f"{number:,.0f}", f"{number:.0f}", f"{number:.1f}")
    bodies = [*said, *(text.translate(_COMMAS) for text in said)]
    found: list[Cell] = []
    for text in known[:_BASES]:
        parts = parts_of(text)
        places = [place for place, part in enumerate(parts) if is_number(part)]
        if places:
            before, after = "".join(parts[: places[0]]), "".join(parts[places[-1] + 1 :])
            padded = said[3].zfill(len(text) - len(before) - len(after))
            found += [before + body + after for body in (*bodies, padded)]
    return [text for text in dict.fromkeys(found) if isinstance(text, str) and has_form(text, column)]


def stepped(value: str, sign: int) -> list[str]:
    """The text with its last number one more, or less, and with its first."""
    parts = parts_of(value)
    places = [place for place, part in enumerate(parts) if is_number(part)]
    found = []
    for place in dict.fromkeys((*places[-1:], *places[:1])):
        moved = int(parts[place]) + sign
        if moved >= 0:
            found.append("".join((*parts[:place], str(moved).zfill(len(parts[place])), *parts[place + 1 :])))
    return found


def _counted(base: Sequence[str], numbers: Sequence[int], known: Sequence[str], number: int) -> str:
    """The text with its longest number counted on, past the largest that is known, and then from 0."""
    if not numbers:
        return "".join(base)
    place = max(numbers, key=lambda one: len(base[one]))
    width = len(base[place])
    most = max((int(p[place]) for p in map(parts_of, known) if len(p) > place and is_number(p[place])), default=0)
    moved = (most + 1 + number) % 10**width
    return "".join((*base[:place], str(moved).zfill(width), *base[place + 1 :]))


@lru_cache(maxsize=1024)
def _expression(form: str) -> re.Pattern[str]:
    return re.compile(form)


def _is_json(value: str) -> bool:
    try:
        return isinstance(json.loads(value), (dict, list))
    except (ValueError, RecursionError):
        return False
