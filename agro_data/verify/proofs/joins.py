"""Joins that are another join, or none: LEFT JOIN as JOIN, sources that add nothing."""

from __future__ import annotations

from dataclasses import replace

from agro_data.databases.quoting import folded
from agro_data.verify.proofs.facts import Facts, Known, carried, equated, operands, rejecting
from agro_data.verify.proofs.terms import (
    From,
    Select,
    Term,
    aggregated,
    aggregates_of,
    columns_in,
    combined,
    conjuncts,
    outside_aggregates,
    rebuilt,
    substituted,
    terms_of,
    totalled,
    windowed,
)

UNASKED: Term = ("lit", "setting", "unasked")


def unasked(select: Select, fired: set[str]) -> Select:
    """Columns of a query in FROM that nobody asks for as constants."""
    used = {(column[1], column[2]) for column in columns_in(terms_of(replace(select, sources=_bare(select.sources))))}
    sources = tuple(_asked(source, used) for source in select.sources)
    if sources != select.sources:
        fired.add("unasked")
    return replace(select, sources=sources)


def _asked(source: From, used: set[tuple[str, str]]) -> From:
    inner = source.query
    if not isinstance(inner, Select) or inner.distinct or totalled(inner):
        return source
    pairs = zip(source.columns, inner.outputs, strict=True)
    outputs = tuple(term if (source.alias, name) in used else UNASKED for name, term in pairs)
    return replace(source, query=replace(inner, outputs=outputs))


def _bare(sources: tuple[From, ...]) -> tuple[From, ...]:
    """Sources without their queries, whose terms are no terms of the SELECT."""
    return tuple(replace(source, query=None) for source in sources)


def flattened(select: Select, fired: set[str]) -> Select:
    """A query in FROM that only joins and selects as the tables and conditions that it is made of."""
    for place, source in enumerate(select.sources):
        inner = source.query
        if source.left or not isinstance(inner, Select) or not _is_plain(inner):
            continue
        fired.add("derived")
        made = substituted(select, source, dict(zip(source.columns, inner.outputs, strict=True)))
        sources = (*made.sources[:place], *inner.sources, *made.sources[place:])
        return flattened(replace(made, sources=sources, where=conjuncts((*made.where, *inner.where))), fired)
    return select


def _is_plain(select: Select) -> bool:
    """Whether each row of a SELECT is one of each of its sources."""
    bare = select.group is None and not select.having and not select.distinct and not select.order
    uncut = select.limit is None and select.offset is None
    joined = not any(source.left for source in select.sources)
    return bare and uncut and joined and not aggregated(select) and not windowed(select)


def inner_joins(select: Select, known: Known, fired: set[str]) -> Select:
    """LEFT JOIN to JOIN, where a row without a partner cannot be, does not pass or is not seen."""
    facts = Facts(known, select)
    for place, source in enumerate(select.sources):
        if not source.left:
            continue
        rejected = any(column[1] == source.alias for term in select.where for column in rejecting(term))
        kept = not rejected and _always_partner(source, facts)
        ignored = not (rejected or kept) and _ignores_nulls(select, source)
        if rejected or kept or ignored:
            fired.add("null_rejected" if rejected else "foreign_key" if kept else "null_ignored")
            sources = list(select.sources)
            sources[place] = replace(source, left=False, on=())
            return replace(select, sources=tuple(sources), where=conjuncts((*select.where, *source.on)))
    return select


def _ignores_nulls(select: Select, source: From) -> bool:
    """Whether all that a SELECT shows are totals of the source's columns, or of what is computed from them: a row
    without a partner adds to none. Of groups that have no other row, HAVING must let none pass.
    """
    shown = (*select.outputs, *select.having, *(key.term for key in select.order))
    totals = list(aggregates_of(select))
    beside = [part for term in shown for part in outside_aggregates(term) if part[0] == "col"]
    if select.group is None:
        told = not beside
    else:
        told = any(_needs_a_value(term) for term in select.having)
        told = told and all(column[1] != source.alias for column in (*beside, *columns_in(select.group)))
    return (
        told
        and bool(totals)
        and all(total[3] is not None and any(c[1] == source.alias for c in carried(total[3])) for total in totals)
        and not windowed(select)
    )


def _needs_a_value(term: Term) -> bool:
    """Whether a condition on groups is true of none whose totals are NULL, and whose counts of values are 0 (how many
    rows there are is left to `partners`)."""
    if term[0] not in ("=", "<>", "<", "<="):
        return False
    if any(part[0] == "agg" and part[1] != "count" for side in term[1:] for part in operands(side)):
        return True
    least, count = sorted(term[1:], key=lambda side: side[0] == "agg") if term[0] == "=" else term[1:]
    if term[0] == "<>" or count[0] != "agg" or not count[2] or least[:2] != ("lit", "number"):
        return False
    return float(least[2]) > 0 or (term[0] == "<" and float(least[2]) == 0)


