"""Tests that all rows of a table which a query reads have to meet: that they are current, or not deleted."""

from __future__ import annotations

from dataclasses import replace

from agro_data.intent.rename import transform
from agro_data.intent.tree import (
    Column,
    Comparison,
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

Tree = Query | SetOperation
Kept = int | str | None  # the value that rows have; NULL for None


def tables_of(query: Tree) -> list[str]:
    """The names of what a tree reads, each once."""
    return list(dict.fromkeys(node.table for node in walk(query) if isinstance(node, Source)))


def bodies(query: Tree, table: str) -> list[tuple[Query, set[str]]]:
    """The queries of the tree that read `table`, each with the aliases under which it does."""
    found = [(body, set(_aliases(body, table))) for body in walk(query) if isinstance(body, Query)]
    return [(body, aliases) for body, aliases in found if aliases]


def test_of(alias: str, table: str, column: str, kept: Kept) -> Predicate:
    """The test that rows of a source have a value in a column."""
    tested = Column(alias, column)
    return IsNull(tested) if kept is None else Comparison("=", tested, Value(kept, (table, column)))


def with_tests(query: Tree, table: str, column: str, kept: Kept) -> Tree:
    """The tree, all rows of `table` tested."""

    def tested(node: object) -> object:
        aliases = _aliases(node, table) if isinstance(node, Query) else []
        if not isinstance(node, Query) or not aliases:
            return node
        tests = [test_of(alias, table, column, kept) for alias in aliases]
        return replace(node, where=conjunction([*conjuncts(node.where), *tests]))

    return transform(query, tested)


def without_tests(query: Tree, table: str, column: str, kept: Kept) -> Tree:
    """The tree without such tests of rows of `table`."""

    def free(node: object) -> object:
        aliases = _aliases(node, table) if isinstance(node, Query) else []
        if not isinstance(node, Query) or not aliases:
            return node
        tests = [test_of(alias, table, column, kept) for alias in aliases]
        return replace(node, where=conjunction([part for part in conjuncts(node.where) if part not in tests]))

    return transform(query, free)


def _aliases(body: Query, table: str) -> list[str]:
    return [source.alias for source in body.sources if source.table == table]
