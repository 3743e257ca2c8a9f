"""What a person who gives a database should know of it before a corpus is built: one line for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agro_data.profiling.columns.dates import date_format
from agro_data.profiling.columns.statistics import Statistics
from agro_data.profiling.columns.unit_columns import total_among
from agro_data.profiling.hidden.bookkeeping import keeps_books
from agro_data.profiling.keys.row_versions import keeps_versions
from agro_data.profiling.names.words import reads_as_english
from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile, Within

_CODED = frozenset(["status", "state", "kind", "type", "category", "class", "mode", "reason", "method", "code", "role"])
_KINDS = 30  # the most that numbers stand for
_TELLING = 8  # words from which is judged whether names are English
_WRITTEN = {"iso-loose": "y-m-d without zeros", "m/d/y": "m/d/y or d/m/y"}  # where the name of a format says too little
_SHORT = ("", "yyyymmdd", "y-m")  # what texts that are no dates may look like
_MOSTLY, _DATES = 0.9, 10  # share and number of different values, the most frequent, that show dates


def remarks(
    tables: Sequence[TableProfile], keys: Sequence[ForeignKey], statistics: Mapping[str, Mapping[str, Statistics]]
) -> Iterator[str]:
    """All remarks on the tables of one database, the keys between them, and the contents of their columns."""
    yield from _aside(tables)
    yield from _versions(tables)
    yield from _deleted(tables)
    yield from _unknown(tables)
    yield from _coded(tables, keys)
    yield from _totals(tables)
    yield from _endless(tables)
    yield from _guarded(tables)
    yield from _marked(tables, statistics)
    yield from _dated(tables)
    yield from _unlinked(tables, keys)
    yield from _foreign(tables)


def _aside(tables: Sequence[TableProfile]) -> Iterator[str]:
    if books := [repr(table.name) for table in tables if keeps_books(table) and not table.described]:
        yield (
            f"{', '.join(books)}: a framework's own, so no question is about them; describe in a semantics.yml those "
            "that people ask about"
        )


def _versions(tables: Sequence[TableProfile]) -> Iterator[str]:
    for table in tables:
        if table.versions is not None:
            yield (
                f"table {table.name!r}: each row is a version, so questions are about current {table.versions.plural} "
                f"(by {table.versions.column!r}), and about {table.plural} where they say when these hold, or count all"
            )
        elif not table.named and keeps_versions(table.columns, table.singular):
            yield (
                f"table {table.name!r}: each row is a version, of which one is current, so questions are about "
                f"{table.plural}; to have them ask about the things themselves, hide the table in a semantics.yml, and "
                "describe a view of its current rows"
            )


def _deleted(tables: Sequence[TableProfile]) -> Iterator[str]:
    marked = [f"{table.name}.{table.deleted.column}" for table in tables if table.deleted is not None]
    if marked:
        yield (
            f"{', '.join(marked)}: rows that are marked as deleted do not count, as the evidence of questions says; to "
            "have them count, hide the column in a semantics.yml"
        )


def _unknown(tables: Sequence[TableProfile]) -> Iterator[str]:
    for table in tables:
        if table.unknown is not None:
            numbers = " or ".join(map(str, table.unknown.numbers))
            yield (
                f"table {table.name!r}: rows with {table.unknown.key} {numbers} stand for unknown {table.plural}, and "
                "do not count, as the evidence of questions says"
            )


def _coded(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> Iterator[str]:
    """Numbers that stand for kinds: nobody asks how many tickets have status 3."""
    refer = {(key.table, column) for key in keys for column in key.columns}
    coded = [
        f"{table.name}.{column.name}"
        for table in tables
        if not table.is_view
        for column in table.columns
        if column.role == "category" and column.kind == "integer" and 1 < column.distinct <= _KINDS
        if not (column.codes or _CODED.isdisjoint(column.phrase.lower().split()) or (table.name, column.name) in refer)
    ]
    if coded:
        yield (
            f"{', '.join(coded)}: numbers that stand for kinds, which questions ask for as they are; say what they "
            "mean under `codes` in a semantics.yml (`agro databases PATH --draft` writes one)"
        )


def _totals(tables: Sequence[TableProfile]) -> Iterator[str]:
    """Rows that are sums of others: a sum over all counts twice, and so does who counts rows."""
    for table in tables:
        for column in table.columns:
            if (total := total_among(column)) and any(Within(column.name) in c.within for c in table.columns):
                yield (
                    f"table {table.name!r}: rows with {total!r} in {column.name!r} seem to be totals of the others, so "
                    f"quantities are summed and compared within one value of {column.name!r} only; counts of rows "
                    "count totals, too: leave these rows out if nobody asks for them"
                )


def _endless(tables: Sequence[TableProfile]) -> Iterator[str]:
    """Columns of numbers that NaN or infinity makes unfit for sums: nobody would miss them unsaid."""
    for table in tables:
        for column in table.columns:
            if column.kind == "other" and column.declared_type in ("DOUBLE", "FLOAT"):
                yield (
                    f"table {table.name!r}: column {column.name!r} holds NaN or infinity: shown, but never compared "
                    "or summed; store NULL for what is missing"
                )


def _guarded(tables: Sequence[TableProfile]) -> Iterator[str]:
    """Columns that nobody is asked for, since they hold what lets somebody in."""
    for table in tables:
        if names := [repr(column.name) for column in table.columns if column.hidden]:
            yield (
                f"table {table.name!r}: {', '.join(names)}: passwords, keys or the like: never asked for, and no value "
                "is kept; `hidden: false` in a semantics.yml asks for them all the same"
            )


def _marked(tables: Sequence[TableProfile], statistics: Mapping[str, Mapping[str, Statistics]]) -> Iterator[str]:
    """Columns that a text for what is missing, or a way to write numbers, makes texts: "9" would stand behind "10"."""
    for table in tables:
        alike: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for column in table.columns:
            known = statistics[table.name][column.name]
            # Separated digits that name something are a telephone's.
            if (known.markers or known.separators) and not (known.separators and column.role == "identifier"):
                alike.setdefault((known.markers, known.separators), []).append(repr(column.name))
        for (markers, separators), names in alike.items():
            cause = " and ".join([*map(repr, markers), *([separators] if separators else [])])
            mends = ["store NULL (in CSV: nothing) for what is missing"] if markers else []
            mends += ["write numbers with a decimal point and nothing between thousands"] if separators else []
            yield (
                f"table {table.name!r}: {', '.join(names)}: numbers but for {cause}, so taken as text: never summed or "
                f"compared by size; {', and '.join(mends)}"
            )


def _dated(tables: Sequence[TableProfile]) -> Iterator[str]:
    """Columns of dates that no engine puts in order: 10/02/2024 would stand before 9/30/2023."""
    for table in tables:
        alike: dict[str, list[str]] = {}
        for column in table.columns:
            if why := _undated(column):
                alike.setdefault(why, []).append(repr(column.name))
        for why, names in alike.items():
            yield (
                f"table {table.name!r}: {', '.join(names)}: {why}: asked for and compared as written, never by time; "
                "store YYYY-MM-DD"
            )


def _undated(column: ColumnProfile) -> str:
    """Why the texts of a column are no dates to an engine, though to a person they are; "" where that is not so."""
    if column.date_format not in ("", "iso"):
        return f"dates written as {_WRITTEN.get(column.date_format, column.date_format)}"
    texts = [value for value, _ in column.common if isinstance(value, str)] if column.kind == "text" else []
    dates = [text for text in texts if date_format([text])[0] not in _SHORT]
    return "dates but for some values" if len(dates) >= max(_MOSTLY * len(texts), _DATES) else ""


def _unlinked(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> Iterator[str]:
    filled = [table.name for table in tables if table.rows and not table.is_view]
    if len(filled) > 1 and not keys:
        yield (
            f"no foreign key is declared or could be inferred between its {len(filled)} tables, so no question will "
            "join two of them; state keys under `joins` in a semantics.yml (`agro databases PATH --draft` writes one)"
        )


def _foreign(tables: Sequence[TableProfile]) -> Iterator[str]:
    said = [phrase for table in tables for phrase in (table.singular, *(column.phrase for column in table.columns))]
    words = {word for phrase in said for word in re.findall(r"[^\W\d_]{3,}", phrase.lower())}
    strange = sorted(word for word in words if not reads_as_english(word))
    if len(words) >= _TELLING and 2 * len(strange) > len(words):
        yield (
            f"most words of its names ({', '.join(strange[:3])}, ...) do not read as English, and questions will ask "
            "in them; give names in a semantics.yml (`agro databases PATH --draft` writes one)"
        )
