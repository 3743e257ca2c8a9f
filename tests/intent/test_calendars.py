"""A date that a warehouse keeps as a row of its calendar is said as any date of a row."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Expression,
    Intent,
    Join,
    Or,
    Output,
    Query,
    Source,
    Value,
)
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database

_SCHEMA = """
    CREATE TABLE dim_date (date_key INTEGER PRIMARY KEY, full_date TEXT NOT NULL, day_name TEXT NOT NULL,
        month_name TEXT NOT NULL, year_num INTEGER NOT NULL, is_weekend TEXT NOT NULL);
    CREATE TABLE fct_lift (lift_key INTEGER PRIMARY KEY, date_key INTEGER NOT NULL REFERENCES dim_date,
        weight REAL NOT NULL);
    CREATE TABLE fct_bill (bill_no TEXT PRIMARY KEY, bill_date_key INTEGER NOT NULL REFERENCES dim_date,
        due_date_key INTEGER NOT NULL REFERENCES dim_date,
        paid_date_key INTEGER REFERENCES dim_date, amount REAL NOT NULL);
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("warehouse") / "warehouse.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_SCHEMA)
        for n in range(1, 91):
            day = date(2023, 11, 1) + timedelta(n)
            told = (f"{day:%A}", f"{day:%B}", day.year, "NY"[day.weekday() > 4])
            connection.execute("INSERT INTO dim_date VALUES (?, ?, ?, ?, ?, ?)", (n, str(day), *told))
            connection.execute("INSERT INTO fct_lift VALUES (?, ?, ?)", (n, n % 30 + 1, n * 1.5))
            connection.execute(
                "INSERT INTO fct_bill VALUES (?, ?, ?, ?, ?)",
                (f"B{n}", n % 50 + 1, n % 80 + 1, n % 70 + 9 if n % 9 else None, n * 2.5),
            )
        connection.commit()
    return profile_database(find_databases(path).databases[0])


_DAY = Source("d", "dim_date")
_LIFT, _ON = Source("l", "fct_lift"), Join("l", "d", (("date_key", "date_key"),), "inner", "up")
_BILL, _DUE = Source("b", "fct_bill"), Join("b", "d", (("due_date_key", "date_key"),), "inner", "up")
_FULL, _MONTH, _WEEKDAY = Column("d", "full_date"), Column("d", "month_name"), Column("d", "day_name")
_COUNT, _AMOUNT = Aggregate("count"), Column("b", "amount")


def _said(query: Query, profile: DatabaseProfile) -> list[str]:
    intent = Intent("warehouse", "list", query, 7)
    return [render_question(intent, profile, style, seed).text for style in STYLES for seed in range(6)]


def _shown(*expressions: Expression) -> tuple[Output, ...]:
    return tuple(map(Output, expressions))


def test_the_day_of_a_row_is_its_date(warehouse: DatabaseProfile) -> None:
    for source, join, called in ((_LIFT, _ON, "dates"), (_BILL, _DUE, "due dates")):
        said = _said(Query((source, _DAY), _shown(_FULL), (join,)), warehouse)
        assert all(called in text or called[:-1] in text for text in said)
        assert not [text for text in said if "full date" in text.lower()]


def test_a_bill_is_due_after_a_day(warehouse: DatabaseProfile) -> None:
    late = Comparison(">", _FULL, Value("2024-01-05", ("dim_date", "full_date")))
    said = _said(Query((_BILL, _DAY), _shown(_COUNT), (_DUE,), where=late), warehouse)
    assert not [text for text in said if "full date" in text or "due date with" in text or "due date whose" in text]
    assert all("due date" in text for text in said)
    both = _said(Query((_BILL, _DAY), _shown(Column("b", "bill_no"), _FULL), (_DUE,), where=late), warehouse)
    assert all(text.count("due date") == 2 and "of its" not in text for text in both)


def test_what_a_calendar_says_of_the_only_date_of_a_row_is_said_of_the_row(warehouse: DatabaseProfile) -> None:
    friday = Comparison("=", _WEEKDAY, Value("Friday", ("dim_date", "day_name")))
    weighed = Query((_LIFT, _DAY), _shown(Aggregate("avg", Column("l", "weight"))), (_ON,), where=friday)
    by_month = Query((_LIFT, _DAY), _shown(_MONTH, _COUNT), (_ON,), group_by=(_MONTH,))
    for query, word in ((weighed, "on a Friday"), (by_month, "month name")):
        said = _said(query, warehouse)
        assert all(word in text for text in said)
        assert not [text for text in said if "date" in text.lower()]


def test_days_and_months_of_a_calendar_are_said_as_days_and_months(warehouse: DatabaseProfile) -> None:
    either = Or(tuple(Comparison("=", _MONTH, Value(name, ("dim_date", "month_name"))) for name in ("May", "June")))
    lifted = Query((_LIFT, _DAY), _shown(_COUNT), (_ON,), where=either)
    assert all(re.search("in (either )?May or June", text) for text in _said(lifted, warehouse))
    friday = Comparison("=", _WEEKDAY, Value("Friday", ("dim_date", "day_name")))
    due = Query((_BILL, _DAY), _shown(Column("b", "bill_no")), (_DUE,), where=friday)
    assert all(re.search("due date (is )?on a Friday", text) for text in _said(due, warehouse))


def test_what_a_calendar_says_of_one_date_of_several_is_said_of_that_date(warehouse: DatabaseProfile) -> None:
    by_month = Query((_BILL, _DAY), _shown(_MONTH, Aggregate("sum", _AMOUNT)), (_DUE,), group_by=(_MONTH,))
    assert all("due date month name" in text for text in _said(by_month, warehouse))
    billed = replace(by_month, joins=(replace(_DUE, columns=(("bill_date_key", "date_key"),)),))
    assert all("bill date month name" in text for text in _said(billed, warehouse))


def test_a_date_that_rows_may_lack_is_said_to_be_known(warehouse: DatabaseProfile) -> None:
    paid = replace(_DUE, columns=(("paid_date_key", "date_key"),))
    shown = Query((_BILL, _DAY), _shown(Column("b", "bill_no"), _FULL), (paid,))
    assert all(
        re.search("(recorded|known) paid date|paid date is (recorded|known)", text) for text in _said(shown, warehouse)
    )
    late = replace(shown, where=Comparison(">", _FULL, Value("2024-01-05", ("dim_date", "full_date"))))
    assert not [text for text in _said(late, warehouse) if "known" in text or "recorded" in text]


def test_days_that_are_asked_about_themselves_are_dates(warehouse: DatabaseProfile) -> None:
    friday = Comparison("=", _WEEKDAY, Value("Friday", ("dim_date", "day_name")))
    said = _said(Query((_DAY,), _shown(_FULL), where=friday), warehouse)
    assert all("full date" in text for text in said)
