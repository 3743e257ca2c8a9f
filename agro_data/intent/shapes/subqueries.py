"""Shapes with a nested query: extreme, compare_average, related_exists, related_none."""

from __future__ import annotations

from agro_data.intent.sampling.atlas import Edge
from agro_data.intent.sampling.choose import answer, details, fixed, outputs, repeats
from agro_data.intent.sampling.filters import conditions
from agro_data.intent.sampling.scene import Draft, Frame, Scene
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Exists,
    Expression,
    Output,
    Predicate,
    Query,
    Scalar,
    Source,
    Value,
    conjunction,
)
from agro_data.profiling.profile import TableProfile


def _over_all(scene: Scene, table: TableProfile, aggregate: str, column: str) -> Scalar:
    alias = scene.alias()
    value = Aggregate("avg" if aggregate == "avg" else ("max" if aggregate == "max" else "min"), Column(alias, column))
    return Scalar(Query((Source(alias, table.name),), (Output(value),)))


def _names(scene: Scene, frame: Frame, key: Column) -> list[Expression]:
    shown: list[Expression] = [c for c in frame.labels(frame.root, whole=True) if c != key]
    if not shown:
        shown = [*details(frame, frame.root, 1, [key])]
    if scene.chance(0.25):
        shown.append(key)
    elif scene.chance(0.15):
        shown += details(frame, frame.root, 1, [key, *(c for c in shown if isinstance(c, Column))])
    return shown


def extreme(scene: Scene) -> Draft | None:
    """All rows that hold the maximum or minimum; ties are part of the answer."""
    table = scene.subject(lambda t: t.rows > 2 and scene.atlas.ordered(t.name))
    if table is None:
        return None
    columns = [c for c in scene.atlas.ordered(table.name) if c.distinct >= min(10, 0.3 * table.rows)]
    column = scene.column(table.name, columns)
    if column is None:
        return None
    frame = scene.frame(table)
    key = Column(frame.root, column.name)
    side = scene.pick(("max", "min"), (0.65, 0.35))
    test = Comparison("=", key, _over_all(scene, table, side, column.name))
    if scene.chance(0.15):
        return Draft(frame.query(select=outputs([Aggregate("count")]), where=test), "include_ties")
    shown = _names(scene, frame, key)
    return Draft(frame.query(select=outputs(shown), where=test), "include_ties") if shown else None


def compare_average(scene: Scene) -> Draft | None:
    """Rows above or below the average of all rows."""
    table = scene.subject(lambda t: t.rows > 3 and scene.atlas.measures(t.name))
    if table is None:
        return None
    column = scene.column(table.name, scene.atlas.measures(table.name))
    if column is None:
        return None
    frame = scene.frame(table)
    key = Column(frame.root, column.name)
    test: Predicate = Comparison(scene.pick((">", "<"), (0.65, 0.35)), key, _over_all(scene, table, "avg", column.name))
    parts = [test]
    if scene.chance(0.15):
        parts = [*conditions(frame, 1, [frame.root], [key], broad=True), test]
    where = conjunction(parts)
    if scene.chance(0.3):
        return Draft(frame.query(select=outputs([Aggregate("count")]), where=where))
    shown = [e for e in _names(scene, frame, key) if e not in fixed(where)]
    return Draft(frame.query(select=outputs(shown), where=where)) if shown else None


def _related(scene: Scene, negated: bool) -> Draft | None:
    def ways(table: TableProfile) -> list[Edge]:
        # Other versions of a thing may have what its current one has not.
        return [e for e in scene.atlas.down[table.name] if e.child != e.parent and table.versions is None]

    table = scene.subject(ways)
    if table is None:
        return None
    edge = scene.pick(ways(table))
    child = scene.atlas.by_name[edge.child]
    samples = scene.atlas.rows(edge.child)
    inner = Frame(scene, edge.child, scene.pick(samples) if samples else None)
    filters: list[Predicate] = []
    # Presence of any child at all is rarely worth asking; absence is.
    columns = edge.child_columns
    everywhere = len(columns) == 1 and child.column(columns[0]).distinct >= table.rows
    if not negated or everywhere or scene.chance(0.2):
        where_from = [inner.root]
        parents = [e for e in scene.atlas.up[child.name] if e.parent not in (table.name, child.name)]
        if parents and scene.chance(0.35):
            where_from = [inner.up(inner.root, scene.pick(parents))]
        link_columns = [Column(inner.root, c) for c in edge.child_columns]
        filters = conditions(inner, 1, where_from, link_columns, broad=not inner.joins)
        if not filters and (inner.joins or everywhere or scene.chance(0.5)):
            return None
    row = inner.rows[inner.root]
    mother = scene.atlas.parent_row(edge, row) if not negated else None
    frame = Frame(scene, table.name, mother)
    link = tuple((Column(frame.root, p), Column(inner.root, c)) for c, p in edge.pairs_up)
    body = Query(tuple(inner.sources), (Output(Value(1)),), tuple(inner.joins), conjunction(filters))
    tests: list[Predicate] = [Exists(body, link, negated)]
    if scene.chance(0.12):
        tests = [*conditions(frame, 1, [frame.root]), *tests]
    where = conjunction(tests)
    if scene.chance(0.25):
        return Draft(frame.query(select=outputs([Aggregate("count")]), where=where))
    key = scene.atlas.key(table.name)
    shown = answer(frame, frame.root, fixed(where))
    if negated and len(key) == 1 and scene.chance(0.15):
        shown = [Column(frame.root, key[0])]
    if not shown or repeats(frame, shown, where):
        return None
    return Draft(frame.query(select=outputs(shown), where=where))


def related_exists(scene: Scene) -> Draft | None:
    """Subjects that have at least one related row, mostly one that meets a condition."""
    return _related(scene, negated=False)


def related_none(scene: Scene) -> Draft | None:
    """Subjects without a related row, or without one that meets a condition."""
    return _related(scene, negated=True)
