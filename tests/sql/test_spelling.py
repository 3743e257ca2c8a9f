from __future__ import annotations

import sqlite3
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.sql.forms.spelling import spelling
from agro_data.sql.parse import LONGEST

WORDS = st.sampled_from(
    ["SELECT", "select", "a", "A", "'a'", "'A'", '"b"', '"B"', ",", "(", ")", "+", "-", "--", "/*", "*/", " ", "  ",
     "\n", "1", "FROM t", "|| ' '", "> =", ">="]
)  # fmt: skip
NO_SPACES = ("\x0b", "\x85", "\u00a0", "\u2003", "\u2028")  # to SQLite, though to Python


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SELECT Count(*) FROM T;", "select count( * ) from t", True),
        ("SELECT a , b FROM t", "select a,b from t", True),
        ("SELECT a\n\tFROM t", "SELECT a FROM t", True),
        ("SELECT 'A b'", "SELECT 'a b'", False),
        ("SELECT 'a  b'", "SELECT 'a b'", False),
        ('SELECT "A"', 'SELECT "a"', False),
        ("SELECT a > = 1", "SELECT a >= 1", False),
        ("SELECT a -- x\n, b FROM t", "SELECT a -- x , b FROM t", False),
        ("SELECT 'it''s' FROM T", "select 'it''s' from t", True),
        ("SELECT $$A$$", "SELECT $$a$$", False),  # quotes of DuckDB and PostgreSQL
        ("SELECT $x$A  b$x$", "SELECT $x$A b$x$", False),
        (r"SELECT E'\'A'", r"SELECT E'\'a'", False),
        ("SELECT $$A$$;", "SELECT $$A$$", True),
        ("SELECT ['A]'] WHERE n = 'B'", "SELECT ['A]'] WHERE n = 'b'", False),  # a list of DuckDB
        ("SELECT a\f\r FROM t\n", "SELECT a FROM t", True),
        *((f"SELECT a FROM{space}t", "SELECT a FROM t", False) for space in NO_SPACES),
        *((f"SELECT a FROM t{space}", "SELECT a FROM t", False) for space in NO_SPACES),
        ("SELECT [A  b], X[1]", "SELECT [A  b], x[1]", True),
    ],
)
def test_only_case_and_space_outside_of_quotes_are_levelled(one: str, other: str, same: bool) -> None:
    assert (spelling(one) == spelling(other)) is same


def answer(sql: str) -> object:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t(a, b)")
    connection.execute("INSERT INTO t VALUES (1, 'x')")
    try:
        return connection.execute(sql).fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return "error"
    finally:
        connection.close()


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=8))
def test_statements_of_one_spelling_have_one_answer(parts: list[str]) -> None:
    sql = "SELECT a " + " ".join(parts)
    levelled = spelling(sql)
    assert spelling(levelled) == levelled
    assert answer(levelled) == answer(sql)


@pytest.mark.parametrize("text", ["[", "/*a", "[a] '", "/* */ [a", "(", "'"])
def test_many_beginnings_without_an_end_take_no_time(text: str) -> None:
    begun = process_time()
    spelling(text * (LONGEST // len(text)))
    assert process_time() - begun < 0.25
