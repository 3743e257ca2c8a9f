"""What a column of numbers denotes, by its name: rows of a table, or a person, and no quantity of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agro_data.profiling.columns.statistics import Statistics
from agro_data.profiling.names.people import PEOPLE
from agro_data.profiling.names.words import head_place, is_participle, number_forms, word_set

LISTED = word_set("list record directory register entry info information detail data")  # a table of what it is behind
_CHANGED = word_set("increased decreased reduced raised grown multiplied divided delayed exceeded")  # by so much


@dataclass(frozen=True)
class NumberedRows:
    """A table whose rows some column of whole numbers tells apart, from `low` to `high`."""

    table: str
    words: Sequence[str]  # its singular noun
    low: float
    high: float


def numbered_rows(table: str, words: Sequence[str], columns: Iterable[Statistics]) -> list[NumberedRows]:
    """One for each column of `table` that numbers its rows: of several, any may be what another table keeps."""
    return [
        NumberedRows(table, words, known.minimum, known.maximum)
        for known in columns
        if known.unique
        and known.integral
        and not known.nulls
        and isinstance(known.minimum, int | float)
        and isinstance(known.maximum, int | float)
    ]


def names_rows(table: str, words: Sequence[str], known: Statistics, numbered: Iterable[NumberedRows]) -> bool:
    """Whether a column of `table` is called as one row of another, or as a person where rows are persons, and has none
    but numbers that such rows have. A plural counts them.
    """
    if not known.integral or not isinstance(known.minimum, int | float) or not isinstance(known.maximum, int | float):
        return False
    person = is_one_person(words)
    return any(
        rows.low <= known.minimum
        and known.maximum <= rows.high
        and ((person and not PEOPLE.isdisjoint(rows.words)) or (rows.table != table and _is_one_of(words, rows.words)))
        for rows in numbered
    )


def is_one_person(words: Sequence[str]) -> bool:
    """Whether a name is the noun of one person: "approver", "head of department"; neither "employees" nor "staff"."""
    noun = words[head_place(list(words))] if words else ""
    return noun in PEOPLE and is_single(noun)


def is_single(word: str) -> bool:
    """Whether a noun is in the singular, and has a plural."""
    single, plural = number_forms(word)
    return word == single != plural


def done_by_somebody(words: Sequence[str]) -> bool:
    """Whether a name says who did something, or to whom it was given: "approved by", "assigned to"."""
    if len(words) < 2 or words[-1] not in ("by", "to") or words[-2] in _CHANGED:
        return False
    return is_participle(words[-2]) or list(words) == ["reports", "to"]


def _is_one_of(words: Sequence[str], noun: Sequence[str]) -> bool:
    """Whether `words` are the noun of a table, or of what it lists: "product" of a "product list"."""
    own = list(noun)
    while len(own) > 1 and own[-1] in LISTED:
        own = own[:-1]
    return list(words) == own and is_single(own[-1])
