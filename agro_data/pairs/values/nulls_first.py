"""NULL as an extreme: SQLite sorts it before every value, so the first rows are those of which nothing is known.

Each finding is demonstrated: without the rows whose key is NULL, LIMIT keeps others. SQL that says NULLS FIRST means
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import nulls_come_first
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import joined
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution
from agro_data.verify.edits import Change, edited, narrowed

_SAID = re.compile(r"\bnulls\s+first\b", re.IGNORECASE)  # in the tree it is as if nothing was said


def offer_without_nulls(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: the same without the rows whose key is NULL."""
    sql, dialect = pair.sql, profile.dialect
    for scope in found.scopes if not _SAID.search(sql) else ():
        select = scope.select
        order = select.args.get("order")
        if order is None or select.args.get("limit") is None or select.find(exp.Window) is not None:
            continue
        key = order.expressions[0]
        first = nulls_come_first(dialect, falling=bool(key.args.get("desc"))) and key.args.get("nulls_first")
        term = found.meaning(key.this, select)
        if not first or _has_value(term, select, found, profile):
            continue
        value = exp.Paren(this=term.copy()) if isinstance(term, exp.Binary) else term.copy()
        known = exp.Is(this=value, expression=exp.Not(this=exp.Null()))
        having = select.args.get("having")
        change = narrowed(scope, known)
        if any(is_aggregate(node) for node in term.find_all(exp.Func)):
            change = Change(select, "having", exp.Having(this=joined([*([having.this] if having else []), known])))
        other = edited(found.tree, [change], dialect)
        says = f"In some of the first rows {sql_text(term, dialect)} is NULL, which sorts before every value."
        yield Offer(Finding("null_first", says, mended=other), sql, other, ordered=found.tree is select)


def _has_value(term: exp.Expr, select: exp.Select, found: Resolution, profile: DatabaseProfile) -> bool:
    """Whether a key is seen to be no NULL, or cannot be asked about in a condition of its own."""
    if isinstance(term, (exp.Literal, exp.Count)) or term.find(exp.Query) is not None:
        return True
    place = found.place(term)
    inner = not any(join.side for join in select.args.get("joins") or ())
    return inner and place is not None and profile.table(place[0]).never_null(place[1])
