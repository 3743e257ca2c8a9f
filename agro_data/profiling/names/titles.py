"""Names of columns that are titles, as people head their tables: "Area (km²)", "% within 18 weeks", "2019"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agro_data.profiling.names.units import in_brackets, is_sign
from agro_data.profiling.names.words import split_identifier

_BRACKETS = re.compile(r"(.*?\S)\s*[(\[]([^()\[\]]+)[)\]]")
_LEGEND = re.compile(r"(\w+)\s*=\s*([^=;,]*[^=;,\s])(?=\s*[;,]|\s+\w+\s*=|$)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WHOLE = re.compile(r"\d+(?:[-–.]\d+)+|[A-Z]+\d+\.\d+|[^\W\d_]{3,}/[^\W\d_]{3,}")  # "2011-2021", "PM2.5", "town/city"
_AROUND = ",;:.?!()[]"


@dataclass(frozen=True)
class Title:
    """What a title says: its words in small letters, the unit behind them or "", and meanings of codes."""

    words: list[str]
    unit: str = ""
    codes: tuple[tuple[str, str], ...] = ()


def title_of(name: str) -> Title | None:
    """What the name says if it is a title; None if it is an identifier, or says nothing else.

    >>> title_of("Area (km²)"), title_of("% of pupils")
    (Title(words=['area'], unit='km²', codes=()), Title(words=['percentage', 'of', 'pupils'], unit='', codes=()))
    >>> title_of("Severity (1=fatal 2=slight)")
    Title(words=['severity'], unit='', codes=(('1', 'fatal'), ('2', 'slight')))
    >>> title_of("2019"), title_of("area_km2")
    (Title(words=['2019', 'value'], unit='', codes=()), None)
    """
    name = name.strip()
    if _YEAR.fullmatch(name):
        return Title([name, "value"])
    bracketed = _BRACKETS.fullmatch(name)
    unit, codes = "", ()
    if bracketed:
        unit = in_brackets(split_identifier(bracketed[1]), bracketed[2])
        codes = tuple(_LEGEND.findall(bracketed[2])) if _LEGEND.match(bracketed[2]) else ()
        name = bracketed[1] if unit or codes else name
    elif " " not in name and not _WHOLE.fullmatch(name):
        return None
    elif is_sign(last := name.split()[-1]):
        unit, name = last, re.sub(r"(?: in)?\s+\S+$", "", name)
    of = ["percentage"] if name.startswith("%") else []
    words = [*of, *(word for token in name.split() for word in _words(token.strip(_AROUND)))]
    return Title(words, unit, codes) if words else None


def _words(token: str) -> list[str]:
    return [token.lower()] if _WHOLE.fullmatch(token) else split_identifier(token) if token else []
