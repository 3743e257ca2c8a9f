"""Tables and columns found again: what must not lead to a match, or away from one."""

from __future__ import annotations

import hashlib
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from migration.shop import make_shop

from agro_data.databases.types import Cell, Database
from agro_data.migration.evidence import of_database, of_profile
from agro_data.migration.likeness import keys_of
from agro_data.migration.matching import Matching, match
from agro_data.profiling.cache import without_rows
from agro_data.profiling.profiler import profile_database


def matched(folder: Path, table: Sequence[str], changes: Sequence[str]) -> Matching:
    """The shop with a further table, found again after `changes`."""
    before = make_shop(folder / "before", "sqlite", table)
    now = make_shop(folder / "now", "sqlite", [*table, *changes])
    return match(of_profile(without_rows(profile_database(before))), of_database(now, profile_database(now)))


def test_a_table_that_only_looks_alike_is_in_nobodys_way(tmp_path: Path) -> None:
    city = [
        "CREATE TABLE city (city_id INTEGER PRIMARY KEY, label TEXT, size INTEGER)",
        *(f"INSERT INTO city VALUES ({n}, 'town {n}', {n * 13 % 29})" for n in range(1, 21)),
    ]
    changes = [
        "ALTER TABLE city RENAME TO town",
        "ALTER TABLE town RENAME COLUMN label TO caption",
        # Compared first: its `label` has other values, and another of its columns those of the old one.
        "CREATE TABLE archive (archive_id INTEGER, label TEXT, former TEXT)",
        "INSERT INTO archive SELECT city_id + 70, 'x' || city_id, caption FROM town",
    ]
    found = matched(tmp_path, city, changes)
    assert found.tables["city"].new == "town"
    assert found.columns["city", "label"].new == ("town", "caption")


def test_rows_are_not_joined_by_a_key_that_some_lack(tmp_path: Path) -> None:
    thing = [
        "CREATE TABLE thing (code TEXT UNIQUE, label TEXT, size INTEGER)",
        *(f"INSERT INTO thing VALUES ('c{n}', 'thing {n}', {n * 13 % 29})" for n in range(6, 21)),
        *(f"INSERT INTO thing VALUES (NULL, 'thing {n}', {n * 13 % 29})" for n in range(1, 6)),
    ]
    split = ["CREATE TABLE sizes (code TEXT UNIQUE, size INTEGER)", "INSERT INTO sizes SELECT code, size FROM thing"]
    found = matched(tmp_path, thing, [*split, "ALTER TABLE thing DROP COLUMN size"])
    assert found.tables["thing"].pieces == {}
    assert found.columns["thing", "size"].new is None


def test_a_null_among_very_many_rows_is_one(tmp_path: Path) -> None:
    """A share of NULLs has four digits."""
    table = profile_database(make_shop(tmp_path, "sqlite")).table("customer")
    key = table.column("customer_id")
    assert "customer_id" in keys_of(table)
    lacking = replace(key, null_share=round(1 / 30_000, 4), distinct=key.distinct - 1)
    columns = tuple(lacking if column is key else column for column in table.columns)
    assert "customer_id" not in keys_of(replace(table, columns=columns))


# --- ratings, which are all alike ---


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        # `None` stands for values that nobody had before.
        ("crossing finishing", "crossing_score=crossing crossing=finishing", "crossing_score crossing"),  # a chain
        ("a b c", "b=a c=b a=c", "b c a"),  # a circle
        ("crossing finishing", "crossing=finishing", "- crossing"),  # the first is dropped, and its name used again
        ("crossing finishing", "finishing=finishing crossing=None", "crossing finishing"),  # others where it stood
        ("crossing", "crossing_score=crossing crossing=None", "-"),  # moved, or kept in a copy: who knows
        ("crossing finishing", "x=crossing y=finishing", "x y"),
    ],
)
def test_columns_that_are_alike_are_told_all_together(
    was: str, now: str, found: str, by_rows: bool, tmp_path: Path
) -> None:
    chance = random.Random(5)
    ratings = {name: [round(chance.gauss(60, 12)) for _ in range(400)] for name in [*was.split(), "None"]}
    stands = dict(one.split("=") for one in now.split())
    before = made(
        tmp_path / "before.sqlite", was.split(), [*zip(*(ratings[name] for name in was.split()), strict=True)]
    )
    rows = [*zip(*(ratings[name] for name in stands.values()), strict=True)]
    after = made(tmp_path / "now.sqlite", list(stands), rows)
    profile = profile_database(before)
    side = of_database(before, profile) if by_rows else of_profile(without_rows(profile))
    columns = match(side, of_database(after, profile_database(after))).columns
    places = [columns["player", name].new for name in was.split()]
    assert ["-" if place is None else place[1] for place in places] == found.split()


# --- any table, under any names ---

NAMES = ("crossing", "finishing", "volleys", "dribbling", "curve", "crossing_score")
VALUES = (
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from(("open", "paid", "void")),
    st.one_of(st.none(), st.integers(1, 9)),
    st.floats(0, 9, allow_nan=False).map(lambda number: round(number, 2)),
    st.booleans().map(int),
)


@st.composite
def renamed(draw: st.DrawFn) -> tuple[list[str], dict[str, str], list[tuple[Cell, ...]]]:
    """Columns, what each is called afterwards, and rows in which no two columns are alike, nor one all the same."""
    was = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    now = draw(st.permutations(NAMES))
    count = draw(st.integers(12, 40))
    kinds = draw(st.lists(st.sampled_from(VALUES), min_size=len(was), max_size=len(was)))
    columns = [draw(st.lists(kind, min_size=count, max_size=count)) for kind in kinds]
    assume(all(len(set(column)) > 1 for column in columns))
    return was, dict(zip(was, now, strict=False)), list(zip(*columns, strict=True))


def made(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Database:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE player (player_id INTEGER PRIMARY KEY, {', '.join(columns)})")
        marks = ", ".join("?" * (len(columns) + 1))
        connection.executemany(f"INSERT INTO player VALUES ({marks})", [(n, *row) for n, row in enumerate(rows, 1)])
    return Database("p", "sqlite", "sqlite", path, hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


@given(case=renamed(), by_rows=st.booleans(), order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_column_is_found_where_its_values_are_or_nowhere(
    case: tuple[list[str], dict[str, str], list[tuple[Cell, ...]]],
    by_rows: bool,
    order: random.Random,
    tmp_path: Path,
) -> None:
    """By rows where two columns differ in one; by all values together where no two columns hold the same. Where rows
    differ much, each is found.
    """
    was, now, rows = case
    columns = dict(zip(was, zip(*rows, strict=True), strict=True))
    alike = {tuple(column) if by_rows else tuple(sorted(map(str, column))) for column in columns.values()}
    assume(len(alike) == len(columns))
    place = order.sample(range(len(was)), len(was))
    before = made(tmp_path / "before.sqlite", was, rows)
    after = made(tmp_path / "now.sqlite", [now[was[n]] for n in place], [[row[n] for n in place] for row in rows])
    profile = profile_database(before)
    side = of_database(before, profile) if by_rows else of_profile(without_rows(profile))
    found = match(side, of_database(after, profile_database(after)))
    varied = by_rows and all(2 * max(Counter(column).values()) <= len(rows) for column in columns.values())
    for name in was:
        places = [("player", now[name])] if varied else [None, ("player", now[name])]
        assert found.columns["player", name].new in places