def without_own_rows(select: Select, known: Known, fired: set[str]) -> Select:
    """A SELECT whose WHERE has `_without_own_row` for each query of an IN that it wants to be true: NOT IN is another
    matter, to which a NULL among the rows counts."""

    def change(term: Term) -> Term:
        if term[0] in ("and", "or"):
            return combined(term[0], map(change, term[1]))
        if term[0] == "in" and isinstance(term[2], Select):
            return ("in", term[1], _without_own_row(term[1], term[2], known, fired))
        return term

    return replace(select, where=conjuncts(map(change, select.where)))


def _without_own_row(subject: Term, inner: Select, known: Known, fired: set[str]) -> Select:
    """The query of `p.c IN (SELECT c.id FROM c JOIN p AS q ON q.c = c.id ...)` without q: p is such a partner."""
    if subject[0] != "col" or not _is_plain(inner):
        return inner
    output = inner.outputs[0]
    for source in inner.sources:
        own = ("col", source.alias, subject[2])
        if not source.table or source.table != known.table_of.get(subject[1]) or output[1:2] == (source.alias,):
            continue
        joined = ("=", *sorted((own, output), key=repr))
        rest = replace(
            inner,
            sources=tuple(other for other in inner.sources if other is not source),
            where=tuple(term for term in inner.where if term != joined),
        )
        used = any(column[1] == source.alias for column in columns_in(terms_of(rest)))
        if joined in inner.where and not used and known.interchangeable(own, output):
            fired.add("set")
            return rest
    return inner


def joined_in(select: Select, known: Known, fired: set[str]) -> Select:
    """`c IN (SELECT key FROM t WHERE ...)` as a join with the one row of t that has that key."""
    for term in select.where:
        inner = term[2] if term[0] == "in" and isinstance(term[2], Select) else None
        if inner is None or not _is_plain(inner) or len(inner.sources) != 1 or inner.outputs[0][0] != "col":
            continue
        source, output = inner.sources[0], inner.outputs[0]
        spec = known.tables.get(folded(source.table)) if source.table else None
        keys = {tuple(map(folded, key)) for key in spec.keys} if spec is not None else set()
        same = term[1][0] == "col" and known.interchangeable(term[1], output)
        if output[1] != source.alias or (output[2],) not in keys or not same:
            continue
        fired.add("key")
        equal = ("=", *sorted((term[1], output), key=repr))
        where = (*(other for other in select.where if other is not term), *inner.where, equal)
        return joined_in(replace(select, sources=(*select.sources, source), where=conjuncts(where)), known, fired)
    return select


def _always_partner(source: From, facts: Facts) -> bool:
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
        if not facts.known.interchangeable(left, right):
            return False
        child = right[1]
        joined[left[2]] = right[2]
    return facts.refers(child, source, joined) and all(
        facts.never_null(("col", child, name)) for name in joined.values()
    )


def fewer_sources(select: Select, repeats: bool, known: Known, fired: set[str]) -> Select:
    """A SELECT without a source that adds nothing to its answer; the first that is found."""
    facts = Facts(known, select)
    for source in select.sources:
        if len(select.sources) < 2:
            break
        made = _without_left(select, source, facts, repeats, fired) if source.left else None
        if made is None and not source.left and source.table:
            made = (
                _merged(select, source, facts, fired)
                or _without_parent(select, source, facts, fired)
                or _without_partners(select, source, facts, repeats, fired)
            )
        if made is not None:
            return made
    return select


def fewer_partners(select: Select, known: Known, fired: set[str]) -> Select:
    """A SELECT with windows without a source of which each row has exactly one partner, or none that is asked for."""
    facts = Facts(known, select)
    for source in select.sources if len(select.sources) > 1 else ():
        if source.left and facts.one_partner(source):
            made = _without_left(select, source, facts, True, fired)
        else:
            made = _without_parent(select, source, facts, fired) if source.table and not source.left else None
        if made is not None:
            return made
    return select


def _without_left(select: Select, source: From, facts: Facts, repeats: bool, fired: set[str]) -> Select | None:
    """A LEFT JOIN nobody asks for, if it repeats no row or repetition is not seen."""
    rest = replace(select, sources=tuple(s for s in select.sources if s is not source))
    if any(column[1] == source.alias for column in columns_in(terms_of(rest))):
        return None
    if facts.one_partner(source):
        fired.add("key")
        return rest
    if repeats_are_seen(select, repeats):
        return None
    fired.add("set")
    return rest


