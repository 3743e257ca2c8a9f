"""Statistics of one column from its values: one pass, any mixture of types, no engine."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any

from agro_data.databases.files.number_texts import FEWEST_NUMBERS, MISSING, MOST_MARKERS, NUMBER
from agro_data.databases.types import Cell
from agro_data.profiling.columns.dates import all_days, all_times, all_year_texts, all_years, date_format
from agro_data.profiling.columns.forms import form_of
from agro_data.profiling.profile import Kind, is_zoned

UUID_FORM = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_COMMON = 50
_NESTED = re.compile(
    r"\]$|^(STRUCT|MAP|UNION|JSON|VARIANT|INTERVAL)\b", re.IGNORECASE
)  # declared types of lists and the like
_LONG_TEXT = 300  # longer values are no literals anybody types
_NUMBER = re.compile(NUMBER)
_SEPARATED = (  # the first that fits all numbers of a column says how they are written
    ("thousands separators", re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")),
    ("thousands separators", re.compile(r"[+-]?[1-9]\d{0,2}((['’ \u00a0\u202f]\d{3})+|(\.\d{3}){2,})")),
    ("a decimal comma", re.compile(r"[+-]?(0|[1-9]\d*|[1-9]\d{0,2}([.'’ \u00a0\u202f]\d{3})+)(,\d+)?")),
)
_PURE = 0.9  # share of texts among texts and undecodable bytes above which the column is still text


@dataclass(frozen=True)
class Statistics:
    """What the values of one column are. Counts of values themselves are not kept."""

    rows: int
    nulls: int
    distinct: int
    kind: Kind
    date_format: str = ""
    integral: bool = False
    years: bool = False  # numbers or texts that are all years
    days: bool = False  # whole numbers that are all days, as 20230417
    digits: bool = False  # texts that are all whole numbers
    structured: bool = False  # texts that are all objects or lists of JSON, blanks apart
    minimum: Cell = None
    maximum: Cell = None
    quantiles: tuple[Cell, ...] = ()
    common: tuple[tuple[Cell, int], ...] = ()  # up to 50, ties in the order in which the values were met
    mean_words: float = 0.0  # of texts
    mean_length: float = 0.0
    markers: tuple[str, ...] = ()  # what stands for a missing number in texts that are numbers else: "NA"
    separators: str = ""  # what more keeps the texts from being numbers: "a decimal comma", "thousands separators"
    form: str = ""  # of all texts, see `profiling.columns.forms`
    few: frozenset[str] = frozenset()  # the values as lower-case text when there are one or two

    @property
    def filled(self) -> int:
        return self.rows - self.nulls

    @property
    def null_share(self) -> float:
        return self.nulls / self.rows if self.rows else 0.0

    @property
    def unique(self) -> bool:
        return self.distinct > 0 and self.distinct == self.filled


def rounded(share: float) -> float:
    """`share` to four digits, where none at all stays told from hardly any."""
    return max(round(share, 4), 0.0001) if share > 0 else 0.0


def describe(values: Iterable[Cell], declared_type: str = "") -> Statistics:
    """Statistics of `values`. Where some are NaN or infinite, the column is no column of numbers (`_kind`)."""
    counts: Counter[Cell] = Counter(values)
    nulls = counts.pop(None, 0)
    rows = counts.total() + nulls
    _merge_nan(counts)
    kind = _kind(counts, declared_type)
    written, years = "", False
    if kind in ("text", "date", "datetime"):
        texts = [value for value in counts if isinstance(value, str)]
        written, clock = date_format(texts)
        if written == "iso-loose" and is_zoned(declared_type) and all(text.endswith("+00:00") for text in texts):
            written = "iso"  # moments as the engine shows them in UTC: its functions read them, and they sort by time
        if written:
            kind = "datetime" if clock else "date"
        elif all_times(texts):
            kind = "time"
        years = kind == "text" and all_year_texts(texts)
    elif kind in ("integer", "real"):
        years = all_years(counts)
    ordered = kind in ("integer", "real", "boolean") or written == "iso" or years
    finite = _sorted(counts) if ordered or kind in ("text", "time") else []
    words = [value for value in counts if isinstance(value, str)]
    markers, separators = _written_numbers(words) if kind == "text" else ((), "")
    formed = kind in ("text", "date", "datetime", "time") and written != "iso" and len(words) == len(counts)
    return Statistics(
        rows=rows,
        nulls=nulls,
        distinct=len(counts),
        kind=kind,
        date_format=written,
        integral=kind in ("integer", "boolean") or (kind == "real" and _whole(counts)),
        years=years,
        days=kind == "integer" and all_days(counts),
        digits=bool(words) and len(words) == len(counts) and all(map(_whole_text, words)),
        structured=_structured(words),
        minimum=finite[0] if finite else None,
        maximum=finite[-1] if finite else None,
        quantiles=_deciles(finite, counts) if ordered and finite else (),
        mean_words=sum(len(text.split()) for text in words) / len(words) if words else 0.0,
        mean_length=sum(map(len, words)) / len(words) if words else 0.0,
        common=_common(counts),
        markers=markers,
        separators=separators,
        form=form_of(words, kind) if formed else "",
        few=frozenset(map(_plain, counts)) if len(counts) <= 2 else frozenset(),
    )


def _common(counts: Counter[Cell]) -> tuple[tuple[Cell, int], ...]:
    sayable = (pair for pair in counts.most_common(4 * _COMMON) if _sayable(pair[0]))
    return tuple(islice(sayable, _COMMON))


def _plain(value: Cell) -> str:
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value).strip().lower()


def markers_among(values: Iterable[Cell]) -> tuple[str, ...] | None:
    """The texts, two at most, that say "missing" where all other values are numbers, none of them with a leading zero;
    None where the others are not, or too few.
    """
    known = list(values)
    other = [value for value in known if as_number(value) is None]
    return _markers(other, len(known) - len(other))


def _markers(other: Sequence[Cell], numbers: int) -> tuple[str, ...] | None:
    markers = [value for value in other if isinstance(value, str) and value.strip().lower() in MISSING]
    few = len(other) > MOST_MARKERS or numbers < FEWEST_NUMBERS
    return None if few or len(markers) < len(other) else tuple(sorted(markers))


def _written_numbers(texts: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """What keeps texts from being numbers: those that say "missing", and how the numbers are separated; ((), "") where
    nothing does, or more than that.
    """
    other = [text for text in texts if as_number(text) is None]
    markers = _markers(other, len(texts) - len(other))
    if markers is not None:
        return markers, ""
    for separators, form in _SEPARATED:
        rest = [text for text in other if not form.fullmatch(text.strip())]
        markers = _markers(rest, len(texts) - len(rest)) if len(rest) < len(other) else None
        if markers is not None:
            return markers, separators
    return (), ""


def as_number(value: Cell) -> float | None:
    """The number that a value is, also as a text; None for what is none, or a code with a leading zero."""
    if not isinstance(value, int | float) and not (isinstance(value, str) and _NUMBER.fullmatch(value.strip())):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _whole_text(text: str) -> bool:
    return text.strip().lstrip("+-").isdigit()


def _structured(texts: Iterable[str]) -> bool:
    known = [text for text in texts if text.strip()]
    return bool(known) and all(map(_is_json, known))


def _is_json(text: str) -> bool:
    """Whether a text is an object or a list of JSON; another value of JSON is a number or a text as any other."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _merge_nan(counts: Counter[Cell]) -> None:
    # NaN differs from itself, so each one is a key of its own.
    nans = [value for value in counts if isinstance(value, float) and math.isnan(value)]
    if len(nans) > 1:
        total = sum(counts.pop(value) for value in nans)
        counts[math.nan] = total


