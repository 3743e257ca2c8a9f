"""How long something took, in days, as each engine spells it: read, and asked as the days between two dates."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import duckdb
import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.intent.questions import render_question
from agro_data.intent.questions.styles import STYLES
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.steps.decompose import decompose
from agro_data.intent.tree import Intent, from_json, to_json
from agro_data.profiling.profiler import profile_database
from agro_data.sql.forms.foreign import as_ours
from agro_data.synthesis.read_back.reading import Unread, read_intent

TABLE = (
    "CREATE TABLE parcel (parcel_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, booked_on DATE NOT NULL,"
    " delivered_on DATE, left_at TIMESTAMP NOT NULL, back_at TIMESTAMP)"
)
ROWS = [
    (n, ("small", "large")[n % 2], f"2024-0{1 + n % 3}-{1 + n:02}",
     f"2024-0{1 + n % 3}-{2 + n + n % 9:02}" if n % 5 else None,
     f"2024-03-{1 + n:02} 23:30:00", f"2024-03-{2 + n:02} 00:{10 + n}:00" if n % 4 else None)
    for n in range(1, 19)
]  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Atlas, Any]]:
    path = tmp_path_factory.mktemp("parcels") / f"parcels.{request.param}"
    connect: Any = sqlite3.connect if request.param == "sqlite" else duckdb.connect
    with closing(connect(str(path))) as made:
        made.execute(TABLE)
        made.executemany("INSERT INTO parcel VALUES (?, ?, ?, ?, ?, ?)", ROWS)
        made.commit()
    with closing(connect(str(path))) as connection:
        yield Atlas(profile_database(find_databases(path).databases[0])), connection


@pytest.mark.parametrize(
    ("written_in", "days"),
    [
        ("bigquery", "DATE_DIFF(delivered_on, booked_on, DAY)"),
        ("snowflake", "DATEDIFF(day, booked_on, delivered_on)"),
        ("mysql", "DATEDIFF(delivered_on, booked_on)"),
        ("tsql", "DATEDIFF(day, booked_on, delivered_on)"),
        ("duckdb", "DATE_DIFF('day', booked_on, delivered_on)"),
        ("bigquery", "DATE_DIFF(DATE(back_at), DATE(left_at), DAY)"),
    ],
)
@pytest.mark.parametrize(
    "asked",
    [
        "AVG({}) FROM parcel WHERE delivered_on IS NOT NULL",
        "kind, MAX({}), MIN({}) FROM parcel WHERE back_at IS NOT NULL AND delivered_on IS NOT NULL GROUP BY kind",
        "COUNT(*) FROM parcel WHERE {} > 3",
        "kind, AVG({}) AS d FROM parcel WHERE back_at IS NOT NULL AND delivered_on IS NOT NULL GROUP BY 1 ORDER BY d",
    ],
)
def test_days_between_dates_are_asked(written_in: str, days: str, asked: str, opened: tuple[Atlas, Any]) -> None:
    atlas, connection = opened
    sql = as_ours(f"SELECT {asked.format(days, days)}", written_in, atlas.profile.dialect)
    intent = read_intent(sql, atlas, seed=1)
    assert isinstance(intent, Intent), intent
    rows = [sorted(map(repr, connection.execute(s).fetchall())) for s in (sql, render_sql(intent, atlas.profile))]
    assert rows[0] == rows[1] != []
    assert from_json(to_json(intent)) == intent
    assert "days from" in " ".join(step.intent for step in decompose(intent, atlas.profile))
    ends = r"the left \w+ to the back" if "left_at" in days else r"the book\w+ date to the deliver\w+ date"
    for style in STYLES:
        assert re.search(f"days from {ends}", render_question(intent, atlas.profile, style, 1).text)


@pytest.mark.parametrize(
    "days",
    [
        "DATE_DIFF(back_at, left_at, HOUR)",
        "DATE_DIFF(delivered_on, delivered_on, DAY)",
        "DATE_DIFF(delivered_on, booked_on, MINUTE)",
    ],
)
def test_other_spans_are_not_read(days: str, opened: tuple[Atlas, Any]) -> None:
    atlas, _ = opened
    sql = as_ours(f"SELECT AVG({days}) FROM parcel", "bigquery", atlas.profile.dialect)
    assert isinstance(read_intent(sql, atlas), Unread)


def test_a_count_of_spans_is_none_of_rows(opened: tuple[Atlas, Any]) -> None:
    atlas, _ = opened
    sql = "SELECT COUNT(DATE_DIFF(delivered_on, booked_on, DAY)) FROM parcel"
    assert isinstance(read_intent(as_ours(sql, "bigquery", atlas.profile.dialect), atlas), Unread)


def test_a_difference_counts_days_where_an_engine_knows_dates(opened: tuple[Atlas, Any]) -> None:
    atlas, _ = opened
    days = isinstance(read_intent("SELECT AVG(delivered_on - booked_on) FROM parcel", atlas), Intent)
    assert days == (atlas.profile.dialect == "duckdb")  # of texts, SQLite subtracts the years
    assert isinstance(read_intent("SELECT AVG(julianday(back_at) - julianday(left_at)) FROM parcel", atlas), Unread)
