"""What happened first, sorted by what is no date: "which shipment was shipped first", `ORDER BY priority LIMIT 1`.

Only where one date of the tables is called as the question says ("shipped first", shipped_at), or a key is taken for
the date. Each finding is demonstrated: sorted by the date the first rows are others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.places import profile_at
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Place, Resolution, Scope, Source
from agro_data.sql.said import words_of

_DID = re.compile(r"\b(?:(?P<did>[a-z]{3,}ed) (?:first|last)|(?:first|last) (?P<done>[a-z]{3,}ed))\b", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:earliest|latest|most recent|most recently|newest)\b", re.IGNORECASE)
_OTHER = re.compile(r"\b(?:place|placed|ranked|finished|name|names|number|letter|initial|version|by)\b", re.IGNORECASE)
_STEM = 4  # letters that a verb and the name of its date have in common
_TIMES = {"year", "month", "day", "date", "time", "week", "quarter", "season", "age"}
_SORTED = frozenset({*_TIMES, "rank", "position", "sequence", "version"})  # by what stands for a time


def offer_by_date(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair: the same sorted by the date."""
    said = _DID.search(pair.question) or _ENDS.search(pair.question)
    select, order = found.tree, found.tree.args.get("order")
    if said is None or not isinstance(select, exp.Select) or order is None or _OTHER.search(pair.question):
        return
    key = order.expressions[0]
    term = found.meaning(key.this, select)
    place = found.place(term)
    if place is None or select.args.get("limit") is None or select.args.get("group") is not None:
        return
    column, did = profile_at(place, profile), said["did"] or said["done"] if said.re is _DID else ""
    if _stands_for_a_time(column) or not (did or column.role == "identifier"):
        return
    days = [one for one in _days(found.scope_of(select), profile) if not did or _is_of(one[1][1], did)]
    if len(days) == 1:
        source, day = days[0]
        date = exp.column(identifier(day[1]), table=identifier(source.node.alias_or_name))
        new = exp.Ordered(this=date, desc=key.args.get("desc"), nulls_first=False)
        shown = sql_text(term, profile.dialect)
        says = f"The question says {said[0]!r}, the SQL sorts by {shown}: by {'.'.join(day)} other rows come first."
        yield Offer(Finding("sorted_by_no_date", says), pair.sql, rewritten(found, [(key, new)], profile.dialect), True)


def _stands_for_a_time(column: ColumnProfile) -> bool:
    """Whether a column may be sorted by where a time is meant."""
    timely = column.kind in ("date", "datetime", "time") or column.role in ("date", "year") or column.date_format
    return bool(timely) or not _SORTED.isdisjoint(words_of(f"{column.name} {column.phrase}"))


def _days(scope: Scope, profile: DatabaseProfile) -> list[tuple[Source, Place]]:
    """The dates and moments of a FROM, those of birth apart."""
    return [
        (source, (source.table, column.name))
        for source in scope.sources
        if source.table
        for column in profile.table(source.table).columns
        if column.kind in ("date", "datetime") and column.date_format in ("iso", "") and "birth" not in column.phrase
    ]


def _is_of(column: str, did: str) -> bool:
    """Whether a date is called as a participle: shipped_at or ship_date, of "shipped"."""
    said = did.lower()
    return any(word[:_STEM] == said[:_STEM] for word in words_of(column) if len(word) >= _STEM)
