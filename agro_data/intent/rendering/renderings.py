"""Other SQL for the same meaning: rewrites of the tree that keep its result, applied just before rendering.

"exists", "in"     a related row is asked for by EXISTS or by IN
"left_join"        absence of related rows as LEFT JOIN ... IS NULL
"join"             presence of related rows as JOIN; where a row may have several, with DISTINCT or grouped by its key
"set_difference"   absence of related rows as EXCEPT, where the answer is a key
"group_by_key"     rows of one parent grouped by its key alone, its name shown beside (SQLite; DuckDB refuses it)
"cte", "subquery"  a derived table by name before the query, or in its place (read by `to_sql`)
"bounds"           BETWEEN as two comparisons
"""

from __future__ import annotations

from dataclasses import replace

from agro_data.intent.rename import rename_sources
from agro_data.intent.tree import (
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
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile


def renderings(query: Query | SetOperation, profile: DatabaseProfile) -> tuple[str, ...]:
    """Names of the renderings that apply to `query`; never empty (the first is the plain one, "")."""
    if isinstance(query, SetOperation):
        return ("",)
    if query.ctes or query.keep:
        return ("cte", "subquery")
    if _key_of_group(query, profile):
        return ("group_by_key", "group_by_key", "")
    link = _related(query)
    if link is not None:
        # Repeated as often as people write them: NOT IN for "without", JOIN for "with", seldom grouped by a key.
        names = ["exists"]
        if len(link.link) == 1:
            names = ["in"] * 5 + ["exists"] if link.negated else ["in", "in", "exists"]
        if link.negated and _can_left_join(query, link):
            names.append("left_join")
        if link.negated and _can_subtract(query, link, profile):
            names += ["set_difference"] * 2
        if not link.negated and _can_join(query, profile):
            names += ["join"] * (5 if _shows_key(query, profile) or _at_most_one(link, profile) else 1)
        return tuple(names)
    if any(isinstance(part, Between) for part in conjuncts(query.where)):
        return ("", "", "bounds")
    return ("",)


def rewrite(query: Query | SetOperation, rendering: str, profile: DatabaseProfile) -> Query | SetOperation:
    """`query` in the wanted rendering, or as it is where that does not apply."""
    if isinstance(query, SetOperation) or rendering not in renderings(query, profile):
        return query
    if rendering == "bounds":
        return replace(query, where=conjunction(tuple(p for part in conjuncts(query.where) for p in _bounds(part))))
    if rendering == "group_by_key":
        return replace(query, group_by=_key_of_group(query, profile))
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
    if rendering == "join":
        merged = _swap(_merged(query, link), link, link.query.where)
        return merged if _at_most_one(link, profile) else _each_once(merged, profile)
    if rendering == "set_difference":
        return _difference(query, link)
    return query


def _merged(query: Query, link: Exists) -> Query:
    """`query` joined with the rows of its EXISTS condition, which still stands."""
    pairs = tuple((a.name, b.name) for a, b in link.link)
    join = Join(link.link[0][0].source, link.query.subject.alias, pairs, "inner", "down")
    sources, joins = (*query.sources, *link.query.sources), (*query.joins, join, *link.query.joins)
    return replace(query, sources=sources, joins=joins)


def _each_once(query: Query, profile: DatabaseProfile) -> Query:
    """Each row of the subject once, which joined rows repeat; two rows that show the same are two."""
    if _shows_key(query, profile):
        return replace(query, distinct=True)
    key = tuple(Column(query.subject.alias, name) for name in profile.table(query.subject.table).primary_key)
    shown = tuple(o.expression for o in query.select) if profile.dialect == "duckdb" else ()
    return replace(query, group_by=tuple(dict.fromkeys((*key, *shown))))


def _difference(query: Query, link: Exists) -> SetOperation:
    """All names, EXCEPT those of the rows that do have a related row."""
    left, key = replace(query, where=None), query.select[0].expression
    if link.link[0][0] == key and len(link.link) == 1:
        return SetOperation("except", left, replace(link.query, select=(Output(link.link[0][1]),)))
    names = {s.alias: f"{s.alias}_" for s in (*query.sources, *link.query.sources)}
    related = rename_sources(_swap(_merged(query, link), link, link.query.where), names)
    return SetOperation("except", left, related)


def _key_of_group(query: Query, profile: DatabaseProfile) -> tuple[Column, ...]:
    """The key of one parent among longer grouping by that parent's columns; () where the grouping is no such."""
    keys = [k for k in query.group_by if isinstance(k, Column)]
    if profile.dialect != "sqlite" or len(keys) < 2 or len(keys) != len(query.group_by):
        return ()
    source = next((s for s in query.sources if s.alias == keys[0].source), None)
    table = profile.by_name.get(source.table) if source is not None else None
    if table is None or not table.primary_key or any(k.source != keys[0].source for k in keys):
        return ()
    found = tuple(k for k in keys if k.name in table.primary_key)
    return found if len(found) == len(table.primary_key) < len(keys) else ()


def _can_subtract(query: Query, link: Exists, profile: DatabaseProfile) -> bool:
    """EXCEPT compares what is shown, so that must tell rows apart; and nothing else may be asked."""
    if query.where is not link or query.order_by or query.limit is not None or len(query.sources) > 1:
        return False
    shown = [o.expression for o in query.select]
    table = profile.by_name.get(query.subject.table)
    if table is None or table.sampled or len(shown) != 1 or not isinstance(shown[0], Column):
        return False
    return _shows_key(query, profile)


def _shows_key(query: Query, profile: DatabaseProfile) -> bool:
    """Whether what is shown holds a key of the subject, so that no two of its rows show the same."""
    table = profile.table(query.subject.table)
    shown = {o.expression.name for o in query.select if isinstance(o.expression, Column)}
    return any(shown.issuperset(key) and all(map(table.never_null, key)) for key in profile.keys(table.name))


def _at_most_one(link: Exists, profile: DatabaseProfile) -> bool:
    """Whether no row can have two such related rows: together with the link, the conditions fix a key."""
    child = profile.by_name.get(link.query.subject.table)
    if child is None or child.sampled:
        return False
    own = link.query.subject.alias
    fixed = {inner for _, inner in link.link} | {
        part.left
        for part in conjuncts(link.query.where)
        if isinstance(part, Comparison) and part.operator == "=" and isinstance(part.left, Column)
    }
    known = {c.name for c in fixed if c.source == own}
    for join in link.query.joins:
        parent = profile.by_name.get(link.query.table_of(join.right))
        if join.left == own and parent is not None and not parent.sampled:
            given = {c.name for c in fixed if c.source == join.right}
            if any(given.issuperset(key) for key in profile.keys(parent.name)):
                known |= {left for left, _ in join.columns}
    return any(known.issuperset(key) for key in profile.keys(child.name))


def _related(query: Query) -> Exists | None:
    """The one EXISTS condition of `query`, if it has exactly one and no other subquery."""
    found = [part for part in conjuncts(query.where) if isinstance(part, Exists)]
    if len(found) != 1 or found[0].query.group_by or found[0].query.limit is not None:
        return None
    return found[0]


def _swap(query: Query, old: Exists, new: Predicate | None) -> Query:
    parts: list[Predicate] = []
    for part in conjuncts(query.where):
        parts.extend(conjuncts(new) if part is old else (part,))
    return replace(query, where=conjunction(tuple(parts)))


def _can_left_join(query: Query, link: Exists) -> bool:
    return link.query.where is None and len(link.query.sources) == 1 and not _aggregated(query)


def _can_join(query: Query, profile: DatabaseProfile) -> bool:
    """Only a plain list of columns of one table, whose rows a key tells apart, may be repeated by joined rows."""
    if query.distinct or query.limit is not None or _aggregated(query) or len(query.sources) > 1:
        return False
    if not all(isinstance(o.expression, Column) for o in query.select):
        return False
    shown = {o.expression for o in query.select}
    if any(key.expression not in shown for key in query.order_by):
        return False
    table = profile.by_name.get(query.subject.table)
    return table is not None and not table.sampled and bool(table.primary_key)


def _aggregated(query: Query) -> bool:
    return bool(query.group_by) or any(
        type(n).__name__ in ("Aggregate", "Share", "Window", "MetricCall") for n in walk(query.select)
    )


def _bounds(part: Predicate) -> tuple[Predicate, ...]:
    if not isinstance(part, Between):
        return (part,)
    return Comparison(">=", part.argument, part.low), Comparison("<=", part.argument, part.high)
