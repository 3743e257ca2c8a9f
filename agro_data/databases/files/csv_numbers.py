"""Columns of a CSV that are texts to the engine and numbers to who wrote them: beside a word for what is missing ("NA",
as R writes it), with a decimal comma (1.234,50), or with separators between thousands (1,234.50).

A column is read as numbers only where every row is one, and some row leaves no doubt how they are written: 1,234 alone
could be either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agro_data.databases.files.number_texts import FEWEST_NUMBERS, MISSING, MOST_MARKERS, NUMBER, WHOLE
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

_GLANCE = 2_000  # rows that show which columns may be numbers
_LIKE = r"[+-]?[\d.][\d.,'’\x{a0}\x{202f}]*([eE][+-]?\d+)?"  # what any of the forms looks like


class _Form(NamedTuple):
    """A way to write numbers; all but `said` and `plain` are regular expressions that fit a whole value."""

    said: str  # "" for the way of SQL
    number: str
    whole: str
    certain: str  # can be a number in this form alone
    plain: str  # a text as SQL writes the number, in SQL


def _separated(said: str, thousands: str, decimal: str, certain: str) -> _Form:
    whole = rf"[+-]?(0|[1-9]\d*|[1-9]\d{{0,2}}([{thousands}'’\x{{a0}}\x{{202f}}]\d{{3}})+)"
    plain = f"replace(regexp_replace({{}}, {literal(f'[^-+0-9{decimal}]')}, '', 'g'), {literal(decimal)}, '.')"
    return _Form(said, rf"{whole}(\{decimal}\d+)?", whole, certain, plain)


_PLAIN = _Form("", NUMBER, WHOLE, r".*", "{}")
_THOUSANDS = _separated("thousands separators", ",", ".", r".*(,\d{3}[,.]\d+|['’\x{a0}\x{202f}]\d+([.]\d+)?)")
_DOTS_AND_COMMA = r".*[.'’\x{a0}\x{202f}]\d{3},\d+|.*[.]\d{3}[.]\d+"
_COMMA = _separated("a decimal comma", ".", ",", rf"{_DOTS_AND_COMMA}|.*,(\d{{1,2}}|\d{{4,}})|[+-]?0,\d+")
# Where commas part cells, "1,5" could be two values.
_COMMA_IN_QUOTES = _COMMA._replace(certain=_DOTS_AND_COMMA)


class Numbers(NamedTuple):
    """How a column of texts is read as numbers."""

    read: str  # SQL
    missing: bool  # whether a word for what is missing stands among them
    separators: str


def numbers_in(
    connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str], delimiter: str
) -> dict[str, Numbers]:
    """Those `columns` of texts whose values are all numbers or a word for what is missing; `rows` is a query."""
    likely = _likely(connection, rows, columns)
    forms = [_PLAIN, _THOUSANDS, _COMMA_IN_QUOTES if delimiter == "," else _COMMA]
    found: dict[str, Numbers] = {}
    for name, (held, missing, words, *counts) in _counted(connection, rows, likely, forms).items():
        for place, form in enumerate(forms):
            numbers, whole, certain = counts[place * 3 : place * 3 + 3]
            told = words > 0 if form is _PLAIN else certain > 0
            if held == numbers + missing and numbers >= FEWEST_NUMBERS and words <= MOST_MARKERS and told:
                value = f"CASE WHEN NOT {_is_missing(quoted(name))} THEN {form.plain.format(quoted(name))} END"
                kind = "BIGINT" if numbers == whole else "DOUBLE"
                found[name] = Numbers(f"TRY_CAST({value} AS {kind})", words > 0, form.said)
                break
    return found


def remarks_on(numbers: Mapping[str, Numbers]) -> list[str]:
    """What a person is told of these columns."""
    missing = _names(name for name, one in numbers.items() if one.missing)
    told = [f"a word for what is missing (as NA) is NULL among the numbers of {missing}"] if missing else []
    for separators in dict.fromkeys(one.separators for one in numbers.values() if one.separators):
        names = _names(name for name, one in numbers.items() if one.separators == separators)
        told.append(f"texts with {separators} are read as the numbers that they are: {names}")
    return told


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(repr, columns))


def _likely(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> list[str]:
    """The columns whose first values all look like numbers."""
    if not columns:
        return []
    looks = [
        f"bool_and(regexp_full_match({name}, {literal(_LIKE)}) OR {_is_missing(name)})" for name in map(quoted, columns)
    ]
    query = f"SELECT {', '.join(looks)} FROM (SELECT * FROM ({rows}) LIMIT {_GLANCE})"
    return [name for name, likely in zip(columns, connection.execute(query).fetchall()[0], strict=True) if likely]


def _counted(
    connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str], forms: Sequence[_Form]
) -> dict[str, Sequence[int]]:
    """Of each column its values, words for what is missing and different ones of them; then for each form the numbers,
    the whole ones, and those that can be nothing else."""
    if not columns:
        return {}
    counts: list[str] = []
    for name in map(quoted, columns):
        counts += [f"count({name})", f"count(*) FILTER (WHERE {_is_missing(name)})"]
        counts += [f"count(DISTINCT {name}) FILTER (WHERE {_is_missing(name)})"]
        for form in forms:
            finite = f"isfinite(TRY_CAST({form.plain.format(name)} AS DOUBLE))"
            number = f"regexp_full_match({name}, {literal(form.number)}) AND {finite}"
            for more in ("true", *(f"regexp_full_match({name}, {literal(one)})" for one in (form.whole, form.certain))):
                counts.append(f"count(*) FILTER (WHERE {number} AND {more})")
    row = connection.execute(f"SELECT {', '.join(counts)} FROM ({rows})").fetchall()[0]
    width = len(counts) // len(columns)
    return {name: row[place * width : (place + 1) * width] for place, name in enumerate(columns)}


def _is_missing(column: str) -> str:
    return f"lower(trim({column})) IN ({', '.join(literal(word) for word in sorted(MISSING))})"
