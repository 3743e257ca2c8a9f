"""Values as a question says them and as SQL writes them, in forms that can be compared.

Precision before recall: whatever may be another way to say the same (a code, a plural, a date in words, a share of a
hundred) counts as agreement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from sqlglot import exp

from agro_data.sql.names.resolution import Resolution, value_of

_WORD = re.compile(r"[^\W_]+")

_UNITS = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = _WORD.findall("twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = _WORD.findall(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
NUMBER_WORDS: dict[str, float] = {
    **{word: float(number) for number, word in enumerate(_UNITS)},
    **{word: float(10 * number) for number, word in enumerate(_TENS, 2)},
    **{word: float(number) for number, word in enumerate(_ORDINALS)},
    **{"once": 1.0, "twice": 2.0, "thrice": 3.0, "single": 1.0, "pair": 2.0, "both": 2.0, "double": 2.0, "dozen": 12.0},
    **{"half": 0.5, "quarter": 0.25, "couple": 2.0, "a": 1.0, "an": 1.0, "no": 0.0, "none": 0.0},
}
SCALES = {
    **{"hundred": 1e2, "hundreds": 1e2, "thousand": 1e3, "thousands": 1e3, "k": 1e3, "million": 1e6, "millions": 1e6},
    **{"m": 1e6, "billion": 1e9, "billions": 1e9, "b": 1e9, "bn": 1e9, "trillion": 1e12, "percent": 1e-2, "%": 1e-2},
}
WEEKDAYS = _WORD.findall("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _WORD.findall("January February March April May June July August September October November December")
_MONTHS = {name[:size].lower(): float(n) for n, name in enumerate(MONTHS, 1) for size in (3, len(name))} | {"sept": 9.0}

_NUMBER = re.compile(r"(?<![\w.])[-+]?\$?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s?(%|[a-zA-Z]+)?")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_GROUPED = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_DATE = re.compile(
    r"(?<!\d)(?:(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})|((?:18|19|20)\d\d)(0[1-9]|1[012])(0[1-9]|[12]\d|3[01]))(?!\d)"
)
_SEARCHES = (exp.StrPosition, exp.Contains, exp.StartsWith, exp.EndsWith, exp.RegexpLike)
# An apostrophe inside a word opens no quotation, and one that ends a word may be a plural's.
_QUOTED = re.compile(
    r"""(?<![\w"'])(?:"([^"]{1,80})"|'((?:[^']|'(?=\w)){1,80})')(?!\w)|“([^”]{1,80})”|‘([^’]{1,80})’"""
)


@dataclass(frozen=True)
class SqlValues:
    """What a statement holds: texts and numbers that it compares or computes with, LIMITs, and all digits and words."""

    texts: tuple[str, ...]  # without the wildcards of LIKE
    asked: tuple[str, ...]  # of these, what something is compared with: no labels, no formats of dates
    numbers: tuple[float, ...]  # not those of LIMIT and OFFSET
    compared: tuple[float, ...]  # of these, what stands in a comparison by itself, not in a computation
    limits: tuple[int, ...]
    digits: frozenset[str]  # runs of digits anywhere in it, names included, and the parts of dates
    words: frozenset[str]  # of names and texts


def values_in(found: Resolution, sql: str) -> SqlValues:
    """Literals of a resolved statement. SQLite's double-quoted tokens that name nothing are texts."""
    texts: list[str] = []
    asked: list[str] = []
    numbers: list[float] = []
    compared: list[float] = []
    limits: list[int] = []
    for node in found.tree.walk():
        value = value_of(node, found) if not isinstance(node, exp.Neg) else None
        if value is None:
            continue
        if value.is_string:
            bare = value.name.strip("%_ ") if isinstance(node.parent, (exp.Like, exp.ILike, exp.Glob)) else value.name
            texts.append(bare)
            asked += [bare] if _is_compared(node) else []
        elif isinstance(node.parent, (exp.Limit, exp.Offset)):
            if isfinite(limit := float(value.name)):  # an engine refuses 1e999
                limits.append(int(limit))
        elif not isinstance(node.parent, (exp.Ordered, exp.Group)):
            negative = isinstance(node.parent, exp.Neg)
            holder = node.parent.parent if negative and node.parent is not None else node.parent
            numbers.append(-float(value.name) if negative else float(value.name))
            if isinstance(holder, (exp.Predicate, exp.In)):
                compared.append(numbers[-1])
    runs = [*_DIGITS.findall(sql), *(run.replace(",", "") for run in _GROUPED.findall(sql)), *date_parts(sql)]
    digits = frozenset(run.lstrip("0") or "0" for run in runs)
    return SqlValues(
        tuple(texts),
        tuple(asked),
        tuple(numbers),
        tuple(compared),
        tuple(limits),
        digits,
        frozenset(words_of(sql)),
    )


def _is_compared(text: exp.Expr) -> bool:
    """Whether something is compared with a text, or with what a function makes of it. What a simple CASE maps from and
    to is a table of codes, and a text that begins with % in a function is a format.
    """
    inner, around, within = text, text.parent, False
    while isinstance(around, (exp.Paren, exp.DPipe, exp.Tuple, exp.Collate)) or (
        isinstance(around, exp.Func) and not isinstance(around, (exp.Predicate, exp.Case, exp.If, *_SEARCHES))
    ):
        if isinstance(around, exp.Func):
            given = around.expressions if isinstance(around, exp.Anonymous) else [around.this]
            if not given or given[0] is not inner:
                return False
            within = True
        inner, around = around, around.parent
    if within and text.name.startswith("%") and not isinstance(around, (exp.Like, exp.ILike)):
        return False
    return isinstance(around, (exp.Predicate, *_SEARCHES))


def date_parts(text: str) -> list[str]:
    """The years, months and days of dates in digits, as they are written: 05, 03 and 2022 of 05.03.2022."""
    return [part for match in _DATE.finditer(text) for part in match.groups() if part and part.isdigit()]


def plain(text: str) -> str:
    """Text without letter case, accents and punctuation, single-spaced."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(_WORD.findall("".join(c for c in folded if not unicodedata.combining(c))))


def words_of(text: str) -> list[str]:
    """Plain words, names split at humps and underscores; each also without a plural's ending."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text.replace("_", " "))
    found = plain(split).split()
    return found + [word[:-1] for word in found if word.endswith("s") and len(word) > 3]


def quoted_values(text: str) -> list[str]:
    """What stands in quotation marks."""
    found = (next(part for part in match.groups() if part is not None) for match in _QUOTED.finditer(text))
    return [value.strip(" .,?!") for value in found if value.strip(" .,?!%")]


@dataclass(frozen=True)
class Said:
    """A number in a text: as written, and the values it may stand for."""

    text: str
    values: tuple[float, ...]
    spelt: bool  # in words


def numbers_in(text: str) -> Iterator[Said]:
    """Numbers of a text in digits ("1,000", "50%", "2nd", "1980s", "3 million") and in words ("two", "third")."""
    for match in _NUMBER.finditer(text):
        number = float(match[1].replace(",", ""))
        unit = (match[2] or "").lower()
        values = [number]
        if unit in SCALES:
            values.append(number * SCALES[unit])
        yield Said(match[0].strip() if unit in SCALES else match[1], tuple(values), spelt=False)
    words = _WORD.findall(text.lower())
    for place, word in enumerate(words):
        if word not in NUMBER_WORDS:
            continue
        number, values = NUMBER_WORDS[word], [NUMBER_WORDS[word]]
        following = words[place + 1 : place + 3]
        if word in _TENS and following[:1] and following[0] in _UNITS[1:10]:
            values.append(number + NUMBER_WORDS[following[0]])
        for unit in following:
            if unit in SCALES:
                values += [value * SCALES[unit] for value in values]
        yield Said(word, tuple(values), spelt=True)
    for word in words:
        if word in _MONTHS:
            yield Said(word, (_MONTHS[word],), spelt=True)
