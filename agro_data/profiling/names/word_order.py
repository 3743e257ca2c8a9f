"""The words of a column in the order in which people say them: "name last" is the last name."""

from __future__ import annotations

from agro_data.profiling.names.units import in_unit
from agro_data.profiling.names.words import (
    TIGHT_PREPOSITIONS,
    is_participle,
    noun_forms,
    past_participle,
    present_participle,
    singular_word,
    starts_with,
    word_set,
)

_MOMENTS = word_set("start end join birth death launch release entry exit opening closing arrival departure")
_DONE = {
    "arrived": "arrival",
    "built": "construction",
    "completed": "completion",
    "create": "creation",
    "expire": "expiry",
    "expires": "expiry",
    "created": "creation",
    "departed": "departure",
    "founded": "founding",
    "launched": "launch",
    "opened": "opening",
    "published": "publication",
    "register": "registration",
    "registered": "registration",
    "released": "release",
}  # what happened, as a noun
_WHEN = word_set("date time datetime year")
_PLACES = word_set("state city country place town county province region date year")
_SINCE = word_set("available due left")  # beside participles, what things are or do from a date on
_AMOUNT = {"audience": "size", "crowd": "size", "stock": "level"}  # of what nobody says "the number of audience"
_KINDS_OF_NAME = word_set("first last middle given full short long maiden family common official scientific")
_SIDES = word_set("home away winner loser source target from to old new first second buyer seller sender receiver")
_FLAG_ENDINGS = (["yes", "or", "no"], ["y", "n"], ["yn"], ["t", "f"], ["tf"], ["flag"], ["ind"], ["bool"])
_OF_AN_ID = word_set("number no type card code document proof photo name key status id")
_PLACED = word_set("on in off at")
_QUANTITIES = word_set("quantity amount count total value balance rate hours days units percentage weight")
_PERIODS = word_set("seconds minutes hours days nights weeks months years")
_AWAY = word_set("out off away late early open overdue left ahead")
_GENDER_ENDINGS = (["mf"], ["mfu"], ["m", "f"], ["m", "f", "u"])


def as_said(words: list[str], table: list[str]) -> list[str]:
    """The expanded words of a column of `table`, whose noun it is."""
    words = _happened(words, table)
    if len(words) == 2 and words[0] == "line" and words[1].isdigit() and table[-1:] == ["address"]:
        return ["address", *words]
    first = (_hyphenated, _key_last, _doer_first, _done_by, _kind_first)
    for rule in (*first, _gender, _count_noun, _days, _payment, in_unit, _moment):
        words = rule(words)
    return words


def _hyphenated(words: list[str]) -> list[str]:
    """ "on hand quantity" as "on-hand quantity": else it would be the quantity on something."""
    placed = len(words) > 2 and words[0] in _PLACED and not words[1].isdigit() and words[1] not in TIGHT_PREPOSITIONS
    return [f"{words[0]}-{words[1]}", *words[2:]] if placed and words[-1] in _QUANTITIES else words


def flag_last(words: list[str]) -> list[str]:
    """ "pets allowed yn" and "is pets allowed" as "pets allowed flag"."""
    for ending in _FLAG_ENDINGS:
        if len(words) > len(ending) and words[-len(ending) :] == ending:
            return [*words[: -len(ending)], "flag"]
    if len(words) > 1 and words[0] in ("is", "if"):
        return [*words[1:], "flag"]
    return words


def _happened(words: list[str], table: list[str]) -> list[str]:
    """ "date claim made" as "claim made date", of a claim as "date made"; "date became customer" as "joining date"."""
    if words[:2] == ["date", "became"]:
        return ["joining", "date"]
    if words[0] != "date" or len(words) < 3 or not TIGHT_PREPOSITIONS.isdisjoint(words):
        return words
    rest = _without_own(words[1:], table)
    if len(rest) < len(words) - 1 and (is_participle(rest[-1]) or rest[-1] in _SINCE):
        return ["date", *rest]  # also "date joined staff", "date product first available"
    return [*words[1:], "date"] if is_participle(words[-1]) else words


def _without_own(words: list[str], table: list[str]) -> list[str]:
    """The words without the noun of the table, or its end, before or behind them; never none."""
    for start in range(len(table)):
        noun = table[start:]
        if len(noun) < len(words) and starts_with(words, noun):
            return words[len(noun) :]
        if len(noun) < len(words) and starts_with(words[-len(noun) :], noun):
            return words[: -len(noun)]
    return words


