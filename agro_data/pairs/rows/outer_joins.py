"""LEFT JOINs that do not do what they are written for: a condition drops the rows without a match again, or COUNT takes
such a row for a match.

Each finding is demonstrated by another answer; that a condition drops all rows without a match is proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import column_of
from agro_data.populate.instances import instance_schema
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import joined, links, parts_of
from agro_data.sql.constructs import aggregates_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.joined_on import joined_on
from agro_data.sql.names.resolution import Binding, Resolution, Scope, Source
from agro_data.sql.walks import around
from agro_data.verify.proofs import proved_equivalent

_ALL = re.compile(
    r"\b(?:each|every|including|even if|even those|even when|regardless|whether|if any|or not|zero)\b", re.IGNORECASE
)
_BY_ITSELF = (exp.Alias, exp.Select, exp.Ordered, exp.Having, exp.And, exp.Or, exp.Paren, exp.Predicate)


@dataclass(frozen=True)
class _Outer:
    """A LEFT JOIN of one SELECT, with the table that it joins."""

    join: exp.Join
    source: Source
    scope: Scope

    def owns(self, binding: Binding | None) -> bool:
        return binding is not None and binding.source is self.source


def offer_outer_joins(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair."""
    found = joined_on(found, profile.dialect, profile.schema)
    joins = list(_outer_joins(found))
    for one in (*_counted(found, joins, profile), *_undone(pair, found, joins, profile)):
        yield Offer(one, pair.sql, one.witness, found.ordered)


def _outer_joins(found: Resolution) -> Iterator[_Outer]:
    for scope in found.scopes:
        joins = scope.select.args.get("joins") or ()
        if len(scope.sources) != len(joins) + 1 or any(join.side in ("RIGHT", "FULL") for join in joins):
            continue
        for join, source in zip(joins, scope.sources[1:], strict=True):
            if join.side == "LEFT" and source.table and join.args.get("on") is not None:
                yield _Outer(join, source, scope)


# --- undone ------------------------------------------------------------------------------------------------------


def _undone(pair: Pair, found: Resolution, joins: Sequence[_Outer], profile: DatabaseProfile) -> Iterator[Finding]:
    """A condition in WHERE or of a later JOIN that no row without a match passes, where all are asked for."""
    said, dialect = _ALL.search(pair.question), profile.dialect
    for one in joins if said is not None else ():
        moved = [*_conditions(one, found)]
        later = [] if moved else [*_later(one, found)]
        meant = any(isinstance(test, exp.Is) for part in moved for test in part.find_all(exp.Is))
        if meant or not (moved or later) or not _is_inner(pair.sql, found, one, profile):
            continue
        assert said is not None
        how = f"keeps rows without a match in {one.source.table}"
        if moved:
            says = " AND ".join(sql_text(part, dialect) for part in moved)
            text = _moved(found, one, moved, dialect)
            what, then = f"WHERE {says} drops them", "with the condition in ON"
        else:
            text = _left(found, later, dialect)
            what, then = f"JOIN {later[0].this.name} drops them", "with LEFT JOIN there, too,"
        says = f"The question says {said[0]!r}. LEFT JOIN {how}, {what}: {then} the answer is another."
        yield Finding("left_join_undone", says, text)


def _conditions(one: _Outer, found: Resolution) -> Iterator[exp.Expr]:
    """The parts of WHERE that name a column of the joined table, and no query."""
    where = one.scope.select.args.get("where")
    for part in parts_of(where.this) if where is not None else ():
        if part.find(exp.Query) is None and any(one.owns(found.binding(c)) for c in part.find_all(exp.Column)):
            yield part


def _later(one: _Outer, found: Resolution) -> Iterator[exp.Join]:
    """The inner joins whose condition names the joined table."""
    joins = one.scope.select.args["joins"]
    place = next(place for place, join in enumerate(joins, 1) if join is one.join)
    for join in joins[place:]:
        on = join.args.get("on")
        if not join.side and on is not None and any(one.owns(found.binding(c)) for c in on.find_all(exp.Column)):
            yield join


def _is_inner(sql: str, found: Resolution, one: _Outer, profile: DatabaseProfile) -> bool:
    """Whether JOIN is proved to do as well, since a condition drops what LEFT JOIN adds."""
    one.join.set("side", None)
    text = sql_text(found.tree, profile.dialect)
    one.join.set("side", "LEFT")
    return "null_rejected" in (proved_equivalent(sql, text, profile.dialect, instance_schema(profile)) or "")


