"""Dates that a query writes otherwise than the column does that it compares them with: '2022-01-01' with '20220101', or
a day with moments, none of which is equal to it, and most of which come after it. What is after a day is no moment of
it, where the question says "after".

Each finding is demonstrated: with the date in the column's form the answer is another. That a day which is to be the
last ends at its first moment is noted where no row shows it yet, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer, demonstrated
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import column_of, profile_at
from agro_data.profiling.columns.dates import all_days
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile
from agro_data.sql.names.resolution import Resolution, value_of

_SIZES = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_DAY = re.compile(r"(?P<y>\d{4})(?P<a>[-/.]?)(?P<m>\d{1,2})(?P=a)(?P<d>\d{1,2})")
_DOTTED = re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:([ T])(\d\d:\d\d.*))?")
_PARTED = re.compile(r"(\d+)([-/.])(\d+)\2(\d+)")
_MIDNIGHT = re.compile(r"00:00(:00(\.0+)?)?")
_AFTER = re.compile(r"\b(?:after|later than|past|beyond|following)\b", re.IGNORECASE)
_END = "23:59:59.999999"
_ORDERS = {"iso-loose": "ymd", "y/m/d": "ymd", "d/m/y": "dmy", "m/d/y": "mdy"}


@dataclass(frozen=True)
class _Use:
    """A date that a column is compared with: the node, its text, whether it is asked for itself, or is the last, what
    comes after it is asked for, and the first of a span that it ends.
    """

    column: exp.Expr
    node: exp.Expr
    text: str
    equal: bool
    last: bool
    after: bool = False
    first: str = ""


@dataclass(frozen=True)
class _Change:
    """What would be in the column's form: nodes with what they are then, why, and whether it is the only way."""

    nodes: tuple[tuple[exp.Expr, exp.Expr], ...]
    says: str
    sure: bool


