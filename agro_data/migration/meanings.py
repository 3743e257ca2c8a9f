"""The bindings of a query's names, in a form in which two texts of the query can be compared."""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.migration.evidence import Place
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import SqlRefused, parse_select

Meaning = tuple[str, str, str, str]  # kind of binding, alias, table, name; folded, "" where it says nothing


def used_places(sql: str, dialect: Dialect, schema: Schema) -> tuple[frozenset[str], frozenset[Place]]:
    """Tables and columns that a query names, as the schema spells them; names that cannot be bound are left out."""
    found = resolve(parse_select(sql, dialect), dialect, schema)
    return frozenset(found.tables), frozenset(found.columns)


def meanings(text: str, dialect: Dialect, schema: Schema) -> list[Meaning] | None:
    """The binding of each column reference of a text, in the order of the tree; None when one has no binding."""
    try:
        found = resolve(parse_select(text, dialect), dialect, schema)
    except SqlRefused:
        return None
    if found.problems:
        return None
    return [_meaning_of(found, node) for node in references(found.tree)]


def references(tree: exp.Expr) -> list[exp.Column]:
    """The column references of a tree in an order that its text keeps; stars are none."""
    return [node for node in tree.find_all(exp.Column) if not isinstance(node.this, exp.Star)]


def _meaning_of(found: Resolution, node: exp.Column) -> Meaning:
    binding = found.binding(node)
    if binding is None:
        return "", "", "", folded(node.name)
    if binding.kind == "column" and binding.source is not None:
        return "column", binding.source.alias, folded(binding.source.table), binding.name
    return binding.kind, "", "", folded(binding.name)
