"""What a fragment of an identifier abbreviates: the "stu" of "stu_id" is a student, where there are students."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from agro_data.profiling.names.words import is_word, lexicon

_PERSON = {"f": "first", "l": "last", "m": "middle"}
_BEGUN = 4  # letters that say which noun is begun
_CONTEXT_SUFFIX = re.compile(r"([a-z]{1,5})(id|name|no|num|nr|code|type|date|number|title|location)")


@lru_cache(maxsize=256)
def _begun(nouns: frozenset[str]) -> dict[str, str]:
    """By each beginning, of four letters or more, that only one of `nouns` has: that noun."""
    begins = [(noun[:end], noun) for noun in nouns for end in range(_BEGUN, len(noun) + 1)]
    having = Counter(beginning for beginning, _ in begins)
    return {beginning: noun for beginning, noun in begins if having[beginning] == 1}


def in_context(
    word: str, following: str, table: list[str], others: list[list[str]], nouns: frozenset[str], *, is_key: bool
) -> list[str]:
    """A fragment such as "stu", "dname" or "p" (before "id") that abbreviates the noun of this or another table;
    `nouns` are the words of all of them."""
    known = lexicon()
    if word in known.expansions and following == "id" and len(word) >= 3:
        return _noun_of(word, table, others) or [word]
    if word in known.expansions or word in known.acronyms or word.isdigit() or not word.isascii():
        return [word]
    if word in _PERSON and following == "name":
        return [_PERSON[word]]
    glued = _CONTEXT_SUFFIX.fullmatch(word)
    if glued and is_key and len(word) <= 4 and glued[2] in ("id", "no") and _abbreviates(glued[1], table):
        return [*table, glued[2]]
    if glued and not is_word(word):
        noun = (
            _own(glued[1], glued[2], table, others)
            or _noun_of(glued[1], table, others)
            or (_key_of(glued[1], table, others) if glued[2] == "id" else [])
        )
        return [*noun, glued[2]] if noun else [word]
    fragment = len(word) <= 2 or (len(word) <= 4 and not is_word(word))
    if fragment and following in ("id", "name", "no", "code", "type", "date", "number"):
        return _own(word, following, table, others) or _noun_of(word, table, others) or [word]
    if len(word) >= _BEGUN and not is_word(word):  # "franch" of a franchise, beside other things or none
        return [_begun(frozenset(table)).get(word) or _begun(nouns).get(word, word)]
    return [word]


def written_out(word: str, nouns: frozenset[str]) -> str:
    """The one of `nouns` that a word which is none begins, or the word."""
    return word if len(word) < _BEGUN or is_word(word) else _begun(nouns).get(word, word)


def _own(fragment: str, following: str, table: list[str], others: list[list[str]]) -> list[str]:
    """The table of whose noun "g" of "gname" begins the last word: a video game has a name, a play of it none."""
    said = following in ("name", "title", "type") and table[-1].startswith(fragment)
    return table if said and table[-1:] not in others else []


def _key_of(fragment: str, table: list[str], others: list[list[str]]) -> list[str]:
    """The one noun of which "ap" of "apid" has the first letter and another: "airport"."""
    fits = [
        words for words in (table, *others) if words[0].startswith(fragment[0]) and within(fragment, "".join(words))
    ]
    return fits[0] if len(fits) == 1 and 2 <= len(fragment) <= 3 else []


def _noun_of(fragment: str, table: list[str], others: list[list[str]]) -> list[str]:
    if len(fragment) >= 4 and is_word(fragment):
        return []
    if _abbreviates(fragment, table):
        return table
    if fragment in lexicon().expansions:
        # "doc" is the doctor of a database that has doctors and no documents.
        begun = [words for words in others if "".join(words).startswith(fragment)]
        return begun[0] if len(begun) == 1 else lexicon().expansions[fragment].split()
    matches = [words for words in others if _abbreviates(fragment, words)]
    if len(matches) == 1 or (matches and len(fragment) >= 3):
        return matches[0]
    # "amen" of "dorm amenity"
    return table if len(fragment) >= 3 and table[-1].startswith(fragment) else []


def _abbreviates(fragment: str, words: list[str]) -> bool:
    initials = "".join(word[0] for word in words)
    return "".join(words).startswith(fragment) or (len(words) > 1 and fragment == initials)


def within(short: str, long: str) -> bool:
    """Whether the letters of `short` stand in `long`, in their order."""
    rest = iter(long)
    return all(letter in rest for letter in short)
