"""Students who have no cat: `kind <> 'cat'` over a join with their pets gives those who have a cat and a dog.

Told where the question negates the verb ("do not have", "never", "without") and the SQL nothing else, or where LEFT
JOIN and IS NULL say that rows without any are meant, too; and where such rows are in the data, so that leaving them out
changes the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.rows.row_keys import RowKey, is_in_each_row, only_table
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import joined, parts_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Binding, Resolution, value_of

_NOT = re.compile(r"\b(?:no|not|never|without|nor|neither)\b|n't\b", re.IGNORECASE)
_NONE = re.compile(
    r"\b(?:do|does|did|have|has|had)(?: not|n't)\b|\b(?:never|without)\b|\b(?:have|has|had|with) no\b", re.IGNORECASE
)


def offer_negated(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair."""
    select, dialect = found.tree, profile.dialect
    if not isinstance(select, exp.Select) or not _NOT.search(pair.question):
        return
    where = select.args.get("where")
    if where is None or select.args.get("group") or select.args.get("limit"):
        return
    key = _key(select, found, profile)
    parts = list(parts_of(where.this))
    says_none = _NONE.search(pair.question) is not None and sum(map(_negates, parts)) == 1  # else it may be of another
    for part in parts if key is not None else ():
        unlike, nulls = _negated(part, found)
        bound = found.binding(unlike.this) if unlike is not None else None
        if unlike is None or bound is None or key is None or bound.source is key.source:
            continue
        if not nulls and not says_none:
            continue
        has = exp.EQ(this=unlike.this.copy(), expression=unlike.expression.copy())
        among = select.copy()
        for name in ("order", "distinct"):
            among.set(name, None)
        among.set("expressions", [key.node])
        among.set("where", exp.Where(this=joined([has, *(one for one in parts if one is not part)])))
        other = select.copy().where(exp.Not(this=exp.In(this=key.node, query=exp.Subquery(this=among))))
        says = (
            f"{sql_text(part, dialect)} passes rows of {key.source.table} that have {sql_text(has, dialect)}, too, "
            "beside another: without them the answer is another."
        )
        yield Offer(Finding("other_value_passes", says), pair.sql, sql_text(other, dialect))
        return


def _negates(part: exp.Expr) -> bool:
    """Whether a condition says what is not so; IS NOT NULL says that something is."""
    inner = part.unnest()
    other = isinstance(inner, exp.Not) and not isinstance(inner.this.unnest(), exp.Is)
    return other or inner.find(exp.NEQ) is not None


def _negated(part: exp.Expr, found: Resolution) -> tuple[exp.NEQ | None, bool]:
    """A comparison with a value that is to be another, and whether NULL passes as well: the table is outer-joined."""
    sides = [one.unnest() for one in parts_of(part, exp.Or)]
    unlike = [one for one in sides if isinstance(one, exp.NEQ) and value_of(one.expression, found) is not None]
    if len(unlike) != 1 or not isinstance(unlike[0].this, exp.Column):
        return None, False
    if len(sides) == 1:
        return unlike[0], False
    nulls = [one.this for one in sides if isinstance(one, exp.Is) and isinstance(one.expression, exp.Null)]
    owner = _source(found.binding(unlike[0].this))
    same = len(nulls) == len(sides) - 1 and all(_source(found.binding(one)) is owner for one in nulls)
    return (unlike[0], True) if same else (None, False)


def _source(bound: Binding | None) -> object:
    return bound.source if bound is not None else None


def _key(select: exp.Select, found: Resolution, profile: DatabaseProfile) -> RowKey | None:
    """The key of the table whose columns come out, if it is one table, and each row has it."""
    source = only_table(select.expressions, found)
    columns = profile.table(source.table).primary_key if source is not None else ()
    key = RowKey(source, columns[0]) if source is not None and len(columns) == 1 else None
    return key if key is not None and is_in_each_row(key, select, profile) else None
