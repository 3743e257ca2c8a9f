"""What a person is told who gives a database: what cannot be read, compared, added or referred to in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from making import add_damaged
from profiled_databases import csv_database, sqlite_database, texts_database

from agro_data.databases.discovery.catalog import find_databases
from agro_data.profiling.cache import decode, encode
from agro_data.profiling.profile import Within
from agro_data.profiling.profiler import profile_database


def test_tables_without_any_key_between_them_are_told(tmp_path: Path) -> None:
    database = csv_database(tmp_path / "loose", cats="name,age Tom,3 Kit,4", mills="mill,year Red,1900 Blue,1910")
    [said] = profile_database(database).problems
    assert "between its 2 tables" in said
    assert "semantics.yml" in said


def test_numbers_that_one_marker_makes_texts_are_told(tmp_path: Path) -> None:
    rows = [f"{n},{'NA' if n % 9 == 0 else n / 4},{'?' if n % 7 == 0 else n},{n:04},{'ABC'[n % 3]}" for n in range(40)]
    database = texts_database(tmp_path / "air.sqlite", "readings", "number,depth,load,zip,kind", rows)
    said = profile_database(database).problems
    assert [text.partition(", so")[0] for text in said] == [
        "table 'readings': 'depth': numbers but for 'NA'",
        "table 'readings': 'load': numbers but for '?'",
    ]


def test_numbers_that_separators_make_texts_are_told(tmp_path: Path) -> None:
    script = """
        CREATE TABLE accounts (id INTEGER PRIMARY KEY, revenue TEXT, betrag TEXT, profit TEXT, phone TEXT, pair TEXT,
            quote TEXT);
        INSERT INTO accounts VALUES
            (1, '1,200', '35,20', '1 200', '555 123 456', '1,2', '5,5'),
            (2, '99', '1.017,05', '7', '555 123 457', '1,2,3', '7,1'),
            (3, 'N/A', '8', '-11 000 000', '555 123 458', '4', '..'),
            (4, '1,000,000.5', NULL, NULL, '555 123 459', '5,6', '6'), (5, NULL, NULL, NULL, NULL, NULL, '7,1');
    """
    profile = profile_database(sqlite_database(tmp_path / "crm.sqlite", script))
    said = profile.problems
    assert [text.partition(", so")[0] for text in said] == [
        "table 'accounts': 'revenue': numbers but for 'N/A' and thousands separators",
        "table 'accounts': 'betrag': numbers but for a decimal comma",
        "table 'accounts': 'profit': numbers but for thousands separators",
        "table 'accounts': 'quote': numbers but for '..' and a decimal comma",
    ]
    shown = {name: profile.table("accounts").by_name[name].role for name in ("revenue", "betrag", "profit", "quote")}
    assert set(shown.values()) == {"other"}  # "which quotes no account has in May" is asked by nobody
    assert "store NULL" in said[0]
    assert "store NULL" not in said[1]


def test_dates_that_no_engine_puts_in_order_are_told(tmp_path: Path) -> None:
    days = [f"{n % 12 + 1}/{n % 28 + 1}/20{n % 20 + 10}" for n in range(40)]
    rows = [
        f"{n},{day},{day if n else 'soon'},2024-{n % 12 + 1:02}-01,978-0-{n % 80 + 10}-{n * 7 % 90 + 10}-4"
        for n, day in enumerate(days)
    ]
    database = texts_database(tmp_path / "trips.sqlite", "trips", "number,start,finish,booked,isbn", rows)
    assert [text.partition(", never")[0] for text in profile_database(database).problems] == [
        "table 'trips': 'start': dates written as m/d/y or d/m/y: asked for and compared as written",
        "table 'trips': 'finish': dates but for some values: asked for and compared as written",
    ]


def test_what_cannot_be_read_is_told_apart_from_what_a_build_should_know(tmp_path: Path) -> None:
    script = "CREATE TABLE t (a TEXT); CREATE TABLE u (b REFERENCES nowhere(b)); CREATE VIEW v AS SELECT c FROM t;"
    sqlite_database(tmp_path / "x.sqlite", f"{script} INSERT INTO t VALUES (1); INSERT INTO u VALUES (2);")
    profile = profile_database(find_databases(add_damaged(tmp_path / "x.sqlite", "lost")).databases[0])
    assert [table.name for table in profile.tables] == ["t", "u"]
    assert [said.partition(", left out")[0] for said in profile.faults] == [
        "view 'v': cannot be read",
        "table 'lost': cannot be read",
    ]
    ignored, unlinked = (said for said in profile.problems if said not in profile.faults)
    assert ignored.startswith("table 'u': ")  # a key that refers to nothing
    assert unlinked.startswith("no foreign key is declared")
    assert decode(encode(profile)) == profile


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("codigo_cliente nombre apellido ciudad telefono limite_credito puesto comentarios", True),
        ("customer_id first_name last_name city phone credit_limit position comments", False),
    ],
)
def test_names_that_are_not_english_are_told(names: str, told: bool, tmp_path: Path) -> None:
    columns = ", ".join(f"{name} TEXT" for name in names.split())
    script = f"CREATE TABLE t ({columns}); INSERT INTO t VALUES ({', '.join(['1'] * 8)});"
    said = profile_database(sqlite_database(tmp_path / "x.sqlite", script)).problems
    assert [("English" in text, "semantics.yml" in text) for text in said] == [(True, True)] * told


def test_rows_that_are_marked_as_deleted_are_told(tmp_path: Path) -> None:
    script = """
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, deleted_at TEXT);
    CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT, is_deleted INTEGER);
    CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT, deleted_at TEXT);
    INSERT INTO users VALUES (1, 'Ann', NULL), (2, 'Bo', '2024-05-01 10:00:00'), (3, 'Cy', NULL);
    INSERT INTO files VALUES (1, 'a', 0), (2, 'b', 1), (3, 'c', 0);
    INSERT INTO notes VALUES (1, 'a', NULL), (2, 'b', NULL);
    """
    (said,) = (s for s in profile_database(sqlite_database(tmp_path / "app.sqlite", script)).problems if "deleted" in s)
    assert said.startswith("files.is_deleted, users.deleted_at: rows that are marked as deleted do not count")


def test_numbers_that_stand_for_kinds_are_told_and_lose_the_notice_with_their_meaning(tmp_path: Path) -> None:
    script = """
    CREATE TABLE jobs (id INTEGER PRIMARY KEY, status INTEGER, priority INTEGER, state TEXT);
    INSERT INTO jobs
        SELECT value, value % 3 * 10, value % 4, 'AB' FROM json_each('[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]');
    """
    database = sqlite_database(tmp_path / "jobs.sqlite", script)
    (said,) = profile_database(database).problems
    assert said.startswith("jobs.status: numbers that stand for kinds")
    side = tmp_path / "jobs.semantics.yml"
    side.write_text("tables: {jobs: {columns: {status: {codes: {0: new, 10: open, 20: done}}}}}", encoding="utf-8")
    assert profile_database(sqlite_database(tmp_path / "again.sqlite", script, semantics=side)).problems == ()


def test_totals_beside_their_parts_are_told_and_not_added_to_them(tmp_path: Path) -> None:
    script = """
    CREATE TABLE people (region TEXT, sex TEXT, number INTEGER);
    INSERT INTO people SELECT 'R' || r.value, s.value, r.value * 7 + length(s.value)
        FROM json_each('[1, 2, 3, 4, 5, 6]') AS r, json_each('["Female", "Male", "Total"]') AS s;
    """
    profile = profile_database(sqlite_database(tmp_path / "census.sqlite", script))
    columns = profile.table("people").by_name
    assert (columns["number"].role, columns["number"].within) == ("identifier", ())
    assert not any("Total" in said for said in profile.problems)
    script = script.replace("number", "inhabitants")
    profile = profile_database(sqlite_database(tmp_path / "census2.sqlite", script))
    assert profile.table("people").by_name["inhabitants"].within == (Within("sex"),)
    assert any("rows with 'Total' in 'sex' seem to be totals" in said for said in profile.problems)
