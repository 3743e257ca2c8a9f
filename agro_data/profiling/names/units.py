"""Units in the names of columns: "length meters" is a length in meters, and 70 of it are "70 meters"."""

from __future__ import annotations

import re
from collections.abc import Set

from agro_data.profiling.names.words import TIGHT_PREPOSITIONS, is_adjective, word_set

_LENGTHS = word_set("meters metres feet ft inches km cm mm miles m") - {"m"}
_MONEY_UNITS = word_set("usd eur gbp dollars euros cents cent")
_OTHER_UNITS = word_set("kg mg lb lbs ml mph knots degrees mib hz khz mhz ghz dbm mah kwh") | _MONEY_UNITS
_WEIGHED = word_set("weight mass load payload fat protein sugar carbohydrates carbs fiber fibre salt")
_SPANS = word_set("length height width depth distance altitude elevation")
_TIMES = word_set("time duration length latency delay timeout runtime uptime downtime interval")
_TERMS = _TIMES | word_set("term terms period")
_STORED = word_set("size memory ram storage disk")
_UNITS_BEHIND = {
    "g": _WEIGHED, "m": _SPANS, "l": word_set("volume capacity"),
    **dict.fromkeys(("t", "tons", "tonnes"), _WEIGHED | word_set("capacity tonnage tare")),
    "s": _TIMES, "seconds": _TIMES, "minutes": _TIMES, "hours": _TIMES,
    "ms": _TIMES | word_set("timestamp epoch elapsed response"), "milliseconds": _TIMES,
    "days": _TERMS, "weeks": _TERMS, "months": _TERMS, "years": _TERMS,
    "bytes": _STORED, "kb": _STORED, "mb": _STORED, "gb": _STORED, "tb": _STORED,
}  # fmt: skip
_NO_UNIT_AFTER = TIGHT_PREPOSITIONS | word_set("total square number max min us")
_PER = re.compile(r" per (?:square )?\w+$")  # "cents per tonne", but no "cents per tonne of materials"
_BOUNDS = word_set("max maximum")
_SHORT = {"min": "minutes", "mins": "minutes", "sec": "seconds", "hr": "hours"}  # behind what takes time
_AREAS = word_set("area size surface space extent acreage footage land")
_WEIGHTS = word_set("kg mg lb lbs t tons tonnes")
_SCALES = word_set("thousand thousands million millions billion billions")
# What a length or a price may be said to be "in", by us or by a person.
_SAID = (
    _SCALES
    | _LENGTHS
    | _OTHER_UNITS
    | _UNITS_BEHIND.keys()
    | word_set("square cubic of yards pounds tons liters litres percent years months weeks days kib gib tib")
)
_SIGNS = frozenset("°²³µ£€$¥")  # that only units have
_PARTS = _SAID | word_set("h min day week month year person capita ha kw mw gwh mwh")  # of "kg/person"


def in_full(words: list[str], around: Set[str]) -> list[str]:
    """ "duration min" as "duration minutes", unless the words `around` it, of the table's other columns, have a "max"
    to which it is the least.
    """
    if len(words) < 2 or words[-1] not in _SHORT or words[-2] not in _TIMES or not around.isdisjoint(_BOUNDS):
        return words
    return [*words[:-1], _SHORT[words[-1]]]


def in_unit(words: list[str]) -> list[str]:
    """ "length meters" as "length in meters", "area km 2" as "area in square km", "weight g" as "weight in g".

    What the unit measures is said where nothing else says it: "net kg" is the net weight, "lot square feet" the area
    of a lot.
    """
    if "per" in words[2:-1]:  # "fee cents per tonne"
        place = words.index("per", 2)
        before = in_unit(words[:place])
        return [*before, *words[place:]] if "in" in before[1:-1] else words
    if len(words) > 2 and words[-1] == "2" and words[-2] in _LENGTHS:
        words = [*words[:-2], "square", words[-2]]
    if len(words) > 2 and words[-2] in ("million", "millions", "billion", "billions"):
        scale = words[-2] if words[-2].endswith("s") else words[-2] + "s"
        return [*words[:-2], "in", scale, "of", words[-1]] if words[-1] in _OTHER_UNITS else words
    if len(words) > 1 and words[-1] in ("million", "billion") and words[-2] != "in":
        return [*words[:-1], "in", words[-1] + "s"]
    if words[-2:] == ["in", "percentage"]:
        return [*words[:-1], "percent"]
    square = words[-2:-1] == ["square"]
    place = len(words) - (2 if square else 1)
    noun, unit = words[:place], words[place:]
    if square and noun and noun[-1] not in _AREAS | _NO_UNIT_AFTER:
        noun = [*noun, "area"]
    elif noun and unit[0] in _WEIGHTS and is_adjective(noun[-1]) and noun[-1] not in _WEIGHED | _NO_UNIT_AFTER:
        noun = [*noun, "weight"]
    return [*noun, "in", *unit] if noun and _measured(noun[-1], unit[-1]) else words


def _measured(noun: str, unit: str) -> bool:
    """Whether `unit` is one behind `noun`: a "g" or an "ms" is one only of what is weighed or takes time."""
    if noun in _UNITS_BEHIND.get(unit, ()):
        return True
    # "total miles" are many miles, and "total cents" are the total.
    unfit = noun in _NO_UNIT_AFTER and not (noun == "total" and unit in _MONEY_UNITS)
    return unit in _LENGTHS | _OTHER_UNITS and not unfit


def in_brackets(noun: list[str], text: str) -> str:
    """The unit that stands in brackets behind a noun, as it is said, or "".

    >>> in_brackets(["area"], "km²"), in_brackets(["change"], "%"), in_brackets(["wait"], "weeks")
    ('km²', 'percent', 'weeks')
    >>> in_brackets(["speed"], "km/h"), in_brackets(["charter", "school"], "Y/N"), in_brackets(["wins"], "in 2019")
    ('km/h', '', '')
    """
    text = text.strip()
    if text.lower() in ("%", "percent", "pct"):
        return "" if {"percent", "percentage", "pct"} & set(noun) else "percent"
    if len(text) == 1 and text.isalpha():
        return text if noun and _measured(noun[-1], text.lower()) else ""
    return text if _is_unit(text) or text.lower() in _PARTS else ""


def _is_unit(text: str) -> bool:
    parts = text.lower().split("/")
    whole = _PER.sub("", text.lower()).split(" ")
    return is_sign(text) or _SAID.issuperset(whole) or (len(parts) > 1 and _PARTS.issuperset(parts))


def is_sign(text: str) -> bool:
    """Whether a word can only be a unit: "km²", "µg/m³", "£"."""
    return " " not in text and not _SIGNS.isdisjoint(text)


def without_unit(phrase: str) -> tuple[str, str]:
    """A column's phrase and the unit behind it, or "": "length" and "meters", "value" and "million USD"."""
    before, _, unit = phrase.rpartition(" in ")
    if not before or not _is_unit(unit):
        return phrase, ""
    return before, re.sub(r"(thousand|million|billion)s?(?: of)?", r"\1", unit)