def _kind_first(words: list[str]) -> list[str]:
    """ "name last" as "last name", "team id loser" as "loser team id"."""
    if len(words) == 2 and words[0] == "name" and words[1] in _KINDS_OF_NAME:
        return words[::-1]
    return [words[-1], *words[:-1]] if len(words) > 2 and words[-2] == "id" and words[-1] in _SIDES else words


def _key_last(words: list[str]) -> list[str]:
    """ "id client" as "client id": so names are built where adjectives follow their nouns."""
    turned = words[:1] == ["id"] and len(words) > 1 and words[1] not in TIGHT_PREPOSITIONS | _OF_AN_ID
    return [*words[1:], "id"] if turned and not words[1].isdigit() else words


def _doer_first(words: list[str]) -> list[str]:
    """ "destruction authorised by employee id" as "authorising employee id"."""
    by = words.index("by") if "by" in words[1:-2] else 0
    done = by and words[-1] == "id" and is_participle(words[by - 1])
    return [present_participle(words[by - 1]), *words[by + 1 :]] if done else words


def _done_by(words: list[str]) -> list[str]:
    """ "last update by" as "last updated by"."""
    return [*words[:-2], past_participle(words[-2]), "by"] if len(words) > 1 and words[-1] == "by" else words


def _days(words: list[str]) -> list[str]:
    """ "days out" as "number of days out"."""
    spent = len(words) == 2 and words[0] in _PERIODS and (words[1] in _AWAY or is_participle(words[1]))
    return ["number", "of", *words] if spent else words


def _gender(words: list[str]) -> list[str]:
    for ending in _GENDER_ENDINGS:
        if (
            len(words) > len(ending)
            and words[-len(ending) :] == ending
            and words[-len(ending) - 1] in ("gender", "sex")
        ):
            return words[: -len(ending)]
    return words


def _count_noun(words: list[str]) -> list[str]:
    """ "number deaths" and "count deaths" become "number of deaths"; "number in season" and "number" alone stay."""
    if words[:1] == ["count"] and len(words) > 1 and singular_word(words[-1]) != words[-1]:
        words = ["number", *words[1:]]
    if words[:1] != ["number"] or len(words) < 2 or words[1].isdigit():
        return words
    rest = words[2:] if words[1] == "of" else words[1:]
    if not rest or (words[1] != "of" and rest[0] in TIGHT_PREPOSITIONS):
        return words
    if rest[-1] in _AMOUNT and TIGHT_PREPOSITIONS.isdisjoint(rest):
        return [*rest, _AMOUNT[rest[-1]]]
    return ["number", "of", *noun_forms(rest)[1]]


def _payment(words: list[str]) -> list[str]:
    """ "amount payment" as "payment amount", "year join" as "join year", "launched year" as "launch year"."""
    if len(words) == 2 and words[0] == "born" and words[1] in _PLACES:  # "born state"
        return ["birth", words[1]]
    if words[:2] == ["date", "last"] and len(words) > 2:  # "date last hire"
        return [*words[1:], "date"]
    if len(words) == 2 and words[1] in _WHEN:
        return [_DONE.get(words[0], words[0]), words[1]]
    of = len(words) == 2 and words[0] in ("amount", "datetime") and words[1].endswith(("ment", "tion"))
    at = len(words) == 2 and words[0] in ("date", "time", "datetime", "year") and words[1] in _MOMENTS
    return words[::-1] if of or at else words


def _moment(words: list[str]) -> list[str]:
    """ "created at" as "created time", "sent on" as "sent date": what ends in a preposition has no plural.

    So with "date contact from" and "date contact to", the contact's start and end date.
    """
    ends, nouns = {"from": "start", "to": "end"}, {"at": "time", "on": "date"}
    if len(words) == 2 and words[0] in ends and words[1] in _WHEN:  # "from year"
        return [ends[words[0]], words[1]]
    if words[0] == "date" and words[-1] in ends:
        within = [word for word in words[1:-1] if word not in TIGHT_PREPOSITIONS]
        of = within[:-1] if within and is_participle(within[-1]) else within
        return [*of, ends[words[-1]], "date"]
    if len(words) > 2 and words[-1] in nouns and words[-2] == "in":  # "last sign in at"
        return [*words[:-1], nouns[words[-1]]]
    placed = len(words) == 2 and words[1] in nouns and words[0] not in ("located", "based", "held")
    return [_DONE.get(words[0], words[0]), nouns[words[1]]] if placed and is_participle(words[0]) else words
