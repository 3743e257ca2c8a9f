"""Asking back: whether a clarification names what is missing, or what a question could mean.

Asking back is right only if it names this, and only if the question has no single answer: words that fit every question
say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agro_data.diversity.normal_forms import normal_question
from agro_data.intent.withheld import stems
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.concealing import Hidden
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

MOST = 300  # characters: who lists a whole schema has named everything
# Limits on the question's own words beside a name; the words of a table and a column come with it, in a sentence that
# says why.
_AGAIN = 0.8  # as a share of what is said
_BESIDE = 6

Points = tuple[tuple[str, ...], ...]  # the text must have one name of each group


def points_of(row: Mapping[str, Any], profile: DatabaseProfile) -> Points:
    """What a clarification of a row of `records.EXAMPLE` must name; () where the row has an answer.

    `profile` is the whole database's. For something hidden: its name or a synonym. For several readings: one column of
    each that no other reading uses.
    """
    hidden = [_names(Hidden.of(one), profile) for one in row["hidden"]]
    return (*hidden, *_apart([reading["sql"] for reading in row["readings"]], profile))


def points_at(said: str, question: str, points: Points) -> bool:
    """Whether `said` is short, is not the question again, and has a name of each group in it."""
    if not points or len(said) > MOST or normal_question(question) in normal_question(said):
        return False
    words = stems(said)
    named = [[name for name in group if _says(said, words, name)] for group in points]
    names = frozenset().union(*[stems(name) for group in named for name in group])
    return all(named) and not _repeats(words - names, stems(question))


def _repeats(words: frozenset[str], question: frozenset[str]) -> bool:
    """Whether words beside the names are the question's: a text that repeats them all has named whatever may be
    missing.
    """
    again = len(words & question)
    return (again > 1 and again >= _AGAIN * len(words)) or (again > _BESIDE and 2 * again > len(question))


def _says(said: str, words: frozenset[str], name: str) -> bool:
    """Whether a text of these words names `name`. A name of small words alone, such as the grade A, must be spelled
    exactly.
    """
    own = stems(name)
    return own <= words if own else bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) is not None


def _names(hidden: Hidden, profile: DatabaseProfile) -> tuple[str, ...]:
    if hidden.value:
        return (hidden.value,)
    table = profile.table(hidden.table)
    if hidden.column:
        return (hidden.column, table.column(hidden.column).phrase)
    return (hidden.table, table.singular, table.plural)


def _apart(statements: Sequence[str], profile: DatabaseProfile) -> Points:
    """For each of several statements the names of the columns that it alone reads."""
    read = [resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema).columns for sql in statements]
    shared = set.intersection(*read) if read else set()
    return tuple(
        tuple(name for table, column in sorted(own - shared) for name in _names(Hidden(table, column), profile))
        for own in read
    )
