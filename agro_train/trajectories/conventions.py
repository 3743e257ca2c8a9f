"""Conventions by which people name tables and columns, and a schema whose names follow another one.

Nothing here touches a database: a convention makes names of words, and a `Spelling` says which name stands for which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from agro_data.databases.quoting import folded
from agro_data.profiling.names.words import expand, lexicon, noun_forms, split_identifier, starts_with
from agro_data.profiling.profile import DatabaseProfile, ForeignKey, TableProfile
from agro_data.sql.identifiers import needs_quotes
from agro_data.sql.names.resolution import Place

Words = list[str]

WRITTEN: Mapping[str, Callable[[Words], str]] = {
    "snake": "_".join,  # stadium_id
    "titles": lambda words: "_".join(map(str.title, words)),  # Stadium_Id
    "sentence": lambda words: "_".join(words).capitalize(),  # Stadium_id
    "pascal": lambda words: "".join(map(str.title, words)),  # StadiumId
    "camel": lambda words: words[0] + "".join(map(str.title, words[1:])),  # stadiumId
    "upper": lambda words: "_".join(words).upper(),  # STADIUM_ID
    "glued": "".join,  # stadiumid
}
_AROUND = (
    ("tbl", ""),
    ("t", ""),
    ("dim", ""),
    ("app", ""),
    ("", "info"),
    ("", "data"),
    ("", "list"),
    ("", "v2"),
)
_PLAIN = 0.7  # share of conventions that put nothing around the names of tables
_SHORT, _LONG = 0.15, 0.3  # shares that abbreviate what can be, and that write abbreviations out


@dataclass(frozen=True)
class Convention:
    """`case` is a key of `WRITTEN`. `plural`: of tables; None leaves their number. `before` and `after` go around the
    name of a table. `owner` goes before a column's name: "table" (its noun), "initial", "bare" (its noun is taken
    away), or "". `length`: "short" abbreviates, "long" writes abbreviations out, "" does neither.
    """

    case: str
    plural: bool | None = None
    before: str = ""
    after: str = ""
    owner: str = ""
    length: str = ""

    @classmethod
    def draw(cls, chance: Random) -> Convention:
        """One as databases have them, the frequent more often."""
        plain = chance.random() < _PLAIN
        before, after = ("", "") if plain else chance.choice(_AROUND)
        length = chance.random()
        return cls(
            case=chance.choice(tuple(WRITTEN)),
            plural=chance.choice((None, True, False)),
            before=before,
            after=after,
            owner=chance.choice(("", "", "table", "bare", "initial")),
            length="short" if length < _SHORT else "long" if length < _SHORT + _LONG else "",
        )

    def table(self, name: str) -> str:
        words = self._long(split_identifier(name))
        if self.plural is not None and words:
            words = noun_forms(words)[self.plural]
        return self._written([self.before, *words, self.after])

    def column(self, name: str, noun: Words) -> str:
        """`noun` are the words of what a row of its table is."""
        words = self._long(split_identifier(name))
        owned = starts_with(words, noun)
        if self.owner == "bare" and owned:
            words = words[len(noun) :] or words
        elif self.owner == "table" and not owned:
            words = [*noun, *words]
        elif self.owner == "initial" and noun:
            words = [noun[0][:1], *words]
        return self._written(words)

    def _long(self, words: Words) -> Words:
        return expand(words) if self.length == "long" and words else words

    def _written(self, words: Iterable[str]) -> str:
        plain = [part.lower() for word in words for part in word.split()]
        short = [_abbreviations().get(word, word) for word in plain] if self.length == "short" else plain
        return WRITTEN[self.case](short) if short else ""


@cache
def _abbreviations() -> Mapping[str, str]:
    """Word to what it is shortened to: the first that the shipped list has."""
    found: dict[str, str] = {}
    for short, word in lexicon().expansions.items():
        if " " not in short + word and word and len(short) < len(word):
            found.setdefault(word.lower(), short)
    return found


@dataclass(frozen=True)
class Spelling:
    """New names of all tables, and of all columns by table and column; old ones spelt as the schema does."""

    tables: Mapping[str, str]
    columns: Mapping[Place, str]

    def of(self, profile: DatabaseProfile) -> DatabaseProfile:
        """The profile of the same database with the new names; metrics, which are SQL, are left out."""
        tables = tuple(self._table(table) for table in profile.tables)
        keys = tuple(self._key(key) for key in profile.foreign_keys)
        return replace(profile, tables=tables, foreign_keys=keys, metrics=())

    def _table(self, table: TableProfile) -> TableProfile:
        def named(columns: Iterable[str]) -> tuple[str, ...]:
            return tuple(self.columns[table.name, column] for column in columns)

        return replace(
            table,
            name=self.tables[table.name],
            columns=tuple(replace(one, name=self.columns[table.name, one.name]) for one in table.columns),
            primary_key=named(table.primary_key),
            unique_keys=tuple(map(named, table.unique_keys)),
            label_columns=named(table.label_columns),
        )

    def _key(self, key: ForeignKey) -> ForeignKey:
        return replace(
            key,
            table=self.tables[key.table],
            columns=tuple(self.columns[key.table, column] for column in key.columns),
            ref_table=self.tables[key.ref_table],
            ref_columns=tuple(self.columns[key.ref_table, column] for column in key.ref_columns),
        )


def spelling(profile: DatabaseProfile, convention: Convention) -> Spelling:
    """Every name by the convention; one that would need quotes, or that another has, stays as it is."""
    tables = _distinct([(table.name, convention.table(table.name)) for table in profile.tables])
    columns: dict[Place, str] = {}
    for table in profile.tables:
        noun = split_identifier(table.singular)
        new = _distinct([(column.name, convention.column(column.name, noun)) for column in table.columns])
        columns |= {(table.name, old): name for old, name in new.items()}
    return Spelling(tables, columns)


def _distinct(names: Sequence[tuple[str, str]]) -> dict[str, str]:
    """New names by old; the old one wherever the new one cannot be taken."""
    wanted = {old: new if old.isascii() and new and not needs_quotes(new) else old for old, new in names}
    while True:
        often = Counter(map(folded, wanted.values()))
        clashing = [old for old, new in wanted.items() if often[folded(new)] > 1 and new != old]
        if not clashing:
            return wanted
        wanted |= {old: old for old in clashing}
