"""Shapes over plain rows: list, count, aggregate, superlative."""

from __future__ import annotations

from agro_data.intent.choose import (
    answer,
    clear_extreme,
    details,
    fixed,
    order_of,
    outputs,
    rankable,
    summary,
)
from agro_data.intent.filters import conditions
from agro_data.intent.scene import Draft, Frame, Scene, conjunction
from agro_data.intent.tree import Aggregate, Column, Expression, OrderKey, Predicate, walk


def gather(scene: Scene, frame: Frame, filters: int, hops: int) -> Predicate | None:
    """Join up to `hops` parents and draw `filters` broad conditions, one at least on each parent at a path's end."""
    ends = frame.climb(hops)
    parts: list[Predicate] = []
    for end in ends:
        parts += conditions(frame, 1, [end])
    if len(parts) < filters:
        parts += conditions(frame, filters - len(parts), [frame.root], broad=True)
    return conjunction(parts)


def unused(frame: Frame, used: set[str]) -> list[str]:
    """Aliases at the end of a path that nothing speaks of: a join for nothing."""
    lefts = {join.left for join in frame.joins}
    return [s.alias for s in frame.sources[1:] if s.alias not in lefts and s.alias not in used]


def spoken(*nodes: object) -> set[str]:
    """Aliases whose columns appear in `nodes`."""

    return {n.source for n in walk(nodes) if isinstance(n, Column)}


def listing(scene: Scene) -> Draft | None:
    """Columns of a subject and of the parents it is joined with."""
    table = scene.subject(lambda t: True)
    if table is None:
        return None
    frame = scene.frame(table)
    hops = scene.number(scene.prior.hops)
    if hops == 0 and not scene.atlas.labels(table.name) and scene.atlas.up[table.name] and scene.chance(0.6):
        hops = 1
    ends = frame.climb(hops)
    filters: list[Predicate] = []
    shown: list[Column] = []
    # Each joined table must be spoken of: by a condition on it, or by its name in the answer.
    for end in ends:
        found = conditions(frame, 1, [end]) if scene.chance(0.6) else []
        filters += found
        if not found:
            shown += frame.labels(end)[:1]
    more = scene.number(scene.prior.filters) - len(filters)
    if more > 0:
        filters += conditions(frame, more, [frame.root])
    where = conjunction(filters)
    named = bool(scene.atlas.labels(table.name))
    from_target = scene.target is not None and scene.target[0] == table.name
    if not shown or named or from_target:
        shown = answer(frame, frame.root, fixed(where)) + shown
    shown = list(dict.fromkeys(shown))[:4]
    if not shown or unused(frame, spoken(where, tuple(shown))):
        return None
    distinct = _distinct(scene, frame, shown)
    order = order_of(frame, shown) if scene.chance(0.15) and not distinct else ()
    query = frame.query(select=outputs(shown), where=where, order_by=order, distinct=distinct)
    return Draft(query, "total_order" if order else "none")


def _distinct(scene: Scene, frame: Frame, shown: list[Column]) -> bool:
    """Whether to ask for different values: where the answer would repeat itself."""
    profiles = [frame.profile(c) for c in shown]
    if any(c.source == frame.root and p.unique for c, p in zip(shown, profiles, strict=True)):
        return False
    if len(shown) == 1:
        return scene.chance(0.75)
    return scene.chance(0.15)


def count(scene: Scene) -> Draft | None:
    """How many rows, or how many different values."""
    table = scene.subject(lambda t: True)
    if table is None:
        return None
    frame = scene.frame(table)
    where = gather(scene, frame, scene.number(scene.prior.filters), scene.number(scene.prior.hops))
    if unused(frame, spoken(where)):
        return None
    what: Expression = Aggregate("count")
    if scene.chance(0.25) or (scene.target is not None and scene.chance(0.5)):
        several = [
            c
            for c in scene.atlas.columns(table.name)
            if 1 < c.distinct < 0.8 * table.rows
            and (c.role in ("category", "text", "year") or (table.name, c.name) == scene.target)
        ]
        column = scene.column(table.name, several)
        if column is not None and Column(frame.root, column.name) not in fixed(where):
            what = Aggregate("count", Column(frame.root, column.name), distinct=True)
    return Draft(frame.query(select=outputs([what]), where=where))


def aggregate(scene: Scene) -> Draft | None:
    """One to three aggregates over the rows that meet the conditions."""
    table = scene.subject(lambda t: scene.atlas.ordered(t.name))
    if table is None:
        return None
    frame = scene.frame(table)
    where = gather(scene, frame, scene.number(scene.prior.filters), scene.number((0.72, 0.22, 0.06)))
    if unused(frame, spoken(where)):
        return None
    column = scene.column(table.name, scene.atlas.ordered(table.name))
    if column is None or Column(frame.root, column.name) in fixed(where):
        return None
    chosen: list[Expression] = [summary(frame, frame.root, column)]
    lot = scene.rng.random()
    if lot < 0.2:
        chosen = [
            Aggregate("min", Column(frame.root, column.name)),
            Aggregate("max", Column(frame.root, column.name)),
        ]
        if column.role == "measure" and scene.chance(0.35):
            chosen.append(Aggregate("avg", Column(frame.root, column.name)))
    elif lot < 0.3:
        other = scene.pick(scene.atlas.ordered(table.name))
        if other is not column:
            chosen.append(summary(frame, frame.root, other))
    elif lot < 0.36:
        chosen.insert(0, Aggregate("count"))
    return Draft(frame.query(select=outputs(chosen), where=where))


def superlative(scene: Scene) -> Draft | None:
    """The k rows with the largest or smallest value, by a column that has few ties."""
    table = scene.subject(lambda t: t.rows > 2 and scene.atlas.ordered(t.name))
    if table is None:
        return None
    frame = scene.frame(table)
    column = scene.column(table.name, rankable(frame, frame.root))
    if column is None:
        return None
    limits = [(k, w) for k, w in scene.prior.limits if k < table.rows]
    k = scene.pick([k for k, _ in limits], [w for _, w in limits])
    descending = scene.chance(0.65)
    if k > 1 and not column.unique and column.distinct < 0.8 * table.rows:
        return None
    if not clear_extreme(column, descending):
        descending = not descending
        if not clear_extreme(column, descending):
            return None
    where = gather(scene, frame, scene.number((0.78, 0.2, 0.02)), scene.number((0.82, 0.18)))
    key = Column(frame.root, column.name)
    if key in fixed(where) or unused(frame, spoken(where)):
        return None
    shown = [c for c in frame.labels(frame.root) if c != key]
    lot = scene.rng.random()
    if not shown or lot < 0.2:
        shown = details(frame, frame.root, scene.number(scene.prior.projections, 1), [key]) or [key]
    elif lot < 0.4:
        shown = [*shown, key]
    elif lot < 0.5:
        shown = [*shown, *details(frame, frame.root, 1, [key, *shown])]
    query = frame.query(select=outputs(shown), where=where, order_by=(OrderKey(key, descending),), limit=k)
    return Draft(query, "total_order")
