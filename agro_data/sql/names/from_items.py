"""What stands in a FROM and is no table of a schema: brackets, written rows, the parts of a JSON text."""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect

_JSON_COLUMNS = ("key", "value", "type", "atom", "id", "parent", "fullkey", "path")


def is_bracketed(node: exp.Expr) -> bool:
    """Whether brackets hold tables, as in FROM (a JOIN b ON ...) and FROM ((a)), and no query."""
    while isinstance(node, exp.Subquery):
        node = node.this
        if isinstance(node, exp.Table) or (isinstance(node, exp.Subquery) and node.args.get("joins")):
            return True
    return False


def take_brackets_off(select: exp.Select) -> None:
    """`FROM ((a JOIN b) JOIN c)`, as DuckDB writes the views that it keeps, as `FROM a JOIN b JOIN c`, in place."""
    start = select.args.get("from_")
    node, joins = start.this if start is not None else None, list(select.args.get("joins") or [])
    while isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, (exp.Table, exp.Subquery)):
        node = node.this
        joins = [*(node.args.get("joins") or []), *joins]
    if start is not None and node is not start.this and isinstance(node, exp.Table):
        node.set("joins", None)
        start.set("this", node)
        select.set("joins", joins)


def written_columns(node: exp.Expr, dialect: Dialect) -> list[str]:
    """The columns that VALUES or UNNEST gives in a FROM: as its alias says, else as the engine calls them."""
    alias = node.args.get("alias")
    declared = [folded(column.name) for column in alias.args.get("columns") or ()] if alias is not None else []
    if isinstance(node, exp.Unnest):
        ordinal = node.args.get("offset")
        if isinstance(ordinal, exp.Identifier):
            declared.append(folded(ordinal.name))
        made = [folded(node.alias) or "unnest", *(["ordinality"] if ordinal else [])]
    else:
        width = len(node.expressions[0].expressions) if node.expressions else 0
        made = [f"column{n + 1}" if dialect == "sqlite" else f"col{n}" for n in range(width)]
    return [*declared, *made[len(declared) :]]


def rows_of_json(node: exp.Expr) -> bool:
    """Whether a source is a call of `json_each` or `json_tree`, which both engines have."""
    called = node.this if isinstance(node, exp.Table) and not node.db else None
    return isinstance(called, exp.Anonymous) and called.name.lower() in ("json_each", "json_tree")


def json_columns(node: exp.Expr) -> list[str]:
    """The columns that a call of `json_each` or `json_tree` gives in a FROM, as the engine calls them."""
    return [*_JSON_COLUMNS, "ordinality"] if node.args.get("ordinality") else [*_JSON_COLUMNS]
