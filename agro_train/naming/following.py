"""The keywords that may come next in a query, read from its levels, which stay unchanged."""

from __future__ import annotations

from agro_train.naming.scopes import Scopes
from agro_train.naming.words import (
    BEFORE,
    CASE,
    ENDING,
    INFIX,
    JOINED,
    NEGATED,
    OPENING,
    POSTFIX,
    SET,
    UNITS,
    WINDOW,
)


def keywords(scopes: Scopes) -> frozenset[str]:
    """Keywords that may stand next."""
    top = scopes.top
    if top.link is not None:
        return frozenset()
    if top.kind == "window":
        return WINDOW | BEFORE | INFIX | POSTFIX | (CASE if top.cases else frozenset())
    if top.want == "start":
        return OPENING | ({"all"} if top.last in SET else frozenset())
    if top.want in ("by", "as"):
        return frozenset({top.want})
    if top.want == "bracket" and top.last == "within":
        return frozenset({"group"})
    if top.want == "join":
        return JOINED.get(top.last, frozenset({"join"}))
    if top.want == "cte":
        wanted = {"name": {"as"}, "as": {"not", "materialized"}, "not": {"materialized"}, ")": {"select"}}
        return frozenset(wanted.get(top.last, ()))
    if top.want == "operand":
        more: frozenset[str] = frozenset()
        if top.last == "case":
            more |= {"when"}
        if top.last in ("not", "is"):
            more |= NEGATED
        if top.last == "(" and top.kind == "bracket":
            more |= {"where", "order", "both", "leading", "trailing"}
            more |= OPENING if scopes.may_deepen else frozenset()
        more |= {"interval"} if scopes.names.dialect == "duckdb" else frozenset()
        return BEFORE | more | ({"from"} if top.last == "distinct" else frozenset())
    if top.want not in ("after", "sourced", "aliased"):
        return frozenset()
    return _following(scopes)


def _following(scopes: Scopes) -> frozenset[str]:
    """Those that may follow an operand, a source or its alias."""
    top = scopes.top
    if top.cases:
        return INFIX | POSTFIX | CASE | {"over", "filter", "within", "collate"}
    if top.kind == "bracket":
        more = {"as", "order", "asc", "desc", "from", "for", "separator", "over", "filter", "collate", "nulls"}
        return INFIX | POSTFIX | UNITS | more | {"first", "last", "using", "limit", "respect", "ignore", "by"}
    words: set[str] = set()
    if top.want == "after" and top.clause not in ("with", ""):
        words |= INFIX | POSTFIX | {"over", "filter", "within", "collate", "order", "limit"}
        words |= UNITS if scopes.names.dialect == "duckdb" else set()
    if top.clause == "select":
        words |= {"from", "as", "exclude"} | SET | {"where", "limit", "order"}
    if top.clause in ("from", "on"):
        words |= scopes.names.joining | ({"on", "using"} if top.owed else set())
        words |= {"as"} if top.want == "sourced" else set()
    if top.clause in ("order", "limit"):
        words |= {"asc", "desc", "nulls", "first", "last", "offset"}
    if top.clause != "with":
        words |= ENDING
    if top.clause not in ("from", "on", "select"):
        words -= {"where"}
    if words & ENDING and not scopes.copy().end_from():
        words -= ENDING
    return frozenset(words)
