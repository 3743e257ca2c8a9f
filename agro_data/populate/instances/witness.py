"""Rows directed by a query: some that meet all its conditions, some that miss one, and groups, siblings and
namesakes among them, so that a query which means something else answers something else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from agro_data.populate.instances.comparisons import Test
from agro_data.populate.instances.focus import group_columns
from agro_data.populate.instances.proposal import PartialRow, Proposal
from agro_data.populate.instances.tableau import ATOMS, Frame, Missed, Tableau, literal
from agro_data.populate.schema import Schema, stream
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.scope import Resolution, Scope, Source, local_nodes

_COPIES = 3  # readings of the whole query that meet everything
_WAYS: dict[type[exp.Expr], int] = {exp.Intersect: 2, exp.Except: 2, exp.Union: 3}
_LARGEST = 40  # rows of the largest group
MOST_PAIRS = 24  # sibling and namesake proposals of one query

Plan = tuple[str, str, Callable[[random.Random], "tuple[PartialRow, ...] | None"]]


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
        for kind, why, make in _Plans(query, schema, profile).all():
            if kind != "group" and rng.random() > share:
                continue
            rows = make(rng)
            if rows:
                out.append(Proposal(kind, why, rows))
    return out


class _Plans:
    """What can be proposed for one query, each as a function that makes its rows."""

    def __init__(self, found: Resolution, schema: Schema, profile: DatabaseProfile) -> None:
        self.found, self.schema, self.profile = found, schema, profile
        self.tree = found.tree
        self.missable = _missable(found)

    def all(self) -> Iterator[Plan]:
        for _ in range(_COPIES):
            yield "witness", "meets every condition", self._whole({})
        for name, missed in self.missable:
            yield "miss", f"differs in {name}", self._whole(missed)
        for scope in self.found.scopes:
            if scope.outer is not None and not scope.correlated:
                yield "witness", "meets a subquery alone", self._alone(scope, {})
        pairs = [*self._siblings(), *self._namesakes()]
        step = max(1, len(pairs) // MOST_PAIRS)
        yield from pairs[::step]
        for scope in self.found.scopes:
            for source in scope.sources:
                if source.table and len(scope.sources) > 1:
                    yield "absent", f"a row of {source.table} alone", self._single(source)
            if scope.select.args.get("group") is not None and not scope.correlated:
                yield from self._groups(scope)

    def _tableau(self, rng: random.Random) -> Tableau:
        return Tableau(self.found, self.schema, self.profile, rng)

    def _whole(self, missed: Missed) -> Callable[[random.Random], tuple[PartialRow, ...] | None]:
        def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self._tableau(rng)
            tableau.query(self.tree, missed)
            return tableau.partial_rows()

        return make

    def _alone(self, scope: Scope, missed: Missed) -> Callable[[random.Random], tuple[PartialRow, ...] | None]:
        def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self._tableau(rng)
            tableau.select(scope.select, missed)
            return tableau.partial_rows()

        return make

    @staticmethod
    def _single(source: Source) -> Callable[[random.Random], tuple[PartialRow, ...] | None]:
        return lambda rng: (PartialRow(source.table, {}),)

    # --- two readings that share something -----------------------------------------------------------------------

    def _siblings(self) -> Iterator[Plan]:
        """One row of a table with two sets of partners, the second perhaps missing a condition."""
        for scope in self.found.scopes:
            for source in scope.sources:
                if source.table and self.schema.by_name[source.table].primary_key:
                    for name, missed in (("", {}), *self.missable):
                        why = f"two partners of one {source.table}" + (f", one differs in {name}" if name else "")
                        yield "sibling", why, self._pair(scope, source, missed)

    def _pair(self, scope: Scope, source: Source, missed: Missed) -> Callable[..., tuple[PartialRow, ...] | None]:
        key = self.schema.by_name[source.table].primary_key

        def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self._tableau(rng)
            tableau.query(self.tree, {})
            tableau.query(self.tree, missed)
            frames = [frame for select, frame in tableau.frames if select == id(scope.select)]
            for column in key:
                cells = [tableau.column(source, folded_name(source, column), frame) for frame in frames]
                for other in cells[1:]:
                    tableau.equate(cells[0], other)
            return tableau.partial_rows()

        return make

    def _namesakes(self) -> Iterator[Plan]:
        """Two readings that show the same values of different rows, the second perhaps missing a condition."""
        for name, missed in (("", {}), *self.missable):
            why = "same output of other rows" + (f", differing in {name}" if name else "")
            yield "namesake", why, self._alike(missed)

    def _alike(self, missed: Missed) -> Callable[[random.Random], tuple[PartialRow, ...] | None]:
        def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self._tableau(rng)
            first, second = tableau.query(self.tree, {}), tableau.query(self.tree, missed)
            for left, right in zip(first.outputs, second.outputs, strict=False):
                if left is not None and right is not None and not tableau.is_key(left):
                    tableau.equate(left, right)
            return tableau.partial_rows()

        return make

    # --- groups --------------------------------------------------------------------------------------------------

    def _groups(self, scope: Scope) -> Iterator[Plan]:
        """Groups of different sizes, which rank otherwise when rows that miss a condition are counted too."""
        sizes = _sizes(scope)
        misses = [entry for entry in self.missable if _within(scope, entry[1])]
        for rank, size in enumerate(sizes):
            extra = len(sizes) - rank if misses else 0
            yield "group", f"a group of {size}", self._group(scope, size, 2 * extra, misses)

    def _group(
        self, scope: Scope, size: int, extra: int, misses: Sequence[tuple[str, Missed]]
    ) -> Callable[[random.Random], tuple[PartialRow, ...] | None]:
        keys = group_columns(self.found, scope)
        parents = self._parents(scope)

        def make(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self._tableau(rng)
            ways: list[Missed] = [{}] * size
            ways += [rng.choice(misses)[1] for _ in range(rng.randint(0, extra))] if misses else []
            frames = [tableau.select(scope.select, missed) for missed in ways]
            first = frames[0]
            apart = rng.randrange(size) if size > 2 and rng.random() < 0.4 else None
            self._aggregated(scope, tableau, frames[:size], rng)
            for number, frame in enumerate(frames[1:], 1):
                for column in keys:
                    tableau.equate(tableau.unknown_of(column, first), tableau.unknown_of(column, frame))
                for source in parents if number != apart else ():
                    for column_name in self.schema.by_name[source.table].primary_key:
                        name = folded_name(source, column_name)
                        tableau.equate(tableau.column(source, name, first), tableau.column(source, name, frame))
            return tableau.partial_rows()

        return make

    def _parents(self, scope: Scope) -> list[Source]:
        """Tables that the grouping names a column of, and that another table of the FROM refers to."""
        named = {id(b.source) for c in group_columns(self.found, scope) if (b := self.found.binding(c)) is not None}
        tables = {source.table for source in scope.sources}
        return [
            source
            for source in scope.sources
            if id(source) in named
            and any(key.ref_table == source.table and key.table in tables for key in self.schema.foreign_keys)
        ]

    def _aggregated(self, scope: Scope, tableau: Tableau, frames: Sequence[Frame], rng: random.Random) -> None:
        """HAVING compares an aggregate of a column with a constant: the group's values lie about it, on one side."""
        having = scope.select.args.get("having")
        for node in having.find_all(exp.GT, exp.GTE, exp.LT, exp.LTE) if having is not None else ():
            known, value = tableau.constant(node.expression)
            if not known or not isinstance(value, int | float) or isinstance(node.this, exp.Count):
                continue
            if not is_aggregate(node.this):
                continue
            limit = value / len(frames) if isinstance(node.this, exp.Sum) else value
            limit = round(limit) if isinstance(value, int) else limit
            test = Test(">", (limit,), wanted=rng.random() < 0.5)
            for frame in frames:
                unknown = tableau.unknown_of(node.this.this, frame)
                if unknown is not None:
                    tableau.require(unknown, test)


