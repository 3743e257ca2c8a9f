"""What the stream asks of a database, and what it does not: sums, groups, ways to a parent, comparisons."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import get_args

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.intent.questions import render_question
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.choose import adds_up
from agro_data.intent.sampling.prior import default_prior
from agro_data.intent.sampling.sample import sample_intents, touched
from agro_data.intent.tree import (
    Between,
    Comparison,
    Intent,
    Query,
    SetOperation,
    Shape,
    Value,
    walk,
)
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, ForeignKey
from agro_data.profiling.profiler import profile_database
from agro_data.synthesis.read_back.reading import Unread, read_intent

sys.path.insert(0, str(Path(__file__).parent))
from intent.profiles_by_hand import column, table


@pytest.mark.parametrize("phrase", ["discount", "humidity", "altitude"])
def test_what_is_summed_adds_up(phrase: str) -> None:
    assert adds_up(column("price", "real", "measure", "price"))
    assert not adds_up(column(phrase, "real", "measure", phrase))


def _clinic(tmp_path: Path) -> DatabaseProfile:
    """Measurements of visits: both have a provider of their own, and to a place lead two ways that are as short."""
    path = tmp_path / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE place (place_id INTEGER PRIMARY KEY, town TEXT NOT NULL);
            CREATE TABLE provider (provider_id INTEGER PRIMARY KEY, name TEXT NOT NULL, place_id REFERENCES place);
            CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, reason TEXT NOT NULL, place_id REFERENCES place,
                                provider_id REFERENCES provider);
            CREATE TABLE measurement (measurement_id INTEGER PRIMARY KEY, pulse INTEGER NOT NULL,
                                      visit_id REFERENCES visit, provider_id REFERENCES provider);
        """)
        rng = Random(1)
        for number in range(1, 41):
            connection.execute("INSERT INTO place VALUES (?, ?)", (number, f"Town {number % 23}"))
            two = rng.choices(range(1, number + 1), k=2)
            connection.execute("INSERT INTO provider VALUES (?, ?, ?)", (number, f"Doctor {number % 37}", two[0]))
            connection.execute("INSERT INTO visit VALUES (?, ?, ?, ?)", (number, f"ill {number % 5}", *two))
            connection.execute("INSERT INTO measurement VALUES (?, ?, ?, ?)", (number, 50 + rng.randrange(60), *two))
        connection.commit()
    return profile_database(find_databases(path).databases[0])


def test_a_parent_is_joined_by_the_key_to_it_and_on_no_way_that_its_question_would_not_say(tmp_path: Path) -> None:
    profile = _clinic(tmp_path)
    joined: Counter[tuple[str, str, str]] = Counter()
    for intent in islice(sample_intents(profile, seed=1), 500):
        for query in (node for node in walk(intent.query) if isinstance(node, Query)):
            tables = {source.alias: source.table for source in query.sources}
            joined.update((query.subject.table, tables[j.left], tables[j.right]) for j in query.joins)
    ways = {way for way in joined if way[0] == "measurement"}
    assert ways == {("measurement", "measurement", "provider"), ("measurement", "measurement", "visit")}
    assert all(child == "visit" for subject, child, parent in joined if (subject, parent) == ("visit", "provider"))


def test_a_query_that_goes_a_longer_way_is_not_asked_as_if_it_took_the_key(tmp_path: Path) -> None:
    atlas = Atlas(_clinic(tmp_path))
    near = "SELECT p.name FROM measurement m JOIN provider p ON m.provider_id = p.provider_id"
    far = near.replace("JOIN", "JOIN visit v ON m.visit_id = v.visit_id JOIN", 1).replace(
        "ON m.provider", "ON v.provider"
    )
    assert isinstance(read_intent(near, atlas), Intent)
    found = read_intent(far, atlas)
    assert isinstance(found, Unread)
    assert found.kind == "not_said"


def test_of_two_keys_to_one_parent_only_those_are_joined_along_that_a_question_can_tell_apart() -> None:
    city = table("city", column("name", "text", "text", "name", distinct=40))
    names = ("origin_id", "a_id", "b_id")
    ride = table("ride", *(column(n, "integer", "identifier", n.replace("_", " "), distinct=9) for n in names))
    keys = tuple(ForeignKey("ride", (name,), "city", ("id",)) for name in names)
    atlas = Atlas(DatabaseProfile("rides", "sqlite", "0" * 64, (city, ride), keys))
    assert [edge.child_columns for edge in atlas.up["ride"]] == [("origin_id",)]


