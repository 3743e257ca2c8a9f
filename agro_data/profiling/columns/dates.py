"""Dates as databases store them: which format a column of texts or numbers is written in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from agro_data.databases.types import Cell

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:\s*(?:Z|[+-][0-9]{2}:?[0-9]{2}|[ap]\.?m\.?))?"
_ISO_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"

# The first that fits every value of a column is its format. "iso" is what the engines' date functions read.
_TEXT_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("iso", rf"(?P<y>[0-9]{{4}})-(?P<m>[0-9]{{2}})-(?P<d>[0-9]{{2}})(?:[ T](?P<clock>{_ISO_CLOCK}))?"),
        (
            "iso-loose",
            rf"(?P<y>[0-9]{{4}})-(?P<m>[0-9]{{1,2}})-(?P<d>[0-9]{{1,2}})(?:[ T]+(?P<clock>{_CLOCK}))?",
        ),
        (
            "y/m/d",
            rf"(?P<y>[0-9]{{4}})[/.](?P<m>[0-9]{{1,2}})[/.](?P<d>[0-9]{{1,2}})(?:[ T]+(?P<clock>{_CLOCK}))?",
        ),
        (
            "m/d/y",
            rf"(?P<m>[0-9]{{1,2}})[/.-](?P<d>[0-9]{{1,2}})[/.-](?P<y>[0-9]{{4}}|[0-9]{{2}})(?: +(?P<clock>{_CLOCK}))?",
        ),
        (
            "d/m/y",
            rf"(?P<d>[0-9]{{1,2}})[/.-](?P<m>[0-9]{{1,2}})[/.-](?P<y>[0-9]{{4}}|[0-9]{{2}})(?: +(?P<clock>{_CLOCK}))?",
        ),
        (
            "month d, y",
            rf"{_MONTH} +(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? +(?P<y>[0-9]{{4}}))?(?:,? +(?P<clock>{_CLOCK}))?",
        ),
        (
            "d month y",
            rf"(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?[ -]+{_MONTH}"
            rf"(?:,?[ -]+(?P<y>[0-9]{{4}}|[0-9]{{2}}))?(?: +(?P<clock>{_CLOCK}))?",
        ),
        ("month y", rf"{_MONTH},?[ -]+(?P<y>[0-9]{{4}})"),
        ("y-m", r"(?P<y>[0-9]{4})[-/](?P<m>[0-9]{2})"),
        ("yyyymmdd", r"(?P<y>(?:18|19|20)[0-9]{2})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"),
    )
)
_TIME = re.compile(_CLOCK, re.IGNORECASE)
_YEAR_TEXT = re.compile(r"(1[5-9]|20)[0-9]{2}")


def date_format(values: Iterable[str]) -> tuple[str, bool]:
    """(format, has a time of day) of texts that are all dates of one format; ("", False) otherwise.

    "m/d/y" and "d/m/y" also stand for dots and hyphens; where every value fits both, "m/d/y" is given.
    """
    texts = [text.strip() for text in values]
    if not texts:
        return "", False
    for name, pattern in _TEXT_FORMATS:
        matches = []
        for text in texts:
            match = pattern.fullmatch(text)
            if match is None or not _sound(match):
                break
            matches.append(match)
        if len(matches) == len(texts):
            return name, any(match.groupdict().get("clock") for match in matches)
    return "", False


def _sound(match: re.Match[str]) -> bool:
    parts = match.groupdict()
    year, month, day = (int(parts.get(key) or 0) for key in ("y", "m", "d"))
    if match.re is _TEXT_FORMATS[0][1] and not 1 <= month <= 12:
        return False
    try:
        # A leap year stands in for a missing one; a missing month or day is the first.
        date(year if parts.get("y") and year > 99 else 2000, month or 1, day or 1)
    except ValueError:
        return False
    return not (("m" in parts and month == 0) or (parts.get("d") is not None and day == 0))


def all_times(values: Iterable[str]) -> bool:
    """Whether every text is a time of day such as "09:30" or "9:30 pm"."""
    texts = list(values)
    return bool(texts) and all(_TIME.fullmatch(text.strip()) for text in texts)


def all_year_texts(values: Iterable[str]) -> bool:
    """Whether every text is a four-digit year from 1500 to 2099."""
    texts = list(values)
    return bool(texts) and all(_YEAR_TEXT.fullmatch(text) for text in texts)


def all_years(values: Iterable[Cell]) -> bool:
    """Whether every value is a whole number that reads as a year from 1500 to 2100."""
    numbers = list(values)
    return bool(numbers) and all(
        isinstance(number, int | float) and 1500 <= number <= 2100 and number == int(number) for number in numbers
    )


def all_days(values: Iterable[Cell]) -> bool:
    """Whether every value is a day from 1900 to 2100 as a whole number, 20230417; 0 and 99991231 stand for none."""
    days = [value for value in values if value not in (0, 99991231)]
    return bool(days) and all(
        isinstance(value, int) and 19000101 <= value <= 21001231 and _is_day(value) for value in days
    )


def _is_day(number: int) -> bool:
    try:
        date(number // 10000, number // 100 % 100, number % 100)
    except ValueError:
        return False
    return True
