"""The digest is recomputed here by a second implementation that knows only its documented format."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.databases.digest import result_digest
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Cell

CELLS = st.none() | st.integers() | st.floats() | st.text() | st.binary()
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.tuples(st.just(width), st.lists(st.tuples(*[CELLS] * width), max_size=8))
)


def cell_text(cell: Cell) -> str:
    match cell:
        case None:
            return "n"
        case int():
            return "i" + str(cell)
        case float():
            if math.isnan(cell) or math.isinf(cell):
                return "f" + str(cell)
            rounded = float("%.12g" % cell)  # noqa: UP031 - as the docstring writes it
            return "i" + str(int(rounded)) if rounded == int(rounded) else "f" + repr(rounded)
        case str():
            return "t" + str(len(cell)) + ":" + cell
        case bytes():
            return "b" + cell.hex()


def documented(width: int, rows: list[tuple[Cell, ...]], ordered: bool) -> str:
    lines = [",".join(cell_text(cell) for cell in row) for row in rows]
    text = "".join(line + "\n" for line in [str(width)] + (lines if ordered else sorted(lines)))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@given(TABLES, st.booleans())
def test_it_is_the_documented_format(table: tuple[int, list[tuple[Cell, ...]]], ordered: bool) -> None:
    assert result_digest(*table, ordered) == documented(*table, ordered)


def cell_of(value: Any) -> Any:
    """What DuckDB gives, as a cell."""
    match value:
        case bool():
            return int(value)
        case Decimal():
            return int(value) if value % 1 == 0 else float(value)
        case date() | time() | timedelta() | UUID():
            return str(value)
        case dict() | list():
            keyed = {str(key): item for key, item in value.items()} if isinstance(value, dict) else value
            return json.dumps(keyed, ensure_ascii=False, default=lambda v: v.hex() if isinstance(v, bytes) else str(v))
    return value


def test_values_of_duckdb_are_the_documented_cells(tmp_path: Path) -> None:
    path = tmp_path / "kinds.duckdb"
    query = """SELECT true, 1.5::DECIMAL(9, 2), 2::DECIMAL(9, 2), 7::HUGEINT, 0.1::FLOAT, DATE '2020-01-02',
        TIME '03:04:05', TIMESTAMP '2020-01-02 03:04:05.12', TIMESTAMPTZ '2020-01-02 03:04:05+02', INTERVAL '26 hours',
        'x'::BLOB, '00000000-0000-0000-0000-000000000001'::UUID, [1.5::DECIMAL(3, 1), NULL],
        {'ä': DATE '2020-01-01'}, ['x'::BLOB], MAP {DATE '2020-01-01': true}, NULL, 'ä'"""
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")  # without a table it is no database
        connection.execute("SET TimeZone = 'UTC'")
        row = connection.execute(query).fetchone()
    assert row is not None
    (database,) = find_databases(path).databases
    with Sandbox(1) as sandbox:
        (found,) = sandbox.run(database, [query], want="digest")
    assert found.digest == documented(len(row), [tuple(map(cell_of, row))], ordered=False)


@given(TABLES, st.randoms(use_true_random=False))
def test_order_counts_only_when_asked(table: tuple[int, list[tuple[Cell, ...]]], random: object) -> None:
    width, rows = table
    shuffled = rows[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert result_digest(width, rows, False) == result_digest(width, shuffled, False)
    moved = [cell_text(c) for r in rows for c in r] != [cell_text(c) for r in shuffled for c in r]
    assert (result_digest(width, rows, True) != result_digest(width, shuffled, True)) == moved


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([("a", "b")], [("a,t1:b", "")]),
        ([("a",), ("b",)], [("a\nt1:b",)]),
        ([(None,)], [("n",)]),
        ([(1,)], [("1",)]),
        ([(b"ab",)], [("ab",)]),
        ([(1,)], [(1,), (1,)]),
        ([(1.5,)], [(1.50000000001,)]),
        ([], [(None,)]),
    ],
)
def test_different_results_differ(left: list[tuple[Cell, ...]], right: list[tuple[Cell, ...]]) -> None:
    assert result_digest(1, left, False) != result_digest(1, right, False)


@pytest.mark.parametrize(
    ("left", "right"), [(2.0, 2), (-0.0, 0), (0.1 + 0.2, 0.3), (1 / 3, 0.333333333333), (1e300, 1e300)]
)
def test_floats_are_rounded_to_twelve_digits(left: Cell, right: Cell) -> None:
    assert result_digest(1, [(left,)], True) == result_digest(1, [(right,)], True)


def test_infinities_and_nan_are_three_values() -> None:
    values = [math.inf, -math.inf, math.nan]
    assert len({result_digest(1, [(value,)], True) for value in values}) == 3


def test_columns_count_even_without_rows() -> None:
    assert result_digest(1, [], False) != result_digest(2, [], False)


def test_a_value_that_is_no_cell_is_refused() -> None:
    with pytest.raises(TypeError, match="not list"):
        result_digest(1, [([1],)], False)  # type: ignore[list-item]


def test_the_example_of_the_docstring() -> None:
    from doctest import testmod

    from agro_data.databases import digest

    outcome = testmod(digest)
    assert outcome.attempted == 1
    assert outcome.failed == 0
