"""What a function shows of a column: a stretch of its text (a year, a month, the first letters), or its length.

A condition on a year is a condition on the first four letters of a date in ISO form: so a value that meets it, or just
misses it, is another date with those letters exchanged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from agro_data.databases.types import Cell
from agro_data.populate.instances.values.near import WORDS, moment_of
from agro_data.populate.schema import ColumnSpec

_PARTS = {"year": (1, 4), "month": (6, 2), "day": (9, 2), "hour": (12, 2), "minute": (15, 2)}
_FORMATS = {
    "%Y": (1, 4), "%m": (6, 2), "%d": (9, 2), "%H": (12, 2), "%M": (15, 2), "%Y-%m": (1, 7), "%m-%d": (6, 5),
    "%Y-%m-%d": (1, 10),
}  # fmt: skip
# How many letters the parts of a moment have, as strptime reads them.
_WIDTHS = {"%Y": 4, "%y": 2, "%m": 2, "%d": 2, "%H": 2, "%M": 2, "%S": 2}
_FIELDS = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "minute": "%M"}
_FIELD = re.compile(r"%.|.", re.DOTALL)
_CALLS: dict[type[exp.Expr], str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day"}
_MOMENTS = ("2016-05-17 10:30:00", "2003-11-02 08:15:00")
_BASES = 4  # values of the column that are made over
_DATE = 10  # letters of a date in ISO form
_DAY_SECONDS = 86_400
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": _DAY_SECONDS}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNITS = frozenset((*_SECONDS, *_MONTHS))
_DAY_ZERO = 1_721_424.5  # what julianday counts before the first day of Python's calendar


@dataclass(frozen=True)
class Stretch:
    """`length` letters from letter `start` (1 is the first). `number`: they are read as a number; `dated`: the text is
    a date in ISO form.
    """

    start: int
    length: int
    number: bool = False
    dated: bool = False

    @property
    def shown(self) -> ColumnSpec:
        """What is shown, as a column."""
        return ColumnSpec("shown", "INTEGER", "integer") if self.number else ColumnSpec("shown", "TEXT", "text")

    def of(self, value: Cell) -> Cell:
        """What is shown of `value`; NULL where it has no such stretch."""
        if not isinstance(value, str) or (self.dated and _day(value) is None):
            return None
        part = value[self.start - 1 : self.start - 1 + self.length]
        if self.number:
            return int(part) if part.isdecimal() else None
        return part

    def made(self, shown: Cell, known: Iterable[Cell], rng: random.Random) -> list[Cell]:
        """Values whose view is `shown`, made from some of `known`."""
        text = str(shown).zfill(self.length) if self.number else str(shown)
        if len(text) != self.length:
            return []
        texts = [value for value in known if isinstance(value, str) and (not self.dated or _day(value) is not None)]
        bases = rng.sample(texts, min(_BASES, len(texts)))
        if self.dated:
            bases += [moment[: len(texts[0]) if texts else 10] for moment in _MOMENTS]
            bases += [base[:4] + end + base[10:] for base in bases[:1] for end in ("-01-01", "-12-31")]
        else:
            bases.append("".join(rng.sample(WORDS, 3)))
        before, after = self.start - 1, self.start - 1 + self.length
        found = [base[:before] + text + base[after:] for base in bases if len(base) >= after]
        if self.dated:
            found = [day if _day(day) is not None else day[:8] + "15" + day[10:] for day in found]
        return [value for value in dict.fromkeys(found) if self.of(value) == shown]


@dataclass(frozen=True)
class Length:
    """The number of letters."""

    @property
    def shown(self) -> ColumnSpec:
        return ColumnSpec("shown", "INTEGER", "integer")

    def of(self, value: Cell) -> Cell:
        return None if value is None else len(str(value))

    def made(self, shown: Cell, known: Iterable[Cell], rng: random.Random) -> list[Cell]:
        if not isinstance(shown, int) or not 0 < shown <= 200:
            return []
        texts = [value for value in known if isinstance(value, str)]
        bases = [*rng.sample(texts, min(_BASES, len(texts))), *rng.sample(WORDS, 2)]
        return [(base + base[-1:] * shown)[:shown] for base in bases if base]


@dataclass(frozen=True)
class DayNumber:
    """The number of a moment's day, with the part of the day that has passed, as SQLite's julianday gives it."""

    @property
    def shown(self) -> ColumnSpec:
        return ColumnSpec("shown", "REAL", "real")

    def of(self, value: Cell) -> Cell:
        moment = moment_of(value) if isinstance(value, str) else None
        if moment is None:
            return None
        passed = (moment - datetime.combine(moment, time())) / timedelta(days=1)
        return moment.toordinal() + _DAY_ZERO + passed

    def made(self, shown: Cell, known: Iterable[Cell], rng: random.Random) -> list[Cell]:
        if not isinstance(shown, int | float) or not 1 <= (days := shown - _DAY_ZERO) < date.max.toordinal() + 1:
            return []
        seconds = min(round(days % 1 * _DAY_SECONDS), _DAY_SECONDS - 1)
        moment = datetime.fromordinal(int(days)) + timedelta(seconds=seconds)
        timed = seconds or any(isinstance(value, str) and len(value) > _DATE for value in known)
        return [moment.isoformat(" ") if timed else moment.date().isoformat()]


@dataclass(frozen=True)
class Turns:
    """How many hours, days or months have begun until a moment: of two moments `date_diff` gives the difference."""

    unit: str

    @property
    def shown(self) -> ColumnSpec:
        return ColumnSpec("shown", "INTEGER", "integer")

    def of(self, value: Cell) -> Cell:
        moment = moment_of(value) if isinstance(value, str) else None
        if moment is None:
            return None
        if self.unit in _MONTHS:
            return (12 * moment.year + moment.month - 1) // _MONTHS[self.unit]
        return (moment - datetime.min) // timedelta(seconds=_SECONDS[self.unit])

    def made(self, shown: Cell, known: Iterable[Cell], rng: random.Random) -> list[Cell]:
        if not isinstance(shown, int):
            return []
        try:
            if self.unit in _MONTHS:
                month = shown * _MONTHS[self.unit]
                moment = datetime(month // 12, month % 12 + 1, rng.randint(1, 28))
            else:
                moment = datetime.min + timedelta(seconds=shown * _SECONDS[self.unit])
        except (ValueError, OverflowError):
            return []
        timed = any(isinstance(value, str) and len(value) > _DATE for value in known)
        made = moment.isoformat(" ") if timed else moment.date().isoformat()
        return [made] if self.of(made) == shown else []


View = Stretch | Length | DayNumber | Turns


def view_of(node: exp.Expr) -> tuple[exp.Expr, View | None]:
    """What an expression is a view of, and which view; the expression itself and None where it is none known here."""
    node = node.unnest()
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Expr):
        inner, view = view_of(node.this)
        if isinstance(view, Stretch) and node.to.this in exp.DataType.NUMERIC_TYPES:
            return inner, Stretch(view.start, view.length, True, view.dated)
        return (inner, view) if view is not None else (node, None)
    if isinstance(node, exp.Length):
        return node.this, Length()
    if isinstance(node, exp.TimeToStr):
        place = _FORMATS.get(str(node.args["format"].name))
        return (_moment(node.this), Stretch(*place, dated=True)) if place is not None else (node, None)
    if isinstance(node, exp.Extract):
        return _numbered(node, str(node.this.name), node.expression)
    if type(node) in _CALLS:
        return _numbered(node, _CALLS[type(node)], node.this)
    if isinstance(node, exp.Anonymous) and node.name.lower() == "date_part" and len(node.expressions) == 2:
        return _numbered(node, str(node.expressions[0].name), node.expressions[1])
    if isinstance(node, exp.Anonymous) and node.name.lower() == "julianday" and len(node.expressions) == 1:
        return _moment(node.expressions[0]), DayNumber()
    if isinstance(node, exp.Date) and isinstance(node.this, exp.Column):
        return node.this, Stretch(1, 10, dated=True)
    if isinstance(node, exp.Left):
        return _stretched(node, exp.Literal.number(1), node.expression)
    if isinstance(node, exp.Substring):
        return _stretched(node, node.args.get("start"), node.args.get("length"))
    return node, None


def _numbered(node: exp.Expr, name: str, moment: exp.Expr) -> tuple[exp.Expr, View | None]:
    read = _moment(moment)
    if isinstance(read, exp.StrToTime):
        place = _place_in(str(read.args["format"].name), name.lower())
        return (_moment(read.this), Stretch(*place, number=True)) if place is not None else (node, None)
    place = _PARTS.get(name.lower())
    return (_moment(moment), Stretch(*place, number=True, dated=True)) if place is not None else (node, None)


def _place_in(written: str, name: str) -> tuple[int, int] | None:
    """Where a part of a moment stands in texts that strptime reads by a format, and how many letters it has."""
    place = 1
    for field in _FIELD.findall(written):
        width = _WIDTHS.get(field, 0) if field[0] == "%" else 1
        if not width:
            return None  # `%B` is as long as the month
        if field == _FIELDS.get(name):
            return place, width
        place += width
    return None


def _stretched(node: exp.Expr, start: exp.Expr | None, length: exp.Expr | None) -> tuple[exp.Expr, View | None]:
    if start is None or length is None or not (start.is_int and length.is_int):
        return node, None
    first, count = int(start.to_py()), int(length.to_py())
    return (_moment(node.this), Stretch(first, count)) if first >= 1 <= count else (node, None)


def _moment(node: exp.Expr) -> exp.Expr:
    """What a conversion to a date, a moment or a text is of."""
    while isinstance(node, (exp.Paren, exp.Cast, exp.TsOrDsToTimestamp, exp.TsOrDsToDate, exp.TsOrDsToDateStr)):
        node = node.this
    return node


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _days_from(day: date, steps: Sequence[int]) -> list[str]:
    """The days so many days off, as far as the calendar goes."""
    numbers = [day.toordinal() + step for step in steps]
    return [date.fromordinal(n).isoformat() for n in numbers if 1 <= n <= date.max.toordinal()]


def neighbours(view: View, shown: Cell) -> Sequence[Cell]:
    """What is shown of values just beside: a year earlier, a month later, a day."""
    if isinstance(shown, int):
        return [shown - 1, shown + 1, shown + 3]
    if not isinstance(shown, str) or not isinstance(view, Stretch):
        return []
    if shown.isdecimal():
        return [str(int(shown) + step).zfill(len(shown)) for step in (-1, 1, 3) if int(shown) + step >= 0]
    if view.dated and view.length == 10 and (day := _day(shown)) is not None:
        return _days_from(day, (-1, 1))
    if view.dated and view.length == 7 and (day := _day(shown + "-15")) is not None:
        return [other[:7] for other in _days_from(day, (-30, 30))]
    return [shown[:-1] + letter for letter in "ab" if shown and not shown.endswith(letter)]
