"""Is a number of the question that bounds something meant with or without itself, and does the SQL compare it so?

"At least 10" is `>= 10`, and `> 9` as well, which names another number: only one that both name is judged, and only
where both look the same way. "Not more than 10" and `EXCEPT ... > 10` look different ways, and may well agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.sql.comparisons import SIGNS, TURNED
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.sql.said import NUMBER_WORDS, SCALES, numbers_in

Comparison = type[exp.Binary]

_ODD = {"a", "an", "no", "none", "half", "quarter", "single", "pair", "both", "couple", "zeroth", "first", "second"}
_WORDS = "|".join(sorted(set(NUMBER_WORDS) - _ODD, key=len, reverse=True))
_SCALE = rf"(?:\s?%|\s(?:{'|'.join(scale for scale in SCALES if len(scale) > 2)})\b)"
_NUMBER = rf"(?P<number>\$?\d+(?:,\d{{3}})*(?:\.\d+)?{_SCALE}?|(?:{_WORDS})\b)"
_GREAT = r"(?:more|greater|higher|larger|bigger|older|longer|taller|heavier|faster|better|wider)"
_SMALL = r"(?:less|fewer|lower|smaller|younger|shorter|lighter|slower|cheaper)"
_NOT = r"(?:\bno|\bnot|n't)"
_AN = r"(?:the age of |age |an? (?:total|average|age|maximum|minimum|score|price) of )?"


def _equal(word: str) -> str:
    """Both orders of "greater than or equal to"."""
    return rf"\b(?:{word}(?: than)? or equals?(?: to)?|equals?(?: to)? or {word} than)"


_BEFORE: tuple[tuple[Comparison, str], ...] = (  # the first that fits
    (exp.GTE, rf"(?:\bat least|{_NOT} {_SMALL} than|{_equal(_GREAT)}|\bminimum of)"),
    (exp.LTE, rf"(?:\bat most|{_NOT} {_GREAT} than|{_equal(_SMALL)}|\bup to|\bmaximum of)"),
    (exp.GT, rf"\b(?:{_GREAT} than|over|above|exceed(?:s|ed|ing)?)"),
    (exp.LT, rf"\b(?:{_SMALL} than|under|below)"),
)
_AFTER: tuple[tuple[Comparison, str], ...] = (
    (exp.GTE, r"(?: \w+)? (?:or|and) (?:more|greater|higher|larger|above|over|older|longer)\b(?! than| \d)"),
    (exp.LTE, r"(?: \w+)? (?:or|and) (?:less|fewer|lower|smaller|below|under|younger|shorter)\b(?! than| \d)"),
)
_PHRASES = [
    *((kind, re.compile(rf"{words} {_AN}{_NUMBER}", re.IGNORECASE)) for kind, words in _BEFORE),
    *((kind, re.compile(rf"\b{_NUMBER}{words}", re.IGNORECASE)) for kind, words in _AFTER),
]
_OTHER: dict[Comparison, Comparison] = {exp.GT: exp.GTE, exp.GTE: exp.GT, exp.LT: exp.LTE, exp.LTE: exp.LT}


@dataclass(frozen=True)
class _Bound:
    """A phrase of the question with the comparison that it asks for, and the numbers that it may mean."""

    says: str
    kind: Comparison
    values: tuple[float, ...]


@dataclass(frozen=True)
class _Compared:
    """A comparison with a number, as if the number stood on its right; `other`: with the bound, if it is without it."""

    node: exp.Expr
    kind: Comparison
    other: Comparison  # as it is written
    number: float


def check_bounds(question: str, found: Resolution, dialect: Dialect) -> Iterator[Finding]:
    """Findings of one pair: bounds that the SQL compares with themselves where the question does not, or without."""
    bounds, compared = list(_bounds(question)), list(_compared(found))
    for bound in bounds:
        same = [one for one in compared if one.number in bound.values]
        alone = len(same) == 1 and not any(set(bound.values) & set(one.values) for one in bounds if one is not bound)
        if alone and same[0].kind is _OTHER[bound.kind]:
            node = same[0].node
            says = f"The question says {bound.says!r}, the SQL compares by {SIGNS[same[0].kind]}."
            right = same[0].other(this=node.this.copy(), expression=node.expression.copy())
            yield Finding("bound_differs", says, mended=rewritten(found, [(node, right)], dialect))


def _bounds(question: str) -> Iterator[_Bound]:
    taken: list[tuple[int, int]] = []
    for kind, pattern in _PHRASES:
        for match in pattern.finditer(question):
            where = match.span("number")
            if where not in taken:
                taken.append(where)
                with_it = kind in (exp.GT, exp.LT) and question.lower().startswith(" or equal", match.end())
                values = {value for said in numbers_in(match["number"]) for value in said.values}
                yield _Bound(match[0].strip(), _OTHER[kind] if with_it else kind, tuple(sorted(values)))


def _compared(found: Resolution) -> Iterator[_Compared]:
    for written, other in _OTHER.items():
        for node in found.tree.find_all(written):
            for side, kind in ((node.expression, written), (node.this, TURNED[written])):
                number = _number(side, found)
                if number is not None and node.find_ancestor(exp.Not) is None:
                    yield _Compared(node, kind, other, number)


def _number(node: exp.Expr, found: Resolution) -> float | None:
    value = value_of(node.unnest(), found)
    try:
        return None if value is None or isinstance(value, exp.Neg) else float(value.name)
    except ValueError:
        return None
