"""Conditions as the values that meet them, of those that the checks of a table allow.

Where `stars` is checked to be between 1 and 5, `stars >= 5` is `stars = 5`, where `paid` is checked to be 0 or 1,
`paid <> 0` is `paid = 1`, and where no row ends before it begins, `ends > begins` is `ends <> begins`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

from agro_data.databases.quoting import folded
from agro_data.databases.schema.checks import allows, constants_of, decided, order_in
from agro_data.databases.types import Dialect
from agro_data.profiling.profile import Kind
from agro_data.verify.proofs.facts import Known
from agro_data.verify.proofs.terms import (
    COMPARED,
    TRUE,
    Select,
    Term,
    columns_in,
    combined,
    conjuncts,
    mapped,
    queries_in,
    rebuilt,
)

_ORDERS: dict[str, frozenset[str]] = {
    "=": frozenset("="), "<>": frozenset("<>"), "<": frozenset("<"), "<=": frozenset("<="),
}  # fmt: skip
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{0,18})?|-?\.\d{1,18}")
_LIKES = (("fn", "Like"), ("fn", "ILike"))
_TURNED = {"<": ">", "=": "=", ">": "<"}
_NUMBERS_AS_TEXT = ("integer TEXT", "real TEXT")  # of SQLite, which compares them as texts: '50' is below '6'

Value = Fraction | str
Truth = Callable[[Value | None], bool | None]


class _NotAboutValues(Exception):
    """A condition with more in it than comparisons of its column with constants."""


@dataclass(frozen=True)
class _Cell:
    """Numbers that no constant parts: all from `low` to `high`, `closed`: these two as well. None: without end."""

    low: Fraction | None
    high: Fraction | None
    closed: bool
    sample: Fraction


def within_checks(select: Select, known: Known, fired: set[str]) -> Select:
    """The SELECT with its conditions on checked columns as the values that meet them, in WHERE, ON and CASE."""
    if not any(table.checks for table in known.schema.tables):
        return select

    def closer(terms: Iterable[Term]) -> tuple[Term, ...]:
        made: list[Term] = []
        said: dict[Term, list[Term]] = {}
        for term in terms:
            columns = columns_in((term,))
            if len(columns) == 1 and not any(True for _ in queries_in(term)):
                said.setdefault(next(iter(columns)), []).append(term)
            else:
                made += _ordered(term, known) or [term]
        for column, about in said.items():
            values = _values(about, column, known)
            made += about if values is None else values
        return conjuncts(made)

    def case(term: Term) -> Term | None:
        if term[:2] != ("fn", "If"):
            return None
        slots = dict(term[2])
        asked = slots["this"]
        when = closer(asked[1] if asked[0] == "and" else (asked,))
        slots |= {"this": combined("and", when) if when else TRUE, "true": rebuilt(slots["true"], case)}
        return (*term[:2], tuple(slots.items()))

    made = mapped(select, lambda term: rebuilt(term, case))
    sources = tuple(replace(source, on=closer(source.on)) for source in made.sources)
    made = replace(made, where=closer(made.where), sources=sources)
    if made != select:
        fired.add("check")
    return made


def _values(terms: Sequence[Term], column: Term, known: Known) -> list[Term] | None:
    """What terms about a column say together, in the one form that says it; None where they are left as they are."""
    spec, checks = known.declared(column), known.checks_of(column)
    if spec is None or not checks or spec.collation or known.kind(column) in _NUMBERS_AS_TEXT:
        return None
    try:
        meanings = [_meaning(term, column, known.dialect) for term in terms]
        constants = {value for term in terms for value in _constants(term, column)}
        constants |= {c if isinstance(c, str) else _fraction(str(c)) for check in checks for c in constants_of(check)}

        def may(value: Value) -> bool:
            plain = value if isinstance(value, str) else int(value) if value.denominator == 1 else float(value)
            return all(allows(check, {spec.name: plain}) for check in checks)

        def holds(value: Value | None) -> bool:
            return all(meaning(value) is True for meaning in meanings)

        found = _met(spec.kind, constants, may, holds, column)
        unknown = holds(None)
    except _NotAboutValues:
        return None
    if not found:
        return None  # not told, or no value meets it
    if unknown:
        return [] if found == [_known(column)] else [combined("or", [*found, ("isnull", column)])]
    return [combined("or", found)]


def _ordered(term: Term, known: Known) -> list[Term] | None:
    """A comparison of two columns of one row as the order that is left to it; None where it is left as it is."""
    one, other = term[1:] if term[0] in _ORDERS and len(term) == 3 else (term, term)
    two = one != other and one[0] == "col" and other[0] == "col" and one[1] == other[1]
    if not two or not known.interchangeable(one, other):
        return None
    may = {*"<=>"}
    for order in filter(None, map(order_in, known.checks_of(one, other))):
        first, _, signs = order
        may &= signs if folded(first) == one[2] else {_TURNED[sign] for sign in signs}
    met = frozenset(_ORDERS[term[0]] & may)
    if len(may) == len(_TURNED) or not met:
        return None
    if met == may:
        return [_known(one), _known(other)]
    low, high = (one, other) if ">" not in met else (other, one)
    word = next(word for word, signs in _ORDERS.items() if signs in (met, {_TURNED[sign] for sign in met}))
    return [(word, *(sorted((one, other), key=repr) if word in ("=", "<>") else (low, high)))]


def _met(
    kind: Kind, constants: set[Value], may: Callable[[Value], bool], holds: Truth, column: Term
) -> list[Term] | None:
    """Which values of a kind meet a condition, of those that there may be; None where it cannot be told."""
    numbers, texts = [c for c in constants if isinstance(c, Fraction)], [c for c in constants if isinstance(c, str)]
    if kind == "text" and not numbers and not may("".join(sorted(texts)) + "x"):  # no other text
        return _among(set(filter(may, texts)), holds, column)
    if kind in ("integer", "real", "boolean") and not texts:
        cells = _cells(sorted(numbers), whole=kind != "real")
        return _within([cell for cell in cells if may(cell.sample)], holds, column)
    return None


def _among(values: set[str], holds: Truth, column: Term) -> list[Term]:
    """The texts that meet a condition, where no others occur."""
    met = sorted(filter(holds, values))
    return [_known(column)] if len(met) == len(values) else [_is(column, ("lit", "text", value)) for value in met]


def _within(cells: Sequence[_Cell], holds: Truth, column: Term) -> list[Term]:
    """The ranges of numbers that meet a condition, where no others occur than those of `cells`."""
    runs = [list(run) for met, run in groupby(range(len(cells)), lambda place: holds(cells[place].sample)) if met]
    made: list[Term] = []
    for run in runs:
        first, last = cells[run[0]], cells[run[-1]]
        if len(run) == 1 and first.low is not None and first.low == first.high:
            made.append(_is(column, _number(first.low)))
            continue
        ends: list[Term] = []
        if run[0] > 0 and first.low is not None:
            ends.append(("<=" if first.closed else "<", _number(first.low), column))
        if run[-1] < len(cells) - 1 and last.high is not None:
            ends.append(("<=" if last.closed else "<", column, _number(last.high)))
        made.append(combined("and", ends) if ends else _known(column))
    return made


def _cells(points: Sequence[Fraction], *, whole: bool) -> list[_Cell]:
    """All numbers in their order, parted at `points`; of whole ones each range with the ends that it has."""
    if whole:
        steps = sorted({Fraction(end) for point in points for end in (math.floor(point), math.ceil(point))})
        if not steps:
            return [_Cell(None, None, True, Fraction(0))]
        gaps = [(low + 1, high - 1) for low, high in pairwise(steps) if high - low > 1]
        between = [_Cell(low, high, True, low) for low, high in sorted([*zip(steps, steps, strict=True), *gaps])]
        first, last = steps[0] - 1, steps[-1] + 1
        return [_Cell(None, first, True, first), *between, _Cell(last, None, True, last)]
    bounds: list[Fraction | None] = [None, *points, None]
    made: list[_Cell] = []
    for low, high in pairwise(bounds):
        if low is not None:
            made.append(_Cell(low, low, True, low))
        below, above = (high - 1 if high is not None else Fraction(0)), (low + 1 if low is not None else Fraction(0))
        sample = (low + high) / 2 if low is not None and high is not None else below if low is None else above
        made.append(_Cell(low, high, False, sample))
    return made


def _meaning(term: Term, column: Term, dialect: Dialect) -> Truth:
    """Whether a value of the column meets a condition."""
    word = term[0]
    if word in ("and", "or"):
        parts = [_meaning(part, column, dialect) for part in term[1]]
        return lambda value: decided([part(value) for part in parts], by=word == "or")
    if word == "not":
        inner = _meaning(term[1], column, dialect)
        return lambda value: None if (found := inner(value)) is None else not found
    if term[:2] in _LIKES:
        return _like(dict(term[2]), column, caseless=term[1] == "ILike" or dialect == "sqlite")
    if word == "isnull" and term[1] == column:
        return lambda value: value is None
    if term == column:
        return _is_true
    if word in COMPARED and column in term[1:]:
        compare, first = COMPARED[word], term[1] == column
        constant = next(_constants(term, column), None)
        if constant is None:  # it is compared with itself
            raise _NotAboutValues

        def meets(value: Value | None) -> bool | None:
            if value is None:
                return None
            if type(value) is not type(constant):
                raise _NotAboutValues
            return compare(value, constant) if first else compare(constant, value)

        return meets
    raise _NotAboutValues


def _like(slots: Mapping[str, Any], column: Term, *, caseless: bool) -> Truth:
    """Whether a text is like a pattern."""
    pattern = slots.get("expression", ())
    plain = {*slots} == {"this", "expression"} and slots["this"] == column and pattern[:2] == ("lit", "text")
    if not plain or "\\" in pattern[2]:
        raise _NotAboutValues
    form = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern[2])
    like = re.compile(form, re.DOTALL | (re.IGNORECASE | re.ASCII if caseless else 0))

    def meets(value: Value | None) -> bool | None:
        if isinstance(value, Fraction):
            raise _NotAboutValues
        return None if value is None else like.fullmatch(value) is not None

    return meets


def _is_true(value: Value | None) -> bool | None:
    """A number is true unless it is 0; a text is read as one, or refused."""
    if isinstance(value, str):
        raise _NotAboutValues
    return None if value is None else value != 0


def _constants(term: Term, column: Term) -> Iterator[Value]:
    """The constants with which a condition compares the column."""
    if term[0] in COMPARED:
        for side in term[1:]:
            if side[:2] == ("lit", "text"):
                yield str(side[2])
            elif side[:2] == ("lit", "number"):
                yield _fraction(str(side[2]))
            elif side != column:
                raise _NotAboutValues
    elif term[0] in ("and", "or"):
        for part in term[1]:
            yield from _constants(part, column)
    elif term[0] == "not":
        yield from _constants(term[1], column)


def _fraction(text: str) -> Fraction:
    """A number as it is written; not with an exponent, which may say one of a billion digits."""
    if _NUMBER.fullmatch(text) is None:
        raise _NotAboutValues
    return Fraction(text)


def _known(column: Term) -> Term:
    return ("not", ("isnull", column))


def _is(column: Term, constant: Term) -> Term:
    return ("=", *sorted((column, constant), key=repr))


def _number(value: Fraction) -> Term:
    return ("lit", "number", str(int(value)) if value.denominator == 1 else repr(float(value)))
