"""Six kinds of variation of what a query asks, by rewriting its intent (Text2SQL-Flow, arXiv 2511.10192).

| kind | what changes | the meaning |
| --- | --- | --- |
| `values` | the values compared with columns | another |
| `structure` | how it is written: IN, EXISTS, JOIN, a set operation as a condition | the same |
| `logic` | which figure, which side of a bound, which end of an order | another |
| `complexity` | a condition, an order, a bound or a joined table more or less | another |
| `advanced` | the seed's subject asked with a window, a CTE, CASE or a share | another |
| `performance` | what an engine does with less work: ranges, lists, joins, no sorting of duplicates | the same |

A variation is an intent, so it has its question, or nothing: what no frame says (`read_back.frames`) is dropped here,
and what does not run, is empty or depends on chance is dropped by the gate like any other candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from agro_data.hashing import seed_of
from agro_data.intent.rename import transform
from agro_data.intent.rendering.renderings import renderings
from agro_data.intent.sampling.atlas import Atlas, is_number, sayable
from agro_data.intent.sampling.choose import adds_up
from agro_data.intent.sampling.plausibility import plausibility
from agro_data.intent.sampling.prior import Prior
from agro_data.intent.sampling.sample import canonical, settled, touched
from agro_data.intent.sampling.scene import Scene
from agro_data.intent.shapes import GENERATORS
from agro_data.intent.tree import (
    Aggregate,
    AggregateFunction,
    Between,
    Column,
    Comparator,
    Comparison,
    DatePart,
    Exists,
    InList,
    Intent,
    Join,
    Or,
    OrderKey,
    Output,
    Predicate,
    Query,
    Scalar,
    SetOperation,
    Shape,
    Source,
    Value,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import ColumnProfile
from agro_data.prompts.vary_query import Kind
from agro_data.synthesis.read_back.condition_reading import cuts_a_day
from agro_data.synthesis.read_back.frames import frame_of
from agro_data.synthesis.read_back.reading import intent_of

ADVANCED: tuple[Shape, ...] = (
    "top_per_group",
    "window",
    "compare_groups",
    "buckets",
    "share",
    "date_group",
    "self_join",
)
TRIES = 8  # drafts of an advanced shape
_OPPOSITE: dict[Comparator, Comparator] = {"=": "!=", "!=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_Tree = Query | SetOperation


def vary(intent: Intent, kind: Kind, atlas: Atlas, rng: Random, prior: Prior) -> Iterator[Intent]:
    """Variations of `intent` of one kind, each another query than it; none where the kind does not apply."""
    seen = {(canonical(intent.query), intent.rendering)}
    for tree, rendering in _MAKERS[kind](intent, atlas, rng):
        query = canonical(tree)
        frame = frame_of(query, atlas)
        if isinstance(frame, str):
            continue
        made = intent_of(query, frame, atlas, rng.getrandbits(32), rendering)
        if made.plausibility == 0 < intent.plausibility:
            continue  # nobody asks it
        if (made.query, made.rendering) not in seen:
            seen.add((made.query, made.rendering))
            yield made
    if kind == "advanced":
        yield from _advanced(intent, atlas, rng, prior)


Made = Iterator[tuple[_Tree, str | None]]  # a tree, and the rendering it is wanted in


def _values(intent: Intent, atlas: Atlas, rng: Random) -> Made:
    """Other values that the columns hold."""
    for _ in range(2):
        yield _with_other_values(intent.query, atlas, rng), intent.rendering


def _with_other_values(query: _Tree, atlas: Atlas, rng: Random) -> _Tree:
    """`query` with a value for each that a column has, none that it asks for, and none twice where there are enough.

    A value that stands in several places, as in a figure and in the order by it, is one.
    """
    taken: set[object] = {(node.column, node.value) for node in walk(query) if isinstance(node, Value)}
    drawn_for: dict[Value, Value] = {}

    def other(node: object) -> object:
        if isinstance(node, Value) and node not in drawn_for:
            drawn_for[node] = fresh_for(node)
        return drawn_for[node] if isinstance(node, Value) else node

    def fresh_for(node: Value) -> Value:
        if node.column is None:
            return node
        common = atlas.by_name[node.column[0]].by_name[node.column[1]].common
        known = [cell for cell, _ in common if sayable(cell) and _alike(cell, node.value)]
        fresh = [cell for cell in known if (node.column, cell) not in taken]
        if not fresh:
            return node
        drawn = rng.choice(fresh)
        taken.add((node.column, drawn))
        return replace(node, value=drawn)  # type: ignore[arg-type]  # bytes are not sayable

    return transform(query, other)


def _structure(intent: Intent, atlas: Atlas, rng: Random) -> Made:
    query = intent.query
    for rendering in dict.fromkeys(renderings(query, atlas.profile)):
        if rendering != intent.rendering:
            yield query, rendering
    if isinstance(query, SetOperation):
        if query.operator == "union":
            yield _one_list(query)
        return
    part = query.where
    if isinstance(part, Or) and len(part.parts) == 2 and _is_list(query) and query.distinct:
        left, right = (replace(query, where=side, distinct=False, order_by=()) for side in part.parts)
        yield SetOperation("union", left, right), None


def _logic(intent: Intent, atlas: Atlas, rng: Random) -> Made:
    query = intent.query
    if isinstance(query, SetOperation):
        for operator in ("union", "intersect", "except"):
            yield replace(query, operator=operator), None
        return
    for place, part in enumerate(conjuncts(query.where)):
        if isinstance(part, Comparison) and not isinstance(part.right, Column):
            turned = _OPPOSITE[part.operator]
            cut = isinstance(part.right, Value) and cuts_a_day(turned, part.right, atlas)
            if not cut and not (isinstance(part.right, Scalar) and part.operator == "="):
                yield _with_part(query, place, replace(part, operator=turned)), None
        elif isinstance(part, Exists):
            yield _with_part(query, place, replace(part, negated=not part.negated)), None
    for place, output in enumerate(query.select):
        if isinstance(output.expression, Aggregate):
            for figure in _figures(query, output.expression, atlas):
                yield _with_figure(query, place, figure), None
    if query.order_by and query.limit is not None:
        first = query.order_by[0]
        yield replace(query, order_by=(replace(first, descending=not first.descending),)), None
        yield replace(query, limit=3 if query.limit == 1 else 1), None
    if isinstance(query.having, Comparison):
        yield replace(query, having=replace(query.having, operator=_OPPOSITE[query.having.operator])), None


def _complexity(intent: Intent, atlas: Atlas, rng: Random) -> Made:
    query = intent.query
    if isinstance(query, SetOperation):
        yield replace(query.left, distinct=True), None
        return
    parts = conjuncts(query.where)
    for place in range(len(parts)):
        others = [part for other, part in enumerate(parts) if other != place]
        yield replace(query, where=conjunction(others)), None
    root, table = query.subject.alias, query.subject.table
    used = {name for owner, name in touched(query) if owner == table}
    columns = [column for column in atlas.categories(table) if column.name not in used]
    if columns:
        column = rng.choice(columns)
        values = [cell for cell, _ in column.common[:5] if sayable(cell)]
        if values:
            test = Comparison("=", Column(root, column.name), Value(rng.choice(values), (table, column.name)))  # type: ignore[arg-type]
            yield replace(query, where=conjunction([*parts, test])), None
    figures = [o.expression for o in query.select if isinstance(o.expression, Aggregate)]
    if query.group_by and figures and query.limit is None and query.having is None:
        yield replace(query, order_by=(OrderKey(figures[0], True),), limit=1), None
        if figures[0].function == "count":
            yield replace(query, having=Comparison(">", figures[0], Value(rng.choice((1, 2, 3)))), order_by=()), None
    if _is_list(query) and query.limit is None:
        ranks = [c for c in atlas.ordered(table) if atlas.by_name[table].never_null(c.name) and is_number(c)]
        if ranks and _leaves_none_out(query, atlas):
            key = OrderKey(Column(root, rng.choice(ranks).name), True)
            yield replace(query, order_by=(key,), limit=rng.choice((1, 1, 3, 5)), distinct=False), None
        yield from _joined(query, atlas, rng)


def _leaves_none_out(query: Query, atlas: Atlas) -> bool:
    """Whether parents that are only shown leave out no row, so that what is ranked is all that is spoken of."""
    tables = {source.alias: source.table for source in query.sources}
    whole = {(edge.child, edge.parent, edge.pairs_up) for edge in atlas.edges if edge.whole}
    asked = {node.source for node in walk(query.where) if isinstance(node, Column)}
    shown = [join for join in query.joins if join.direction == "up" and join.right not in asked]
    return all(join.kind == "left" or (tables[join.left], tables[join.right], join.columns) in whole for join in shown)


def _joined(query: Query, atlas: Atlas, rng: Random) -> Made:
    """The name of a parent beside what is shown."""
    edges = [
        edge for edge in atlas.groups_by(query.subject.table) if all(s.table != edge.parent for s in query.sources)
    ]
    if not edges:
        return
    edge = rng.choice(edges)
    alias = f"{query.subject.alias}_up"
    label = atlas.labels(edge.parent)[0]
    yield (
        replace(
            query,
            sources=(*query.sources, Source(alias, edge.parent)),
            joins=(*query.joins, Join(query.subject.alias, alias, edge.pairs_up, "inner", "up")),
            select=(*query.select, Output(Column(alias, label.name))),
        ),
        None,
    )


def _performance(intent: Intent, atlas: Atlas, rng: Random) -> Made:
    query = intent.query
    if isinstance(query, SetOperation):
        if query.operator == "union":
            yield _one_list(query)
        return
    options = renderings(query, atlas.profile)
    for rendering in ("exists", "join", "group_by_key"):
        if rendering in options and rendering != intent.rendering:
            yield query, rendering
    for place, part in enumerate(conjuncts(query.where)):
        values = _alternatives(part)
        if values is not None:
            yield _with_part(query, place, InList(values[0], values[1])), None
        dated = _within_year(part, query, atlas)
        if dated is not None:
            yield _with_part(query, place, dated), None
        if isinstance(part, Comparison) and isinstance(part.right, Scalar) and part.operator == "=":
            inner = part.right.query.select[0].expression
            if isinstance(inner, Aggregate) and inner.function in ("min", "max"):
                first = OrderKey(part.left, inner.function == "max")
                yield replace(query, where=None, order_by=(first,), limit=1), None
    if query.distinct and _tells_rows_apart(query, atlas):
        yield replace(query, distinct=False), None


_MAKERS: dict[Kind, Callable[[Intent, Atlas, Random], Made]] = {
    "values": _values,
    "structure": _structure,
    "logic": _logic,
    "complexity": _complexity,
    "advanced": lambda intent, atlas, rng: iter(()),
    "performance": _performance,
}


def _advanced(intent: Intent, atlas: Atlas, rng: Random, prior: Prior) -> Iterator[Intent]:
    """The grammar's own drafts of a shape with a window, a CTE or CASE, over a column that the seed is about."""
    targets = sorted(touched(intent.query) & set(atlas.targets))
    for shape in rng.sample(ADVANCED, len(ADVANCED)):
        for _ in range(TRIES):
            target = rng.choice(targets) if targets else None
            scene = Scene(atlas, prior, rng, target)
            draft = settled(scene, GENERATORS[shape](scene))
            if draft is None:
                continue
            query = canonical(draft.query)
            if target is not None and all(table != target[0] for table, _ in touched(query)):
                continue  # about something else
            options = renderings(query, atlas.profile)
            own = seed_of(intent.seed, repr(query)) % 2**48
            score = plausibility(query, atlas.profile)
            yield Intent(intent.db_id, shape, query, own, draft.tie_policy, score, options[own % len(options)])
            break


