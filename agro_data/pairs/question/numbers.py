"""Do question and SQL name the same numbers?

What the words of a question leave open speaks for the SQL: "in their 20s" ends at 29, "around 10 pm" lies between half
past nine and half past ten, "in the afternoon" begins when the SQL says so, and nine hours may be 540 minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.pairs.finding import Finding
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.said import Said, SqlValues, date_parts, numbers_in, words_of

SMALL = 2  # numbers up to this are said in too many ways ("no", "a", "both", "another")

_DECADE = re.compile(r"(?<![\w.])(?:(\d\d)?(\d0))'?s\b")
_HALF = r"(?P<half>a\.?m\b|p\.?m\b|o'? ?clock\b|in the (?:morning|afternoon|evening)\b|at night\b)"
_CLOCK = re.compile(
    rf"(?<![\w.:])(?P<hour>\d{{1,2}})(?:(?P<colon>:)?(?P<minute>\d\d))?(?:\s?{_HALF}|(?(colon)(?![\d:])|(?!)))",
    re.IGNORECASE,
)
_NOON, _MIDNIGHT = re.compile(r"\b(?:noon|midday)", re.IGNORECASE), re.compile(r"\bmidnight\b", re.IGNORECASE)
_DAY_PART = re.compile(
    r"\b(?:mornings?|afternoons?|evenings?|(?:to)?nights?|(?:mid|over)night|noon(?:time)?|midday|day ?time|[ap]m|"
    r"(?:breakfast|lunch|dinner)(?: ?time)?)\b",
    re.IGNORECASE,
)
_WEEK = re.compile(r"\b(?:week(?:end|day)s?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|days? of the week)\b", re.I)
_VAGUE = r"\b(?:around|about|approximately|roughly|nearly|near|close to|in the vicinity of)\b"
_ABOUT, _SOMEWHERE = re.compile(rf"{_VAGUE}\s+\$?(\d[\d,]*)", re.IGNORECASE), re.compile(_VAGUE, re.IGNORECASE)
_TIMES = frozenset({"time", "hour", "clock"})  # words of columns that hold a time of day
_UNITS: dict[str, tuple[int, ...]] = {  # of time, in what else they may be stored
    **{"minute": (60,), "hour": (60, 3600), "day": (24, 1440, 86400), "week": (7,), "month": (30, 31)},
    **{"quarter": (3,), "year": (12, 365, 366), "decade": (10,)},
}
_IN_UNITS = re.compile(rf"(?<![\w.])(\d+)[\s-]({'|'.join(_UNITS)})s?\b", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"(\d\d?):(\d\d)(?::\d\d(?:\.\d+)?)?")


def check_numbers(question: str, evidence: str, sql: SqlValues, found: Resolution) -> Iterator[Finding]:
    """Findings of one pair: numbers that only the question, or only the SQL, has."""
    asked = list(numbers_in(question))
    known = [*asked, *numbers_in(evidence)]
    unused = [one for one in asked if not one.spelt and max(one.values) > SMALL and not _is_used(one, sql)]
    unused = [one for one in unused if not _explained(one, evidence)]
    unasked = [number for number in sql.compared if abs(number) > SMALL and not _is_said(number, known, question)]
    years: set[float] = set()
    if unused or unasked:
        left_open = _Open.of(question)
        times = _times(found)
        unused = [one for one in unused if not left_open.stands_for(one, sql, bool(times))]
        unasked = [number for number in unasked if not left_open.allows(number, sql, number in times)]
        years = {number for number in unasked if _is_year(number) and number not in times}
    # A year takes the place of another year only.
    alike = [number for number in unasked if any((number in years) == _is_year(max(one.values)) for one in unused)]
    if alike:
        says = f"The question says {listed(one.text for one in unused)}, the SQL {listed(map(_shown, alike))}."
        yield Finding("number_differs", says)
    else:
        for one in unused:
            yield Finding("number_not_used", f"{one.text!r} of the question is not in the SQL.")
    for number in unasked:
        if number not in alike:
            yield Finding("number_not_asked", f"{_shown(number)} of the SQL is not in the question or the evidence.")


def listed(texts: Iterable[str]) -> str:
    """Texts as a sentence lists them, each once."""
    return " and ".join(dict.fromkeys(texts))


def says_time(text: str, question: str) -> bool:
    """Whether a question says a time of day ("12:00:00"), or a part of the day that it may bound."""
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None:
        return False
    time = int(match[1]) * 100 + int(match[2])
    return bool(_DAY_PART.search(question)) or any(time == clock for _, clock in _clocks(question))


@dataclass(frozen=True)
class _Open:
    """What a question says of numbers without naming them, each with the number that it does name."""

    decades: tuple[tuple[float, float], ...]
    clocks: tuple[tuple[float, int], ...]
    stored: tuple[tuple[float, float], ...]  # a length of time in another unit
    part_of_day: bool
    rough: frozenset[float]
    rough_times: bool
    day_of_week: bool

    @classmethod
    def of(cls, question: str) -> _Open:
        spans = [(float(match[1]), match[2].lower()) for match in _IN_UNITS.finditer(question)]
        return cls(
            tuple(_decades(question)),
            tuple(_clocks(question)),
            tuple((said, said * factor) for said, unit in spans for factor in _UNITS[unit]),
            bool(_DAY_PART.search(question)),
            frozenset(float(match[1].replace(",", "")) for match in _ABOUT.finditer(question)),
            bool(_SOMEWHERE.search(question)),
            bool(_WEEK.search(question)),
        )

    def allows(self, number: float, sql: SqlValues, is_time: bool) -> bool:
        """Whether a number of the SQL may be meant by what the question says. `is_time`: it is compared with a time."""
        if any(number - first in (0, 9, 10) for _, first in self.decades):
            return True
        if any(number == other for _, other in self.stored) or (self.day_of_week and number in range(8)):
            return True
        times = [clock for _, clock in self.clocks]
        if is_time and _is_clock(number) and (self.part_of_day or number in times):
            return True
        return any(
            _enclosed(value, number, sql.compared) for value in (*self.rough, *(times if self.rough_times else ()))
        )

    def stands_for(self, said: Said, sql: SqlValues, asks_time: bool) -> bool:
        """Whether the SQL has in another form what a number of the question stands for."""
        forms = [form for value, form in (*self.decades, *self.clocks, *self.stored) if value in said.values]
        if asks_time:  # also by a text: "17:00:00"
            hours = {str(clock // 100) for value, clock in self.clocks if value in said.values}
            if hours & sql.digits:
                return True
        in_texts = {f"{form:.0f}" for value, form in self.stored if value in said.values}  # '-21 days' of three weeks
        if in_texts & sql.digits:
            return True
        rough = [*self.rough.intersection(said.values), *(forms if self.rough_times else ())]
        used = {*sql.numbers, *map(float, sql.limits)}
        return not used.isdisjoint(forms) or any(_enclosed(v, n, sql.compared) for v in rough for n in sql.compared)


def _decades(question: str) -> Iterator[tuple[float, float]]:
    """What is said of each decade ("20s", "1990s"), and its first number; the 90s may be those of a century."""
    for match in _DECADE.finditer(question):
        said = float((match[1] or "") + match[2])
        centuries = (0, 1900, 2000) if match[1] is None else (0,)
        yield from ((said, century + said) for century in centuries)


def _clocks(question: str) -> Iterator[tuple[float, int]]:
    """Numbers that say a time of day, and the time as people write it without a colon: 1830 for "6:30 pm". Without a
    word for the half of the day it may be of either.
    """
    for match in _CLOCK.finditer(question):
        hour, minute, half = int(match["hour"]), int(match["minute"] or 0), (match["half"] or "").lower()
        if hour > 24 or minute > 59:
            continue
        early, late = half.startswith(("a", "in the m")) and half != "at night", half.startswith(("p", "in the a"))
        late = late or half in ("in the evening", "at night")
        said = {float(hour), float(minute), float(match["hour"] + (match["minute"] or ""))}
        times = [hour % 12 * 100 + minute if early else hour * 100 + minute] if not late or hour >= 12 else []
        times += [(hour + 12) * 100 + minute] if not early and hour < 12 else []
        yield from ((value, time) for value in sorted(said) for time in times)
    if _NOON.search(question):
        yield 12, 1200
    if _MIDNIGHT.search(question):
        yield from ((0, 0), (0, 2400))


def _times(found: Resolution) -> set[float | None]:
    """Numbers that are compared with a column of times of day; None where a text is."""
    times: set[float | None] = set()
    for node in found.tree.find_all(exp.Predicate):
        columns = (column for column in node.find_all(exp.Column) if column.find_ancestor(exp.Predicate) is node)
        if any(not _TIMES.isdisjoint(words_of(column.name)) for column in columns):
            times.add(None)
            times.update(float(one.name) for one in node.find_all(exp.Literal) if not one.is_string)
    return times


def _is_clock(number: float) -> bool:
    return number == int(number) and 0 <= number <= 2400 and number % 100 < 60


def _enclosed(value: float, number: float, others: Sequence[float]) -> bool:
    """Whether a number and another one lie on both sides of a value that the question gives as a rough one."""
    return number != value and any((number - value) * (other - value) < 0 for other in others)


def _is_year(number: float) -> bool:
    return number == int(number) and 1900 <= number <= 2100


def _is_used(said: Said, sql: SqlValues) -> bool:
    """Whether a number of the question stands in the SQL in any form."""
    wanted = {value for number in said.values for value in (number, number - 1, number + 1, number / 100, -number)}
    if any(_close(number, value) for number in (*sql.numbers, *map(float, sql.limits)) for value in wanted):
        return True
    digits = re.sub(r"[^\d.]", "", said.text).strip(".")
    runs = {digits.lstrip("0") or "0", digits.split(".", maxsplit=1)[0]}
    if len(digits) == 4:
        runs.add(digits[2:].lstrip("0"))  # 2010 as '10'
    return bool(runs & sql.digits) or any(digits in run for run in sql.digits if len(digits) > 1)


def _explained(said: Said, evidence: str) -> bool:
    return bool(evidence) and said.text.lower() in evidence.lower()


def _is_said(number: float, known: Sequence[Said], question: str) -> bool:
    near = (number, number - 1, number + 1, number * 100, -number)
    values = {value for said in known for value in said.values}
    if any(_close(value, one) for value in values for one in near):
        return True
    if any(float(part) in values for part in date_parts(_shown(number)) if len(part) == 4):
        return True  # a day as a number, 20220305, of which the year is said
    return _shown(abs(number)) in re.sub(r"(?<=\d),(?=\d)", "", question)


def _close(left: float, right: float) -> bool:
    return abs(left - right) <= 1e-9 * max(abs(left), abs(right), 1.0)


def _shown(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
