"""English at the level of words: plurals, articles, lists, agreement. Every call is cached: names repeat endlessly."""

from __future__ import annotations

import re
from functools import cache

from agro_data.intent.questions.naming.vocabulary import (
    BODIES,
    CONTAINERS,
    INVARIANT,
    IRREGULAR_PARTICIPLES,
    SINGULAR_IN_S,
    STATES,
    WITHOUT_PLURAL,
)
from agro_data.profiling.names.people import PEOPLE
from agro_data.profiling.names.words import inflector, plain_in_o, stays
from agro_data.sql.identifiers import words_in


def last_word(phrase: str) -> str:
    """Last word of the phrase's head: what stands before the first preposition."""
    return head(phrase)[0].rsplit(" ", 1)[-1]


# What may not stand before a preposition that ends a noun: a sign in is one thing.
NOT_PHRASAL = "".join(
    rf"(?<!\b{verb})" for verb in ("buy", "check", "clock", "drop", "log", "opt", "sign", "trade", "walk")
)
_TAIL = re.compile(
    rf" (?:(?:of|per|for|as|at|to|from|by|with|that|who|whose)(?= |$)|\()|{NOT_PHRASAL} (?:in|on)(?= |$)"
)


@cache
def head(phrase: str) -> tuple[str, str]:
    """The noun that takes the plural, with what stands before it, and the rest.

    "date of birth" -> ("date", " of birth"), "hours played" -> ("hours", " played"). A phrase that opens with a
    participle has its noun, if any, at the end: "destroyed by employee" -> ("destroyed by employee", "").
    """
    found = _TAIL.search(phrase)
    whole = found is None or found.start() == 0 or re.search(r" (?:from|to) (?:date|year|time)$", phrase) is not None
    start = phrase if whole or found is None else phrase[: found.start()]
    if start.startswith(("date ", "dates ")) and any(map(is_participle, start.split(" "))):
        start = start.split(" ", 1)[0]
    before, _, last = start.rpartition(" ")
    if before and (is_participle(last) or (last in STATES and before.endswith("s"))):  # "dates active"
        start = before
    elif not before and is_participle(last):
        start = phrase
    return start, phrase[len(start) :]


def is_participle(word: str) -> bool:
    """Whether a word behind a noun says what was done with it: "played", "held"."""
    return word in IRREGULAR_PARTICIPLES or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))


@cache
def is_plural(phrase: str) -> bool:
    """Whether the noun phrase takes "are"."""
    word = last_word(phrase)
    low = word.lower()
    if low in SINGULAR_IN_S or len(low) < 3 or word.isupper() or low.endswith(("ss", "ous", "itis", "ics")):
        return word.endswith("s") and word[:-1].isupper() and len(word) > 2
    if low in {"people", "men", "women", "children", "criteria"}:
        return True
    return low.endswith("s") and not stays(low) and bool(inflector().singular_noun(low))


@cache
def plural(phrase: str) -> str:
    """Plural of a singular noun phrase; a plural stays as it is."""
    one, either, other = phrase.partition(" or ")
    if either and " " not in other and not head(one)[1]:  # not "city or county name", "name of city or town"
        return f"{plural(one)} or {plural(other)}"
    start, rest = head(phrase)
    if is_plural(phrase) or start.lower() in ("how", "why", "when", "where", "who"):
        return phrase
    before, _, word = start.rpartition(" ")
    if not before and is_participle(word):
        return f"{phrase} values"
    if word in WITHOUT_PLURAL or (len(word) == 1 and word.isalpha()):  # the plural of "i" is not "we"
        return f"{phrase} values"
    caseless = not word.isascii() and word.upper() == word.lower()  # of a script that has no plural in s
    if word.lower() in INVARIANT or stays(word.lower()) or caseless:
        many = word
    elif word.lower() == "id" or (word.isupper() and len(word) > 1) or plain_in_o(word.lower()):
        many = word + "s"
    elif word[-1:].isdigit() or not word[-1:].isalpha():
        many = word
    else:
        many = str(inflector().plural_noun(word)) or word + "s"
    return (f"{before} {many}" if before else many) + rest


@cache
def singular(phrase: str) -> str:
    """Singular of a plural noun phrase; a singular stays as it is."""
    if not is_plural(phrase):
        return phrase
    start, rest = head(phrase)
    before, _, word = start.rpartition(" ")
    one = inflector().singular_noun(word) or word
    return (f"{before} {one}" if before else str(one)) + rest


@cache
def article(phrase: str) -> str:
    """The phrase with "a" or "an"; a plural takes none."""
    if is_plural(phrase) or last_word(phrase).lower() in INVARIANT:
        return phrase
    return str(inflector().a(phrase)).replace("a ID", "an ID")


def number_word(value: int) -> str:
    """Small whole numbers as words, others in digits."""
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return names[value] if 0 <= value <= 10 else str(value)


@cache
def is_person(noun: str) -> bool:
    """Whether the noun takes "who"."""
    return singular(noun).lower().rsplit(" ", 1)[-1] in PEOPLE


def is_in(content: str, container: str) -> bool:
    """Whether rows of `content` are said to be in one of `container`: songs in a playlist, players in a team."""
    last = last_word(container).lower()
    return last in CONTAINERS and (last not in BODIES or is_person(content))


def be(phrase: str) -> str:
    """ "is" or "are"."""
    return "are" if is_plural(phrase) else "is"


@cache
def spelled(identifier: str) -> str:
    """An identifier's words, lower case: "StudentID_2" -> "student id 2"."""
    return " ".join(words_in(identifier)).lower() or identifier
