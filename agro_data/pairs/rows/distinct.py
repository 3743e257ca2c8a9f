"""Different values are asked for, and the SQL has no DISTINCT: "the different countries of singers", `SELECT country`.

Only where the words that follow are a column that comes out or is counted, or the table that a join repeats; or where
each is to come out once, or rows of a table are asked for and their key comes out with them, so that one row more says
nothing more. Each finding is demonstrated: with DISTINCT the answer is another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.rows.row_keys import nouns_of, row_keys
from agro_data.profiling.names.words import noun_forms
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import aggregates_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, Scope
from agro_data.sql.said import plain

_DIFFERENT = r"(?:different|distinct|unique)"
_APART = "".join(
    rf"(?<!\b{word} )" for word in ("a", "by", "from", "has", "have", "had", "in", "with")
)  # not of others
_NAMED = rf"{_APART}\b{_DIFFERENT}(?: (?!of\b|in\b|for\b)\w+){{0,2}} (?:%s)\b(?! than\b)"
_ROWS = rf"\b{_DIFFERENT}(?: (?!of\b|in\b|for\b)\w+)? (?:%s)\b"
_FIRST = re.compile(
    r"(?:(?:please )?(?:show|list|find|give|return|report|get|tell)(?: me)?|(?:what|which|who) (?:are|is))"
    rf"(?: (?:all|the|of))* {_DIFFERENT}\b(?: \w+)?"
)
_ONCE = re.compile(
    r"(?:^\W*(?:please )?(?:show|list|find|give|return|name)(?: me)? (?:each|every)"
    r"(?: (?!who|that|which|whose|with|has|have|had|is|was|are|were|\w+ed\b)\w+){1,2}"
    r" (?:(?:only|just|exactly) )?once\b|"
    r"(?:[,;:(–—-]\s*(?:and )?(?:each|every) (?:(?:one|of them) )?(?:(?:only|just|exactly) )?once"
    r"|\bwithout(?: any)? (?:duplicates?|duplication|repeats|repetitions?)"
    r"|[,;:(–—-]\s*(?:with )?no (?:duplicates|repeats|repetitions))(?=\W*$|\s*[.;)]))",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(?:each|every|per|all occurrences|duplicat\w*|repeat\w*|repetitions?|times)\b")  # may repeat
_ASKED = (
    r"(?:\b(?:which|what)(?: \w+)? (?:%s)\b|\bwho are (?:the |all )*(?:%s)\b|"
    r"\b(?:of|for|show|list|find|give|return|get|name|me) (?:(?:all|the|those|any) )*(?:\w+ )?(?:%s)\b)"
)
_COUNTED = re.compile(rf"\b(?:how many|(?:number|count) of)(?: (?:the|all|total))* {_DIFFERENT}(?: \w+)?")


def offer_distinct(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: one thing at most."""
    return islice(_offers(pair.question, plain(pair.question), found, profile), 1)


