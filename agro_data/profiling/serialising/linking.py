"""Which columns a question needs: its words against names, phrases and values, closed under foreign keys.

Used where a schema is larger than a prompt (`profiling.serialising.serialise`), and to tell a model where the values
stand that its question says (`profiling.serialising.said_values`). No model: a column is wanted the more, the more of
its words the question says and the rarer these words are in the schema; its table is wanted with it, and so are the
tables on the shortest way along foreign keys between wanted tables.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import log
from typing import Generic, TypeVar

from agro_data.profiling.names.words import expand, is_word, split_identifier, word_set
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, TableProfile

Name = tuple[str, str]  # table, column
NO_TEXTS: Mapping[Name, Iterable[str]] = {}

_WORD = re.compile(r"[^\W\d_]+|\d+")
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'|“([^”]+)”|‘([^’]+)’")
_SAID_BY_ALL = word_set(
    "a an the of in on at to for from by with and or not is are was were be do does did has have had what which who "
    "whom whose when where how many much list show give find return name all each every any than that this these "
    "those it its their there me us i you more less least most number total"
)
_PREFIX = 5  # letters that two forms of one word share: "depart" in departed, departure
_ALIKE = 0.6  # of a word's worth, when only its beginning is said
_ANCHORS = 6  # tables, the most wanted first, between which ways are looked for
_FAR = 4  # foreign keys on a way, at most
_MATCHED = 24  # columns that count as named by the question, at most
_VALUE = 3.0  # a value of the column stands in the question: worth three of its words
_OF_TABLE = 1.5  # a table's own noun, beside its best columns
_SPAN = 5  # words of a value, at most
_SHORTEST_NUMBER = 3  # digits of a text that is looked for as a value: shorter ones are mostly counts
_SHARED = 4  # columns that may hold a value that is said; what more of them hold tells little of each
_GROUPS = ("category", "boolean")
_QUOTES = "\"'‘’“”`"


@dataclass(frozen=True)
class Links:
    """`ranked`: all columns, the most wanted first. `matched`: the few whose words or values the question holds.
    `values`: of columns, the values that the question says, as they are stored."""

    ranked: tuple[Name, ...]
    matched: frozenset[Name]
    values: Mapping[Name, tuple[str, ...]] = field(default_factory=dict)


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Postings(Generic[Key]):
    """The items that a word, or the beginning of one, finds, and the weight of this word among each item's words."""

    words: Mapping[str, Sequence[tuple[Key, float]]]
    beginnings: Mapping[str, Sequence[tuple[Key, str, float]]]

    def scores(self, said: Set[str]) -> dict[Key, float]:
        """The share of an item's words that are said, between 0 and 1, for all items that have words."""
        found: dict[Key, float] = defaultdict(float)
        for word in sorted(said):
            for key, share in self.words.get(word, ()):
                found[key] += share
        for beginning in sorted({word[:_PREFIX] for word in said if len(word) >= _PREFIX}):
            for key, word, share in self.beginnings.get(beginning, ()):
                if word not in said:
                    found[key] += _ALIKE * share
        return found


@dataclass(frozen=True)
class SchemaIndex:
    """The words and values of a schema, made once for all questions; `index_schema` makes it."""

    names: tuple[Name, ...]
    columns: Postings[Name]
    tables: Postings[str]
    values: Mapping[str, Mapping[Name, str]]  # a value, or what it means, in lower case -> its columns, as stored there
    neighbours: Mapping[str, tuple[str, ...]]
    groups: frozenset[Name]  # columns whose values are kinds of things, not names of them

    def link(self, question: str, evidence: str | None = None) -> Links:
        """Rank the columns for one question. Ties stand in the schema's order."""
        text = f"{question} {evidence or ''}"
        said = frozenset(_singular(word) for word in _WORD.findall(text.lower()) if word not in _SAID_BY_ALL)
        own = self.columns.scores(said)
        held = self._held(text)
        fewest: dict[Name, int] = {}  # columns that share a value of this one
        for span in held:
            for name in self.values[span]:
                fewest[name] = min(fewest.get(name, len(self.values[span])), len(self.values[span]))
        for name in sorted(fewest):
            own[name] = own.get(name, 0.0) + _VALUE / fewest[name]
        tables = self._tables(own, self.tables.scores(said))
        scores = {name: 2 * tables[name[0]] + own.get(name, 0.0) for name in self.names}
        ranked = sorted(self.names, key=lambda name: -scores[name])
        matched = [name for name in ranked if own.get(name, 0.0) > 0.5]
        return Links(tuple(ranked), frozenset(matched[:_MATCHED]), self._values(held, text))

    def _held(self, text: str) -> list[str]:
        """The parts of the text that are a value of some column, in lower case, in the text's order."""
        plain = [word.strip(f"{_QUOTES}.,;:?!()") for word in text.lower().split()]
        starts = range(len(plain))
        spans = [" ".join(plain[start : start + length]) for start in starts for length in range(_SPAN, 0, -1)]
        quoted = [part for found in _QUOTED.findall(text.lower()) for part in found if part]
        return [span for span in dict.fromkeys([*spans, *quoted]) if span in self.values and span not in _SAID_BY_ALL]

    def _values(self, held: Sequence[str], text: str) -> dict[Name, tuple[str, ...]]:
        """The values that are said, by column: the longest of those that overlap, and none that many columns hold."""
        found: dict[Name, dict[str, None]] = defaultdict(dict)
        for span in held:
            within = any(span != other and f" {span} " in f" {other} " for other in held)
            if not within and len(self.values[span]) <= _SHARED and _tells(span, text):
                for name, stored in self.values[span].items():
                    if name in self.groups or not _by_chance(stored, text):
                        found[name][stored] = None
        return {name: tuple(stored) for name, stored in found.items()}

    def _tables(self, own: Mapping[Name, float], nouns: Mapping[str, float]) -> dict[str, float]:
        """How much each table is wanted: by its noun, by its three best columns, or because it lies on a way."""
        best: dict[str, list[float]] = defaultdict(list)
        for (table, _), score in own.items():
            best[table].append(score)
        wanted = {
            table: _OF_TABLE * nouns.get(table, 0.0) + sum(sorted(best[table])[-3:]) / 2 for table in self.neighbours
        }
        order = sorted(wanted, key=lambda table: -wanted[table])
        anchors = [table for table in order[:_ANCHORS] if wanted[table] > 0]
        for place, start in enumerate(anchors):
            for way in self._ways(start, anchors[place + 1 :]):
                floor = 0.95 * min(wanted[way[0]], wanted[way[-1]])
                for table in way[1:-1]:
                    wanted[table] = max(wanted[table], floor)
        return wanted

    def _ways(self, start: str, ends: Sequence[str]) -> Iterable[list[str]]:
        """Shortest ways from `start` to each of `ends`, over at most `_FAR` foreign keys."""
        before: dict[str, str] = {start: start}
        queue = deque([(start, 0)])
        while queue:
            table, far = queue.popleft()
            for near in self.neighbours[table] if far < _FAR else ():
                if near not in before:
                    before[near] = table
                    queue.append((near, far + 1))
        for end in ends:
            if end in before:
                way = [end]
                while way[-1] != start:
                    way.append(before[way[-1]])
                yield way


