"""CHECK constraints and enums of a server come along as what DuckDB checks."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from snapshot.server import further

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.trusted.connections import open_database
from agro_data.snapshot.catalog import Column, Table
from agro_data.snapshot.checks import conditions
from agro_data.snapshot.copying import take_snapshot

CHECKED = """
CREATE TYPE pace AS ENUM ('slow', 'it''s fast');
CREATE TABLE part (id int PRIMARY KEY CHECK (id > 0)) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (1) TO (10);
INSERT INTO part VALUES (3);
CREATE TABLE trip (
    id int PRIMARY KEY, state varchar(9) NOT NULL CHECK (state IN ('new', 'done')),
    price numeric(8, 2) CHECK (price > 0), "Left" date NOT NULL, back date, pace pace,
    stars smallint CHECK (stars BETWEEN 1 AND 5 AND stars <> 3),
    span interval CHECK (span < interval '2 mon'), CHECK (back >= "Left"), CHECK (char_length(state) > 2),
    CONSTRAINT hot CHECK (state <> 'done' OR back IS NOT NULL), photo bytea, CHECK (photo IS NULL OR price > 1)
);
INSERT INTO trip VALUES (1, 'new', 2.5, '2024-01-02', NULL, 'slow', 5),
    (2, 'done', 3, '2024-01-02', '2024-01-02', NULL, 1);
ALTER TABLE trip ADD CONSTRAINT later CHECK (id > 1) NOT VALID;
CREATE TABLE root (id int, CONSTRAINT own CHECK (id < 5) NO INHERIT);
CREATE TABLE leaf () INHERITS (root);
INSERT INTO leaf VALUES (7);
"""


def test_they_come_along(url: str, tmp_path: Path) -> None:
    with further(url, CHECKED):
        made = take_snapshot(url, tmp_path / "trips.duckdb", schemas=["further"])
    assert not made.lost
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        found = {table.name: {*table.checks} for table in connection.objects()}
    assert found["part"] == {'"id" > 0'}
    assert found["root"] == set()  # the rows of its heirs are in it
    assert {one.replace("(", "").replace(")", "") for one in found["trip"]} == {
        "\"state\" IN 'new', 'done'",
        '"price" > 0',
        '"stars" >= 1',
        '"stars" <= 5',
        '"stars" <> 3',
        '"back" >= "Left"',
        '"state" <> \'done\' OR NOT "back" IS NULL',
        "\"pace\" IN 'slow', 'it''s fast'",
    }
    with duckdb.connect(made.path) as file, pytest.raises(duckdb.ConstraintException):
        file.execute("UPDATE further.trip SET state = 'gone'")


def test_what_duckdb_refuses_costs_the_checks_alone(url: str, tmp_path: Path) -> None:
    """A 32-bit 0.1 is more than 0.1 to PostgreSQL, and not to DuckDB."""
    refused = """CREATE TABLE odd (id int PRIMARY KEY, part real CHECK (part > 0.1));
        INSERT INTO odd VALUES (1, 0.1); CREATE TABLE side (id int PRIMARY KEY REFERENCES odd);"""
    with further(url, refused):
        made = take_snapshot(url, tmp_path / "odd.duckdb", schemas=["further"])
    assert {one.name: one.rows for one in made.tables} == {"further.odd": 1, "further.side": 0}
    assert [one.partition(", as")[0] for one in made.notes] == ["further.odd: its checks are not declared"]
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        found = {table.name: (table.primary_key, table.foreign_keys, table.checks) for table in connection.objects()}
    assert found["odd"] == (("id",), (), ())
    assert len(found["side"][1]) == 1


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("((price > (0)::numeric))", ('"price" > 0',)),
        ("((price > '-1.5'::numeric))", ('"price" > -1.5',)),
        (
            "(((state)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))",
            ("\"state\" IN ('a', 'b')",),
        ),
        ("((state <> ALL (ARRAY['x'::text, 'y'::text])))", ("NOT \"state\" IN ('x', 'y')",)),
        ("((day > '1900-01-01'::date))", ("\"day\" > '1900-01-01'",)),
        ("((span < '1 mon'::interval))", ()),
        ("((lower(state) = state))", ()),
        ("(((price)::integer > 3))", ()),
        ("((gone > 3))", ()),
        ("((state ~ '^[a-z]+$'::text))", ()),
        ("no condition", ()),
    ],
)
def test_what_a_constraint_says_is_read_as_the_server_writes_it(written: str, said: tuple[str, ...]) -> None:
    columns = tuple(Column(name, "text", False, "") for name in ("price", "state", "day", "span"))
    table = Table("public", "t", "table", None, False, "", columns, (), (), (), (), (f"CHECK {written}",))
    assert conditions(table, [column.name for column in columns]) == said
