"""Databases as they are: odd names, odd values, huge, wide, broken in part."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import duckdb
import pytest

from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Database
from agro_data.profiling import reading as table_reading
from agro_data.profiling import sampling
from agro_data.profiling.cache import decode, encode
from agro_data.profiling.profiler import profile_database


def made(path: Path, script: str) -> Database:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()
    return Database(path.stem, "sqlite", "sqlite", path, hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


def test_odd_identifiers(tmp_path: Path) -> None:
    script = """
    CREATE TABLE "order" ("select" INTEGER PRIMARY KEY, "a ""b"" c" TEXT, "Größe" REAL, "x.y" TEXT, "名前" TEXT);
    CREATE TABLE "Name With Spaces" (id INTEGER PRIMARY KEY, "City" TEXT, "order" INTEGER REFERENCES "order");
    INSERT INTO "order" VALUES (1, 'q', 1.5, 'z', 'n');
    INSERT INTO "Name With Spaces" VALUES (1, 'Oslo', 1);
    """
    profile = profile_database(made(tmp_path / "odd.sqlite", script))
    assert profile.problems == ()
    assert profile.table("order").column('a "b" c').common == (("q", 1),)
    assert [key.ref_table for key in profile.foreign_keys] == ["order"]


@pytest.mark.parametrize("name", ["#", "№", " ", "_"])
def test_a_column_may_have_a_name_without_a_word(name: str, tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, '{'abc'[n % 3]}')" for n in range(30))
    script = f'CREATE TABLE city (id INTEGER PRIMARY KEY, "{name}" TEXT); INSERT INTO city VALUES {rows};'
    column = profile_database(made(tmp_path / "odd.sqlite", script)).table("city").column(name)
    assert (column.role, column.distinct) == ("category", 3)


def test_wide_empty_mixed_and_undecodable(tmp_path: Path) -> None:
    wide = ", ".join(f"c{i} INTEGER" for i in range(1500))
    script = f"""
    CREATE TABLE wide ({wide});
    INSERT INTO wide (c0, c1499) VALUES (1, 2);
    CREATE TABLE empty (id INTEGER PRIMARY KEY, price REAL, born DATE, ok BOOLEAN, note TEXT, raw BLOB);
    CREATE TABLE mixed (a, b DATETIME, c TEXT);
    INSERT INTO mixed VALUES (1, 'yesterday', CAST(x'ff41' AS TEXT)), ('x', 7, 'fine'), (x'00', NULL, 'ok');
    CREATE VIEW broken AS SELECT * FROM nowhere;
    CREATE VIEW fine AS SELECT a FROM mixed;
    """
    profile = profile_database(made(tmp_path / "dirty.sqlite", script))
    assert len(profile.table("wide").columns) == 1500
    assert len({column.phrase for column in profile.table("wide").columns}) == 1500
    roles = {column.name: column.role for column in profile.table("empty").columns}
    assert roles == {
        "id": "identifier",
        "price": "measure",
        "born": "date",
        "ok": "boolean",
        "note": "text",
        "raw": "other",
    }
    assert profile.table("mixed").column("a").role == "other"
    assert profile.table("fine").is_view
    assert any("broken" in problem for problem in profile.problems)
    assert decode(encode(profile)) == profile


def test_cyclic_and_self_references(tmp_path: Path) -> None:
    script = """
    CREATE TABLE a (id INTEGER PRIMARY KEY, b_id INTEGER REFERENCES b(id), parent_id INTEGER REFERENCES a(id));
    CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a(id));
    INSERT INTO a VALUES (1, 1, NULL), (2, 9, 1);
    INSERT INTO b VALUES (1, 2);
    """
    keys = {
        (key.table, key.columns[0]): key for key in profile_database(made(tmp_path / "c.sqlite", script)).foreign_keys
    }
    assert set(keys) == {("a", "b_id"), ("a", "parent_id"), ("b", "a_id")}
    assert keys["a", "b_id"].orphan_share == 0.5


def test_composite_keys_stay_whole(tmp_path: Path) -> None:
    script = """
    CREATE TABLE p (x INTEGER, y TEXT, PRIMARY KEY (x, y));
    CREATE TABLE c (id INTEGER PRIMARY KEY, x INTEGER, y TEXT, FOREIGN KEY (x, y) REFERENCES p (x, y));
    INSERT INTO p VALUES (1, 'a'), (1, 'b'), (2, 'a');
    INSERT INTO c VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, 'b');
    """
    [key] = profile_database(made(tmp_path / "k.sqlite", script)).foreign_keys
    assert (key.columns, key.ref_columns, key.orphan_share) == (("x", "y"), ("x", "y"), 0.5)


def test_values_that_a_collation_folds_are_not_unique(tmp_path: Path) -> None:
    script = """
    CREATE TABLE shop (shop_id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, code TEXT COLLATE RTRIM, town TEXT);
    INSERT INTO shop VALUES (1, 'Lido', 'a', 'Oslo'), (2, 'LIDO', 'a ', 'OSLO'), (3, 'Rex', 'b', 'Graz');
    CREATE VIEW open_shop AS SELECT * FROM shop;
    """
    for table in profile_database(made(tmp_path / "shops.sqlite", script)).tables:
        assert [(c.distinct, c.unique) for c in table.columns[1:]] == [(2, False), (2, False), (3, True)]


def test_a_collation_that_is_not_known_here_costs_no_table(tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.create_collation("own", lambda one, other: (one > other) - (one < other))
        writer.execute("CREATE TABLE shop (name TEXT COLLATE own)")
        writer.execute("INSERT INTO shop VALUES ('Lido'), ('Rex')")
        writer.commit()
    assert profile_database(made(path, "")).table("shop").column("name").distinct == 2


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Database:
    script = """
    CREATE TABLE event (event_id INTEGER PRIMARY KEY, user_id INTEGER, amount REAL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
    INSERT INTO event SELECT i * 2, i % 500 + 1, i % 97 FROM n;
    CREATE TABLE users (user_id INTEGER PRIMARY KEY, name TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
    INSERT INTO users SELECT i, 'user ' || i FROM n;
    CREATE TABLE flagged (id INTEGER PRIMARY KEY, event_id INTEGER);
    INSERT INTO flagged VALUES (1, 2), (2, 400), (3, 600000);
    """
    return made(tmp_path_factory.mktemp("huge") / "huge.sqlite", script)


def test_a_large_table_is_sampled_evenly(huge: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "ROWS", 5_000)
    started = time.process_time()  # the machine may be busy
    profile = profile_database(huge)
    assert time.process_time() - started < 5
    event = profile.table("event")
    assert event.sampled
    assert 0.98 * 300_000 < event.rows < 1.02 * 300_000
    assert len(event.sample_rows) == 300
    middle = event.column("event_id").quantiles[5]
    assert isinstance(middle, int)
    assert 200_000 < middle < 400_000
    keys = {(key.table, key.ref_table) for key in profile.foreign_keys}
    assert keys == {("event", "users"), ("flagged", "event")}  # the parent `event` is asked, not held
    assert profile == profile_database(huge)


def test_one_null_among_many_rows_is_no_column_without(tmp_path: Path) -> None:
    script = """
    CREATE TABLE shop (shop_id INTEGER PRIMARY KEY);
    INSERT INTO shop VALUES (1);
    CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, shop_id INTEGER REFERENCES shop (shop_id), amount REAL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
    INSERT INTO sale SELECT i, iif(i = 9, 2, 1), iif(i = 7, NULL, i) FROM n;
    """
    profile = profile_database(made(tmp_path / "sales.sqlite", script))
    sale = profile.table("sale")
    assert [column.null_share for column in sale.columns] == [0, 0, 0.0001]
    assert [sale.never_null(column.name) for column in sale.columns] == [True, True, False]
    assert [key.orphan_share for key in profile.foreign_keys] == [0.0001]


def test_a_sample_without_null_tells_nothing_until_every_row_is_looked_at(
    huge: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "ROWS", 5_000)
    names = ("event_id", "user_id", "amount")
    copy = replace(huge, path=Path(shutil.copy(huge.path, tmp_path / "huge.sqlite")))
    with closing(sqlite3.connect(copy.path)) as connection, connection:
        connection.execute("UPDATE event SET amount = NULL WHERE event_id = 123456")
    event = profile_database(copy).table("event")
    assert event.sampled
    assert [event.never_null(name) for name in names] == [True, True, False]
    assert decode(encode(profile_database(copy))).table("event") == event
    monkeypatch.setattr(table_reading, "SEARCHED", 100_000)
    event, users = (profile_database(huge).table(name) for name in ("event", "users"))
    assert [event.never_null(name) for name in names] == [True, False, False]
    assert users.never_null("name")


def test_one_id_far_away_does_not_stand_for_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "ROWS", 1_000)
    numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000) SELECT n, n % 7 FROM n"
    script = f"CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER); INSERT INTO sale {numbers};"
    database = made(tmp_path / "far.sqlite", f"{script} INSERT INTO sale VALUES (2147483647, 99)")
    sale = profile_database(database).table("sale")
    assert (sale.rows, sale.sampled, sale.column("shop").distinct) == (5_001, True, 7)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_documents_that_begin_late_are_not_all_read(
    engine: Literal["sqlite", "duckdb"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows are small, the others hold a text of 20 kB each."""
    monkeypatch.setattr(sampling, "BYTES", 2**20)
    path = tmp_path / f"docs.{engine}"
    rows = "SELECT n, CASE WHEN n > 60 THEN {} END AS body FROM n"
    numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000) "
    if engine == "sqlite":
        made(path, f"CREATE TABLE doc AS {numbers} {rows}".format("hex(zeroblob(10000))"))
    else:
        with duckdb.connect(path) as writer:
            writer.execute(f"CREATE TABLE doc AS {numbers} {rows}".format("repeat('x', 20000)"))
    with open_database(Database("docs", engine, engine, path, "", path.name)) as connection:
        reading = sampling.read_table(connection, engine, "doc", ["n", "body"])
    assert reading.sampled
    assert sum(len(str(cell)) for row in reading.rows for cell in row) < 3 * 2**20


def test_a_stated_join_whose_types_do_not_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "ROWS", 1_000)
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE sale AS SELECT 'c' || i AS buyer FROM range(10) t(i)")
        connection.execute("CREATE TABLE customer AS SELECT i AS id FROM range(20000) t(i)")
    semantics = tmp_path / "semantics.yml"
    semantics.write_text("joins:\n- {from: sale.buyer, to: customer.id}\n")
    profile = profile_database(Database("shop", "duckdb", "duckdb", path, "", path.name, semantics=semantics))
    assert [table.name for table in profile.tables] == ["customer", "sale"]
    assert [key.orphan_share for key in profile.foreign_keys] == [1.0]
    assert "customer.id" in profile.problems[0]


