"""Conditions on one column, with literals from real values at a chosen selectivity."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence, Set

from agro_data.databases.types import Cell
from agro_data.intent.sampling.atlas import NEVER, is_iso_date, is_kept_of_row, is_number, sayable
from agro_data.intent.sampling.holds import cuts, holds
from agro_data.intent.sampling.scene import Frame
from agro_data.intent.tree import (
    Between,
    Column,
    Comparator,
    Comparison,
    DatePart,
    Expression,
    InList,
    IsNull,
    Like,
    Or,
    Predicate,
    Value,
)
from agro_data.profiling.profile import ColumnProfile, TableProfile

_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def conditions(
    frame: Frame,
    count: int,
    aliases: Sequence[str],
    skip: Iterable[Column] = (),
    broad: bool = False,
) -> list[Predicate]:
    """Up to `count` conditions on different columns of `aliases`, true of the frame's sample row where known.

    The draw's target comes first when it is among the columns. `broad` leaves out columns whose equality would single
    out a row or two: counting, grouping or ranking such rows makes no question.
    """
    pool = _askable(frame, aliases, set(skip), broad)
    found: list[Predicate] = []
    on_alias: dict[str, list[Predicate]] = {}
    for _ in range(count * 3):
        if len(found) == count or not pool:
            break
        column = frame.scene.pick([c for c, _ in pool], [w for _, w in pool])
        pool = [(c, w) for c, w in pool if c != column and not says_again(frame, c, column)]
        predicate = condition(frame, column)
        if predicate is None:
            continue
        table = frame.table(column.source)
        alone = _exact(predicate) and frame.profile(column).distinct > 0.5 * table.rows
        if alone and found:
            continue
        beside = on_alias.setdefault(column.source, [])
        if _narrows(frame, column.source, predicate) and cuts([*beside, predicate], frame.atlas.rows(table.name)):
            beside.append(predicate)
            found.append(predicate)
        if alone:  # it singles out a row: a second condition would say nothing
            break
    return found


def _askable(frame: Frame, aliases: Sequence[str], taken: Set[Column], broad: bool) -> list[tuple[Column, float]]:
    """The columns of `aliases` that something can be asked of, and how often it is."""
    scene = frame.scene
    pool: list[tuple[Column, float]] = []
    left_out = taken | frame.keys_up  # of a parent in the question is asked by its name, not by its key
    for alias in aliases:
        table = frame.table(alias)
        for profile in frame.atlas.columns(table.name):
            column = Column(alias, profile.name)
            if (
                column in left_out
                or any(says_again(frame, column, other) for other in taken)
                or (profile.distinct < 2 and profile.null_share == 0)
            ):
                continue
            target = scene.target == (table.name, profile.name)
            if (broad and _singles_out(table, profile)) or (is_kept_of_row(profile) and not target):
                continue
            weight = scene.prior.filter_roles[profile.role]
            if frame.atlas.is_reference(table.name, profile.name):
                weight = min(weight, 0.05)
            if target:
                weight *= 50
            pool.append((column, weight))
    return pool


def says_again(frame: Frame, column: Column, other: Column) -> bool:
    """Whether a column would say again what another does, of the same row."""
    alike = column.source == other.source and column != other
    return alike and frame.atlas.says_the_same(frame.table(column.source).name, column.name, other.name)


def short_between(value: float, low: float, high: float) -> float:
    """`value` in two digits where that is between the ends, else in as many as it takes: never 33679.790000004956."""
    digits = 1 - math.floor(math.log10(abs(value))) if value else 0
    finer = (round(value, digits + more) for more in range(12))
    return next((rounded for rounded in finer if low < rounded < high), value)


def _narrows(frame: Frame, alias: str, predicate: Predicate) -> bool:
    """Whether a condition leaves out one of the sample rows that conditions on the parents of a source have left."""
    left = frame.narrowed.get(alias)
    return left is None or any(holds(predicate, row) is False for row in left)


def _singles_out(table: TableProfile, profile: ColumnProfile) -> bool:
    by_order = (profile.role in ("measure", "year") and is_number(profile)) or is_iso_date(profile)
    return not by_order and profile.distinct > max(2, 0.4 * table.rows)


def _exact(predicate: Predicate) -> bool:
    return isinstance(predicate, Like) or (isinstance(predicate, Comparison) and predicate.operator == "=")


def by_name(frame: Frame, alias: str) -> list[Predicate]:
    """The one row of `alias` that the frame runs through, by its name: one equality a column; [] without a name."""
    names = frame.atlas.labels(frame.table(alias).name)[:2]
    row = frame.rows[alias]
    if not names or row is None or any(not sayable(row[c.name]) or c.distinct < 2 for c in names):
        return []
    frame.narrow(alias)
    makers = [Maker(frame, Column(alias, c.name), row[c.name], plain=True) for c in names]
    return [maker.equal(maker.here) for maker in makers]


def condition(frame: Frame, column: Column, plain: bool = False) -> Predicate | None:
    """One condition on `column` that keeps the frame's sample row; `plain` allows only what is shortest to say."""
    scene, profile = frame.scene, frame.profile(column)
    row = frame.rows.get(column.source)
    here = row[column.name] if row is not None else None
    if 0.02 < profile.null_share < 0.98 and not plain and (scene.chance(0.07) or profile.distinct < 2):
        return IsNull(column, negated=here is not None)
    if profile.distinct < 2:
        return None
    maker = Maker(frame, column, here, plain)
    if is_iso_date(profile):
        return maker.date()
    if profile.role in ("measure", "year") and is_number(profile):
        return maker.number()
    if profile.role == "free_text":
        return maker.like()
    if profile.role == "other" or (profile.kind == "other" and frame.atlas.profile.dialect == "duckdb"):
        return None  # of an INTERVAL or a list we know no literal; a value of several types is SQLite's own
    if profile.role == "text" and not plain and scene.chance(0.25):
        return maker.like() or maker.same()
    return maker.same()


