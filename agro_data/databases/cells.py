"""What an engine's driver gives for a value, as a `Cell`: see `Result`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from agro_data.databases.types import Cell


def decode_text(raw: bytes) -> str | bytes:
    """Text of a cell; its bytes when they are not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def is_undecodable(error: sqlite3.Error) -> bool:
    """Whether `sqlite3` met text that is not UTF-8: the statement then runs again with `decode_text`.

    The retry costs once; calling `decode_text` for every text of every database would cost always.
    """
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith("Could not decode to UTF-8")


_CELLS = frozenset((type(None), int, float, str, bytes))


def plain_rows(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Cell, ...]]:
    """DuckDB's rows with every value as a `Cell`."""
    return [
        row if all(type(value) in _CELLS for value in row) else tuple([plain(value) for value in row]) for row in rows
    ]


def plain(value: Any) -> Cell:
    """One DuckDB value as a `Cell`: see `Result`."""
    kind = type(value)
    if kind in _CELLS:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return int(value)
    if kind is Decimal:
        return int(value) if value == value.to_integral_value() else float(value)
    if kind in (bytearray, memoryview):
        return bytes(value)
    if kind in (date, datetime, time, timedelta, UUID):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=_json)
    except TypeError:  # a MAP with keys that JSON has not, such as dates
        return json.dumps(_with_text_keys(value), ensure_ascii=False, default=_json)


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(_json(key)): _with_text_keys(item) for key, item in value.items()}
    return [_with_text_keys(item) for item in value] if isinstance(value, list | tuple) else value


def _json(value: object) -> object:
    return value.hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)
