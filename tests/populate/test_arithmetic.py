"""Numbers computed from columns are what the engine computes, and columns get values by which they pass a test."""

from __future__ import annotations

import itertools
import math
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_databases import read as read_query
from sqlglot import exp

from agro_data.databases.types import Cell, Dialect
from agro_data.populate.instances import instance_schema, witnesses
from agro_data.populate.instances.values.arithmetic import (
    Constant,
    Leaf,
    Operation,
    Term,
    evaluate,
    leaves,
    read,
    solve,
)
from agro_data.populate.instances.values.comparisons import Operator
from agro_data.populate.instances.values.comparisons import Test as Comparison
from agro_data.populate.instances.values.views import UNITS, DayNumber, Turns
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.parse import parse_select

NAMES = {"a": 0, "b": 1, "c": 2}  # c is a column of binary numbers
WHOLE, REAL = ColumnSpec("whole", "INTEGER", "integer"), ColumnSpec("real", "REAL", "real")
numbers = st.one_of(st.integers(0, 20), st.sampled_from([0.5, 1.5, 2.25, 10.0]))
expressions = st.recursive(
    st.one_of(st.sampled_from(sorted(NAMES)), numbers.map(str)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda text: f"ABS({text})"),
        inner.map(lambda text: f"CAST({text} AS DOUBLE)"),
    ),
    max_leaves=5,
)


def term(text: str, dialect: Dialect = "sqlite") -> Term:
    tree = parse_select(f"SELECT {text} FROM t", dialect)
    found = read(tree.expressions[0], _leaf)
    assert found is not None
    return found


def _leaf(node: exp.Expr) -> Term | None:
    return Leaf(NAMES[node.name], real=node.name == "c") if isinstance(node, exp.Column) else None


@dataclass
class Known:
    """Columns that hold anything of their kind but what is `refused`."""

    refused: set[Cell] = field(default_factory=set)

    def spec(self, unknown: int) -> ColumnSpec:
        return REAL if unknown == NAMES["c"] else WHOLE

    def passes(self, unknown: int, value: Cell) -> bool:
        return value not in self.refused

    def known(self, unknown: int) -> Sequence[Cell]:
        return (3, 7, 40)


@given(expressions, st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([-2.5, 0.0, 0.25, 4.0]))
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_term_is_what_the_engine_computes(dialect: Dialect, text: str, a: int, b: int, c: float) -> None:
    sql = f"SELECT {text} FROM (SELECT {a} AS a, {b} AS b, CAST({c} AS DOUBLE) AS c) AS t"
    with closing(sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()) as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    found = evaluate(term(text, dialect), {0: a, 1: b, 2: c})
    if row[0] is None or not math.isfinite(row[0]):
        assert found is None or not math.isfinite(found)
    elif found is None:
        assert "/" in text, "only a division has no result"
        assert dialect == "duckdb", "which goes on with infinity"
    else:
        assert math.isclose(found, float(row[0]), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    "text", ["a - b", "a * c", "c / a", "a / c", "(c - a) / a", "a + b + c", "ABS(a - b)", "c * 2", "-a", "a % 7"]
)
def test_what_is_solved_passes_and_meets_the_bound(text: str, operator: Operator) -> None:
    """A bound is told from its neighbour only by a number that is the bound."""
    asked, rng, at_bound = term(text), random.Random(0), 0
    target = 5 if text != "-a" else -5
    for wanted in (True, False) * 20:
        test = Comparison(operator, (target,), wanted)
        values = solve(asked, [test], Known(), rng)
        assert values is not None
        number = evaluate(asked, values)
        assert test.passes(number)
        at_bound += number == target
    assert at_bound >= 5


def test_columns_keep_to_what_they_hold() -> None:
    rng = random.Random(1)
    for _ in range(20):
        values = solve(term("a * b"), [Comparison(">", (100,))], Known(refused={1, 3, 40}), rng)
        assert values is not None
        assert not {*values.values()} & {1, 3, 40}
        assert all(isinstance(value, int) for value in values.values())


def test_numbers_that_no_float_holds_are_none_to_count_with() -> None:
    class Huge(Known):
        def known(self, unknown: int) -> Sequence[Cell]:
            return (10**400,)

    for text in ("a / b", "a * c", "a % b", "a - b * 1.0"):
        assert (
            solve(term(text), [Comparison("=", (7919,))], Huge(refused={1, 2, 4, 5, 10, 20}), random.Random(0)) is None
        )


