"""Shapes with window functions: top_per_group, window."""

from __future__ import annotations

from agro_data.intent.sampling.atlas import near_unique
from agro_data.intent.sampling.choose import adds_up, outputs, rankable
from agro_data.intent.sampling.filters import conditions
from agro_data.intent.sampling.scene import Draft, Frame, Scene
from agro_data.intent.tree import Arithmetic, Column, Expression, Keep, OrderKey, Output, Value, Window, conjunction
from agro_data.profiling.profile import ColumnProfile, TableProfile


def _groups(scene: Scene, table: TableProfile) -> list[str]:
    return [c.name for c in scene.atlas.kinds(table.name) if table.never_null(c.name) and table.rows / c.distinct >= 2]


def _graded(table: TableProfile, column: ColumnProfile) -> bool:
    """Whether a ranking by the column tells rows apart, rather than putting half of them on the first place."""
    return column.distinct >= min(20, 0.4 * table.rows)


def top_per_group(scene: Scene) -> Draft | None:
    """The best k rows of each category, or of each parent; rows that tie with the k-th are kept."""
    table = scene.subject(
        lambda t: t.rows > 5 and scene.atlas.measures(t.name) and (_groups(scene, t) or scene.atlas.up[t.name])
    )
    if table is None:
        return None
    measures = [c for c in scene.atlas.ordered(table.name) if table.never_null(c.name) and _graded(table, c)]
    column = scene.column(table.name, measures)
    if column is None:
        return None
    frame = scene.frame(table)
    parents = scene.atlas.groups_by(table.name)
    own = _groups(scene, table)
    group: list[Column]
    partition: tuple[Expression, ...]
    if parents and (not own or scene.chance(0.4)):
        edge = scene.pick(parents)
        parent = frame.up(frame.root, edge)
        group = frame.labels(parent)[:1]
        alone = scene.atlas.tells_apart(edge.parent, group[0].name)
        partition = tuple(group) if alone else tuple(Column(parent, c) for c in edge.parent_columns)
    elif own:
        group = [Column(frame.root, scene.pick(own))]
        partition = tuple(group)
    else:
        return None
    key = Column(frame.root, column.name)
    shown: list[Expression] = [
        *group,
        *(c for c in frame.labels(frame.root, whole=True) if c != key and c not in group),
    ]
    if len(shown) == len(group) or scene.chance(0.5):
        shown.append(key)
    k = scene.pick((1, 2, 3), (0.55, 0.2, 0.25))
    keep = Keep(partition, (OrderKey(key, scene.chance(0.75)),), k, ties=True)
    return Draft(frame.query(select=outputs(shown), keep=keep), "include_ties")


def window(scene: Scene) -> Draft | None:
    """A figure beside each row: its rank, a running total, its share, its distance from the group's average."""
    table = scene.subject(lambda t: t.rows > 3 and scene.atlas.measures(t.name))
    if table is None:
        return None
    column = scene.column(
        table.name, [c for c in scene.atlas.measures(table.name) if table.never_null(c.name) and _graded(table, c)]
    )
    if column is None:
        return None
    frame = scene.frame(table)
    key = Column(frame.root, column.name)
    names: list[Expression] = [c for c in frame.labels(frame.root, whole=True) if c != key]
    if not names:
        return None
    kind = scene.pick(("rank", "running", "share", "distance", "previous"), (3, 2, 2, 2, 1))
    filters = conditions(frame, 1, [frame.root], [key], broad=True) if scene.chance(0.2) else []
    where = conjunction(filters)
    groups = [Column(frame.root, n) for n in _groups(scene, table)]
    used = filters
    groups = [g for g in groups if all(g != getattr(f, "left", None) for f in used) and g not in names]
    if kind == "rank":
        partition = (scene.pick(groups),) if groups and scene.chance(0.45) else ()
        function = "rank" if scene.chance(0.75) else "dense_rank"
        figure: Expression = Window(function, None, partition, (OrderKey(key, scene.chance(0.8)),))  # type: ignore[arg-type]
        return Draft(frame.query(select=(*outputs([*partition, *names]), Output(figure, "ranking")), where=where))
    if kind in ("running", "previous"):
        return _in_time(scene, frame, table, key, names, kind)
    if kind == "share":
        if not adds_up(column) or not isinstance(column.minimum, int | float) or column.minimum < 0:
            return None
        partition = (scene.pick(groups),) if groups and scene.chance(0.35) else ()
        figure = Arithmetic("/", Arithmetic("*", Value(100.0), key), Window("sum", key, partition))
        return Draft(frame.query(select=(*outputs([*partition, *names]), Output(figure, "percentage")), where=where))
    if not groups:
        return None
    group = scene.pick(groups)
    figure = Arithmetic("-", key, Window("avg", key, (group,)))
    return Draft(frame.query(select=(*outputs([*names, group]), Output(figure, "difference")), where=where))


def _in_time(
    scene: Scene, frame: Frame, table: TableProfile, key: Column, names: list[Expression], kind: str
) -> Draft | None:
    """Running total, or the value before, along a date or year that no two rows share."""
    times = [
        c
        for c in rankable(frame, frame.root)
        if c.role in ("date", "year") and near_unique(table, c) and c.unique and c.name != key.name
    ]
    if not times:
        return None
    time = Column(frame.root, scene.pick(times).name)
    order = (OrderKey(time),)
    shown = [time, key] if scene.chance(0.7) else [time, *(n for n in names if n != time), key]
    if kind == "running":
        if not adds_up(frame.profile(key)):
            return None
        figure: Expression = Window("sum", key, (), order)
        return Draft(
            frame.query(select=(*outputs(shown), Output(figure, "running_total")), order_by=order),
            "total_order",
        )
    figure = Window("lag", key, (), order)
    return Draft(frame.query(select=(*outputs(shown), Output(figure, "previous_value")), order_by=order), "total_order")
