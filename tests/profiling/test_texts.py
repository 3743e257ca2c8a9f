"""All texts of a database are found, from either engine, kept, and not looked for where the profile has them all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database
from agro_data.profiling.cache import cached_profile, cached_texts
from agro_data.profiling.hidden.concealing import texts_without
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising import texts
from agro_data.profiling.serialising.linking import index_schema
from agro_data.profiling.serialising.said_values import said_values
from agro_data.sql.concealing import Hidden

NAMES = [f"Name {number:03}" for number in range(120)]
ROWS = [(name, "few" if place % 2 else "some", place, f"{name} " + "x" * 80) for place, name in enumerate(NAMES)]
CREATE = "CREATE TABLE guest (name VARCHAR, kind VARCHAR, age INTEGER, note VARCHAR)"
INSERT = "INSERT INTO guest VALUES (?, ?, ?, ?)"


@pytest.fixture(params=["sqlite", "duckdb"])
def hotel(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    path = tmp_path / f"hotel.{request.param}"
    with closing(sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(path)) as connection:
        connection.execute(CREATE)
        connection.executemany(INSERT, ROWS)
        connection.execute("CREATE VIEW visitor AS SELECT name FROM guest")
        connection.commit()
    return find_databases(path).databases[0]


def test_texts_are_those_that_are_not_all_common(hotel: Database) -> None:
    assert texts.read_texts(hotel, profile_database(hotel)) == {
        ("guest", "name"): tuple(NAMES),
        ("guest", "note"): (),  # nobody says so much
    }


def test_most_of_a_column_are_as_many_as_are_allowed(hotel: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST", 60)
    assert texts.read_texts(hotel, profile_database(hotel))["guest", "name"] == tuple(NAMES[:60])
    monkeypatch.setattr(texts, "ROWS", 70)
    monkeypatch.setattr(texts, "MOST", 100)
    assert texts.read_texts(hotel, profile_database(hotel))["guest", "name"] == tuple(NAMES[:70])


def test_they_are_kept_and_read_again_where_the_entry_is_broken(hotel: Database, tmp_path: Path) -> None:
    profile = cached_profile(hotel, tmp_path / "cache")
    found = cached_texts(hotel, profile, tmp_path / "cache")
    [entry] = (tmp_path / "cache").glob("*.texts.json")
    hotel.path.rename(tmp_path / "away")
    assert cached_texts(hotel, profile, tmp_path / "cache") == found
    (tmp_path / "away").rename(hotel.path)
    for broken in ("{", "3", "[3]"):
        entry.write_text(broken)
        assert cached_texts(hotel, profile, tmp_path / "cache") == found


def test_a_question_about_any_of_them_is_told_where_it_stands(hotel: Database) -> None:
    profile = profile_database(hotel)
    index = index_schema(profile, texts.read_texts(hotel, profile))
    for name in NAMES:
        assert f"name = '{name}'" in said_values(index.link(f"How old is {name.lower()}?"), set(index.names))


def test_texts_of_a_table_with_hidden_rows_are_not_known(hotel: Database) -> None:
    found = texts.read_texts(hotel, profile_database(hotel))
    assert texts_without(found, [Hidden("guest", "kind", "few")]) == {}
    assert texts_without(found, [Hidden("room", "kind", "few")]) == found
