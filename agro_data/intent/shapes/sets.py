"""Shapes that set rows against each other: set_operation, self_join."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agro_data.databases.types import Cell
from agro_data.intent.rename import rename_sources
from agro_data.intent.sampling.atlas import Edge, Row, has_gaps, has_order, is_number, near_unique, sayable
from agro_data.intent.sampling.choose import outputs
from agro_data.intent.sampling.filters import Maker, conditions
from agro_data.intent.sampling.holds import holds
from agro_data.intent.sampling.scene import Draft, Frame, Scene
from agro_data.intent.tree import Column, Comparison, Join, Predicate, Query, SetOperation, Value
from agro_data.profiling.profile import ColumnProfile, TableProfile

Operator = Literal["union", "intersect", "except"]
_BY_CHANCE = 0.15  # of the names of one kind of things that another kind has, too


def set_operation(scene: Scene) -> Draft | None:
    """Two lists of the same thing: from one table under two conditions, or from two tables."""
    operator: Operator = scene.pick(("intersect", "except", "union"), (0.52, 0.38, 0.1))
    if scene.chance(0.2):
        across = _across_tables(scene, operator)
        if across is not None:
            return across
    return _two_conditions(scene, operator)


def _two_conditions(scene: Scene, operator: Operator) -> Draft | None:
    """Values of a category (or names of parents) whose rows meet one condition and, or, but not another."""
    table = scene.subject(lambda t: t.rows > 3 and (_kinds(scene, t) or scene.atlas.up[t.name]))
    if table is None:
        return None
    parents = [e for e in scene.atlas.groups_by(table.name) if _identity(scene, e.parent, operator)]
    own = _kinds(scene, table)
    frame = scene.frame(table)
    if parents and (not own or scene.chance(0.5)):
        edge = scene.pick(parents)
        parent = frame.up(frame.root, edge)
        shown = [Column(parent, name) for name in _identity(scene, edge.parent, operator)]
        skip = [Column(frame.root, c) for c in edge.child_columns]
    elif own:
        column = scene.column(table.name, own)
        if column is None:
            return None
        shown = skip = [Column(frame.root, column.name)]
    else:
        return None
    tests = _contrast(scene, frame, operator, skip)
    if tests is None:
        return None
    if operator != "except" and repr(tests[1]) < repr(tests[0]):
        tests = (tests[1], tests[0])  # either way it is the same question
    left = frame.query(select=outputs(shown), where=tests[0])
    right = _again(scene, replace(left, where=tests[1]))
    if operator == "except" and scene.chance(0.6) and len(frame.sources) < 3:
        left = replace(left, where=None)  # all groups but those that have such a row
    return Draft(SetOperation(operator, left, right))


def _contrast(
    scene: Scene, frame: Frame, operator: Operator, group: list[Column]
) -> tuple[Predicate, Predicate] | None:
    """Two conditions on one column that set rows apart, drawn from two sample rows.

    The column is one of the rows' own, or what a parent that does not name the group is called by. But for a union
    the two rows are of one group (equal in the columns `group`), so that the lists overlap. None where the sample
    shows no pair that makes a difference.
    """
    table = frame.table(frame.root)
    rows = [r for r in scene.atlas.rows(table.name) if all(r[c.name] is not None for c in group)]
    pairs = [(row, row) for row in rows]
    alias = frame.root
    others = [e for e in scene.atlas.groups_by(table.name) if _other_parent(scene, frame, e, group)]
    if others and group[0].source == frame.root and len(frame.sources) > 1 and scene.chance(0.6):
        edge = scene.pick(others)
        alias = frame.up(frame.root, edge)
        column = _unique_label(scene, edge.parent)
        found = [(row, scene.atlas.parent_row(edge, row)) for row in rows]
        pairs = [(row, parent) for row, parent in found if parent is not None]
    else:
        own = [c for c in scene.atlas.columns(table.name) if _contrasts(scene, table, c, group)]
        column = scene.column(table.name, own)
    if column is None or len(pairs) < 2:
        return None
    key = Column(alias, column.name)
    for _ in range(8):
        one, here = scene.pick(pairs)
        same = [(r, p) for r, p in pairs if all(r[c.name] == one[c.name] for c in group)]
        tests = _pair(scene, operator, frame, key, here, scene.pick(pairs if operator == "union" else same)[1])
        for first, second in () if tests is None else (tests, tests[::-1]):
            if _telling(operator, first, second, pairs, group):
                return first, second
    return None


def _other_parent(scene: Scene, frame: Frame, edge: Edge, group: list[Column]) -> bool:
    """Whether `edge` leads to a parent by whose name rows of one group can be told apart."""
    apart = not set(edge.child_columns) & {c.name for c in group}
    return (
        apart and all(s.table != edge.parent for s in frame.sources) and _unique_label(scene, edge.parent) is not None
    )


def _pair(
    scene: Scene, operator: Operator, frame: Frame, key: Column, one: Row, other: Row
) -> tuple[Predicate, Predicate] | None:
    """A condition on `key` true of `one` and one true of `other` that no row meets together."""
    column = frame.profile(key)
    a, b = one[column.name], other[column.name]
    if a == b or not sayable(a) or not sayable(b):
        return None
    makers = [Maker(frame, key, here, plain=True) for here in (a, b)]
    if operator == "union" and column.role in ("measure", "year"):
        return None  # "above 5 or below 5" is everything
    exact = column.distinct <= 12 and scene.chance(0.15)
    if exact or not (column.role in ("measure", "year") and is_number(column)):
        return makers[0].equal(a), makers[1].equal(b)
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return None
    low, high = makers if a < b else makers[::-1]
    below, above = low.bound("<"), high.bound(">")
    if below is None or above is None or not _apart(below, above):
        return None
    return (above, below) if scene.chance(0.6) else (below, above)


def _telling(
    operator: Operator, first: Predicate, second: Predicate, pairs: list[tuple[Row, Row]], group: list[Column]
) -> bool:
    """Whether, in the sample, the operation gives something and the second list matters.

    `pairs` are rows that are grouped, each beside the row that is tested.
    """
    left, right = (
        {tuple(row[c.name] for c in group) for row, tested in pairs if holds(test, tested)} for test in (first, second)
    )
    if operator == "intersect":
        return bool(left & right) and bool(left - right) and bool(right - left)
    if operator == "except":
        everyone = {tuple(row[c.name] for c in group) for row, _ in pairs}
        return bool(left - right) and bool(left & right) and bool(everyone - left - right)
    return bool(left - right) and bool(right - left)


def _contrasts(scene: Scene, table: TableProfile, column: ColumnProfile, group: list[Column]) -> bool:
    if column.distinct < 2 or column.name in {c.name for c in group}:
        return False
    if scene.atlas.is_reference(table.name, column.name):
        return False
    if column.role in ("measure", "year"):
        return is_number(column)
    return column.role in ("category", "text") and column.distinct <= max(3, 0.6 * table.things)


def _apart(below: Comparison, above: Comparison) -> bool:
    """Whether no number is both below and above."""
    low, high = below.right, above.right
    return (
        isinstance(low, Value)
        and isinstance(high, Value)
        and isinstance(low.value, int | float)
        and isinstance(high.value, int | float)
        and low.value < high.value  # both sides of one bound are nearly all
    )


def _again(scene: Scene, query: Query) -> Query:
    """A copy of `query` with aliases of its own."""
    return rename_sources(query, {s.alias: scene.alias() for s in query.sources})


def _kinds(scene: Scene, table: TableProfile) -> tuple[ColumnProfile, ...]:
    """Categories that each row has, with enough values that two conditions can part them."""
    return tuple(
        c
        for c in scene.atlas.categories(table.name)
        if c.distinct >= 3 and c.role in ("category", "text") and table.never_null(c.name)
    )


def _identity(scene: Scene, table: str, operator: Operator) -> tuple[str, ...]:
    """The columns by which rows of `table` are set against each other: its key, and beside it its name, if it has one.

    Two albums of one title, each with one of the two songs, are no album with both. A name that is a key stands alone.
    Names also stand alone if each is asked for only once, whichever row has it.
    """
    if (versions := scene.atlas.by_name[table].versions) is not None:
        return (versions.key,)
    own, label, key = scene.atlas.by_name[table], _unique_label(scene, table), scene.atlas.key(table)
    named = label is not None and not has_gaps(own, label)
    if label is not None and named and (operator == "union" or scene.atlas.tells_apart(table, label.name)):
        return (label.name,)
    names = [c.name for c in scene.atlas.labels(table)[:2] if not has_gaps(own, c)]
    return tuple(dict.fromkeys((*key, *names))) if len(key) == 1 else ()


def _unique_label(scene: Scene, table: str) -> ColumnProfile | None:
    labels = scene.atlas.labels(table)
    own = scene.atlas.by_name[table]
    return labels[0] if len(labels) == 1 and near_unique(own, labels[0]) else None


def _across_tables(scene: Scene, operator: Operator) -> Draft | None:
    """The same kind of value held by two tables: cities of customers and of suppliers."""
    pairs: list[tuple[TableProfile, ColumnProfile, TableProfile, ColumnProfile]] = []
    for i, one in enumerate(scene.atlas.asked):
        for other in scene.atlas.asked[i + 1 :]:
            for a in scene.atlas.columns(one.name):
                b = other.by_name.get(a.name)
                if b is None or not b.has_values or a.role not in ("category", "text") or b.role != a.role:
                    continue
                if has_gaps(one, a) or has_gaps(other, b) or min(a.distinct, b.distinct) < 2:
                    continue
                if a.kind != b.kind or a.name.lower() in ("name", "description", "type", "status", "title"):
                    continue
                if not _alike(scene, one, a, other, b):
                    continue  # names of products and of employees: one word for two kinds of things
                pairs.append((one, a, other, b))
    if not pairs:
        return None
    one, a, other, b = scene.pick(pairs)
    if operator == "except" and scene.chance(0.5):
        one, a, other, b = other, b, one, a
    left, right = scene.frame(one), scene.frame(other)
    return Draft(
        SetOperation(
            operator,
            left.query(select=outputs([Column(left.root, a.name)])),
            right.query(select=outputs([Column(right.root, b.name)])),
        )
    )


def _alike(scene: Scene, one: TableProfile, a: ColumnProfile, other: TableProfile, b: ColumnProfile) -> bool:
    """Whether two columns hold the same kind of thing: some values, and more than a few where they tell rows apart."""
    left, right = _held(scene, one, a), _held(scene, other, b)
    names = near_unique(one, a) and near_unique(other, b)
    return len(left & right) > (_BY_CHANCE * min(len(left), len(right)) if names else 0)


def _held(scene: Scene, table: TableProfile, column: ColumnProfile) -> set[Cell]:
    """Values that the column is known to hold."""
    return {v for v, _ in column.common} | {row[column.name] for row in scene.atlas.rows(table.name)}


def self_join(scene: Scene) -> Draft | None:
    """Rows beside their parent row of the same table, or pairs that share a category."""
    own = [e for e in scene.atlas.edges if e.child == e.parent]
    if own and scene.chance(0.7):
        edge = scene.pick(own)
        frame = scene.frame(edge.child)
        parent = _self_up(frame, edge.pairs_up)
        shown = [frame.labels(frame.root)[0], frame.labels(parent)[0]]
        where: Predicate | None = None
        measures = [c for c in scene.atlas.ordered(edge.child) if not scene.atlas.is_reference(edge.child, c.name)]
        if measures and scene.chance(0.35):
            column = scene.pick(measures).name
            where = Comparison(scene.pick((">", "<"), (2, 1)), Column(frame.root, column), Column(parent, column))
        elif scene.chance(0.3):
            found = conditions(frame, 1, [frame.root], [Column(frame.root, c) for c in edge.child_columns])
            where = found[0] if found else None
        return Draft(frame.query(select=outputs(shown), where=where))
    table = scene.subject(lambda t: 3 < t.rows <= 400 and scene.atlas.labels(t.name) and _pairable(scene, t))
    if table is None:
        return None
    column_ = scene.pick(_pairable(scene, table))
    labels = scene.atlas.labels(table.name)
    frame = scene.frame(table)
    less = labels[0].name
    if not (has_order(labels[0]) and labels[0].unique and table.never_null(less) and len(labels) == 1):
        return None
    peer = frame._add(table.name, None)
    frame.joins.append(Join(frame.root, peer, ((column_.name, column_.name),), "inner", "peer", less))
    shown = [Column(frame.root, less), Column(peer, less)]
    if scene.chance(0.3):
        shown.append(Column(frame.root, column_.name))
    return Draft(frame.query(select=outputs(shown)))


def _self_up(frame: Frame, pairs: tuple[tuple[str, str], ...]) -> str:
    parent = frame._add(frame.table(frame.root).name, None)
    frame.joins.append(Join(frame.root, parent, pairs, "inner", "up"))
    return parent


def _pairable(scene: Scene, table: TableProfile) -> list[ColumnProfile]:
    """Categories in which a row meets few others, so that pairs are worth listing."""
    return [c for c in scene.atlas.categories(table.name) if c.role != "boolean" and table.rows / c.distinct <= 12]
