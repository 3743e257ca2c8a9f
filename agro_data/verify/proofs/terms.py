"""A query as terms that can be compared and rewritten: no spelling, no parentheses, no order where none counts.

Terms are nested tuples; the first element says what kind of term it is:

| term | meaning |
| --- | --- |
| `("col", alias, name)` | a column; aliases are unique in the whole query |
| `("lit", kind, text)` | a literal |
| `("and", terms)`, `("or", terms)`, `("not", term)` | three-valued logic; terms sorted, none twice |
| `("=", a, b)`, `("<>", a, b)`, `("<", a, b)`, `("<=", a, b)` | comparisons; equal ones with sorted sides |
| `("isnull", a)`, `("in", a, query)`, `("exists", query)`, `("scalar", query)` | |
| `("agg", name, distinct, argument)` | argument None: rows are counted |
| `("fn", name, ((slot, value), ...))` | anything else that computes |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from operator import eq, le, lt, ne
from typing import Any, TypeVar

from agro_data.databases.quoting import folded

Term = tuple[Any, ...]


class NotUnderstood(Exception):
    """A query with something that the algebra has no term for; nothing can be proved of it."""


@dataclass(frozen=True)
class From:
    """One source of a FROM. `table` is "" for a derived table, whose columns are called "#0", "#1", ..."""

    alias: str
    table: str
    columns: tuple[str, ...]
    query: Query | None = None
    left: bool = False  # LEFT JOINed to all before it
    on: tuple[Term, ...] = ()  # conjuncts of a LEFT JOIN; an inner join's stand in WHERE


@dataclass(frozen=True)
class Key:
    """One key of an ORDER BY."""

    term: Term
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Select:
    """One SELECT; `where` and `having` are conjuncts."""

    outputs: tuple[Term, ...]
    sources: tuple[From, ...]
    _: KW_ONLY
    where: tuple[Term, ...] = ()
    group: tuple[Term, ...] | None = None
    having: tuple[Term, ...] = ()
    distinct: bool = False
    order: tuple[Key, ...] = ()
    limit: Term | None = None
    offset: Term | None = None


@dataclass(frozen=True)
class Combined:
    """A set operation; keys of `order` are `("output", position)`."""

    operation: str  # "union", "union all", "intersect", "except"
    branches: tuple[Query, ...]
    order: tuple[Key, ...] = ()
    limit: Term | None = None
    offset: Term | None = None


Query = Select | Combined
_Query = TypeVar("_Query", bound=Query)

TRUE: Term = ("lit", "boolean", "true")
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {"=": eq, "<>": ne, "<": lt, "<=": le}


def combined(word: str, terms: Iterable[Term]) -> Term:
    """AND or OR of terms: flat, sorted, none twice, and with what the others imply left out (A OR A AND B is A)."""
    flat: dict[str, Term] = {}
    for term in terms:
        for part in term[1] if term[0] == word else (term,):
            flat[repr(part)] = part
    other = "or" if word == "and" else "and"
    held = set(flat)
    kept = [
        flat[text]
        for text in sorted(flat)
        if not (flat[text][0] == other and any(repr(part) in held for part in flat[text][1]))
    ]
    return kept[0] if len(kept) == 1 else (word, tuple(kept))


def conjuncts(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The parts of a conjunction, sorted, without what is always true."""
    parts = [term for term in terms if term != TRUE]
    if not parts:
        return ()
    whole = combined("and", parts)
    return tuple(whole[1]) if whole[0] == "and" else (whole,)


def negated(term: Term) -> Term:
    """NOT of a predicate, moved inward; true and false are exchanged, unknown stays."""
    if term[0] == "not":
        inner: Term = term[1]
        return inner
    if term[0] in ("and", "or"):
        return combined("or" if term[0] == "and" else "and", (negated(part) for part in term[1]))
    if term[0] == "=":
        return ("<>", term[1], term[2])
    if term[0] == "<>":
        return ("=", term[1], term[2])
    if term[0] == "<":
        return ("<=", term[2], term[1])
    if term[0] == "<=":
        return ("<", term[2], term[1])
    return ("not", term)


def lowered(term: Term) -> Term:
    """A text literal with its ASCII letters in lower case."""
    return ("lit", "text", folded(term[2])) if term[:2] == ("lit", "text") else term


def rebuilt(term: Any, change: Callable[[Term], Term | None]) -> Any:
    """A term with every part for which `change` gives another one replaced, queries in it included."""
    if isinstance(term, (Select, Combined)):
        return mapped(term, lambda part: rebuilt(part, change))
    if not isinstance(term, tuple):
        return term
    if term and isinstance(term[0], str):
        new = change(term)
        if new is not None:
            return new
        if term[0] in ("and", "or"):
            return combined(term[0], [rebuilt(part, change) for part in term[1]])
        if term[0] in ("=", "<>"):
            return (term[0], *sorted((rebuilt(term[1], change), rebuilt(term[2], change)), key=repr))
    return tuple(rebuilt(part, change) for part in term)


