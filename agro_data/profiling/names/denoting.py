"""What a column of numbers denotes, by its name: rows of a table, or a person, and no quantity of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from agro_data.profiling.columns.statistics import Statistics
from agro_data.profiling.names.people import PEOPLE
from agro_data.profiling.names.words import head_place, is_participle, number_forms, word_set

LISTED = word_set("list record directory register entry info information detail data")  # a table of what it is behind
_CHANGED = word_set("increased decreased reduced raised grown multiplied divided delayed exceeded")  # by so much


class Numbering:
    """Columns of whole numbers that tell the rows of their tables apart, by what these are called. Of several columns
    of a table any may be what another table keeps.
    """

    def __init__(self) -> None:
        self._by_noun: dict[tuple[str, ...], list[_Numbered]] = {}
        self._people: list[_Numbered] = []

    def add(self, table: str, words: Sequence[str], columns: Iterable[Statistics]) -> None:
        """Note those of `table`, whose singular noun is `words`."""
        found = [
            _Numbered(table, known.minimum, known.maximum)
            for known in columns
            if known.unique
            and known.integral
            and not known.nulls
            and isinstance(known.minimum, int | float)
            and isinstance(known.maximum, int | float)
        ]
        self._by_noun.setdefault(tuple(_listed(words)), []).extend(found)
        if not PEOPLE.isdisjoint(words):
            self._people += found

    def names_rows(self, table: str, words: Sequence[str], known: Statistics) -> bool:
        """Whether a column of `table` is called as one row of another, or as a person where rows are persons, and has
        none but numbers that such rows have. A plural counts them.
        """
        low, high = known.minimum, known.maximum
        if not words or not known.integral or not isinstance(low, int | float) or not isinstance(high, int | float):
            return False
        called = self._by_noun.get(tuple(words), ()) if is_single(words[-1]) else ()
        people = self._people if is_one_person(words) else ()
        return any(
            rows.low <= low and high <= rows.high
            for rows in chain((one for one in called if one.table != table), people)
        )


@dataclass(frozen=True)
class _Numbered:
    """A table whose rows have numbers from `low` to `high`."""

    table: str
    low: float
    high: float


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


def _listed(noun: Sequence[str]) -> list[str]:
    """What a table lists, by its noun: "product" of a "product list"."""
    own = list(noun)
    while len(own) > 1 and own[-1] in LISTED:
        own = own[:-1]
    return own