def _moved(found: Resolution, one: _Outer, moved: Sequence[exp.Expr], dialect: Dialect) -> str:
    """The statement with conditions of WHERE in the ON of the join."""
    select, on, where = one.scope.select, one.join.args["on"], one.scope.select.args["where"]
    kept = [part for part in parts_of(where.this) if not any(part is other for other in moved)]
    one.join.set("on", joined([on, *moved]))
    select.set("where", exp.Where(this=joined(kept)) if kept else None)
    text = sql_text(found.tree, dialect)
    one.join.set("on", on)
    select.set("where", where)
    return text


def _left(found: Resolution, joins: Sequence[exp.Join], dialect: Dialect) -> str:
    """The statement with LEFT JOIN in the place of inner ones."""
    for join in joins:
        join.set("side", "LEFT")
    text = sql_text(found.tree, dialect)
    for join in joins:
        join.set("side", None)
    return text


# --- none counted as one -----------------------------------------------------------------------------------------


def _counted(found: Resolution, joins: Sequence[_Outer], profile: DatabaseProfile) -> Iterator[Finding]:
    """COUNT(*) in groups of a parent's rows that a LEFT JOIN gives its children: a parent without any counts 1."""
    for one in joins:
        link = _link(one, found, profile)
        if link is None or not _groups_parents(one, link[1], found, profile):
            continue
        child, parent = link
        calls = list(_counts(one, parent, found))
        new = [(call, exp.Count(this=child.copy())) for call in calls]
        if new:
            shown = sql_text(calls[0], profile.dialect)
            table = one.source.table
            assert parent.source is not None
            says = (
                f"{shown} is 1 where {parent.source.table} has no {table}: counted by {table}, the answer is another."
            )
            text = rewritten(found, new, profile.dialect)
            yield Finding("none_counted", says, text, text)


def _link(one: _Outer, found: Resolution, profile: DatabaseProfile) -> tuple[exp.Expr, Binding] | None:
    """The column of the joined table, and the one that it is equal to, where a row may have several matches."""
    joins = one.scope.select.args["joins"]
    equal = [part.unnest() for part in parts_of(one.join.args["on"]) if links(found, part, one.scope)]
    if len(equal) != 1 or sum(join.side == "LEFT" for join in joins) != 1 or joins[-1] is not one.join:
        return None
    sides = (equal[0].this, equal[0].expression)
    child, parent = sides if one.owns(found.binding(sides[0])) else sides[::-1]
    bound, other = found.binding(child), found.binding(parent)
    place = bound.place if bound is not None else None
    if not one.owns(bound) or place is None or other is None or other.place is None or one.owns(other):
        return None
    table = profile.table(place[0])
    single = table.primary_key == (place[1],) or (place[1],) in table.unique_keys
    return None if single or other is None else (child, other)


def _groups_parents(one: _Outer, parent: Binding, found: Resolution, profile: DatabaseProfile) -> bool:
    """Whether groups are of a row of the parent each, or of those that are called the same, and none is asked to have
    no match.
    """
    select = one.scope.select
    group = select.args.get("group")
    terms = [column_of(found.meaning(term, select), found) for term in group.expressions] if group is not None else []
    bound = [found.binding(term) for term in terms if term is not None]
    if not bound or len(bound) < len(terms) or any(map(one.owns, bound)):
        return False
    assert parent.source is not None
    table = profile.table(parent.source.table)
    own = {place[1] for b in bound if b is not None and b.source is parent.source and (place := b.place)}
    called = any(set(key) <= own for key in (table.primary_key, *table.unique_keys, table.label_columns) if key)
    tests = (test for clause in ("where", "having") if (test := select.args.get(clause)) is not None)
    asked = any(
        one.owns(found.binding(column))
        for test in tests
        for null in test.find_all(exp.Is)
        for column in null.find_all(exp.Column)
    )
    return called and not asked


def _counts(one: _Outer, parent: Binding, found: Resolution) -> Iterator[exp.Expr]:
    """The counts of rows that stand by themselves: in a quotient 1 may be meant."""
    for call in aggregates_of(one.scope.select):
        holder = around(call)
        inner = call.this
        binding = found.binding(inner) if isinstance(inner, exp.Column) else None
        rows = isinstance(inner, (exp.Star, exp.Literal)) or (binding is not None and binding.source is parent.source)
        if isinstance(call, exp.Count) and rows and isinstance(holder, _BY_ITSELF):
            yield call
