"""Columns of a CSV that are texts to the engine and numbers to who wrote them: beside a word for what is missing ("NA",
as R writes it), with a decimal comma (1.234,50), or with separators between thousands (1,234.50).

A column is read as numbers only where every row is one, and some row leaves no doubt how they are written: 1,234 alone
could be either, and beside 999.50 it is thousands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agro_data.databases.files.number_texts import FEWEST_NUMBERS, MISSING, MOST_MARKERS, NUMBER, WHOLE
from agro_data.databases.quoting import literal

if TYPE_CHECKING:
    import duckdb

_GLANCE = 2_000  # rows that show which columns may be numbers


class _Form(NamedTuple):
    """A way to write numbers; all but `said` and `plain` are regular expressions that fit a whole value."""

    said: str  # "" for the way of SQL
    number: str
    whole: str
    certain: str  # can be a number in this form alone
    plain: str  # a text as SQL writes the number, in SQL


def _separated(said: str, thousands: str, decimal: str, certain: str) -> _Form:
    group = rf"([{thousands}'’\x{{a0}}\x{{202f}}]\d{{3}})"
    whole = rf"[+-]?(0|[1-9]\d{{0,17}}|[1-9]\d{{0,2}}{group}{{1,5}})"  # as `WHOLE`, what a BIGINT holds
    number = rf"[+-]?(0|[1-9]\d*|[1-9]\d{{0,2}}{group}+)(\{decimal}\d+)?"
    plain = f"replace(regexp_replace({{}}, {literal(f'[^-+0-9{decimal}]')}, '', 'g'), {literal(decimal)}, '.')"
    return _Form(said, number, whole, certain, plain)


_DECIMALS = r"[+-]?(0|[1-9]\d*)[.](\d{1,2}|\d{4,})"  # no dot between thousands
_PLAIN = _Form("", NUMBER, WHOLE, _DECIMALS, "{}")
_THOUSANDS = _separated(
    "thousands separators", ",", ".", rf".*(,\d{{3}}[,.]\d+|['’\x{{a0}}\x{{202f}}]\d+([.]\d+)?)|{_DECIMALS}"
)
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
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    columns: Mapping[str, str],
    delimiter: str,
    amounts: bool = False,
) -> dict[str, Numbers]:
    """Those of some columns, each with the SQL of its texts, whose values are all numbers or a word for what is
    missing; `rows` is a query. Of `amounts` something else than their numbers makes them texts."""
    forms = [_PLAIN, _THOUSANDS, _COMMA_IN_QUOTES if delimiter == "," else _COMMA]
    found: dict[str, Numbers] = {}
    for (name, form), counts in _counted(connection, rows, _likely(connection, rows, columns, forms), columns).items():
        held, missing, words, numbers, whole, certain = counts
        told = certain > 0
        if form is _PLAIN:
            told = certain > 0 or numbers == whole if amounts else words > 0
        if held == numbers + missing and numbers >= FEWEST_NUMBERS and words <= MOST_MARKERS and told:
            value = f"CASE WHEN NOT {is_missing(columns[name])} THEN {form.plain.format(columns[name])} END"
            kind = "BIGINT" if numbers == whole else "DOUBLE"
            found.setdefault(name, Numbers(f"TRY_CAST({value} AS {kind})", words > 0, form.said))
    return found


def remarks_on(numbers: Mapping[str, Numbers]) -> list[str]:
    """What a person is told of these columns."""
    missing = names_of(name for name, one in numbers.items() if one.missing)
    told = [f"a word for what is missing (as NA) is NULL among the numbers of {missing}"] if missing else []
    for separators in dict.fromkeys(one.separators for one in numbers.values() if one.separators):
        names = names_of(name for name, one in numbers.items() if one.separators == separators)
        told.append(f"texts with {separators} are read as the numbers that they are: {names}")
    return told


def names_of(columns: Iterable[str]) -> str:
    """Columns as a person reads them."""
    return ", ".join(map(repr, columns))


def is_missing(column: str) -> str:
    """SQL of whether a text is a word for what is missing."""
    return f"lower(trim({column})) IN ({', '.join(literal(word) for word in sorted(MISSING))})"


def _likely(
    connection: duckdb.DuckDBPyConnection, rows: str, columns: Mapping[str, str], forms: Sequence[_Form]
) -> list[tuple[str, _Form]]:
    """The columns whose first values may all be numbers, with each form that they may have."""
    pairs = [(name, form) for name in columns for form in forms]
    if not pairs:
        return []
    fit = ", ".join(
        f"bool_and({_fits(columns[name], form.number)} OR {is_missing(columns[name])})" for name, form in pairs
    )
    row = connection.execute(f"SELECT {fit} FROM (SELECT * FROM ({rows}) LIMIT {_GLANCE})").fetchall()[0]
    return [pair for pair, likely in zip(pairs, row, strict=True) if likely]


def _counted(
    connection: duckdb.DuckDBPyConnection, rows: str, pairs: Sequence[tuple[str, _Form]], columns: Mapping[str, str]
) -> dict[tuple[str, _Form], Sequence[int]]:
    """Of each column in each form its values, words for what is missing, different ones of them, numbers, whole ones,
    and numbers that have no other form."""
    if not pairs:
        return {}
    counts: list[str] = []
    for name, form in pairs:
        column, missing = columns[name], is_missing(columns[name])
        finite = f"isfinite(TRY_CAST({form.plain.format(column)} AS DOUBLE))"
        numbers = [f"{_fits(column, one)} AND {finite}" for one in (form.number, form.whole, form.certain)]
        counts += [f"count({column})", f"count(*) FILTER (WHERE {missing})"]
        counts += [f"count(DISTINCT {column}) FILTER (WHERE {missing})"]
        counts += [f"count(*) FILTER (WHERE {number})" for number in numbers]
    row = connection.execute(f"SELECT {', '.join(counts)} FROM ({rows})").fetchall()[0]
    return {pair: row[place * 6 : place * 6 + 6] for place, pair in enumerate(pairs)}


def _fits(column: str, form: str) -> str:
    return f"regexp_full_match(trim({column}), {literal(form)})"