def test_a_view_refers_as_the_table_that_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "staff.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES employee (id));
               CREATE VIEW newcomer AS SELECT * FROM employee WHERE id > 20;
               CREATE VIEW team AS SELECT boss, count(*) AS size, max(id) AS latest FROM employee GROUP BY boss;"""
        )
        connection.executemany(
            "INSERT INTO employee VALUES (?, ?, ?)", [(i, f"e{i}", i // 3 or None) for i in range(1, 60)]
        )
        connection.commit()
    profile = profile_database(Database("staff", "sqlite", "sqlite", path, "", path.name))
    assert ("newcomer", "boss", "employee") in {(k.table, k.columns[0], k.ref_table) for k in profile.foreign_keys}
    assert profile.table("newcomer").column("boss").role == "identifier"
    assert profile.table("team").column("size").role == "measure"


def test_the_keys_of_a_star_schema_are_found(tmp_path: Path) -> None:
    """Marts declare no keys, and call them so."""
    path = tmp_path / "mart.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE dim_customer AS SELECT 'c' || i AS name, i AS customer_key FROM range(1, 40) t(i)"
        )
        connection.execute('CREATE TABLE "Dim Date" AS SELECT 20240100 + i AS "Date Key" FROM range(1, 31) t(i)')
        connection.execute(
            """CREATE TABLE fact_sales AS
               SELECT i AS sale_key, 1 + i % 30 AS customer_key, 20240101 + i % 29 AS "Order Date Key", i / 3 AS amount
               FROM range(500) t(i)"""
        )
    profile = profile_database(Database("mart", "duckdb", "duckdb", path, "", path.name))
    assert {(key.columns[0], key.ref_table) for key in profile.foreign_keys} == {
        ("customer_key", "dim_customer"),
        ("Order Date Key", "Dim Date"),
    }
    assert (profile.table("dim_customer").primary_key, profile.table("Dim Date").primary_key) == (
        ("customer_key",),
        ("Date Key",),
    )


def test_a_large_duckdb_table_is_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "ROWS", 5_000)
    path = tmp_path / "big.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE reading AS SELECT i AS id, i % 7 AS meter, i / 3 AS kwh FROM range(200000) t(i)"
        )
        connection.execute("CREATE TABLE dated (id INTEGER PRIMARY KEY, day DATE, ok BOOLEAN, big HUGEINT, f DOUBLE)")
        connection.execute(
            "INSERT INTO dated VALUES (1, '2020-01-02', true, 3, 'nan'), (2, '2021-01-02', false, 4, 'inf')"
        )
    database = Database("big", "duckdb", "duckdb", path, hashlib.sha256(path.read_bytes()).hexdigest(), "big.duckdb")
    profile = profile_database(database)
    reading = profile.table("reading")
    assert reading.sampled
    assert reading.rows == 200_000
    dated = profile.table("dated")
    assert (dated.column("day").role, dated.column("day").date_format) == ("date", "iso")
    assert dated.column("ok").role == "boolean"
    assert (dated.column("f").role, dated.column("f").maximum) == ("other", None)
    assert any("'f' holds NaN or infinity" in problem for problem in profile.problems)
    assert decode(encode(profile)).table("dated").column("f") == dated.column("f")
    assert profile_database(database).table("reading") == reading


def test_single_precision_is_told_as_it_was_written(tmp_path: Path) -> None:
    """A FLOAT holds 0.199 as 0.19900000095367432; by which number a query finds it is the other matter."""
    path = tmp_path / "lab.duckdb"
    written = [0.199, 1.1, -7.35, 123456.79, 16777216.0, 3.0, 1e-7]
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE probe (mass FLOAT, height DOUBLE)")
        connection.executemany("INSERT INTO probe VALUES (?, ?)", [(mass, 0.19900000095367432) for mass in written])
        profile = profile_database(Database("lab", "duckdb", "duckdb", path, "", path.name))
        mass, height = profile.table("probe").columns
        assert [value for value, _ in height.common] == [0.19900000095367432]
        told = [value for value, _ in mass.common]
        assert {*written[:-1]} <= {*told}
        for value in told:
            found = connection.execute(f"SELECT count(*) FROM probe WHERE mass = {value}").fetchone()
            assert found == (1,), value
