"""Moments that are kept as texts in forms which do not sort: what SQL reads is what Python reads."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta

import duckdb
import pytest
from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.pairs.values.written_dates import Dates, date_ways

MOMENTS = [datetime(2009, 3, 29, 16, 5, 9) + timedelta(days=17 * n, hours=7 * n, minutes=11 * n) for n in range(60)]


def _twelve(hour: int) -> tuple[int, str]:
    return hour % 12 or 12, "AM" if hour < 12 else "PM"


def _written(form: str, at: datetime) -> str:
    hour, half = _twelve(at.hour)
    return form.format(
        d=at.day, m=at.month, y=at.year, yy=at.year % 100, H=at.hour, h=hour, M=at.minute, S=at.second, half=half
    )


@pytest.mark.parametrize(
    ("form", "seconds"),
    [
        ("{m}/{d}/{y} {h}:{M:02d} {half}", False),
        ("{m}/{d}/{y} {h}:{M:02d}:{S:02d}{half}", True),
        ("{m:02d}/{d:02d}/{y} {h:02d}:{M:02d} {half}", False),
        ("{d}.{m}.{y} {H}:{M:02d}", False),
        ("{d:02d}.{m:02d}.{y} {H:02d}:{M:02d}:{S:02d}", True),
        ("{m}/{d}/{yy:02d} {H:02d}:{M:02d}", False),
        ("{y}-{m}-{d} {H}:{M:02d}:{S:02d}", True),
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_moments_are_read_the_same_by_sql(form: str, seconds: bool, dialect: Dialect) -> None:
    texts = [_written(form, at) for at in MOMENTS]
    expected = [at.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M") for at in MOMENTS]
    way = next(way for way in date_ways(texts, (), dialect) if [way.value(text) for text in texts] == expected)
    assert _by_sql(way, texts, dialect) == expected


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{m}/{d}/{y} {H}:{M:02d}", "{m}/{d}/{yy:02d} {H}:{M:02d}"),
        ("{m:02d}/{d:02d}/{y} {H:02d}:{M:02d}", "{m:02d}/{d:02d}/{yy:02d} {H:02d}:{M:02d}"),
        ("{d}-{m}-{y} {H}:{M:02d}", "{y}-{m:02d}-{d:02d} {H:02d}:{M:02d}"),
        ("{d}-{m}-{yy:02d} {H}:{M:02d}", "{y}-{m}-{d} {H}:{M:02d}"),
    ],
)
def test_moments_of_several_forms_are_each_read_by_theirs(one: str, other: str, turned: bool, dialect: Dialect) -> None:
    forms = (other, one) if turned else (one, other)
    texts = [_written(forms[n % 2], at) for n, at in enumerate(MOMENTS)]
    expected = [at.strftime("%Y-%m-%d %H:%M") for at in MOMENTS]
    way = next(way for way in date_ways(texts, (), dialect) if [way.value(text) for text in texts] == expected)
    assert _by_sql(way, texts, dialect) == expected


def _by_sql(way: Dates, texts: list[str], dialect: Dialect) -> list[str]:
    sql = f"SELECT {way.read(exp.column('moment')).sql(dialect)} FROM log ORDER BY id"
    rows = list(enumerate(texts))
    if dialect == "duckdb":
        with duckdb.connect() as database:
            database.execute("CREATE TABLE log (id INTEGER, moment TEXT)")
            database.executemany("INSERT INTO log VALUES (?, ?)", rows)
            return [value for (value,) in database.execute(sql).fetchall()]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE log (id INTEGER, moment TEXT)")
        connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
        return [value for (value,) in connection.execute(sql)]


@pytest.mark.parametrize(
    "texts",
    [
        ["3/29/2009 4:05 PM", "4/15/2009 16:05"],  # of both kinds
        ["3/29/2009 4:05 PM", "4/15/2009"],
        ["3/29/2009 13:05 PM", "4/15/2009 4:05 AM"],  # no such hour
        ["3/29/2009 4:05", "4/15/2009 4:05:10"],
        ["2009-03-29 16:05", "2009-04-15 04:05"],  # sorts
    ],
)
def test_times_in_several_forms_are_not_read(texts: list[str]) -> None:
    assert date_ways(texts, (), "sqlite") == ()
