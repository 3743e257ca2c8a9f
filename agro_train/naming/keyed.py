"""Joins over keys: what may follow JOIN and stand behind ON, where the tables of a FROM have keys.

A small model writes a join, and then the first two columns that sound right; of answers of models that join over
columns that are no key hardly any is right (docs/experiments.md, E14). So the first equality behind ON must tie one of
the tables that no ON has tied yet to another, by columns that hold the same key, or by the same column of a table that
is joined with itself. What follows it is free, and so is a join with anything that has no key.
"""

from __future__ import annotations

from dataclasses import replace

from agro_train.naming.scopes import Level, Link, Names, Scopes, Source

Tie = tuple[int, str]  # the place of a source in its FROM, and a column of it


def may_join(scopes: Scopes, table: str) -> bool:
    """Whether `table` may follow JOIN: a key ties it to a source that stands before it, or none is asked for."""
    top, names = scopes.top, scopes.names
    if not top.owed or not _keyed(names, (*top.sources, Source(table, None, table))):
        return True
    return any(
        one.table == table or names.keys.partners((table, column), one.table)
        for one in top.sources
        for column in names.keys.columns[table]
    )


def begin(scopes: Scopes) -> None:
    """Behind ON: the equality that follows must be over a key, if all sources have one."""
    top = scopes.top
    top.link = Link() if len(top.sources) > 1 and _keyed(scopes.names, top.sources) else None


def may_be_tied(scopes: Scopes) -> frozenset[Tie]:
    """The columns that may stand next in the equality; none where its operator is to come."""
    top, names = scopes.top, scopes.names
    if top.link is None or top.link.want == "equals":
        return frozenset()
    tables = [one.table for one in top.sources]
    before = top.link.left if top.link.want == "right" else None
    found = set()
    for place, table in enumerate(tables):
        columns = names.tables[table]
        keyed = columns if tables.count(table) > 1 else columns & names.keys.columns[table]
        found |= {(place, column) for column in keyed if _goes_with(names, top, (place, column), before)}
    return frozenset(found)


def names_of(scopes: Scopes) -> tuple[frozenset[str], frozenset[str]]:
    """`may_be_tied` as the aliases and the columns that may begin it."""
    found = may_be_tied(scopes)
    return frozenset(scopes.top.sources[place].alias for place, _ in found), frozenset(column for _, column in found)


def equals(level: Level, sign: str) -> bool:
    """A sign of the equality was read; False for any but its own."""
    if level.link is None or level.link.want != "equals" or sign not in ("=", "=="):
        return False
    level.link, level.want, level.last = replace(level.link, want="right"), "operand", sign
    return True


def take(scopes: Scopes, qualifier: str, column: str) -> bool:
    """A column of the equality was read; False where it may not stand there."""
    top = scopes.top
    if top.link is None:
        return True
    found = frozenset(
        (place, name)
        for place, name in may_be_tied(scopes)
        if name == column and qualifier in ("", top.sources[place].alias)
    )
    if top.link.want == "left":
        top.link = Link("equals", found)
    else:
        top.link, top.tied = None, len(top.sources)
    return bool(found)


def _goes_with(names: Names, level: Level, tie: Tie, before: frozenset[Tie] | None) -> bool:
    """Whether a key holds the column equal to one of `before`, or of any other source, and ties a new one."""
    place, column = tie
    for other, source in enumerate(level.sources):
        if other != place and max(place, other) >= level.tied:
            held = names.keys.partners((level.sources[place].table, column), source.table) & names.tables[source.table]
            if held if before is None else any((other, name) in before for name in held):
                return True
    return False


def _keyed(names: Names, sources: tuple[Source, ...]) -> bool:
    return all(one.table in names.keys.columns for one in sources)