def test_what_no_number_meets_is_left_to_chance() -> None:
    assert solve(term("a * 2"), [Comparison("<", (5,)), Comparison(">", (6,))], Known(), random.Random(0)) is None
    assert solve(term("1 + 2"), [Comparison(">", (5,))], Known(), random.Random(0)) is None


def test_what_is_more_than_arithmetic_is_no_term() -> None:
    for text in ("LOWER(a)", "a || b", "SUM(a)", "a + LENGTH(b)", "CASE WHEN a > 1 THEN a END", "'5' + a"):
        tree = parse_select(f"SELECT {text} FROM t", "sqlite")
        assert read(tree.expressions[0], _leaf) is None


def test_days_are_those_of_the_engine() -> None:
    moments = ("2024-02-29", "1999-12-31 18:00:00", "0001-01-01", "9999-12-31 23:59:00")
    with closing(sqlite3.connect(":memory:")) as connection:
        for moment in moments:
            ((days,),) = connection.execute("SELECT julianday(?)", (moment,))
            shown = DayNumber().of(moment)
            assert isinstance(shown, float)
            assert math.isclose(shown, days, abs_tol=1e-8)
            assert moment in DayNumber().made(days, moments if " " in moment else (), random.Random(0))
    assert DayNumber().of("0000-00-00") is None
    assert DayNumber().made(0, (), random.Random(0)) == []


def test_leaves_are_found_from_left_to_right() -> None:
    assert [leaf.unknown for leaf in leaves(term("b * (1 - ABS(a)) + c"))] == [1, 0, 2]


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("age - mentor > 4", lambda row: row["age"] - row["mentor"]),
        ("age > mentor + 4", lambda row: row["age"] - row["mentor"]),
        ("age * mentor BETWEEN 30 AND 40", lambda row: row["age"] * row["mentor"]),
        ("product >= 30", lambda row: row["age"] * row["mentor"]),  # of a derived table
    ],
)
def test_rows_meet_what_is_computed_and_just_miss_it(school: DatabaseProfile, condition: str, shown: object) -> None:
    query = read_query(
        school, f"SELECT name FROM (SELECT *, age * mentor AS product FROM student) AS s WHERE {condition}"
    )
    bounds = {int(word) for word in condition.split() if word.isdigit()}
    found = set()
    for seed in range(20):
        for proposal in witnesses(query, instance_schema(school), school, seed):
            for row in proposal.rows:
                if row.table == "student" and {*row.cells} >= {"age", "mentor"}:
                    found.add(shown(row.cells))  # type: ignore[operator]
    assert bounds <= found
    assert any(number > max(bounds) for number in found)
    assert any(number < min(bounds) for number in found)


MOMENTS = (
    "2024-02-29 23:59:59",
    "2024-03-01 00:00:00",
    "1999-12-31 18:00:00",
    "2000-01-03 07:30:10",
    "2023-10-01 00:00:01",
)


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_turns_differ_as_the_engine_counts_them(unit: str) -> None:
    turns = Turns(unit)
    with duckdb.connect(":memory:") as duck:
        for first, second in itertools.product(MOMENTS, MOMENTS):
            asked = f"SELECT date_diff('{unit}', TIMESTAMP '{first}', TIMESTAMP '{second}')"
            [(between,)] = duck.execute(asked).fetchall()
            one, other = turns.of(first), turns.of(second)
            assert isinstance(one, int)
            assert isinstance(other, int)
            assert other - one == between
            [made] = turns.made(one + 5, MOMENTS, random.Random(0))
            assert turns.of(made) == one + 5
    assert turns.of("0000-00-00") is None
    assert turns.made(-1, (), random.Random(0)) == turns.made(10**15, (), random.Random(0)) == []
    assert turns.made(1.5, (), random.Random(0)) == []


def test_a_moment_that_is_written_out_is_a_number() -> None:
    tree = parse_select("SELECT date_diff('year', a, DATE '2024-01-01') FROM t", "duckdb")
    read_term = read(tree.expressions[0], _leaf)
    assert isinstance(read_term, Operation)
    assert read_term.left == Constant(2024)
    tree = parse_select("SELECT date_diff('decade', a, DATE '2024-01-01') FROM t", "duckdb")
    assert read(tree.expressions[0], _leaf) is None
