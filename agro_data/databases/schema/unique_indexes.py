"""What a unique index says of the columns of its table.

SQLite lists the columns of an index, but not those within an expression; DuckDB tells of none as a constraint. Both
keep the statement that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import folded
from agro_data.databases.schema.checks import plainly
from agro_data.databases.types import Dialect

_FOLDING = (exp.Paren, exp.Lower, exp.Upper, exp.Trim, exp.Collate)  # NULL only of NULL, and the same of the same


@dataclass(frozen=True)
class UniqueKey:
    """`columns` of which no two rows have the same; with a `condition` (as `databases.schema.checks` gives it), no two
    rows that meet it.
    """

    columns: tuple[str, ...]
    condition: str = ""


def unique_key(sql: str, dialect: Dialect, columns: Iterable[str]) -> UniqueKey | None:
    """What the statement of a unique index says of the `columns` of its table, as far as it is plain.

    Of `lower(email)` that is the email: two rows with one email would have one `lower(email)`. None where there is more
    to an index: another expression, or another WHERE than `databases.schema.checks` reads.
    """
    try:
        made = sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return None
    index = made.this if isinstance(made, exp.Create) and made.args.get("unique") else None
    parameters = index.args.get("params") if isinstance(index, exp.Index) else None
    if parameters is None:
        return None
    written = {folded(column): column for column in columns}
    named = [written.get(folded(_column(item)), "") for item in parameters.args.get("columns") or ()]
    if not named or not all(named):
        return None
    where = parameters.args.get("where")
    condition = plainly(where.this, written, dialect) if where is not None else None
    if where is not None and condition is None:
        return None
    return UniqueKey(tuple(dict.fromkeys(named)), condition.sql(identify=True) if condition is not None else "")


def _column(item: exp.Expr) -> str:
    """The column that a part of an index is about, or ""."""
    node = item.this if isinstance(item, exp.Ordered) else item
    while isinstance(node, _FOLDING):
        node = node.this
    return node.name if isinstance(node, exp.Column) else ""