def mapped(query: _Query, change: Callable[[Term], Term]) -> _Query:
    """A query with `change` applied to each of its terms (not to queries in FROM)."""
    order = tuple(replace(key, term=change(key.term)) for key in query.order)
    if isinstance(query, Combined):
        return replace(query, branches=tuple(mapped(branch, change) for branch in query.branches), order=order)
    return replace(
        query,
        outputs=tuple(change(term) for term in query.outputs),
        sources=tuple(
            replace(
                source,
                on=conjuncts(change(term) for term in source.on),
                query=mapped(source.query, change) if source.query is not None else None,
            )
            for source in query.sources
        ),
        where=conjuncts(change(term) for term in query.where),
        group=None if query.group is None else tuple(change(term) for term in query.group),
        having=conjuncts(change(term) for term in query.having),
        order=order,
    )


def parts(term: Any) -> Iterator[Term]:
    """The terms in a term, itself first, also inside queries in it."""
    if isinstance(term, (Select, Combined)):
        for inner in terms_of(term):
            yield from parts(inner)
    elif isinstance(term, tuple):
        if term and isinstance(term[0], str):
            yield term
        for part in term:
            yield from parts(part)


def terms_of(query: Query) -> Iterator[Term]:
    """All terms of a query, also of its branches and derived tables."""
    yield from (key.term for key in query.order)
    if isinstance(query, Combined):
        for branch in query.branches:
            yield from terms_of(branch)
        return
    yield from query.outputs
    yield from query.where
    yield from query.group or ()
    yield from query.having
    for source in query.sources:
        yield from source.on
        if source.query is not None:
            yield from terms_of(source.query)


def columns_in(terms: Iterable[Any]) -> set[Term]:
    """All columns that terms name, in queries too."""
    return {part for term in terms for part in parts(term) if part[0] == "col"}


def local(term: Any) -> Iterator[Term]:
    """The terms in a term, without terms inside queries in it."""
    if isinstance(term, tuple):
        if term and isinstance(term[0], str):
            yield term
        for part in term:
            yield from local(part)


def positive(limit: Term) -> bool:
    """Whether a LIMIT lets a row through."""
    return str(limit[2]).isdigit() and int(limit[2]) > 0


def aggregates_of(select: Select) -> Iterator[Term]:
    """The aggregates that a SELECT computes."""
    for term in (*select.outputs, *select.having, *(key.term for key in select.order)):
        yield from (part for part in local(term) if part[0] == "agg")


def aggregated(select: Select) -> bool:
    """Whether a SELECT computes an aggregate."""
    return any(True for _ in aggregates_of(select))


def totalled(select: Select) -> bool:
    """Whether a SELECT makes one row of all rows, and of none: aggregates, of no window, and no GROUP BY."""

    def totals(term: Any) -> bool:
        if not isinstance(term, tuple):
            return False
        if term and term[0] == "agg":
            return True
        if term[:2] == ("fn", "Window"):
            slots = dict(term[2])
            over = slots.pop("this")
            return totals(over[1:] if over[0] == "agg" else over) or totals(tuple(slots.values()))
        return any(map(totals, term))

    terms = (*select.outputs, *select.having, *(key.term for key in select.order))
    return select.group is None and any(map(totals, terms))


def windowed(select: Select) -> bool:
    """Whether a SELECT computes over a window."""
    terms = (*select.outputs, *(key.term for key in select.order))
    return any(part[0] == "fn" and part[1] == "Window" for term in terms for part in local(term))


def outside_aggregates(term: Any) -> Iterator[Term]:
    """The parts of a term that no aggregate takes in; columns of the queries in it too."""
    if isinstance(term, (Select, Combined)):
        yield from columns_in(terms_of(term))
    elif isinstance(term, tuple):
        if term and term[0] == "agg":
            return
        if term and isinstance(term[0], str):
            yield term
        for part in term:
            yield from outside_aggregates(part)


def substituted(select: Select, source: From, columns: dict[str, Term]) -> Select:
    """The SELECT without a source, its columns replaced; equalities of a column with itself mean NOT NULL."""

    def change(term: Term) -> Term | None:
        if term[0] == "col" and term[1] == source.alias:
            return columns[term[2]]
        return None

    rest = replace(select, sources=tuple(s for s in select.sources if s is not source))
    made = mapped(rest, lambda term: rebuilt(term, change))
    where = [
        ("not", ("isnull", term[1])) if term[0] == "=" and term[1] == term[2] and term[1][0] == "col" else term
        for term in made.where
    ]
    return replace(made, where=conjuncts(where))


def within(query: Query) -> Iterator[Query]:
    """A query and all queries in it, some of them several times."""
    waiting: list[Query] = [query]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, Combined):
            waiting.extend(current.branches)
        else:
            waiting.extend(source.query for source in current.sources if source.query is not None)
            waiting.extend(queries_in(terms_of(current)))


def queries_in(term: Any) -> Iterator[Query]:
    """The queries in terms, those in other queries left out."""
    if isinstance(term, (Select, Combined)):
        yield term
    elif isinstance(term, (tuple, Iterator)):
        for part in term:
            yield from queries_in(part)
