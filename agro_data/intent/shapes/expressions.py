"""Shapes that compute: buckets, arithmetic, share, text_function, metric."""

from __future__ import annotations

import math
import re

from agro_data.intent.questions.clauses.functions import NAMED
from agro_data.intent.questions.naming.words import last_word
from agro_data.intent.sampling.atlas import is_number, sayable
from agro_data.intent.sampling.choose import fixed, outputs
from agro_data.intent.sampling.filters import condition, conditions, short_between
from agro_data.intent.sampling.scene import Draft, Frame, Scene
from agro_data.intent.shapes.groups import grouping, told_apart
from agro_data.intent.tree import (
    Aggregate,
    Arithmetic,
    Case,
    Column,
    Comparison,
    Expression,
    IsNull,
    MetricCall,
    OrderKey,
    Output,
    Predicate,
    Share,
    TextFunction,
    Value,
    conjunction,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, TableProfile, Within


def buckets(scene: Scene) -> Draft | None:
    """Rows by bands of a quantity, or a count of two kinds side by side."""
    if scene.chance(0.4):
        return _side_by_side(scene)
    table = scene.subject(lambda t: t.rows > 5 and scene.atlas.measures(t.name))
    if table is None:
        return None
    column = scene.column(table.name, [c for c in scene.atlas.measures(table.name) if table.never_null(c.name)])
    if column is None or len(column.quantiles) < 11:
        return None
    frame = scene.frame(table)
    key = Column(frame.root, column.name)
    cuts = _cuts(scene, column)
    if not cuts:
        return None
    origin = (table.name, column.name)
    words = ("low", "high") if len(cuts) == 1 else ("low", "medium", "high")
    branches = tuple((Comparison("<", key, Value(c, origin)), Value(w)) for c, w in zip(cuts, words, strict=False))
    band = Case(branches, Value(words[len(cuts)]))
    if scene.chance(0.25) and table.rows <= 500:
        names = [c for c in frame.labels(frame.root) if c != key]
        if names:
            return Draft(frame.query(select=(*outputs(names), Output(band, "band"))))
    select = (Output(band, "band"), Output(Aggregate("count")))
    return Draft(frame.query(select=select, group_by=(band,)))


def _cuts(scene: Scene, column: ColumnProfile) -> list[int | float]:
    """One or two round numbers that leave rows on each side."""
    wanted = (5,) if scene.chance(0.4) else (3, 7)
    cuts: list[int | float] = []
    low, high = column.minimum, column.maximum
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return []
    for place in wanted:
        value = column.quantiles[place]
        if not isinstance(value, int | float) or not math.isfinite(value):
            return []
        rounded = short_between(value, low, high)
        if column.integral:
            rounded = int(rounded) if low < int(rounded) else value
        if isinstance(rounded, float) and rounded.is_integer():
            rounded = int(rounded)
        if low < rounded <= high:
            cuts.append(rounded)
    return sorted(set(cuts))


def _side_by_side(scene: Scene) -> Draft | None:
    table = scene.subject(lambda t: t.rows > 4 and _twofold(scene, t))
    if table is None:
        return None
    column = scene.column(table.name, _twofold(scene, table))
    if column is None:
        return None
    frame = scene.frame(table)
    key = Column(frame.root, column.name)
    first, second = [v for v, _ in column.common if sayable(v)][:2]
    counts = [
        Aggregate("count", where=Comparison("=", key, Value(v, (table.name, column.name))))
        for v in (first, second)
        if not isinstance(v, bytes)
    ]
    if len(counts) < 2:
        return None
    others = [
        c
        for c in scene.atlas.categories(table.name)
        if c.name != column.name and c.distinct <= 30 and table.never_null(c.name)
    ]
    if others and scene.chance(0.6):
        group = Column(frame.root, scene.pick(others).name)
        return Draft(frame.query(select=outputs([group, *counts]), group_by=(group,)))
    return Draft(frame.query(select=outputs(counts)))


def _twofold(scene: Scene, table: TableProfile) -> list[ColumnProfile]:
    return [
        c
        for c in scene.atlas.categories(table.name)
        if c.role in ("category", "boolean") and c.distinct <= 8 and sum(sayable(v) for v, _ in c.common) >= 2
    ]


_OPPOSITES = (
    ("end", "start"), ("high", "low"), ("max", "min"), ("maximum", "minimum"), ("highest", "lowest"), ("last", "first"),
    ("to", "from"), ("won", "lost"), ("wins", "losses"), ("arrival", "departure"), ("closing", "opening"),
    ("sale", "cost"), ("sold", "bought"), ("budget", "spent"), ("gross", "net"), ("home", "away"), ("home", "visitor"),
    ("sent", "received"), ("credit", "debit"), ("planned", "actual"), ("large", "small"), ("after", "before"),
)  # fmt: skip
_PAIRED = 40  # columns of a wide table that are compared pair by pair at a time
_MONEY = {"price", "cost", "fee", "amount", "salary", "budget", "revenue", "income", "rate"}
_PLACES = frozenset(("lat", "latitude", "lon", "lng", "long", "longitude"))
_TOTALS = frozenset(("amount", "extended", "revenue", "subtotal", "sum", "total"))  # quantity times price already
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SHARES = frozenset(("percent", "percentage", "pct", "rate", "ratio", "share"))
_NUMBERS = {"quantity", "qty", "units", "hours", "nights", "days", "stock"}


def _words(column: ColumnProfile) -> list[str]:
    return re.findall(r"[a-z]+", f"{column.phrase} {column.name}".lower())


def _pairs(scene: Scene, table: TableProfile) -> list[tuple[str, ColumnProfile, ColumnProfile]]:
    """(operator, left, right) of columns that people combine: price * quantity, high - low, same units."""
    found: list[tuple[str, ColumnProfile, ColumnProfile]] = []
    columns = [c for c in scene.atlas.measures(table.name) if _PLACES.isdisjoint(_words(c))]
    years = [c for c in scene.atlas.columns(table.name) if c.role == "year" and is_number(c)]
    numbers = [*columns, *years]
    if len(numbers) > _PAIRED:
        numbers = scene.rng.sample(numbers, _PAIRED)
    for a in numbers:
        for b in numbers:
            if a is b or (a.role == "year") != (b.role == "year"):
                continue
            left, right = _words(a), _words(b)
            if any(x in left and y in right for x, y in _OPPOSITES):
                found.append(("-", a, b))
            elif a.role == "measure" and set(left) & _MONEY and set(right) & _NUMBERS and _TOTALS.isdisjoint(left):
                found.append(("*", a, b))
            elif a.role == "measure" and a.name < b.name and (_same_unit(a, b) or _same_head(left, right)):
                if _of_two_years(a, b):
                    found.append(("-", b, a))
                else:
                    found.append((scene.pick(("+", "-")) if _adds(a, b) else "-", a, b))
    return [(operator, a, b) for operator, a, b in found if operator == "*" or _within(a) == _within(b)]


def _within(column: ColumnProfile) -> set[Within]:
    return {one for one in column.within if not one.summed}


def _adds(a: ColumnProfile, b: ColumnProfile) -> bool:
    """Whether a sum means something: two percentages differ by some points, but are of different things."""
    return all(_SHARES.isdisjoint(_words(c)) and "/" not in c.unit for c in (a, b))


def _of_two_years(a: ColumnProfile, b: ColumnProfile) -> bool:
    """Whether two columns hold the same of two years, as "2019" and "2020": it has grown, and is not added up."""
    first, second = (_YEAR.findall(c.name) for c in (a, b))
    return bool(first and second) and first != second and _YEAR.sub("", a.name) == _YEAR.sub("", b.name)


def _same_unit(a: ColumnProfile, b: ColumnProfile) -> bool:
    return bool(a.unit) and a.unit == b.unit


def _same_head(left: list[str], right: list[str]) -> bool:
    """ "home score" and "away score": the same head noun, told apart by another word."""
    return (
        len(left) > 1
        and len(right) > 1
        and left[-1] == right[-1]
        and len(left[-1]) > 3
        and left[-1] not in ("number", "rate", "code")
    )


def arithmetic(scene: Scene) -> Draft | None:
    """A value of two columns that belong together: shown, summed up, compared or ranked."""
    table = scene.subject(lambda t: _pairs(scene, t))
    if table is None:
        return None
    pairs = _pairs(scene, table)
    if not pairs:
        return None
    operator, a, b = scene.pick(pairs)
    frame = scene.frame(table)
    left, right = Column(frame.root, a.name), Column(frame.root, b.name)
    value = Arithmetic(operator, left, right)  # type: ignore[arg-type]
    lot = scene.rng.random()
    narrow = conditions(frame, 1, [frame.root], [left, right], broad=True) if scene.chance(0.3) else []
    where = conjunction(narrow)
    if lot < 0.35 and a.role == "measure":
        function = "sum" if operator == "*" and scene.chance(0.7) else scene.pick(("avg", "max", "min"))
        return Draft(frame.query(select=outputs([Aggregate(function, value)]), where=where))  # type: ignore[arg-type]
    names: list[Expression] = [c for c in frame.labels(frame.root, whole=True) if c not in (left, right, *fixed(where))]
    if not names:
        return None
    if lot < 0.55 and operator == "-":
        test = Comparison(">", left, right)
        return Draft(frame.query(select=outputs(names), where=conjunction([p for p in (where, test) if p])))
    if lot < 0.7 and table.never_null(a.name) and table.never_null(b.name):
        query = frame.query(select=outputs(names), where=where, order_by=(OrderKey(value, True),), limit=1)
        return Draft(query, "total_order")
    name = {"*": "total", "+": "total", "-": "difference", "/": "ratio"}[operator]
    return Draft(frame.query(select=(*outputs(names), Output(value, name)), where=where))


def share(scene: Scene) -> Draft | None:
    """The percentage of rows that meet a condition, overall or for each group."""
    if scene.chance(0.35):
        found = grouping(scene)
        if found is None:
            return None
        keys = [k for k in found.keys if isinstance(k, Column)]
        tests = conditions(found.frame, 1, [found.rows], keys, broad=True)
        if not tests:
            return None
        select = (*outputs(found.shown), Output(Share(tests[0]), "percentage"))
        return Draft(found.frame.query(select=select, where=conjunction(found.known), group_by=found.keys))
    table = scene.subject(lambda t: t.rows > 4)
    if table is None:
        return None
    frame = scene.frame(table)
    tests = conditions(frame, 1, [frame.root], broad=True)
    if not tests or isinstance(tests[0], IsNull):
        return None
    where: Predicate | None = None
    if scene.chance(0.25):
        used = {n for n in walk(tests[0]) if isinstance(n, Column)}
        where = conjunction(conditions(frame, 1, [frame.root], used, broad=True))
    return Draft(frame.query(select=(Output(Share(tests[0]), "percentage"),), where=where))


def text_function(scene: Scene) -> Draft | None:
    """Names in another form: full names, lengths, initials, letter case."""
    table = scene.subject(lambda t: _texts(scene, t))
    if table is None:
        return None
    frame = scene.frame(table)
    label = scene.atlas.labels(table.name)
    column = scene.column(table.name, _texts(scene, table))
    if column is None:
        return None
    key = Column(frame.root, column.name)
    where = conjunction(conditions(frame, 1, [frame.root], [key], broad=True)) if scene.chance(0.5) else None
    if len(label) >= 2 and scene.chance(0.5):
        full = TextFunction("join_words", tuple(Column(frame.root, c.name) for c in label[:2]))
        return Draft(frame.query(select=(Output(full, "full_name"),), where=where))
    # A country is not as long as its name, and of actors, the longest duration is no number of letters.
    long = 1 if last_word(column.phrase).lower() in NAMED else 0
    kind = scene.pick(("length", "longest", "upper", "lower", "initial"), (2 * long, 1 * long, 1.5, 1, 1.5))
    if kind == "length":
        return Draft(frame.query(select=(Output(key), Output(TextFunction("length", (key,)), "length")), where=where))
    if kind == "longest":
        if not table.never_null(column.name) or not column.unique:
            return None
        order = (OrderKey(TextFunction("length", (key,)), scene.chance(0.7)),)
        return Draft(frame.query(select=outputs([key]), where=where, order_by=order, limit=1), "total_order")
    if kind == "initial":
        first = TextFunction("prefix", (key,), 1)
        if not table.never_null(column.name):
            return None
        select = (Output(first, "initial"), Output(Aggregate("count")))
        return Draft(frame.query(select=select, where=where, group_by=(first,)))
    changed = TextFunction("upper" if kind == "upper" else "lower", (key,))
    if condition(frame, key, plain=True) is None:
        return None
    return Draft(frame.query(select=outputs([changed]), where=where))


def _texts(scene: Scene, table: TableProfile) -> list[ColumnProfile]:
    """Names in words: neither codes nor numbers kept as text."""
    return [
        c
        for c in scene.atlas.columns(table.name)
        if c.role == "text"
        and c.kind == "text"
        and c.distinct > 2
        and isinstance(c.minimum, str)
        and any(isinstance(v, str) and any(ch.isalpha() for ch in v) for v, _ in c.common[:3])
    ]


def metric(scene: Scene) -> Draft | None:
    """A named metric, over all rows that meet a condition or for each group."""
    known = [m for m in scene.atlas.profile.metrics if m.table in scene.atlas.by_name]
    if not known:
        return None
    chosen = scene.pick(known)
    table = scene.atlas.by_name[chosen.table]
    frame: Frame = scene.frame(table)
    call = MetricCall(chosen.name, frame.root)
    name = re.sub(r"\W+", "_", chosen.name.lower()).strip("_") or "metric"
    where = conjunction(conditions(frame, 1, [frame.root], broad=True)) if scene.chance(0.4) else None
    own = [c for c in scene.atlas.categories(chosen.table) if table.never_null(c.name)]
    said = {word.lower() for word in re.findall(r"\w+", chosen.sql)}  # a rate of denials by status is 0 or 100 %
    groups = [c for c in own if Column(frame.root, c.name) not in fixed(where) and c.name.lower() not in said]
    if groups and scene.chance(0.6):
        key = Column(frame.root, scene.pick(groups).name)
        return Draft(frame.query(select=(Output(key), Output(call, name)), where=where, group_by=(key,)))
    parents = scene.atlas.groups_by(chosen.table)
    if parents and scene.chance(0.6):
        parent = frame.up(frame.root, scene.pick(parents))
        labels = tuple(frame.labels(parent))
        keys = told_apart(frame, parent, labels)
        return Draft(frame.query(select=(*outputs(labels), Output(call, name)), where=where, group_by=keys))
    return Draft(frame.query(select=(Output(call, name),), where=where))
