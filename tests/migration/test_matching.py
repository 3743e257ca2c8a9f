"""Tables and columns found again: what must not lead to a match, or away from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from migration.shop import make_shop

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
