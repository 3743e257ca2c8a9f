"""Phrases that depend on what a column holds: "killed" that is a number is "number killed"."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import replace

from agro_data.profiling.names.words import is_participle, lexicon, noun_forms, singular_word
from agro_data.profiling.profile import ColumnProfile

_NOUNS = {
    "directed by": "director",
    "written by": "writer",
    "created by": "creator",
    "created at": "creation time",
    "updated at": "update time",
    "made by": "maker",
    "reports to": "supervisor",
    "approved by": "approver",
    "based in": "base",
    "born in": "birthplace",
    "composed by": "composer",
    "designed by": "designer",
    "edited by": "editor",
    "eliminated by": "eliminator",
    "incorporated in": "place of incorporation",
    "located in": "location",
    "managed by": "manager",
    "manufactured by": "manufacturer",
    "owned by": "owner",
    "produced by": "producer",
    "published by": "publisher",
    "sold by": "seller",
    "taught by": "teacher",
    "valid from": "start of validity",
    "valid to": "end of validity",
    "valid until": "end of validity",
    "dbt valid from": "start of validity",
    "dbt valid to": "end of validity",
    "effective from": "effective start",
    "effective to": "effective end",
    "expires at": "expiry time",
    "expires on": "expiry date",
}
_WHEN = {"at": "time", "on": "date"}
_ENDS = {"from": ("origin", "start", "lower end"), "to": ("destination", "end", "upper end")}
_MANY = re.compile(r"[0-9]|(?:a )?(?:hundred|thousand|million|billion)\b")
_SPANS = {"since": "start", "until": "end", "till": "end"}
_TURNS = {"from": "previous", "to": "new"}  # of what one thing has after another
_CHANGES = frozenset(["status", "stage", "phase", "state", "step", "level", "grade", "tier", "plan", "value"])
_NO_PLACES = frozenset(["do", "be", "go", "have", "who", "whom", "which", "now", "scratch"])  # "to do"
_DATED = frozenset(["creation", "launch", "opening", "debut", "founding", "release"])
_NO_NAMES = {"address": "street"} | dict.fromkeys(
    ("answer", "comment", "message", "note", "post", "question", "quote", "review", "tweet"), "text"
)
_PAID = frozenset(["bonus", "budget", "cost", "fee", "income", "payment", "price", "revenue", "salary", "wage"])
_WITHIN = frozenset(["part", "child", "member", "component", "piece", "subset"])
_DOING = frozenset(
    ["coaching", "driving", "living", "playing", "practicing", "serving", "teaching", "training", "working"]
)
_READ = frozenset(["measured", "observed", "recorded", "reported", "expected", "estimated", "predicted"])
_AXES = frozenset(["x", "y", "z"])
_KEYED = frozenset(["id", "code", "number", "key"])
_STRONG = frozenset(["built", "won", "lost", "sold", "born", "left", "spent"])


def with_role(
    columns: Sequence[ColumnProfile], singular: str, keys: Set[str] = frozenset()
) -> tuple[ColumnProfile, ...]:
    """The columns, phrases that are no nouns made into nouns where that makes no two equal.

    Numbers of columns in `keys`, which refer to rows, are said to be IDs: a "supervisor ID" of 1.
    """
    taken = {column.phrase for column in columns}
    result: list[ColumnProfile] = []
    for column in columns:
        phrase = column.phrase if column.named else _beside(column, taken) or _noun(column, singular)
        if column.name in keys and phrase.endswith(" of") and not column.named:  # "reversal of", "part of"
            phrase = "parent" if phrase.split()[0] in _WITHIN else "original"
        if column.name in keys and column.role == "identifier" and column.kind == "integer" and not column.named:
            phrase = phrase if phrase.rsplit(" ", 1)[-1].lower() in _KEYED else f"{phrase} ID"
        if phrase != column.phrase and phrase not in taken:
            taken.add(phrase)
            column = replace(column, phrase=phrase)  # noqa: PLW2901
        result.append(column)
    return tuple(result)


def _beside(column: ColumnProfile, others: set[str]) -> str:
    """What a column is called to tell it from others: "engines" beside "engine", whose plural would be the same."""
    phrase = column.phrase
    if phrase == "day" and "month" in others:
        return "day of the month"
    if phrase.lower() in _AXES and column.role == "measure" and {"x", "y"} <= {other.lower() for other in others}:
        return f"{phrase} coordinate"
    single = " ".join(noun_forms(phrase.split())[0])
    if single == phrase or single not in others:
        return ""
    if column.role != "measure":
        return f"list of {phrase}"
    return f"total {phrase}" if column.kind == "real" else f"number of {phrase}"


def _noun(column: ColumnProfile, singular: str) -> str:
    phrase = column.phrase
    if phrase in _NOUNS:
        return _NOUNS[phrase]
    done_by = re.fullmatch(r"(?:last )?(?:updated|modified|changed|edited) by", phrase)
    if done_by is not None:
        return "last editor" if phrase.startswith("last ") else "editor"
    what, _, each = phrase.rpartition(" per ")
    if what and not _MANY.match(each):  # "price per square meters"
        return f"{what} per {' '.join(noun_forms(each.split())[0])}"
    if phrase in _SPANS and column.role in ("date", "year"):
        return f"{_SPANS[phrase]} {column.role}"
    if phrase in ("check in", "check out") and column.role == "date":
        return f"{phrase.replace(' ', '-')} date"
    if phrase == "number" and column.role in ("identifier", "category", "text") and singular:
        return f"{singular} number"  # "return the number" would ask how many there are
    if phrase.startswith("number of ") and column.role in ("identifier", "category") and column.kind == "integer":
        return f"{' '.join(noun_forms(phrase.split()[2:])[0])} number"  # "no_ligne" of a key: which, not how many
    first, _, last = phrase.rpartition(" ")
    if first and last in _WHEN and column.role == "date":  # "placed at", "starts on"
        return f"{singular_word(first)} {_WHEN[last]}"
    if phrase in _ENDS:
        place, moment, bound = _ENDS[phrase]
        sort = "time" if column.kind == "time" else column.role
        return f"{moment} {sort}" if sort in ("date", "year", "time") else bound if sort == "measure" else place
    end, _, what = phrase.partition(" ")
    noun = what.split(" ")[0]
    placed = bool(noun) and noun not in _NO_PLACES and column.role in ("identifier", "category", "text")
    if placed and end in _ENDS:  # what "has to status 5"?
        return f"{_TURNS[end] if noun in _CHANGES else _ENDS[end][0]} {what}"
    if column.role == "date" and last == "exp":
        return f"{first} expiry date"
    if phrase == singular and column.role == "text" and column.kind == "text":
        return _NO_NAMES.get(phrase, "name")  # "the city of a city" is its name
    if phrase == singular and column.role == "category" and first:
        return last  # no "allergy type with the most allergy types"
    if phrase == singular and column.role == "measure":
        return "amount" if phrase in _PAID else "value"  # "the salary of a salary"
    if column.role == "year" and phrase in ("year ID", "year key"):
        return "year"
    if phrase == singular and column.role == "identifier" and column.kind in ("integer", "real"):
        return f"{phrase} number"
    if column.role == "year" and phrase in _DATED:
        return f"{phrase} year"
    before, _, end = first.rpartition(" ")
    if (
        before and end in _ENDS and last in ("date", "year") and column.role == last
    ):  # "active to date", no "year to date"
        return f"{before} {_ENDS[end][1]} {last}"
    if first in ("year", "years") and last in _DOING and column.role == "measure":
        return f"number of years {last}"
    if column.role == "measure" and any(phrase.lower() in series.values() for series in lexicon().series):
        return f"{phrase} value"  # of a table with a column for each month
    if phrase == "spent" and column.role == "measure":
        return "amount spent"
    if " " in phrase or not (is_participle(phrase) or phrase in _STRONG):
        return phrase
    if column.role == "year":
        return f"year {phrase}"
    if column.role == "date":
        return f"date {phrase}"
    if column.role != "measure":
        return phrase
    return f"number {phrase}" if column.integral else f"{phrase} value" if phrase in _READ else f"amount {phrase}"