def repeats_are_seen(select: Select, repeats: bool) -> bool:
    """Whether the answer changes if rows of the FROM occur more often."""
    aggregates = list(aggregates_of(select))
    if aggregates:
        return not all(a[1] in ("min", "max") or a[2] for a in aggregates)
    bounded = select.limit is not None or select.offset is not None
    return select.group is None and not select.distinct and (repeats or bounded)


def _merged(select: Select, source: From, facts: Facts, fired: set[str]) -> Select | None:
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
                fired.add("key")
                return substituted(select, source, {name: ("col", other.alias, name) for name in source.columns})
    return None


def _without_partners(select: Select, source: From, facts: Facts, repeats: bool, fired: set[str]) -> Select | None:
    """A parent that is joined along a part of an enforced foreign key, or a second use of a table that is joined to the
    first by columns of the same name: each row has partners, and repetition is not seen.
    """
    if repeats_are_seen(select, repeats):
        return None
    on = tuple(term for term in select.where if any(column[1] == source.alias for column in columns_in([term])))
    rest = replace(
        select,
        sources=tuple(s for s in select.sources if s is not source),
        where=tuple(term for term in select.where if term not in on),
    )
    pairs = [pair for term in on if (pair := equated(term)) is not None]
    if not pairs or len(pairs) < len(on) or any(c[1] == source.alias for c in columns_in(terms_of(rest))):
        return None
    joined = [(one, other) if one[1] == source.alias else (other, one) for one, other in pairs]
    if not all(facts.known.interchangeable(*pair) for pair in joined):
        return None
    left = Facts(facts.known, rest)
    for child in rest.sources:
        if child.left or not child.table:
            continue
        itself = child.table == source.table and all(
            left.never_null(m) and left.equal(m, ("col", child.alias, t[2])) for t, m in joined
        )
        if itself:
            fired.update(("key", "set"))
            return rest
        for mine, theirs in facts.foreign_keys(child, source):
            of_key = {(t, ("col", child.alias, m)) for m, t in zip(mine, theirs, strict=True)}
            never_null = all(left.never_null(("col", child.alias, m)) for m in mine)
            if never_null and {(t[2], m) for t, m in joined} <= of_key:
                fired.update(("foreign_key", "set"))
                return rest
    return None


def either_way(select: Select, known: Known, fired: set[str]) -> Select:
    """`a.id < b.id` as `a.id <> b.id`, where a and b are two uses of a table that may change places in all else, and
    repetition is not seen.
    """
    cut = select.limit is not None or select.offset is not None
    if not select.distinct or cut or select.group is not None or aggregated(select):
        return select
    facts = Facts(known, select)
    for term in select.where:
        one, other = term[1:] if term[0] == "<" else (term, term)
        same = one[0] == other[0] == "col" and one[2] == other[2] and one[1] != other[1]
        tables = [known.table_of.get(column[1], "") for column in (one, other)] if same else ["", ""]
        if not tables[0] or tables[0] != tables[1] or not {one[1], other[1]} <= {*facts.sources}:
            continue
        names = {one[1]: other[1], other[1]: one[1]}

        def change(part: Term, names: dict[str, str] = names) -> Term | None:
            return ("col", names[part[1]], part[2]) if part[0] == "col" and part[1] in names else None

        rest = tuple(part for part in select.where if part is not term)
        shown = (*select.outputs, *(key.term for key in select.order))
        told = all((turned := rebuilt(part, change)) == part or facts.equal(turned, part) for part in shown)
        free = not any(source.left or source.query is not None for source in select.sources)
        if told and free and conjuncts(rebuilt(part, change) for part in rest) == conjuncts(rest):
            fired.add("set")
            return replace(select, where=conjuncts((*rest, ("<>", *sorted((one, other), key=repr)))))
    return select


def _without_parent(select: Select, source: From, facts: Facts, fired: set[str]) -> Select | None:
    """A parent that is joined along an enforced foreign key, and whose key alone is used."""
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
                facts.known.interchangeable(("col", source.alias, t), ("col", child.alias, m))
                for t, m in joined.items()
            ):
                continue
            fired.add("foreign_key")
            made = substituted(select, source, {t: ("col", child.alias, m) for t, m in joined.items()})
            rest_facts = Facts(facts.known, made)
            missing = [
                ("not", ("isnull", ("col", child.alias, m)))
                for m in joined.values()
                if not rest_facts.never_null(("col", child.alias, m))
            ]
            return replace(made, where=conjuncts((*made.where, *missing)))
    return None
