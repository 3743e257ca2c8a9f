"""Query logs: read whatever their form, and only their shapes are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from agro_data.intent.prior import default_prior
from agro_data.intent.query_log import LogReading, prior_from_log, read_log, shape_of

LOG = """2024-01-01 12:00:00 UTC LOG: statement: SELECT city, COUNT(*) FROM a GROUP BY city HAVING COUNT(*) > 2
nothing to read here
SELECT a FROM b WHERE c = 'semi;colon; select';
DELETE FROM a;
SELECT year(day),
   count(*)
FROM x
GROUP BY 1;
SELECT
"""


def test_statements_are_found_with_and_without_semicolons(tmp_path: Path) -> None:
    (tmp_path / "log.sql").write_text(LOG)
    reading = read_log(tmp_path / "log.sql", "duckdb")
    assert reading.shapes == {"date_group": 1, "having": 1, "list": 1}
    assert reading.ignored == 3, "a line of prose, a DELETE, a SELECT of nothing"
    assert reading.read == 3


def test_bytes_that_are_no_text_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "log.sql").write_bytes(b"\xff\xfe\x00;;'\nSELECT COUNT(*) FROM t\n")
    assert read_log(tmp_path / "log.sql", "sqlite").shapes == {"count": 1}


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("SELECT a FROM t", "list"),
        ("SELECT COUNT(*) FROM t", "count"),
        ("SELECT AVG(a) FROM t", "aggregate"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a", "group"),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > 1", "having"),
        ("SELECT a FROM t ORDER BY b DESC LIMIT 1", "superlative"),
        ("SELECT a FROM t UNION SELECT a FROM u", "set_operation"),
        ("SELECT a, RANK() OVER (ORDER BY b) FROM t", "window"),
        ("SELECT a FROM t WHERE b > (SELECT AVG(b) FROM t)", "compare_average"),
        ("SELECT a FROM t WHERE a NOT IN (SELECT b FROM u)", "related_none"),
        ("UPDATE t SET a = 1", None),
        ("not sql at all", None),
    ],
)
def test_each_statement_counts_for_its_most_telling_shape(sql: str, shape: str | None) -> None:
    assert shape_of(sql, "sqlite") == shape


def test_the_prior_moves_towards_the_log_and_forgets_nothing() -> None:
    base = default_prior()
    moved = prior_from_log(LogReading({"group": 30, "having": 70}, ignored=5), base)
    share = {shape: weight / sum(moved.shapes.values()) for shape, weight in moved.shapes.items()}
    assert share["having"] > 0.4
    assert share["group"] > 0.2
    assert min(share[shape] for shape, weight in base.shapes.items() if weight > 0) > 0
    assert prior_from_log(LogReading({}, ignored=9), base) == base
