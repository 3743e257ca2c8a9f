"""The fingerprint of a result, which anyone can compute again with Python and plain `sqlite3`.

Format. A cell becomes text by its type:

    NULL      n
    integer   i<decimal>                            i-42
    float     f<repr>, after rounding to 12 significant digits (`float("%.12g" % x)`); one that is then
              integral is written as an integer (2.0 -> i2, -0.0 -> i0, 1e300 -> i and 301 digits);
              fnan, finf, f-inf
    text      t<number of characters>:<the text>    t3:abc     (characters are Unicode code points)
    blob      b<lower-case hex>                     also text that is not valid UTF-8, by its bytes

What DuckDB's Python driver gives (with TimeZone UTC) becomes such a cell first (`databases.cells.plain`): a
BOOLEAN is an integer; a DECIMAL an integer if it is whole, else a float; dates, times, timestamps, intervals and
UUIDs are the text that `str` makes; lists, structs and maps are the text of `json.dumps(value, ensure_ascii=False)`,
in which a blob is its hex, and whatever else JSON lacks the text that `str` makes, keys too.

Cells are joined by a comma into a row. Rows are sorted by code points, unless order matters (`order_matters` of a
corpus' row). The digest is the SHA-256 (hex) of the UTF-8 text

    <number of columns> newline <row> newline <row> newline ...

Lengths make it unambiguous: two results have one text only if they are equal cell by cell (floats up to
rounding, and an integral float equals its integer).

>>> result_digest(2, [("b", 1.0), ("a", None)], ordered=False)[:16]
'80e7d3faa5360f00'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from math import isfinite

from agro_data.databases.types import Cell


def result_digest(column_count: int, rows: Iterable[Sequence[Cell]], ordered: bool) -> str:
    """SHA-256 (hex) of a result in the format above; `ordered` keeps the rows as they came."""
    encoded = encode_rows(rows)
    return encoded_digest(column_count, encoded if ordered else sorted(encoded))


def encode_rows(rows: Iterable[Sequence[Cell]]) -> list[str]:
    """Each row as its text in the format above. Raises `TypeError` for a value that is no `Cell`."""
    try:
        return [",".join([_ENCODERS[type(cell)](cell) for cell in row]) for row in rows]
    except KeyError as error:
        raise TypeError(f"a result cell is None, int, float, str or bytes, not {error.args[0].__name__}") from None


def encoded_digest(column_count: int, encoded: list[str]) -> str:
    """Digest of rows that `encode_rows` gave, in the order given."""
    return sha256("\n".join([str(column_count), *encoded, ""]).encode()).hexdigest()


def _null(_: None) -> str:
    return "n"


def _integer(value: int) -> str:
    return f"i{value}"


def _float(value: float) -> str:
    if not isfinite(value):
        return f"f{value}"
    rounded = float(f"{value:.12g}")
    return f"i{int(rounded)}" if rounded.is_integer() else f"f{rounded!r}"


def _text(value: str) -> str:
    return f"t{len(value)}:{value}"


def _blob(value: bytes) -> str:
    return "b" + value.hex()


_ENCODERS: dict[type, Callable[..., str]] = {
    type(None): _null,
    int: _integer,
    float: _float,
    str: _text,
    bytes: _blob,
}