def check_literal_forms(
    database: Database, names: Mapping[str, Resolution], profile: DatabaseProfile, sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """Findings of each statement."""
    offers = [list(_offers(sql, found, profile)) for sql, found in names.items()]
    shown = dict(zip(names, demonstrated(database, offers, sandbox), strict=True))
    return {sql: some or list(_cut_short(names[sql], profile)) for sql, some in shown.items()}


def offer_after_days(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: another comparison with the first moment of a day, where what is after the day is
    asked for.
    """
    if _AFTER.search(pair.question):
        yield from _offers(pair.sql, found, profile, after=True)


def _offers(sql: str, found: Resolution, profile: DatabaseProfile, after: bool = False) -> Iterator[Offer]:
    """The statement with all its changes."""
    some = list(_changes(found, profile, after))
    nodes = list({id(old): (old, new) for one in some for old, new in one.nodes}.values())
    if nodes:
        says = " ".join(dict.fromkeys(one.says for one in some))
        text = rewritten(found, nodes, profile.dialect)
        mended = text if all(one.sure for one in some) else ""
        yield Offer(Finding("literal_other_form", says, mended=mended), sql, text, found.ordered)


def _changes(found: Resolution, profile: DatabaseProfile, after: bool) -> Iterator[_Change]:
    for use in _uses(found):
        place = found.place(use.column)
        column = profile_at(place, profile) if place is not None else None
        if column is None or place is None:
            continue
        if after:
            change = _without_day(use, column)
        else:
            change = _with_moments(use, column, profile.dialect) or _in_form(use, column, profile.dialect)
        if change is not None:
            value = column.common[0][0] if column.common else column.minimum
            yield replace(change, says=f"{'.'.join(place)} has {value!r}, the SQL {use.text!r}: {change.says}.")


def _uses(found: Resolution) -> Iterator[_Use]:
    """The texts that columns are compared with, in the order of the SQL."""
    for node in found.tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Between, *_SIZES):
        for operand, other, last in _sides(node):
            column, value = column_of(operand, found), value_of(other, found)
            if column is not None and value is not None and value.is_string:
                low = value_of(node.args["low"], found) if isinstance(node, exp.Between) else None
                equal = isinstance(node, (exp.EQ, exp.NEQ, exp.In))
                after = isinstance(node, exp.GT if operand is node.this else exp.LT)
                yield _Use(column, other, value.name, equal, last, after, low.name if low is not None else "")


def _sides(node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr, bool]]:
    """What is compared with what, and whether the second is the last that counts."""
    if isinstance(node, exp.In):
        return [(node.this, one, False) for one in node.expressions]
    if isinstance(node, exp.Between):
        return [(node.this, node.args["low"], False), (node.this, node.args["high"], True)]
    left, right = node.this, node.expression
    return [(left, right, isinstance(node, exp.LTE)), (right, left, isinstance(node, exp.GTE))]


# --- a day among moments -----------------------------------------------------------------------------------------


def _with_moments(use: _Use, column: ColumnProfile, dialect: Dialect) -> _Change | None:
    """A day that moments are asked to be, or to be no later than: it is its first moment only."""
    if not _is_day_of_moments(use, column):
        return None
    if use.last and not _ends_before(use):
        return _Change(((use.node, _end(use, column)),), "with all moments of that day the answer is another", False)
    if not use.equal:
        return None
    text = column.declared_type.upper() in ("VARCHAR", "TEXT") or dialect == "sqlite"
    day = exp.func("SUBSTR", use.column.copy(), exp.Literal.number(1), exp.Literal.number(10), dialect=dialect)
    part = day if text else exp.cast(use.column.copy(), "DATE")
    return _Change(((use.column, part),), "with all moments of that day the answer is another", False)


def _cut_short(found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """A last day of which no row but those of its first moment would come out, whatever is there now."""
    for use in _uses(found):
        place = found.place(use.column)
        column = profile_at(place, profile) if place is not None else None
        if column is None or place is None or not use.last or not _is_day_of_moments(use, column) or _ends_before(use):
            continue
        later = next((value for value, _ in column.common if _is_later(str(value))), None)
        if later is not None:
            has = f"{'.'.join(place)} has {str(later)!r}, the SQL {use.text!r}"
            yield Finding("day_cut_short", f"{has}: of that day only the first moment passes, though no row shows it.")


def _is_later(moment: str) -> bool:
    """Whether a moment is not the first of its day."""
    match = _ISO.fullmatch(moment)
    return match is not None and match[3] is not None and _MIDNIGHT.fullmatch(match[3]) is None


def _without_day(use: _Use, column: ColumnProfile) -> _Change | None:
    """A day that moments are asked to be after: most of its own are after its first."""
    if not use.after or not _is_day_of_moments(use, column):
        return None
    return _Change(((use.node, _end(use, column)),), "after the last moment of that day the answer is another", False)


def _is_day_of_moments(use: _Use, column: ColumnProfile) -> bool:
    return column.kind == "datetime" and column.date_format == "iso" and _iso_day(use.text) == use.text


def _end(use: _Use, column: ColumnProfile) -> exp.Expr:
    """The last moment of a day as the column writes moments."""
    return exp.Literal.string(f"{use.text}{_between(column) or ' '}{_END}")


def _ends_before(use: _Use) -> bool:
    """Whether the day before may be the last that is meant: where a day, a week, a month or a year is whole with it."""
    last, first = _day(use.text), _day(use.first)
    assert last is not None
    return last.day == 1 or (first is not None and ((last - first).days in (1, 7) or last.day == first.day))


def _iso_day(text: str) -> str:
    match = _ISO.fullmatch(text)
    return match[1] if match is not None and _is_day(match[1]) else ""


def _between(column: ColumnProfile) -> str:
    """What stands between day and time in all moments that are known; "" where that differs."""
    matches = [_ISO.fullmatch(value) for value, _ in column.common if isinstance(value, str)]
    found = {match[2] for match in matches if match is not None and match[2]}
    return found.pop() if len(found) == 1 else ""


# --- a day in another form ---------------------------------------------------------------------------------------


def _in_form(use: _Use, column: ColumnProfile, dialect: Dialect) -> _Change | None:
    """The literal as the column writes dates, where it is the only one of a day."""
    if dialect == "duckdb" and column.declared_type.upper() not in ("VARCHAR", "TEXT"):
        return None  # the engine reads it
    meant = _written(use.text, column)
    if meant is None or meant.name == use.text or not (use.equal or _sorts(column)):
        return None
    return _Change(((use.node, meant),), "in the form of the column the answer is another", True)


def _written(text: str, column: ColumnProfile) -> exp.Expr | None:
    """A date as the column writes its own; None if it is none, or the column's form is not known."""
    match = _ISO.fullmatch(text)
    clock = match[3] if match is not None else None
    if column.kind == "datetime" and column.date_format == "iso":
        between = _between(column)
        return exp.Literal.string(f"{match[1]}{between}{clock}") if match is not None and clock and between else None
    day = _day(text[:10] if clock and _MIDNIGHT.fullmatch(clock) else text)
    if day is None or column.kind not in ("date", "integer"):
        return None
    plain = day.strftime("%Y%m%d")
    if column.kind == "integer":
        return exp.Literal.number(plain) if all_days(value for value, _ in column.common) else None
    if column.date_format in ("iso", "yyyymmdd"):
        return exp.Literal.string(day.isoformat() if column.date_format == "iso" else plain)
    return _parted(day, column)


def _day(text: str) -> date | None:
    """The day that a text says in a form that leaves nothing open."""
    match = _DAY.fullmatch(text) or _DOTTED.fullmatch(text)
    if match is None or (match.re is _DAY and not match["a"] and len(text) != 8):
        return None
    try:
        return date(int(match["y"]), int(match["m"]), int(match["d"]))
    except ValueError:
        return None


def _is_day(text: str) -> bool:
    return _day(text) is not None


def _parted(day: date, column: ColumnProfile) -> exp.Expr | None:
    """A day in three parts, as all known values of a column have them."""
    order = _ORDERS.get(column.date_format, "")
    matches = [_PARTED.fullmatch(value) for value, _ in column.common if isinstance(value, str)]
    known = [match for match in matches if match is not None]
    if not order or not known or len(known) < len(matches) or len({match[2] for match in known}) > 1:
        return None
    parts = [dict(zip(order, (match[1], match[3], match[4]), strict=True)) for match in known]
    if order == "mdy" and not any(int(part["d"]) > 12 for part in parts):
        return None  # the first may be the day
    short = [part[name] for part in parts for name in "md"]
    padded = all(len(one) == 2 for one in short)
    if any(len(part["y"]) != 4 for part in parts) or (not padded and any(one.startswith("0") for one in short)):
        return None
    width = "02" if padded else ""
    said = {"y": f"{day.year:04}", "m": f"{day.month:{width}}", "d": f"{day.day:{width}}"}
    return exp.Literal.string(known[0][2].join(said[name] for name in order))


def _sorts(column: ColumnProfile) -> bool:
    """Whether its dates sort as texts do: else no bound is right, whatever its form (`pairs.values.sizes`)."""
    fixed = {len(value) for value, _ in column.common if isinstance(value, str)}
    return column.date_format in ("iso", "yyyymmdd", "") or (column.date_format == "y/m/d" and len(fixed) == 1)
