"""Rows that an application takes for gone, though they are there: who counts them counts customers that left."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agro_data.profiling.names.words import split_identifier
from agro_data.profiling.profile import ColumnProfile, Mark

_GONE = r"_?(?:is_?|date_?)?(?:soft_?)?(?:deleted|discarded|removed)"
_DELETED = re.compile(rf"{_GONE}(?:_?(?:at|on|date|time|flag|ts))?", re.IGNORECASE)
_OF_DELETION = re.compile(rf"{_DELETED.pattern}|{_GONE}_(?:by(?:_\w+)?|reason|why)")  # words, joined
_NO = ("0", "n", "no", "f", "false")


def mark_of(columns: Sequence[ColumnProfile]) -> Mark | None:
    """What marks some rows as deleted, and not all; None where nothing does, or a flag is NULL in some."""
    return next((mark for column in columns if (mark := _mark(column)) is not None), None)


def says_deletion(column: str) -> bool:
    """Whether a column tells of deletions by its name, also who did it and why: `deleted_by`; not `removed_stock`."""
    return _OF_DELETION.fullmatch("_".join(split_identifier(column))) is not None


def _mark(column: ColumnProfile) -> Mark | None:
    if not _DELETED.fullmatch(column.name) or column.hidden:
        return None
    if column.kind in ("date", "datetime"):
        return Mark(column.name, None) if 0 < column.null_share < 1 else None
    if column.role != "boolean" or column.distinct != 2 or column.null_share:
        return None
    kept = [value for value, _ in column.common if isinstance(value, int | str) and str(value).lower() in _NO]
    return Mark(column.name, kept[0]) if kept else None
