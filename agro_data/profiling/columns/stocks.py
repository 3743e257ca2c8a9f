"""Stocks that are counted again each day, month or year: what is on an account is no sum over days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agro_data.profiling.kinds import days_of
from agro_data.profiling.names.words import split_identifier, word_set
from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile, Within, keys_by_table

_STOCKS = word_set(
    "balance balances stock inventory headcount outstanding overdue backlog population inhabitants subscribers "
    "subscriptions holding holdings position positions occupancy enrollment enrolment mrr arr aum onhand members"
)
_TAKEN = word_set("snapshot snapshots eod")  # a table, or a day, of which all that is counted is a stock
_COUNTED_ON = _TAKEN | word_set(
    "date day month week year period as of at asof balance stock inventory position report reporting valuation "
    "business calendar observation record key id sk end"
)


def with_days_of_stocks(tables: Sequence[TableProfile], keys: Sequence[ForeignKey]) -> tuple[TableProfile, ...]:
    """The tables, stocks with the day, month or year on which they are counted: they are summed within one.

    Told by names, since a payment of each day is summed over days: the quantity is called as a stock is, or its table
    or day as a snapshot. The day may be in a warehouse's calendar.
    """
    up = keys_by_table(keys)
    days = {table.name: found[0] for table in tables if (found := days_of(table))}

    def held(table: TableProfile) -> TableProfile:
        day = next(_days(table, up.get(table.name, ()), days), None)
        if day is None:
            return table
        name, within = day
        whole = not _TAKEN.isdisjoint([*split_identifier(table.name), *split_identifier(name)])
        columns = (
            replace(c, within=(*c.within, within)) if is_stock(c) or (whole and c.role == "measure") else c
            for c in table.columns
        )
        return replace(table, columns=tuple(columns))

    return tuple(map(held, tables))


def is_stock(column: ColumnProfile) -> bool:
    """Whether a quantity is called as what is there at some time, and counted again at another."""
    return column.role == "measure" and not _STOCKS.isdisjoint(split_identifier(column.name))


def _days(table: TableProfile, keys: Sequence[ForeignKey], days: Mapping[str, str]) -> Iterator[tuple[str, Within]]:
    """The columns that say when a table's rows were counted, each thing's several times, and where the day is: `days`
    are those of calendars, `keys` those of the table.
    """
    calendars = {
        key.columns[0]: Within(days[key.ref_table], (key,), summed=True)
        for key in keys
        if len(key.columns) == 1 and key.ref_table in days
    }
    for column in table.columns:
        several = 1 < column.distinct <= table.rows / 2 and set(split_identifier(column.name)) <= _COUNTED_ON
        if not several or not _counts_again(table, column):
            continue
        if found := calendars.get(column.name):
            yield column.name, found
        elif column.role in ("date", "year"):
            yield column.name, Within(column.name, summed=True)


def _counts_again(table: TableProfile, day: ColumnProfile) -> bool:
    """Whether something else that rows are of is in several of them."""
    return any(
        1 < c.distinct <= table.rows / 2 for c in table.columns if c is not day and c.role in ("identifier", "category")
    )
