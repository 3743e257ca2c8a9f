"""Shapes over groups of rows: group, having, superlative_group, date_group, compare_groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from agro_data.databases.types import Cell
from agro_data.intent.sampling.atlas import has_gaps, is_number
from agro_data.intent.sampling.choose import adds_up, details, outputs, summary
from agro_data.intent.sampling.filters import conditions, says_again
from agro_data.intent.sampling.scene import Draft, Frame, Scene
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparator,
    Comparison,
    Cte,
    DateField,
    DatePart,
    Expression,
    IsNull,
    OrderKey,
    Output,
    Predicate,
    Query,
    Scalar,
    Source,
    Value,
    conjunction,
)
from agro_data.profiling.profile import TableProfile


@dataclass
class Grouping:
    """Rows of `frame` by `keys`; `shown` are those of the keys that name a group. `sizes` are known group sizes."""

    frame: Frame
    keys: tuple[Expression, ...]
    shown: tuple[Column, ...]
    sizes: tuple[int, ...]
    rows: str  # alias of the rows that are grouped

    @property
    def kept(self) -> bool:
        """Whether parents without rows are groups too, of no row."""
        return any(j.kind == "left" for j in self.frame.joins)

    @property
    def gaps(self) -> bool:
        """Whether what is grouped by may have no row: it is no group of the answer, and yet has the fewest rows.

        That each parent on the source has a child says nothing of other instances.
        """
        return bool(self.frame.joins) and not self.kept

    @property
    def known(self) -> list[Predicate]:
        """Conditions that rows have a value in the columns they are grouped by: if some have none, NULL is no group."""
        unsure = self.shown if self.shown == self.keys else ()  # a parent without a name is one, by its key
        return [IsNull(key, negated=True) for key in unsure if not self.frame.never_null(key)]

    @property
    def table(self) -> TableProfile:
        return self.frame.table(self.rows)


def grouping(scene: Scene, empty_too: bool = False) -> Grouping | None:
    """Rows by a category of their own, by their parent, or by a category of their parent.

    With `empty_too` parents without rows may be kept (left join); the parent is then the subject.
    """
    table = scene.subject(lambda t: t.rows > 3 and _parts(scene, t))
    if table is None:
        return None
    categories, parents = scene.atlas.categories(table.name), scene.atlas.groups_by(table.name)
    targeted = scene.target is not None and any(scene.target == (table.name, c.name) for c in categories)
    kinds = categories if targeted else scene.atlas.kinds(table.name)
    often = 0.1 if all(c.role == "boolean" for c in kinds) else 0.4
    if categories and (targeted or not parents or scene.chance(often)):
        frame = scene.frame(table)
        columns = [c for c in kinds if c.distinct <= max(200, table.rows // 2)]
        column = scene.column(table.name, columns if targeted else scene.atlas.whole(table.name, columns))
        if column is None:
            return None
        key = Column(frame.root, column.name)
        return Grouping(frame, (key,), (key,), tuple(n for _, n in column.common), frame.root)
    if not parents:
        return None
    edge = scene.pick([e for e in parents if scene.atlas.is_named(e.parent)] or parents)
    sizes = _sizes(scene, table, edge.child_columns)
    alone = sum(other.parent == edge.parent for other in parents) == 1  # which of two keys nobody says of no rows
    if empty_too and alone and scene.chance(0.15):
        frame = scene.frame(edge.parent)
        rows = frame.down(frame.root, edge, left=True)
        keys, shown = _parent_keys(scene, frame, frame.root)
        return Grouping(frame, keys, shown, sizes, rows)
    frame = scene.frame(table)
    parent = frame.up(frame.root, edge)
    own = scene.atlas.whole(edge.parent, [c for c in scene.atlas.kinds(edge.parent) if c.distinct <= 200])
    if own and scene.chance(0.3):
        key = Column(parent, scene.pick(own).name)
        return Grouping(frame, (key,), (key,), (), frame.root)
    keys, shown = _parent_keys(scene, frame, parent)
    return Grouping(frame, keys, shown, sizes, frame.root)


def _parts(scene: Scene, table: TableProfile) -> bool:
    """Whether rows fall into groups of which people ask; into those of a flag only where it is the target."""
    kinds = scene.atlas.kinds(table.name)
    target = scene.target is not None and scene.target[0] == table.name
    return any(target or c.role != "boolean" for c in kinds) or bool(scene.atlas.groups_by(table.name))


def least_is_known(found: Grouping, value: Aggregate, narrowed: bool) -> bool:
    """Whether the group with the least is one of the groups, and has a figure: none are left out of what is counted.

    If no row of a group has the quantity, its figure is NULL, which SQLite puts before the smallest.
    """
    argument = value.argument if value.function != "count" else None
    if isinstance(argument, Column) and not found.frame.never_null(argument):
        return False
    return value.function not in ("count", "sum") or not (found.gaps or narrowed)


def _parent_keys(scene: Scene, frame: Frame, parent: str) -> tuple[tuple[Expression, ...], tuple[Column, ...]]:
    """Grouping by a parent: its label when that is a key, else its key and label."""
    if (versions := frame.table(parent).versions) is not None:
        key = Column(parent, versions.key)  # a thing is one group, whatever its versions are called
        return (key,), (key,)
    shown = tuple(frame.labels(parent))
    own = scene.atlas.key(frame.table(parent).name)
    if len(own) == 1 and Column(parent, own[0]) not in shown and scene.chance(0.25):
        shown = (Column(parent, own[0]), *shown)  # its number beside its name, as people ask where names repeat
    elif own and scene.chance(0.2):
        lacking = [Column(parent, c.name) for c in frame.table(parent).columns if has_gaps(frame.table(parent), c)]
        further = details(frame, parent, 1, [*shown, *(Column(parent, c) for c in own), *lacking])
        if further:
            shown = (*shown, *further)
            return tuple(dict.fromkeys((*(Column(parent, c) for c in own), *shown))), shown
    return told_apart(frame, parent, shown), shown


def told_apart(frame: Frame, parent: str, shown: tuple[Column, ...]) -> tuple[Column, ...]:
    """`shown` of a parent where that holds a key, else its key and `shown`."""
    if any(frame.atlas.tells_apart(frame.table(c.source).name, c.name) for c in shown):
        return shown
    own = frame.atlas.key(frame.table(parent).name)
    return tuple(dict.fromkeys((*(Column(parent, c) for c in own), *shown)))


def _sizes(scene: Scene, table: TableProfile, columns: tuple[str, ...]) -> tuple[int, ...]:
    """Group sizes by a foreign key: exact from common values, else scaled from the sample rows."""
    if len(columns) == 1:
        return tuple(n for _, n in table.column(columns[0]).common)
    counts: Counter[tuple[Cell, ...]] = Counter(tuple(r[c] for c in columns) for r in scene.atlas.rows(table.name))
    return tuple(sorted(counts.values(), reverse=True))


def figure(scene: Scene, group: Grouping, steady: bool = False) -> Aggregate:
    """The figure of each group: the number of rows, or a summary of a quantity.

    `steady` leaves out minima, maxima and counts of different values: groups often share them, which makes ties.
    """
    frame = group.frame
    left = group.kept
    used = {k for k in group.keys if isinstance(k, Column)}
    columns = [c for c in scene.atlas.ordered(group.table.name) if Column(group.rows, c.name) not in used]
    if columns and not left and scene.chance(0.1 if steady else 0.33):
        column = scene.column(group.table.name, columns)
        if column is not None and not (steady and column.role != "measure"):
            found = summary(frame, group.rows, column)
            return replace(found, function="avg") if steady and found.function in ("min", "max") else found
    if left:
        # A column that is only unique and full on the source may have NULL on instances; what is joined by has none.
        key = scene.atlas.key(group.table.name)
        if not key or key != group.table.primary_key:
            key = tuple(b for j in frame.joins for _, b in j.columns)
        return Aggregate("count", Column(group.rows, key[0]))
    if not steady and scene.chance(0.08):
        kinds = scene.atlas.categories(group.table.name)
        other = [Column(group.rows, c.name) for c in kinds if c.role != "boolean"]
        several = [c for c in other if c not in used and not any(says_again(frame, c, key) for key in used)]
        if several:
            return Aggregate("count", scene.pick(several), distinct=True)
    return Aggregate("count")


def _narrow(scene: Scene, group: Grouping, share: float, value: Aggregate) -> list[Predicate]:
    """At times a condition on the rows, of another column than those grouped by or summed up."""
    if not scene.chance(share) or group.kept:
        return []
    used = [k for k in (*group.keys, value.argument) if isinstance(k, Column)]
    return conditions(group.frame, 1, [group.rows], used, broad=True)


def group(scene: Scene) -> Draft | None:
    """One or two figures for each group, at times in order."""
    found = grouping(scene, empty_too=True)
    if found is None:
        return None
    value = figure(scene, found)
    narrow = _narrow(scene, found, 0.1, value)
    shown: list[Expression] = [*found.shown, value]
    if scene.chance(0.08):
        shown.append(figure(scene, found))
    order: tuple[OrderKey, ...] = ()
    if scene.chance(0.08):
        first = scene.chance(0.6)
        order = (
            (OrderKey(value, True), *(OrderKey(c) for c in found.keys))
            if first
            else tuple(OrderKey(c) for c in found.keys)
        )
        if any(k not in found.shown for k in found.keys):
            order = ()
    where = conjunction([*found.known, *narrow])
    query = found.frame.query(select=outputs(shown), where=where, group_by=found.keys, order_by=order)
    return Draft(query, "total_order" if order else "none")


def having(scene: Scene) -> Draft | None:
    """The groups whose size or average meets a bound taken from real groups."""
    found = grouping(scene, empty_too=True)
    if found is None:
        return None
    value = figure(scene, found)
    narrow = _narrow(scene, found, 0.07, value)
    bound = _bound(scene, found, value, narrowed=bool(narrow))
    if bound is None:
        return None
    shown: list[Expression] = [*found.shown]
    if scene.chance(0.12) and bound.operator != "=":
        shown.append(value)
    where = conjunction([*found.known, *narrow])
    return Draft(found.frame.query(select=outputs(shown), where=where, group_by=found.keys, having=bound))


def _bound(scene: Scene, found: Grouping, value: Aggregate, narrowed: bool) -> Comparison | None:
    if value.function == "count":
        if value.distinct or len(found.sizes) < 2 or max(found.sizes) < 2:
            size = scene.pick((1, 2)) if not found.kept and (not found.sizes or max(found.sizes) > 2) else None
            return Comparison(">", value, Value(size)) if size else None
        if narrowed:
            return Comparison(">=", value, Value(2)) if scene.chance(0.5) else Comparison(">", value, Value(1))
        # Sizes of real groups, as far as they are numbers that people name.
        sizes = sorted({n for n in found.sizes if n <= 100})
        if not sizes or sizes[-1] < 2:
            return None
        size = scene.pick(sizes)
        # Parents without rows are below a bound, never above: they are kept for that, or there is no such bound.
        below, other = float(not found.gaps), float(not found.kept)
        operator: Comparator = scene.pick(
            (">", ">=", "<", "=", "<="), (4 * other, 3 * other, 1.5 * below, 1.5 * other, 0.5 * below)
        )
        if operator == ">":
            size = max(1, size - 1)
        elif operator == ">=":
            size = min(max(2, size), sizes[-1])
        elif operator == "<":
            size = max(sizes[0] + 1, size)
        return Comparison(operator, value, Value(size))
    if not isinstance(value.argument, Column) or value.function == "sum":
        return None
    profile = found.frame.profile(value.argument)
    middle = [q for q in profile.quantiles[4:7] if isinstance(q, int | float) and not isinstance(q, bool)]
    if not middle or not is_number(profile) or profile.role == "year":
        return None
    number = scene.pick(middle)
    rounded = round(number) if abs(number) >= 10 else round(number, 1)
    return Comparison(scene.pick((">", "<")), value, Value(rounded))


def superlative_group(scene: Scene) -> Draft | None:
    """The group, or the k groups, with the largest or smallest figure."""
    found = grouping(scene)
    if found is None:
        return None
    value = figure(scene, found, steady=True)
    narrow = _narrow(scene, found, 0.1, value)
    descending = scene.chance(0.8) or not least_is_known(found, value, bool(narrow))
    k = scene.pick((1, 3, 5), (0.92, 0.05, 0.03))
    sizes = sorted(found.sizes, reverse=descending)
    if len(sizes) <= k and found.sizes:
        return None
    if value == Aggregate("count") and not narrow and sizes and sizes[k - 1] == sizes[k]:
        return None
    shown: list[Expression] = [*found.shown]
    if scene.chance(0.1):
        shown.append(value)
    query = found.frame.query(
        select=outputs(shown),
        where=conjunction([*found.known, *narrow]),
        group_by=found.keys,
        order_by=(OrderKey(value, descending),),
        limit=k,
    )
    return Draft(query, "total_order")


def date_group(scene: Scene) -> Draft | None:
    """A figure for each year, month or weekday of a date."""
    table = scene.subject(lambda t: t.rows > 3 and scene.atlas.dates(t.name))
    if table is None:
        return None
    column = scene.column(table.name, scene.atlas.dates(table.name))
    if column is None:
        return None
    low, high = str(column.minimum), str(column.maximum)
    parts: list[tuple[DateField, float]] = []
    if low[:4] != high[:4]:
        parts.append(("year", 4))
    if low[:7] != high[:7]:
        parts += [("year_month", 2 if low[:4] == high[:4] else 1), ("month", 1)]
    if low[:10] != high[:10]:
        parts.append(("weekday", 1))
    if not parts:
        return None
    frame = scene.frame(table)
    part = DatePart(scene.pick([p for p, _ in parts], [w for _, w in parts]), Column(frame.root, column.name))
    known: list[Predicate] = []
    if not table.never_null(column.name):
        known.append(IsNull(part.argument, negated=True))
    if scene.chance(0.2):
        known += conditions(frame, 1, [frame.root], [Column(frame.root, column.name)], broad=True)
    value: Expression = Aggregate("count")
    sums = scene.atlas.measures(table.name)
    if sums and scene.chance(0.4):
        chosen = scene.pick(sums)
        value = Aggregate("sum" if adds_up(chosen) and scene.chance(0.6) else "avg", Column(frame.root, chosen.name))
    order: tuple[OrderKey, ...] = (OrderKey(part),) if part.part != "weekday" and scene.chance(0.35) else ()
    query = frame.query(select=outputs([part, value]), where=conjunction(known), group_by=(part,), order_by=order)
    return Draft(query, "total_order" if order else "none")


def compare_groups(scene: Scene) -> Draft | None:
    """The groups whose figure is above or below the average over all groups."""
    found = grouping(scene)
    if found is None or not found.keys:
        return None
    value = figure(scene, found, steady=True)
    names = _names(found)
    inner_outputs = (
        *(Output(k, n) for k, n in zip(found.keys, names, strict=True)),
        Output(value, _figure_name(value)),
    )
    where = conjunction(found.known)
    cte = Cte(_cte_name(scene, found), found.frame.query(select=inner_outputs, where=where, group_by=found.keys))
    outer, again = scene.alias(), scene.alias()
    name = _figure_name(value)
    average = Query((Source(again, cte.name),), (Output(Aggregate("avg", Column(again, name))),))
    select = [Output(Column(outer, n)) for k, n in zip(found.keys, names, strict=True) if k in found.shown]
    if scene.chance(0.4):
        select.append(Output(Column(outer, name)))
    query = Query(
        (Source(outer, cte.name),),
        tuple(select),
        where=Comparison(
            scene.pick((">", "<"), (3, 1 if least_is_known(found, value, False) else 0)),
            Column(outer, name),
            Scalar(average),
        ),
        ctes=(cte,),
    )
    return Draft(query)


def _names(found: Grouping) -> list[str]:
    """A name for each key of the CTE, none twice."""
    names: list[str] = []
    for key in found.keys:
        name = key.name if isinstance(key, Column) else "value"
        while name.lower() in {n.lower() for n in names}:
            name += "_2"
        names.append(name)
    return names


def _figure_name(value: Aggregate) -> str:
    if value.function == "count":
        return "total_count"
    column = value.argument.name if isinstance(value.argument, Column) else "value"
    return f"{'average' if value.function == 'avg' else 'total'}_{_snake(column)}"


def _cte_name(scene: Scene, found: Grouping) -> str:
    name = f"{_snake(found.table.singular)}_groups"
    while name in {t.lower() for t in scene.atlas.profile.by_name}:
        name += "_all"
    return name


def _snake(text: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "_" for c in text.lower()).strip("_")
    return kept or "value"
