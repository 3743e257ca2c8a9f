"""Texts that stand where a column is meant, and answers that are read from no table."""

from __future__ import annotations

import pytest

from agro_data.databases.types import Dialect
from agro_data.pairs.execution.reading import check_reading
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SCHEMA = {"singer": {"Name": "TEXT", "Age": "INTEGER"}}


def said(sql: str, dialect: Dialect = "sqlite") -> list[str]:
    found = resolve(parse_select(sql, dialect), dialect, SCHEMA)
    return [finding.kind for finding in check_reading({sql: found})[sql]]


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT DISTINCT "Nam" FROM singer',
        'SELECT Name, "Nam" AS n FROM singer',
        'SELECT COUNT(DISTINCT "Nam") FROM singer',
        'SELECT MAX("Nam") FROM singer',
        'SELECT COUNT(*) FROM singer GROUP BY "Nam"',
        'SELECT Name FROM singer ORDER BY "Nam" DESC',
        "SELECT Name FROM singer WHERE \"Nam\" = 'Ann'",
        'SELECT Name FROM singer WHERE ("Nam") > 3',
        "SELECT Name FROM singer WHERE \"Nam\" IN ('Ann') OR Age = 3",
        'SELECT Name FROM singer WHERE "Nam" IS NULL',
        'SELECT Name FROM singer WHERE "Nam" BETWEEN 1 AND 2',
    ],
)
def test_a_misspelt_column_in_quotes_is_told(sql: str) -> None:
    assert said(sql) == ["name_as_text"]


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "Name" FROM singer WHERE "Name" = "Ann" ORDER BY "Age"',
        'SELECT Name FROM singer WHERE "Ann" = Name OR Name IN ("Bo", "Ann") OR Name LIKE "B%"',
        'SELECT strftime("%Y", Age), CASE WHEN Age > 3 THEN "old" ELSE "young" END FROM singer',
        "SELECT 'singers', COUNT(*) FROM singer",
        "SELECT (SELECT MAX(Age) FROM singer) - 1",
    ],
)
def test_texts_where_a_text_is_meant_pass(sql: str) -> None:
    assert said(sql) == []


def test_an_answer_from_no_table_is_told() -> None:
    assert said("SELECT COUNT(*) FROMpeople") == ["no_table"]
    assert said("WITH one AS (SELECT 1 AS x) SELECT x FROM one") == ["no_table"]
