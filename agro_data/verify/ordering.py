"""Whether a query orders its rows, and by which of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from sqlglot import Dialect as Grammar
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.parse import CLOSING, OPENING, SqlRefused, parse_select
from agro_data.sql.walks import leftmost


@cache
def orders(sql: str, dialect: Dialect) -> bool:
    """Whether a query orders its rows at top level, which brackets around the whole of it are.

    Told from its tokens, since engines run more than is parsed here. One that cannot even be split into them does not.
    """
    try:
        tokens = [token.token_type for token in Grammar.get_or_raise(dialect).tokenize(sql)]
    except SqlglotError:
        return False
    while tokens and tokens[-1] == TokenType.SEMICOLON:
        tokens.pop()
    depths = _depths(tokens)
    while tokens[:1] == [TokenType.L_PAREN] and tokens[-1] == TokenType.R_PAREN and min(depths[:-1]) > 0:
        tokens, depths = tokens[1:-1], [depth - 1 for depth in depths[1:-1]]
    return any(token == TokenType.ORDER_BY and not depth for token, depth in zip(tokens, depths, strict=True))


def _depths(tokens: Sequence[TokenType]) -> list[int]:
    """How many brackets are open after each token."""
    return list(accumulate((token in OPENING) - (token in CLOSING) for token in tokens))


def order_is_open(sql: str, dialect: Dialect) -> bool:
    """Whether the engine chooses the order of a query's rows, all of which are in its answer."""
    try:
        return has_open_order(parse_select(sql, dialect))
    except SqlRefused:
        return False


def has_open_order(tree: exp.Query) -> bool:
    """Whether no ORDER BY or LIMIT decides the order of all rows. One in the derived table or CTE that a plain SELECT
    reads does, by what engines do.
    """
    if tree.args.get("order") is not None or tree.args.get("limit") is not None:
        return False
    if not isinstance(tree, exp.Select) or any(tree.args.get(name) for name in ("joins", "group", "distinct")):
        return True
    read = tree.args.get("from_")
    inner = read.this if read is not None else None
    if isinstance(inner, exp.Table):
        inner = next((cte for cte in tree.ctes if folded(cte.alias) == folded(inner.name)), None)
    query = inner.this if isinstance(inner, (exp.Subquery, exp.CTE)) else None
    return not isinstance(query, exp.Query) or has_open_order(query)


@cache
def order_keys(sql: str, dialect: Dialect) -> tuple[int, ...] | None:
    """The output columns (from 0) that a query orders by at top level; None if a key is not among its outputs."""
    try:
        tree = parse_select(sql, dialect)
    except SqlRefused:
        return None
    order = tree.args.get("order")
    items = leftmost(tree).expressions
    if order is None or any(item.is_star for item in items):
        return None
    names = {folded(item.alias_or_name): place for place, item in reversed(list(enumerate(items)))}
    found: list[int] = []
    for term in (key.this for key in order.expressions):
        same = [place for place, item in enumerate(items) if item.unalias() == term]
        if isinstance(term, exp.Literal) and term.is_int and 0 < int(term.this) <= len(items):
            found.append(int(term.this) - 1)
        elif isinstance(term, exp.Column) and not term.table and folded(term.name) in names:
            found.append(names[folded(term.name)])  # an output before a column of a source, as engines read it
        elif same:
            found.append(same[0])
        else:
            return None
    return tuple(found)
