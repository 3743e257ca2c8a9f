"""Literals as a person says them. A text value stands verbatim unless it is a code whose meaning is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from agro_data.intent.questions.habits import BARE_NAME, BARE_NUMBER, BARE_WORD
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Value
from agro_data.profiling.profile import ColumnProfile
from agro_data.sql.said import MONTHS

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_IN_UTC = re.compile(rf"({_ISO_DATE.pattern}) (\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?)\+00(?::00)?")  # as DuckDB writes it
_LETTER = r"[^\W\d_]"
_PROPER = re.compile(rf"[A-Z](?:{_LETTER}|['’.-])*{_LETTER}(?: (?:[A-Z](?:{_LETTER}|['’-])*|de|la|van|von))*")
_DIGITS = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?")
_WORD = re.compile(r"[a-z]{4,}|[A-Z]{2,6}|[A-Z]{1,4}-?\d{1,5}")
_UNIT_NAMES = {"ms": "millisecond", "kg": "kilogram", "km": "kilomet", "$": "dollar", "mi": "mile", "s": "second",
               "min": "minute", "%": "percent", "USD": "dollar"}  # fmt: skip
_GRAMMAR = frozenset((
    "above", "after", "all", "among", "and", "any", "are", "been", "before", "below", "between", "both", "by",
    "during", "each", "either", "every", "false", "fewer", "from", "have", "highest", "into", "least", "less", "like",
    "lowest", "many", "more", "most", "none", "not", "null", "only", "other", "over", "same", "since", "some", "than",
    "that", "their", "true", "under", "until", "what", "when", "where", "which", "with", "within", "without", "yes",
))  # fmt: skip
_UNSAFE = frozenset({"And", "Or", "Not", "The", "In", "Of", "With", "By", "All", "Any", "None", "Other", "No", "Yes"})


def say_number(value: int | float) -> str:
    """Digits as stored; a whole float without its ".0"."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def say_value(value: Value, column: ColumnProfile | None, voice: Voice) -> str:
    """The literal in the question. Codes are said by meaning and noted as evidence."""
    raw = value.value
    if raw is None:
        return "unknown"
    if isinstance(raw, bool):
        return "true" if raw else "false"
    meaning = _meaning(raw, column, voice)
    if meaning is not None:
        return meaning
    if column is not None and column.kind == "boolean":
        return "true" if raw else "false"  # DuckDB's own kind, held as 0 and 1
    if isinstance(raw, (int, float)):
        return _with_unit(say_number(raw), column)
    if column is not None and column.kind in ("date", "datetime", "text") and column.role == "date":
        if not column.is_zoned:
            return _say_date(raw, voice)
        moment = _IN_UTC.fullmatch(raw)
        return f"{_say_date(moment[1], voice)} at {moment[2]} UTC" if moment else f"{_say_date(raw, voice)} (UTC)"
    return raw if voice.chance(_bare_rate(raw, column)) else quoted(raw, voice)


def say_values(values: Sequence[Value], column: ColumnProfile | None, voice: Voice) -> list[str]:
    """Literals that stand beside each other: in quotation marks all of them, or none."""
    said = [say_value(value, column, voice) for value in values]
    raws = [value.value if isinstance(value.value, str) else "" for value in values]
    marks = [bool(raw) and text == quoted(raw, voice) for raw, text in zip(raws, said, strict=True)]
    if not any(marks):
        return said
    return [quoted(raw, voice) if text == raw else text for raw, text in zip(raws, said, strict=True)]


def quoted(text: str, voice: Voice) -> str:
    """The text in the voice's quotation marks, or in the others where it holds those itself."""
    mark = voice.quote
    if mark in text:
        mark = "'" if mark == '"' else '"'
    return f"{mark}{text}{mark}"


def _bare_rate(text: str, column: ColumnProfile | None) -> float:
    """How often the text stands without quotation marks: names and numbers often, single words and codes less.

    A year always does; what could be read as words of the question never.
    """
    if _DIGITS.fullmatch(text) is not None:
        return 1.0 if column is not None and column.role == "year" else BARE_NUMBER
    if not needs_quotes(text):
        return BARE_NAME
    return BARE_WORD if _WORD.fullmatch(text) is not None and text.lower() not in _GRAMMAR else 0.0


def needs_quotes(text: str) -> bool:
    """Only a proper name of letters reads as a value without quotes."""
    return _PROPER.fullmatch(text) is None or len(text) < 3 or not _UNSAFE.isdisjoint(text.split(" "))


def _meaning(raw: int | float | str, column: ColumnProfile | None, voice: Voice) -> str | None:
    if column is None or not column.codes:
        return None
    text = raw if isinstance(raw, str) else say_number(raw)
    for code, meaning in column.codes:
        if code == text:
            if code != meaning:
                voice.note(f"{column.phrase} '{code}' means {meaning}")
            same = [c for c, m in column.codes if m.lower() == meaning.lower()]
            return f"{meaning} ({code})" if len(same) > 1 else meaning
    return None


def _with_unit(number: str, column: ColumnProfile | None) -> str:
    unit = column.unit.strip() if column is not None else ""
    if column is None or not unit or _says(column.phrase.lower(), unit):
        return number
    if unit in ("$", "€", "£"):
        return f"{unit}{number}"
    return f"{number}%" if unit in ("%", "percent") else f"{number} {unit}"


def _says(phrase: str, unit: str) -> bool:
    """Whether the column's phrase names its unit, so that the value need not."""
    named = " in " in phrase or " per " in phrase or unit.lower() in phrase
    return named or _UNIT_NAMES.get(unit, unit.lower()) in phrase


def _say_date(text: str, voice: Voice) -> str:
    if _ISO_DATE.fullmatch(text) is None or not voice.months:
        return text if re.fullmatch(r"[\d :.T/-]+", text) else quoted(text, voice)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"