def _planes(*columns: ColumnProfile) -> DatabaseProfile:
    """A table of forty planes, of which the profile knows no row."""
    return DatabaseProfile("planes", "sqlite", "0" * 64, (replace(table("plane", *columns), label_columns=()),))


def _drawn(profile: DatabaseProfile, *shapes: Shape, count: int = 60) -> list[Intent]:
    weights: dict[str, float] = {shape: float(shape in shapes) for shape in get_args(Shape)}
    return list(islice(sample_intents(profile, 1, default_prior().with_shapes(weights), coverage=0), count))


_MAKER = column("maker", "text", "category", "maker", distinct=4, common=tuple((m, 10) for m in "abcd"))
_YEAR = column("year", "integer", "year", "year", distinct=5, null_share=0.2, common=tuple((y, 6) for y in range(5)))
_WING = column("wing", "text", "category", "wing", distinct=3, common=(("", 30), ("low", 6), ("high", 4)))


def test_what_is_unknown_is_no_group() -> None:
    profile = _planes(_YEAR, _WING, column("seats", "integer", "measure", "number of seats", distinct=9))
    found = _drawn(profile, "group", "having", "superlative_group", "compare_groups")
    sql = {intent: render_sql(intent, profile) for intent in found}
    assert {intent.shape for intent in found} == {"group", "having", "superlative_group", "compare_groups"}
    assert all("WHERE year IS NOT NULL" in text and "BY wing" not in text for text in sql.values())
    for intent in found:
        said = render_question(intent, profile, "formal", 1).text
        assert bool(re.search("known|recorded", said)) == (intent.shape in ("group", "compare_groups")), said


def test_groups_are_by_what_each_row_has_where_there_is_such_a_column() -> None:
    profile = _planes(_YEAR, _MAKER, column("seats", "integer", "measure", "number of seats", distinct=9))
    found = _drawn(profile, "group", "having", "superlative_group")
    assert all("GROUP BY maker" in render_sql(intent, profile) for intent in found)


def test_people_group_by_kinds_and_hardly_by_flags() -> None:
    flag = column("active", "integer", "boolean", "active", distinct=2, common=((1, 30), (0, 10)))
    found = [i.query for i in _drawn(_planes(_MAKER, flag), "group", "having", "superlative_group", count=60)]
    assert found
    assert all("active" not in str(q.group_by) for q in found if isinstance(q, Query))


def test_lists_that_would_repeat_themselves_ask_for_what_is_different() -> None:
    few = [replace(_MAKER, name=name, phrase=name) for name in ("maker", "hall", "crew")]
    many = [replace(one, distinct=38, common=()) for one in few]
    shares = {}
    for name, columns in (("few", few), ("many", many)):
        found = [i.query for i in _drawn(_planes(*columns), "list", count=120)]
        alone = [q for q in found if isinstance(q, Query) and len(q.select) == 1]
        shares[name] = sum(q.distinct for q in alone) / len(alone)
    assert shares["few"] == 1.0
    assert shares["many"] < 0.6


def test_two_tables_are_set_against_each_other_where_they_hold_the_same_kind_of_thing() -> None:
    def town(*values: str) -> ColumnProfile:
        return replace(_MAKER, name="nombre", phrase="name", common=tuple((v, 10) for v in values))

    for other, compared in (("a", True), ("z", False)):
        tables = (table("product", town("a", "b", "c"), label=""), table("person", town(other, "x", "y"), label=""))
        profile = DatabaseProfile("shop", "sqlite", "0" * 64, tables)
        found = [i.query for i in _drawn(profile, "set_operation", count=40)]
        across = [q for q in found if isinstance(q, SetOperation) and q.left.subject.table != q.right.subject.table]
        assert bool(across) == compared


def test_what_is_the_same_the_other_way_round_is_asked_one_way() -> None:
    town = replace(_MAKER, name="town", phrase="town", common=tuple((v, 10) for v in "abcd"))
    tables = (table("product", town, label=""), table("person", town, label=""))
    profile = DatabaseProfile("shop", "sqlite", "0" * 64, tables)
    found = [i.query for i in _drawn(profile, "set_operation", count=60)]
    across = Counter(
        (q.operator == "except", q.left.subject.table)
        for q in found
        if isinstance(q, SetOperation) and q.left.subject.table != q.right.subject.table
    )
    assert len([first for excluded, first in across if not excluded]) == 1
    assert len([first for excluded, first in across if excluded]) == 2


