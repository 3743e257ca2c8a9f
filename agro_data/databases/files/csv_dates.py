"""Columns of a CSV that are dates: how they are written, where their values tell day and month apart.

DuckDB's sniffer reads `01/02/2024` by the first format that fits; such dates stay texts here. To the engine a word for
what is missing ("n/a") makes dates texts: here they are dates where every row is one or such a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from agro_data.databases.files.csv_numbers import is_missing, names_of
from agro_data.databases.files.number_texts import MOST_MARKERS
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

    from agro_data.databases.files.csv_sniffing import Written

_GLANCE = 2_000  # rows that show which columns may be dates
_FEWEST = 2
_FORMATS = {"dateformat": "DATE", "timestampformat": "TIMESTAMP"}  # and the types of columns that are written so
_DAY = re.compile(r"%[dmyY]")
_ORDERS = ("%Y{0}%m{0}%d", "%d{0}%m{0}%Y", "%m{0}%d{0}%Y")
_DAYS = [order.format(mark) for mark in "-/." for order in _ORDERS]
_MOMENTS = [f"%Y-%m-%d{time}" for time in (" %H:%M:%S", " %H:%M", "T%H:%M:%S", " %H:%M:%S.%f")]
_PARTS = {"%Y": r"\d{4}", "%f": r"\d+", ".": "[.]"}  # of a format, as regular expressions; of others one or two digits
_ANY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{1,2}(:\d{1,2}([.]\d+)?)?)?"  # fits all that a format does


def date_formats(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[Written], as_texts: Callable[[Sequence[str]], str]
) -> tuple[list[str], dict[str, str]]:
    """Columns whose dates leave day and month open, and the formats of the columns whose dates do not.

    All columns of a kind are written in one format, which must be the only one that fits every value. `as_texts` reads
    the rows with some columns as texts.
    """
    texts: list[str] = []
    formats: dict[str, str] = {}
    for name, kind in _FORMATS.items():
        found = list(dict.fromkeys(part.marks[name] for part in parts if name in part.marks))
        columns = [
            *dict.fromkeys(
                column for part in parts if name in part.marks for column, held in part.columns.items() if held == kind
            )
        ]
        tried = list(dict.fromkeys(other for each in found for other in (each, *_other_orders(each))))
        if not columns or len(tried) < 2:
            continue
        fitting = _fitting(connection, as_texts(columns), columns, tried, _parsed)
        if len(fitting) == 1:
            formats[name] = fitting[0]
        else:
            texts += columns
    return texts, formats


def dates_in(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> dict[str, str]:
    """The SQL that reads those `columns` of texts whose values are all dates or a word for what is missing, of which
    there is one at least; "" where day and month may be either. `rows` is a query."""
    found: dict[str, str] = {}
    for name in _likely(connection, rows, columns):
        missing = f"FILTER (WHERE {is_missing(quoted(name))})"
        counts = f"count({quoted(name)}) - count(*) {missing}, count(DISTINCT {quoted(name)}) {missing}"
        ((held, words),) = connection.execute(f"SELECT {counts} FROM ({rows})").fetchall()
        if held < _FEWEST or not 0 < words <= MOST_MARKERS:
            continue
        held_rows = f"SELECT * FROM ({rows}) WHERE NOT {is_missing(quoted(name))}"
        if fitting := _fitting(connection, held_rows, [name], [*_DAYS, *_MOMENTS], _date):
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


def _other_orders(form: str) -> list[str]:
    """Formats with the day, month and year of this one in another order; none where the year has four digits and is
    the first."""
    order = _DAY.findall(form)
    if sorted(order) not in (["%Y", "%d", "%m"], ["%d", "%m", "%y"]) or order[0] == "%Y":
        return []
    year = next(part for part in order if part in ("%y", "%Y"))
    orders = [["%d", "%m", year], ["%m", "%d", year], *([[year, "%m", "%d"]] if year == "%y" else [])]
    return [_DAY.sub("{}", form).format(*other) for other in orders if other != order]


def _likely(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> list[str]:
    """The columns whose first values may all be dates."""
    if not columns:
        return []
    fit = ", ".join(f"bool_and({_fits(quoted(name), _ANY)} OR {is_missing(quoted(name))})" for name in columns)
    row = connection.execute(f"SELECT {fit} FROM (SELECT * FROM ({rows}) LIMIT {_GLANCE})").fetchall()[0]
    return [name for name, likely in zip(columns, row, strict=True) if likely]


def _fitting(
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    columns: Sequence[str],
    formats: Sequence[str],
    date: Callable[[str, str], str],
) -> list[str]:
    """The formats that every value of the columns fits, one of those that read all of them alike. `date` is the SQL of
    a text in a format."""
    cells = [(quoted(name), date(quoted(name), form)) for form in formats for name in columns]
    fits = ", ".join(f"bool_and({cell} IS NULL OR {read} IS NOT NULL)" for cell, read in cells)
    sums = ", ".join(f"sum(hash({cell}, {read}))" for cell, read in cells)
    row = connection.execute(f"SELECT {fits}, {sums} FROM ({rows})").fetchall()[0]
    alike: dict[tuple[object, ...], str] = {}
    for at, form in enumerate(formats):
        place = slice(at * len(columns), (at + 1) * len(columns))
        if all(held is not False for held in row[: len(cells)][place]):
            alike.setdefault(row[len(cells) :][place], form)
    return list(alike.values())


def _parsed(column: str, form: str) -> str:
    return f"try_strptime({column}, {literal(form)})"


def _date(column: str, form: str) -> str:
    """SQL of a text as the moment that it is in this format; NULL if it is none."""
    pattern = re.sub(r"%[a-zA-Z]|[.]", lambda part: _PARTS.get(part[0], r"\d{1,2}"), form)
    return f"CASE WHEN {_fits(column, pattern)} THEN {_parsed(f'trim({column})', form)} END"


def _fits(column: str, form: str) -> str:
    return f"regexp_full_match(trim({column}), {literal(form)})"
