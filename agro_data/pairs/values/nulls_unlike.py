"""`driver_id <> 3` where some driver_id is NULL: what nobody carries is not carried by driver 3, and fails.

Only where the question negates, and the SQL says nothing else of the column, such as IS NOT NULL. Each finding is
demonstrated: with the rows of NULL the answer is another. Whether they count is for a person to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import column_of
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import parts_of_where
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, Scope, value_of

_NOT = re.compile(r"\b(?:no|not|never|without|nor|neither|except|excluding|exclude)\b|n['’]t\b", re.IGNORECASE)
_HAS_ONE = re.compile(r"\b(?:other than|another|others?|different|known|recorded|given|specified)\b", re.IGNORECASE)


def offer_with_nulls(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: the same with the rows of NULL in what it compares by `<>`, NOT IN or NOT LIKE."""
    if _NOT.search(pair.question) is None or _HAS_ONE.search(pair.question) is not None:
        return
    unlike = [one for scope in found.scopes for one in _unlike(scope, found, profile)]
    if unlike:
        new = [(part, exp.paren(exp.Or(this=part.copy(), expression=_is_null(column)))) for part, column in unlike]
        part, column = unlike[0]
        shown, name = (sql_text(node, profile.dialect) for node in (part, column))
        says = f"Rows of which {name} is NULL fail {shown}: with them the answer is another."
        yield Offer(Finding("null_left_out", says), pair.sql, rewritten(found, new, profile.dialect), found.ordered)


def _is_null(column: exp.Expr) -> exp.Expr:
    return exp.Is(this=column.copy(), expression=exp.Null())


def _unlike(scope: Scope, found: Resolution, profile: DatabaseProfile) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Conditions by which a column is to be another than a value, with the column: one that may be NULL, and of which
    the statement asks nothing else.
    """
    if any(join.side for join in scope.select.args.get("joins") or ()):
        return  # NULL says that there is no match (`pairs.rows.negated`)
    for part in parts_of_where(scope.select):
        column = _other_than_value(part, found)
        place = found.place(column) if column is not None else None
        if column is None or place is None or profile.table(place[0]).never_null(place[1]):
            continue
        tests = [node for node in found.tree.find_all(exp.Predicate) if _tests(node, place, found)]
        if len(tests) == 1:
            yield part, column


def _other_than_value(part: exp.Expr, found: Resolution) -> exp.Expr | None:
    """The column of `x <> 3`, NOT x = 3, x NOT IN (3, 4) or x NOT LIKE '3%'; None of any other condition."""
    denied = isinstance(part, exp.Not)
    inner = part.this.unnest() if denied else part
    if isinstance(inner, exp.In):
        values = inner.expressions if denied else []
    elif isinstance(inner, (exp.Like, exp.ILike)):
        values = [inner.expression] if denied != bool(inner.args.get("negate")) else []
    else:
        values = [inner.expression] if isinstance(inner, exp.EQ if denied else exp.NEQ) else []
    fixed = values and all(value_of(value, found) is not None for value in values)
    return column_of(inner.this, found) if fixed else None


def _tests(node: exp.Expr, place: tuple[str, str], found: Resolution) -> bool:
    """Whether a test names the column itself, not by a query in it."""
    return any(
        found.place(column) == place and column.find_ancestor(exp.Predicate) is node
        for column in node.find_all(exp.Column)
    )
