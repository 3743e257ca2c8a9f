"""What kind of thing a table is, and what a person calls one of its rows by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile
from agro_data.profiling.side_files.knowledge import TableKind

_FULL_NAMES = (
    ("first name", "last name"),
    ("personal name", "family name"),
    ("given name", "family name"),
    ("given name", "last name"),
)
_CODED = frozenset(["type", "status", "category", "role", "genre", "kind", "class", "level", "method", "code", "color"])
_DAY_PARTS = frozenset(["year", "quarter", "month", "week", "weekday", "day", "weekend", "holiday"])
_LABELS = ("name", "full name", "title", "official name", "long name", "common name", "short name", "label", "headline")


def table_kind(
    rows: int,
    singular: str,
    columns: Sequence[ColumnProfile],
    primary_key: Sequence[str],
    outgoing: Sequence[ForeignKey],
) -> TableKind:
    """Bridge: rows only connect. Lookup: a few codes and their meaning, or days and the year, month and week of each.
    Event: dated and hanging on others.
    """
    linking = {column for key in outgoing for column in key.columns}
    own = [column for column in columns if column.name not in linking and column.name not in primary_key]
    if len({key.ref_table for key in outgoing}) >= 1 and len(outgoing) >= 2:
        content = [column for column in own if column.role not in ("identifier", "date", "other")]
        keyed = bool(primary_key) and set(primary_key) <= linking
        if not content and (keyed or len(own) <= 1):
            return "bridge"
    if not outgoing and rows <= 200 and len(own) <= 3 and len(columns) <= 4 and _codes(columns, primary_key, singular):
        return "lookup"
    if not outgoing and is_calendar(columns):
        return "lookup"
    person = any(column.phrase in ("last name", "family name", "date of birth", "birth date") for column in columns)
    elsewhere = any(key.ref_table != key.table for key in outgoing)
    if elsewhere and not person and any(column.role == "date" for column in columns):
        return "event"
    return "entity"


def is_calendar(columns: Sequence[ColumnProfile]) -> bool:
    """Whether most columns are parts of a day, as of a warehouse's date dimension."""
    parts = [c for c in columns if c.role != "measure" and not _DAY_PARTS.isdisjoint(c.phrase.lower().split(" "))]
    return len(parts) >= 3 and 2 * len(parts) > len(columns)


def named_as_people(table: TableProfile) -> bool:
    """Whether rows have the names of people: a first and a last one."""
    return any({first, last} <= {c.phrase.lower() for c in table.columns} for first, last in _FULL_NAMES)


def days_of(table: TableProfile) -> list[str]:
    """The columns of a calendar by each of which its days are told apart; of other tables there are none."""
    return [c.name for c in table.columns if c.role == "date" and c.unique] if is_calendar(table.columns) else []


def day_of(table: TableProfile) -> str:
    """The column of a calendar that is the day itself; "" of other tables, and where another day stands beside it."""
    days = days_of(table)
    return days[0] if len(days) == 1 else ""


def _codes(columns: Sequence[ColumnProfile], primary_key: Sequence[str], singular: str) -> bool:
    """Whether the rows are codes with their meaning: by the noun, or by a key that is a code."""
    if any(column.role in ("measure", "date", "year") for column in columns):
        return False
    keys = [column for column in columns if column.name in primary_key]
    coded = any(column.phrase.endswith("code") for column in keys)
    return coded or singular.rsplit(maxsplit=1)[-1] in _CODED


def label_columns(
    columns: Sequence[ColumnProfile], names: Mapping[str, str], singular: str, outgoing: Sequence[ForeignKey]
) -> tuple[str, ...]:
    """The column or columns that name a row, or (). `names` gives each phrase's column.

    >>> label_columns((), {}, "track", ())
    ()
    """
    columns = [column for column in columns if not column.hidden]
    by_name = {column.name: column for column in columns}
    refers = {column for key in outgoing for column in key.columns}

    def usable(phrase: str) -> str | None:
        column = by_name.get(names.get(phrase, ""))
        if column is None or column.name in refers or column.kind not in ("text", "other"):
            return None
        return column.name if column.role in ("text", "category", "other", "identifier") else None

    for first, last in _FULL_NAMES:
        pair = usable(first), usable(last)
        if pair[0] and pair[1]:
            return (pair[0], pair[1])
    for phrase in (*_LABELS, singular, f"{singular} name", f"{singular} title"):
        found = usable(phrase)
        if found and (phrase != singular or by_name[found].role == "text"):
            return (found,)
    named = [
        column.name
        for column in columns
        if column.name not in refers
        and column.role == "text"
        and column.kind == "text"
        and column.phrase.endswith((" name", " title"))
        and column.unique
    ]
    if named:
        return (named[0],)
    described = [
        column.name
        for column in columns
        if column.phrase in ("description", "type description") and column.role == "text" and column.unique
    ]
    return tuple(described[:1])