def folded_name(source: Source, column: str) -> str:
    """The lower-case name under which a source knows a column of its table."""
    return next(name for name, spelled in source.columns.items() if spelled == column)


def _sizes(scope: Scope) -> list[int]:
    """Sizes of groups, all different: about the constants of HAVING, and one more than LIMIT keeps."""
    having, limit = scope.select.args.get("having"), scope.select.args.get("limit")
    sizes = {1, 2, 3, 5}
    for number in having.find_all(exp.Literal) if having is not None else ():
        value = literal(number)
        if isinstance(value, int) and 0 < value <= _LARGEST:
            sizes |= {max(value - 1, 1), value, value + 1}
            sizes -= {5} if value != 5 else set()
    count = limit.expression if limit is not None else None
    wanted = int(count.this) + 2 if isinstance(count, exp.Literal) and count.is_int else 4
    while len(sizes) < min(wanted, 12):
        sizes.add(max(sizes) + 1)
    return sorted(sizes)


def _missable(found: Resolution) -> list[tuple[str, Missed]]:
    """Every condition and set operation, in words, with the ways in which it can be met otherwise."""
    out: list[tuple[str, Missed]] = []
    for node in found.tree.find_all(*ATOMS, exp.SetOperation, exp.Or):
        if node.find_ancestor(exp.Having) is not None and not isinstance(node, exp.SetOperation):
            continue
        if isinstance(node, exp.SetOperation):
            out += [(node.key.upper(), {id(node): way}) for way in range(1, _WAYS[type(node)] + 1)]
        elif isinstance(node, exp.Or):
            out += [(node.sql(), {id(node): way}) for way in range(2)]
        else:
            out.append((node.sql(), {id(node): 1}))
    return out


def _within(scope: Scope, missed: Missed) -> bool:
    """Whether a condition belongs to the SELECT itself."""
    clauses = [scope.select.args.get("where"), *(scope.select.args.get("joins") or ())]
    return any(id(node) in missed for clause in clauses if clause is not None for node in local_nodes(clause))
