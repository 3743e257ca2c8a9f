"""Ways through the tree of a query."""

from __future__ import annotations

from collections.abc import Iterator, Set

from sqlglot import exp

from agro_data.databases.quoting import folded


def leftmost(query: exp.Expr) -> exp.Select:
    """The first SELECT of a query, through parentheses and set operations: it names the output columns."""
    while not isinstance(query, exp.Select):
        query = query.this
    return query


def call_bare(tree: exp.Expr, names: Set[str]) -> None:
    """Take schema and database off the tables with these names (lower case), also where they stand before columns."""
    for table in tree.find_all(exp.Table):
        if folded(table.name) in names:
            _without_schema(table)
    for column in tree.find_all(exp.Column):
        if folded(column.table) in names:
            _without_schema(column)


def _without_schema(node: exp.Expr) -> None:
    for part in ("db", "catalog"):
        node.set(part, None)


def local_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression or clause, without the nodes inside its subqueries (the subquery node itself is
    included).
    """
    yield node
    if isinstance(node, exp.Query):
        return
    for child in node.iter_expressions():
        yield from local_nodes(child)


def around(node: exp.Expr) -> exp.Expr | None:
    """What an expression stands in, but for brackets."""
    holder = node.parent
    while isinstance(holder, exp.Paren):
        holder = holder.parent
    return holder
