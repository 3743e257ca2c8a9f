"""Is a question still true after what it asks of has been renamed?

A question in plain words stays true: "birth date" says what is meant whether the column is called `dob` or
`born_on`. Two cases need another text: an identifier that stands in the question, and words that name something else
now. Where that text does not follow, the question is no longer true, and it is said why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from agro_data.databases.quoting import folded
from agro_data.migration.evidence import Place
from agro_data.migration.matching import Matching
from agro_data.profiling.names.words import number_forms
from agro_data.profiling.profile import DatabaseProfile
from agro_data.words import capital

ALIKE = 0.6  # of the letters of two words, from which one may be a form of the other
SHORTEST = 4  # letters of a word that is looked for in other forms

_CODE = re.compile(r"_|\d|[a-z][A-Z]")  # what no English word has


class NotTrue(ValueError):
    """A question that says something else on the new schema; the message says why."""


@dataclass(frozen=True)
class Said:
    """A text for the new schema; what was done to it, and what of it names a renamed thing and is true as it stands, in
    words ("" where nothing is to be said).
    """

    text: str
    note: str = ""
    stays: str = ""


@dataclass(frozen=True)
class Renamed:
    """A table or column of a query under its old and new name: identifiers, and what a person says for each.

    `misleading`: the old words name something else now.
    """

    old: str
    new: str
    words: Mapping[str, str]  # old words -> new words, singular and plural
    misleading: bool = False


def renames(
    tables: Iterable[str], columns: Iterable[Place], before: DatabaseProfile, after: DatabaseProfile, matching: Matching
) -> list[Renamed]:
    """The tables and columns of a query that have another name now; those that are gone have none."""
    found: list[Renamed] = []
    for name in sorted(tables):
        new = matching.tables[name].new
        if new is not None and folded(new) != folded(name):
            one, two = before.table(name), after.table(new)
            others = [t for t in after.tables if t.name != new]
            taken = any(folded(t.name) == folded(name) or t.singular == one.singular for t in others)
            found.append(Renamed(name, new, {one.singular: two.singular, one.plural: two.plural}, taken))
    for table, column in sorted(columns):
        place = matching.columns[table, column].new
        if place is None or folded(place[1]) == folded(column):
            continue
        home = after.table(place[0])
        was, now = before.table(table).column(column).phrase, home.column(place[1]).phrase
        taken = any(c.name != place[1] and (folded(c.name) == folded(column) or c.phrase == was) for c in home.columns)
        found.append(Renamed(column, place[1], {was: now, _plural(was): _plural(now)}, taken))
    return found


def said_again(text: str, renamed: Iterable[Renamed]) -> Said:
    """A question or its evidence for the new schema. Raises `NotTrue` where the words would mislead."""
    swaps: list[tuple[str, str]] = []
    every = list(renamed)
    stays = "; ".join(
        f"{said!r} says in words what is called {one.new} now" for one in every if (said := _in_words(one, text))
    )
    for one in every:
        if _CODE.search(one.old) or _quoted_in(one.old, text):
            swaps.append((one.old, one.new))
        if one.misleading:
            swaps += one.words.items()
    if not swaps:
        return Said(text, stays=stays)
    longest_first = sorted((re.escape(old) for old, _ in swaps), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE)
    done: dict[str, str] = {}

    def change(found: re.Match[str]) -> str:
        old = found[0]
        # Names that match without case need not be equal in lower case: s and the long s, or the Turkish dotted I.
        new, *others = {new for name, new in swaps if re.fullmatch(re.escape(name), old, re.IGNORECASE)}
        if others:
            raise NotTrue(f"it says {old!r}, which may mean more than one thing now")
        done[old] = new
        return capital(new) if old[:1].isupper() and not _CODE.search(old) else new

    again = pattern.sub(change, text)
    for one in every:
        near = _near(one, pattern.sub(" ", text)) if one.misleading else ""
        if near:
            raise NotTrue(
                f"{one.old} is called {one.new} now, and something else {one.old}: is that meant by {near!r}?"
            )
    return Said(again, "; ".join(f"{old!r} is {new!r} now" for old, new in done.items()), stays)


def _in_words(one: Renamed, text: str) -> str:
    """The words of the text for a renamed thing, if they mislead nobody, or ""."""
    lowered = f" {re.sub(r'[^a-z0-9]+', ' ', text.lower())} "
    return next((words for words in one.words if not one.misleading and f" {words.lower()} " in lowered), "")


def _near(one: Renamed, text: str) -> str:
    """A word of the text that may be another form of the old name: "wider" of "width"."""
    names = {word for words in one.words for word in words.split() if len(word) >= SHORTEST}
    for found in re.finditer(r"(?<!\w)[^\W\d_]{4,}(?!\w)", text.lower()):
        word = found[0]
        if any(SequenceMatcher(None, word, name, autojunk=False).ratio() >= ALIKE for name in names):
            return word
    return ""


def _quoted_in(name: str, text: str) -> bool:
    return any(f"{mark}{name}{mark}" in text for mark in ('"', "`", "'"))


def _plural(phrase: str) -> str:
    head, _, last = phrase.rpartition(" ")
    return f"{head} {number_forms(last)[1]}".strip() if last else phrase