class Maker:
    """Conditions on one column of a frame. `here` is the value to keep, or None when it is not known."""

    def __init__(self, frame: Frame, column: Column, here: Cell, plain: bool) -> None:
        self.scene = frame.scene
        self.column = column
        self.profile = frame.profile(column)
        self.origin = (frame.table(column.source).name, column.name)
        # Of what has a name of its own nobody asks for all but one.
        self.names = column.name in (c.name for c in frame.atlas.labels(frame.table(column.source).name))
        # Who asks for those that are not shipped means those of which nothing is known, too: `<>` leaves them out.
        self.opposed = frame.never_null(column)
        self.here = here
        self.plain = plain

    def value(self, cell: Cell) -> Value:
        if isinstance(cell, bytes):
            raise ValueError(f"a blob of {self.origin[0]}.{self.origin[1]} cannot be a literal")
        if isinstance(cell, float) and cell.is_integer() and abs(cell) < 10**15:
            cell = int(cell)
        return Value(cell, self.origin)

    def equal(self, cell: Cell) -> Comparison:
        return Comparison("=", self.column, self.value(cell))

    def same(self) -> Predicate | None:
        """Equality with a real value, sometimes its opposite or a choice of two."""
        known = [v for v, _ in self.profile.common if sayable(v)]
        here = self.here if sayable(self.here) else (self.scene.pick(known) if known else None)
        if here is None:
            return None
        others = [v for v in known if v != here]
        groups = self.profile.role in ("category", "boolean", "text", "year")
        if others and groups and not self.plain:
            lot = self.scene.rng.random()
            two = self.profile.role == "boolean"  # of which who does not mean the one names the other
            if lot < 0.08 and self.profile.distinct <= 30 and not self.names and self.opposed and not two:
                return Comparison("!=", self.column, self.value(self.scene.pick(others)))
            if lot < 0.22 and self.profile.distinct > 2:
                chosen = sorted([here, self.scene.pick(others)], key=str)
                return Or(tuple(Comparison("=", self.column, self.value(v)) for v in chosen))
            if lot < 0.245 and self.profile.distinct > 4 and len(others) > 2:
                chosen = sorted([here, *self.scene.rng.sample(others, self.scene.pick((1, 2)))], key=str)
                return InList(self.column, tuple(self.value(v) for v in chosen))
            if lot < 0.25 and self.profile.distinct > 4 and len(others) > 3 and self.opposed:
                chosen = sorted(self.scene.rng.sample(others, 2), key=str)
                return InList(self.column, tuple(self.value(v) for v in chosen), negated=True)
        return self.equal(here)

    def like(self) -> Predicate | None:
        """A word or first letters of a real value."""
        text = self.here
        if not isinstance(text, str):
            texts = [v for v, _ in self.profile.common if isinstance(v, str)]
            text = self.scene.pick(texts) if texts else None
        if not isinstance(text, str):
            return None
        # Whole words, of letters that LIKE compares without case: "ller" is no word of "Müller".
        words = [w for w in re.findall(r"[^\W\d_]+", text) if len(w) >= 3 and w.isascii()]
        if not words:
            return None
        free = self.profile.role == "free_text"
        if free or (len(words) > 1 and self.scene.chance(0.5)):
            return Like(self.column, "contains", self.value(max(words, key=len) if free else self.scene.pick(words)))
        if text.startswith(words[0]) and self.scene.chance(0.7):
            size = 1 if self.scene.chance(0.6) else min(3, len(words[0]))
            return Like(self.column, "starts", self.value(text[:size]))
        if text.endswith(words[-1]) and len(words) > 1 and self.scene.chance(0.5):
            return Like(self.column, "ends", self.value(words[-1]))
        return Like(self.column, "contains", self.value(words[0][:3]))  # four letters would be said to be a word

    def number(self) -> Predicate | None:
        """A bound at some decile, said as a round number where that keeps the meaning."""
        whole = [v for v in self.profile.quantiles if isinstance(v, int | float) and math.isfinite(v)]
        here = self.here if isinstance(self.here, int | float) and math.isfinite(self.here) else None
        year = self.profile.role == "year"
        exact = 0.45 if year else (0.3 if self.profile.integral and self.profile.distinct <= 12 else 0.04)
        if len(whole) < 3:
            return self.same()
        if self.scene.chance(exact):
            return self.same() if year or self.profile.integral else (self._bound(whole, here) or self.same())
        if not self.plain and self.scene.chance(0.16):
            between = self._between(whole, here)
            if between is not None:
                return between
        return self._bound(whole, here) or (self.same() if self.profile.integral else None)

    def bound(self, operator: Comparator) -> Comparison | None:
        """`>` or `<` some round decile, true of `here`; None when there is none."""
        deciles = [v for v in self.profile.quantiles if isinstance(v, int | float) and math.isfinite(v)]
        if len(deciles) < 3 or not isinstance(self.here, int | float):
            return None
        low, high, here = deciles[0], deciles[-1], self.here
        inner = sorted({self._round(v, low, high) for v in deciles[1:-1]})
        fits = [v for v in inner if (low <= v < here if operator == ">" else here < v <= high)]
        return Comparison(operator, self.column, self.value(self.scene.pick(fits))) if fits else None

    def _bound(self, deciles: Sequence[float], here: float | None) -> Predicate | None:
        low, high = deciles[0], deciles[-1]
        inner = sorted({self._round(v, low, high) for v in deciles[1:-1]})
        ways: list[tuple[Comparator, float]] = []
        for value in inner:
            if low <= value < high and (here is None or here > value):
                ways.append((">", value))
            if low < value <= high and (here is None or here < value):
                ways.append(("<", value))
        if not ways:
            return None
        operator, value = self.scene.pick(ways, [2.5 if o == ">" else 1 for o, _ in ways])
        if not self.plain and self.scene.chance(0.15) and low < value < high:
            operator = ">=" if operator == ">" else "<="
        return Comparison(operator, self.column, self.value(value))

    def _between(self, deciles: Sequence[float], here: float | None) -> Predicate | None:
        low, high = deciles[0], deciles[-1]
        inner = sorted({self._round(v, low, high) for v in deciles[1:-1]})
        below = [v for v in inner if here is None or v <= here]
        above = [v for v in inner if here is None or v >= here]
        if not below or not above:
            return None
        first, last = self.scene.pick(below), self.scene.pick(above)
        return Between(self.column, self.value(first), self.value(last)) if first < last else None

    def _round(self, value: float, low: float, high: float) -> float:
        if self.profile.role == "year" or value == 0:
            return value
        digits = 2 - 1 - math.floor(math.log10(abs(value)))
        if self.profile.integral:
            whole = int(round(value, digits)) if digits < 0 else int(value)
            return whole if low < whole < high else value
        return short_between(value, low, high)

    def date(self) -> Predicate | None:
        """Before, after, between, or in a year."""
        days = sorted({day for value in self.profile.quantiles if (day := _day(value)) is not None})
        here = _day(self.here)
        if days and days[0][:4] != days[-1][:4] and self.scene.chance(0.45):
            return self._in_year(days, here)
        bound = self._day_bound(days[1:-1], here)
        if bound is None and self.profile.kind == "date":
            return self.same()
        return bound

    def _in_year(self, days: Sequence[str], here: str | None) -> Predicate:
        """In a year, or from it or up to it on; `days` are of several years."""
        year = int((here or self.scene.pick(days))[:4])
        part: Expression = DatePart("year", self.column)
        if self.plain or self.scene.chance(0.6) or not days[0][:4] < str(year) < days[-1][:4]:
            return Comparison("=", part, Value(year))
        return Comparison(">=" if self.scene.chance(0.5) else "<=", part, Value(year))

    def _day_bound(self, days: Sequence[str], here: str | None) -> Predicate | None:
        """After or before one of `days`, or between two; None where none keeps the row of the day `here`."""
        whole = self.profile.kind == "date"
        after = [day for day in days if here is None or day < here]
        before = [day for day in days if here is None or day > here]
        if after and before and not self.plain and self.scene.chance(0.15) and whole:
            # Where no row says which days are before it, both are drawn of all.
            first, last = sorted((self.scene.pick(after), self.scene.pick(before)))
            if first < last:
                return Between(self.column, self.value(first), self.value(last))
        if after and (not before or self.scene.chance(0.55)):
            # On timestamps "after the day" would need the next midnight: from the day on is what is asked then.
            return Comparison(">" if whole else ">=", self.column, self.value(self.scene.pick(after)))
        if before:
            return Comparison("<", self.column, self.value(self.scene.pick(before)))
        return None


def _day(value: Cell) -> str | None:
    """The day of an ISO date or timestamp; None where it is none, or stands for none."""
    return value[:10] if isinstance(value, str) and _ISO_DAY.match(value) and not value.startswith(NEVER) else None
