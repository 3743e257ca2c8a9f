"""Other SQL for the same meaning: rewrites of the tree that keep its result, applied just before rendering.

"exists", "in"     a related row is asked for by EXISTS or by IN
"left_join"        absence of related rows as LEFT JOIN ... IS NULL
"join_distinct"    presence of related rows as JOIN with DISTINCT, where the answer names each row once anyway
"cte", "subquery"  a derived table by name before the query, or in its place (read by `to_sql`)
"bounds"           BETWEEN as two comparisons
"""

from __future__ import annotations

from dataclasses import replace

from agro_data.intent.tree import (
    And,
    Between,
    Column,
    Comparison,
    Exists,
    InQuery,
    IsNull,
    Join,
    Output,
    Predicate,
    Query,
    SetOperation,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile


def renderings(query: Query | SetOperation, profile: DatabaseProfile) -> tuple[str, ...]:
    """Names of the renderings that apply to `query`; never empty (the first is the plain one, "")."""
    if isinstance(query, SetOperation):
        return ("",)
    if query.ctes or query.keep:
        return ("cte", "subquery")
    link = _related(query)
    if link is not None:
        names = ["exists"]
        if len(link.link) == 1:
            names = ["in", "in", "exists"]
        if link.negated and _can_left_join(query, link):
            names.append("left_join")
        if not link.negated and _can_join(query, link, profile):
            names.append("join_distinct")
        return tuple(names)
    if any(isinstance(part, Between) for part in _parts(query.where)):
        return ("", "", "bounds")
    return ("",)


def rewrite(query: Query | SetOperation, rendering: str, profile: DatabaseProfile) -> Query | SetOperation:
    """`query` in the wanted rendering, or as it is where that does not apply."""
    if isinstance(query, SetOperation) or rendering not in renderings(query, profile):
        return query
    if rendering == "bounds":
        return replace(query, where=_and(tuple(p for part in _parts(query.where) for p in _bounds(part))))
    link = _related(query)
    if link is None:
        return query
    if rendering == "in":
        outer, inner = link.link[0]
        body = replace(link.query, select=(Output(inner),))
        return _swap(query, link, InQuery(outer, body, link.negated))
    if rendering == "left_join":
        source = link.query.subject
        pairs = tuple((a.name, b.name) for a, b in link.link)
        join = Join(link.link[0][0].source, source.alias, pairs, "left", "down")
        return _swap(
            replace(query, sources=(*query.sources, source), joins=(*query.joins, join)),
            link,
            IsNull(link.link[0][1]),
        )
    if rendering == "join_distinct":
        pairs = tuple((a.name, b.name) for a, b in link.link)
        join = Join(link.link[0][0].source, link.query.subject.alias, pairs, "inner", "down")
        merged = replace(
            query,
            sources=(*query.sources, *link.query.sources),
            joins=(*query.joins, join, *link.query.joins),
            distinct=True,
        )
        return _swap(merged, link, link.query.where)
    return query


def _parts(node: Predicate | None) -> tuple[Predicate, ...]:
    if node is None:
        return ()
    return node.parts if isinstance(node, And) else (node,)


def _and(parts: tuple[Predicate, ...]) -> Predicate | None:
    return None if not parts else parts[0] if len(parts) == 1 else And(parts)


def _related(query: Query) -> Exists | None:
    """The one EXISTS condition of `query`, if it has exactly one and no other subquery."""
    found = [part for part in _parts(query.where) if isinstance(part, Exists)]
    if len(found) != 1 or found[0].query.group_by or found[0].query.limit is not None:
        return None
    return found[0]


def _swap(query: Query, old: Exists, new: Predicate | None) -> Query:
    parts: list[Predicate] = []
    for part in _parts(query.where):
        parts.extend(_parts(new) if part is old else (part,))
    return replace(query, where=_and(tuple(parts)))


def _can_left_join(query: Query, link: Exists) -> bool:
    return link.query.where is None and len(link.query.sources) == 1 and not _aggregated(query)


def _can_join(query: Query, link: Exists, profile: DatabaseProfile) -> bool:
    """DISTINCT changes nothing else only where the answer already holds something unique of the subject."""
    if query.distinct or query.limit is not None or _aggregated(query) or len(query.sources) > 1:
        return False
    if not all(isinstance(o.expression, Column) for o in query.select):
        return False
    shown = {o.expression for o in query.select}
    if any(key.expression not in shown for key in query.order_by):
        return False
    table = profile.by_name.get(query.subject.table)
    if table is None or table.sampled:
        return False
    names = {o.expression.name for o in query.select if isinstance(o.expression, Column)}
    unique = any(table.column(n).unique and table.column(n).null_share == 0 for n in names)
    return unique or (bool(table.primary_key) and set(table.primary_key) <= names)


def _aggregated(query: Query) -> bool:
    return bool(query.group_by) or any(
        type(n).__name__ in ("Aggregate", "Share", "Window", "MetricCall") for n in walk(query.select)
    )


def _bounds(part: Predicate) -> tuple[Predicate, ...]:
    if not isinstance(part, Between):
        return (part,)
    return Comparison(">=", part.argument, part.low), Comparison("<=", part.argument, part.high)
