"""Steps of any SQL: each runs by itself, is used by a later one, and leads to the query; nothing is left out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from intent import shop

from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.steps.decompose import MOST
from agro_data.sql.parse import SqlRefused
from agro_data.synthesis.decomposition import steps_of

PROFILE = shop.profile()


def check(sql: str, database: Path) -> list[str]:
    steps = steps_of(sql, "sqlite", PROFILE.schema)
    names = [step.name for step in steps]
    assert len(set(names)) == len(names) <= MOST
    assert steps[-1].sql == sql
    assert {name for step in steps for name in step.inputs} == set(names[:-1]), "every step is used"
    for place, step in enumerate(steps):
        assert set(step.inputs) <= set(names[:place])
        assert step.intent.endswith(".")
        with closing(sqlite3.connect(database)) as connection:
            connection.execute(step.sql).fetchall()
    return names


def test_whatever_the_grammar_writes_is_taken_apart(database: Path) -> None:
    counts = [
        len(check(render_sql(intent, PROFILE), database)) for intent in islice(sample_intents(PROFILE, seed=2), 200)
    ]
    assert sum(count > 1 for count in counts) > 60


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT name FROM customers", ["answer"]),
        (
            'WITH a AS (SELECT customer_id, total FROM "order"), b AS (SELECT customer_id, SUM(total) AS s FROM a'
            " GROUP BY customer_id) SELECT name, s FROM b JOIN customers USING (customer_id) WHERE s > 900",
            ["a", "b", "answer"],
        ),
        (
            "SELECT city, COUNT(*) FROM customers WHERE birth_year > (SELECT AVG(birth_year) FROM customers)"
            " GROUP BY city",
            ["figure", "matching_rows", "answer"],
        ),
        (
            'WITH "2020 births" AS (SELECT name FROM customers WHERE birth_year = 1980) SELECT name FROM "2020 births"',
            ["step_2020_births", "answer"],
        ),
        ("SELECT city FROM customers UNION SELECT city FROM employees", ["first_part", "second_part", "answer"]),
        (
            "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM \"order\" o WHERE o.customer_id = c.customer_id)",
            ["answer"],
        ),
        (
            'WITH "group"(x) AS (SELECT city FROM customers), b AS (SELECT x FROM "group") SELECT COUNT(*) FROM b',
            ["group", "b", "answer"],
        ),
        (
            "SELECT * FROM (WITH x AS (SELECT city FROM customers) SELECT * FROM (SELECT city FROM x) AS y) AS z",
            ["z", "answer"],
        ),
        ("SELECT COUNT(*), birth_year * 2 AS d FROM customers WHERE d > 3900 GROUP BY city", ["answer"]),
        (
            "SELECT city FROM customers UNION SELECT city FROM employees LIMIT (SELECT COUNT(*) FROM categories)",
            ["first_part", "second_part", "inner_rows", "answer"],
        ),
        (
            "SELECT d.city FROM (SELECT city, COUNT(*) AS n FROM customers GROUP BY city) AS d WHERE d.n > 3",
            ["d", "answer"],
        ),
    ],
)  # fmt: skip
def test_the_parts_of_a_query_are_its_steps(sql: str, names: list[str], database: Path) -> None:
    assert check(sql, database) == names


def test_a_step_holds_all_that_it_reads(database: Path) -> None:
    sql = "WITH a AS (SELECT city FROM customers), b AS (SELECT city FROM a) SELECT COUNT(*) FROM b"
    steps = steps_of(sql, "sqlite", PROFILE.schema)
    assert steps[1].sql.startswith("WITH a AS")
    assert steps[1].inputs == ("a",)
    assert steps[1].columns == ("customers.city",)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM read_csv((SELECT name FROM customers))",
        f"SELECT 1 FROM {', '.join(f'customers c{n}' for n in range(80))} WHERE EXISTS (SELECT 1)",
        "SELECT salary FROM customers",
    ],
)
def test_what_the_gate_refuses_has_no_steps(sql: str) -> None:
    with pytest.raises(SqlRefused):
        steps_of(sql, "sqlite", PROFILE.schema)
