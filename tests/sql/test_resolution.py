"""What a key of GROUP BY or ORDER BY stands for."""

from __future__ import annotations

import pytest

from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select

SCHEMA = {"film": {"title": "title", "year": "year"}}


@pytest.mark.parametrize(
    ("sql", "stands_for"),
    [
        ("SELECT year + 1 AS next, COUNT(*) FROM film GROUP BY next", "year + 1"),
        ("SELECT year + 1 AS next, COUNT(*) FROM film GROUP BY 1", "year + 1"),
        ("SELECT year AS y, y AS z, COUNT(*) FROM film GROUP BY 2", "year"),
        ("SELECT title, COUNT(*) FROM film GROUP BY year", "year"),
        ("SELECT title FROM film GROUP BY 2", "2"),  # no such output
        ("SELECT gone AS gone FROM film GROUP BY 1", "gone"),
    ],
)
def test_a_key_stands_for_an_output_or_for_itself(sql: str, stands_for: str) -> None:
    tree = parse_select(sql, "duckdb")
    found = resolve(tree, "duckdb", SCHEMA)
    [key] = tree.args["group"].expressions
    select = found.scopes[0].select
    assert found.meaning(key, select).sql("duckdb") == stands_for
