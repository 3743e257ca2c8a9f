"""Natural names: what a person calls a table's rows and a column's values.

A name comes from the best source there is: words that a person wrote (semantics.yml, a Spider `tables.json`, BIRD
descriptions), else the identifier itself, split, expanded and put into singular and plural. Within a database no
two tables share a noun, and within a table no two columns share a phrase.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agro_data.profiling.names.denoting import LISTED
from agro_data.profiling.names.fragments import in_context, within, written_out
from agro_data.profiling.names.people import PEOPLE
from agro_data.profiling.names.titles import title_of
from agro_data.profiling.names.units import in_full
from agro_data.profiling.names.word_order import as_said, flag_last
from agro_data.profiling.names.words import (
    TIGHT_PREPOSITIONS,
    expand,
    is_participle,
    is_word,
    lexicon,
    meant_beside,
    noun_forms,
    pieces_of,
    reads_as_english,
    singular_word,
    spell,
    split_identifier,
    starts_with,
    stem,
    word_set,
)

# A name that ends in one of these is said in full: "flight number", never "the number of the flight".
_NEEDS_NOUN = word_set("number count order group class field part")
_WITH_POINT = re.compile(r"[A-Z]+\d+\.\d+")  # "PM2.5"
_LINKS = word_set("bridge junction link map mapping association")  # what a table does, beside the two that it joins
_ROLLS = word_set("list directory register data")  # tables that are called so are of people, if their columns say so
_GRAINS = word_set("hourly daily weekly monthly quarterly yearly annual")  # of what time a row is, behind all else
_UNNAMED = "unnamed"  # what a name without a character is said as: tables are written with such columns


@dataclass(frozen=True)
class Hints:
    """Words that somebody gave. `noun` and `phrases` are used as they are; `words` still go through the rules."""

    key: str = ""  # the column that is the primary key alone
    noun: str = ""
    plural: str = ""
    words: str = ""
    column_words: Mapping[str, str] = field(default_factory=dict)
    phrases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """One table's names. `words` and `columns` are the full expanded words, from which roles and keys are judged."""

    singular: str
    plural: str
    words: list[str]
    columns: dict[str, list[str]]
    phrases: dict[str, str]
    given: Mapping[str, str] = field(default_factory=dict)  # what the rules call columns that hints call otherwise, and
    # "" for the table


def name_database(tables: Mapping[str, Sequence[str]], hints: Mapping[str, Hints]) -> dict[str, Names]:
    """Names for every table of `tables` (table to its columns, as the database spells them)."""
    stated = {name: hint for name, hint in hints.items() if hint.noun or hint.phrases}
    plain = {name: replace(hint, noun="", plural="", phrases={}) for name, hint in stated.items()}
    usual = name_database(tables, {**hints, **plain}) if stated else {}
    nouns = _distinct_nouns(
        _compounds({name: _table_words(name, hints.get(name, Hints()), columns) for name, columns in tables.items()})
    )
    nouns = _begun_elsewhere(nouns)
    every = {name: stem(words) for name, words in nouns.items()}
    known = frozenset(word for words in every.values() for word in words)  # a "stat" of "stats" is no status
    # "clm_no" of a payment is the number of a claim, if somebody said that "clm" are claims.
    written = {name.lower(): every[name] for name, hint in hints.items() if hint.noun and name in every}
    result: dict[str, Names] = {}
    for name, columns in tables.items():
        hint = hints.get(name, Hints())
        single, plural = noun_forms(nouns[name])
        others = [words for other, words in every.items() if other != name]
        around = frozenset(word for column in columns for word in split_identifier(column))
        full = {column: _column_words(column, hint, every[name], others, known, around, written) for column in columns}
        phrases = _phrases(full, every[name], plural, others, hint.key)
        aloud = all(column.isupper() for column in columns)
        phrases = {
            column: column if _is_mark(column) else _in_capitals(phrase, column, aloud)
            for column, phrase in phrases.items()
        }
        phrases.update({column: phrase for column, phrase in hint.phrases.items() if column in full})
        called, many = (_in_capitals(spell(form), name, name.isupper()) for form in (single, plural))
        if _is_mark(name):
            called, many = name, name if name[-1].isdigit() else f"{name}s"
        singular = hint.noun or called
        result[name] = Names(
            singular=singular,
            plural=hint.plural or (spell(noun_forms(hint.noun.split())[1]) if hint.noun else many),
            words=every[name],
            columns=full,
            phrases=_distinct_phrases(phrases, full),
            given=_given(hint, usual[name]) if name in stated else {},
        )
    return _settle(result)


