"""The normal form of a query under a schema: the rules of `verify.proofs`, and the text of what they leave."""

from __future__ import annotations

from dataclasses import replace

from agro_data.databases.types import Dialect
from agro_data.populate.schema import Schema
from agro_data.verify.proofs.allowed import within_checks
from agro_data.verify.proofs.conditions import (
    ONE,
    counts_the_known,
    first_ranks,
    ranks_without_ties,
    simplified,
    without_case,
)
from agro_data.verify.proofs.facts import Facts, Known
from agro_data.verify.proofs.groups import distinct_rows, few_rows, grouped
from agro_data.verify.proofs.joins import (
    either_way,
    fewer_partners,
    fewer_sources,
    flattened,
    inner_joins,
    joined_in,
    repeats_are_seen,
    unasked,
    without_own_rows,
)
from agro_data.verify.proofs.states import states_as_null
from agro_data.verify.proofs.terms import (
    TRUE,
    Combined,
    Query,
    Select,
    Term,
    aggregated,
    combined,
    conjuncts,
    mapped,
    negated,
    positive,
    rebuilt,
    windowed,
)
from agro_data.verify.proofs.text import named, shown
from agro_data.verify.proofs.whole_texts import whole_texts

_ROUNDS = 8


class Normaliser:
    """Brings queries into normal form. `fired` names the rules that changed something."""

    def __init__(self, schema: Schema, query: Query, dialect: Dialect) -> None:
        self.known = Known(schema, query, dialect)
        self.fired: set[str] = set()

    def shown(self, query: Query) -> str:
        """Text of a query in normal form."""
        return shown(query, self.known.interchangeable)

    def query(self, query: Query, *, repeats: bool, ordered: bool) -> Query:
        """`repeats`: how often a row occurs counts; `ordered`: in which order rows come counts."""
        if isinstance(query, Combined):
            return self._combined(query, repeats, ordered)
        return self._select(query, repeats, ordered)

    def _combined(self, query: Combined, repeats: bool, ordered: bool) -> Query:
        operation = query.operation
        free = query.limit is None and query.offset is None
        if operation == "union all" and not repeats and free:
            operation = "union"
            self.fired.add("set")
        if query.order and not ordered and free:
            query = replace(query, order=())
            self.fired.add("unordered")
        counted = operation == "union all"
        branches = [self.query(branch, repeats=counted, ordered=False) for branch in query.branches]
        if operation in ("union", "union all", "intersect"):
            flat: list[Query] = []
            for branch in branches:
                same = isinstance(branch, Combined) and branch.operation == operation and not branch.order
                same = same and isinstance(branch, Combined) and branch.limit is None and branch.offset is None
                flat.extend(branch.branches if same and isinstance(branch, Combined) else (branch,))
            branches = sorted(flat, key=self.shown)
            if operation != "union all":
                branches = list({self.shown(branch): branch for branch in branches}.values())
        made = replace(query, operation=operation, branches=tuple(branches))
        if not made.order and free and operation != "union all":
            one = self._one_select(made)
            if one is not None:
                return self.query(one, repeats=repeats, ordered=ordered)
        return made

    def _one_select(self, query: Combined) -> Select | None:
        """Two SELECTs of one FROM with the same outputs as one SELECT DISTINCT."""
        first = query.branches[0]
        if len(query.branches) == 1 and isinstance(first, Select) and first.limit is None and first.offset is None:
            return replace(first, distinct=True)
        if len(query.branches) != 2:
            return None
        second = query.branches[1]
        if not isinstance(first, Select) or not isinstance(second, Select):
            return None
        if any(
            s.group is not None or s.limit is not None or s.offset is not None or aggregated(s) or windowed(s)
            for s in (first, second)
        ):
            return None
        bare = [replace(select, where=(), distinct=False) for select in (first, second)]
        if self.shown(bare[0]) != self.shown(bare[1]):
            return None
        names = [named(select, 0) for select in bare]
        back = {name: alias for alias, name in names[0].items()}
        renamed = {alias: back[name] for alias, name in names[1].items()}
        theirs = [rebuilt(term, lambda part: _renamed(part, renamed)) for term in second.where]
        shared = tuple(term for term in first.where if term in theirs)
        mine, other = (
            combined("and", rest) if rest else TRUE
            for rest in ([t for t in first.where if t not in shared], [t for t in theirs if t not in shared])
        )
        if query.operation == "union":
            self.fired.add("same_from")
            either = shared if TRUE in (mine, other) else (*shared, combined("or", (mine, other)))
            return replace(first, where=conjuncts(either), distinct=True)
        if not Facts(self.known, replace(first, where=shared)).closure(first.outputs).everything:
            return None  # rows of the two that agree in the outputs need not be one row
        if query.operation == "intersect":
            self.fired.add("same_from")
            return replace(first, where=conjuncts((*first.where, *theirs)), distinct=True)
        if other == TRUE or not self._never_unknown(other, Facts(self.known, first)):
            return None
        self.fired.add("same_from")
        return replace(first, where=conjuncts((*first.where, negated(other))), distinct=True)

    def _never_unknown(self, term: Term, facts: Facts) -> bool:
        if term[0] in ("and", "or"):
            return all(self._never_unknown(part, facts) for part in term[1])
        if term[0] in ("=", "<>", "<", "<="):
            return all(side[0] == "lit" or (side[0] == "col" and facts.never_null(side)) for side in term[1:])
        return bool(term[0] == "isnull" or (term[0] == "not" and term[1][0] == "isnull"))

    def _select(self, select: Select, repeats: bool, ordered: bool) -> Select:
        asked = self._inner(without_own_rows(select, self.known, self.fired), repeats)
        if (fewer := unasked(asked, self.fired)) != asked:
            asked = self._inner(fewer, repeats)
        select = flattened(without_case(asked, self.known, self.fired), self.fired)
        for _ in range(_ROUNDS):
            before = select
            select = self._unseen(select, repeats, ordered)
            if not windowed(select):
                select = inner_joins(select, self.known, self.fired)
            select = states_as_null(whole_texts(select, self.known, self.fired), self.known, self.fired)
            select = counts_the_known(within_checks(select, self.known, self.fired), self.known, self.fired)
            select = simplified(select, self.known, self.fired)
            select = joined_in(first_ranks(select, self.fired), self.known, self.fired)
            if not windowed(select):
                select = either_way(fewer_sources(select, repeats, self.known, self.fired), self.known, self.fired)
                select = grouped(select, self.known, self.fired)
                select = few_rows(select, self.known, self.fired)
            else:
                select = fewer_partners(select, self.known, self.fired)
                select = ranks_without_ties(select, self.known, self.fired)
                select = distinct_rows(select, self.known, self.fired)
            if select == before:
                break
        return select

    def _inner(self, select: Select, repeats: bool) -> Select:
        """Queries in terms and in FROM, normalised for what is seen of them."""

        def change(term: Term) -> Term | None:
            if term[0] == "in":
                return ("in", rebuilt(term[1], change), self.query(term[2], repeats=False, ordered=False))
            if term[0] == "exists":
                return ("exists", self._exists(term[1]))
            if term[0] == "scalar":
                return ("scalar", self.query(self._first(term[1]), repeats=True, ordered=True))
            return None

        seen = windowed(select) or repeats_are_seen(select, repeats)
        sources = tuple(
            replace(s, query=self.query(s.query, repeats=seen, ordered=False)) if s.query is not None else s
            for s in select.sources
        )
        bare = replace(select, sources=tuple(replace(source, query=None) for source in sources))
        made = mapped(bare, lambda term: rebuilt(term, change))
        back = tuple(replace(new, query=old.query) for new, old in zip(made.sources, sources, strict=True))
        return replace(made, sources=back)

    def _first(self, query: Query) -> Query:
        """A scalar query that orders its rows as its first row, which is what SQLite takes of several."""
        several = query.limit is None or (positive(query.limit) and query.limit != ONE)
        if self.known.dialect != "sqlite" or not query.order or query.offset is not None or not several:
            return query
        self.fired.add("single_row")
        return replace(query, limit=ONE)

    def _exists(self, query: Query) -> Query:
        some = query.offset is None and (query.limit is None or positive(query.limit))
        if isinstance(query, Select) and some and query.group is None and not aggregated(query):
            query = replace(query, outputs=(("lit", "number", "1"),), limit=None, order=(), distinct=False)
        return self.query(query, repeats=False, ordered=False)

    def _unseen(self, select: Select, repeats: bool, ordered: bool) -> Select:
        """Order and repetition that nobody sees."""
        free = select.limit is None and select.offset is None
        if select.order and not ordered and free:
            select = replace(select, order=())
            self.fired.add("unordered")
        if select.distinct and not repeats and free:
            select = replace(select, distinct=False)
            self.fired.add("set")
        return select


def _renamed(term: Term, names: dict[str, str]) -> Term | None:
    if term[0] == "col" and term[1] in names:
        return ("col", names[term[1]], term[2])
    return None
