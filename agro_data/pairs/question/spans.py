"""A year or a month is asked for, and the SQL ends, or begins, a day or two beside it: "in 2022" as `BETWEEN
'2022-01-01' AND '2022-12-30'`, or `< '2022-12-31'`.

Only where the question names one year, alone or with one month, no word that may mean a part of it or its surroundings,
and where both ends are days in the form of the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import column_of, profile_at
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.comparisons import TURNED
from agro_data.sql.names.resolution import Place, Resolution, value_of
from agro_data.sql.said import MONTHS

NEAR = timedelta(2)  # by which an end may be missed; further away another span is meant

_DAY = timedelta(1)
_ISO = ("iso", "")  # "": a type of the engine's own
_MONTH = "|".join(MONTHS)
_SPAN = re.compile(
    rf"\b(?:(?P<month>{_MONTH})(?: of)?,? |(?:in|during|of|for|throughout|within|(?:the|calendar) year)"
    r"(?: (?:all|the whole) of)? )(?P<year>(?:18|19|20)\d\d)\b(?![-/.]\d)"
)
_OTHER = re.compile(  # a part of it, or what lies around it
    rf"\b(?:after|before|since|until|till|through|up to|between|from (?:{_MONTH}|\d+)|first|last|half|quarter|"
    r"q[1-4]|weeks?|early|earlier|late|later|mid|middle|beginning|begin|start|end|ends|ended|season|fiscal|financial|"
    r"school|academic|summer|winter|spring|autumn|days?|except|not|without|weekdays?|working|business|eve|ago)\b|n't\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _End:
    """A comparison of a column with a day: the literal, which end of a span it is, and whether it passes itself."""

    place: Place
    literal: exp.Expr
    day: date
    low: bool
    without: bool


def check_spans(question: str, evidence: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """Findings of one pair."""
    named = list(_SPAN.finditer(question))
    numbers = re.findall(r"\d+", question)
    months = re.findall(rf"\b(?:{_MONTH})\b", question)
    if len(named) != 1 or len(numbers) > 1 or len(months) > (named[0]["month"] is not None) or _OTHER.search(question):
        return
    ends = list(_ends(found, profile))
    places = {one.place for one in ends}
    if len(ends) != 2 or len(places) != 1 or ends[0].low is ends[1].low or re.search(r"\d", evidence):
        return
    low, high = sorted(ends, key=lambda one: not one.low)
    whole = profile_at(low.place, profile).kind == "date"
    first, last = _span(named[0])
    if abs(low.day - first) > NEAR + _DAY or abs(high.day - last) > NEAR + _DAY:
        return
    begins = low.day + _DAY if low.without and whole else low.day
    reaches = high.day - _DAY if high.without else high.day
    if not whole and not high.without and reaches == last + _DAY:
        reaches = last  # its first moment
    if (begins, reaches) != (first, last) and abs(begins - first) <= NEAR and abs(reaches - last) <= NEAR:
        wrong = [f"begins on {begins}"] * (begins != first) + [f"ends on {reaches}"] * (reaches != last)
        says = f"The question says {named[0][0]!r}, what the SQL asks for {' and '.join(wrong)}."
        yield Finding(
            "bound_differs", says, mended=_mended(low, high, first, last, found, profile.dialect) if whole else ""
        )


def _span(said: re.Match[str]) -> tuple[date, date]:
    """The first and the last day of the year, or of the month."""
    year, month = int(said["year"]), said["month"]
    if month is None:
        return date(year, 1, 1), date(year, 12, 31)
    first = date(year, MONTHS.index(month) + 1, 1)
    return first, (first + timedelta(31)).replace(day=1) - _DAY


def _ends(found: Resolution, profile: DatabaseProfile) -> Iterator[_End]:
    """The comparisons of dates and moments with days, but for those that are negated."""
    for node in found.tree.find_all(exp.Between, exp.GT, exp.GTE, exp.LT, exp.LTE):
        if node.find_ancestor(exp.Not, exp.Or) is not None:
            continue
        sides: list[tuple[exp.Expr, exp.Expr, type[exp.Expr]]]
        if isinstance(node, exp.Between):
            sides = [(node.this, node.args["low"], exp.GTE), (node.this, node.args["high"], exp.LTE)]
        else:
            sides = [(node.this, node.expression, type(node)), (node.expression, node.this, TURNED[type(node)])]
        for operand, value, kind in sides:
            column, literal = column_of(operand, found), value_of(value, found)
            place = found.place(column) if column is not None else None
            day = _day(literal.name) if literal is not None and literal.is_string else None
            if place is None or day is None:
                continue
            known = profile_at(place, profile)
            if known.kind in ("date", "datetime") and known.date_format in _ISO:
                yield _End(place, value, day, kind in (exp.GT, exp.GTE), kind in (exp.GT, exp.LT))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None


def _mended(low: _End, high: _End, first: date, last: date, found: Resolution, dialect: Dialect) -> str:
    """Both days as they are to be, and the comparisons as they are."""
    days = (first - _DAY if low.without else first, last + _DAY if high.without else last)
    new = [exp.Literal.string(day.isoformat()) for day in days]
    return rewritten(found, [(low.literal, new[0]), (high.literal, new[1])], dialect)
