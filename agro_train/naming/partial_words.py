"""Which names a word that is not whole may become: a model's tokens end anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from agro_data.databases.quoting import folded
from agro_train.naming import keyed
from agro_train.naming.following import keywords
from agro_train.naming.partial_query import PartialQuery
from agro_train.naming.scopes import Scopes
from agro_train.naming.words import (
    ALIAS,
    COMPUTED,
    ENDING,
    GIVEN,
    PLAIN,
    SPECIAL,
    TABLE_FUNCTIONS,
    inside,
    names_output,
)


def may_begin(query: PartialQuery, kind: str, text: str) -> bool:
    """Whether a word or a name in quotes that is not closed may follow, or begin what may follow."""
    if query.over or not (settled := query.copy()).settle():
        return False
    name = folded(text) if kind == "word" else inside(text)
    if kind == "word" and _begins(name, keywords(settled.scopes)):
        return True
    return _names_begin(settled, name, "" if kind == "word" else text[0])


def _names_begin(query: PartialQuery, name: str, quote: str) -> bool:
    top = query.top
    if top.want in ("sourced", "new"):
        return _alias_begins(query, name, quote)
    if top.want == "word" or (top.want == "bracket" and top.last == "over"):
        return True
    if top.want == "column" and top.link is not None:
        tied = keyed.may_be_tied(query.scopes.names, top)
        return _begins(name, (column for place, column in tied if top.sources[place].alias == top.qualifier), quote)
    if top.want == "column":
        found = query.scopes.qualified_by(top.qualifier)
        return any(columns is None or _begins(name, columns, quote) for columns in found) or _begins(name, SPECIAL)
    if top.want == "source":
        tables = (table for table in query.scopes.names.tables if keyed.may_join(query.scopes.names, top, table))
        words = {*tables, *(cte for cte, _ in query.scopes.ctes())}
        return _begins(name, words, quote) or (not quote and _begins(name, TABLE_FUNCTIONS | {"lateral"}))
    if top.want == "operand" and top.link is not None:
        return any(_begins(name, words, quote) for words in keyed.names_of(query.scopes.names, top))
    if top.want == "operand":
        return _operand_begins(query.scopes, name, quote)
    return query.scopes.alias_may_follow and bool(quote or names_output(name) or _begins(name, GIVEN))


def _alias_begins(query: PartialQuery, name: str, quote: str) -> bool:
    """Any word may behind AS, without it a short one; where it stands for another source already, it may go on (`v2`
    behind `v`)."""
    top = query.top
    if quote or top.want != "sourced":
        return True
    if name not in ENDING:
        return ALIAS.fullmatch(name) is not None
    return any(alias != name and alias.startswith(name) for alias, _ in top.qualified)  # `orders` behind `order`


def _operand_begins(scopes: Scopes, name: str, quote: str) -> bool:
    if scopes.may_be_text(quote):
        return True
    if not quote and _begins(name, scopes.names.functions):
        return True
    if any(columns is None or _begins(name, columns, quote) for columns in scopes.columns()) or _begins(name, SPECIAL):
        return True
    open_select = False
    for level in scopes.queries():
        if _begins(name, (one.alias for one in (*level.sources, *level.past)), quote):
            return True
        open_select |= level.clause == "select" and not level.closed
    if not open_select:
        return False
    if COMPUTED.fullmatch(name) or _begins(name, GIVEN) or _begins(name, scopes.names.tables, quote):
        return True
    return _begins(name, (cte for cte, _ in scopes.ctes()), quote) or (
        ALIAS.fullmatch(name) is not None and bool(scopes.qualified_by(name))
    )


def _begins(name: str, words: Iterable[str], quote: str = "") -> bool:
    """Whether `name` begins one of `words`; without quotes, one that can be written so."""
    return any(word.startswith(name) and (quote or PLAIN.fullmatch(word)) for word in words)
