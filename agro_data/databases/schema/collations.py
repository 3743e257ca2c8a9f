"""By which collation the columns of a table compare their texts, where it is not byte by byte.

Neither engine tells it of a column: SQLite tells it of an index, DuckDB only in the statement that makes the table.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import quoted

BUILT_IN = frozenset(("nocase", "rtrim", "noaccent", "nfc"))  # what the engines have of their own, in lower case


def sqlite_collations(sql: str) -> dict[str, str]:
    """Collation by column of the table that the statement `sql` makes; columns that compare byte by byte left out.

    Empty for a statement that SQLite does not take, such as one with a collation that only another program has.
    """
    if "collate" not in sql.lower():
        return {}
    found: dict[str, str] = {}
    with closing(sqlite3.connect(":memory:")) as scratch:
        try:
            scratch.set_authorizer(_makes_a_table)
            scratch.execute(sql)
            scratch.set_authorizer(None)
            [(table,)] = scratch.execute("SELECT name FROM pragma_table_list WHERE name NOT LIKE 'sqlite%'")
            listed = scratch.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", (table,))
            for number, (column,) in enumerate(listed.fetchall()):
                scratch.execute(f"CREATE INDEX agro_{number} ON {quoted(table)} ({quoted(column)})")
                told = "SELECT coll FROM pragma_index_xinfo(?) WHERE seqno = 0"
                [(found[column],)] = scratch.execute(told, (f"agro_{number}",))
        except (sqlite3.Error, ValueError):
            return {}
    return {column: collation for column, collation in found.items() if collation.lower() in BUILT_IN}


def _makes_a_table(action: int, *_: object) -> int:
    """A file's own statement may make a table, and compute nothing."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_ATTACH) else sqlite3.SQLITE_OK


def duckdb_collations(sql: str) -> dict[str, str]:
    """The same of a statement of DuckDB; one that cannot be read has none."""
    if "collate" not in sql.lower():
        return {}
    try:
        made = sqlglot.parse_one(sql, dialect="duckdb")
    except SqlglotError:
        return {}
    return {
        column.name: constraint.kind.this.sql("duckdb")
        for column in made.find_all(exp.ColumnDef)
        for constraint in column.find_all(exp.ColumnConstraint)
        if isinstance(constraint.kind, exp.CollateColumnConstraint)
        and set(constraint.kind.this.name.lower().split(".")) <= BUILT_IN
    }
