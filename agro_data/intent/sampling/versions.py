"""Of a thing whose rows are versions of it people ask as it is now: questions hold to its current rows, and call these
by the thing. What refers to a version is told by what it was then, or by the thing where no version differs in that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agro_data.intent.sampling.row_tests import Test, Tree, bodies, has, tables_of, with_tests, without_tests
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Exists,
    InQuery,
    MetricCall,
    Query,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile, TableProfile, Versions


def held_to_current(query: Tree, profile: DatabaseProfile) -> Tree:
    """`query` of the current rows of tables that keep versions, where that is what it can be about.

    It is about versions where it says when they hold, where other rows refer to them, and where it counts all things
    that have had one.
    """
    for table, versions in _kept(query, profile):
        if _may_hold(query, table, versions):
            query = with_tests(query, table.name, _current(table, versions))
    return query


def as_said(query: Tree, profile: DatabaseProfile) -> tuple[Tree, DatabaseProfile]:
    """What a question says of `query`: without the tests that rows are current, and with a profile that calls such
    rows "current customers", and versions that are told by what all of a thing have "customers".
    """
    for table, versions in _kept(query, profile):
        if _is_held(query, table, versions):
            query = without_tests(query, table.name, _current(table, versions))
            profile = _calling(profile, table, f"current {versions.singular}", f"current {versions.plural}")
        elif _is_steady(query, table, versions):
            profile = _calling(profile, table, versions.singular, versions.plural)
    return query, profile


def _kept(query: Tree, profile: DatabaseProfile) -> list[tuple[TableProfile, Versions]]:
    """The tables of the tree that keep versions."""
    tables = [profile.by_name[name] for name in tables_of(query) if name in profile.by_name]
    return [(table, table.versions) for table in tables if table.versions is not None]


def _named(node: object, aliases: Iterable[str]) -> set[str]:
    """The columns of `aliases` that a tree names, those by which it joins apart."""
    return {n.name for n in walk(node) if isinstance(n, Column) and n.source in aliases}


def _is_referred(body: Query, aliases: set[str]) -> bool:
    """Whether other rows are joined to versions, or versions kept that none is joined to."""
    return any(
        (join.direction == "up" and join.right in aliases)
        or (join.direction == "down" and join.left in aliases)
        or (join.kind == "left" and join.right in aliases)
        for join in body.joins
    )


def _may_hold(query: Tree, table: TableProfile, versions: Versions) -> bool:
    for body, aliases in bodies(query, table.name):
        nodes = list(walk(body))
        below = any(isinstance(n, InQuery) for n in nodes) or any(
            outer.source in aliases for n in nodes if isinstance(n, Exists) for outer, _ in n.link
        )
        counted = (n for n in nodes if isinstance(n, Aggregate) and n.distinct)
        over_all = any(_named(n, aliases) == {versions.key} for n in counted)
        over_all = over_all or any(isinstance(n, MetricCall) for n in nodes)
        told = _named(body, aliases) & {*versions.validity, versions.column}
        if _is_referred(body, aliases) or below or over_all or told:
            return False
    return True


def _current(table: TableProfile, versions: Versions) -> Test:
    return has(table.name, versions.column, versions.current)


def _is_held(query: Tree, table: TableProfile, versions: Versions) -> bool:
    return all(
        not _is_referred(body, aliases) and _current(table, versions)(alias) in conjuncts(body.where)
        for body, aliases in bodies(query, table.name)
        for alias in aliases
    )


def _is_steady(query: Tree, table: TableProfile, versions: Versions) -> bool:
    """Whether versions are only what others refer to, and differ for no thing in what is read of them."""
    return all(
        _is_of_things(body, alias, versions) and _named(body, {alias}) <= {*versions.steady, versions.key}
        for body, aliases in bodies(query, table.name)
        for alias in aliases
    )


def _is_of_things(body: Query, alias: str, versions: Versions) -> bool:
    """Whether other rows are of what a source holds versions of: joined to these, or grouped by the thing."""
    if any(join.direction == "up" and join.right == alias for join in body.joins):
        return True
    below = any(join.direction == "down" and join.left == alias for join in body.joins)
    return below and Column(alias, versions.key) in body.group_by


def _calling(profile: DatabaseProfile, table: TableProfile, singular: str, plural: str) -> DatabaseProfile:
    called = replace(table, singular=singular, plural=plural)
    return replace(profile, tables=tuple(called if t.name == table.name else t for t in profile.tables))
