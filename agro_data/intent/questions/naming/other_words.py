"""What people call things that a schema calls otherwise: a nation for a country, the pay for a salary.

A question in the schema's words teaches to copy them, and who asks has often not read it. A word is replaced only by
what no name of the database has, so that nothing else can be meant, and everywhere in the question alike; within a name
only where it is the noun, or a table's: what orders are shipped via is no vessel. What a table or column is called in
`semantics.yml` besides its name serves the same way; a name that stands there is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, cast

import yaml

from agro_data.intent.questions.habits import OTHER_WORD, OTHER_WORDS
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.relatives import linked
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Intent, Source, walk
from agro_data.profiling.profile import DatabaseProfile, TableProfile

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_GLUE = frozenset({"of", "the", "a", "in", "date", "number", "year", "place", "name"})  # say nothing alone


def in_other_words(profile: DatabaseProfile, intent: Intent, seed: int) -> DatabaseProfile:
    """The profile as one who does not use all of its words would read it, or as it is: a share of intents.

    Equal arguments give equal words.
    """
    voice = Voice("in other words", intent.db_id, intent.seed, seed)
    if not voice.chance(OTHER_WORDS):
        return profile
    asked = {source.table for source in walk(intent.query) if isinstance(source, Source)}
    asked |= {end for name in asked & profile.by_name.keys() for end in linked(profile, profile.table(name))}
    tables = [table for table in profile.tables if table.name in asked]
    taken = _taken(profile.phrases, profile.identifiers)
    nouns = frozenset(table.singular.lower() for table in profile.tables)
    said = {
        known: voice.pick(*free)
        for known in sorted(set(_entries(replace(profile, tables=tuple(tables)).phrases, nouns)))
        if (free := [other for other in other_words()[known] if taken.isdisjoint(_words([other]) - _words([known]))])
        and voice.chance(OTHER_WORD)
    }
    called = {
        (at, name): voice.pick(*free)
        for at, name, stated in _stated(tables)
        if (free := [other for other in stated if other.lower() not in profile.phrases]) and voice.chance(OTHER_WORD)
    }
    chosen = [*said.values(), *called.values()]
    if not chosen or len(set(chosen)) < len(chosen):  # two things would be called the same
        return profile
    return replace(
        profile,
        tables=tuple(
            _renamed(table, said, called, nouns) if table.name in asked else table for table in profile.tables
        ),
    )


@cache
def other_words() -> Mapping[str, list[str]]:
    """The shipped list `other_words.yml`, read once."""
    text = files("agro_data.intent.questions.naming").joinpath("other_words.yml").read_text(encoding="utf-8")
    return cast(dict[str, list[str]], yaml.safe_load(text))


def _stated(tables: Iterable[TableProfile]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Table and column, "" for the table itself, with what else they are called."""
    for table in tables:
        yield table.name, "", table.synonyms
        for column in table.columns:
            yield table.name, column.name, column.synonyms


@lru_cache(maxsize=64)
def _taken(phrases: frozenset[str], identifiers: frozenset[str]) -> frozenset[str]:
    """The words of a database; of identifiers too, since where a person gave another name they may still be read."""
    return _words([*phrases, *map(words.spelled, identifiers)])


def _words(phrases: Iterable[str]) -> frozenset[str]:
    """The words of some phrases, each as a singular too."""
    found = {word for phrase in phrases for word in _WORD.findall(phrase)} - _GLUE
    return frozenset(found | {words.singular(word) for word in found})


def _entries(phrases: Iterable[str], nouns: frozenset[str]) -> Iterator[str]:
    """The entries of the list that stand in a phrase; of two that overlap the longer, then the one before."""
    for phrase in phrases:
        for found in _pattern().finditer(phrase):
            if _fits(found, nouns):
                yield found[0]


@cache
def _pattern() -> re.Pattern[str]:
    entries = sorted(other_words(), key=lambda entry: (-len(entry.split()), entry))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, entries))})(?![\w-])")


def _fits(found: re.Match[str], nouns: frozenset[str]) -> bool:
    """Whether an entry means itself where it stands: at the end of a name, or as what a table's rows are called."""
    return found.end() == len(found.string) or found[0].lower() in nouns


def _in_place(found: re.Match[str], other: str) -> str:
    """What is said for an entry where it stands: a population may be a number of inhabitants, its density may not, nor
    that of a city.
    """
    return other if " of " not in other or found[0] == found.string else found[0]


def _renamed(
    table: TableProfile, said: Mapping[str, str], called: Mapping[tuple[str, str], str], nouns: frozenset[str]
) -> TableProfile:
    def other(found: re.Match[str]) -> str:
        return _in_place(found, said.get(found[0].lower(), found[0])) if _fits(found, nouns) else found[0]

    def spoken(name: str, phrase: str, named: bool) -> str:
        if named or (table.name, name) in called:
            return called.get((table.name, name), phrase)
        return _pattern().sub(other, phrase)

    singular = spoken("", table.singular, table.named)
    columns = [replace(one, phrase=spoken(one.name, one.phrase, one.named)) for one in table.columns]
    changes: dict[str, Any] = {
        "singular": singular,
        "plural": table.plural if singular == table.singular else words.plural(singular),
        "columns": tuple(columns),
    }
    return replace(table, **changes)
