"""Rows directed by a query: some that meet all its conditions, some that miss one, and groups, siblings, namesakes and
extremes among them, so that a query which means something else answers something else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from agro_data.populate.instances.directed.extremes import decided, extremes
from agro_data.populate.instances.directed.groups import groups
from agro_data.populate.instances.directed.orders import orders
from agro_data.populate.instances.directed.plans import Make, Plan, Query, share_rows
from agro_data.populate.instances.directed.proposal import PartialRow, Proposal
from agro_data.populate.instances.directed.tableau import Frame, Missed, Tableau
from agro_data.populate.schema import Schema, stream
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution, Scope, Source
from agro_data.sql.walks import local_nodes

_COPIES = 3  # readings of the whole query that meet everything
_PAIRS = 24  # sibling and namesake proposals of one query
_LONE = 0.5  # share of the instances against another query that have one row beyond an end
_REORDERED = 0.75  # share of those against another order that have rows for the order alone, and none beyond an end
_DECIDED = 0.4  # share of instances where an order's second key decides, which rows further out would hide
_ENDS = 2  # proposals beyond an end: one that lies further out hides the others


def witnesses(
    found: Resolution,
    schema: Schema,
    profile: DatabaseProfile,
    seed: int,
    against: Resolution | None = None,
    share: float = 1.0,
) -> list[Proposal]:
    """Proposals of partial rows directed by the query `found`; each is kept with probability `share`.

    `against` is another query that should be told apart: proposals directed by it follow. Proposals that miss a
    condition then use only conditions that one of the two queries has alone, if there are any. A condition that no
    value of its column can meet gives no proposal. Pure: the same seed gives the same proposals.
    """
    rng = stream(seed, "witness")
    queries = [Query(query, schema, profile) for query in ((found, against) if against is not None else (found,))]
    if len(queries) == 2:
        said = [query.asked for query in queries]
        queries = [replace(query, apart=other) for query, other in zip(queries, reversed(said), strict=True)]
    telling = [query for query in queries if query.asked - query.apart] or queries  # rows of others tell nothing apart
    alone = stream(seed, "lone")
    lone = alone.choice(telling) if len(queries) == 2 and alone.random() < _LONE else None
    ranked = alone.choice(telling)  # the groups of both would tie for the first place
    reordered = against is not None and _order(found) != _order(against) and any(orders(queries[0]))
    reordered = reordered and alone.random() < _REORDERED
    out: list[Proposal] = []
    for query in queries:
        for plan in _plans(query, share, rng, None if lone is None else query is lone, query is ranked, reordered):
            rows = plan.make(rng)
            if rows:
                out.append(Proposal(plan.kind, plan.why, rows))
    return out


def _plans(
    query: Query, share: float, rng: random.Random, lone: bool | None, ranked: bool, reordered: bool
) -> list[Plan]:
    common = [plan for plan in _common(query) if rng.random() <= share]
    pairs = [*_siblings(query), *_namesakes(query)]
    chosen = sorted(rng.sample(range(len(pairs)), min(_PAIRS, round(len(pairs) * share))))
    ends = [] if reordered else _beyond(query, rng, lone)
    if reordered or lone is None:
        ends += orders(query)
    grouped = [
        plan
        for scope in query.found.scopes
        if scope.select.args.get("group") is not None and not scope.correlated
        if ranked or not _ranks(scope)
        for plan in groups(query, scope, rng)
    ]
    return [*common, *(pairs[number] for number in chosen), *ends, *grouped]


def _order(found: Resolution) -> exp.Expr | None:
    return found.tree.args.get("order")


def _ranks(scope: Scope) -> bool:
    """Whether a SELECT keeps the first of its groups."""
    return scope.select.args.get("group") is not None and scope.select.args.get("limit") is not None


def _beyond(query: Query, rng: random.Random, lone: bool | None) -> list[Plan]:
    """Some of the query's extremes. With another query, `lone` says which of the two gets a single row beyond an end;
    this row misses a condition if the query has any. None: both get several rows. Instead of these, now and then, rows
    among which a second key decides.
    """
    by_second = list(decided(query))
    if by_second and rng.random() < _DECIDED:
        return by_second
    most = rng.randint(2, 2 * _ENDS) if query.apart else rng.randint(0, _ENDS)
    ends = list(extremes(query))
    if lone is not None:
        most, ends = int(lone), list(extremes(query, missing=True)) or ends
    return rng.sample(ends, min(most, len(ends)))


def _common(query: Query) -> Iterator[Plan]:
    for _ in range(_COPIES):
        yield Plan("witness", "meets every condition", query.whole({}))
    for name, missed in query.missable:
        yield Plan("miss", f"differs in {name}", query.whole(missed))
    for scope in query.found.scopes:
        if scope.outer is not None and not scope.correlated:
            yield Plan("witness", "meets a subquery alone", _alone(query, scope))
        for source in scope.sources:
            if source.table and len(scope.sources) > 1:
                yield Plan("absent", f"a row of {source.table} alone", _single(source))


def _alone(query: Query, scope: Scope) -> Make:
    def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
        tableau = query.tableau(rng)
        tableau.select(scope.select, {})
        return tableau.partial_rows()

    return make


def _single(source: Source) -> Make:
    return lambda _: (PartialRow(source.table, {}),)


def _siblings(query: Query) -> Iterator[Plan]:
    """One row of a table with two sets of partners, the second perhaps missing a condition."""
    for scope in query.found.scopes:
        for source in scope.sources:
            if source.table and query.schema.by_name[source.table].primary_key:
                for name, missed in (("", {}), *query.missable):
                    why = f"two partners of one {source.table}" + (f", one differs in {name}" if name else "")
                    yield Plan("sibling", why, _pair(query, scope, source, missed))


def _pair(query: Query, scope: Scope, source: Source, missed: Missed) -> Make:
    key = query.schema.by_name[source.table].primary_key

    def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
        tableau = query.tableau(rng)
        tableau.query(query.tree, {})
        tableau.query(query.tree, missed)
        frames = [frame for select, frame in tableau.frames if select == id(scope.select)]
        share_rows(tableau, source, key, frames)
        return tableau.partial_rows()

    return make


def _namesakes(query: Query) -> Iterator[Plan]:
    """Two readings that show the same values of different rows, the second perhaps missing a condition."""
    for name, missed in (("", {}), ("", {}), *query.missable):
        why = "same output of other rows" + (f", differing in {name}" if name else "")
        yield Plan("namesake", why, _alike(query, missed))


def _alike(query: Query, missed: Missed) -> Make:
    def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
        tableau = query.tableau(rng)
        first, second = tableau.query(query.tree, {}), tableau.query(query.tree, missed)
        half = len(tableau.frames) // 2
        for left, right in zip(first.outputs, second.outputs, strict=False):
            if left is not None and right is not None and not tableau.is_key(left):
                tableau.equate(left, right)
        if not missed:
            for (select, one), (_, other) in zip(tableau.frames[:half], tableau.frames[half:], strict=False):
                _same_terms(tableau, selects[select], one, other)
        return tableau.partial_rows()

    selects = {id(scope.select): scope.select for scope in query.found.scopes}
    return make


def _same_terms(tableau: Tableau, select: exp.Select, one: Frame, other: Frame) -> None:
    """Equal in every column that the SELECT computes with, so that they tie in its windows and show the same."""
    for item in select.expressions:
        columns = [node for node in local_nodes(item) if isinstance(node, exp.Column)]
        for column in columns if not isinstance(item.unalias(), exp.Column) else ():
            left, right = tableau.unknown_of(column, one), tableau.unknown_of(column, other)
            if left is not None and right is not None and not tableau.is_key(left):
                tableau.equate(left, right)
