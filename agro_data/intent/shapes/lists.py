"""Shapes over plain rows: list, count, aggregate, superlative."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.sampling.atlas import has_blanks, has_gaps, of_several_tables
from agro_data.intent.sampling.choose import (
    answer,
    clear_extreme,
    details,
    fixed,
    order_of,
    outputs,
    rankable,
    repeats,
    summary,
)
from agro_data.intent.sampling.filters import by_name, conditions, says_again
from agro_data.intent.sampling.scene import Draft, Frame, Scene
from agro_data.intent.tree import Aggregate, Column, Expression, IsNull, OrderKey, Predicate, conjunction, walk
from agro_data.profiling.profile import TableProfile


def gather(scene: Scene, frame: Frame, filters: int, hops: int, skip: tuple[Column, ...] = ()) -> Predicate | None:
    """Join up to `hops` parents and draw `filters` broad conditions, one at least on each parent at a path's end.

    Nothing is asked of the columns `skip`.
    """
    parts: list[Predicate] = []
    for end in frame.climb(hops):
        parts += on_parent(scene, frame, end)
    if len(parts) < filters:
        parts += conditions(frame, filters - len(parts), [frame.root], skip, broad=True)
    return conjunction(parts)


def on_parent(scene: Scene, frame: Frame, alias: str) -> list[Predicate]:
    """What is asked of a joined parent: which one it is, by its name, or of what kind."""
    targeted = scene.target is not None and scene.target[0] == frame.table(alias).name
    named = by_name(frame, alias) if scene.chance(0.45) and not targeted else []
    return named or conditions(frame, 1, [alias])


def unused(frame: Frame, used: set[str]) -> list[str]:
    """Aliases at the end of a path that nothing speaks of: a join for nothing."""
    lefts = {join.left for join in frame.joins}
    return [s.alias for s in frame.sources[1:] if s.alias not in lefts and s.alias not in used]


def spoken(*nodes: object) -> set[str]:
    """Aliases whose columns appear in `nodes`."""

    return {n.source for n in walk(nodes) if isinstance(n, Column)}


def listing(scene: Scene) -> Draft | None:
    """Columns of a subject and of the parents it is joined with."""
    hops = scene.number(scene.prior.hops)
    table = _subject(scene, hops)
    if table is None:
        return None
    frame = scene.frame(table)
    named = bool(scene.atlas.labels(table.name))
    if not named:
        hops = _hops_of_unnamed(scene, table, hops)
    wanted = scene.number(scene.prior.filters)
    filters, shown = _about_parents(scene, frame, frame.climb(hops), wanted, named)
    if wanted > len(filters):
        filters += conditions(frame, wanted - len(filters), [frame.root], broad=bool(filters))
    where = conjunction(filters)
    from_target = scene.target is not None and scene.target[0] == table.name
    if not shown or (named and not (filters and scene.chance(0.5))) or from_target:
        shown = answer(frame, frame.root, fixed(where)) + shown
    shown = list(dict.fromkeys(shown))[:3]
    if not shown or unused(frame, spoken(where, tuple(shown))):
        return None
    shown, distinct = _told_apart(scene, frame, shown, where)
    if distinct and all(frame.profile(c).role == "boolean" for c in shown):
        return None  # that there are two, and which, nobody asks
    if distinct and any(has_gaps(frame.table(c.source), frame.profile(c)) for c in shown):
        if len(shown) > 1 or has_blanks(frame.profile(shown[0])):
            return None  # among different values what is unknown is none
        where = conjunction([*filters, *known(filters, shown[0])])
    ordered = scene.chance(scene.prior.ordered if not filters else scene.prior.ordered / 5)
    order = order_of(frame, shown, fixed(where)) if ordered and not distinct else ()
    query = frame.query(select=outputs(shown), where=where, order_by=order, distinct=distinct)
    return Draft(query, "total_order" if order else "none")


def _hops_of_unnamed(scene: Scene, table: TableProfile, drawn: int) -> int:
    """How many parents to join where rows have no name of their own: perhaps more than were drawn."""
    if len(scene.atlas.groups_by(table.name)) > 1 and scene.chance(0.6):
        return 2  # what joins two things: ask for one by the other
    if drawn == 0 and scene.atlas.up[table.name] and scene.chance(0.6):
        return 1
    return drawn


def _subject(scene: Scene, hops: int) -> TableProfile | None:
    """A table to ask about: one that has parents, where some are to be joined."""
    joined = scene.subject(lambda t: scene.atlas.up[t.name]) if hops and scene.target is None else None
    return joined or scene.subject(lambda t: True)


def _about_parents(
    scene: Scene, frame: Frame, ends: list[str], wanted: int, named: bool
) -> tuple[list[Predicate], list[Column]]:
    """A condition on each of `ends`, or its name to be shown: a joined table that nothing speaks of is no join.

    Where the rows have no name of their own, and more than one parent, the first is shown and the others tested.
    """
    filters: list[Predicate] = []
    shown: list[Column] = []
    for place, end in enumerate(ends):
        tested = place > 0 if len(ends) > 1 and not named else scene.chance(0.65)
        found = on_parent(scene, frame, end) if tested and (wanted or scene.chance(0.7)) else []
        filters += found
        if not found:
            shown += answer(frame, end) if not shown and scene.chance(0.4) else frame.labels(end)[:1]
    return filters, shown


def _told_apart(scene: Scene, frame: Frame, shown: list[Column], where: Predicate | None) -> tuple[list[Column], bool]:
    """What is shown, and whether it is asked for different values. Rows that look alike are told by a name besides."""
    again = repeats(frame, shown, where)
    if _distinct(scene, frame, shown, where, again):
        return shown, True
    if not again:
        return shown, False
    names = [Column(frame.root, c.name) for c in scene.atlas.labels(frame.table(frame.root).name)[:1]]
    if not names or names[0] in shown or len(shown) > 2:
        return shown, True
    return [*names, *shown], False


def _distinct(scene: Scene, frame: Frame, shown: list[Column], filtered: Predicate | None, again: bool) -> bool:
    """Whether to ask for different values: nearly always where the answer repeats itself, as `again` says."""
    if any(c.source == frame.root and frame.profile(c).unique and frame.never_null(c) for c in shown):
        return False
    if len(shown) > 1:  # nobody asks for each price that goes with each colour
        measured = any(frame.profile(c).role == "measure" for c in shown)
        return not measured and scene.chance(0.5 if again else 0.05)
    if again:
        return scene.chance(0.85)
    return scene.chance(0.5 if filtered is None else 0.28)


def known(tests: Sequence[Predicate], column: Column) -> list[Predicate]:
    """That a column has a value, where no test says so already: among different values NULL is none."""
    tested = any(n == column for test in tests for n in walk(test))
    return [] if tested else [IsNull(column, negated=True)]


def count(scene: Scene) -> Draft | None:
    """How many rows, or how many different values."""
    plain = scene.chance(0.25)
    hops = 0 if plain else scene.number(scene.prior.hops)
    table = _subject(scene, hops)
    if table is None:
        return None
    frame = scene.frame(table)
    where = None if plain else gather(scene, frame, scene.number(scene.prior.filters), hops)
    if unused(frame, spoken(where)):
        return None
    what: Expression = Aggregate("count")
    if scene.chance(0.33) or (scene.target is not None and scene.chance(0.5)):
        several = [
            c
            for c in scene.atlas.columns(table.name)
            if 1 < c.distinct < 0.8 * table.rows
            and c.role != "boolean"
            and not scene.atlas.refers_to_version(table.name, c.name)
            and (
                c.role in ("category", "text", "year")
                or (table.versions is not None and c.name == table.versions.key)
                or (table.name, c.name) == scene.target
            )
            and not of_several_tables(table, c)
        ]
        column = scene.column(table.name, several)
        # The different parents of rows of one parent are that one.
        taken = fixed(where) | frame.keys_up
        key = Column(frame.root, column.name) if column is not None else None
        if key is not None and key not in taken and not any(says_again(frame, key, other) for other in taken):
            what = Aggregate("count", key, distinct=True)
    return Draft(frame.query(select=outputs([what]), where=where))


def aggregate(scene: Scene) -> Draft | None:
    """One to three aggregates over the rows that meet the conditions."""
    table = scene.subject(lambda t: scene.atlas.ordered(t.name))
    if table is None:
        return None
    frame = scene.frame(table)
    column = scene.column(table.name, scene.atlas.ordered(table.name))
    if column is None:
        return None
    skip = (Column(frame.root, column.name),)
    where = gather(scene, frame, scene.number(scene.prior.filters), scene.number((0.66, 0.27, 0.07)), skip)
    if unused(frame, spoken(where)):
        return None
    chosen: list[Expression] = [summary(frame, frame.root, column)]
    lot = scene.rng.random()
    if lot < 0.14:
        key = Column(frame.root, column.name)
        chosen = [Aggregate("max", key), Aggregate("min", key)]
        if scene.chance(0.5):
            chosen.reverse()
        if column.role == "measure" and scene.chance(0.4):
            chosen.insert(scene.pick((0, 2)), Aggregate("avg", key))
    elif lot < 0.22:
        other = scene.pick(scene.atlas.ordered(table.name))
        if other is not column:
            chosen.append(summary(frame, frame.root, other))
    elif lot < 0.27:
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
    key = Column(frame.root, column.name)
    named = [e for e in scene.atlas.groups_by(table.name) if e.whole]
    if named and scene.chance(0.4):
        # Whose it is: the parent of the row that comes first.
        parent = frame.up(frame.root, scene.pick(named))
        shown = answer(frame, parent)[:2]
        return Draft(frame.query(select=outputs(shown), order_by=(OrderKey(key, descending),), limit=k), "total_order")
    where = gather(scene, frame, scene.number((0.83, 0.16, 0.01)), scene.number((0.75, 0.25)), (key,))
    if unused(frame, spoken(where)):
        return None
    lot = scene.rng.random()
    shown = [c for c in frame.labels(frame.root, whole=True) if c != key] if lot >= 0.2 else []
    if not shown:
        shown = details(frame, frame.root, scene.number(scene.prior.projections, 1), [key, *fixed(where)]) or [key]
    elif lot < 0.32:
        shown = [*shown, key]
    elif lot < 0.42:
        shown = [*shown, *details(frame, frame.root, 1, [key, *shown, *fixed(where)])]
    query = frame.query(select=outputs(shown), where=where, order_by=(OrderKey(key, descending),), limit=k)
    return Draft(query, "total_order")