def _kind(counts: Counter[Cell], declared_type: str) -> Kind:
    types = Counter(type(value) for value in counts)
    if _NESTED.search(declared_type):
        return "other"  # its values are shown, but nobody writes one as a literal
    if not types:
        return declared_kind(declared_type)
    if set(types) <= {int, bool}:
        return "boolean" if declared_type.upper() in ("BOOLEAN", "BOOL") and set(counts) <= {0, 1} else "integer"
    if set(types) <= {int, float, bool}:
        # NaN stands for a missing value, but engines sort it above all numbers, and no sum survives it or infinity.
        return "real" if all(map(_finite, counts)) else "other"
    if types[str] >= _PURE * len(counts) and set(types) <= {str, bytes}:
        return "text"
    return "blob" if set(types) == {bytes} else "other"


def is_uuid(declared_type: str) -> bool:
    """Whether a declared type is UUID: in DuckDB values are `UUID_FORM` then, in SQLite any text."""
    return declared_type.upper() == "UUID"


def declared_kind(declared_type: str) -> Kind:
    """What a declared type promises; used only for columns without a value."""
    name = declared_type.upper()
    families: tuple[tuple[tuple[str, ...], Kind], ...] = (
        (("BOOL",), "boolean"),
        (("DATETIME", "TIMESTAMP"), "datetime"),
        (("DATE",), "date"),
        (("TIME",), "time"),
        (("CHAR", "TEXT", "CLOB", "STRING", "ENUM", "UUID"), "text"),
        (("INT", "SERIAL"), "integer"),
        (("REAL", "FLOA", "DOUB", "DEC", "NUM", "MONEY"), "real"),
        (("BLOB", "BINARY", "BYTE"), "blob"),
    )
    return next((kind for marks, kind in families if any(mark in name for mark in marks)), "other")


def _sorted(counts: Counter[Cell]) -> list[Cell]:
    values: list[Any] = [value for value in counts if _finite(value)]
    return sorted(values)


def _finite(value: Cell) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))


def _whole(counts: Counter[Cell]) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) and value == int(value) for value in counts)


def _deciles(ordered: list[Cell], counts: Counter[Cell]) -> tuple[Cell, ...]:
    """Nearest-rank quantiles at 0, 10, ..., 100 %: each is a value that occurs."""
    ends = list(accumulate(counts[value] for value in ordered))
    return tuple(ordered[bisect_left(ends, max(1, math.ceil(ends[-1] * tenth / 10)))] for tenth in range(11))


def _sayable(value: Cell) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, bytes) and not (isinstance(value, str) and len(value) > _LONG_TEXT)
