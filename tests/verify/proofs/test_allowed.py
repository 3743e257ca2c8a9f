"""Conditions that are one where a CHECK says what a column may hold, and no others."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.populate.schema import Schema, read_ddl
from agro_data.verify.proofs import proved_equivalent

DDL = """CREATE TABLE review (id INTEGER PRIMARY KEY, stars INTEGER, paid INTEGER NOT NULL, price REAL,
  "State" TEXT NOT NULL, begun DATE NOT NULL, ended DATE, free TEXT, item INTEGER);
CREATE TABLE item (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);"""
CHECKS = (
    '"stars" BETWEEN 1 AND 5',
    '"paid" IN (0, 1)',
    '"price" >= 0',
    "\"State\" IN ('a', 'b', 'c')",
    "\"free\" <> ''",
    '"ended" >= "begun"',
)


def reviews() -> Schema:
    plain = read_ddl("reviews", DDL)
    tables = {table.name: table for table in plain.tables}
    checked = replace(tables["review"], checks=CHECKS), replace(tables["item"], checks=('"size" > 0',))
    return replace(plain, tables=checked)


REVIEWS, UNCHECKED = reviews(), read_ddl("reviews", DDL)
EQUIVALENT = [
    ("stars >= 5", "stars = 5"),
    ("stars > 4", "5 <= stars"),
    ("stars >= 1", "stars IS NOT NULL"),
    ("stars > 2 AND stars < 4", "stars = 3"),
    ("stars > 2.5", "stars >= 3"),
    ("stars NOT IN (1, 2)", "stars BETWEEN 3 AND 9"),
    ("stars IS NULL OR stars > 4", "stars = 5 OR stars IS NULL"),
    ("paid <> 0", "paid = 1"),
    ("paid", "paid = 1"),
    ("NOT paid", "paid < 1"),
    ("price > 0", "price <> 0"),
    ("price >= 0", "price IS NOT NULL"),
    ("state <> 'a'", "state IN ('b', 'c')"),
    ("state < 'b'", "state = 'a'"),
    ("state LIKE '%B%'", "state = 'b'"),
    ("state NOT LIKE 'a%'", "state IN ('b', 'c')"),
    ("ended > begun", "begun <> ended"),
    ("ended <= begun", "begun = ended"),
    ("CASE WHEN paid <> 0 THEN id ELSE 0 END > 3", "CASE WHEN paid = 1 THEN id ELSE 0 END > 3"),
]
DIFFERENT = [
    ("stars > 4", "stars >= 4"),
    ("stars <> 5", "stars <> 5 OR stars IS NULL"),
    ("stars > 7", "stars > 4"),
    ("paid = paid", "paid = 1"),
    ("paid < 1e999999999", "paid = 1"),
    ("price > 1e-999999999", "price <> 0"),
    ("paid LIKE '%1'", "paid = 1"),
    ("state > 1", "state = 'a'"),
    ("paid <> 1", "paid = 1"),
    ("price > 0", "price >= 0"),
    ("price > 2.5", "price >= 3"),
    ("state <> 'a'", "state = 'b'"),
    ("free <> 'a'", "free = 'b'"),
    ("free LIKE '%a%'", "free = 'a'"),
    ("ended > begun", "ended >= begun"),
    ("ended < begun", "ended = begun"),
    ("CASE WHEN paid THEN 1 ELSE 0 END = 0", "CASE WHEN paid = 0 THEN 1 ELSE 0 END = 0"),
]


def asked(condition: str) -> str:
    return f"SELECT id FROM review WHERE {condition}"


@pytest.mark.parametrize(("one", "other"), EQUIVALENT)
def test_a_check_makes_them_one(one: str, other: str) -> None:
    assert proved_equivalent(asked(one), asked(other), "sqlite", REVIEWS) == "check"
    assert proved_equivalent(asked(one), asked(other), "sqlite", UNCHECKED) is None


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_a_check_lets_differ_is_not_proved(one: str, other: str) -> None:
    assert proved_equivalent(asked(one), asked(other), "sqlite", REVIEWS) is None


def test_a_condition_that_always_holds_is_none() -> None:
    pair = asked("ended >= begun"), asked("ended IS NOT NULL")
    assert proved_equivalent(*pair, "sqlite", REVIEWS) == "check + not_null"
    assert proved_equivalent(asked("paid >= 0"), "SELECT id FROM review", "sqlite", REVIEWS) == "check + not_null"
    assert proved_equivalent(asked("stars >= 0"), "SELECT id FROM review", "sqlite", REVIEWS) is None  # may be NULL


def test_a_partner_may_be_missing() -> None:
    joined = "SELECT r.id FROM review r LEFT JOIN item i ON i.id = r.item WHERE {}"
    pair = joined.format("i.size > 0"), joined.format("i.size IS NOT NULL")
    assert proved_equivalent(*pair, "sqlite", REVIEWS) == "check"
    assert proved_equivalent(pair[0], joined.format("1 = 1"), "sqlite", REVIEWS) is None


TESTS = st.one_of(
    st.tuples(
        st.just("stars"),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        st.sampled_from([0, 1, 2, 2.5, 3, 5, 6]).map(str),
    ),
    st.tuples(
        st.just("price"), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.sampled_from(["-1", "0", "0.5", "3"])
    ),
    st.tuples(st.just("state"), st.sampled_from(["=", "<>", "<", ">="]), st.sampled_from(["'a'", "'b'", "'c'", "'d'"])),
    st.tuples(st.just("paid"), st.sampled_from(["=", "<>", ">"]), st.sampled_from(["0", "1"])),
    st.sampled_from([("stars", "IS", "NULL"), ("price", "IS NOT", "NULL"), ("paid", "", "")]),
).map(" ".join)
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
    max_leaves=4,
)
ROWS = list(itertools.product((None, 1, 2, 3, 4, 5), (0, 1), (None, 0.0, 0.25, 0.5, 1.0, 3.0, 4.0), "abc"))


@pytest.fixture(scope="module")
def filled() -> sqlite3.Connection:
    """Every row that the checks let stand, as far as conditions can tell them apart."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(DDL)
    rows = [
        (number, stars, paid, price, state, "2020-01-01", None, None, None)
        for number, (stars, paid, price, state) in enumerate(ROWS)
    ]
    connection.executemany("INSERT INTO review VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return connection


@settings(max_examples=600)
@given(one=CONDITIONS, other=CONDITIONS)
def test_what_is_proved_gives_the_same_rows(filled: sqlite3.Connection, one: str, other: str) -> None:
    def rows(condition: str) -> set[int]:
        return {number for (number,) in filled.execute(asked(condition))}

    same = rows(one) == rows(other)
    if proved_equivalent(asked(one), asked(other), "sqlite", REVIEWS) is not None:
        assert same
    simple = not any(word in one + other for word in (" AND ", " OR "))
    if same and simple and one.split(maxsplit=1)[0] == other.split(maxsplit=1)[0] and rows(one):
        assert proved_equivalent(asked(one), asked(other), "sqlite", REVIEWS) is not None, (one, other)


def test_letter_case_counts_to_like_in_duckdb() -> None:
    pair = asked("state LIKE 'A'"), asked("state = 'a'")
    assert proved_equivalent(*pair, "sqlite", REVIEWS) == "check"
    assert proved_equivalent(*pair, "duckdb", REVIEWS) is None


def test_numbers_that_are_kept_as_text_are_compared_as_text() -> None:
    (review, item), pair = REVIEWS.tables, (asked("stars > 4"), asked("stars = 5"))
    columns = tuple(replace(c, declared_type="TEXT") if c.name == "stars" else c for c in review.columns)
    as_text = replace(REVIEWS, tables=(replace(review, columns=columns), item))
    assert proved_equivalent(*pair, "sqlite", REVIEWS) == "check"
    assert proved_equivalent(*pair, "sqlite", as_text) is None
