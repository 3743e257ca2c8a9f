"""What a person who gives a database should know of it before a corpus is built: one line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agro_data.profiling.profile import ForeignKey, TableProfile


def remarks(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> Iterator[str]:
    """All that is to be said of the tables of one database and the keys between them."""
    yield from _endless(tables)
    yield from _unlinked(tables, keys)


def _endless(tables: Sequence[TableProfile]) -> Iterator[str]:
    """Columns of numbers that NaN or infinity makes unfit for sums: nobody would miss them unsaid."""
    for table in tables:
        for column in table.columns:
            if column.kind == "other" and column.declared_type in ("DOUBLE", "FLOAT"):
                yield (
                    f"table {table.name!r}: column {column.name!r} holds NaN or infinity: shown, but never compared "
                    "or summed; store NULL for what is missing"
                )


def _unlinked(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> Iterator[str]:
    filled = [table.name for table in tables if table.rows and not table.is_view]
    if len(filled) > 1 and not keys:
        yield (
            f"no foreign key is declared or could be inferred between its {len(filled)} tables, so no question will "
            "join two of them; state keys under `joins` in a semantics.yml (`agro databases PATH --draft` writes one)"
        )
