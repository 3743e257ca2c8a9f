"""Groups that a wrong GROUP BY, HAVING or aggregate ranks otherwise: of different sizes, some of the same name, and
with larger values where there are fewer rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from agro_data.populate.instances.directed.focus import group_columns, group_terms, places_of
from agro_data.populate.instances.directed.plans import ALONE, Make, Plan, Query, cut_after_first, share_rows
from agro_data.populate.instances.directed.proposal import PartialRow
from agro_data.populate.instances.directed.tableau import Frame, Missed, Tableau
from agro_data.populate.instances.values.arithmetic import Constant, Operation, Term, difference, leaves, literal, read
from agro_data.populate.instances.values.comparisons import Test
from agro_data.populate.instances.values.near import beyond
from agro_data.populate.instances.values.views import view_of
from agro_data.sql.comparisons import COMPARISONS
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.resolution import Place, Scope, Source
from agro_data.sql.walks import local_nodes

LARGEST = 160  # rows of the largest group
ALIKE = 0.7  # share of groups by a part of a column whose rows agree in that part alone
SEVERAL = 0.4  # share of groups by no key of a parent in which each row has a parent of its own
STRAY = 0.4  # share of groups in which one row has another parent
TIED = 0.4  # share of instances in which the largest group has others of its size, which a window or a key ranks
DECIDED = 3  # groups, at most, of that size
UNKNOWN = 0.6  # share of instances in which a group's keys are NULL, mostly of that which HAVING or LIMIT keeps
# By rank, the smallest group first: MIN is greatest in the first, MAX in the second, AVG in the third, SUM and COUNT in
# the fourth; of DISTINCT values AVG in the first, SUM in the second. Mirrored where the least comes first.
_APART = {0: (61,), 1: (120, 1), 2: (100, 100, 10), 3: (60, 60, 60, 59)}
Numbers = Literal["any", "inverse", "apart"]
"""What stands in columns of numbers: the more rows a group has the smaller ones, or such that each aggregate ranks
another group first.
"""


def groups(query: Query, scope: Scope, rng: random.Random) -> Iterator[Plan]:
    """Groups for one SELECT, each of another size. Rows that miss a condition stand in the smaller ones, so that a
    query without it ranks them otherwise; two groups share what is shown of them; under LIMIT two may tie if they
    show the same and both are kept.
    """
    sizes = _drawn_sizes(query, scope, rng)
    unknown = _rank_of_unknown(query, scope, len(sizes), rng)
    numbers: Numbers = rng.choice(("any", "inverse", "apart"))
    ends = tuple(_ends(query, scope, rng)) if numbers == "apart" else ()
    makers = _Groups(query, scope, numbers, ends, most=len(sizes), unknown=unknown)
    middle = [len(sizes) - 3, len(sizes) - 2] if len(sizes) > 2 else []  # together they outnumber the largest
    twins = rng.choice((middle, rng.sample(range(len(sizes)), 2), []))
    tying = scope.select.args.get("limit") is not None and not cut_after_first(scope.select, query.found)
    if tying and not _shows_key(query, scope) and rng.random() < 0.4:
        top = len(sizes) - 1 if _descending(scope) else 0
        yield Plan("group", f"two groups of {sizes[top]} that show the same", makers.make([(top, sizes[top])] * 2))
        twins = [top]
    elif _ranked(scope) and rng.random() < TIED:
        twins = [len(sizes) - 1]
        tied = Plan("group", f"one of two groups of {sizes[-1]}", makers.make([(twins[0], sizes[-1])]))
        yield from (tied, tied)
    elif _order_goes_on(scope) and rng.random() < TIED:
        twins = [len(sizes) - 1 if _descending(scope) else 0]
        size = sizes[twins[0]]
        decided = Plan(
            "group", f"one of the groups of {size}, which the next key orders", makers.make([(twins[0], size)])
        )
        yield from [decided] * rng.randint(2, DECIDED)
    elif twins:
        pair = [(rank, sizes[rank]) for rank in twins]
        yield Plan("group", "groups of different size that show the same", makers.make(pair))
    for rank, size in enumerate(sizes):
        if rank not in twins:
            yield Plan("group", f"a group of {size}", makers.make([(rank, size)]))


@dataclass(frozen=True)
class _Groups:
    query: Query
    scope: Scope
    numbers: Numbers
    ends: tuple[tuple[exp.Column, float], ...]  # columns of numbers that are aggregated, and past what they are apart
    most: int
    unknown: int | None  # the rank of the group whose keys are NULL, where they may be

    def make(self, groups: Sequence[tuple[int, int]]) -> Make:
        """A maker of groups of these (rank, size) which show the same."""

        def made(rng: random.Random) -> tuple[PartialRow, ...] | None:
            tableau = self.query.tableau(rng)
            firsts = [self._group(tableau, rank, size, rng) for rank, size in groups]
            keys = {tableau.root(u) for c in self._keys() if (u := tableau.unknown_of(c, firsts[0])) is not None}
            for other in firsts[1:]:
                for left, right in zip(firsts[0].outputs, other.outputs, strict=False):
                    if left is not None and not tableau.is_key(left) and tableau.root(left) not in keys:
                        tableau.equate(left, right)
            return tableau.partial_rows()

        return made

    def _group(self, tableau: Tableau, rank: int, size: int, rng: random.Random) -> Frame:
        """The rows of one group, `size` of which meet all conditions: the first of them."""
        frames = [tableau.select(self.scope.select, missed) for missed in self._ways(rank, size, rng)]
        for column in self._uncounted(tableau, frames[0], rank, rng):
            frames.append(tableau.select(self.scope.select, {}))
            self._require_null(tableau, column, frames[-1])
        self._give_figures(tableau, frames[:size], rank, rng)
        self._give_keys(tableau, frames, rank, rng)
        self._share_parents(tableau, frames, size, rng)
        return frames[0]

    def _ways(self, rank: int, size: int, rng: random.Random) -> list[Missed]:
        """What each row misses: the first `size` nothing; further ones, most in the smallest group, a condition."""
        misses = [missed for _, missed in self.query.missable_in(self.scope) if not self._is_join(missed)]
        further = rng.randint(0, 2 * (self.most - rank)) if misses else 0
        return [{}] * size + [rng.choice(misses) for _ in range(further)]

    def _give_figures(self, tableau: Tableau, frames: Sequence[Frame], rank: int, rng: random.Random) -> None:
        """What aggregates make of the rows that are counted."""
        self._bounded(tableau, frames, rng)
        if self.numbers == "apart":
            self._apart(tableau, frames, rank)
        else:
            self._repeated(tableau, frames, rank, rng)
        if self.numbers == "inverse":
            self._inverse(tableau, frames, rank, rng)

    def _give_keys(self, tableau: Tableau, frames: Sequence[Frame], rank: int, rng: random.Random) -> None:
        """All rows agree in what they are grouped by; it is NULL, or, mostly, no other group has it."""
        for term in group_terms(self.query.found, self.scope):
            if not self._shown_alike(tableau, term, frames, rng):
                for column in term.find_all(exp.Column):
                    for other in frames[1:]:
                        tableau.equate(tableau.unknown_of(column, frames[0]), tableau.unknown_of(column, other))
        unknown = [c for c in self._keys() if _may_be_null(self.query, c)] if rank == self.unknown else []
        for column in unknown:
            self._require_null(tableau, column, frames[0])
        if not unknown and (self.ends or rng.random() < ALONE):
            tableau.stand_alone(tableau.unknown_of(column, frames[0]) for column in self._keys())

    def _share_parents(self, tableau: Tableau, frames: Sequence[Frame], size: int, rng: random.Random) -> None:
        """The rows belong to one row of each parent, but for one of them, perhaps; where the query does not group by a
        parent's key, perhaps each to its own.
        """
        apart = rng.randrange(1, size) if size > 2 and rng.random() < STRAY else None
        together = [frame for number, frame in enumerate(frames) if number != apart]
        names = {places[0][1] for column in self._keys() if (places := places_of(self.query.found, column))}
        for source in self._parents():
            key = self.query.schema.by_name[source.table].primary_key
            if set(key) <= names or rng.random() > SEVERAL:
                share_rows(tableau, source, key, together)

    def _require_null(self, tableau: Tableau, column: exp.Column, frame: Frame) -> None:
        if (cell := tableau.unknown_of(column, frame)) is not None:
            tableau.require(cell, Test("null", ()))

    def _shown_alike(self, tableau: Tableau, term: exp.Expr, frames: Sequence[Frame], rng: random.Random) -> bool:
        """Where groups are made by a part of a column, as by its month, rows that agree in it alone; whether so."""
        column, view = view_of(term)
        unknown = tableau.unknown_of(column, frames[0]) if view is not None else None
        if view is None or unknown is None or rng.random() > ALIKE:
            return False
        known = tableau.known(unknown)
        shown = [part for value in known if (part := view.of(value)) is not None]
        wanted = rng.choice(shown) if shown else None
        made = view.made(wanted, known, rng) if wanted is not None else []
        cells = [tableau.unknown_of(column, frame) for frame in frames]
        passing = [[v for v in made if cell is not None and tableau.passes(cell, v)] for cell in cells]
        if not all(passing):
            return False
        for cell, values in zip(cells, passing, strict=True):
            if cell is not None:
                tableau.give(cell, rng.choice(values))
        return True

    def _uncounted(self, tableau: Tableau, frame: Frame, rank: int, rng: random.Random) -> list[exp.Column]:
        """Columns in which further rows of a group, most of the smallest, hold NULL, so that COUNT or AVG leaves them
        out. Of a column that the query asks something of, or groups by, such a row would not be of the group.
        """
        keys = {tableau.unknown_of(column, frame) for column in self._keys()}
        counted = (node.this for node in _inside(self.scope) if isinstance(node, (exp.Count, exp.Avg)))
        columns = [
            column
            for column in counted
            if isinstance(column, exp.Column) and _may_be_null(self.query, column)
            if (cell := tableau.unknown_of(column, frame)) is not None and cell not in keys and tableau.is_unbound(cell)
        ]
        return [rng.choice(columns) for _ in range(rng.randint(0, 2 * (self.most - rank)))] if columns else []

    def _kind_of(self, place: Place) -> str:
        table, column = place
        return self.query.schema.by_name[table].by_name[column].kind

    def _is_join(self, missed: Missed) -> bool:
        """Whether a condition equates two columns: a row without it has other partners, and is still in the group."""
        nodes: Iterator[exp.Expr] = self.scope.select.find_all(exp.EQ)
        return any(id(n) in missed and isinstance(n.this, exp.Column) and self._is_column(n.expression) for n in nodes)

    def _is_column(self, node: exp.Expr) -> bool:
        binding = self.query.found.binding(node)
        return binding is not None and binding.source is not None

    def _keys(self) -> list[exp.Column]:
        return group_columns(self.query.found, self.scope)

    def _parents(self) -> list[Source]:
        """Tables that the grouping names a column of, and that another table of the FROM refers to."""
        named = {id(b.source) for c in self._keys() if (b := self.query.found.binding(c)) is not None}
        tables = {source.table for source in self.scope.sources}
        return [
            source
            for source in self.scope.sources
            if id(source) in named
            and any(key.ref_table == source.table and key.table in tables for key in self.query.schema.foreign_keys)
        ]

    def _repeated(self, tableau: Tableau, frames: Sequence[Frame], rank: int, rng: random.Random) -> None:
        """What an aggregate takes DISTINCT values of comes again in a group, in the largest most of all."""
        for column in _distinct_columns(self.query, self.scope):
            if rng.random() > (0.8 if rank == self.most - 1 else 0.2):
                continue
            cells = [tableau.unknown_of(column, frame) for frame in frames]
            again = cells[1:] if rng.random() < 0.6 else cells[1:2]
            for other in again:
                if cells[0] is not None and not tableau.is_key(cells[0]):
                    tableau.equate(cells[0], other)

    def _apart(self, tableau: Tableau, frames: Sequence[Frame], rank: int) -> None:
        """Numbers by which each aggregate ranks another group first, past all that the column holds."""
        numbers = _APART.get(rank + len(_APART) - self.most, ())
        sign = 1 if _descending(self.scope) else -1
        for column, end in self.ends if numbers else ():
            for place, frame in enumerate(frames):
                unknown = tableau.unknown_of(column, frame)
                if unknown is not None and tableau.is_free(unknown):
                    number = numbers[min(place, len(numbers) - 1)]
                    tableau.require(unknown, Test("=", (end + sign * number,)))

    def _inverse(self, tableau: Tableau, frames: Sequence[Frame], rank: int, rng: random.Random) -> None:
        """Sets numbers without a condition: small in large groups, so that sums and averages rank otherwise than
        counts.
        """
        for frame in frames:
            for row in frame.rows.values():
                for column in tableau.free_numbers(row):
                    value = 50 * (self.most - 1 - rank) ** 2 + rng.randint(0, 5)
                    tableau.require(tableau.cell(row, column), Test("=", (value,)))

    def _bounded(self, tableau: Tableau, frames: Sequence[Frame], rng: random.Random) -> None:
        """HAVING compares an aggregate of a column with a constant: the group's figure lies beside it or is equal."""
        having = self.scope.select.args.get("having")
        for node in having.find_all(*COMPARISONS) if having is not None else ():
            known, value = tableau.constant(node.expression)
            if not is_aggregate(node.this) or not known:
                self._computed(tableau, frames, node, rng)
                continue
            if not isinstance(value, int | float) or isinstance(node.this, exp.Count):
                continue
            kinds = {self._kind_of(place) for place in places_of(self.query.found, node.this.this)}
            figure = value + rng.choice((-20, -1, 0, 0, 1, 20, *((0.25, -0.25) if kinds == {"real"} else ())))
            numbers = _numbers_of(node.this, figure, len(frames), rng)
            if isinstance(node.this, exp.Avg) and kinds == {"integer"} and len(frames) > 2:
                numbers[-1] += rng.choice((-1, 0, 0, 1))  # an average between whole numbers
            for frame, number in zip(frames, numbers, strict=True):
                unknown = tableau.unknown_of(node.this.this, frame)
                if unknown is not None:
                    tableau.require(unknown, Test("=", (number,)))
                else:
                    tableau.require_of(tableau.term_of(node.this.this, frame), Test("=", (number,)))

    def _computed(self, tableau: Tableau, frames: Sequence[Frame], node: exp.Expr, rng: random.Random) -> None:
        """HAVING compares what is computed from aggregates: of rows that are equal (the last one apart, if MAX and MIN
        are of one column) each aggregate is known, and so is the group's figure, on either side of the bound or equal.
        """
        figure = difference(*(self._of_equals(tableau, side, frames) for side in (node.this, node.expression)))
        if figure is None or not any(leaves(figure)):
            return
        least = {column.sql() for part in node.find_all(exp.Min) for column in part.find_all(exp.Column)}
        most = {column.sql() for part in node.find_all(exp.Max) for column in part.find_all(exp.Column)}
        for column in node.find_all(exp.Column):
            cells = [tableau.unknown_of(column, frame) for frame in frames]
            for other in cells[1 : -1 if column.sql() in least & most else None]:
                if cells[0] is not None and not tableau.is_key(cells[0]):
                    tableau.equate(cells[0], other)
        tableau.require_of(figure, Test(rng.choice(("=", "<", ">")), (0,)))

    def _of_equals(self, tableau: Tableau, node: exp.Expr, frames: Sequence[Frame]) -> Term | None:
        """What an expression of aggregates is for a group of rows that are all like that of the first frame."""
        size = Constant(len(frames))

        def leaf(part: exp.Expr) -> Term | None:
            if isinstance(part, exp.Count) and not isinstance(part.this, exp.Distinct):
                return size
            if not isinstance(part, (exp.Sum, exp.Avg, exp.Min, exp.Max)) or isinstance(part.this, exp.Distinct):
                return None
            each = tableau.term_of(part.this, frames[-1 if isinstance(part, exp.Min) else 0])
            return Operation("*", each, size) if isinstance(part, exp.Sum) and each is not None else each

        return read(node, leaf)


