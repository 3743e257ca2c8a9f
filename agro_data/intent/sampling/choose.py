"""What an answer shows: columns of a subject, groups, aggregates and order keys, as people choose them."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence

from agro_data.intent.sampling.atlas import Row, extreme_is_tied, has_blanks, has_order, is_kept_of_row, near_unique
from agro_data.intent.sampling.holds import holds
from agro_data.intent.sampling.scene import Frame
from agro_data.intent.tree import (
    Aggregate,
    AggregateFunction,
    Column,
    Comparison,
    Expression,
    InList,
    IsNull,
    Or,
    OrderKey,
    Output,
    Predicate,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import ColumnProfile


def outputs(expressions: Iterable[Expression]) -> tuple[Output, ...]:
    """One unnamed output an expression, none twice."""
    return tuple(Output(e) for e in dict.fromkeys(expressions))


def fixed(where: Predicate | None) -> set[Column]:
    """Columns that a condition holds to NULL, to one value, or to one of a few that it names: to show them says
    little.
    """
    parts = conjuncts(where)
    held = {p.argument for p in parts if isinstance(p, InList | IsNull) and not p.negated}
    for part in parts:
        tests = part.parts if isinstance(part, Or) else (part,)
        equal = [t.left for t in tests if isinstance(t, Comparison) and t.operator == "="]
        if len(equal) == len(tests) and len(set(equal)) == 1:
            held.add(equal[0])
    return {expression for expression in held if isinstance(expression, Column)}


def details(frame: Frame, alias: str, count: int, skip: Iterable[Column] = ()) -> list[Column]:
    """Up to `count` columns of `alias`, without `skip`, by how often people ask to see such columns; the target comes
    first.
    """
    scene, table = frame.scene, frame.table(alias)
    taken = set(skip)
    pool: list[Column] = []
    weights: list[float] = []
    for column in frame.atlas.columns(table.name):
        target = scene.target == (table.name, column.name)
        if Column(alias, column.name) in taken or column.kind == "blob" or (is_kept_of_row(column) and not target):
            continue
        weight = scene.prior.shown_roles[column.role]
        if frame.atlas.is_reference(table.name, column.name):
            weight = 0.02 if (table.name, column.name) in frame.atlas.named_references else 0.05
        elif column.role == "identifier" and column.name not in table.primary_key and not column.unique:
            weight *= 0.3  # the number of something else
        if has_blanks(column):
            weight *= 0.1
        if column.distinct < 2:
            weight *= 0.1
        if target:
            weight *= 200
        pool.append(Column(alias, column.name))
        weights.append(weight)
    chosen: list[Column] = []
    while pool and len(chosen) < count:
        column_ = scene.pick(pool, weights)
        at = pool.index(column_)
        del pool[at], weights[at]
        chosen.append(column_)
    return chosen


def answer(frame: Frame, alias: str, skip: Iterable[Column] = ()) -> list[Column]:
    """The columns a person asks of a row of `alias`: mostly its name, perhaps with details, at times one detail."""
    scene = frame.scene
    count = scene.number(scene.prior.projections, 1)
    taken = set(skip)
    named = bool(frame.atlas.labels(frame.table(alias).name))
    # Labels may join a parent, so they are looked up only where they will be shown.
    plain = details(frame, alias, count, taken) if not scene.chance(0.86 if named else 0.4) else []
    label = [c for c in frame.labels(alias) if c not in taken] if not plain else []
    if not label:
        return plain or details(frame, alias, count, taken)
    wants_target = scene.target is not None and scene.target[0] == frame.table(alias).name
    if len(label) > 1 and scene.chance(0.35):
        label = [scene.pick(label)]
    extra = max(count - 1, 1 if wants_target and scene.chance(0.5) else 0)
    return label + details(frame, alias, extra, [*taken, *label])


def repeats(frame: Frame, shown: Sequence[Column], where: Predicate | None) -> bool:
    """Whether at least every other row of the answer would show again what another shows.

    Known of the sample rows that meet the conditions, as far as these can be told, and of how many values there are.
    """
    sample = frame.atlas.rows(frame.table(frame.root).name)
    kept = [rows for rows in map(frame.beside, sample) if _may_hold(where, rows)]
    seen = [tuple(rows[c.source][c.name] for c in shown) for rows in kept if all(c.source in rows for c in shown)]
    if len(seen) > 3 and 2 * len(set(seen)) <= len(seen):
        return True
    share = len(kept) / len(sample) if sample else 1.0
    kinds = math.prod(_kinds(frame, alias, shown) for alias in {c.source for c in shown})
    return 2 * kinds <= share * frame.table(frame.root).rows


def _kinds(frame: Frame, alias: str, shown: Sequence[Column]) -> int:
    """About how many combinations there are of what is shown of one source, whose columns may go together."""
    columns = [c for c in shown if c.source == alias]
    table = frame.table(alias)
    most = min(table.rows, math.prod(max(1, frame.profile(c).distinct) for c in columns))
    sample = frame.atlas.rows(table.name)
    seen = len({tuple(row[c.name] for c in columns) for row in sample})
    return min(most, 2 * seen) if 0 < 2 * seen <= len(sample) else most


def _may_hold(where: Predicate | None, rows: Mapping[str, Row]) -> bool:
    for part in conjuncts(where):
        sources = {n.source for n in walk(part) if isinstance(n, Column)}
        if len(sources) == 1 and (row := rows.get(*sources)) is not None and holds(part, row) is False:
            return False
    return True


def summary(frame: Frame, alias: str, column: ColumnProfile) -> Aggregate:
    """An aggregate that makes sense of `column`: averages and sums of quantities, first and last of dates."""
    functions: dict[AggregateFunction, float] = {"min": 0.6, "max": 1.2}
    if column.role == "measure":
        functions |= {"avg": 4.0, "sum": 2.0 if adds_up(column) else 0.0}
    function = frame.scene.pick(list(functions), functions.values())
    return Aggregate(function, Column(alias, column.name))


_RATE_WORDS = """
rate rates ratio percent percentage pct share age score rating rank height altitude elevation latitude longitude
temperature index grade gpa speed average avg mean level position per year years discount humidity pressure visibility
gust dew density angle minute hour accuracy factor chance probability odds minimum maximum min max slot sequence
priority x y z threshold interval range frequency sampling rssi
"""
_RATES = frozenset(_RATE_WORDS.split())


def adds_up(column: ColumnProfile) -> bool:
    """Whether a sum over rows means something: not for rates, ages, scores, places, unit prices and the like."""
    words = set(f"{column.phrase} {column.name.replace('_', ' ')}".lower().split())
    for_each = "unit" in words and not words.isdisjoint({"price", "cost"})  # of one, however many there are
    per = "/" in column.unit  # "µg/m³"
    return column.role == "measure" and words.isdisjoint(_RATES) and not for_each and not per


def settled(frame: Frame, keys: Sequence[OrderKey], shown: Sequence[Expression]) -> bool:
    """Whether the order asked for leaves nothing to chance: a key is unique, or all that is shown is a key."""
    expressions = [key.expression for key in keys]
    if all(e in expressions for e in shown):
        return True
    root = frame.root
    return any(
        isinstance(e, Column) and e.source == root and frame.profile(e).unique and frame.never_null(e)
        for e in expressions
    )


def order_of(frame: Frame, shown: Sequence[Column], held: Container[Column] = ()) -> tuple[OrderKey, ...]:
    """An order for a list that leaves nothing to chance, or () when there is none worth asking for: not by columns that
    a condition has `held` to a value.
    """
    scene, root = frame.scene, frame.root
    table = frame.table(root)
    in_order = [c for c in shown if c not in held and frame.never_null(c) and has_order(frame.profile(c))]
    keys = [c for c in in_order if c.source == root] * 2
    ordered = (Column(root, c.name) for c in frame.atlas.ordered(table.name) if table.never_null(c.name))
    keys += [column for column in ordered if column not in held]
    alone = [k for k in keys if settled(frame, [OrderKey(k)], shown)]
    if not keys or (not alone and scene.chance(0.7)):
        return ()
    key = scene.pick(alone or keys)
    numeric = frame.profile(key).role in ("measure", "year", "date")
    order = (OrderKey(key, scene.chance(0.6 if numeric else 0.15)),)
    if settled(frame, order, shown):
        return order
    for second in (c for c in in_order if c != key):
        longer = (*order, OrderKey(second))
        if settled(frame, longer, shown):
            return longer
    return ()


def rankable(frame: Frame, alias: str) -> list[ColumnProfile]:
    """Columns whose largest or smallest value picks out rows with few ties and no NULLs in between."""
    table = frame.table(alias)
    return [
        c
        for c in frame.atlas.ordered(table.name)
        if table.never_null(c.name) and (near_unique(table, c) or c.distinct >= 0.5 * table.rows)
    ]


def clear_extreme(column: ColumnProfile, descending: bool) -> bool:
    """Whether nothing is known against a single largest (smallest) row."""
    return not extreme_is_tied(column, descending)