def test_children_are_counted_by_what_they_are_joined_by_where_they_have_no_key() -> None:
    """A column that no NULL was met in may hold some on instances."""
    size = column("size", "integer", "measure", "size", distinct=40, unique=True, searched=True)
    maker = column("maker_id", "integer", "identifier", "maker ID", distinct=9)
    planes = replace(table("plane", size, maker, label=""), primary_key=(), columns=(size, maker))
    names = column("name", "text", "text", "name", distinct=40, unique=True)
    key = ForeignKey("plane", ("maker_id",), "maker", ("id",))
    profile = DatabaseProfile("air", "sqlite", "0" * 64, (planes, table("maker", names)), (key,))
    sql = [render_sql(intent, profile) for intent in _drawn(profile, "group", "having", count=200)]
    kept = [text for text in sql if "LEFT JOIN" in text]
    assert kept
    assert all(re.search(r"COUNT\(\w+\.maker_id\)", text) for text in kept), kept


def test_references_to_rows_of_several_tables_are_not_counted() -> None:
    kinds = column("noted_type", "text", "category", "noted type", distinct=3, common=(("Order", 20), ("Plane", 19)))
    noted = column("noted_id", "integer", "identifier", "noted ID", distinct=20)
    other = column("author_id", "integer", "identifier", "author ID", distinct=20)
    profile = _planes(kinds, noted, other)
    prior = default_prior().with_shapes({shape: float(shape == "count") for shape in get_args(Shape)})
    sql = [render_sql(intent, profile) for intent in islice(sample_intents(profile, 1, prior), 200)]
    assert any("COUNT(DISTINCT author_id)" in text for text in sql)
    assert not any("COUNT(DISTINCT noted_id)" in text for text in sql)


def test_tables_that_hold_one_value_are_not_set_against_each_other() -> None:
    client = column("client", "text", "category", "client", distinct=1, common=(("100", 40),))
    kinds = (replace(_MAKER, name=f"kind_{n}", phrase=f"kind {n}", distinct=3) for n in range(2))
    tables = tuple(table(name, client, kind, label="") for name, kind in zip(("order", "plant"), kinds, strict=True))
    profile = DatabaseProfile("shop", "sqlite", "0" * 64, tables)
    found = [i.query for i in _drawn(profile, "set_operation", count=40)]
    assert not any("client" in str(q) for q in found)


def test_percentages_are_not_added() -> None:
    columns = [column(f"{of}_pct", "real", "measure", f"{of} percentage", unit="%") for of in ("discount", "margin")]
    costs = [column(f"{of}_cost", "real", "measure", f"{of} cost") for of in ("first", "second")]
    named = column("name", "text", "text", "name", distinct=40)
    profile = _planes(named, *(replace(c, distinct=20) for c in (*columns, *costs)))
    sql = [render_sql(intent, profile) for intent in _drawn(profile, "arithmetic")]
    assert any("discount_pct - margin_pct" in text for text in sql)
    assert not any("discount_pct + margin_pct" in text for text in sql)
    assert any("first_cost + second_cost" in text for text in sql)


def test_the_same_of_two_years_is_not_added() -> None:
    names = ("Population (2011 census)", "Population (2021 census)", "PM10 (µg/m³)", "NO₂ (µg/m³)")
    units = ("", "", "µg/m³", "µg/m³")
    columns = [
        column(name, "real", "measure", name.lower(), distinct=20, unit=unit)
        for name, unit in zip(names, units, strict=True)
    ]
    profile = _planes(column("name", "text", "text", "name", distinct=40), *columns)
    sql = [render_sql(intent, profile) for intent in _drawn(profile, "arithmetic", "aggregate", count=200)]
    assert any('"Population (2021 census)" - "Population (2011 census)"' in text for text in sql)
    assert any('"NO₂ (µg/m³)" - "PM10 (µg/m³)"' in text for text in sql)
    assert not any('" + "' in text for text in sql)
    assert not any('SUM("NO₂' in text for text in sql)


