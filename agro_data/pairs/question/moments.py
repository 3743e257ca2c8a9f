"""The earliest and the latest: which end of dates or times a question asks for.

Only words that mean nothing else count ("first" does in "when was the first ticket created", not in "first name"), and
none where another one may ask for the other end.
"""

from __future__ import annotations

import re

from sqlglot import exp

from agro_data.pairs.places import column_of, profile_at
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution

_WHEN = r"(?:when|(?:on|at) (?:what|which) (?:date|day|time)|what (?:is|was) the (?:date|day|time)(?: and time)?)"
_ASKED = rf"\A\W*{_WHEN} (?:was|were|is|did|of|when)? ?(?:the )?"
_OTHER_FIRST = r"(?! (?:and|or|name|names|initial|letter|class|place|floor|grade|half|year|month|week|day|time)\b| ?\d)"
_EARLIEST = re.compile(rf"\b(?:earliest|oldest)\b|{_ASKED}(?P<first>first)\b{_OTHER_FIRST}", re.IGNORECASE)
_LATEST = re.compile(
    rf"\b(?:latest|newest|youngest|most recent|most recently)\b|{_ASKED}(?P<last>last)\b{_OTHER_FIRST}", re.IGNORECASE
)
_EARLY = re.compile(
    r"\b(?:earliest|earlier|early|oldest|older|first|begin\w*|before|prior|initial\w*)\b", re.IGNORECASE
)
_LATE = re.compile(
    r"\b(?:latest|later|late|lately|newest|newer|youngest|younger|recent|recently|last|final\w*|end\w*|until|since|"
    r"after|current\w*)\b",
    re.IGNORECASE,
)
# The earliest day by which all have come is the latest of theirs.
_BOUND = re.compile(
    r"\b(?:at the (?:earliest|latest)|by (?:which|when)|all|every|both|neither|longest)\b", re.IGNORECASE
)
_KINDS = ("date", "datetime", "time")


def is_moment(key: exp.Expr, found: Resolution, profile: DatabaseProfile) -> bool:
    """Whether a key is a column of dates or times."""
    column = column_of(key, found)
    place = found.place(column) if column is not None else None
    return place is not None and profile_at(place, profile).kind in _KINDS


def ends_of_moments(question: str) -> tuple[str, str]:
    """The word for the latest and the one for the earliest; "" where there is none, or one for both."""
    if _BOUND.search(question):
        return "", ""
    latest, earliest = _LATEST.search(question), _EARLIEST.search(question)
    return (
        _word(latest) if latest and not _EARLY.search(question) else "",
        _word(earliest) if earliest and not _LATE.search(question) else "",
    )


def _word(match: re.Match[str]) -> str:
    return next((word for word in match.groups() if word), match[0])