def _numbers_of(aggregate: exp.Expr, figure: float, size: int, rng: random.Random) -> list[float]:
    """`size` numbers whose aggregate is `figure`; now and then all are equal."""
    apart = rng.choice((0, 1, 3))
    if isinstance(aggregate, exp.Max):
        return [figure, *(figure - apart * n for n in range(1, size))]
    if isinstance(aggregate, exp.Min):
        return [figure, *(figure + apart * n for n in range(1, size))]
    if isinstance(aggregate, exp.Sum):
        each = int(figure // size)
        return [figure - each * (size - 1), *([each] * (size - 1))]
    pairs = [figure + sign * apart * (n + 1) for n in range(size // 2) for sign in (1, -1)]
    return [*pairs, *([figure] if size % 2 else [])]


def _shows_key(query: Query, scope: Scope) -> bool:
    """Whether a SELECT shows what it groups by, so that no two of its groups show the same."""
    keys = {place for column in group_columns(query.found, scope) for place in places_of(query.found, column)}
    shown = (item.unalias() for item in scope.select.expressions)
    return any(keys & set(places_of(query.found, item)) for item in shown if isinstance(item, exp.Column))


def _ends(query: Query, scope: Scope, rng: random.Random) -> Iterator[tuple[exp.Column, float]]:
    """The columns of numbers that a SELECT shows or orders by an aggregate of, and a number past what each holds."""
    seen: set[Place] = set()
    for node in _inside(scope):
        inner = node.this if isinstance(node, (exp.Avg, exp.Sum, exp.Min, exp.Max)) else None
        column = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
        places = places_of(query.found, column) if isinstance(column, exp.Column) else []
        if not isinstance(column, exp.Column) or not places or places[0] in seen:
            continue
        table, name = places[0]
        spec = query.schema.by_name[table].by_name[name]
        end = beyond(spec, query.profile.table(table).column(name), _descending(scope), rng)
        if spec.kind in ("integer", "real") and isinstance(end, int | float):
            seen.add(places[0])
            yield column, end


def _inside(scope: Scope) -> Iterator[exp.Expr]:
    """The nodes of SELECT, HAVING and ORDER BY, without nodes of subqueries."""
    for clause in (*scope.select.expressions, scope.select.args.get("having"), scope.select.args.get("order")):
        yield from local_nodes(clause) if clause is not None else ()


def _distinct_columns(query: Query, scope: Scope) -> list[exp.Column]:
    """The columns whose DISTINCT values a SELECT aggregates."""
    columns = [c for node in _inside(scope) if isinstance(node, exp.Distinct) for c in node.expressions]
    return [column for column in columns if isinstance(column, exp.Column) and query.found.binding(column) is not None]


def _ranked(scope: Scope) -> bool:
    """Whether groups are ranked by a window: RANK and ROW_NUMBER differ only where two tie."""
    windows = (node for item in scope.select.expressions for node in item.find_all(exp.Window))
    return any(window.args.get("order") and any(map(is_aggregate, window.args["order"].walk())) for window in windows)


def _order_goes_on(scope: Scope) -> bool:
    """Whether a second key orders groups that are equal by the first."""
    order = scope.select.args.get("order")
    return order is not None and len(order.expressions) > 1


def _may_be_null(query: Query, column: exp.Column) -> bool:
    places = places_of(query.found, column)
    return any(query.schema.by_name[table].by_name[name].nullable for table, name in places)


def _two_valued(query: Query, scope: Scope) -> bool:
    """Whether there can be two groups only."""
    places = [place for column in group_columns(query.found, scope) for place in places_of(query.found, column)]
    return bool(places) and all(query.schema.by_name[t].by_name[c].kind == "boolean" for t, c in places)


def _descending(scope: Scope) -> bool:
    order = scope.select.args.get("order")
    return order is not None and any(key.args.get("desc") for key in order.expressions)


def _drawn_sizes(query: Query, scope: Scope, rng: random.Random) -> list[int]:
    """Sizes of as many groups as there can be, the smallest first."""
    sizes = _sizes(scope)
    if scope.select.args.get("limit") is not None and not _descending(scope) and rng.random() < 0.5:
        sizes = [size + 1 for size in sizes]  # of a group of one, whatever is counted is one
    return sorted(rng.sample(sizes, 2)) if _two_valued(query, scope) else sizes


def _rank_of_unknown(query: Query, scope: Scope, count: int, rng: random.Random) -> int | None:
    """Which of `count` groups has NULL for a key, if any: mostly the one that HAVING or LIMIT keeps."""
    nullable = any(_may_be_null(query, column) for column in group_columns(query.found, scope))
    if not nullable or rng.random() >= UNKNOWN:
        return None
    kept = count - 1 if scope.select.args.get("having") is not None or _descending(scope) else 0
    return rng.choice((kept, kept, rng.randrange(count)))


def _sizes(scope: Scope) -> list[int]:
    """Sizes of groups, all different: about the constants of HAVING, and more groups than LIMIT keeps."""
    having, limit = scope.select.args.get("having"), scope.select.args.get("limit")
    sizes = {1, 2, 3, 4}
    for number in having.find_all(exp.Literal) if having is not None else ():
        value = literal(number)
        if isinstance(value, int) and 0 < value <= LARGEST:
            sizes |= {max(value - 1, 1), value, value + 1}
    count = limit.expression if limit is not None else None
    wanted = int(count.this) + 2 if isinstance(count, exp.Literal) and count.is_int else 4
    while len(sizes) < min(wanted, 12):
        sizes.add(max(sizes) + 1)
    return sorted(sizes)