def _given(hint: Hints, usual: Names) -> dict[str, str]:
    """What the rules would call the columns that are stated otherwise, and the table ("")."""
    columns = {column: usual.phrases[column] for column in hint.phrases if column in usual.phrases}
    table = {"": usual.singular} if hint.noun and hint.noun != usual.singular else {}
    return table | {column: phrase for column, phrase in columns.items() if phrase != hint.phrases[column]}


def _settle(names: dict[str, Names]) -> dict[str, Names]:
    """The same, with a number after the nouns that hints made equal."""
    seen: Counter[str] = Counter()
    settled: dict[str, Names] = {}
    for table, value in names.items():
        seen[value.singular] += 1
        nth = seen[value.singular]
        settled[table] = (
            value if nth == 1 else replace(value, singular=f"{value.singular} {nth}", plural=f"{value.plural} {nth}")
        )
    return settled


# --- tables --------------------------------------------------------------------------------------------------------


def _table_words(name: str, hint: Hints, columns: Sequence[str]) -> tuple[list[str], list[str]]:
    """(words without the prefixes that say what a table is for, all words)."""
    words = split_identifier(hint.noun) if hint.noun else _better_split(_plausible(hint.words, name), name)
    raw = split_identifier(name)
    core = list(words)
    known = lexicon()
    several = any(singular_word(word) != word for word in core[-1:])
    prefixes = known.prefixes | ({"all"} if several else set())  # "all stars"; but an "all star" is one
    while len(core) > 1 and core[0] in prefixes and raw[:1] != [name]:
        if core[1][:1].isdigit() and (len(core[0]) == 1 or not any(word.isalpha() for word in core[1:])):
            break  # "T001" is a name of its own, and no "001"; "tbl_2024_orders" are the orders of a year
        core = core[1:]
    while len(core) > 1 and core[-1] in known.suffixes:
        core = core[:-1]
    core, words = expand(core), expand(words)
    while len(core) > 1 and singular_word(core[-1]) in LISTED and _is_listed(core, hint.key):
        core = core[:-1]  # the rows of an employee list are employees
    if (
        len(core) == 1
        and singular_word(core[0]) in _ROLLS
        and {"first name", "last name"} <= {_plainly(one) for one in columns}
    ):
        core = ["people"]
    bare = [name.strip().lower() or _UNNAMED]
    return _grain_first(_participle_first(_verb_to_noun(core))) or bare, words or bare


