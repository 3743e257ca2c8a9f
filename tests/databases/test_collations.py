"""By which collation columns compare their texts, as the statement that makes their table says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from agro_data.databases.discovery.catalog import usable_databases
from agro_data.databases.schema.collations import duckdb_collations, sqlite_collations
from agro_data.databases.trusted.connections import open_database

CUSTOMER = """CREATE TABLE "a customer" (
    "its name" TEXT NOT NULL COLLATE NOCASE UNIQUE, town TEXT COLLATE {0}, note TEXT {1}
)"""


@pytest.mark.parametrize("tail", ["", " STRICT"])
def test_sqlite_tells_those_that_are_not_byte_by_byte(tail: str) -> None:
    found = sqlite_collations(CUSTOMER.format("RTRIM", "COLLATE BINARY DEFAULT 'collate nocase'") + tail)
    assert found == {"its name": "NOCASE", "town": "RTRIM"}


def test_without_the_collation_of_another_program_nothing_is_told() -> None:
    assert sqlite_collations(CUSTOMER.format("LOCALIZED", "")) == {}


def test_a_file_cannot_have_its_statement_compute() -> None:
    endless = "WITH RECURSIVE n AS (SELECT 'a' COLLATE NOCASE AS c UNION ALL SELECT c FROM n)"
    assert sqlite_collations(f"CREATE TABLE t AS {endless} SELECT c FROM n") == {}


def test_duckdb_tells_its_own_of_what_it_wrote(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as duck:
        duck.execute(CUSTOMER.format("nocase.noaccent", ""))
        duck.execute("INSERT INTO \"a customer\" VALUES ('Ada', 'Oslo', '')")
        [(written,)] = duck.execute("SELECT sql FROM duckdb_tables()").fetchall()
    assert duckdb_collations(written) == {"its name": "NOCASE", "town": "nocase.noaccent"}
    [database] = usable_databases(tmp_path / "shop.duckdb").databases
    with open_database(database) as connection:
        [table] = connection.objects()
    assert [column.collation for column in table.columns] == ["NOCASE", "nocase.noaccent", ""]


def test_a_connection_tells_them(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection, connection:
        connection.execute(CUSTOMER.format("BINARY", ""))
        connection.execute("INSERT INTO \"a customer\" VALUES ('Ada', 'Oslo', '')")
    [database] = usable_databases(tmp_path / "shop.sqlite").databases
    with open_database(database) as opened:
        [table] = opened.objects()
    assert [column.collation for column in table.columns] == ["NOCASE", "", ""]
