"""A server's CHECK constraints as DuckDB takes them: those that are plain enough to be read there."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import quoted
from agro_data.databases.schema.checks import checks
from agro_data.snapshot.catalog import Table

_TEXTS = exp.DataType.TEXT_TYPES
_NUMBERS = exp.DataType.NUMERIC_TYPES
_DATES = exp.DataType.TEMPORAL_TYPES


def conditions(table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    """What a table's CHECK constraints say of these columns of it, without what `databases.schema.checks` does not
    read."""
    named = ", ".join(f"{quoted(column)} INT" for column in columns)
    found: list[str] = []
    for definition in table.checks:
        try:
            made = sqlglot.parse_one(f"CREATE TABLE t (agro INT, {definition})", dialect="postgres")
            plain = [check.transform(_plainly) for check in made.find_all(exp.CheckColumnConstraint)]
            said = ", ".join(check.sql("duckdb", identify=True) for check in plain)
        except (SqlglotError, RecursionError):
            continue
        found += checks(f"CREATE TABLE t ({named}, {said})", "duckdb") if said else ()
    return tuple(dict.fromkeys(found))


def _plainly(node: exp.Expr) -> exp.Expr:
    """Without the types that the server writes beside constants and texts, and lists as IN has them."""
    if isinstance(node, exp.Cast):
        inner = node.this.unnest()
        if isinstance(inner, exp.Column) and node.is_type(*_TEXTS):
            return inner
        if isinstance(inner, exp.Literal) and node.is_type(*_TEXTS, *_NUMBERS, *_DATES):
            return sqlglot.parse_one(inner.name) if inner.is_string and node.is_type(*_NUMBERS) else inner
    if isinstance(node, (exp.EQ, exp.NEQ)):
        listed = _listed(node.expression, "ANY" if isinstance(node, exp.EQ) else "ALL")
        if listed:
            values = [value.transform(_plainly) for value in listed]
            found = exp.In(this=node.this.transform(_plainly), expressions=values)
            return found if isinstance(node, exp.EQ) else exp.Not(this=found)
    return node


def _listed(node: exp.Expr, word: str) -> Sequence[exp.Expr]:
    """The elements of ANY (ARRAY[...]) or ALL (ARRAY[...])."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == word and len(node.expressions) == 1:
        array = node.expressions[0]
    elif isinstance(node, exp.Any) and word == "ANY":
        array = node.this
    else:
        return ()
    while isinstance(array, (exp.Paren, exp.Cast)):
        array = array.this
    return array.expressions if isinstance(array, exp.Array) else ()
