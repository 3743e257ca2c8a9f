"""Columns of a CSV that are dates beside a word for what is missing ("n/a"), which makes them texts to the engine.

A column is read as dates only where every row is one or such a word, and its dates tell day and month apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agro_data.databases.files.csv_numbers import is_missing, names_of
from agro_data.databases.files.number_texts import MOST_MARKERS
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

_GLANCE = 2_000  # rows that show which columns may be dates
_FEWEST = 2
_ORDERS = ("%Y{0}%m{0}%d", "%d{0}%m{0}%Y", "%m{0}%d{0}%Y")
_DAYS = [order.format(mark) for mark in "-/." for order in _ORDERS]
_MOMENTS = [f"%Y-%m-%d{time}" for time in (" %H:%M:%S", " %H:%M", "T%H:%M:%S", " %H:%M:%S.%f")]
_PARTS = {"%Y": r"\d{4}", "%f": r"\d+", ".": "[.]"}  # of a format, as regular expressions; of others one or two digits
_ANY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{1,2}(:\d{1,2}([.]\d+)?)?)?"  # fits all that a format does


def dates_in(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> dict[str, str]:
    """The SQL that reads those `columns` of texts whose values are all dates or a word for what is missing, of which
    there is one at least; "" where day and month may be either. `rows` is a query."""
    found: dict[str, str] = {}
    for name in _likely(connection, rows, columns):
        fitting, words = _fitting(connection, rows, quoted(name))
        if fitting and 0 < words <= MOST_MARKERS:
            kind = "DATE" if fitting[0] in _DAYS else "TIMESTAMP"
            read = f"CAST({_date(quoted(name), fitting[0])} AS {kind})"
            found[name] = read if len(fitting) == 1 else ""
    return found


def remarks_on_dates(dates: Mapping[str, str]) -> list[str]:
    """What a person is told of these columns."""
    names = names_of(name for name, read in dates.items() if read)
    told = [f"a word for what is missing (as n/a) is NULL among the dates of {names}"] if names else []
    return told + [stays_text(name) for name, read in dates.items() if not read]


def stays_text(name: str) -> str:
    """What is told of a column of dates that may be read in two ways."""
    return f"column {name!r} stays text: its values do not tell day and month apart; write its dates as 2024-12-31"


def _likely(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> list[str]:
    """The columns whose first values may all be dates."""
    if not columns:
        return []
    fit = ", ".join(f"bool_and({_fits(quoted(name), _ANY)} OR {is_missing(quoted(name))})" for name in columns)
    row = connection.execute(f"SELECT {fit} FROM (SELECT * FROM ({rows}) LIMIT {_GLANCE})").fetchall()[0]
    return [name for name, likely in zip(columns, row, strict=True) if likely]


def _fitting(connection: duckdb.DuckDBPyConnection, rows: str, column: str) -> tuple[list[str], int]:
    """The formats in which all values of a column are dates, one of those that read all of them alike, and how many
    words for what is missing it has."""
    formats = [*_DAYS, *_MOMENTS]
    missing = is_missing(column)
    dates = [_date(column, form) for form in formats]
    counts = [
        f"count({column}) - count(*) FILTER (WHERE {missing})",
        f"count(DISTINCT {column}) FILTER (WHERE {missing})",
    ]
    counts += [f"count({date})" for date in dates] + [f"sum(hash({column}, {date}))" for date in dates]
    held, words, *found = connection.execute(f"SELECT {', '.join(counts)} FROM ({rows})").fetchall()[0]
    read: dict[object, str] = {}
    for form, count, way in zip(formats, found, found[len(formats) :], strict=False):
        if count == held >= _FEWEST:
            read.setdefault(way, form)
    return list(read.values()), words


def _date(column: str, form: str) -> str:
    """SQL of a text as the moment that it is in this format; NULL if it is none."""
    pattern = re.sub(r"%[a-zA-Z]|[.]", lambda part: _PARTS.get(part[0], r"\d{1,2}"), form)
    return f"CASE WHEN {_fits(column, pattern)} THEN try_strptime(trim({column}), {literal(form)}) END"


def _fits(column: str, form: str) -> str:
    return f"regexp_full_match(trim({column}), {literal(form)})"