def test_what_says_the_same_is_not_asked_twice() -> None:
    """The number and the name of a month; a season has several months."""
    rows = tuple((n, n % 12 + 1, f"{n % 12}. month", n % 12 // 3, n * 7 % 40) for n in range(240))
    parts = [("month", "integer", 12), ("month_name", "text", 12), ("season", "integer", 4), ("week", "integer", 40)]
    columns = [
        column(name, kind, "category", name, distinct=n, common=tuple(Counter(r[at] for r in rows).items()))
        for at, (name, kind, n) in enumerate(parts, 1)
    ]
    day = replace(table("day", *columns), rows=240, sample_rows=rows, label_columns=())
    profile = DatabaseProfile("calendar", "sqlite", "0" * 64, (day,))
    atlas = Atlas(profile)
    assert atlas.says_the_same("day", "month", "month_name")
    assert not atlas.says_the_same("day", "season", "month")
    asked = [touched(i.query) for i in _drawn(profile, "count", "group", "share", count=300)]
    both = {("day", "month"), ("day", "month_name")}
    assert any(("day", "season") in pair and len(pair) > 1 for pair in asked)
    assert not any(both <= pair for pair in asked)


def test_names_of_two_kinds_are_not_set_against_each_other_for_a_few_that_are_equal() -> None:
    """A move and an ability may be called the same; of versions and their groups many are."""

    def names(first: int) -> ColumnProfile:
        values = tuple((f"n{n}", 1) for n in range(first, first + 40))
        return column("nombre", "text", "text", "name", distinct=40, unique=True, common=values)

    for first, compared in ((30, True), (38, False)):
        tables = (table("move", names(0), label="nombre"), table("ability", names(first), label="nombre"))
        profile = DatabaseProfile("game", "sqlite", "0" * 64, tables)
        found = [i.query for i in _drawn(profile, "set_operation", count=40)]
        across = [q for q in found if isinstance(q, SetOperation) and q.left.subject.table != q.right.subject.table]
        assert bool(across) == compared


def test_a_bound_has_no_more_digits_than_it_takes() -> None:
    """Values that agree in their first digits are parted by a short number all the same."""
    depths = tuple(33679.790000004956 + n / 7 for n in range(11))
    depth = column("depth", "real", "measure", "depth", distinct=40, quantiles=depths)
    found = _drawn(_planes(_MAKER, depth), "list", "count", count=200)
    bounds = [n.right for i in found for n in walk(i.query) if isinstance(n, Comparison) and isinstance(n.right, Value)]
    numbers = [value.value for value in bounds if isinstance(value.value, int | float)]
    assert numbers
    assert max(len(str(number)) for number in numbers) <= 8


def test_a_range_of_days_ends_after_it_begins_where_no_row_says_in_which_order() -> None:
    days = tuple(f"20{year:02}-05-05" for year in range(0, 22, 2))
    left = column("retired", "date", "date", "retirement date", distinct=20, date_format="iso", quantiles=days)
    found = _drawn(_planes(_MAKER, left), "list", "count", count=400)
    ranges = [n for intent in found for n in walk(intent.query) if isinstance(n, Between)]
    assert ranges
    assert all(str(n.low.value) < str(n.high.value) for n in ranges)


def test_a_blob_is_neither_shown_nor_grouped_by() -> None:
    photo = column("photo", "blob", "category", "photo", distinct=7)
    found = islice(sample_intents(_planes(_MAKER, photo), 1), 150)
    assert not any(("plane", "photo") in touched(i.query) for i in found if i.shape in ("list", "group", "having"))


def test_a_total_is_not_multiplied_by_the_quantity_again() -> None:
    names = ("unit price", "extended price", "quantity")
    columns = [column(name.replace(" ", "_"), "real", "measure", name, distinct=9) for name in names]
    profile = _planes(column("name", "text", "text", "name", distinct=40), *columns)
    sql = [render_sql(intent, profile) for intent in _drawn(profile, "arithmetic")]
    assert any("unit_price * quantity" in text for text in sql)
    assert not any("extended_price * quantity" in text for text in sql)


def test_a_table_of_one_row_is_not_asked_about_beside_others() -> None:
    version = replace(table("version", replace(_MAKER, distinct=1)), rows=1)
    profile = _planes(_MAKER, column("seats", "integer", "measure", "number of seats", distinct=9))
    both = replace(profile, tables=(*profile.tables, version))
    assert not any("version" in {t for t, _ in touched(i.query)} for i in islice(sample_intents(both, 1), 150))
    assert list(islice(sample_intents(replace(profile, tables=(version,)), 1), 1))
