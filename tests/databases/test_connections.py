"""What a connection lists of a file, and how it reads it."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from database_files import ONE, SHOP, csv_file, duckdb_file, found, sqlite_file, tables, unchecked
from making import hashes_and_times

from agro_data.databases.errors import DatabaseError
from agro_data.databases.schema.table_info import ColumnInfo, ForeignKeyInfo
from agro_data.databases.trusted.connections import open_database

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_tables_keys_and_views(make: object, tmp_path: Path) -> None:
    path = make(tmp_path / "shop.db", SHOP + ONE)  # type: ignore[operator]
    with open_database(found(path)) as connection:
        shop = tables(connection)
        assert list(shop) == ["customer", "line", "sale", "buyer"]
        customer = shop["customer"]
        assert customer.primary_key == ("id",)
        assert customer.unique_keys == (("email",),)
        assert [(c.name, c.not_null) for c in customer.columns if c.name == "email"] == [("email", True)]
        assert shop["line"].primary_key == ("sale_id", "number")
        assert [c.primary_key_position for c in shop["line"].columns] == [1, 2]
        assert shop["line"].foreign_keys == (ForeignKeyInfo(("sale_id",), "sale", ("id",)),)
        assert shop["buyer"].is_view
        assert not shop["sale"].is_view
        assert connection.problems == []
        assert connection.execute("SELECT email FROM customer WHERE id = ?", (1,)) == [("a@b.c",)]


def test_foreign_keys_of_sqlite_in_all_their_forms(tmp_path: Path) -> None:
    script = """
    CREATE TABLE Parent(A INTEGER, B INTEGER, PRIMARY KEY (B, A));
    CREATE TABLE implicit(x, y, FOREIGN KEY (x, y) REFERENCES parent);
    CREATE TABLE spelled(x, FOREIGN KEY (X) REFERENCES PARENT(a));
    CREATE TABLE self(id INTEGER PRIMARY KEY, boss REFERENCES self);
    CREATE TABLE left_(id INTEGER PRIMARY KEY, other REFERENCES right_(id));
    CREATE TABLE right_(id INTEGER PRIMARY KEY, other REFERENCES left_(id));
    CREATE TABLE keyless(v);
    CREATE TABLE lost(x REFERENCES nowhere(id), y REFERENCES keyless, z REFERENCES self(absent));
    INSERT INTO keyless VALUES (1);
    """
    with open_database(found(sqlite_file(tmp_path / "db.sqlite", script))) as connection:
        keys = {name: table.foreign_keys for name, table in tables(connection).items()}
        assert keys["implicit"] == (ForeignKeyInfo(("x", "y"), "Parent", ("B", "A")),)
        assert keys["spelled"] == (ForeignKeyInfo(("x",), "Parent", ("A",)),)
        assert keys["self"] == (ForeignKeyInfo(("boss",), "self", ("id",)),)
        assert keys["left_"][0].ref_table == "right_"
        assert keys["lost"] == ()
        assert len(connection.problems) == 3
        assert "nowhere" in " ".join(connection.problems)


def test_foreign_keys_of_duckdb_are_spelled_as_their_tables_are(tmp_path: Path) -> None:
    script = """
    CREATE TABLE "Parent"("Id" INT, "Name" TEXT, PRIMARY KEY (ID), UNIQUE (name));
    CREATE TABLE child("X" INT, FOREIGN KEY (x) REFERENCES PARENT(iD));
    INSERT INTO "Parent" VALUES (1, 'a');
    """
    with open_database(found(duckdb_file(tmp_path / "db.duckdb", script))) as connection:
        shop = tables(connection)
        assert (shop["Parent"].primary_key, shop["Parent"].unique_keys) == (("Id",), (("Name",),))
        assert [column.primary_key_position for column in shop["Parent"].columns] == [1, 0]
        assert shop["child"].foreign_keys == (ForeignKeyInfo(("X",), "Parent", ("Id",)),)


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_a_view_without_end_is_left_out(make: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in ("sqlite", "duckdb"):
        monkeypatch.setattr(f"agro_data.databases.trusted.{engine}_connection.SECONDS", 0.3)
    script = """CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1);
    CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS i FROM n"""
    path = make(tmp_path / "x.db", script)  # type: ignore[operator]
    with open_database(unchecked(path, "sqlite" if make is sqlite_file else "duckdb")) as connection:
        assert list(tables(connection)) == ["t"]
        assert ["endless" in problem and "too long" in problem for problem in connection.problems] == [True]
        assert connection.execute("SELECT a FROM t") == [(1,)]


def test_views_over_missing_tables_are_reported(tmp_path: Path) -> None:
    script = "CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE TABLE gone(b); CREATE VIEW v AS SELECT b FROM gone;"
    lite = sqlite_file(tmp_path / "a.sqlite", script + "CREATE VIEW w AS SELECT c FROM t; PRAGMA foreign_keys=OFF")
    with closing(sqlite3.connect(lite)) as writer:
        writer.execute("PRAGMA legacy_alter_table=ON")
        writer.execute("DROP TABLE gone")
        writer.commit()
    duck = duckdb_file(
        tmp_path / "b.duckdb", script.replace("(a)", "(a INT)").replace("(b)", "(b INT)") + "DROP TABLE gone"
    )
    for path, bad in ((lite, ["v", "w"]), (duck, ["v"])):
        with open_database(found(path)) as connection:
            assert list(tables(connection)) == ["t"]
            assert len(connection.problems) == len(bad)
            for name, problem in zip(bad, connection.problems, strict=True):
                assert f"'{name}'" in problem


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_awkward_identifiers(make: object, tmp_path: Path) -> None:
    names = ["order", "two words", 'say "hi"', "it's", "größe", "日本", "Straße 7", "a.b", "select"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    script = "".join(f"CREATE TABLE {q}({q} INTEGER); INSERT INTO {q} VALUES (1);" for q in quoted)
    with open_database(found(make(tmp_path / "x.db", script))) as connection:  # type: ignore[operator]
        found_tables = tables(connection)
        assert sorted(found_tables) == sorted(names)
        assert all(table.columns[0].name == name for name, table in found_tables.items())
        for q in quoted:
            assert connection.execute(f"SELECT {q} FROM {q}") == [(1,)]


def test_columns_that_differ_only_by_unicode_case(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "x.db", 'CREATE TABLE t("É" TEXT, "é" TEXT); INSERT INTO t VALUES (1, 2)')
    with open_database(found(path)) as connection:
        assert [column.name for column in tables(connection)["t"].columns] == ["É", "é"]


def test_a_table_of_1500_columns(tmp_path: Path) -> None:
    columns = ", ".join(f"c{i} INTEGER" for i in range(1500))
    path = sqlite_file(tmp_path / "wide.db", f"CREATE TABLE wide({columns}); INSERT INTO wide(c0) VALUES (1)")
    with open_database(found(path)) as connection:
        (wide,) = connection.objects()
        assert len(wide.columns) == 1500
        assert wide.columns[1499] == ColumnInfo("c1499", "INTEGER")
        assert len(connection.execute("SELECT * FROM wide")[0]) == 1500


def test_text_that_is_not_utf8_comes_as_bytes(tmp_path: Path) -> None:
    script = "CREATE TABLE t(v); INSERT INTO t VALUES ('é'), (CAST(x'ff41' AS TEXT)), (x'01'), (2), (2.5), (9e999)"
    with open_database(found(sqlite_file(tmp_path / "x.db", script))) as connection:
        rows = connection.execute("SELECT v FROM t")
    assert rows == [("é",), (b"\xffA",), (b"\x01",), (2,), (2.5,), (math.inf,)]


def test_fetching_can_be_bounded_and_errors_name_the_database(tmp_path: Path) -> None:
    for path in (sqlite_file(tmp_path / "shop.sqlite"), duckdb_file(tmp_path / "shop.duckdb")):
        with open_database(found(path)) as connection:
            assert connection.execute("SELECT a FROM t ORDER BY a", limit=2) == [(1,), (2,)]
            with pytest.raises(DatabaseError, match=r"shop.*missing"):
                connection.execute("SELECT * FROM missing")
            assert connection.execute("SELECT count(*) FROM t") == [(3,)]


def test_trusted_connections_cannot_write(tmp_path: Path) -> None:
    folder = csv_file(tmp_path / "files" / "t.csv").parent
    for path in (sqlite_file(tmp_path / "a.sqlite"), duckdb_file(tmp_path / "b.duckdb")):
        before = hashes_and_times(tmp_path)
        with open_database(found(path)) as connection, pytest.raises(DatabaseError):
            connection.execute("INSERT INTO t VALUES (9, 'x')")
        assert hashes_and_times(tmp_path) == before
    with open_database(found(folder)) as connection, pytest.raises(DatabaseError, match="disabled by configuration"):
        connection.execute(f"COPY t TO '{tmp_path}/x.csv'")


@pytest.mark.parametrize("make", [sqlite_file, duckdb_file])
def test_a_unique_index_is_a_key(make: object, tmp_path: Path) -> None:
    """DuckDB lists it among no constraints, and SQLite names no column of an expression."""
    script = """
    CREATE TABLE member("Id" INTEGER, email TEXT, team INTEGER, "place no" INTEGER, code TEXT);
    CREATE UNIQUE INDEX a ON member (id);
    CREATE UNIQUE INDEX b ON member (team, "place no");
    CREATE UNIQUE INDEX c ON member ((lower(EMAIL)));
    CREATE UNIQUE INDEX d ON member ((CASE WHEN team > 1 THEN code END));
    CREATE INDEX e ON member (code);
    INSERT INTO member VALUES (1, 'a@b.c', 1, 1, 'x');
    """
    path = make(tmp_path / "x.db", script)  # type: ignore[operator]
    with open_database(unchecked(path, "sqlite" if make is sqlite_file else "duckdb")) as connection:
        keys = tables(connection)["member"].unique_keys
        assert keys == (("Id",), ("team", "place no"), ("email",))
