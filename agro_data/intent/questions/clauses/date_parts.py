"""What is said of a part of a date: "year of the order date", "order year", "in May", "on a Monday"."""

from __future__ import annotations

import re
from collections.abc import Callable

from agro_data.intent.questions.clauses.comparing import compared, in_year, sort_of
from agro_data.intent.questions.clauses.modifiers import Atom
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.tree import Column, Comparator, DatePart, Expression, Value
from agro_data.sql.said import MONTHS

_PARTS = {"year": "year", "month": "calendar month", "day": "day of the month", "weekday": "weekday name",
          "year_month": "month (YYYY-MM)"}  # fmt: skip


def part_of_date(scene: Scene, expression: DatePart, base: str, phrase: str) -> str:
    """ "year of the order date"; "order year", "year of birth", or a mere "year", where that can mean nothing else.
    `phrase` is what the date is called in a row of `base`.
    """
    part, column = _PARTS[expression.part], expression.argument
    if _in_utc(scene, column):
        return f"UTC {part} of the {phrase}"
    whole = f"{part} of the {phrase}"
    table = scene.table(column.source) if isinstance(column, Column) else None
    if table is None or not isinstance(column, Column) or not scene.same(base, scene.bearer(column)):
        return whole
    short = ""
    if phrase == "date":
        others = (c for c in table.columns if c.name != column.name and sort_of(c) in ("date", "year"))
        short = part if next(others, None) is None else ""
    elif expression.part == "year" and re.fullmatch(r"\w+ date|date of \w+|date \w+ed(?: in)?", phrase):
        short = re.sub(r"\bdate\b", "year", phrase)
    return short if short and all(c.phrase.lower() != short.lower() for c in table.columns) else whole


def date_test(
    scene: Scene, left: DatePart, operator: Comparator, value: Value, phrase: str, part: Callable[[], str]
) -> Atom:
    """Forms of a condition that a part of a date is, or is below, a value. `phrase` is what the date is called, `part`
    gives what its part is.
    """
    text = str(value.value)
    if left.part == "month" and isinstance(value.value, int) and operator in ("=", "!="):
        text = MONTHS[value.value - 1]
    if _in_utc(scene, left.argument):
        text = f"{text} (UTC)"
    if left.part in ("year", "month", "year_month"):
        return in_year(phrase, operator, text, scene.voice)
    if left.part == "weekday":
        return Atom(have=f"{words.article(phrase)} on a {text}", whose=f"{phrase} falls on a {text}")
    return compared(part(), "number", operator, text, scene.voice)


def _in_utc(scene: Scene, expression: Expression) -> bool:
    """Whether it is another year or day elsewhere: of a moment that knows its time zone."""
    profile = scene.column(expression) if isinstance(expression, Column) else None
    return profile is not None and profile.is_zoned
