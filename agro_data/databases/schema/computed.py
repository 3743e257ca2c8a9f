"""By which formulas the computed columns of a table follow from its other columns.

Neither engine tells it of a column; both keep the statement that makes the table.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.duckdb_settings import DUCKDB_SETTINGS
from agro_data.databases.quoting import quoted
from agro_data.databases.types import Dialect

_COMPUTED = re.compile(r"\bas\s*\(", re.IGNORECASE)  # others are not parsed
# What computes with the values of one row, the same each time and at once. A file's own formula may be anything.
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div,
    exp.IntDiv, exp.Mod, exp.Round, exp.Abs, exp.Cast, exp.DataType, exp.DataTypeParam, exp.Coalesce, exp.Nullif,
    exp.DPipe, exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring, exp.Case, exp.If, exp.EQ, exp.NEQ, exp.LT,
    exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.Is, exp.Between,
)  # fmt: skip


def formulas(sql: str, dialect: Dialect) -> dict[str, str]:
    """Formula by column of the table that the statement `sql` makes, every name in it quoted.

    Left out is a formula of anything but arithmetic, texts and cases. Empty for a statement that cannot be read, and
    where the engine does not take the formulas as they are written here.
    """
    if _COMPUTED.search(sql) is None:
        return {}
    try:
        made = sqlglot.parse_one(sql, dialect=dialect)
        columns = {column.name: column for column in made.find_all(exp.ColumnDef)}
        computed = {name: formula for name, column in columns.items() if (formula := _formula(column)) is not None}
        found = {
            name: formula.unnest().sql(dialect, identify=True)
            for name, formula in computed.items()
            if all(isinstance(node, _PLAIN) for node in formula.walk())
        }
        types = {name: c.kind.sql(dialect) if c.kind else "" for name, c in columns.items()}
    except (SqlglotError, RecursionError):
        return {}
    lines = [f"{quoted(name)} {kind}" for name, kind in types.items() if name not in computed]
    lines += [f"{quoted(name)} {types[name]} GENERATED ALWAYS AS ({formula})" for name, formula in found.items()]
    return found if found and _is_taken(f"CREATE TABLE agro ({', '.join(lines)})", dialect) else {}


def _is_taken(sql: str, dialect: Dialect) -> bool:
    """Whether the engine makes such a table."""
    try:
        if dialect == "sqlite":
            with closing(sqlite3.connect(":memory:")) as scratch:
                scratch.execute(sql)
        else:
            with duckdb.connect(":memory:", config={**DUCKDB_SETTINGS, "enable_external_access": "false"}) as memory:
                memory.execute(sql)
    except (sqlite3.Error, duckdb.Error, ValueError):
        return False
    return True


def _formula(column: exp.ColumnDef) -> exp.Expr | None:
    for constraint in column.args.get("constraints") or ():
        computed = isinstance(constraint.kind, exp.ComputedColumnConstraint)
        if computed or isinstance(constraint.kind, exp.GeneratedAsIdentityColumnConstraint):
            formula = constraint.kind.args.get("this" if computed else "expression")
            return formula if isinstance(formula, exp.Expr) else None
    return None
