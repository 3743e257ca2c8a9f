"""Computed columns as the formulas that they are: rows for `total > 100` are made for `quantity * price > 100`."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, parse_one

from agro_data.databases.types import Dialect
from agro_data.populate.schema import Schema
from agro_data.sql.names.resolution import Resolution, Source
from agro_data.sql.names.scope import resolve


def without_computed(
    names: Resolution, schema: Schema, dialect: Dialect, columns: Mapping[str, Mapping[str, str]]
) -> Resolution:
    """A query with the formula in the place of each computed column; as it is, if it names none. `columns`: types by
    table and column, as `resolve` takes them.
    """
    formulas = {(t.name, c.name): c.formula for t in schema.tables for c in t.columns if c.formula}
    if not formulas.keys() & names.columns:
        return names
    tree = names.tree.copy()
    found = resolve(tree, dialect, columns)
    for node in list(tree.find_all(exp.Column)):
        binding = found.binding(node)
        source = binding.source if binding is not None and binding.kind == "column" else None
        formula = formulas.get((source.table, source.columns[binding.name])) if source and binding else None
        if source is not None and formula is not None:
            written: exp.Expr = exp.Paren(this=_of(source, formula, dialect))
            shown = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
            node.replace(exp.alias_(written, node.name, quoted=True) if shown else written)
    return resolve(tree, dialect, columns)


def _of(source: Source, formula: str, dialect: Dialect) -> exp.Expr:
    """A formula of the columns of one source."""
    tree = parse_one(formula, dialect=dialect)
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(source.alias, quoted=True))
    return tree
