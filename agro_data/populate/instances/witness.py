"""Rows directed by a query: some that meet all its conditions, some that miss one, and groups, siblings, namesakes and
extremes among them, so that a query which means something else answers something else.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from agro_data.populate.instances.extremes import extremes
from agro_data.populate.instances.groups import groups
from agro_data.populate.instances.plans import Make, Plan, Query, share_rows
from agro_data.populate.instances.proposal import PartialRow, Proposal
from agro_data.populate.instances.tableau import Missed
from agro_data.populate.schema import Schema, stream
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.scope import Resolution, Scope, Source

_COPIES = 3  # readings of the whole query that meet everything
_PAIRS = 24  # sibling and namesake proposals of one query
_ENDS = 2  # proposals beyond an end: one that lies further out hides the others


def witnesses(
    found: Resolution,
    schema: Schema,
    profile: DatabaseProfile,
    seed: int,
    against: Resolution | None = None,
    share: float = 1.0,
) -> list[Proposal]:
    """Partial rows directed by the query `found`; each of the proposals is there with probability `share`.

    With `against`, another query that is to be told apart, rows directed by that one follow. A condition that no
    value of its column can meet gives no proposal. Pure: the same seed gives the same proposals.
    """
    rng = stream(seed, "witness")
    out: list[Proposal] = []
    for query in (found, against) if against is not None else (found,):
        for plan in _plans(Query(query, schema, profile), share, rng):
            rows = plan.make(rng)
            if rows:
                out.append(Proposal(plan.kind, plan.why, rows))
    return out


def _plans(query: Query, share: float, rng: random.Random) -> list[Plan]:
    common = [plan for plan in _common(query) if rng.random() <= share]
    pairs = [*_siblings(query), *_namesakes(query)]
    chosen = sorted(rng.sample(range(len(pairs)), min(_PAIRS, round(len(pairs) * share))))
    ends = list(extremes(query))
    beyond = rng.sample(ends, min(rng.randint(0, _ENDS), len(ends)))
    grouped = [
        plan
        for scope in query.found.scopes
        if scope.select.args.get("group") is not None and not scope.correlated
        for plan in groups(query, scope, rng)
    ]
    return [*common, *(pairs[number] for number in chosen), *beyond, *grouped]


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
    for name, missed in (("", {}), *query.missable):
        why = "same output of other rows" + (f", differing in {name}" if name else "")
        yield Plan("namesake", why, _alike(query, missed))


def _alike(query: Query, missed: Missed) -> Make:
    def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
        tableau = query.tableau(rng)
        first, second = tableau.query(query.tree, {}), tableau.query(query.tree, missed)
        for left, right in zip(first.outputs, second.outputs, strict=False):
            if left is not None and right is not None and not tableau.is_key(left):
                tableau.equate(left, right)
        return tableau.partial_rows()

    return make
