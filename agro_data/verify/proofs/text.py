"""The text of a query in terms: the same for queries that differ in names of sources and the order of joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agro_data.verify.proofs.facts import classes_of, equated
from agro_data.verify.proofs.terms import Combined, From, Query, Select, Term, rebuilt

Merge = Callable[[Term, Term], bool]


def shown(query: Query, merge: Merge | None = None, names: dict[str, str] | None = None, depth: int = 0) -> str:
    """Text that two queries share when they are the same but for the names of sources and the order of joins.

    `merge` says which equated columns may stand for each other; without it none does.
    """
    names = names or {}
    if isinstance(query, Combined):
        branches = [shown(branch, merge, names, depth) for branch in query.branches]
        if query.operation != "except":
            branches.sort()
        return f"({query.operation} {' | '.join(branches)} {_tail(query, _Words(names, {}, merge, depth))})"
    own = {**names, **named(query, depth, names, merge)}
    members = _members(query, own, merge)
    same = {member: min(group) for group in members for member in group}
    words = _Words(own, same, merge, depth + 1)
    inner = sorted(own[s.alias] + "=" + words.source(s) for s in query.sources if not s.left)
    left = [
        f"{own[s.alias]}={words.source(s)} on {' & '.join(sorted(map(words.of, s.on)))}"
        for s in query.sources
        if s.left
    ]
    classes = sorted({",".join(sorted(group)) for group in members})
    where = sorted({words.of(term) for term in query.where if not _merged(term, merge)})
    group = "-" if query.group is None else ", ".join(sorted({words.of(term) for term in query.group}))
    having = sorted(words.of(term) for term in query.having)
    outputs = ", ".join(words.of(term) for term in query.outputs)
    return (
        f"(select{' distinct' if query.distinct else ''} {outputs} from {'; '.join([*inner, *left])} same {classes} "
        f"where {where} group {group} having {having} {_tail(query, words)})"
    )


class _Words:
    """Terms as text, in one SELECT."""

    def __init__(self, names: dict[str, str], same: dict[str, str], merge: Merge | None, depth: int) -> None:
        self.names = names
        self.same = same
        self.merge = merge
        self.depth = depth

    def source(self, source: From) -> str:
        return source.table if source.query is None else shown(source.query, self.merge, self.names, self.depth)

    def of(self, term: Any) -> str:
        if isinstance(term, (Select, Combined)):
            return shown(term, self.merge, self.names, self.depth)
        if not isinstance(term, tuple):
            return repr(term)
        if term and term[0] == "col":
            name = f"{self.names.get(term[1], term[1])}.{term[2]}"
            return self.same.get(name, name)
        if term and term[0] in ("and", "or"):
            return f"({term[0]} {sorted({self.of(part) for part in term[1]})})"
        texts = [self.of(part) for part in term]
        if term and term[0] in ("=", "<>"):
            return f"({texts[0]} {' '.join(sorted(texts[1:]))})"
        return f"({' '.join(texts)})"


def _tail(query: Query, words: _Words) -> str:
    keys = [(words.of(key.term), key.descending, key.nulls_first) for key in query.order]
    return f"order {keys} limit {query.limit} offset {query.offset}"


def _merged(term: Term, merge: Merge | None) -> bool:
    pair = equated(term)
    return pair is not None and merge is not None and merge(*pair)


def named(
    select: Select, depth: int, names: dict[str, str] | None = None, merge: Merge | None = None
) -> dict[str, str]:
    """A name for every source that does not depend on the order of inner joins, nor on which of two columns that stand
    for each other is written.
    """
    known = names or {}
    tables = {source.alias: source.table for source in select.sources}
    same = classes_of(select, merge)

    def signature(source: From) -> str:
        def called(column: Term) -> Term:
            if column[1] in known:
                return column
            return ("col", "me" if column[1] == source.alias else tables.get(column[1], "?"), column[2])

        def change(term: Term) -> Term | None:
            if term[0] != "col":
                return None
            return ("same", *sorted(map(called, same[term]), key=repr)) if term in same else called(term)

        terms = [repr(rebuilt(term, change)) for term in (*select.outputs, *(k.term for k in select.order))]
        return repr(
            [*terms, *sorted(repr(rebuilt(t, change)) for t in (*select.where, *(select.group or ()), *select.having))]
        )

    inner = sorted((s for s in select.sources if not s.left), key=lambda s: (s.table, signature(s)))
    ranked = [*inner, *(s for s in select.sources if s.left)]
    return {source.alias: f"d{depth}n{place}" for place, source in enumerate(ranked)}


def _members(select: Select, names: dict[str, str], merge: Merge | None) -> list[set[str]]:
    """The columns that stand for each other, as text."""
    classes = {id(together): together for together in classes_of(select, merge).values()}
    return [{f"{names.get(column[1], column[1])}.{column[2]}" for column in one} for one in classes.values()]
