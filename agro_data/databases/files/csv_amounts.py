"""Columns of a CSV that are amounts: with the sign of a currency ($0.05), or in brackets for a minus, as accountants
write it: (250.00).

One sign stands in all rows of a column. Brackets without a sign are a minus only beside numbers that have none, and
around money: (1) may be a note's number, and (0.125) an error's size.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agro_data.databases.files.csv_numbers import is_missing, names_of
from agro_data.databases.quoting import literal, quoted

if TYPE_CHECKING:
    import duckdb

_GLANCE = 2_000  # rows that show which columns may be amounts
_SIGN, _GAP = "[$€£¥₹]", r"[ \x{a0}\x{202f}]?"
_NUMBER = r"[\d.,'’\x{a0}\x{202f}]*\d"
_BEFORE, _BEHIND = f"({_SIGN}{_GAP})?", f"({_GAP}{_SIGN})?"
_AMOUNT = rf"[+-]?{_BEFORE}[+-]?{_NUMBER}{_BEHIND}|{_BEFORE}\({_BEFORE}{_NUMBER}{_BEHIND}\)"
_MONEY = rf"\(({_NUMBER}[.,]\d{{2}}|\d{{1,3}}(,\d{{3}})+)\)"


class Amounts(NamedTuple):
    """How a column's amounts are written."""

    text: str  # SQL of the number in it, as a text
    sign: str  # of the currency, or ""
    brackets: bool  # for a minus


def amounts_in(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> dict[str, Amounts]:
    """Those `columns` of texts whose values are all amounts or a word for what is missing; `rows` is a query."""
    found: dict[str, Amounts] = {}
    for name in _likely(connection, rows, columns):
        text, amount = f"trim({quoted(name)})", f"NOT {is_missing(quoted(name))}"
        sign = f"regexp_extract({text}, {literal(_SIGN)})"
        counts = [
            f"count(*) FILTER (WHERE {amount})",
            f"count(*) FILTER (WHERE {amount} AND {_fits(text, _AMOUNT)})",
            f"count(*) FILTER (WHERE {text} LIKE '%(%')",
            f"count(*) FILTER (WHERE {_fits(text, _MONEY)})",
            f"count(DISTINCT {sign}) FILTER (WHERE {amount})",
            f"max({sign}) FILTER (WHERE {amount})",
        ]
        (row,) = connection.execute(f"SELECT {', '.join(counts)} FROM ({rows})").fetchall()
        held, amounts, bracketed, money, signs, which = row
        if held == amounts and signs == 1 and (which or 0 < money == bracketed < held):
            found[name] = Amounts(_bare(text), which, bracketed > 0)
    return found


def remarks_on_amounts(amounts: Mapping[str, Amounts], read: Container[str]) -> list[str]:
    """What a person is told of those of these columns that are `read` as numbers."""
    held = {name: one for name, one in amounts.items() if name in read}
    told = []
    for sign in dict.fromkeys(one.sign for one in held.values() if one.sign):
        names = names_of(name for name, one in held.items() if one.sign == sign)
        told.append(f"amounts in {sign} are read as numbers: {names}")
    if negative := names_of(name for name, one in held.items() if one.brackets):
        told.append(f"amounts in brackets, as (250.00), are read as negative numbers: {negative}")
    return told


def _likely(connection: duckdb.DuckDBPyConnection, rows: str, columns: Sequence[str]) -> list[str]:
    """The columns whose first values may all be amounts."""
    if not columns:
        return []
    fits = (f"{_fits(f'trim({quoted(name)})', _AMOUNT)} OR {is_missing(quoted(name))}" for name in columns)
    fit = ", ".join(f"bool_and({one})" for one in fits)
    row = connection.execute(f"SELECT {fit} FROM (SELECT * FROM ({rows}) LIMIT {_GLANCE})").fetchall()[0]
    return [name for name, likely in zip(columns, row, strict=True) if likely]


def _bare(text: str) -> str:
    unsigned = f"regexp_replace({text}, {literal(_GAP + _SIGN + _GAP)}, '')"
    return rf"regexp_replace({unsigned}, '^\((.*)\)$', '-\1')"


def _fits(text: str, form: str) -> str:
    return f"regexp_full_match({text}, {literal(form)})"