# --- parts of trees ------------------------------------------------------------------------------------------------


def _with_part(query: Query, place: int, part: Predicate) -> Query:
    parts = [part if at == place else old for at, old in enumerate(conjuncts(query.where))]
    return replace(query, where=conjunction(parts))


def _is_list(query: Query) -> bool:
    return not query.group_by and all(isinstance(o.expression, Column) for o in query.select)


def _one_list(operation: SetOperation) -> tuple[_Tree, str | None]:
    """A union of two lists of the same rows as one list of different values, under either condition."""
    left, right = operation.left, operation.right
    if len(left.sources) > 1 or len(right.sources) > 1 or left.where is None or right.where is None:
        return operation, None
    names = {right.subject.alias: left.subject.alias}
    other = transform(right.where, lambda n: Column(names[n.source], n.name) if isinstance(n, Column) else n)
    return replace(left, where=Or((left.where, other)), distinct=True), None


def _alternatives(part: Predicate) -> tuple[Column, tuple[Value, ...]] | None:
    """The column and values of a choice among equalities with one column."""
    if not isinstance(part, Or):
        return None
    tests = [test for test in part.parts if isinstance(test, Comparison) and test.operator == "="]
    values = tuple(test.right for test in tests if isinstance(test.right, Value))
    columns = {test.left for test in tests}
    column = next(iter(columns)) if len(columns) == 1 else None
    if len(values) != len(part.parts) or not isinstance(column, Column):
        return None
    return column, values


