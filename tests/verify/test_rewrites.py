"""What `bench.rewrites` calls another way to write a query gives the same rows."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from verify_shop import shop

from agro_data.profiling.profiler import profile_database
from bench.rewrites import rewrites_of

CHOICES = (
    "SELECT c.name, p.total FROM customer AS c JOIN purchase AS p ON c.id = p.customer_id OR p.total > 50 "
    "JOIN adult AS a ON a.id = c.id OR a.name = 'Bo' WHERE c.city = 'Rome' OR c.age > 40"
)


def test_a_rewrite_of_choices_gives_the_same_rows(tmp_path: Path) -> None:
    database = shop(tmp_path, "sqlite")
    made = {one.kind: one.sql for one in rewrites_of(CHOICES, profile_database(database))}
    with closing(sqlite3.connect(database.path)) as connection:
        rows = Counter(connection.execute(CHOICES))
        assert {kind: sql for kind, sql in made.items() if Counter(connection.execute(sql)) != rows} == {}
    assert {"join order", "comma join", "De Morgan", "conditions in other order"} <= made.keys()
