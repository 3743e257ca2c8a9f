"""How the texts of a column are read as what they are: numbers, also with separators, or dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from agro_data.databases.files.number_texts import FEWEST_NUMBERS, MISSING, MOST_MARKERS
from agro_data.databases.types import Cell, Dialect
from agro_data.pairs.values.written_dates import DATE, date_ways
from agro_data.profiling.columns.statistics import as_number, markers_among

_SPACES = "'’ \u00a0\u202f"
_SIGNS = "$€£¥%"  # of currencies, and of a share
_BEFORE, _AFTER = r"[+-]?(?:[$€£¥] ?)?", "(?: ?[$€£¥%])?"
_THOUSANDS = re.compile(rf"{_BEFORE}(0|[1-9]\d*|[1-9]\d{{0,2}}(,\d{{3}})+)(\.\d*)?{_AFTER}")
_COMMA = re.compile(rf"{_BEFORE}(0|[1-9]\d*|[1-9]\d{{0,2}}([.{_SPACES}]\d{{3}})+)(,\d+)?{_AFTER}")


class Reading(Protocol):
    """One way to read the texts of a column. `markers` are those for a missing value, `sums`: as numbers."""

    @property
    def markers(self) -> tuple[str, ...]: ...

    @property
    def sums(self) -> bool: ...

    def held(self, where: str) -> str:
        """What is kept as text in the column that is called so."""

    def read(self, column: exp.Expr) -> exp.Expr:
        """The column as what it is, NULL where it says that a value is missing."""

    def literal(self, text: exp.Expr) -> exp.Expr | None:
        """What a literal means that is compared with the column; None if it is no such value."""

    def value(self, cell: Cell) -> Cell:
        """What a cell of an answer is if it comes from the column."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers some or all of which are stored as texts, or that has texts for missing values."""

    markers: tuple[str, ...]
    texts: bool  # some number is a text
    whole: bool
    removed: str = ""  # what stands between thousands, and signs of currencies
    comma: bool = False  # before the fraction
    sums = True

    def held(self, where: str) -> str:
        markers = " and ".join(map(repr, self.markers))
        if not self.texts:
            return f"{markers} stands among the numbers of {where}"
        signs = " with a sign" if set(self.removed) & set(_SIGNS) else ""
        how = " with a decimal comma" if self.comma else signs or (" with thousands separators" if self.removed else "")
        return f"numbers{how} are kept as text in {where}{f', {markers} among them' if markers else ''}"

    def read(self, column: exp.Expr) -> exp.Expr:
        value = column.copy()
        for marker in self.markers:
            value = exp.Nullif(this=value, expression=exp.Literal.string(marker))
        for character in self.removed:
            value = exp.func("REPLACE", value, exp.Literal.string(character), exp.Literal.string(""))
        if self.comma:
            value = exp.func("REPLACE", value, exp.Literal.string(","), exp.Literal.string("."))
        return exp.cast(value, "BIGINT" if self.whole else "DOUBLE")

    def literal(self, text: exp.Expr) -> exp.Expr | None:
        if not text.is_string or as_number(text.name) is not None:
            return text  # the engine reads it
        number = self.value(text.name)
        return exp.Literal.number(f"{number:.15g}") if isinstance(number, int | float) else None

    def value(self, cell: Cell) -> Cell:
        if (
            not isinstance(cell, str)
            or not (self.removed or self.comma)
            or not _form(self.comma).fullmatch(cell.strip())
        ):
            return cell
        number = as_number(_bare(cell, self.removed, self.comma))
        return cell if number is None else number


def ways_to_read(values: Sequence[Cell], dialect: Dialect) -> tuple[Reading, ...]:
    """The ways to read the values of a column as numbers or dates, where some are texts; () if there is none."""
    if not any(isinstance(value, str) for value in values):
        return ()
    markers = markers_among(values)
    if markers is not None:
        numbers = [value for value in values if value not in markers]
        whole = all(number == int(number) for number in map(as_number, numbers) if number is not None)
        return (Numbers(markers, any(isinstance(value, str) for value in numbers), whole),)
    missing = tuple(sorted(value for value in values if isinstance(value, str) and value.strip().lower() in MISSING))
    texts = [value for value in values if isinstance(value, str) and value not in missing]
    few = len(missing) > MOST_MARKERS or len(texts) < FEWEST_NUMBERS
    if few or len(texts) + len(missing) < len(values):
        return ()
    separated = dict.fromkeys(_separated(texts, missing, comma) for comma in (False, True))
    return tuple(one for one in separated if one is not None) or date_ways(texts, missing, dialect)


def may_be_read(value: Cell) -> bool:
    """Whether a value may be one of those for which there are `ways_to_read`."""
    if as_number(value) is not None or not isinstance(value, str):
        return as_number(value) is not None
    text = value.strip()
    return any(_form(comma).fullmatch(text) for comma in (False, True)) or bool(DATE.fullmatch(text))


def _form(comma: bool) -> re.Pattern[str]:
    return _COMMA if comma else _THOUSANDS


def _separated(texts: Sequence[str], markers: tuple[str, ...], comma: bool) -> Numbers | None:
    """Numbers that are written with a decimal comma, or else with commas between thousands; and what has a sign."""
    if not all(_form(comma).fullmatch(text.strip()) for text in texts):
        return None
    between = f".{_SPACES}{_SIGNS}" if comma else f", {_SIGNS}"
    removed = "".join(c for c in between if any(c in text.strip() for text in texts))
    fractions = comma and any("," in text for text in texts)
    bare = [as_number(_bare(text, removed, fractions)) for text in texts]
    whole = all(number is not None and number == int(number) for number in bare) and not fractions
    return Numbers(markers, True, whole, removed, fractions) if all(n is not None for n in bare) else None


def _bare(text: str, removed: str, comma: bool) -> str:
    kept = "".join(c for c in text.strip() if c not in removed)
    return kept.replace(",", ".") if comma else kept
