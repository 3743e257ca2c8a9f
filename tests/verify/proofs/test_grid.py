"""Queries that are proved the same agree wherever they run: all of a grid, held against each other.

Each rule is right about the pairs that were thought of for it. Here every clause meets every other one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import product

import pytest
from proof_pairs import filled, shop

from agro_data.verify.proofs import proved_equivalent

ON = "customer AS c {} purchase AS p ON p.customer_id = c.id"
SOURCES = ("purchase AS p", ON.format("JOIN"), ON.format("LEFT JOIN"))
CONDITIONS = ("", "p.total IS NOT NULL", "p.total > 1", "p.total IS NULL OR p.day = 'a'", "p.id IS NULL")
TOTALS = (
    "COUNT(*)", "COUNT(p.id)", "COUNT(p.total)", "COUNT(DISTINCT p.customer_id)", "SUM(p.total)",
    "COUNT(p.total), SUM(p.total)", "COUNT(*), SUM(p.total)", "COUNT(CASE WHEN p.total > 1 THEN p.id END)",
)  # fmt: skip
SHOWN = ("p.customer_id", "p.total", "p.id, p.day")
HAVING = ("", "COUNT(p.id) > 0", "COUNT(*) > 1", "COUNT(p.total) = 0", "MAX(p.total) > 1", "SUM(p.total) <> 0")
MEMBERS = (
    "SELECT customer_id FROM purchase", "SELECT c.id FROM customer AS c", "SELECT c.age FROM customer AS c",
    "SELECT c.id FROM customer AS c JOIN purchase AS q ON q.customer_id = c.id",
    "SELECT c.age FROM customer AS c JOIN customer AS q ON q.age = c.age",
    "SELECT c.age FROM customer AS c WHERE c.age IS NOT NULL",
)  # fmt: skip
GRIDS = {
    "totals": (("SELECT",), TOTALS, SOURCES, CONDITIONS, ("",), HAVING[:2]),
    "rows": (("SELECT", "SELECT DISTINCT"), SHOWN, SOURCES, CONDITIONS, ("",), ("",)),
    "groups": (("SELECT",), ("p.customer_id", *TOTALS[:5]), SOURCES, CONDITIONS[:3], ("p.customer_id",), HAVING),
}


def queries(grid: str) -> Iterator[str]:
    if grid == "members":
        for verb, asked, inner in product(("IN", "NOT IN"), ("id", "age"), MEMBERS):
            yield f"SELECT name FROM customer WHERE {asked} {verb} ({inner})"
    for verb, shown, source, where, group, having in product(*GRIDS.get(grid, ((),))):
        clauses = {"WHERE": where, "GROUP BY": group, "HAVING": having}
        more = "".join(f" {word} {clause}" for word, clause in clauses.items() if clause)
        yield f"{verb} {shown} FROM {source}{more}"


@pytest.mark.parametrize("grid", [*GRIDS, "members"])
def test_what_is_proved_the_same_agrees(grid: str) -> None:
    schema = shop()
    answers: dict[str, list[Counter[tuple[object, ...]]]] = defaultdict(list)
    for seed in range(30):
        with closing(filled(seed)) as connection:
            for sql in queries(grid):
                answers[sql].append(Counter(connection.execute(sql)))
    different: list[str] = []  # one for each answer
    for sql in queries(grid):
        others = [other for other in different if answers[other] != answers[sql]]
        for other in others:
            assert proved_equivalent(other, sql, "sqlite", schema) is None, f"{other}; {sql}"
        if len(others) == len(different):
            different.append(sql)
    assert len(different) > 4
