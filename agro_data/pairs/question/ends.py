"""Which end of an order the question asks for: the SQL sorts the other way, or takes the other extreme."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten, turned
from agro_data.pairs.question.moments import ends_of_moments, is_moment
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.said import NUMBER_WORDS, words_of

_MOST = re.compile(
    r"\b(?:most|highest|largest|biggest|greatest|maximum|max|longest|oldest|tallest|latest|top|best|heaviest|richest|"
    r"more|larger|higher|greater|over|above|last|recent|recently|newest|upper|descending|decreasing|reverse)\b",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"\b(?:fewest|lowest|smallest|minimum|min|shortest|youngest|earliest|cheapest|slowest|least(?<!at least)|first|"
    r"less|fewer|lower|under|below|smaller|worst|bottom|lightest|ascending|increasing|lexicographic\w*|early)\b",
    re.IGNORECASE,
)
_SURE_MOST = re.compile(r"\b(?:highest|largest|biggest|greatest|maximum|longest|tallest|heaviest)\b", re.IGNORECASE)
# Of counts and sums: "the most customers", "the most popular", not "the most recent customers" or "the most distant".
_MOST_OF = re.compile(
    r"(?<!\bat )\bmost(?= (?:number|total|overall|popular|common|frequent|often|people|children|women|men|staff)|"
    r" (?!\w*(?:ou|s)s\b)\w+s\b|\W*$)|"
    rf"\btop (?:\d+|{'|'.join(NUMBER_WORDS)})\b",
    re.IGNORECASE,
)
_SURE_LEAST = re.compile(r"\b(?:fewest|lowest|smallest|minimum|shortest|lightest)\b|(?<!at )\bleast\b", re.IGNORECASE)
_OLDEST, _YOUNGEST = re.compile(r"\boldest\b", re.IGNORECASE), re.compile(r"\byoungest\b", re.IGNORECASE)
_EXTREME = "|".join(one.pattern for one in (_SURE_MOST, _MOST_OF, _SURE_LEAST, _OLDEST, _YOUNGEST))
_BUT_THE_EXTREME = re.compile(  # which asks for the others
    r"(?:\b(?:not|never|except|without|besides|but(?= the)|(?:other|rather) than|apart from|"
    r"(?:skip|exclud|ignor|omit)\w*)\b|n't\b)(?: \w+){0,3} "
    rf"(?:{_EXTREME}|\b(?:earliest|latest|newest|most recent)\b)",
    re.IGNORECASE,
)
_RANKS = frozenset(
    {"rank", "ranking", "position", "place", "placing", "level", "grade", "year", "date", "time", "founded", "start"}
    | {"begin", "born", "birth", "birthday", "opened", "built", "installation", "priority"}
)
_NAMES = re.compile(r"\b(?:first|last|middle)[ -]names?\b", re.IGNORECASE)  # say no end
_ASCENDING = re.compile(r"\b(?:ascending|increasing)\b", re.IGNORECASE)
_DESCENDING = re.compile(r"\b(?:descending|decreasing)\b", re.IGNORECASE)


def check_ends(question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """Findings of one pair."""
    said = _NAMES.sub("name", question)
    yield from _direction(said, found, profile)
    if _BUT_THE_EXTREME.search(said) is None:
        yield from _first_rows(said, found, profile)
        yield from _extremes(said, found, profile)


def _direction(question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """The first key is what decides; those after it settle ties."""
    order = found.tree.args.get("order")
    if order is None or found.tree.args.get("limit") is not None:
        return
    key, *further = order.expressions
    falling = bool(key.args.get("desc"))
    up, down = _ASCENDING.search(question), _DESCENDING.search(question)
    said, sorts = (up, "DESC") if falling else (down, "ascending")
    if said and not (up and down):
        # Whether "in descending order" is said of all keys is open.
        mended = "" if further else turned(found, order, profile.dialect)
        yield Finding("order_reversed", f"The question says {said[0]!r}, the SQL sorts {sorts}.", mended=mended)


def _first_rows(question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """The one ORDER BY of a statement, if LIMIT keeps its first rows."""
    orders = list(found.tree.find_all(exp.Order))
    if len(orders) != 1 or found.tree.find(exp.Min, exp.Max, exp.SetOperation) is not None:
        return
    order, select = orders[0], orders[0].parent
    if not isinstance(select, exp.Select) or select.args.get("limit") is None:
        return
    key = order.expressions[0]
    falling = bool(key.args.get("desc"))
    most, least = _ends(question, [found.meaning(key.this, select)], found, profile)
    said, taken = (most, "ascending") if most and not falling else (least, "DESC") if least and falling else ("", "")
    if said:
        says = f"The question says {said!r}, the SQL takes the first in {taken} order."
        yield Finding("extreme_reversed", says, mended=turned(found, order, profile.dialect))


def _extremes(question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[Finding]:
    """MIN where the question asks for the greatest, or MAX for the least, where nothing else may be what it means."""
    calls = [call for call in found.tree.find_all(exp.Min, exp.Max) if is_aggregate(call)]
    others = found.tree.find(exp.Order, exp.SetOperation, exp.Window)
    if others is not None or len({type(call) for call in calls}) != 1:
        return
    named = " ".join(word for call in calls for column in call.find_all(exp.Column) for word in words_of(column.name))
    if _MOST.search(named) or _LEAST.search(named):
        return  # the greatest of the least values
    most, least = _ends(question, [call.this for call in calls], found, profile)
    reversed_ = least if isinstance(calls[0], exp.Max) else most
    if reversed_:
        name, asked = ("MAX", exp.Min) if reversed_ is least else ("MIN", exp.Max)
        mended = rewritten(found, [(call, asked(this=call.this.copy())) for call in calls], profile.dialect)
        yield Finding("extreme_reversed", f"The question says {reversed_!r}, the SQL takes the {name}.", mended=mended)


def _ends(question: str, keys: Sequence[exp.Expr], found: Resolution, profile: DatabaseProfile) -> tuple[str, str]:
    """The word for the greatest and the one for the least of these; "" where there is none, or one for both."""
    if all(is_moment(key, found, profile) for key in keys):
        return ends_of_moments(question)
    if any(map(_is_rank, keys)):
        return "", ""
    most, least = _SURE_MOST.search(question), _SURE_LEAST.search(question)
    if all(isinstance(key, (exp.Count, exp.Sum)) for key in keys):
        most = most or _MOST_OF.search(question)
    if all(map(_is_age, keys)):
        most, least = most or _OLDEST.search(question), least or _YOUNGEST.search(question)
    return (
        most[0] if most and not _LEAST.search(question) else "",
        least[0] if least and not _MOST.search(question) else "",
    )


def _is_age(key: exp.Expr) -> bool:
    """A key that is greatest for the oldest, as a year or a date of birth is not."""
    return isinstance(key, exp.Column) and "age" in words_of(key.name)


def _is_rank(key: exp.Expr) -> bool:
    """A key whose small values may be the high ones: a rank, or a moment ("founded for the longest time")."""
    return any(not _RANKS.isdisjoint(words_of(column.name)) for column in key.find_all(exp.Column))
