"""Schemas as text under a budget."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising.linking import index_schema
from agro_data.profiling.serialising.serialise import Style, fit_schema


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("schema") / "s.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        """CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
           CREATE TABLE player (id INTEGER PRIMARY KEY, team_id INTEGER REFERENCES team(id), "a b" TEXT, age INTEGER);
           CREATE TABLE alone (x TEXT);
           INSERT INTO team VALUES (1, 'Reds' || char(10) || 'x', 'Oslo'); INSERT INTO player VALUES (1, 1, 'q', 30);"""
    )
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return profile_database(Database("s", "sqlite", "sqlite", path, digest, path.name))


def test_ddl_can_be_executed(profile: DatabaseProfile) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(fit_schema(profile, style="ddl").text)
    assert [row[1] for row in connection.execute("PRAGMA table_info(player)")] == ["id", "team_id", "a b", "age"]
    assert len(connection.execute("PRAGMA foreign_key_list(player)").fetchall()) == 1


def test_names_of_the_compact_style_stand_behind_a_space(profile: DatabaseProfile) -> None:
    """As they do where a model writes them: else many are other tokens there."""
    text = fit_schema(profile, style="compact").text
    assert text == ' alone( x)\n player( id*, team_id> team, "a b", age)\n team( id*, name, city)\n'
    names = {table.name for table in profile.tables} | {c.name for table in profile.tables for c in table.columns}
    assert all(text[found.start() - 1] == " " for found in re.finditer(r'\w+|"a b"', text) if found[0] in names)


@pytest.mark.parametrize("style", ["ddl", "compact", "mschema"])
def test_the_budget_is_kept_and_losses_are_said(profile: DatabaseProfile, style: Style) -> None:
    full = fit_schema(profile, style=style, budget=10_000).text
    assert "not shown" not in full
    texts = [
        fit_schema(profile, style=style, budget=len(full), count_tokens=lambda text, most=most: len(text) + most).text  # type: ignore[misc]
        for most in range(0, len(full) // (4 if style == "compact" else 2), 10)
    ]
    for place, text in enumerate(texts):
        assert len(text) <= len(full) - 10 * place
    assert texts[0] == full
    assert "more" in texts[-1]


@pytest.mark.parametrize("style", ["ddl", "compact", "mschema"])
@pytest.mark.parametrize("question", ["Which b of t3?", None])
def test_what_fits_as_a_whole_is_shown_as_a_whole(tmp_path: Path, style: Style, question: str | None) -> None:
    """A part says what it leaves out, and may so be longer than the whole."""
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as connection:
        connection.executescript("".join(f"CREATE TABLE t{number} (a, b);" for number in range(6)))
        connection.executescript("INSERT INTO t0 VALUES (NULL, NULL);")  # no examples to leave out
    small = profile_database(find_databases(tmp_path).databases[0])
    links = index_schema(small).link(question, None) if question else None
    full = fit_schema(small, style=style, links=links)
    assert len(full.columns) == 12
    assert fit_schema(small, style=style, links=links, budget=len(full.text), count_tokens=len) == full


def test_nothing_fits_or_is_unknown(profile: DatabaseProfile) -> None:
    with pytest.raises(ValueError, match="no table fits"):
        fit_schema(profile, budget=1)
    with pytest.raises(ValueError, match="no table 'ghost'"):
        fit_schema(profile, tables=["ghost"])


def test_a_database_without_a_table_says_why(profile: DatabaseProfile) -> None:
    """No budget would help."""
    faults = tuple(f"table '{name}': cannot be read, left out: malformed" for name in "abcde")
    with pytest.raises(ValueError, match=r"none of its tables can be read \(table 'a': .*; and 2 more\)$"):
        fit_schema(replace(profile, tables=(), faults=faults))
    with pytest.raises(ValueError, match="each of its tables is hidden"):
        fit_schema(replace(profile, tables=()))


def test_chosen_tables_only(profile: DatabaseProfile) -> None:
    assert "alone" not in fit_schema(profile, tables=["team"]).text