def index_schema(profile: DatabaseProfile, texts: Mapping[Name, Iterable[str]] = NO_TEXTS) -> SchemaIndex:
    """The index of a profile's tables and columns, hidden ones left out as the profile has them; and of `texts`, which
    its columns hold beside those that the profile calls common."""
    columns = {(t.name, c.name): _words(_column_words(t, c)) for t in profile.tables for c in t.columns}
    tables = {t.name: _words(_table_words(t)) for t in profile.tables}
    often = Counter(word for words in (*columns.values(), *tables.values()) for word in words)
    weights = {word: log(1 + len(columns) / count) for word, count in often.items()}
    held: dict[str, dict[Name, str]] = defaultdict(dict)
    for table in profile.tables:
        for column in table.columns:
            common = [(value, value) for value, _ in column.common if isinstance(value, str)]
            for stored, text in [*common, *column.codes]:
                held[text.strip().lower()].setdefault((table.name, column.name), stored)
    for name in columns:
        for text in texts.get(name, ()):
            held[text.strip().lower()].setdefault(name, text)
    near: dict[str, dict[str, None]] = {table.name: {} for table in profile.tables}
    for key in profile.foreign_keys:
        near[key.table][key.ref_table] = None
        near[key.ref_table][key.table] = None
    return SchemaIndex(
        names=tuple(columns),
        columns=_postings(columns, weights),
        tables=_postings(tables, weights),
        values={text: names for text, names in held.items() if text},
        neighbours={table: tuple(others) for table, others in near.items()},
        groups=frozenset((t.name, c.name) for t in profile.tables for c in t.columns if c.role in _GROUPS),
    )


def _postings(named: Mapping[Key, Sequence[str]], weights: Mapping[str, float]) -> Postings[Key]:
    words: dict[str, list[tuple[Key, float]]] = defaultdict(list)
    beginnings: dict[str, list[tuple[Key, str, float]]] = defaultdict(list)
    for key, own in named.items():
        whole = sum(weights[word] for word in own)
        for word in own:
            words[word].append((key, weights[word] / whole))
            if len(word) >= _PREFIX:
                beginnings[word[:_PREFIX]].append((key, word, weights[word] / whole))
    return Postings(dict(words), dict(beginnings))


def _column_words(table: TableProfile, column: ColumnProfile) -> list[str]:
    own = _WORD.findall(f"{column.phrase} {' '.join(column.synonyms)}".lower())
    spelt = expand(split_identifier(column.name))
    whole = [word for word in [*own, *spelt] if word not in _SAID_BY_ALL]
    return whole or [*own, *spelt] or _table_words(table)


def _table_words(table: TableProfile) -> list[str]:
    return [
        *_WORD.findall(f"{table.singular} {' '.join(table.synonyms)}".lower()),
        *expand(split_identifier(table.name)),
    ]


def _words(words: Iterable[str]) -> tuple[str, ...]:
    """Each word once, in the singular: rare ones tell more than those that many columns share."""
    return tuple(dict.fromkeys(_singular(word) for part in words for word in part.split()))


def _tells(span: str, text: str) -> bool:
    """Whether a text that is a value is meant as one: not a short number, and a letter only as a capital."""
    if span.isdigit():
        return len(span) >= _SHORTEST_NUMBER
    return len(span) > 1 or re.search(rf"\b{re.escape(span.upper())}\b", text) is not None


def _by_chance(stored: str, text: str) -> bool:
    """Whether a name, such as Price, only looks like a word of the text, which has it in small letters."""
    return stored[:1].isupper() and stored not in text and " " not in stored.strip() and is_word(stored.strip().lower())


def _singular(word: str) -> str:
    """One form for singular and plural; both sides are cut alike, so it need not be a word."""
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
