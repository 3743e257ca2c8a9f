"""Values of a statement, as they are compared with those of a question."""

from __future__ import annotations

import pytest

from agro_data.databases.types import Dialect
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.sql.said import values_in


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("limit", "limits"), [("5", (5,)), ("5 OFFSET 2", (5, 2)), ("1e999", ()), ("1" * 400, ()), ("2 OFFSET 1e999", (2,))]
)
def test_a_limit_without_bound_is_no_number_of_rows(dialect: Dialect, limit: str, limits: tuple[int, ...]) -> None:
    sql = f"SELECT a FROM t LIMIT {limit}"
    found = resolve(parse_select(sql, dialect), dialect, {"t": {"a": "INTEGER"}})
    assert sorted(values_in(found, sql).limits) == sorted(limits)