def _within_year(part: Predicate, query: Query, atlas: Atlas) -> Between | None:
    """A year of a date as a range of days, which an index can answer; not where dates have a time of day."""
    if not isinstance(part, Comparison) or not isinstance(part.left, DatePart) or part.operator != "=":
        return None
    column, value = part.left.argument, part.right
    if not isinstance(column, Column) or not isinstance(value, Value) or part.left.part != "year":
        return None
    table = next((s.table for s in query.sources if s.alias == column.source), "")
    if table not in atlas.by_name or len(str(atlas.by_name[table].column(column.name).maximum)) != len("2020-01-01"):
        return None
    return Between(column, Value(f"{value.value}-01-01"), Value(f"{value.value}-12-31"))


def _figures(query: Query, figure: Aggregate, atlas: Atlas) -> Iterator[Aggregate]:
    """Other figures that make sense where this one stands."""
    tables = {source.alias: source.table for source in query.sources}
    if isinstance(figure.argument, Column) and not figure.distinct:
        table = atlas.by_name[tables[figure.argument.source]]
        functions: tuple[AggregateFunction, ...] = ("avg", "max", "min", "sum")
        for function in functions:
            if function != figure.function and _makes_sense(function, table.column(figure.argument.name)):
                yield replace(figure, function=function)
        for column in atlas.measures(table.name):
            if column.name != figure.argument.name and _makes_sense(figure.function, column):
                yield replace(figure, argument=Column(figure.argument.source, column.name))
    elif figure.argument is None:
        for column in atlas.measures(query.subject.table)[:2]:
            yield Aggregate("avg", Column(query.subject.alias, column.name))


def _makes_sense(function: AggregateFunction, column: ColumnProfile) -> bool:
    if function == "sum":
        return adds_up(column)
    return column.role == "measure" or function in ("min", "max")


def _with_figure(query: Query, place: int, figure: Aggregate) -> Query:
    """`query` with another figure, also where groups are ordered by it."""
    old = query.select[place].expression
    select = tuple(Output(figure) if at == place else output for at, output in enumerate(query.select))
    order = tuple(replace(key, expression=figure) if key.expression == old else key for key in query.order_by)
    return replace(query, select=select, order_by=order)


def _tells_rows_apart(query: Query, atlas: Atlas) -> bool:
    """Whether the answer shows something that no two of its rows share."""
    table = atlas.by_name[query.subject.table]
    return any(
        isinstance(o.expression, Column)
        and o.expression.source == query.subject.alias
        and table.column(o.expression.name).unique
        for o in query.select
    )


def _alike(one: object, other: object) -> bool:
    numbers = (int, float)
    return isinstance(one, numbers) == isinstance(other, numbers)
