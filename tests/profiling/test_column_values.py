"""Statistics, date formats and roles of columns, from their values alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.databases.types import Cell
from agro_data.profiling.columns.dates import date_format
from agro_data.profiling.columns.roles import Place, role_of, unit_of
from agro_data.profiling.columns.statistics import as_number, describe

cells = st.one_of(st.none(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=8), st.binary(max_size=4))


@given(st.lists(cells, max_size=60))
def test_any_mixture_is_described(values: list[Cell]) -> None:
    known = describe(values)
    assert known.rows == len(values)
    assert known.nulls == sum(value is None for value in values)
    assert known.distinct <= known.filled
    assert all(isinstance(value, str) or math.isfinite(value) for value, _ in known.common)  # type: ignore[arg-type]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=80))
def test_quantiles_are_values_in_order(values: list[int]) -> None:
    known = describe(values)
    assert len(known.quantiles) == 11
    assert list(known.quantiles) == sorted(known.quantiles)
    assert (known.quantiles[0], known.quantiles[-1]) == (min(values), max(values))
    assert set(known.quantiles) <= set(values)
    assert known.unique == (len(set(values)) == len(values))


def test_infinite_and_nan_floats_are_no_numbers_to_compare_or_sum() -> None:
    known = describe([1.0, math.inf, math.nan, math.nan, -math.inf, 2.0])
    assert (known.minimum, known.maximum, known.distinct, known.kind) == (None, None, 5, "other")
    assert describe([1.0, None, 2.5]).kind == "real"


def test_what_is_beyond_a_float_is_no_number() -> None:
    assert [as_number(value) for value in ("1e400", "9" * 400, 10**400, math.inf, "7.50", "007")] == [
        *[None] * 4,
        7.5,
        None,
    ]


def test_numbers_with_a_text_among_them_are_no_numbers() -> None:
    assert describe([1, 2, "N/A"]).kind == "other"
    assert describe([1, 2, ""]).kind == "other"


def test_intervals_of_duckdb_are_no_texts() -> None:
    """They come as Python prints a timedelta, which no query would find."""
    assert describe(["1 day, 2:00:00", "3 days, 0:00:00"], "INTERVAL").kind == "other"


def test_a_few_undecodable_texts_leave_a_column_text() -> None:
    assert describe([*(f"name {i}" for i in range(20)), b"\xff\xfe"]).kind == "text"


@pytest.mark.parametrize(
    ("values", "name", "clock"),
    [
        (["2020-01-31", "1999-12-01"], "iso", False),
        (["2020-01-31 10:00:00", "1999-12-01 00:00:01"], "iso", True),
        (["8/21/2015 17:39", "12/1/2015 7:03"], "m/d/y", True),
        (["21/8/2015", "1/12/2015"], "d/m/y", False),
        (["31.12.2015", "01.02.2015"], "d/m/y", False),
        (["2015/08/21", "2015/1/2"], "y/m/d", False),
        (["May 3, 2010", "Sept. 13, 2011"], "month d, y", False),
        (["3 May 2010", "13 September 2011"], "d month y", False),
        (["20100503", "20111231"], "yyyymmdd", False),
        (["2010-05", "2011-12"], "y-m", False),
        (["2020-02-30"], "", False),
        (["2020-13-01"], "", False),
        (["2020-01-01", "unknown"], "", False),
        (["12345678"], "", False),
        ([], "", False),
    ],
)
def test_date_formats(values: list[str], name: str, clock: bool) -> None:
    assert date_format(values) == (name, clock)


def test_times_are_no_dates() -> None:
    assert describe(["10:30", "11:45:09"]).kind == "time"


def test_only_iso_dates_have_quantiles() -> None:
    assert len(describe(["2020-01-01", "2020-02-01"]).quantiles) == 11
    assert describe(["8/21/2015", "9/1/2015"]).quantiles == ()


@pytest.mark.parametrize(
    ("words", "values", "role"),
    [
        ("id", [1, 2, 3], "identifier"),
        ("phone", [5551, 5552, 5553], "identifier"),
        ("zip code", [94107, 94107, 94110], "identifier"),
        ("account number", [7, 8, 9], "identifier"),
        ("number of pages", [3, 4, 5], "measure"),
        ("amount", [1.5, 2.5], "measure"),
        ("year", [1999, 2001], "year"),
        ("founded", [1866.0, 1998.0], "year"),
        ("launch year", ["1999", "2001"], "year"),
        ("price", [1999, 2001, 2010], "measure"),
        ("rank", [1, 2, 3], "identifier"),
        ("rank", [1, 2] * 5, "category"),
        ("rank in series", [26, 27, 28], "identifier"),
        ("latitude", [37.1, 38.2], "measure"),
        ("active flag", [0, 1, 1, 0], "boolean"),
        ("chargeable", ["Y", "N", "Y"], "boolean"),
        ("gender", ["T", "F", "T"], "category"),
        ("count", [0, 1, 1, 0], "measure"),
        ("status", ["open", "closed"] * 3, "category"),
        ("name", ["Ann", "Bo", "Cy"], "text"),
        ("comment", ["a long sentence that says many things about nothing at all"] * 2, "free_text"),
        ("hire date", ["2020-01-01"], "date"),
        ("hire date", [20200101, 20200315, 20210101], "identifier"),
        ("shipped date", [43831.5, 43832.25], "identifier"),
        ("created time", [1_577_836_800, 1_577_999_999], "identifier"),
        ("timestamp", [1_600_022_039_106, 1_699_944_346_611], "identifier"),
        ("timestamp in ms", [1_600_022_039_106, 1_699_944_346_611], "identifier"),
        ("geloescht am", [1_672_531_200, None, 1_699_999_999], "identifier"),
        ("last seen", [1_672_531_200_000, 1_699_999_999_000], "identifier"),
        ("erdat", [20_230_000 + 100 * month + day for month in (1, 2, 12) for day in range(1, 29)], "identifier"),
        ("valid to", [*(20_240_101 + day for day in range(31)), 0, 99_991_231], "identifier"),
        ("assets", [20_230_000 + 100 * month for month in range(30)], "measure"),
        ("market capitalization", [1_672_531_200, 1_699_999_999], "measure"),
        ("revenue on sales", [1_672_531_200, 1_699_999_999], "measure"),
        ("uptime since start", [1_000, 86_400], "measure"),
        ("phone", [1_672_531_200, 1_699_999_999], "identifier"),
        ("lap time", [61.5, 62.25], "measure"),
        ("approved by", [5, 2, 6, 5], "identifier"),
        ("assigned to", [5.0, 2.0, None, 5.0], "identifier"),
        ("reports to", [5, 2, 6, 5], "identifier"),
        ("increased by", [5, 2, 6, 5], "measure"),
        ("role", [0, 1, 2, 1] * 20, "category"),
        ("action flag", [3, 1, 2, 3] * 20, "category"),
        ("state", [10, 20, 90] * 20, "category"),
        ("visibility", [0, 1, 2] * 20, "category"),
        ("visibility", [0, 3, 20] * 20, "measure"),  # in km
        ("children", [0, 1, 2, 3] * 20, "measure"),
        ("number of children", [0, 1, 2, 3] * 20, "measure"),
        ("bedroom", [1, 2, 3] * 20, "measure"),
        ("bedrooms", [1, 2, 3] * 20, "measure"),
        ("rating", [1, 2, 3, 4, 5] * 20, "measure"),
        ("injured", [0, 1, 2] * 20, "measure"),
        ("guest", [1, 2, 3] * 20, "measure"),
        ("anzahl", [0, 1, 2, 3] * 20, "measure"),
        ("protocol", [1, 2, 3], "measure"),
        ("running number", [1, 2, 1, 2, 3], "identifier"),
        ("laufend", [*range(1, 41)], "identifier"),
        ("laufend", [*range(1, 40), 60], "measure"),
        ("score", [*range(1, 41)], "measure"),
        ("birth date", [1990, 1991, 1995], "year"),
        ("stuff", [1, "a"], "other"),
        ("photo", [b"\x00\x01"], "other"),
        ("price", ["1.50", "2.50", "3.50"], "text"),
        ("isbn", ["123", "124"], "identifier"),
        ("photo path", ["http://ours/people/davolio.bmp", "http://ours/people/fuller.bmp"] * 9, "identifier"),
        ("picture", ["scans/one.JPG", "scans/two.JPG"] * 9, "identifier"),
        ("picture", ["portrait", "landscape"] * 9, "category"),
        ("preferences", ['{"theme": "dark"}', '{"theme": "light"}', ""] * 9, "other"),
        ("tag list", ["[]", '["new", "eu"]'] * 9, "other"),
        ("remark", ["[deleted]", "{name}"] * 9, "category"),
        ("valid", ['["2023-01-01 00:00:00+00",)', "empty"] * 9, "other"),
        ("place", ["(1.5,2)", "(3,4)"] * 9, "other"),
        ("state", ["empty", "full", "half"] * 9, "category"),
    ],
)
def test_roles(words: str, values: list[Cell], role: str) -> None:
    assert role_of(words.split(), describe(values), Place()) == role


def test_keys_are_identifiers_whatever_they_are_called() -> None:
    values = describe([1, 2, 3])
    assert role_of(["weight"], values, Place(sole_key=True)) == "identifier"
    assert role_of(["weight"], values, Place(refers=True)) == "identifier"
    assert role_of(["discount"], values, Place(opaque=True)) == "identifier"
    assert role_of(["employee"], values, Place(names_rows=True)) == "identifier"
    assert role_of(["score"], values, Place(names_rows=True)) == "measure"
    assert role_of(["weight"], values, Place()) == "measure"


def test_units_are_read_from_names() -> None:
    assert unit_of(["length", "in", "km"]) == "km"
    assert unit_of(["latitude"]) == "degrees"
    assert unit_of(["salary", "in", "cents"]) == "cents"
    assert unit_of(["weight", "in", "g"]) == "g"
    assert unit_of(["group", "g"]) == ""
    assert unit_of(["name"]) == ""
