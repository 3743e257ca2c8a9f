"""The first rows of each group, places of rows, and bands of a CASE."""

from __future__ import annotations

import re

import duckdb
import pytest
from analysts import questions, read

from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.synthesis.read_back.reading import Unread, read_intent

FIRST = "ROW_NUMBER() OVER (PARTITION BY city ORDER BY salary DESC) AS n FROM employees"


RANKED = (
    f"SELECT city, last_name, salary FROM (SELECT *, {FIRST}) AS ranked WHERE n = 1",
    f"WITH r AS (SELECT city, last_name, salary, {FIRST}) SELECT last_name, city FROM r WHERE n <= 2",
    f"SELECT * EXCLUDE (n) FROM (SELECT last_name, salary, city, {FIRST}) AS q WHERE n < 2",
    "SELECT city, last_name FROM employees QUALIFY RANK() OVER (PARTITION BY city ORDER BY salary, employee_id) = 1",
    "SELECT c.name, o.order_id, o.total FROM \"order\" o JOIN customers c ON c.customer_id = o.customer_id"
    " WHERE o.status = 'open' QUALIFY ROW_NUMBER() OVER (PARTITION BY o.customer_id ORDER BY o.total DESC) = 1",
    "SELECT DISTINCT ON (city) city, last_name FROM employees ORDER BY city, salary DESC",
)  # fmt: skip


@pytest.mark.parametrize("sql", RANKED)
def test_the_first_rows_of_each_group_are_asked_with_ties(
    sql: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    assert (intent.shape, intent.tie_policy) == ("top_per_group", "include_ties")
    rows = [sorted(map(repr, connection.execute(s).fetchall())) for s in (sql, render_sql(intent, atlas.profile))]
    assert rows[0] == rows[1] != []
    for question in questions(intent, atlas):
        assert re.search("[Ff]or (?:each|every) (?:city|customer)", question), question
        assert "ties" in question or "tie for" in question, question
        assert ("among" in question.lower()) == ("'open'" in sql), question


@pytest.mark.parametrize(
    ("sql", "shape", "said"),
    [
        ("SELECT last_name, RANK() OVER (ORDER BY salary DESC) FROM employees", "window", "rank by salary"),
        ("SELECT last_name, DENSE_RANK() OVER (PARTITION BY city ORDER BY salary) FROM employees WHERE salary > 2000",
         "window", "[Aa]mong employees .*2000.*without gaps"),
        ("SELECT city, SUM(salary) FROM employees GROUP BY city QUALIFY RANK() OVER (ORDER BY SUM(salary) DESC) <= 3",
         "superlative_group", "3 cities"),
        ("SELECT last_name FROM employees QUALIFY ROW_NUMBER() OVER (ORDER BY salary DESC) <= 3", "superlative",
         "3 .*employees|three"),
        ("SELECT STRFTIME(ordered, '%Y') AS y, status, COUNT(*) FROM \"order\" GROUP BY 1, 2 ORDER BY 1, 2",
         "date_group", "combination"),
        ("SELECT DAYNAME(ordered) AS d, COUNT(*) FROM \"order\" GROUP BY d ORDER BY d", "date_group", "weekday"),
        ("SELECT CASE WHEN salary < 2000 THEN 'a' WHEN salary < 4000 THEN 'b' ELSE 'c' END AS band, COUNT(*)"
         " FROM employees GROUP BY 1 ORDER BY 2", "buckets",
         '"a" below 2000, "b" from 2000 to below 4000,? and "c" from'),
        ("SELECT CASE WHEN salary >= 4000 THEN 'a' WHEN salary >= 2000 THEN 'b' ELSE 'c' END AS band, AVG(salary)"
         " FROM employees WHERE city = 'Oslo' GROUP BY band", "buckets",
         'Oslo.*"c" below 2000, "b" from 2000 to below 4000,? and "a" from'),
    ],
)  # fmt: skip
def test_places_of_rows_and_periods_are_asked(
    sql: str, shape: str, said: str, atlas: Atlas, connection: duckdb.DuckDBPyConnection
) -> None:
    intent = read(sql, atlas)
    assert intent.shape == shape
    written, asked = (connection.execute(s).fetchall() for s in (sql, render_sql(intent, atlas.profile)))
    assert [row[1:] for row in sorted(written)] == [row[1:] for row in sorted(asked)] != []
    for question in questions(intent, atlas):
        assert re.search(said, question), question


@pytest.mark.parametrize(
    "asked",
    [
        "last_name FROM employees QUALIFY RANK() OVER (PARTITION BY city ORDER BY salary) = 2",
        "last_name FROM employees QUALIFY ROW_NUMBER() OVER (ORDER BY salary DESC) <= 3 ORDER BY hired LIMIT 9",
        "last_name FROM employees QUALIFY RANK() OVER (PARTITION BY city ORDER BY salary) = 1",
        "manager_id, last_name FROM employees QUALIFY RANK() OVER (PARTITION BY manager_id ORDER BY salary) = 1",
        "last_name, ROW_NUMBER() OVER (ORDER BY salary) FROM employees",
        "last_name, RANK() OVER (ORDER BY salary, hired) FROM employees",
        'order_id, SUM(total) OVER (ORDER BY status) FROM "order"',
        'order_id, SUM(total) OVER (PARTITION BY status) FROM "order"',
    ],
)
def test_other_windows_are_not_read(asked: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT {asked}", atlas), Unread)


@pytest.mark.parametrize(
    "case",
    [
        "WHEN salary < 4000 THEN 'a' WHEN salary < 2000 THEN 'b' ELSE 'c'",
        "WHEN salary < 2000 THEN 'a' WHEN hired < '2015-01-01' THEN 'b' ELSE 'c'",
        "WHEN salary < 2000 THEN 'a' WHEN salary < 4000 THEN 'b'",
        "WHEN salary <= 2000 THEN 'a' ELSE 'b'",
        "WHEN salary < 2000 THEN 'a' WHEN salary < 4000 THEN 'a' ELSE 'b'",
    ],
)
def test_other_labels_are_no_bands(case: str, atlas: Atlas) -> None:
    assert isinstance(read_intent(f"SELECT CASE {case} END AS band, COUNT(*) FROM employees GROUP BY 1", atlas), Unread)