def _begun_elsewhere(nouns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """ "insp result" as "inspection result", where there are inspections, unless something else is called so."""
    known = frozenset(singular_word(word) for words in nouns.values() for word in words if is_word(word))
    found = {name: [written_out(word, known) for word in words] for name, words in nouns.items()}
    times = Counter(spell(noun_forms(words)[0]) for words in found.values())
    return {name: words if times[spell(noun_forms(words)[0])] == 1 else nouns[name] for name, words in found.items()}


def _is_listed(words: list[str], key: str) -> bool:
    """Whether rows are what the words before the last say, by these or by the key: festival details by a festival id.

    One thing may have several entries or records.
    """
    what = words[:-1]
    keyed = _plainly(key) in (f"{spell(stem(what))} ID", f"{spell(stem(what))} code")
    return singular_word(what[-1]) in PEOPLE or (keyed and singular_word(words[-1]) not in ("entry", "record"))


def _plainly(column: str) -> str:
    return spell(expand(split_identifier(column)))


def _compounds(candidates: Mapping[str, tuple[list[str], list[str]]]) -> dict[str, tuple[list[str], list[str]]]:
    """ "members of club" as "club members", "participants in events" as "event participants", for tables of these; and
    what only links two of the tables without the word that says so.
    """
    nouns = {spell(noun_forms(core)[0]) for core, _ in candidates.values()}

    def turned(core: list[str]) -> list[str]:
        place = next((place for place, word in enumerate(core) if word in ("of", "in") and place), len(core) - 1)
        last = noun_forms(core[place + 1 :])[0] if core[place + 1 :] else []
        return [*last, *core[:place]] if spell(last) in nouns else _without_link(core, nouns)

    return {name: (turned(core), words) for name, (core, words) in candidates.items()}


def _without_link(core: list[str], nouns: set[str]) -> list[str]:
    """ "bridge film actor" as "film actor", for tables of films and of actors, and none of bridges."""
    for link, words in ((core[0], core[1:]), (core[-1], core[:-1])):
        parts = [(noun_forms(words[:at])[0], noun_forms(words[at:])[0]) for at in range(1, len(words))]
        if link in _LINKS and link not in nouns and any({spell(one), spell(other)} <= nouns for one, other in parts):
            return words
    return core


def _participle_first(words: list[str]) -> list[str]:
    """ "documents mailed" as "mailed documents"."""
    movable = len(words) == 2 and words[1].endswith("ed") and is_participle(words[1])
    return words[::-1] if movable else words


def _grain_first(words: list[str]) -> list[str]:
    """ "container stock daily" as "daily container stock"."""
    return [words[-1], *words[:-1]] if len(words) > 1 and words[-1] in _GRAINS else words


def _verb_to_noun(words: list[str]) -> list[str]:
    """["has", "pet"] becomes ["pet", "record"]; ["faculty", "participates", "in"] ["faculty", "participation"]."""
    verbs = lexicon().verbs
    place = next((i for i, word in enumerate(words) if word in verbs), None)
    if place is None or (place > 0 and place < len(words) - 1 and words[-1] not in TIGHT_PREPOSITIONS):
        return words
    others = [word for word in (*words[:place], *words[place + 1 :]) if word not in TIGHT_PREPOSITIONS]
    return [*map(singular_word, others), *verbs[words[place]].split()]


def _distinct_nouns(candidates: Mapping[str, tuple[list[str], list[str]]]) -> dict[str, list[str]]:
    """Short words where they are nobody else's, else all words, else words and an ordinal."""
    short = Counter(spell(noun_forms(core)[0]) for core, _ in candidates.values())
    chosen: dict[str, list[str]] = {}
    taken: set[str] = set()
    for name, (core, words) in candidates.items():
        options = [core] if short[spell(noun_forms(core)[0])] == 1 else [words, core]
        pick = next((option for option in options if spell(noun_forms(option)[0]) not in taken), None)
        ordinal = 2
        while pick is None:
            numbered = [*core, str(ordinal)]
            pick = numbered if spell(noun_forms(numbered)[0]) not in taken else None
            ordinal += 1
        chosen[name] = pick
        taken.add(spell(noun_forms(pick)[0]))
    return chosen


# --- columns -------------------------------------------------------------------------------------------------------


def _column_words(
    column: str,
    hint: Hints,
    table: list[str],
    others: list[list[str]],
    nouns: frozenset[str],
    around: frozenset[str],
    written: Mapping[str, list[str]],
) -> list[str]:
    given = _plausible(hint.column_words.get(column, ""), column)
    title = title_of(column) if split_identifier(given) in ([], split_identifier(column)) else None
    words = flag_last(title.words if title else _better_split(given, column))
    own = in_context(column.lower(), "", table, others, nouns, is_key=column == hint.key)
    if len(own) == 1 and starts_with(spelt := split_identifier(column), table):
        own = spelt if any(starts_with(words, noun) and not starts_with(table, noun) for noun in others) else own
    if len(own) > 1 and _contradicts(words, own, table, others):
        words = own
    resolved: list[str] = []
    words = in_full(words, around)
    words = [meant for word in words for meant in written.get(word, meant_beside(word, around))]
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        resolved.extend(in_context(word, following, table, others, nouns, is_key=column == hint.key))
    expanded = expand(resolved, nouns) or [column.strip().lower() or _UNNAMED]
    if len(expanded) > 1 and expanded[-1] == "is":
        expanded = expanded[:-1]
    return [*as_said(expanded, table), *(["in", title.unit] if title and title.unit else [])]


def _contradicts(words: list[str], own: list[str], table: list[str], others: list[list[str]]) -> bool:
    """Whether given `words` name another thing than `own`, the table's noun that the identifier abbreviates."""
    if starts_with(own, words[:-1]) or starts_with(words, own[:-1]):
        return False
    named = [noun for noun in others if starts_with(words, noun)]
    return not named or (starts_with(own, table) and not any(starts_with(table, noun) for noun in named))


def _plausible(given: str, identifier: str) -> str:
    """`given` unless `identifier` says another thing: side files with shifted columns exist.

    It fits by a shared word, or by the letters of one within the other, in order; codes such as "f1" fit anything.
    """
    words, own = split_identifier(given), split_identifier(identifier)
    shared = any(a[:3] == b[:3] for a in words for b in own)
    letters, brief = "".join(words), "".join(own)
    telling = any(word == "id" or (len(word) >= 4 and is_word(word)) for word in own)
    return given if shared or not telling or within(brief, letters) or within(letters, brief) else ""


def _better_split(given: str, identifier: str) -> list[str]:
    """Words of `given`, unless the identifier has the same letters in fewer, known words ("play list")."""
    own = split_identifier(identifier)
    words = split_identifier(given)
    if not words:
        return own
    same = "".join(words) == "".join(own)
    return own if same and len(own) < len(words) and all(map(is_word, own)) else words


def _phrases(
    full: Mapping[str, list[str]], single: list[str], plural: list[str], others: list[list[str]], key: str
) -> dict[str, str]:
    """Phrases without the table's noun, which the noun gets back where two columns would be called the same."""
    nouns = [*others, single]
    tidy = {column: _singular_before_key(words, nouns) for column, words in full.items()}
    short = {
        column: _without_noun(words, single, plural, others, is_key=column == key) for column, words in tidy.items()
    }
    counts = Counter(spell(words) for words in short.values())
    return {
        column: spell(words if counts[spell(words)] == 1 or words == tidy[column] else tidy[column])
        for column, words in short.items()
    }


def _without_noun(
    words: list[str], single: list[str], plural: list[str], others: list[list[str]], *, is_key: bool
) -> list[str]:
    if words[0] == "other" and len(words) > 2:
        # "other company details" of a company are its other details.
        return ["other", *_without_noun(words[1:], single, plural, others, is_key=False)]
    of = words.index("of") if "of" in words[1:-1] else 0
    if of and words[of + 1 :] in (single, plural) and words[of - 1] not in _NEEDS_NOUN:
        return words[:of]  # "date of transaction", of a transaction
    if of and words[of + 1 : -1] in (single, plural) and words[-1] == "code":
        return [*words[:of], "code"]  # "type of thing code", of a thing
    own = [prefix for prefix in (single, plural) if starts_with(words, prefix)]
    prefix = own[0] if own else single[-1:]
    rest = words[len(prefix) :]
    if (
        not starts_with(words, prefix)
        or not rest
        or rest[0] in TIGHT_PREPOSITIONS
        or rest[0].isdigit()
        or rest[-1].isdigit()
        or rest[-1] in _NEEDS_NOUN
        or rest == ["flag"]
        # "product id" of a booked product may name another table's product.
        or (not own and rest[-1] in ("id", "code") and not is_key)
        # The words name another table: "address id" in "customer address", "document type code" in "document".
        or any(len(other) >= len(prefix) and starts_with(words, other) and other != single for other in others)
    ):
        return words
    return rest


def _singular_before_key(words: list[str], nouns: list[list[str]]) -> list[str]:
    """ "people id" becomes "person id" where "person" is a table of the database."""
    if len(words) < 2 or words[-1] not in ("id", "code", "name", "number", "key"):
        return words
    candidate = [*words[:-2], singular_word(words[-2]), words[-1]]
    return candidate if candidate[:-1] in nouns else words


def _in_capitals(phrase: str, identifier: str, aloud: bool) -> str:
    """The phrase with the abbreviations that the identifier has in capitals ("GIDP", "WC win").

    Where all is in capitals (`aloud`, or each of several words), those are the words that are none.
    """
    pieces = pieces_of(identifier)
    aloud = aloud or (len(pieces) > 1 and identifier.isupper())
    kept = {
        piece.lower(): piece
        for piece in pieces
        if piece.isupper() and len(piece) <= 5 and _is_short_for(piece.lower(), aloud, alone=len(pieces) == 1)
    }
    kept |= {f"{word}s": f"{piece}s" for word, piece in kept.items()}
    kept |= {word.lower(): word for word in identifier.split() if _WITH_POINT.fullmatch(word)}
    return " ".join(kept.get(word, word) for word in phrase.split(" "))


def _is_mark(identifier: str) -> bool:
    """Whether a name is capitals and digits of no word, said as it is: "2B", "T001W"."""
    few = len(identifier) <= 3 and identifier.isupper() and identifier.isalnum() and not identifier.isalpha()
    return few or re.fullmatch(r"[A-Z]{1,2}\d+[A-Z]*", identifier) is not None


def _is_short_for(piece: str, aloud: bool, *, alone: bool) -> bool:
    """Whether letters stand for words: "gidp"; one or two of them even where they are a word ("so")."""
    few = len(piece) == 2 or (len(piece) == 1 and alone)
    return (few and not aloud) or (len(piece) > 1 and not reads_as_english(piece))


def _distinct_phrases(phrases: Mapping[str, str], full: Mapping[str, list[str]]) -> dict[str, str]:
    """Unique phrases: the full words where the short ones collide, then an ordinal."""
    result: dict[str, str] = {}
    taken: set[str] = set()
    for column, phrase in phrases.items():
        pick = phrase
        if pick in taken:
            pick = spell(full[column])
        ordinal = 2
        while pick in taken:
            pick = f"{phrase} {ordinal}"
            ordinal += 1
        result[column] = pick
        taken.add(pick)
    return result
