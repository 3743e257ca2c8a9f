"""A database without some of it: as if the table, column or value had never been there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest
from making import profile_of

from agro_data.databases.types import Dialect
from agro_data.sql.concealing import Hidden, NotThere, conceal

SCHEMA = {"pet": {"id": "INTEGER", "kind": "TEXT", "owner": "INTEGER"}, "person": {"id": "INTEGER", "name": "TEXT"}}
ROWS: dict[str, list[tuple[int | str | None, ...]]] = {
    "pet": [(1, "cat", 1), (2, "dog", 1), (3, None, 2), (4, "cat", None)],
    "person": [(1, "Ana"), (2, "Bo")],
}
HIDDEN = (Hidden("pet", "kind"), Hidden("pet", "kind", "cat"), Hidden("person", "name", "Bo"))
QUERIES = (
    "SELECT * FROM pet",
    "SELECT count(*) FROM pet AS p JOIN person AS q ON p.owner = q.id",
    "SELECT name FROM person WHERE id IN (SELECT owner FROM pet WHERE id > 1)",
    "WITH old AS (SELECT * FROM pet) SELECT max(id) FROM old",
    "SELECT id FROM pet UNION ALL SELECT id FROM person",
    "SELECT P.ID FROM PET AS P WHERE NOT EXISTS (SELECT 1 FROM person WHERE person.id = P.owner)",
    "SELECT x.id FROM (pet AS x JOIN person AS y ON x.owner = y.id)",
    "WITH x AS (WITH pet AS (SELECT 7 AS kind) SELECT id FROM main.pet) SELECT id FROM x",
    "SELECT p.id, j.value FROM pet AS p, json_each('[1,2]') AS j",
    "WITH pet AS (SELECT 7 AS kind) SELECT kind FROM pet",
)


def _make(dialect: Dialect, hidden: Hidden | None = None) -> sqlite3.Connection | duckdb.DuckDBPyConnection:
    """The database; or, with `hidden`, one that never had it."""
    connection = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()
    for table, columns in SCHEMA.items():
        if hidden is not None and hidden == Hidden(table):
            continue
        connection.execute(f"CREATE TABLE {table} ({', '.join(f'{n} {k}' for n, k in columns.items())})")
        for row in ROWS[table]:
            if hidden is None or table != hidden.table or not hidden.value or row[1] != hidden.value:
                connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        if hidden is not None and table == hidden.table and hidden.column and not hidden.value:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {hidden.column}")
    return connection


@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
@pytest.mark.parametrize("sql", QUERIES)
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_query_does_what_it_does_where_the_thing_never_was(dialect: Dialect, sql: str, hidden: Hidden) -> None:
    whole, without = _make(dialect), _make(dialect, hidden)
    expected = sorted(without.execute(sql).fetchall(), key=str)
    assert sorted(whole.execute(conceal(sql, dialect, SCHEMA, [hidden])).fetchall(), key=str) == expected


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("sql", ["SELECT kind FROM pet", "SELECT p.KIND FROM pet AS p WHERE p.kind = 'cat'"])
def test_a_hidden_column_is_missed_in_the_engines_words(dialect: Dialect, sql: str) -> None:
    hidden = Hidden("pet", "kind")
    with pytest.raises((sqlite3.Error, duckdb.Error)) as said:
        _make(dialect).execute(conceal(sql, dialect, SCHEMA, [hidden]))
    assert "kind" in str(said.value).lower()
    with pytest.raises((sqlite3.Error, duckdb.Error)):
        _make(dialect, hidden).execute(sql)


def test_a_hidden_table_is_not_there_unless_the_query_makes_one() -> None:
    with pytest.raises(NotThere, match="no such table: pet"):
        conceal("SELECT 1 FROM person WHERE id IN (SELECT owner FROM pet)", "sqlite", SCHEMA, [Hidden("pet")])
    with pytest.raises(NotThere, match="no such table: pet"):
        conceal("SELECT 1 FROM person WHERE id IN pet", "sqlite", SCHEMA, [Hidden("pet")])
    assert "FROM pet" in conceal(QUERIES[-1], "sqlite", SCHEMA, [Hidden("pet")])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM memory.pet",
        "SELECT * FROM memory.main.pet",
        "SELECT bin FROM histogram_values(pet, kind)",
        "SELECT * FROM summary((SELECT pet FROM pet))",
        "SELECT sql FROM a: 'sqlite_master'",
    ],
)
def test_what_may_read_a_hidden_table_unseen_is_not_there(sql: str) -> None:
    duckdb_knows = _make("duckdb").execute(sql).fetchall()
    assert duckdb_knows
    with pytest.raises(NotThere, match="does not exist"):
        conceal(sql, "duckdb", SCHEMA, [Hidden("pet", "kind")])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value FROM json_each((SELECT to_json(list(pet)) FROM pet))",
        "SELECT to_json(q) FROM person AS p, LATERAL (SELECT * FROM pet WHERE owner = p.id) AS q",
        "SELECT i FROM UNNEST((SELECT list(pet) FROM pet)) AS u(i)",
    ],
)
def test_a_hidden_column_is_in_no_row_that_is_read_in_a_from(sql: str) -> None:
    duck = _make("duckdb")
    assert "kind" in str(duck.execute(sql).fetchall())
    left = duck.execute(conceal(sql, "duckdb", SCHEMA, [Hidden("pet", "kind")])).fetchall()
    assert left
    assert "kind" not in str(left)


def test_a_profile_shows_what_is_left(tmp_path: Path) -> None:
    from agro_data.profiling.hidden.concealing import without
    from agro_data.profiling.serialising.serialise import fit_schema

    with sqlite3.connect(tmp_path / "pets.sqlite") as connection:
        connection.executescript(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE pet (id INTEGER PRIMARY KEY, kind TEXT, owner INTEGER REFERENCES person (id));"
        )
        for table, rows in ROWS.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
    connection.close()
    profile = profile_of(tmp_path)
    assert "cat" in fit_schema(profile).text
    text = fit_schema(without(profile, [Hidden("pet", "kind", "cat")])).text
    assert "cat" not in text
    assert "dog" in text
    assert "kind" not in fit_schema(without(profile, [Hidden("pet", "kind")])).text
    left = without(profile, [Hidden("person")])
    assert [table.name for table in left.tables] == ["pet"]
    assert not left.foreign_keys
    assert without(profile, []).tables == profile.tables
