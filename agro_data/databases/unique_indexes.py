"""What a unique index says of the columns of its table.

SQLite lists the columns of an index, but not those within an expression; DuckDB tells of none as a constraint. Both
keep the statement that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect

_FOLDING = (exp.Paren, exp.Lower, exp.Upper, exp.Trim, exp.Collate)  # NULL only of NULL, and the same of the same


def indexed_columns(sql: str, dialect: Dialect, columns: Iterable[str]) -> tuple[str, ...]:
    """Those of the table's `columns`, of which no two rows have the same, that the statement of a unique index names.

    Of `lower(email)` that is the email: two rows with one email would have one `lower(email)`. Empty where there is
    more to an index, as a WHERE or another expression.
    """
    try:
        made = sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return ()
    index = made.this if isinstance(made, exp.Create) and made.args.get("unique") else None
    parameters = index.args.get("params") if isinstance(index, exp.Index) else None
    if parameters is None or parameters.args.get("where") is not None:
        return ()
    written = {folded(column): column for column in columns}
    named = [written.get(folded(_column(item)), "") for item in parameters.args.get("columns") or ()]
    return tuple(dict.fromkeys(named)) if all(named) else ()


def _column(item: exp.Expr) -> str:
    """The column that a part of an index is about, or ""."""
    node = item.this if isinstance(item, exp.Ordered) else item
    while isinstance(node, _FOLDING):
        node = node.this
    return node.name if isinstance(node, exp.Column) else ""
