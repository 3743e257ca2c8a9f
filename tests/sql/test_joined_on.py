"""USING and NATURAL as joins ON equal columns: the same rows, and no column called by a name that means another."""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from contextlib import closing

import duckdb
import pytest

from agro_data.databases.types import Dialect
from agro_data.populate.schema import read_ddl
from agro_data.sql.names.joined_on import joined_on
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.proofs import proved_equivalent

SCHEMA = {
    "a": {"id": "INTEGER", "x": "INTEGER", "N m": "TEXT"},
    "b": {"id": "INTEGER", "x": "INTEGER", "y": "TEXT"},
    "c": {"x": "INTEGER", "y": "TEXT"},
}
ROWS = {
    "a": [(n, x, name) for n, (x, name) in enumerate(itertools.product((1, 2, 3, None), "pq"))],
    "b": [(n, x, y) for n, (x, y) in enumerate(itertools.product((2, 3, 4, None), "qr"))],
    "c": [(2, "q"), (2, None), (3, "r"), (None, "q"), (5, "r")],
}
REWRITTEN = [
    'SELECT x, "N m" FROM a JOIN b USING (x) WHERE x > 1 ORDER BY x',
    "SELECT x, b.x, y FROM a LEFT JOIN b USING (id, x)",
    "SELECT x, COUNT(*) FROM a LEFT JOIN b USING (x) JOIN c USING (x) GROUP BY x",
    "SELECT a.id, y FROM a LEFT JOIN b USING (x) LEFT JOIN c USING (x, y)",
    "SELECT COUNT(*), MAX(y) FROM a NATURAL JOIN b",
    "SELECT x FROM a NATURAL LEFT JOIN c",
    "SELECT b.*, x FROM a LEFT JOIN b USING (x)",
    "SELECT id FROM a WHERE EXISTS (SELECT * FROM b JOIN c USING (y) WHERE b.x = a.x)",
    "SELECT y FROM b JOIN c USING (y) WHERE EXISTS (SELECT 1 FROM a WHERE a.x = b.x AND y = 'q')",
    "SELECT t.x, y FROM (SELECT x FROM a JOIN b USING (x)) AS t JOIN c USING (x)",
    "WITH q AS (SELECT x, COUNT(*) AS k FROM b GROUP BY x) SELECT x, k FROM a JOIN q USING (x)",
    "SELECT T1.id FROM a AS T1 JOIN b AS T2 USING (x) WHERE x IN (SELECT b.x FROM b JOIN c USING (y) WHERE b.x = c.x)",
]
KEPT = [
    "SELECT * FROM a JOIN b USING (x)",
    "SELECT x FROM a RIGHT JOIN b USING (x)",
    "SELECT x FROM a FULL JOIN b USING (x)",
    "SELECT y FROM b JOIN c USING (y) WHERE EXISTS (SELECT 1 FROM a AS b WHERE b.x = 2 AND y = 'q')",
    "SELECT a.id FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y",
]


def rewritten(sql: str, dialect: Dialect) -> str:
    made = joined_on(resolve(parse_select(sql, dialect), dialect, SCHEMA), dialect, SCHEMA)
    assert not made.problems
    return made.tree.sql(dialect)


def answer(sql: str, dialect: Dialect) -> Counter[tuple[object, ...]]:
    opened = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect(":memory:")
    with closing(opened) as connection:
        for table, columns in SCHEMA.items():
            named = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
            connection.execute(f"CREATE TABLE {table} ({named})")
            marks = ", ".join("?" for _ in columns)
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", ROWS[table])
        return Counter(map(tuple, connection.execute(sql).fetchall()))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("sql", REWRITTEN)
def test_the_rows_are_the_same(sql: str, dialect: Dialect) -> None:
    made = rewritten(sql, dialect)
    assert "USING" not in made
    assert "NATURAL" not in made
    assert answer(made, dialect) == answer(sql, dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("sql", KEPT)
def test_what_is_more_than_that_stays(sql: str, dialect: Dialect) -> None:
    assert rewritten(sql, dialect) == parse_select(sql, dialect).sql(dialect)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_proofs_see_through_them(dialect: Dialect) -> None:
    schema = read_ddl(
        "shop",
        """CREATE TABLE buyer (buyer_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE sale (id INTEGER PRIMARY KEY, buyer_id INTEGER NOT NULL REFERENCES buyer (buyer_id), sum REAL);""",
    )
    joined = "SELECT sum FROM sale JOIN buyer USING (buyer_id)"
    assert proved_equivalent("SELECT sum FROM sale", joined, dialect, schema) == "foreign_key + not_null"
    left = "SELECT name, COUNT(id) FROM buyer LEFT JOIN sale USING (buyer_id) GROUP BY name"
    assert proved_equivalent(left, left.replace("LEFT ", ""), dialect, schema) is None
