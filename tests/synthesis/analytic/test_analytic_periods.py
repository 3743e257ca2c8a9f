"""Groups by months, years and weekdays: the same groups are asked for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import duckdb
import pytest
from analysts import questions, read
from intent import shop

from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.synthesis.read_back.reading import Unread, read_intent


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("DATE_TRUNC('month', ordered)", "month (YYYY-MM)"),
        ("DATE_TRUNC('month', ordered)::DATE", "month (YYYY-MM)"),
        ("STRFTIME(ordered, '%Y-%m')", "month (YYYY-MM)"),
        ("EXTRACT(MONTH FROM ordered)", "calendar month"),
        ("DATE_TRUNC('year', ordered)", "year"),
        ("EXTRACT(YEAR FROM ordered)::INT", "year"),
        ("EXTRACT(DOW FROM ordered)", "weekday"),
        ("DAYNAME(ordered)", "weekday"),
    ],
)
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_groups_of_a_calendar_are_the_same_groups(part: str, said: str, kind: str) -> None:
    profile = shop.profile("duckdb")
    tables = [
        replace(
            t,
            columns=tuple(replace(c, declared_type=kind) if c.name == "ordered" else c for c in t.columns),
        )
        for t in profile.tables
    ]
    atlas = Atlas(replace(profile, tables=tuple(tables)))
    sql = f'SELECT {part} AS part, COUNT(*), SUM(total) FROM "order" GROUP BY part'
    intent = read(sql, atlas)
    with closing(shop.build_duckdb()) as connection:
        connection.execute(f"SET TimeZone = 'UTC'; ALTER TABLE \"order\" ALTER ordered TYPE {kind}")
        figures = [
            sorted((n, round(total, 2)) for _, n, total in connection.execute(s).fetchall())
            for s in (sql, render_sql(intent, atlas.profile))
        ]
    assert figures[0] == figures[1]
    for question in questions(intent, atlas):
        assert said in question
        assert ("UTC" in question) == kind.endswith("ZONE"), question


@pytest.mark.parametrize(
    "asked",
    [
        'YEAR(ordered) AS y, MONTH(ordered) AS m, COUNT(*), SUM(total) FROM "order" GROUP BY 1, 2',
        'YEAR(ordered) AS y, MONTH(ordered) AS m, COUNT(*), SUM(total) FROM "order" GROUP BY m, y ORDER BY y, m',
    ],
)
def test_a_year_and_its_month_are_one_month(asked: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection) -> None:
    intent = read(f"SELECT {asked}", atlas)
    written = connection.execute(f"SELECT {asked}").fetchall()
    rows = connection.execute(render_sql(intent, atlas.profile)).fetchall()
    in_order = "ORDER" in asked
    months = [(f"{year}-{month:02}", count, pytest.approx(total)) for year, month, count, total in written]
    assert (rows if in_order else sorted(rows)) == (months if in_order else sorted(months, key=lambda row: row[0]))
    for question in questions(intent, atlas):
        assert "month (YYYY-MM)" in question


@pytest.mark.parametrize(
    "asked",
    [
        'MONTH(ordered) AS m, COUNT(*) FROM "order" GROUP BY YEAR(ordered), 1',
        'YEAR(ordered) AS y, MONTH(ordered) AS m, COUNT(*) FROM "order" GROUP BY 1, 2 ORDER BY m, y',
    ],
)
def test_a_month_without_its_year_is_another(asked: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT {asked}", atlas), Unread)
