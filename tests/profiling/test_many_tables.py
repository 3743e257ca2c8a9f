"""What schemas of many tables cost: as much again for as many tables again, not the square."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agro_data.databases.discovery.catalog import usable_databases
from agro_data.databases.trusted.connections import open_database
from agro_data.profiling.columns.stocks import with_days_of_stocks
from agro_data.profiling.columns.unit_columns import with_units_of_parents
from agro_data.profiling.keys.foreign_keys import KeyTable, propose, propose_by_values
from agro_data.profiling.names.naming import name_database
from agro_data.profiling.names.row_nouns import with_row_nouns
from agro_data.profiling.profile import ColumnProfile, ForeignKey, TableProfile

COLUMNS = ["opened_by", "srvc_remark", *(f"long_remark_{number}" for number in range(6))]


def lines_run(work: Callable[[], object]) -> int:
    """Lines of Python that run in `work`: the same on every machine."""
    run = 0

    def seen(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal run
        run += event == "line"
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        work()
    finally:
        sys.settrace(before)
    return run


def named(count: int) -> object:
    return name_database({f"ledger_{number}": COLUMNS for number in range(count)}, {})


def keyed(count: int) -> object:
    """Tables that declare no key, whose columns have the same names and look like none."""
    columns = {column: column.split("_") for column in COLUMNS}
    tables = [KeyTable(f"t{number}", [f"t{number}"], columns, (), (), keyless=True) for number in range(count)]
    proposed = propose_by_values(tables, frozenset())
    assert proposed == []
    return proposed


def proposed(count: int) -> object:
    """Tables of which each names the one before, and all have an "id" and a "remark id" that is nobody's."""
    columns = [{"id": ["id"], "up": [f"t{n - 1}", "id"], "remark": ["remark", "id"]} for n in range(count)]
    tables = [KeyTable(f"t{n}", [f"t{n}"], columns[n], ("id",), ("id",)) for n in range(count)]
    found = propose(tables, frozenset())
    assert {(one.table, one.column, one.ref_table) for one in found} == {
        (f"t{n}", "up", f"t{n - 1}") for n in range(1, count)
    }
    return found


def related(count: int) -> object:
    """Tables of amounts, each of which belongs to the one before."""
    key = ColumnProfile("up_id", "INTEGER", "integer", "identifier", "up ID", distinct=9)
    amount = ColumnProfile("amount", "REAL", "real", "measure", "amount", distinct=9, minimum=0)
    common = (("EUR", 9), ("USD", 9))
    unit = ColumnProfile("currency", "TEXT", "text", "category", "currency", distinct=2, common=common)
    tables = [TableProfile(f"t{n}", 90, (key, amount, *[unit][n % 2 :]), f"t{n}", f"t{n}s") for n in range(count)]
    keys = [ForeignKey(f"t{n}", ("up_id",), f"t{n - 1}", ("up_id",)) for n in range(1, count)]
    told = with_row_nouns(with_days_of_stocks(with_units_of_parents(tables, keys), keys), keys)
    assert all(table.by_name["amount"].within for table in told[1:])
    return told


@pytest.mark.parametrize("work", [named, keyed, proposed, related])
def test_twice_the_tables_take_twice_the_steps(work: Callable[[int], object]) -> None:
    work(2)  # what is made once
    few, many = (lines_run(lambda count=count: work(count)) for count in (40, 80))  # type: ignore[misc]
    assert many < 2.2 * few


def test_twice_the_tables_are_listed_in_twice_the_steps(tmp_path: Path) -> None:
    def listing(count: int) -> int:
        path = tmp_path / f"of_{count}.sqlite"
        with closing(sqlite3.connect(path)) as made:
            for number in range(count):
                made.execute(f"CREATE TABLE t{number} AS SELECT 1 AS a")
            made.commit()
        [database] = usable_databases(path).databases
        with open_database(database) as connection:
            return lines_run(connection.objects)

    assert listing(80) < 2.2 * listing(40)
