"""By which formulas columns follow from others, as the statement that makes their table says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from making import profile_of

from agro_data.databases.schema.computed import formulas
from agro_data.databases.types import Dialect
from agro_data.populate.surrogate import build_surrogate, surrogate_schema

LINE = """CREATE TABLE "a line" (
  id INTEGER PRIMARY KEY, "its qty" INTEGER NOT NULL, price DOUBLE, name VARCHAR NOT NULL,
  total DOUBLE GENERATED ALWAYS AS ("its qty" * price), label VARCHAR AS (upper(name) || '!'),
  size VARCHAR AS (CASE WHEN price > 5 THEN 'big' ELSE 'small' END))"""


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_formulas_are_told_with_their_names_quoted(dialect: Dialect) -> None:
    assert formulas(LINE, dialect) == {
        "total": '"its qty" * "price"',
        "label": "UPPER(\"name\") || '!'",
        "size": "CASE WHEN \"price\" > 5 THEN 'big' ELSE 'small' END",
    }


def test_duckdb_tells_them_of_what_it_wrote(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "lines.duckdb") as duck:
        duck.execute(LINE)
        [(written,)] = duck.execute("SELECT sql FROM duckdb_tables()").fetchall()
    assert formulas(written, "duckdb").keys() == {"total", "label", "size"}


@pytest.mark.parametrize(
    "formula",
    [
        "random()",
        "julianday('now')",
        "printf('%1000000d', a)",
        "(SELECT 1)",
        "upper(a, a)",
        "a + " * 3000 + "a",
    ],
)
def test_what_is_more_than_plain_or_not_taken_is_left_out(formula: str) -> None:
    assert formulas(f"CREATE TABLE t (a INTEGER, b INTEGER AS ({formula}))", "sqlite") == {}


def test_other_statements_have_none() -> None:
    for sql in ("CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE t (a INTEGER DEFAULT 1)", "no statement as such", ""):
        assert formulas(sql, "sqlite") == {}


def test_a_made_table_computes_what_its_source_does_unless_a_key_is_computed(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "lines.sqlite")) as connection, connection:
        connection.execute(LINE)
        connection.execute("CREATE TABLE code (n INTEGER NOT NULL, code TEXT AS ('c' || n) STORED UNIQUE)")
        for number in range(30):
            connection.execute(
                'INSERT INTO "a line" (id, "its qty", price, name) VALUES (?, 2, ?, ?)', (number, number / 4, "x")
            )
            connection.execute("INSERT INTO code (n) VALUES (?)", (number,))
    profile = profile_of(tmp_path)
    schema = surrogate_schema(profile)
    line, code = schema.by_name["a line"].by_name, schema.by_name["code"].by_name
    assert {name for name, column in line.items() if column.formula} == {"total", "label", "size"}
    assert (line["total"].nullable, line["label"].nullable, line["size"].nullable) == (True, False, False)
    assert not code["code"].formula
    hidden = surrogate_schema(profile_of(tmp_path, values=False)).by_name["a line"]
    assert [column.name for column in hidden.columns if column.formula] == ["total"]  # others hold a constant
    made = build_surrogate(profile, tmp_path / "made" / "lines.sqlite", seed=1, rows=20)
    with closing(sqlite3.connect(made)) as connection:
        others = connection.execute('SELECT COUNT(*) FROM "a line" WHERE total IS NOT "its qty" * price')
        assert others.fetchone() == (0,)
        assert connection.execute('SELECT COUNT(DISTINCT label) > 1 FROM "a line"').fetchone() == (1,)
