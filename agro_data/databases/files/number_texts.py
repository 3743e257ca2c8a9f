"""How numbers are written as texts, what stands among them for a missing one, and how many digits one holds."""

from __future__ import annotations

import struct

# With a zero before it a number is a code. Both are read by Python and by DuckDB.
WHOLE = r"[+-]?(0|[1-9]\d{0,17})"
NUMBER = r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
# What stands for a missing value, in small letters, among the numbers of a column.
MISSING = frozenset(
    [
        *("na", "n/a", "n.a.", "#n/a", "nan", "null", "nil", "none", "missing", "unknown", "suppressed", "\\n", ""),
        *("-", "--", "?", "*", ":", ".", "..", "...", "…"),
    ]
)
MOST_MARKERS, FEWEST_NUMBERS = 2, 3
_DIGITS = range(6, 10)  # nine tell any two FLOATs apart


def shortest(value: float) -> float:
    """The number with the fewest digits that a FLOAT holds as `value`, which else is no FLOAT and stays: DuckDB gives
    a FLOAT of 0.1 as 0.10000000149011612.
    """
    try:
        held = struct.pack("f", value)
    except OverflowError:
        return value
    if struct.unpack("f", held)[0] != value:
        return value
    return next(short for digits in _DIGITS if struct.pack("f", short := float(f"{value:.{digits}g}")) == held)
