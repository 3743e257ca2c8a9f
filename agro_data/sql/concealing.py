"""A database shown without some of it: SQL rewritten so that a table, a column or a value is not there.

Each occurrence of a table becomes a derived table of what is left of it, under the same name. A query that asks for the
hidden thing fails with the engine's own words, `*` lists what is left, and no database is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.names.resolution import Scope
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import parse_select

# Functions of a FROM that make rows of what they are given, and read no table.
_ROWS_OF_ARGUMENTS = (exp.GenerateSeries, exp.Repeat)
_ROWS_OF_JSON = frozenset(("json_each", "json_tree"))


@dataclass(frozen=True)
class Hidden:
    """A table; or, where `column` is given, that column of it; or, where `value` is too, the rows that hold it."""

    table: str
    column: str = ""
    value: str = ""

    def __str__(self) -> str:
        column = f".{self.column}" if self.column else ""
        return f"{self.table}{column}{f' = {self.value!r}' if self.value else ''}"

    @classmethod
    def of(cls, row: Mapping[str, str | None]) -> Hidden:
        """What a row of `records.HIDDEN` names."""
        return cls(row["table"] or "", row["column"] or "", row["value"] or "")


class NotThere(LookupError):
    """A query names a table that is hidden, or none that is known; the message is what the engine says of one that
    does not exist."""


def conceal(sql: str, dialect: Dialect, schema: Schema, hidden: Sequence[Hidden]) -> str:
    """`sql` rewritten so that, on the whole database, it does what it would do on a database without `hidden`.

    `schema` is the whole database's. Raises `parse.SqlRefused` if it is no query, and `NotThere` if it reads a hidden
    table, or something that could be one: a table with its database's name before it, a function that may read tables,
    a query inside such a function.
    """
    tree = parse_select(sql, dialect)
    by_table: dict[str, list[Hidden]] = {}
    for one in hidden:
        by_table.setdefault(one.table, []).append(one)
    scopes = resolve(tree, dialect, schema).scopes
    if unfollowed := _unfollowed(tree, scopes, dialect):
        raise NotThere(_no_table(unfollowed, dialect))
    for scope in scopes:
        for source in scope.sources:
            if source.table not in by_table or not isinstance(source.node, exp.Table):
                continue
            parts = by_table[source.table]
            if not all(part.column for part in parts):
                raise NotThere(_no_table(source.node.name, dialect))
            _replace(source.node, source.table, schema[source.table], parts, dialect)
    for among in tree.find_all(exp.In) if dialect == "sqlite" else ():
        named = among.args.get("field")  # x IN shop reads the table shop
        if isinstance(named, exp.Column) and folded(named.name) in map(folded, by_table):
            raise NotThere(_no_table(named.name, dialect))
    return tree.sql(dialect=dialect)


def _unfollowed(tree: exp.Query, scopes: Sequence[Scope], dialect: Dialect) -> str:
    """The first table in a query that is bound to none of the schema and to no query there, or ""."""
    bound = {id(one.node) for scope in scopes for one in scope.sources if one.table or one.query is not None}
    for node in tree.find_all(exp.Table):
        called: exp.Expr = node.this
        if isinstance(called, exp.Identifier):
            if id(node) not in bound:
                return ".".join(part.name for part in node.parts)
        elif not isinstance(called, _ROWS_OF_ARGUMENTS) and called.name.lower() not in _ROWS_OF_JSON:
            return called.name.lower() or called.sql(dialect=dialect)
    return ""


def _replace(
    node: exp.Table, table: str, columns: Mapping[str, str], parts: Sequence[Hidden], dialect: Dialect
) -> None:
    """Put what is left of the table in its place, with its alias and the joins that hang on it."""
    gone = {folded(part.column) for part in parts if not part.value}
    left = exp.select(*(exp.column(name, quoted=True) for name in columns if folded(name) not in gone))
    left = left.from_(exp.Table(this=exp.to_identifier(table, quoted=True), db=node.args.get("db")))
    unlike = exp.NullSafeNEQ if dialect == "duckdb" else _is_not
    for part in parts:
        if part.value:
            column, value = exp.column(part.column, quoted=True), exp.Literal.string(part.value)
            left = left.where(unlike(this=column, expression=value))
    derived = exp.Subquery(this=left, alias=exp.TableAlias(this=exp.to_identifier(node.alias_or_name, quoted=True)))
    joins = node.args.get("joins")
    if joins:
        derived.set("joins", joins)
    node.replace(derived)


def _is_not(this: exp.Expr, expression: exp.Expr) -> exp.Not:
    """SQLite's IS NOT, which holds where either side is NULL."""
    return exp.Not(this=exp.Is(this=this, expression=expression))


def _no_table(name: str, dialect: Dialect) -> str:
    if dialect == "sqlite":
        return f"no such table: {name}"
    return f"Catalog Error: Table with name {name} does not exist!"