def _offers(asked: str, question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    select = found.tree
    if not isinstance(select, exp.Select) or select.args.get("distinct") is not None:
        return
    scope = found.scope_of(select)
    own = aggregates_of(select)
    different = re.search(_DIFFERENT, question) is not None
    if not own and not any(select.args.get(part) for part in ("group", "limit")):
        once = _ONCE.search(asked)
        if different:
            yield from _listed(question, select, scope, found, profile)
        elif once is not None:
            yield _without_repeats(f"The question says {once[0].strip(' ,;:(-–—')!r}, and", "", select, found, profile)
        elif not _SEVERAL.search(question):
            yield from _rows(question, select, scope, found, profile)
    elif different and own and all(isinstance(call, exp.Count) for call in own):
        yield from _counted(question, own, scope, found, profile)


def _without_repeats(why: str, row: str, select: exp.Select, found: Resolution, profile: DatabaseProfile) -> Offer:
    """A statement whose rows are to come out once; an order may be of what does not come out."""
    text = _distinct(found, select, profile.dialect)
    says = f"{why} the same {row or 'row'} comes out several times."
    mended = text if select.args.get("order") is None else ""
    return Offer(Finding("distinct_missing", says, mended=mended), sql_text(select, profile.dialect), text)


def _rows(
    question: str, select: exp.Select, scope: Scope, found: Resolution, profile: DatabaseProfile
) -> Iterator[Offer]:
    """Rows of a table that come out with their key, and nothing with them that is not theirs, nor in an order of what
    does not come out.
    """
    places = [found.place(item.unalias()) for item in select.expressions]
    order = select.args.get("order")
    if any(found.place(found.meaning(key.this, select)) not in places for key in (order.expressions if order else ())):
        return
    for table, key in row_keys(scope, profile).items():
        theirs = key is not None and key.place in places and all(p and p in ((table, p[1]), key.place) for p in places)
        nouns = nouns_of(table, profile)
        said = re.search(_ASKED % (nouns, nouns, nouns), question) if theirs else None
        if said is not None:
            row = f"row of {table}"
            yield _without_repeats(
                f"The question asks for {profile.table(table).plural}, and", row, select, found, profile
            )


def _listed(
    question: str, select: exp.Select, scope: Scope, found: Resolution, profile: DatabaseProfile
) -> Iterator[Offer]:
    """Values that come out several times. Two rows of a table may well be called the same: only a join repeats one."""
    dialect = profile.dialect
    items = [item.unalias().unnest() for item in select.expressions]
    keys = row_keys(scope, profile)
    named = {table: re.search(_ROWS % nouns_of(table, profile), question) for table in keys}
    rows = {table: match[0] for table, match in named.items() if match is not None}
    first = _FIRST.match(question) if len(items) == 1 and isinstance(items[0], exp.Column) and not rows else None
    called = (said for item in items if (said := _said(item, question, found, profile)))
    said = next(called, first[0] if first is not None else "")
    if said:
        yield _without_repeats(f"The question says {said!r}, and", "", select, found, profile)
    for table, noun in rows.items() if len(scope.sources) > 1 and not said else ():
        key = keys[table]
        if key is not None and key.source.table == table and not any(item.is_star for item in items):
            select.append("expressions", key.node)
            every, text = sql_text(select, dialect), _distinct(found, select, dialect)
            select.expressions.pop()
            says = f"The question says {noun!r}, and rows with the same {'.'.join(key.place)} come out several times."
            yield Offer(Finding("distinct_missing", says), every, text)


def _said(item: exp.Expr, question: str, found: Resolution, profile: DatabaseProfile) -> str:
    """Where a question asks for the different values of a column; "" where it does not."""
    place = found.place(item)
    words = plain(profile.table(place[0]).column(place[1]).phrase).split() if place is not None else []
    forms = {form[-1] for form in noun_forms(words)} if words else ()
    said = re.search(_NAMED % "|".join(map(re.escape, forms)), question) if forms else None
    return said[0] if said is not None else ""


def _counted(
    question: str, calls: Sequence[exp.Expr], scope: Scope, found: Resolution, profile: DatabaseProfile
) -> Iterator[Offer]:
    """A column whose values are counted as often as they stand there. Where rows of a table are to be counted, two may
    have the same value (`pairs.rows.repeats`).
    """
    said, dialect = _COUNTED.search(question), profile.dialect
    one = len({sql_text(call, dialect) for call in calls}) == 1 and isinstance(calls[0].this, exp.Column)
    rows = (re.search(_ROWS % nouns_of(table, profile), question) for table in row_keys(scope, profile))
    if said is not None and one and not any(rows):
        new = [(call, exp.Count(this=exp.Distinct(expressions=[call.this.copy()]))) for call in calls]
        text = rewritten(found, new, dialect)
        says = f"The question says {said[0]!r}, and {sql_text(calls[0], dialect)} counts the same value several times."
        yield Offer(Finding("distinct_missing", says, mended=text), sql_text(found.tree, dialect), text)


def _distinct(found: Resolution, select: exp.Select, dialect: Dialect) -> str:
    select.set("distinct", exp.Distinct())
    text = sql_text(found.tree, dialect)
    select.set("distinct", None)
    return text
