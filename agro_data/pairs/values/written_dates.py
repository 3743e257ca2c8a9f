"""Dates that are kept as texts which do not sort as dates do (05.03.2022, 7/4/20): read as ISO writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice, product
from typing import Literal

import sqlglot
from sqlglot import exp

from agro_data.databases.types import Cell, Dialect

MOST_WAYS = 4  # in which the dates of one column may be read
DATE = re.compile(
    r"(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})"
    r"(?:(?P<gap>[ T])(?P<hour>\d\d?)(?P<minute>:\d\d)(?P<second>:\d\d)?(?P<fraction>\.\d+)?"
    r"(?: ?(?P<half>[AaPp])[Mm])?)?"
)
_YEARS = 69  # two digits below it are of this century, as POSIX has it
Order = Literal["ymd", "dmy", "mdy"]


@dataclass(frozen=True)
class _Clock:
    """How times of day are written. `sorts`: two digits of hours from 0 to 23; else all have, or lack, `seconds` and
    the half of the day.
    """

    sorts: bool
    seconds: bool
    halves: bool

    @staticmethod
    def iso(match: re.Match[str]) -> str:
        """The time as ISO writes it; "" if there is none."""
        hour = int(match["hour"])
        if match["half"]:
            if not 1 <= hour <= 12:
                return ""
            hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
        return f"{hour:02d}{match['minute']}{match['second'] or ''}{match['fraction'] or ''}" if hour < 24 else ""

    def sql(self) -> str:
        """The time of `x` with a space before it; "" where `x` is but a date."""
        if self.sorts:
            return "REPLACE(SUBSTR(x, 11), 'T', ' ')"
        time, size = "SUBSTR(x, INSTR(x, ' ') + 1)", 8 if self.seconds else 5
        if not self.halves:
            return f"' ' || SUBSTR('0' || {time}, -{size})"
        half = "CASE WHEN UPPER(x) LIKE '%PM' THEN 12 ELSE 0 END"
        hour = f"CAST(SUBSTR({time}, 1, INSTR({time}, ':') - 1) AS INTEGER) % 12 + {half}"
        return f"' ' || SUBSTR('0' || CAST({hour} AS TEXT), -2) || SUBSTR({time}, INSTR({time}, ':'), {size - 2})"


@dataclass(frozen=True)
class _Shape:
    """What can be seen of how dates are written: the separator, where the year stands and its digits, whether all have
    as many characters, and how a time of day follows.
    """

    separator: str
    first: bool
    years: int
    fixed: bool
    clock: _Clock | None

    @property
    def key(self) -> tuple[str, bool, int]:
        return self.separator, self.first, self.years

    @property
    def pattern(self) -> str:
        """What the texts of this shape are LIKE."""
        year, part = "_" * self.years, "__" if self.fixed else "%"
        parts = [year, part, part] if self.first else [part, part, year]
        clock = "" if self.clock is None else "%" if self.clock.sorts else " %"
        return self.separator.join(parts) + clock

    @property
    def sorts(self) -> bool:
        return self.first and self.fixed and (self.clock is None or self.clock.sorts)


@dataclass(frozen=True)
class _Form:
    """A shape with what cannot be seen: which part is the month, and of which century are years of two digits."""

    shape: _Shape
    order: Order
    old: bool = False  # two digits are of 19.. whatever they are

    def iso(self, match: re.Match[str]) -> str:
        """The date as ISO writes it; "" if there is none."""
        named = dict(zip(self.order, (match[1], match[3], match[4]), strict=True))
        year = int(named["y"])
        if self.shape.years == 2:
            year += 1900 if self.old or year >= _YEARS else 2000
        try:
            day = date(year, int(named["m"]), int(named["d"])).isoformat()
        except ValueError:
            return ""
        if not match["hour"]:
            return day
        time = _Clock.iso(match)
        return f"{day} {time}" if time else ""

    def sql(self, dialect: Dialect) -> exp.Expr:
        """The column `x` as ISO writes it."""
        first, second, third = self._fixed() if self.shape.fixed else self._split()
        named = dict(zip(self.order, (first, second, third), strict=True))
        year = named["y"]
        if self.shape.years == 2:
            year = f"'19' || {year}" if self.old else f"CASE WHEN {year} < '{_YEARS}' THEN '20' ELSE '19' END || {year}"
        month, day = (named[part] if self.shape.fixed else f"SUBSTR('0' || {named[part]}, -2)" for part in "md")
        read, clock = f"{year} || '-' || {month} || '-' || {day}", self.shape.clock
        if clock is None:
            return sqlglot.parse_one(read, read=dialect)
        if not clock.sorts:
            read = re.sub(r"\bx\b", "SUBSTR(x, 1, INSTR(x, ' ') - 1)", read)
        return sqlglot.parse_one(f"{read} || {clock.sql()}", read=dialect)

    def _fixed(self) -> tuple[str, str, str]:
        starts = (1, 6, 9) if self.shape.first else (1, 4, 7)
        sizes = (4, 2, 2) if self.shape.first else (2, 2, self.shape.years)
        first, second, third = (f"SUBSTR(x, {start}, {size})" for start, size in zip(starts, sizes, strict=True))
        return first, second, third

    def _split(self) -> tuple[str, str, str]:
        cut, years = f"INSTR(x, '{self.shape.separator}')", self.shape.years
        if self.shape.first:
            cut = f"INSTR(SUBSTR(x, 6), '{self.shape.separator}')"
            return "SUBSTR(x, 1, 4)", f"SUBSTR(x, 6, {cut} - 1)", f"SUBSTR(x, 6 + {cut})"
        return (
            f"SUBSTR(x, 1, {cut} - 1)",
            f"SUBSTR(x, {cut} + 1, LENGTH(x) - {cut} - {years + 1})",
            f"SUBSTR(x, -{years})",
        )


@dataclass(frozen=True)
class Dates:
    """One way to read the dates of a column, whose texts may be of several shapes."""

    markers: tuple[str, ...]  # texts for a missing one
    forms: tuple[_Form, ...]
    dialect: Dialect
    sums = False

    def held(self, where: str) -> str:
        how = "of several forms" if len(self.forms) > 1 else "that do not sort as texts do"
        return f"dates {how} are kept as text in {where}"

    def value(self, cell: Cell) -> Cell:
        """The date that a text is, as ISO writes it; another cell as it is."""
        match = DATE.fullmatch(cell) if isinstance(cell, str) else None
        if match is None:
            return cell
        form = next((form for form in self.forms if form.shape.key == _key(match)), None)
        return (form.iso(match) if form is not None else "") or cell

    def literal(self, text: exp.Expr) -> exp.Expr | None:
        """What a literal is compared with this column as; None if it is no date, nor the beginning of one."""
        read = self.value(text.name)
        known = text.is_string and isinstance(read, str) and re.match(r"\d{4}(-\d\d(-\d\d)?)?\b", read)
        return exp.Literal.string(read) if known else None

    def read(self, column: exp.Expr) -> exp.Expr:
        """The column as dates that sort, NULL where it says that one is missing."""
        value = self.forms[0].sql(self.dialect)
        if len(self.forms) > 1:
            value = exp.Case()
            for form in sorted(self.forms, key=lambda form: (not form.shape.first, form.shape.years)):
                # No text of one of the later shapes is LIKE an earlier one.
                like = exp.Like(this=exp.column("x"), expression=exp.Literal.string(form.shape.pattern))
                value = value.when(like, form.sql(self.dialect))
        shown = column.copy()
        for marker in self.markers:
            shown = exp.Nullif(this=shown, expression=exp.Literal.string(marker))
        return value.transform(lambda node: shown.copy() if isinstance(node, exp.Column) and node.name == "x" else node)


def date_ways(texts: Sequence[str], markers: tuple[str, ...], dialect: Dialect) -> tuple[Dates, ...]:
    """The ways in which all these texts are dates; none where they sort as such, or may mean too much."""
    groups: dict[tuple[str, bool, int], list[re.Match[str]]] = {}
    for text in texts:
        match = DATE.fullmatch(text)
        if match is None:
            return ()
        groups.setdefault(_key(match), []).append(match)
    shapes = [_shape(key, group) for key, group in groups.items()]
    if len(shapes) == 1 and shapes[0] is not None and shapes[0].sorts:
        return ()
    ways = [
        list(_forms(shape, group)) for shape, group in zip(shapes, groups.values(), strict=True) if shape is not None
    ]
    if len(ways) < len(shapes):
        return ()
    found = [Dates(markers, forms, dialect) for forms in islice(product(*ways), MOST_WAYS + 1)]
    return tuple(found) if len(found) <= MOST_WAYS else ()


def _key(match: re.Match[str]) -> tuple[str, bool, int]:
    """The separator, whether the year stands first, and its digits."""
    first = len(match[1]) == 4
    return match[2], first, len(match[1] if first else match[4])


def _shape(key: tuple[str, bool, int], matches: Sequence[re.Match[str]]) -> _Shape | None:
    """The shape that these have in common; None if it is of no date that can be read."""
    separator, first, years = key
    parts = [(match[3], match[4] if first else match[1]) for match in matches]
    if years not in (2, 4) or any(len(part) > 2 for pair in parts for part in pair):
        return None
    fixed = all(len(part) == 2 for pair in parts for part in pair)
    timed = [match for match in matches if match["hour"]]
    clock = _clock(timed, fixed and years == 4, len(timed) == len(matches)) if timed else None
    return _Shape(separator, first, years, fixed, clock) if clock is not None or not timed else None


def _clock(timed: Sequence[re.Match[str]], fixed: bool, always: bool) -> _Clock | None:
    """How these write the time; `fixed`: behind a date of ten characters. None where it is written in several ways."""
    if fixed and all(len(match["hour"]) == 2 and not match["half"] for match in timed):
        return _Clock(True, False, False)
    seconds, halves = ({bool(match[part]) for match in timed} for part in ("second", "half"))
    odd = any(match["fraction"] or match["gap"] == "T" for match in timed)
    if odd or not always or len(seconds) > 1 or len(halves) > 1:
        return None
    return _Clock(False, seconds.pop(), halves.pop())


def _forms(shape: _Shape, matches: Sequence[re.Match[str]]) -> Iterator[_Form]:
    """The forms by which each of these is a date."""
    orders: tuple[Order, ...] = ("ymd",) if shape.first else ("dmy", "mdy")
    for order in orders:
        for old in (False, True) if shape.years == 2 else (False,):
            form = _Form(shape, order, old)
            if all(map(form.iso, matches)):
                yield form
