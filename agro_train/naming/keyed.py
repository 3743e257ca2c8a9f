"""Joins over keys: what may follow JOIN and stand behind ON, where the tables of a FROM have keys.

A small model writes a join, and then the first two columns that sound right; of answers of models that join over
columns that are no key hardly any is right (docs/experiments.md, E14). So the first equality behind ON must tie one of
the tables that no ON has tied yet to another, by columns that hold the same key, or by the same column of a table that
is joined with itself. What follows it is free, and so is a join with anything that has no key.
"""

from __future__ import annotations

from agro_train.naming.levels import Level, Names, Source

Tie = tuple[int, str]  # the place of a source in its FROM, and a column of it


def may_join(names: Names, top: Level, table: str) -> bool:
    """Whether `table` may follow JOIN: a key ties it to a source that stands before it, or none is asked for."""
    if not top.owed or not all_keyed(names, (*top.sources, Source(table, None, table))):
        return True
    return any(
        one.table == table or names.keys.partners((table, column), one.table)
        for one in top.sources
        for column in names.keys.columns[table]
    )


def may_be_tied(names: Names, top: Level) -> frozenset[Tie]:
    """The columns that may stand next in the equality; none where its operator is to come."""
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


def names_of(names: Names, top: Level) -> tuple[frozenset[str], frozenset[str]]:
    """`may_be_tied` as the aliases and the columns that may begin it."""
    found = may_be_tied(names, top)
    return frozenset(top.sources[place].alias for place, _ in found), frozenset(column for _, column in found)


def _goes_with(names: Names, level: Level, tie: Tie, before: frozenset[Tie] | None) -> bool:
    """Whether a key holds the column equal to one of `before`, or of any other source, and ties a new one."""
    place, column = tie
    for other, source in enumerate(level.sources):
        if other != place and max(place, other) >= level.tied:
            held = names.keys.partners((level.sources[place].table, column), source.table) & names.tables[source.table]
            if held if before is None else any((other, name) in before for name in held):
                return True
    return False


def all_keyed(names: Names, sources: tuple[Source, ...]) -> bool:
    """Whether each of `sources` is a table with columns that keys are known of."""
    return all(one.table in names.keys.columns for one in sources)
