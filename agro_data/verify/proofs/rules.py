"""The normal form of a query under a schema: the rules of `verify.proofs`, and the text of what they leave."""

from __future__ import annotations

from dataclasses import replace

from agro_data.databases.opening import folded
from agro_data.populate.schema import Schema
from agro_data.verify.proofs.facts import Facts, Known, equated, rejecting
from agro_data.verify.proofs.terms import (
    TRUE,
    Combined,
    From,
    Key,
    NotUnderstood,
    Query,
    Select,
    Term,
    aggregated,
    aggregates_of,
    columns_in,
    combined,
    conjuncts,
    local,
    mapped,
    negated,
    outside_aggregates,
    positive,
    rebuilt,
    substituted,
    terms_of,
    windowed,
)
from agro_data.verify.proofs.text import named, shown

_ROUNDS = 8
_NUMBERS = ("integer number", "real number")


class Normaliser:
    """Brings queries into normal form. `fired` names the rules that changed something."""

    def __init__(self, schema: Schema, query: Query) -> None:
        self.known = Known(schema, query)
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
        if len(query.branches) == 1 and isinstance(first, Select) and first.limit is None:
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

    # --- SELECT ------------------------------------------------------------------------------------------------------

    def _select(self, select: Select, repeats: bool, ordered: bool) -> Select:
        select = self._inner(select)
        for _ in range(_ROUNDS):
            before = select
            select = self._unseen(select, repeats, ordered)
            if not windowed(select):
                select = self._inner_joins(select)
                select = self._not_null(select)
                select = self._fewer_sources(select, repeats)
                select = self._grouped(select)
                select = self._few_rows(select)
            if select == before:
                break
        return select

    def _inner(self, select: Select) -> Select:
        """Queries in terms and in FROM, normalised for what is seen of them."""

        def change(term: Term) -> Term | None:
            if term[0] == "in":
                return self._in(("in", rebuilt(term[1], change), self.query(term[2], repeats=False, ordered=False)))
            if term[0] == "exists":
                return ("exists", self._exists(term[1]))
            if term[0] == "scalar":
                return ("scalar", self.query(term[1], repeats=True, ordered=True))
            return None

        sources = tuple(
            replace(s, query=self.query(s.query, repeats=True, ordered=False)) if s.query is not None else s
            for s in select.sources
        )
        bare = replace(select, sources=tuple(replace(source, query=None) for source in sources))
        made = mapped(bare, lambda term: rebuilt(term, change))
        if not isinstance(made, Select):
            raise TypeError("a SELECT stays a SELECT")
        back = tuple(replace(new, query=old.query) for new, old in zip(made.sources, sources, strict=True))
        return replace(made, sources=back)

    @staticmethod
    def _in(term: Term) -> Term:
        return term

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

    def _inner_joins(self, select: Select) -> Select:
        """LEFT JOIN to JOIN, where a row without a partner cannot be or does not pass."""
        facts = Facts(self.known, select)
        for place, source in enumerate(select.sources):
            if not source.left:
                continue
            rejected = any(column[1] == source.alias for term in select.where for column in rejecting(term))
            kept = not rejected and self._always_partner(source, facts)
            if rejected or kept:
                self.fired.add("null_rejected" if rejected else "foreign_key")
                sources = list(select.sources)
                sources[place] = replace(source, left=False, on=())
                return replace(select, sources=tuple(sources), where=conjuncts((*select.where, *source.on)))
        return select

    def _always_partner(self, source: From, facts: Facts) -> bool:
        """Whether ON is exactly an enforced foreign key to this source that is never NULL."""
        pairs = [equated(term) for term in source.on]
        if not pairs or any(pair is None for pair in pairs):
            return False
        joined = {}
        child = ""
        for pair in pairs:
            left, right = pair if pair is not None else ((), ())
            if right[1] == source.alias:
                left, right = right, left
            if left[1] != source.alias or right[1] == source.alias or (child and right[1] != child):
                return False
            if not self.known.interchangeable(left, right):
                return False
            child = right[1]
            joined[left[2]] = right[2]
        return facts.refers(child, source, joined) and all(
            facts.never_null(("col", child, name)) for name in joined.values()
        )

    def _not_null(self, select: Select) -> Select:
        facts = Facts(self.known, select)

        def change(term: Term) -> Term | None:
            if term[0] == "agg" and term[1] == "count" and not term[2] and term[3] is not None:
                argument = term[3]
                if argument[0] == "lit" or (argument[0] == "col" and facts.never_null(argument)):
                    self.fired.add("not_null")
                    return ("agg", "count", False, None)
            return None

        where: list[Term] = []
        for number, term in enumerate(select.where):
            rest = [*where, *select.where[number + 1 :]]
            test = term[1] if term[0] == "not" else term
            guard = term[0] == "not" and test[0] == "isnull" and test[1][0] == "col"
            if guard and Facts(self.known, replace(select, where=tuple(rest))).never_null(test[1]):
                self.fired.add("not_null")
                continue
            closer = self._extreme(term, facts)
            if closer != term:
                self.fired.add("extreme")
                where.append(closer)
                continue
            if self._holds(term, facts):
                self.fired.add("foreign_key")
                continue
            if term[0] == "or":
                kept = [p for p in term[1] if not (p[0] == "isnull" and p[1][0] == "col" and facts.declared(p[1]))]
                if kept and len(kept) < len(term[1]):
                    self.fired.add("not_null")
                    where.append(combined("or", kept))
                    continue
            where.append(term)
        return replace(
            select,
            where=conjuncts(where),
            outputs=tuple(rebuilt(term, change) for term in select.outputs),
            having=conjuncts(rebuilt(term, change) for term in select.having),
            order=tuple(replace(key, term=rebuilt(key.term, change)) for key in select.order),
        )

    @staticmethod
    def _extreme(term: Term, facts: Facts) -> Term:
        """No value of a column lies beyond its own MAX or MIN: `c >= MAX(c)` is `c = MAX(c)`."""
        for place, name in ((1, "max"), (2, "min")):
            if term[0] not in ("<=", "<>") or (term[0] == "<=" and term[place][0] != "scalar"):
                continue
            bound, column = (
                (term[place], term[3 - place]) if term[place][0] == "scalar" else (term[3 - place], term[place])
            )
            if bound[0] != "scalar" or column[0] != "col" or not isinstance(bound[1], Select):
                continue
            inner = bound[1]
            plain = replace(inner, outputs=(), sources=()) == Select((), ())
            if not plain or len(inner.sources) != 1 or len(inner.outputs) != 1 or inner.outputs[0][0] != "agg":
                continue
            _, aggregate, _, argument = inner.outputs[0]
            source = inner.sources[0]
            own = argument is not None and argument == ("col", source.alias, column[2]) and source.table
            if aggregate != name or not own or facts.known.table_of.get(column[1]) != source.table:
                continue
            if term[0] == "<>":
                return ("<", column, bound) if name == "max" else ("<", bound, column)
            return ("=", *sorted((column, bound), key=repr))
        return term

    @staticmethod
    def _holds(term: Term, facts: Facts) -> bool:
        """`c IN (SELECT key FROM parent)`, where c refers to the key and is never NULL."""
        if term[0] != "in" or term[1][0] != "col" or not facts.never_null(term[1]) or not isinstance(term[2], Select):
            return False
        inner = term[2]
        bounded = inner.limit is not None or inner.offset is not None or inner.group is not None or inner.having
        if bounded or inner.where or len(inner.sources) != 1 or inner.outputs[0][0] != "col":
            return False
        parent = inner.sources[0]
        joined = {inner.outputs[0][2]: term[1][2]}
        return inner.outputs[0][1] == parent.alias and facts.refers(term[1][1], parent, joined)

    # --- sources -----------------------------------------------------------------------------------------------------

    def _fewer_sources(self, select: Select, repeats: bool) -> Select:
        facts = Facts(self.known, select)
        for source in select.sources:
            if len(select.sources) < 2:
                break
            made = self._without_left(select, source, facts, repeats) if source.left else None
            if made is None and not source.left and source.table:
                made = self._merged(select, source, facts) or self._without_parent(select, source, facts)
            if made is not None:
                return made
        return select

    def _without_left(self, select: Select, source: From, facts: Facts, repeats: bool) -> Select | None:
        """A LEFT JOIN nobody asks for, if it repeats no row or repetition is not seen."""
        rest = replace(select, sources=tuple(s for s in select.sources if s is not source))
        if any(column[1] == source.alias for column in columns_in(terms_of(rest))):
            return None
        if facts.one_partner(source):
            self.fired.add("key")
            return rest
        aggregates = list(aggregates_of(select))
        blind = all(a[1] in ("min", "max") or a[2] for a in aggregates)
        seen = repeats and not select.distinct
        bounded = (select.limit is not None or select.offset is not None) and not select.distinct
        if (
            (aggregates and blind)
            or (not aggregates and select.group is not None)
            or (not aggregates and not seen and not bounded)
        ):
            self.fired.add("set")
            return rest
        return None

    def _merged(self, select: Select, source: From, facts: Facts) -> Select | None:
        """A second use of a table, joined to the first on a key, is the first."""
        for other in select.sources:
            if other is source or other.left or other.table != source.table:
                continue
            if select.sources.index(other) > select.sources.index(source):
                continue
            spec = facts.spec(source.alias)
            for key in spec.keys if spec is not None else ():
                names = [folded(name) for name in key]
                if names and all(facts.equal(("col", source.alias, n), ("col", other.alias, n)) for n in names):
                    self.fired.add("key")
                    return substituted(select, source, {name: ("col", other.alias, name) for name in source.columns})
        return None

    def _without_parent(self, select: Select, source: From, facts: Facts) -> Select | None:
        """A parent that is joined along an enforced foreign key, and of which only the key is asked for."""
        rest = replace(select, sources=tuple(s for s in select.sources if s is not source))
        used = {column[2] for column in columns_in(terms_of(rest)) if column[1] == source.alias}
        for child in select.sources:
            if child is source or child.left or not child.table:
                continue
            for mine, theirs in facts.foreign_keys(child, source):
                joined = dict(zip(theirs, mine, strict=True))
                if not used <= set(theirs):
                    continue
                if not all(facts.equal(("col", source.alias, t), ("col", child.alias, m)) for t, m in joined.items()):
                    continue
                if not all(
                    self.known.interchangeable(("col", source.alias, t), ("col", child.alias, m))
                    for t, m in joined.items()
                ):
                    continue
                self.fired.add("foreign_key")
                made = substituted(select, source, {t: ("col", child.alias, m) for t, m in joined.items()})
                known = Facts(self.known, made)
                missing = [
                    ("not", ("isnull", ("col", child.alias, m)))
                    for m in joined.values()
                    if not known.never_null(("col", child.alias, m))
                ]
                return replace(made, where=conjuncts((*made.where, *missing)))
        return None

    # --- groups and rows --------------------------------------------------------------------------------

    def _grouped(self, select: Select) -> Select:
        facts = Facts(self.known, select)
        select = self._fewer_distincts(select, facts)
        if select.group is None and aggregated(select) and self._undetermined(select, Facts(self.known, select), ()):
            raise NotUnderstood("a column beside an aggregate")
        if not select.group:
            return select
        closed = facts.closure(select.group)
        if self._undetermined(select, facts, select.group):
            raise NotUnderstood("a column that the group does not determine")
        plain = [term for term in select.having if not any(part[0] == "agg" for part in local(term))]
        if plain:
            self.fired.add("group_distinct")
            kept = [term for term in select.having if term not in plain]
            return replace(select, having=conjuncts(kept), where=conjuncts((*select.where, *plain)))
        if closed.everything:
            made = self._ungrouped(select, facts)
            if made is not None:
                self.fired.add("single_row")
                return made
        others = [term for term in select.group if term[0] != "col"]
        own = {source.alias for source in select.sources}
        full = tuple(sorted({*others, *(c for c in closed.columns if c[1] in own)}, key=repr))
        if not any(True for _ in aggregates_of(select)) and not select.having:
            shown_columns = facts.closure(select.outputs).columns
            if all(term in shown_columns or term in select.outputs for term in select.group):
                self.fired.add("group_distinct")
                return replace(select, group=None, distinct=True)
        if full != select.group:
            self.fired.add("key")
        return replace(select, group=full)

    @staticmethod
    def _undetermined(select: Select, facts: Facts, group: tuple[Term, ...]) -> bool:
        """Whether a value is asked for that may differ among the rows of a group."""
        closed = facts.closure(group).columns
        return any(
            part[0] == "col" and part[1] in facts.sources and part not in closed
            for term in (*select.outputs, *select.having, *(key.term for key in select.order))
            if term not in group
            for part in outside_aggregates(term)
        )

    def _fewer_distincts(self, select: Select, facts: Facts) -> Select:
        """COUNT(DISTINCT c) is COUNT(c) where no group has a value of c twice."""
        group = select.group or ()

        def change(term: Term) -> Term | None:
            distinct = term[0] == "agg" and term[2] and term[3][0] == "col"
            if distinct and facts.closure((*group, term[3]), known=term[3]).everything:
                self.fired.add("key")
                return ("agg", term[1], False, term[3])
            return None

        return replace(
            select,
            outputs=tuple(rebuilt(term, change) for term in select.outputs),
            having=conjuncts(rebuilt(term, change) for term in select.having),
            order=tuple(replace(key, term=rebuilt(key.term, change)) for key in select.order),
        )

    def _ungrouped(self, select: Select, facts: Facts) -> Select | None:
        """Groups of one row each: aggregates are the row's own values."""
        ok = True

        def change(term: Term) -> Term | None:
            nonlocal ok
            if term[0] != "agg":
                return None
            _, name, _, argument = term
            if name == "count":
                if argument is None:
                    return ("lit", "number", "1")
            elif name in ("min", "max"):
                value: Term = argument
                return value
            elif argument[0] == "col" and self.known.kind(argument) in _NUMBERS:
                return ("fn", "Real", (("this", argument),)) if name == "avg" else argument
            ok = False
            return None

        outputs = tuple(rebuilt(term, change) for term in select.outputs)
        having = [rebuilt(term, change) for term in select.having]
        order = tuple(replace(key, term=rebuilt(key.term, change)) for key in select.order)
        if not ok:
            return None
        where = conjuncts((*select.where, *having))
        return replace(select, outputs=outputs, having=(), order=order, group=None, where=where)

    def _few_rows(self, select: Select) -> Select:
        facts = Facts(self.known, select)
        alone = select.group is None and aggregated(select)
        single = alone or (select.group is None and bool(select.sources) and facts.closure(()).everything)
        if single and select.offset is None:
            bounded = select.limit is not None and positive(select.limit)
            if select.distinct or select.order or bounded:
                self.fired.add("single_row")
                return replace(
                    select, distinct=False, order=(), limit=None if bounded or select.limit is None else select.limit
                )
        if select.distinct and not alone:
            shown_columns = facts.closure(select.outputs)
            unique = (
                shown_columns.everything
                if select.group is None
                else all(term in shown_columns.columns or term in select.outputs for term in select.group)
            )
            if unique:
                self.fired.add("key")
                return replace(select, distinct=False)
        keys: list[Key] = []
        for key in select.order:
            before = facts.closure(tuple(k.term for k in keys))
            grouped = select.group and all(term in before.columns for term in select.group)
            fixed = before.everything or grouped or key.term in before.columns or key.term[0] == "lit"
            if not fixed:
                keys.append(key)
        if len(keys) < len(select.order):
            self.fired.add("key")
            return replace(select, order=tuple(keys))
        return select


def _renamed(term: Term, names: dict[str, str]) -> Term | None:
    if term[0] == "col" and term[1] in names:
        return ("col", names[term[1]], term[2])
    return None
