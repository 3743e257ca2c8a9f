"""Ways through the tree of a query."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def leftmost(query: exp.Expr) -> exp.Select:
    """The first SELECT of a query, through parentheses and set operations: it names the output columns."""
    while not isinstance(query, exp.Select):
        query = query.this
    return query


def local_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression or clause, without the nodes inside its subqueries (the subquery node itself is
    included).
    """
    yield node
    if isinstance(node, exp.Query):
        return
    for child in node.iter_expressions():
        yield from local_nodes(child)
