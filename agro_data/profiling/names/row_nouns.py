"""What rows are called in the light of their columns and keys: names alone do not say what a row is one of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agro_data.profiling.columns.stocks import is_stock
from agro_data.profiling.names.words import noun_forms, spell, split_identifier, stem
from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile, keys_by_table

_STORED = "recorded "  # before a number that a row keeps, where the rows themselves can be counted


def with_row_nouns(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> tuple[TableProfile, ...]:
    """The tables, rows that hold a number of things, or two of them, called records of these, and stored counts so."""
    by_name = {table.name: table for table in tables}
    up = keys_by_table(keys)
    called = [_records(table, up.get(table.name, ()), by_name) for table in tables]
    nouns = Counter(table.singular for table in called)
    kept = [one if nouns[one.singular] == 1 else table for one, table in zip(called, tables, strict=True)]
    children: dict[str, list[TableProfile]] = {}
    for table in kept:
        for key in up.get(table.name, ()):
            children.setdefault(key.ref_table, []).append(table)
    return tuple(
        replace(table, columns=tuple(_stored(column, table, children.get(table.name, ())) for column in table.columns))
        for table in kept
    )


def counts_rows(phrase: str, parent: TableProfile, child: TableProfile) -> bool:
    """Whether the phrase of a column of `parent` says how many rows of `child` there are: "taggings count", "number of
    taggings"; of a party also the "number of hosts", where there are party hosts.
    """
    said, owner = phrase.lower().removeprefix(_STORED), f"{parent.singular.lower()} "
    one, many = child.singular.lower(), child.plural.lower()
    return any(
        said in (f"{a} count", f"{some} count", f"count of {some}", f"number of {some}", f"total {some}", some)
        for a, some in ((one, many), (one.removeprefix(owner), many.removeprefix(owner)))
    )


def _stored(column: ColumnProfile, parent: TableProfile, children: Iterable[TableProfile]) -> ColumnProfile:
    """ "recorded number of loans" of a customer, where there is a table of loans: "customers with 3 loans" may be
    those of whom there are three rows.
    """
    if column.named or column.kind not in ("integer", "real"):
        return column
    if not any(counts_rows(column.phrase, parent, child) for child in children):
        return column
    alone = column.phrase.split(" ")[0] not in ("number", "count", "total") and not column.phrase.endswith(" count")
    if alone and not column.integral:  # amounts of money
        return column
    return replace(column, phrase=f"{_STORED}{'number of ' if alone else ''}{column.phrase}")


def _records(table: TableProfile, keys: Sequence[ForeignKey], by_name: Mapping[str, TableProfile]) -> TableProfile:
    if table.named:
        return table
    counting = next((column for column in table.columns if _counts_what_rows_are_called(column, table)), None)
    if counting is not None:
        return _called(table, spell(stem(counting.phrase.split())))
    if any(is_stock(c) and split_identifier(c.name) == split_identifier(table.name) for c in table.columns):
        return _called(table, table.singular)  # the population of a region in a year, of which each row has one
    own = [key for key in keys if len(key.columns) == 1]
    parents = [by_name[name] for name in dict.fromkeys(key.ref_table for key in keys) if name in by_name]
    for parent in parents:
        ends = [key for key in own if key.ref_table == parent.name]
        last = table.singular.rsplit(" ", 1)[-1]
        if len(ends) > 1 and any(_leads_to(table, key) == last for key in ends):
            return _called(table, table.singular)  # the "person friends", of which a person is the friend of another
        if not ends or not table.plural.endswith(f" {parent.plural}"):
            continue
        if len(ends) > 1:  # the "debate people" of a debate, two in each row
            return _called(table, table.plural)
        before = table.singular.removesuffix(
            f" {parent.singular}"
        )  # a "customer address" is called by both its parents
        if not any(f" {one.singular}".endswith(f" {before}") for one in parents) and _refers_again(table, own, ends[0]):
            return _called(table, table.singular)
    return table


def _leads_to(table: TableProfile, key: ForeignKey) -> str:
    return table.column(key.columns[0]).phrase.lower().removesuffix(" id")


def _called(table: TableProfile, noun: str) -> TableProfile:
    return replace(table, singular=f"{noun} record", plural=f"{noun} records")


def _counts_what_rows_are_called(column: ColumnProfile, table: TableProfile) -> bool:
    """Whether a row holds a number of what rows seem to be: of a table "degrees", the degrees given in a year."""
    if column.role != "measure" or column.named or column.phrase == table.singular:
        return False
    return spell(noun_forms(column.phrase.split())[1]) == table.plural


def _refers_again(table: TableProfile, keys: Iterable[ForeignKey], key: ForeignKey) -> bool:
    """Whether several rows lead to one thing by which they are called, and have no identity besides: of the "happy
    hour members" of a shop some are one member.
    """
    refers = {column for other in keys for column in other.columns}
    own = len(table.primary_key) == 1 and not refers.issuperset(table.primary_key)
    return not (own or table.label_columns or table.column(key.columns[0]).unique)
