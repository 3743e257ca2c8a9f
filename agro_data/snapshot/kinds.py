"""How a column of PostgreSQL is kept in DuckDB: its type there, and how the server is asked for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agro_data.databases.quoting import literal

_SAME = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "uuid": "UUID",
    "time without time zone": "TIME",
}
_TEXTS = frozenset(("text", "character varying", "character", '"char"', "name", "json", "jsonb", "xml"))
# A year before Christ stands behind its day in brackets in DuckDB, which overlooks what PostgreSQL writes.
_DAY = r"regexp_replace({}::text, ' BC$', ' (BC)')"
_MOMENT = r"regexp_replace(({})::text, '^(\S+) (\S+) BC$', '\1 (BC) \2')"
_UNASKED = frozenset(("bytea", "tsvector", "tsquery"))  # bytes, and what an index for searches is made of
_LENGTH = re.compile(r"\((\d+)(?:,(-?\d+))?\)")
WIDEST = 38  # digits of a DECIMAL


@dataclass(frozen=True)
class Kind:
    """A type of DuckDB, and the expression that PostgreSQL gives such a value by; `{}` stands for the column.
    `through`: the type that a text is read as before it becomes this one."""

    duckdb: str
    expression: str = "{}"
    through: str = ""

    @property
    def given(self) -> str:
        """The type in which DuckDB reads what it is given."""
        return "VARCHAR" if self.through else self.duckdb

    def taken(self, name: str) -> str:
        """DuckDB's expression for the value that is given under a name."""
        return f"{name}::{self.through}::{self.duckdb}" if self.through else name


TEXT = Kind("VARCHAR", "{}::text")
JSON = Kind("JSON", "{}::text")
SPAN = Kind(  # what PostgreSQL writes of -1 day and two hours DuckDB does not read
    "INTERVAL",
    "(extract(year FROM {0}) * 12 + extract(month FROM {0}))::bigint || ' months ' || "
    "extract(day FROM {0})::bigint || ' days ' || (extract(hour FROM {0}) * 3600000000 + "
    "extract(minute FROM {0}) * 60000000 + extract(microseconds FROM {0}))::bigint || ' microseconds'",
)
DOUBLE = Kind("DOUBLE")


def decimal(digits: int, scale: int) -> Kind:
    """The kind of numbers with `digits` digits, `scale` of them behind the point; binary if DuckDB has no room for
    them.
    """
    return Kind(f"DECIMAL({max(1, digits)},{scale})") if 0 <= scale <= digits <= WIDEST else DOUBLE


def unmeasured(declared: str) -> bool:
    """Whether a type, as `format_type` writes it, is a number that may have more digits than DuckDB has room for."""
    return _LENGTH.sub("", declared) == "numeric" and kept(declared) == DOUBLE


def listing(declared: str, labels: Sequence[str]) -> bool:
    """Whether a type is of arrays that are kept as lists."""
    kind = kept(declared, labels)
    return kind is not None and bool(kind.through)


def compares_as_text(declared: str) -> bool:
    """Whether a type kept as text also compares as text on the server: intervals and texts without case do not."""
    return _LENGTH.sub("", declared) in _TEXTS


def kept(declared: str, labels: Sequence[str] = ()) -> Kind | None:
    """The kind in which a type (as `format_type` writes it) is kept; None for what nobody asks about in words, as
    bytes. `labels`: those of an enum, or of that of which it is an array.

    Timestamps with a time zone are kept in UTC. Types that DuckDB does not have here (ranges, addresses, arrays of most
    types) are kept as text.
    """
    bare = _LENGTH.sub("", declared)
    if bare in _UNASKED:
        return None
    if bare.endswith("[]"):
        return _list_of("text" if labels else bare.removesuffix("[]"))
    if labels:
        return Kind(f"ENUM({', '.join(map(literal, labels))})", "{}::text")
    if bare in ("json", "jsonb"):
        return JSON
    if bare == "interval":
        return SPAN
    if bare == "inet":
        return Kind("VARCHAR", "abbrev({})")  # as the server shows it: 10.0.0.1, where its text has /32
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


def nested(kind: Kind) -> bool:
    """Whether DuckDB may refuse a value of this kind that the server holds, as it refuses lists of lists as a list."""
    return bool(kind.through) or kind in (JSON, SPAN)


def _list_of(element: str) -> Kind:
    """The kind of an array, which travels as JSON; as text if its elements may be written otherwise there."""
    kind = "VARCHAR" if element in _TEXTS - {"json", "jsonb", "xml", "character"} else _SAME.get(element, "")
    return Kind(f"{kind}[]", "to_json({})", "JSON") if kind and kind != "TIME" else TEXT
