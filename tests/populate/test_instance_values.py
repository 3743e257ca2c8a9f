"""Values that a column holds, those beside another, and what is shown of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import duckdb
import pytest
from making import profile_of
from sqlglot import parse_one

from agro_data.databases.types import Cell
from agro_data.populate.instances.constraints.schema import instance_schema
from agro_data.populate.instances.directed.proposal import Focus
from agro_data.populate.instances.values.comparisons import Test as Comparison
from agro_data.populate.instances.values.comparisons import choose
from agro_data.populate.instances.values.draw import Draws
from agro_data.populate.instances.values.near import above, beyond, holds, later_that_day
from agro_data.populate.instances.values.views import Stretch, view_of
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.profile import ColumnProfile, Kind


@pytest.mark.parametrize("declared", ["DECIMAL(1,0)", "DECIMAL(2,2)", "DECIMAL(4,1)", "UTINYINT"])
def test_a_table_without_rows_gets_what_its_types_hold(declared: str, tmp_path: Path) -> None:
    """Of a DECIMAL(1,0) some draws gave 47 alone, and every query of the database was without instances."""
    path = tmp_path / "shop.duckdb"
    with closing(duckdb.connect(path)) as file:
        file.execute(f"CREATE TABLE part (id INTEGER PRIMARY KEY, size {declared} NOT NULL)")
        file.execute("CREATE TABLE depot AS SELECT 1 AS id")
    profile = profile_of(path)
    schema, place = instance_schema(profile), ("part", "size")
    for seed in range(60):
        draws = Draws(schema, profile, Focus({}, frozenset(), frozenset()), seed)
        given = [draws.value(place), draws.new(place), draws.alone(place), draws.new(place)]
        assert all(draws.can_hold(place, value) for value in given), given


@pytest.mark.parametrize(
    ("declared", "kind", "value", "held"),
    [
        ("DATE", "date", "2019", False),
        ("DATE", "date", "2019-02-28", True),
        ("DATE", "date", "2019-02-30", False),
        ("TIMESTAMP", "datetime", "2019-02-28 10:00:00", True),
        ("DECIMAL(6,4)", "real", 120.0, False),
        ("DECIMAL(6,4)", "real", 12.5, True),
        ("DECIMAL(6,4)", "real", 99.75, True),
        ("DECIMAL(6,4)", "real", 0.1 + 0.2, True),
        ("DECIMAL(6,2)", "real", 0.125, False),
        ("DECIMAL(9,0)", "real", 0.3, False),
        ("DECIMAL(9,0)", "real", 3.0, True),
        ("DECIMAL(3,3)", "real", 0.999, True),
        ("DECIMAL(3,3)", "real", 1.0, False),
        ("TINYINT", "integer", 300, False),
        ("UBIGINT", "integer", -2, False),
        ("UTINYINT", "integer", 7, True),
        ("UBIGINT", "integer", 2**64 - 1, True),
        ("UBIGINT", "integer", 2**64, False),
        ("BIGINT", "integer", 2**63, False),
        ("DECIMAL(20,0)", "real", 10**20 - 1, True),
        ("DECIMAL(20,0)", "real", 10**20, False),
        ("BOOLEAN", "boolean", 2, False),
        ("INTEGER", "integer", "birch", False),
        ("VARCHAR", "text", "birch", True),
        ("UUID", "text", "birch", False),
        ("DATE", "date", None, True),
    ],
)
def test_what_a_column_of_duckdb_holds(declared: str, kind: Kind, value: Cell, held: bool) -> None:
    assert holds(value, ColumnSpec("c", declared, kind, typed=True)) == held


@pytest.mark.parametrize(
    ("declared", "kind", "low", "high"),
    [("DECIMAL(3,3)", "real", -0.25, 0.5), ("DECIMAL(4,2)", "real", 1.5, 60.25), ("UTINYINT", "integer", 3, 250)],
)
def test_past_the_source_lies_what_the_column_still_holds(declared: str, kind: Kind, low: float, high: float) -> None:
    """Steps of fifty and more leave a narrow type, and a row with such a value costs a file of DuckDB."""
    spec = ColumnSpec("c", declared, kind, typed=True)
    seen = ColumnProfile("c", declared, kind, "measure", "c", distinct=2, minimum=low, maximum=high)
    for seed in range(20):
        above_all, below_all = (beyond(spec, seen, upper, Random(seed)) for upper in (True, False))
        assert isinstance(above_all, int | float)
        assert isinstance(below_all, int | float)
        assert below_all < low < high < above_all
        assert holds(above_all, spec)
        assert holds(below_all, spec)


@pytest.mark.parametrize(
    "text", ["SUBSTR(x, '1', 4)", "SUBSTR(x, 1.5, 2)", "SUBSTR(x, -2, 2)", "SUBSTR(x, 3, -1)", "SUBSTR(x, 2)"]
)
def test_a_stretch_without_plain_bounds_is_no_view(text: str) -> None:
    assert view_of(parse_one(text, read="sqlite"))[1] is None


def test_a_letter_that_is_a_digit_and_no_number_shows_none() -> None:
    assert Stretch(1, 1, number=True).of("²5") is None
    assert Stretch(1, 2, number=True).of("25") == 25


@pytest.mark.parametrize(
    ("declared", "value", "near"),
    [
        ("REAL", 5, [5.01]),
        ("REAL", 62.5, [62.501]),
        ("REAL", 1e-07, []),
        ("REAL", 1e-05, [0.000011]),
        ("DECIMAL(10,2)", 5, [5.01]),
        ("DECIMAL(10,1)", 5, [5.1]),
        ("DECIMAL(10,2)", 62.55, []),
        ("DECIMAL(10)", 5, []),
    ],
)
def test_next_to_a_number_stands_what_the_type_holds(declared: str, value: float, near: list[Cell]) -> None:
    assert above(value, ColumnSpec("c", declared, "real"))[3:] == near


def test_one_text_is_like_several_patterns() -> None:
    """Else a row that has one and lacks the other would be missed by chance."""
    tests = [Comparison("like", ("%young%",)), Comparison("like", ("Mal%",)), Comparison("like", ("%angus%",), False)]
    for seed in range(20):
        found, value = choose(tests, ColumnSpec("c", "TEXT", "text"), (), Random(seed))
        assert found
        assert isinstance(value, str)
        assert value.startswith("Mal")
        assert "young" in value
        assert "angus" not in value


def test_a_day_is_told_from_a_moment_of_it_where_a_column_tells_the_time() -> None:
    assert later_that_day("2015-06-01", ["2014-01-02 10:30:00"]) == ["2015-06-01 00:10:00"]
    assert later_that_day("2015-06-01", ["2014-01-02T10:30"]) == ["2015-06-01T00:10:00"]
    for others in (["2014-01-02 00:00:00"], ["2014-01-02"], []):
        assert later_that_day("2015-06-01", others) == []
