"""Groups, and how many rows there are: what a key determines is neither grouped, ordered nor made distinct again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agro_data.verify.proofs.facts import Closure, Facts, Known
from agro_data.verify.proofs.terms import (
    COMPARED,
    Key,
    NotUnderstood,
    Select,
    Term,
    aggregated,
    aggregates_of,
    columns_in,
    conjuncts,
    local,
    outside_aggregates,
    positive,
    rebuilt,
)

_NULL: Term = ("lit", "null", "")
_ZERO: Term = ("lit", "number", "0")
_ROWS: Term = ("agg", "count", False, None)
_NUMBERS = ("integer NUMERIC", "real NUMERIC", "integer REAL", "real REAL")


def grouped(select: Select, known: Known, fired: set[str]) -> Select:
    """GROUP BY beyond what its keys determine, groups of one row, groups without aggregates. Raises `NotUnderstood`."""
    facts = Facts(known, select)
    select = _fewer_distincts(select, facts, fired)
    select = _of_known_size(select, facts, fired)
    if select.group is None and aggregated(select) and _undetermined(select, Facts(known, select), ()):
        raise NotUnderstood("a column beside an aggregate")
    if not select.group:
        return select
    unlabelled = tuple(_without_labels(term) for term in select.group)
    if unlabelled != select.group:
        fired.add("labels")
        select = replace(select, group=unlabelled)
    closed = facts.closure(unlabelled)
    if _undetermined(select, facts, unlabelled):
        raise NotUnderstood("a column that the group does not determine")
    rephrased = _childless(select, facts, closed) or _of_several(select, closed)
    if rephrased is not None:
        fired.add("partners")
        return rephrased
    select = _of_partners(select, facts, closed, fired)
    plain = [term for term in select.having if not any(part[0] == "agg" for part in local(term))]
    if plain:
        fired.add("group_distinct")
        kept = [term for term in select.having if term not in plain]
        return replace(select, having=conjuncts(kept), where=conjuncts((*select.where, *plain)))
    reached = _reached(select, facts)
    if reached is not None:
        fired.add("extreme")
        return replace(select, having=(), where=conjuncts((*select.where, reached)))
    if closed.everything:
        made = _ungrouped(select, facts)
        if made is not None:
            fired.add("single_row")
            return made
    others = [term for term in unlabelled if term[0] != "col"]
    own = {source.alias for source in select.sources}
    full = tuple(sorted({*others, *(c for c in closed.columns if c[1] in own)}, key=repr))
    if not any(True for _ in aggregates_of(select)) and not select.having:
        shown_columns = facts.closure(select.outputs).columns
        named = {_without_labels(term) for term in select.outputs}
        if all(term in shown_columns or term in named for term in unlabelled):
            fired.add("group_distinct")
            return replace(select, group=None, distinct=True)
    if full != unlabelled:
        fired.add("key")
    return replace(select, group=full)


def _of_known_size(select: Select, facts: Facts, fired: set[str]) -> Select:
    """Counts that are known: of rows where HAVING says there is one, of values of a column that makes the group."""
    if not select.group:
        return select
    one: Term = ("lit", "number", "1")
    sizes = [term for term in select.having if term[0] == "=" and _ROWS in term[1:] and one in term[1:]]

    def change(term: Term) -> Term | None:
        if sizes and term == _ROWS:
            return one
        if term[0] == "agg" and term[1] == "count" and term[2]:
            column = term[3]
            if column in (select.group or ()) and column[0] == "col" and facts.never_null(column):
                return one
        return None

    made = replace(
        select,
        outputs=tuple(rebuilt(term, change) for term in select.outputs),
        having=tuple(term if term in sizes else rebuilt(term, change) for term in select.having),
        order=tuple(replace(key, term=rebuilt(key.term, change)) for key in select.order),
    )
    if made != select:
        fired.add("one_value")
    return made


def _childless(select: Select, facts: Facts, closed: Closure) -> Select | None:
    """HAVING COUNT(c) = 0 of a LEFT JOINed table, in groups by the rows that it is joined to, as WHERE c IS NULL."""
    for term in select.having:
        if term[0] != "=" or _ZERO not in term:  # IN and EXISTS hold a query
            continue
        counted = [side[3] for side in term[1:] if side[:2] == ("agg", "count") and side[3] is not None]
        if not counted or counted[0][0] != "col":
            continue
        source = facts.sources.get(counted[0][1])
        others = {alias for alias in facts.sources if source is not None and alias != source.alias}
        if source is None or not source.left or not others <= closed.whole:
            continue
        if facts.known_in_partners(counted[0]):
            rest = tuple(other for other in select.having if other is not term)
            return replace(select, having=rest, where=conjuncts((*select.where, ("isnull", counted[0]))))
    return None


def _of_several(select: Select, closed: Closure) -> Select | None:
    """LEFT JOIN as JOIN, in groups by the row that it is joined to, of which HAVING wants more than one: without a
    partner there is one.
    """
    left = [source for source in select.sources if source.left]
    if len(left) != 1 or not {source.alias for source in select.sources if not source.left} <= closed.whole:
        return None
    if not any(_refuses_one_row(term) for term in select.having):
        return None
    sources = tuple(replace(source, left=False, on=()) if source.left else source for source in select.sources)
    return replace(select, sources=sources, where=conjuncts((*select.where, *left[0].on)))


def _refuses_one_row(term: Term) -> bool:
    """Whether a condition on groups counts rows, and fails where there is one."""
    if term[0] not in COMPARED:
        return False
    sides = [1 if side == _ROWS else int(side[2]) if _is_whole(side) else None for side in term[1:]]
    return _ROWS in term[1:] and None not in sides and not COMPARED[term[0]](*sides)


def _is_whole(term: Term) -> bool:
    return term[:2] == ("lit", "number") and str(term[2]).isdigit()


def _of_partners(select: Select, facts: Facts, closed: Closure, fired: set[str]) -> Select:
    """In HAVING, `COUNT(c) < 5` of a LEFT JOINed table as `COUNT(*) < 5`, in groups by the row that it is joined to.

    They differ only where that has no partner, and none are counted, in one row: none and one are both below 5.
    """
    left = [source for source in select.sources if source.left]
    if len(left) != 1 or not {source.alias for source in select.sources if not source.left} <= closed.whole:
        return select
    alias = left[0].alias
    if any(column[1] == alias for column in columns_in(select.where)):
        return select

    def change(term: Term) -> Term | None:
        if term[0] not in COMPARED:
            return None
        holds, sides = COMPARED[term[0]], term[1:]
        for place, counted in enumerate(sides):
            bound = sides[1 - place]
            plain = counted[0] == "agg" and counted[1:3] == ("count", False) and counted[3] is not None
            if not plain or counted[3][0] != "col" or counted[3][1] != alias or not _is_whole(bound):
                continue
            number = int(bound[2])
            none, one = (holds(n, number) if place == 0 else holds(number, n) for n in (0, 1))
            if none == one and facts.known_in_partners(counted[3]):
                made = (_ROWS, bound) if place == 0 else (bound, _ROWS)
                return (term[0], *(sorted(made, key=repr) if term[0] in ("=", "<>") else made))
        return None

    having = conjuncts(rebuilt(term, change) for term in select.having)
    if having != select.having:
        fired.add("partners")
    return replace(select, having=having)


def _reached(select: Select, facts: Facts) -> Term | None:
    """`HAVING MIN(x) < 5` as a condition on rows, `x < 5`: the group has such a row, and its minimum is among them.

    So of MAX and above; of groups that are asked for nothing else.
    """
    if len(select.having) != 1 or select.having[0][0] not in ("<", "<="):
        return None
    word, below, above = select.having[0]
    aggregate, name = (below, "min") if below[0] == "agg" else (above, "max")
    bound = above if aggregate is below else below
    if aggregate[:2] != ("agg", name) or bound[:2] != ("lit", "number"):
        return None
    if aggregate[3][0] != "col" or facts.known.kind(aggregate[3]) not in _NUMBERS:
        return None
    if any(other != aggregate for other in aggregates_of(select)):
        return None
    return (word, aggregate[3], bound) if name == "min" else (word, bound, aggregate[3])


def _without_labels(term: Term) -> Term:
    """A CASE with the numbers of its branches in place of their labels, where these are texts and all different.

    Rows are grouped by it as they are by the CASE: what a branch is called does not count.
    """
    if term[:2] != ("fn", "Case"):
        return term
    slots = dict(term[2])
    labels = [dict(branch[2]).get("true", _NULL) for branch in slots.get("ifs", ())] + [slots.get("default", _NULL)]
    kinds = {label[1] for label in labels if label[0] == "lit" and label != _NULL}
    if any(label[0] != "lit" for label in labels) or len(kinds) != 1 or not kinds <= {"text", "branch"}:
        return term
    if len(set(labels)) < len(labels):
        return term
    ifs = tuple(
        ("fn", "If", tuple((slot, ("lit", "branch", str(n)) if slot == "true" else value) for slot, value in branch[2]))
        for n, branch in enumerate(slots["ifs"])
    )
    return (
        "fn",
        "Case",
        tuple((slot, ifs if slot == "ifs" else value) for slot, value in term[2] if slot != "default"),
    )


def _undetermined(select: Select, facts: Facts, group: tuple[Term, ...]) -> bool:
    """Whether a value is asked for that may differ among the rows of a group."""
    closed = facts.closure(group).columns
    return any(
        part[0] == "col" and part[1] in facts.sources and part not in closed
        for term in (*select.outputs, *select.having, *(key.term for key in select.order))
        if _without_labels(term) not in group
        for part in outside_aggregates(term)
    )


def _counted_column(aggregate: Term) -> Term | None:
    """The column of AGG(DISTINCT c), also where some rows are counted: AGG(DISTINCT CASE WHEN ... THEN c END)."""
    argument: Term = aggregate[3]
    if argument[0] == "col":
        return argument
    slots = dict(argument[2]) if argument[:2] == ("fn", "Case") else {}
    given = {dict(branch[2])["true"] for branch in slots.get("ifs", ())}
    column = next(iter(given)) if len(given) == 1 and "default" not in slots else None
    return column if column is not None and column[0] == "col" else None


def _fewer_distincts(select: Select, facts: Facts, fired: set[str]) -> Select:
    """COUNT(DISTINCT c) is COUNT(c) where no group has a value of c twice."""
    group = select.group or ()

    def change(term: Term) -> Term | None:
        column = _counted_column(term) if term[0] == "agg" and term[2] else None
        if column is not None and facts.closure((*group, column), known=column).everything:
            fired.add("key")
            return ("agg", term[1], False, term[3])
        return None

    return replace(
        select,
        outputs=tuple(rebuilt(term, change) for term in select.outputs),
        having=conjuncts(rebuilt(term, change) for term in select.having),
        order=tuple(replace(key, term=rebuilt(key.term, change)) for key in select.order),
    )


def _ungrouped(select: Select, facts: Facts) -> Select | None:
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
        elif name in ("sum", "avg") and argument[0] == "col" and facts.known.kind(argument) in _NUMBERS:
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


def distinct_rows(select: Select, known: Known, fired: set[str]) -> Select:
    """DISTINCT of rows that differ anyway, though windows are computed over them."""
    facts = Facts(known, select)
    if not select.distinct or not select.sources or (select.group is None and aggregated(select)):
        return select
    shown = facts.closure(select.outputs)
    told = all(term in shown.columns or term in select.outputs for term in select.group or ())
    if told if select.group else shown.everything:
        fired.add("key")
        return replace(select, distinct=False)
    return select


def _same_is_shown(select: Select, keys: Sequence[Key], facts: Facts) -> bool:
    """Whether rows that are equal in all of these keys show the same, so that it does not matter which comes first."""
    exact = [key.term for key in keys if all(map(facts.known.kind, columns_in([key.term])))]
    determined = facts.closure(exact).columns
    return bool(exact) and all(term in exact or term in determined or term[0] == "lit" for term in select.outputs)


def few_rows(select: Select, known: Known, fired: set[str]) -> Select:
    """DISTINCT, ORDER BY and LIMIT of one row; DISTINCT of rows that differ; order keys that are determined."""
    facts = Facts(known, select)
    alone = select.group is None and aggregated(select)
    single = alone or (select.group is None and bool(select.sources) and facts.closure(()).everything)
    if single and select.offset is None:
        bounded = select.limit is not None and positive(select.limit)
        if select.distinct or select.order or bounded:
            fired.add("single_row")
            return replace(
                select, distinct=False, order=(), limit=None if bounded or select.limit is None else select.limit
            )
    first = select.limit is not None and select.limit[2] == "1" and select.offset is None
    if select.distinct and select.group is None and first:
        shown = facts.closure(select.outputs).columns
        if all(key.term in select.outputs or key.term in shown for key in select.order):
            fired.add("single_row")
            return replace(select, distinct=False)
    if select.distinct and not alone:
        shown_columns = facts.closure(select.outputs)
        named = {_without_labels(term) for term in select.outputs}
        unique = (
            shown_columns.everything
            if select.group is None
            else all(term in shown_columns.columns or term in named for term in select.group)
        )
        if unique:
            fired.add("key")
            return replace(select, distinct=False)
    keys: list[Key] = []
    for key in select.order:
        before = facts.closure(tuple(k.term for k in keys))
        grouped = select.group and all(term in before.columns for term in select.group)
        fixed = before.everything or grouped or key.term in before.columns or key.term[0] == "lit"
        if not fixed and not _same_is_shown(select, keys, facts):
            keys.append(key)
    if len(keys) < len(select.order):
        fired.add("key")
        return replace(select, order=tuple(keys))
    return select
