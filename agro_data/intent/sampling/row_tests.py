"""Tests that all rows of a table which a query reads have to meet: that they are current, known, or not deleted."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from agro_data.intent.rename import transform
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Expression,
    IsNull,
    Predicate,
    Query,
    SetOperation,
    Source,
    Value,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile

Tree = Query | SetOperation
Kept = int | str | None  # the value that rows have; NULL for None
Test = Callable[[str], Predicate]  # of the rows of a source, by its alias


def tables_of(query: Tree) -> list[str]:
    """The names of what a tree reads, each once."""
    return list(dict.fromkeys(node.table for node in walk(query) if isinstance(node, Source)))


def bodies(query: Tree, table: str) -> list[tuple[Query, set[str]]]:
    """The queries of the tree that read `table`, each with the aliases under which it does."""
    found = [(body, set(_aliases(body, table))) for body in walk(query) if isinstance(body, Query)]
    return [(body, aliases) for body, aliases in found if aliases]


def keys_to(query: Tree, profile: DatabaseProfile, tables: Container[str]) -> Callable[[object], bool]:
    """Whether an expression of the tree is a column of a key that refers to one of `tables`."""
    keys = {(key.table, name) for key in profile.foreign_keys if key.ref_table in tables for name in key.columns}
    of = {node.alias: node.table for node in walk(query) if isinstance(node, Source)}
    return lambda one: isinstance(one, Column) and (of.get(one.source), one.name) in keys


def counted_once(query: Tree) -> list[Expression | None]:
    """Of what the tree counts or adds up different values."""
    return [node.argument for node in walk(query) if isinstance(node, Aggregate) and node.distinct]


def has(table: str, column: str, kept: Kept) -> Test:
    """The test that rows of a table have a value in a column."""

    def test(alias: str) -> Predicate:
        tested = Column(alias, column)
        return IsNull(tested) if kept is None else Comparison("=", tested, Value(kept, (table, column)))

    return test


def with_tests(query: Tree, table: str, test: Test, among: Container[str] | None = None) -> Tree:
    """The tree, all rows of `table` tested, or those that it reads under an alias `among` these."""

    def tested(node: object) -> object:
        aliases = _aliases(node, table) if isinstance(node, Query) else []
        tests = [test(alias) for alias in aliases if among is None or alias in among]
        if not isinstance(node, Query) or not tests:
            return node
        return replace(node, where=conjunction([*conjuncts(node.where), *tests]))

    return transform(query, tested)


def without_tests(query: Tree, table: str, test: Test) -> Tree:
    """The tree without such tests of rows of `table`."""

    def free(node: object) -> object:
        aliases = _aliases(node, table) if isinstance(node, Query) else []
        if not isinstance(node, Query) or not aliases:
            return node
        tests = list(map(test, aliases))
        return replace(node, where=conjunction([part for part in conjuncts(node.where) if part not in tests]))

    return transform(query, free)


def _aliases(body: Query, table: str) -> list[str]:
    return [source.alias for source in body.sources if source.table == table]
