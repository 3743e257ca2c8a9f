"""Conditions and counts under what the schema says of NULL, of extremes, of parents and of groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agro_data.databases.quoting import folded
from agro_data.verify.proofs.facts import Facts, Known, carried, equated, rejecting
from agro_data.verify.proofs.terms import (
    COMPARED,
    Select,
    Term,
    aggregates_of,
    columns_in,
    combined,
    conjuncts,
    local,
    lowered,
    mapped,
    outside_aggregates,
    rebuilt,
    terms_of,
    totalled,
    windowed,
)

_RANKS = (("fn", "Rank"), ("fn", "DenseRank"), ("fn", "RowNumber"))
ZERO: Term = ("lit", "number", "0")
ONE: Term = ("lit", "number", "1")
ROW_NUMBER: Term = ("fn", "RowNumber", ())
_EMPTY = Select((), ())


def without_case(select: Select, known: Known, fired: set[str]) -> Select:
    """Literals in lower case where they are compared with a column to which case does not count, and an order by that
    column itself for one by LOWER of it.
    """

    def change(term: Term) -> Term | None:
        if term[0] not in COMPARED or not any(side[0] == "col" and known.caseless(side) for side in term[1:]):
            return None
        sides = [lowered(side) for side in term[1:]]
        if sides == list(term[1:]):
            return None
        fired.add("collation")
        return (term[0], *(sorted(sides, key=repr) if term[0] in ("=", "<>") else sides))

    def key(term: Term) -> Term:
        if term[:2] != ("fn", "Lower") or term[2][0][1][0] != "col" or not known.caseless(term[2][0][1]):
            return term
        fired.add("collation")
        column: Term = term[2][0][1]
        return column

    made = mapped(select, lambda term: rebuilt(term, change))
    return replace(made, order=tuple(replace(one, term=key(one.term)) for one in made.order))


def counts_the_known(select: Select, known: Known, fired: set[str]) -> Select:
    """COUNT(c) as COUNT(*) of the rows where c is known, where the others add to nothing else that is shown."""
    for count in aggregates_of(select):
        column: Term = count[3] or ()
        if count[1:3] != ("count", False) or column[:1] != ("col",) or not _adds_to_none(select, column):
            continue
        guard: Term = ("not", ("isnull", column))
        if Facts(known, replace(select, where=tuple(t for t in select.where if t != guard))).never_null(column):
            continue
        all_rows = {count: (*count[:3], None)}
        made = mapped(select, partial(rebuilt, change=all_rows.get))
        fired.add("null_ignored")
        return replace(made, where=conjuncts((*made.where, guard)))
    return select


def simplified(select: Select, known: Known, fired: set[str]) -> Select:
    """COUNT(c) as COUNT(*) where c is never NULL; conditions that always hold, left out."""
    facts = Facts(known, select)

    def change(term: Term) -> Term | None:
        if term[0] == "agg" and term[1] == "count" and not term[2] and term[3] is not None:
            argument = term[3]
            if argument[0] == "lit" or (argument[0] == "col" and facts.never_null(argument)):
                fired.add("not_null")
                return ("agg", "count", False, None)
            return _counted_case(term, facts, fired) or _told_by_partner(term, 3, facts, fired)
        if term[0] == "isnull":
            return _told_by_partner(term, 1, facts, fired)
        if term[:2] == ("fn", "If"):
            return _guarded(term, change, fired)
        given = _coalesced(term)
        if given is not None and facts.never_null(given):
            fired.add("not_null")
            return given
        return None

    def total(term: Term) -> Term | None:
        """As `change`; but beside the total of no rows a column is NULL, whatever is said of rows."""
        if term[0] == "agg":
            made: Term = rebuilt(term, change)
            return made
        return None if _coalesced(term) is not None or term[:2] == ("fn", "If") else change(term)

    def partners(term: Term) -> Term | None:
        return _told_by_partner(term, 1, facts, fired) if term[0] == "isnull" else None

    where: list[Term] = []
    for number, term in enumerate(select.where):
        others = replace(select, where=(*where, *select.where[number + 1 :]))  # no term proves itself
        test = term[1] if term[0] == "not" else term
        guard = term[0] == "not" and test[0] == "isnull" and test[1][0] == "col"
        always = guard and Facts(known, others).never_null(test[1])
        if always or (guard and _adds_to_none(select, test[1])):
            fired.add("not_null" if always else "null_ignored")
            continue
        counted = rebuilt(_from_zero(_of_a_rank(term, select, fired), fired), partners)
        if counted != term:
            where.append(counted)
            continue
        closer = _extreme(term, facts)
        if closer != term:
            fired.add("extreme")
            where.append(closer)
            continue
        if _finds_its_parent(term, facts):
            fired.add("foreign_key")
            if not Facts(known, others).never_null(term[1]):
                where.append(("not", ("isnull", term[1])))
            continue
        if term[0] == "or":
            kept = [p for p in term[1] if not (p[0] == "isnull" and p[1][0] == "col" and facts.declared(p[1]))]
            if kept and len(kept) < len(term[1]):
                fired.add("not_null")
                where.append(combined("or", kept))
                continue
        where.append(term)
    select = replace(select, where=conjuncts(where))
    facts = Facts(known, select)  # what is shown goes by the conditions that are left
    shown = total if totalled(select) else change
    return replace(
        select,
        outputs=tuple(rebuilt(term, shown) for term in select.outputs),
        having=conjuncts(_of_a_group(rebuilt(term, shown), facts, fired) for term in select.having),
        order=tuple(replace(key, term=rebuilt(key.term, shown)) for key in select.order),
    )


def _adds_to_none(select: Select, column: Term) -> bool:
    """Whether all that is shown are totals to which a row with NULL in the column adds nothing."""
    totals, shown = list(aggregates_of(select)), (*select.outputs, *select.having)
    alone = bool(totals) and totalled(select) and not windowed(select)
    beside = any(part[0] == "col" for term in shown for part in outside_aggregates(term))
    return alone and not beside and all(t[3] is not None and column in carried(t[3]) for t in totals)


def _counted_case(term: Term, facts: Facts, fired: set[str]) -> Term | None:
    """COUNT(CASE WHEN ... THEN c END), where c is never NULL, as a count of the rows for which a WHEN holds."""
    case = term[3]
    slots = dict(case[2]) if case[:2] == ("fn", "Case") else {}
    branches = [dict(branch[2]) for branch in slots.get("ifs", ())]
    never = all(b["true"][0] == "lit" or (b["true"][0] == "col" and facts.never_null(b["true"])) for b in branches)
    if not branches or "default" in slots or not never or all(b["true"] == ONE for b in branches):
        return None
    fired.add("not_null")
    ifs = tuple(("fn", "If", (("this", branch["this"]), ("true", ONE))) for branch in branches)
    return (*term[:3], ("fn", "Case", tuple((slot, ifs if slot == "ifs" else value) for slot, value in case[2])))


def _told_by_partner(term: Term, place: int, facts: Facts, fired: set[str]) -> Term | None:
    """COUNT(c) or `c IS NULL`, where c is NULL only if a partner is missing: rewritten to the first such column of its
    source.
    """
    column = term[place]
    source = facts.sources.get(column[1]) if column[0] == "col" else None
    spec = facts.spec(column[1]) if source is not None and source.left else None
    always = sorted(folded(c.name) for c in spec.columns if not c.nullable) if spec is not None else []
    if not always or column[-1] == always[0] or not facts.known_in_partners(column):
        return None
    fired.add("null_together")
    return (*term[:place], ("col", column[1], always[0]), *term[place + 1 :])


def _guarded(term: Term, change: Callable[[Term], Term | None], fired: set[str]) -> Term | None:
    """A branch of a CASE with `COALESCE(c, ...)` as c, where its condition is true of no row with NULL there."""
    slots = dict(term[2])
    never = rejecting(slots["this"])

    def bare(part: Term) -> Term | None:
        column = _coalesced(part)
        return column if column in never else change(part)

    made = {slot: rebuilt(value, bare if slot == "true" else change) for slot, value in slots.items()}
    if any(_coalesced(part) in never for part in local(slots["true"])):
        fired.add("not_null")
    return (*term[:2], tuple(made.items()))


def _coalesced(term: Term) -> Term | None:
    """The column of `COALESCE(column, ...)`."""
    if term[0] != "fn" or term[1] != "Coalesce":
        return None
    first = dict(term[2]).get("this")
    return first if first is not None and first[0] == "col" else None


def _counting(term: Term, subject: Term) -> Term | None:
    """What a comparison with 1 says of a number that counts from 1; None if it is none."""
    one = ("lit", "number", "1")
    equal = ("=", *sorted((subject, one), key=repr))
    above = ("<", one, subject)
    return {
        ("<>", *sorted((subject, one), key=repr)): above,
        ("<=", subject, one): equal,
        ("<", subject, ("lit", "number", "2")): equal,
        ("<=", ("lit", "number", "2"), subject): above,
    }.get(term)


def _of_a_group(term: Term, facts: Facts, fired: set[str]) -> Term:
    """What a HAVING says of COUNT(*), or of how many values a column has that is never NULL: never below 1 where there
    is a GROUP BY.
    """
    term = _mean_as_sum(term, fired)
    for count in term[1:] if facts.select.group and term[0] in COMPARED else ():
        known = count[:2] == ("agg", "count") and (
            count[3] is None or (count[3][0] == "col" and facts.never_null(count[3]))
        )
        same = _counting(term, count) if known else None
        if same is not None:
            fired.add("from_one")
            return same
    if term[0] == "<=" and _counts_all(term[1], term[2], facts):
        fired.add("foreign_key")
        return ("=", *sorted(term[1:], key=repr))
    return _from_zero(term, fired)


def _counts_all(bound: Term, count: Term, facts: Facts) -> bool:
    """Whether a group counts the parents that its rows refer to, each once, and the bound is the number of all parents:
    none counts more.
    """
    query = bound[1] if bound[0] == "scalar" else None
    rows: Term = ("agg", "count", False, None)
    if not isinstance(query, Select) or query != replace(_EMPTY, outputs=(rows,), sources=query.sources):
        return False
    if len(query.sources) != 1 or count[:2] != ("agg", "count"):
        return False
    for child in facts.sources.values():
        for names, _ in facts.foreign_keys(child, query.sources[0]):
            reference: Term = ("col", child.alias, names[0])
            told_apart = facts.closure((*(facts.select.group or ()), reference)).everything
            once = count[2:] == (True, reference) or (not count[2] and told_apart and facts.never_null(reference))
            if len(names) == 1 and once:
                return True
    return False


def _mean_as_sum(term: Term, fired: set[str]) -> Term:
    """A mean that is compared with 0 as the sum."""
    if term[0] not in COMPARED or ZERO not in term[1:]:
        return term
    sides = [("agg", "sum", *side[2:]) if side[:2] == ("agg", "avg") else side for side in term[1:]]
    if sides == list(term[1:]):
        return term
    fired.add("from_zero")
    return (term[0], *(sorted(sides, key=repr) if term[0] in ("=", "<>") else sides))


def _from_zero(term: Term, fired: set[str]) -> Term:
    """What a comparison with 0 or 1 says of a count, which is never below 0."""
    for count in term[1:] if term[0] in COMPARED else ():
        if not _is_count(count):
            continue
        none = ("=", *sorted((count, ZERO), key=repr))
        same = {
            ("<=", count, ZERO): none,
            ("<", count, ONE): none,
            ("<=", ONE, count): ("<", ZERO, count),
            ("<>", *sorted((count, ZERO), key=repr)): ("<", ZERO, count),
        }.get(term)
        if same is not None:
            fired.add("from_zero")
            return same
    return term


def _is_count(term: Term) -> bool:
    """Whether a term is a count of rows or values, also by a query of its own."""
    inner = term[1] if term[0] == "scalar" else None
    if not isinstance(inner, Select):
        return term[:2] == ("agg", "count")
    cut = inner.limit is not None or inner.offset is not None
    return totalled(inner) and not inner.having and not cut and inner.outputs[0][:2] == ("agg", "count")


def _of_a_rank(term: Term, select: Select, fired: set[str]) -> Term:
    """What a WHERE says of a rank that a query in FROM computes: ranks count from 1."""
    for source in select.sources:
        if not isinstance(source.query, Select) or source.left:
            continue
        for name, output in zip(source.columns, source.query.outputs, strict=True):
            ranks = output[:2] == ("fn", "Window") and dict(output[2])["this"][:2] in _RANKS
            same = _counting(term, ("col", source.alias, name)) if ranks else None
            if same is not None:
                fired.add("from_one")
                return same
    return term


def first_ranks(select: Select, fired: set[str]) -> Select:
    """Where only the first rank is asked for, DENSE_RANK is RANK."""
    sources = list(select.sources)
    for place, source in enumerate(sources):
        inner = source.query
        if not isinstance(inner, Select) or source.left:
            continue
        for number, (name, output) in enumerate(zip(source.columns, inner.outputs, strict=True)):
            column: Term = ("col", source.alias, name)
            first = ("=", *sorted((column, ("lit", "number", "1")), key=repr))
            dense = output[:2] == ("fn", "Window") and dict(output[2])["this"][:2] == ("fn", "DenseRank")
            rest = replace(select, where=tuple(term for term in select.where if term != first))
            if not dense or first not in select.where or column in columns_in(terms_of(rest)):
                continue
            slots = tuple((slot, ("fn", "Rank", ()) if slot == "this" else value) for slot, value in output[2])
            outputs = (*inner.outputs[:number], ("fn", "Window", slots), *inner.outputs[number + 1 :])
            fired.add("from_one")
            sources[place] = replace(source, query=replace(inner, outputs=outputs))
            return replace(select, sources=tuple(sources))
    return select


def ranks_without_ties(select: Select, known: Known, fired: set[str]) -> Select:
    """RANK and DENSE_RANK of rows that the order tells apart are ROW_NUMBER; keys of a window's order behind those that
    do so.
    """
    facts = Facts(known, select)

    def change(term: Term) -> Term | None:
        slots = dict(term[2]) if term[:2] == ("fn", "Window") else {}
        ordered = dict(slots["order"][2])["expressions"] if "order" in slots else ()
        keys = [dict(key[2])["this"] for key in ordered]
        parts = slots.get("partition_by", ())
        enough = next((n for n in range(1, len(keys) + 1) if facts.identify((*parts, *keys[:n]))), None)
        ranked = slots.get("this", ())[:2] in (("fn", "Rank"), ("fn", "DenseRank"))
        if enough is None or (enough == len(keys) and not ranked):
            return None
        fired.add("key")
        slots["order"] = (*slots["order"][:2], (("expressions", ordered[:enough]),))
        slots["this"] = ROW_NUMBER if ranked else slots["this"]
        return (*term[:2], tuple((slot, slots[slot]) for slot, _ in term[2]))

    return replace(
        select,
        outputs=tuple(rebuilt(term, change) for term in select.outputs),
        order=tuple(replace(key, term=rebuilt(key.term, change)) for key in select.order),
    )


def _extreme(term: Term, facts: Facts) -> Term:
    """No value of a column lies beyond its own MAX or MIN: `c >= MAX(c)` is `c = MAX(c)`."""
    for place, name in ((1, "max"), (2, "min")):
        if term[0] not in ("<=", "<>") or (term[0] == "<=" and term[place][0] != "scalar"):
            continue
        bound, column = (term[place], term[3 - place]) if term[place][0] == "scalar" else (term[3 - place], term[place])
        if bound[0] != "scalar" or column[0] != "col" or not isinstance(bound[1], Select):
            continue
        inner = bound[1]
        plain = replace(inner, outputs=(), sources=(), where=()) == Select((), ())
        if not plain or len(inner.sources) != 1 or len(inner.outputs) != 1 or inner.outputs[0][0] != "agg":
            continue
        _, aggregate, _, argument = inner.outputs[0]
        source = inner.sources[0]
        own = argument is not None and argument == ("col", source.alias, column[2]) and source.table
        alike = [rebuilt(part, _renaming(source.alias, column[1])) for part in inner.where]
        asked = facts.select.where
        own = own and all(
            _agrees(part, {source.alias, column[1]}) or mine in asked
            for part, mine in zip(inner.where, alike, strict=True)
        )
        if aggregate != name or not own or facts.known.table_of.get(column[1]) != source.table:
            continue
        if term[0] == "<>":
            return ("<", column, bound) if name == "max" else ("<", bound, column)
        return ("=", *sorted((column, bound), key=repr))
    return term


def _renaming(alias: str, other: str) -> Callable[[Term], Term | None]:
    return lambda term: ("col", other, term[2]) if term[:2] == ("col", alias) else None


def _agrees(term: Term, aliases: set[str]) -> bool:
    """Whether two uses of a table are equated in one column."""
    pair = equated(term)
    return pair is not None and pair[0][2] == pair[1][2] and {column[1] for column in pair} == aliases


def _finds_its_parent(term: Term, facts: Facts) -> bool:
    """`c IN (SELECT key FROM parent)`, where c refers to the key: true of every row whose c is not NULL."""
    if term[0] != "in" or term[1][0] != "col" or not isinstance(term[2], Select):
        return False
    inner = term[2]
    bounded = inner.limit is not None or inner.offset is not None or inner.group is not None or inner.having
    if bounded or inner.where or len(inner.sources) != 1 or inner.outputs[0][0] != "col":
        return False
    parent = inner.sources[0]
    joined = {inner.outputs[0][2]: term[1][2]}
    return inner.outputs[0][1] == parent.alias and facts.refers(term[1][1], parent, joined)
