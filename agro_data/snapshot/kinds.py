"""How a column of PostgreSQL is kept in DuckDB: its type there, and how the server is asked for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAME = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "time without time zone": "TIME",
}
_TEXTS = frozenset(("text", "character varying", "character", '"char"', "name", "uuid", "json", "jsonb", "xml"))
# A year before Christ stands behind its day in brackets in DuckDB, which overlooks what PostgreSQL writes.
_DAY = r"regexp_replace({}::text, ' BC$', ' (BC)')"
_MOMENT = r"regexp_replace(({})::text, '^(\S+) (\S+) BC$', '\1 (BC) \2')"
_BYTES = "bytea"
_LENGTH = re.compile(r"\((\d+)(?:,(-?\d+))?\)")
WIDEST = 38  # digits of a DECIMAL


@dataclass(frozen=True)
class Kind:
    """A type of DuckDB, and the expression that PostgreSQL gives such a value by; `{}` stands for the column."""

    duckdb: str
    expression: str = "{}"


TEXT = Kind("VARCHAR", "{}::text")
DOUBLE = Kind("DOUBLE")


def decimal(digits: int, scale: int) -> Kind:
    """The kind of numbers with `digits` digits, `scale` of them behind the point; binary if DuckDB has no room for
    them.
    """
    return Kind(f"DECIMAL({max(1, digits)},{scale})") if 0 <= scale <= digits <= WIDEST else DOUBLE


def unmeasured(declared: str) -> bool:
    """Whether a type, as `format_type` writes it, is a number that may have more digits than DuckDB has room for."""
    return _LENGTH.sub("", declared) == "numeric" and kept(declared) == DOUBLE


def compares_as_text(declared: str) -> bool:
    """Whether a type kept as text also compares as text on the server: intervals and texts without case do not."""
    return _LENGTH.sub("", declared) in _TEXTS


def kept(declared: str) -> Kind | None:
    """The kind in which a type (as `format_type` writes it) is kept; None for bytes, which nobody asks about in words.

    Timestamps with a time zone are kept in UTC. Types that DuckDB does not have here (enums, JSON, arrays, ranges and
    intervals) are kept as text.
    """
    bare = _LENGTH.sub("", declared)
    if bare == _BYTES:
        return None
    if bare in _SAME:
        return Kind(_SAME[bare])
    if bare == "date":
        return Kind("DATE", _DAY)
    if bare == "timestamp without time zone":
        return Kind("TIMESTAMP", _MOMENT)
    if bare == "timestamp with time zone":
        return Kind("TIMESTAMP", _MOMENT.replace("{}", "{} AT TIME ZONE 'UTC'"))
    if bare == "money":
        return Kind("DECIMAL(19,2)", "{}::numeric")
    if bare == "numeric":
        said = _LENGTH.search(declared)
        return decimal(int(said[1]), int(said[2] or 0)) if said else DOUBLE
    return TEXT
