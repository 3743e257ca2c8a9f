"""Rows that are marked as deleted do not count: nobody who asks how many customers there are says so, but means it."""

from __future__ import annotations

from collections.abc import Iterator

from agro_data.intent.sampling.row_tests import (
    Test,
    Tree,
    bodies,
    counted_once,
    has,
    keys_to,
    tables_of,
    with_tests,
    without_tests,
)
from agro_data.intent.tree import Column, conjuncts, walk
from agro_data.profiling.columns.deletion import says_deletion
from agro_data.profiling.profile import DatabaseProfile, Mark, TableProfile


def held_to_undeleted(query: Tree, profile: DatabaseProfile) -> Tree | None:
    """`query` without rows that are marked as deleted, but of tables of which it asks what is.

    None where it keeps rows without others, as a LEFT JOIN does, and these may be deleted; or counts such by their
    keys.
    """
    if _counts_by_key(query, profile):
        return None
    for table, mark in _marked(query, profile):
        if _asks(query, table):
            continue
        read = bodies(query, table.name)
        if any(join.kind == "left" and join.right in aliases for body, aliases in read for join in body.joins):
            return None
        query = with_tests(query, table.name, _kept(table, mark))
    return query


def without_marks(query: Tree, profile: DatabaseProfile) -> tuple[Tree, list[str]]:
    """What a question says of `query`: nothing of deleted rows where it reads no others, and what it then needs to be
    told.
    """
    definitions = []
    for table, mark in _marked(query, profile):
        if _is_held(query, table, mark):
            query = without_tests(query, table.name, _kept(table, mark))
            definitions.append(f"{table.plural} with {_marked_by(table, mark)} are deleted and do not count")
    return query, definitions


def _marked_by(table: TableProfile, mark: Mark) -> str:
    flag = "true" if table.by_name[mark.column].kind == "boolean" else f"another value than {mark.kept}"
    return f"{'a value' if mark.kept is None else flag} in {mark.column}"


def _marked(query: Tree, profile: DatabaseProfile) -> Iterator[tuple[TableProfile, Mark]]:
    tables = [profile.by_name[name] for name in tables_of(query) if name in profile.by_name]
    return ((table, table.deleted) for table in tables if table.deleted is not None)


def _counts_by_key(query: Tree, profile: DatabaseProfile) -> bool:
    """Whether it counts the different rows that keys refer to, without reading these: the customers of all sites."""
    deleted = {table.name for table in profile.tables if table.deleted is not None}
    return any(map(keys_to(query, profile, deleted), counted_once(query)))


def _asks(query: Tree, table: TableProfile) -> bool:
    """Whether the query names a column of the table that tells of deletions."""
    return any(
        isinstance(node, Column) and node.source in aliases and says_deletion(node.name)
        for body, aliases in bodies(query, table.name)
        for node in walk(body)
    )


def _kept(table: TableProfile, mark: Mark) -> Test:
    return has(table.name, mark.column, mark.kept)


def _is_held(query: Tree, table: TableProfile, mark: Mark) -> bool:
    return all(
        _kept(table, mark)(alias) in conjuncts(body.where)
        for body, aliases in bodies(query, table.name)
        for alias in aliases
    ) and not _asks(without_tests(query, table.name, _kept(table, mark)), table)
