from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import monotonic

import duckdb
import pytest
from making import run_sqlite
from verify_shop import as_database, shop

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Cell, Database, Dialect
from agro_data.verify.chance import shuffled_copy as copying
from agro_data.verify.chance.shuffled_copy import reference, shuffled_copy, written_copy


def rows(database: Database, sql: str) -> list[tuple[Cell, ...]]:
    if database.dialect == "duckdb":
        with duckdb.connect(database.path, read_only=True) as duck:
            return duck.execute(sql).fetchall()
    with closing(sqlite3.connect(database.path)) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    dialect: Dialect = request.param
    path = tmp_path / f"many.{dialect}"
    values = ", ".join(f"({n}, 'v{n % 7}', {n / 4})" for n in range(1, 201))
    script = (
        "CREATE TABLE big (id INTEGER PRIMARY KEY, v TEXT, x DOUBLE);"
        f"INSERT INTO big VALUES {values}; CREATE VIEW few AS SELECT * FROM big WHERE id < 5;"
    )
    if dialect == "sqlite":
        run_sqlite(path, script)
    else:
        with duckdb.connect(path) as duck:
            duck.execute(script)
    return as_database(path, dialect)


def test_same_rows_other_order_nothing_written_at_the_source(database: Database, tmp_path: Path) -> None:
    before = sha256(database.path.read_bytes()).hexdigest()
    copy = shuffled_copy(database, tmp_path / "copies", seed=1)
    original, moved = rows(database, "SELECT * FROM big"), rows(copy, "SELECT * FROM big")
    assert Counter(original) == Counter(moved)
    assert original != moved
    assert original[0] == (1, "v1", 0.25)
    assert Counter(rows(copy, "SELECT id FROM few")) == Counter([(1,), (2,), (3,), (4,)])
    assert sha256(database.path.read_bytes()).hexdigest() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copies", database.path.name]
    assert copy.content_hash != database.content_hash
    assert reference(database, copy) is database


def test_seed_and_content_decide_and_a_copy_is_made_once(database: Database, tmp_path: Path) -> None:
    first = shuffled_copy(database, tmp_path / "a", seed=1)
    again = shuffled_copy(database, tmp_path / "b", seed=1)
    other = shuffled_copy(database, tmp_path / "a", seed=2)
    order = "SELECT id FROM big"
    assert rows(first, order) == rows(again, order) != rows(other, order)
    stamp = first.path.stat().st_mtime_ns
    assert shuffled_copy(database, tmp_path / "a", seed=1) == first
    assert first.path.stat().st_mtime_ns == stamp
    assert [p for p in (tmp_path / "a").iterdir() if p.name.startswith(".")] == []


def test_a_file_of_our_own_is_copied_alike(database: Database, tmp_path: Path) -> None:
    usual, own = shuffled_copy(database, tmp_path / "a", seed=1), written_copy(database, tmp_path / "b", seed=1)
    assert replace(own, path=usual.path) == usual
    for sql in ("SELECT * FROM big", "SELECT * FROM few"):
        assert rows(own, sql) == rows(usual, sql)
    assert [p.name for p in (tmp_path / "b").iterdir()] == [own.path.name]


def test_a_large_database_is_sampled_and_compared_with_the_same_sample(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "SAMPLE", 50)
    copy = shuffled_copy(database, tmp_path / "copies", seed=1, large=0)
    original = reference(database, copy)
    assert original.path != database.path
    kept, moved = rows(original, "SELECT id FROM big"), rows(copy, "SELECT id FROM big")
    assert 20 < len(kept) < 90
    assert kept == sorted(kept)
    assert moved != kept
    assert Counter(moved) == Counter(kept)


def test_sqlite_types_collations_bytes_and_odd_names_survive(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE "a ""b" ("x y" TEXT COLLATE NOCASE, n NUMERIC, any, g INTEGER AS (n + 1), PRIMARY KEY ("x y"))
              WITHOUT ROWID;
            INSERT INTO "a ""b" VALUES ('B', '07', x'00ff', 0) ON CONFLICT DO NOTHING;
            """.replace(", 0) ON CONFLICT DO NOTHING", ")")
        )
        connection.execute("""INSERT INTO "a ""b" VALUES (CAST(x'ff41' AS TEXT), 1.5, '07')""")
        connection.executescript(
            """CREATE TABLE s (k INTEGER PRIMARY KEY, v ANY) STRICT; INSERT INTO s VALUES (1, '07');
               CREATE VIEW broken AS SELECT * FROM missing;"""
        )
    copy = shuffled_copy(as_database(path, "sqlite"), tmp_path / "copies", seed=0)
    probe = """SELECT hex("x y"), typeof(n), n, typeof(any), quote(any), g FROM "a ""b" ORDER BY 1"""
    assert rows(copy, probe) == rows(as_database(path, "sqlite"), probe)
    assert rows(copy, """SELECT COUNT(*) FROM "a ""b" WHERE "x y" = 'b'""") == [(1,)]
    assert rows(copy, "SELECT typeof(v) FROM s") == [("text",)]
    # the key is no rowid alias any more
    assert rows(copy, "SELECT COUNT(*) FROM pragma_table_info('s') WHERE pk") == [(0,)]


def test_a_copy_has_the_schemas_of_a_duckdb_file(tmp_path: Path) -> None:
    path = tmp_path / "mart.duckdb"
    with duckdb.connect(path) as duck:
        duck.execute("""CREATE TABLE c AS SELECT range AS id FROM range(50); CREATE SCHEMA "ma rt"; USE "ma rt";
            CREATE TABLE o AS SELECT range AS id, 'x' || range AS t FROM range(100);
            CREATE VIEW v AS SELECT count(*) AS n FROM o JOIN main.c USING (id)""")
    copy = shuffled_copy(as_database(path, "duckdb"), tmp_path / "copies", seed=0)
    with open_database(copy) as connection:
        assert [table.name for table in connection.objects()] == ["c", "o", "v"]
        assert connection.execute("SELECT n FROM v") == [(50,)]
        moved = connection.execute("SELECT id FROM o")
    assert sorted(moved) == [(n,) for n in range(100)]
    assert moved != sorted(moved)
    assert rows(copy, 'SELECT count(*) FROM "ma rt".o') == [(100,)]


def test_views_of_duckdb_keep_their_macros_and_types(tmp_path: Path) -> None:
    path = tmp_path / "macros.duckdb"
    with duckdb.connect(path) as duck:
        duck.execute(
            """
            CREATE TYPE mood AS ENUM ('low', 'high');
            CREATE TABLE parent (id INTEGER PRIMARY KEY, m mood);
            INSERT INTO parent SELECT range, 'low' FROM range(50);
            CREATE TABLE child (id INTEGER REFERENCES parent(id));
            INSERT INTO child SELECT range FROM range(50);
            CREATE MACRO raised(a, "to the" := 2) AS a ** "to the";
            CREATE MACRO twice(a) AS raised(a) * 2, (a, b) AS raised(a, "to the" := b) * 2;
            CREATE MACRO below(n) AS TABLE SELECT * FROM parent WHERE id < n;
            CREATE VIEW high AS SELECT 'high'::mood AS m;
            CREATE VIEW raised_ids AS SELECT id, m, twice(id) AS x, twice(id, 3) AS y FROM below(9);
            CREATE VIEW again AS SELECT * FROM raised_ids;
            """
        )
    source = as_database(path, "duckdb")
    copy = shuffled_copy(source, tmp_path / "copies", seed=0)
    for view in ("high", "raised_ids", "again"):
        sql = f"SELECT * FROM {view} ORDER BY ALL"
        assert rows(copy, sql) == rows(source, sql) != []
    order = "SELECT id FROM child"
    assert sorted(rows(copy, order)) == rows(source, order) != rows(copy, order)
    assert rows(copy, "SELECT * FROM duckdb_constraints()") == []


def test_a_table_that_uses_a_macro_costs_no_view_without_one(tmp_path: Path) -> None:
    path = tmp_path / "macros.duckdb"
    with duckdb.connect(path) as duck:
        duck.execute(
            """CREATE MACRO one() AS 1; CREATE TABLE t (a INTEGER DEFAULT one()); INSERT INTO t VALUES (7);
               CREATE VIEW v AS SELECT a + 1 AS b FROM t"""
        )
    copy = shuffled_copy(as_database(path, "duckdb"), tmp_path / "copies", seed=0)
    assert rows(copy, "SELECT * FROM v") == [(8,)]


def test_a_folder_of_files_becomes_shuffled_tables(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    duckdb.sql("SELECT range AS n, 'x' || range AS t FROM range(100)").write_parquet(str(folder / "p.parquet"))
    (folder / "c.csv").write_text("a,b\n" + "".join(f"{n},{n * n}\n" for n in range(50)))
    database = Database("files", "duckdb", "files", folder, "f" * 64, "files")
    copy = shuffled_copy(database, tmp_path / "copies", seed=3)
    assert copy.layout == "duckdb"
    moved = rows(copy, "SELECT n FROM p")
    assert sorted(moved) == [(n,) for n in range(100)] != moved
    assert sorted(rows(copy, "SELECT b FROM c"))[:3] == [(0,), (1,), (4,)]


def test_a_file_that_is_damaged_below_its_first_rows_costs_no_other_table_its_copy(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    damaged = folder / "d.parquet"
    rows_of_it = "SELECT range AS n, repeat(range % 7919 || ' ', 20) AS t FROM range(30000)"
    duckdb.execute(f"COPY ({rows_of_it}) TO '{damaged}' (ROW_GROUP_SIZE 10000)")
    held = bytearray(damaged.read_bytes())
    place = slice(len(held) // 2, len(held) // 2 + 2_000)
    held[place] = bytes(byte ^ 0x55 for byte in held[place])
    damaged.write_bytes(held)
    duckdb.sql("SELECT range AS n FROM range(100)").write_parquet(str(folder / "p.parquet"))
    database = Database("files", "duckdb", "files", folder, "f" * 64, "files")
    with open_database(database) as connection:
        assert connection.execute("SELECT * FROM d", limit=1)
        with pytest.raises(DatabaseError):
            connection.execute("SELECT sum(n), sum(length(t)) FROM d")
    assert len(rows(shuffled_copy(database, tmp_path / "copies", seed=3), "SELECT n FROM p")) == 100


def test_a_folder_is_copied_as_every_reader_sees_it(tmp_path: Path) -> None:
    """Names that are patterns to DuckDB, a suffix in capitals, a folder that looks like a partition, two that clash."""
    folder = tmp_path / "year=2024"
    folder.mkdir()
    duckdb.sql("SELECT range AS n FROM range(5)").write_parquet(str(folder / "p.parquet"))
    (folder / "p.parquet").rename(folder / "P.PARQUET")
    (folder / "report 1.csv").write_text("x\n1\n")
    (folder / "report [1].csv").write_text("x\n2\n")
    (folder / "T.parquet").write_bytes(b"noise")
    (folder / "t.csv").write_text("x\n3\n")
    database = Database("files", "duckdb", "files", folder, "f" * 64, "files")
    copy = shuffled_copy(database, tmp_path / "copies", seed=3)
    with open_database(database) as original:
        names = [table.name for table in original.objects()]
        assert names == ["P", "report 1", "report [1]", "t"]
        for sql in (f"SELECT * FROM {quoted(name)} ORDER BY ALL" for name in names):
            assert rows(copy, sql) == original.execute(sql)


def test_a_log_beside_the_source_counts_and_nothing_appears_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    source = shop(home, "sqlite")
    writer = sqlite3.connect(source.path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("UPDATE customer SET name = 'Zoe' WHERE id = 1")
    before = sorted(p.name for p in home.iterdir())
    copy = shuffled_copy(source, tmp_path / "copies", seed=0)
    assert rows(copy, "SELECT name FROM customer WHERE id = 1") == [("Zoe",)]
    assert sorted(p.name for p in home.iterdir()) == before
    writer.close()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
    database = replace(as_database(bad, "sqlite"), db_id="ledger")
    with pytest.raises(DatabaseError, match="ledger: no shuffled copy"):
        shuffled_copy(database, tmp_path / "copies", seed=0)
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_copy_of_columns_that_are_computed_has_a_bound(
    dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value is short and each call of a function takes a moment only: what takes long is the table."""
    path = tmp_path / f"slow.{dialect}"
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
    if dialect == "sqlite":
        slow = "length(replace(hex(zeroblob(5000 + i % 2)), '00', 'ab'))"
        run_sqlite(path, f"CREATE TABLE t(i INTEGER, z AS ({slow})); INSERT INTO t(i) {rows} SELECT i FROM n")
    else:
        slow = "CASE WHEN slow THEN len(list_sort(range(1000 + i % 2))) END"  # computed where a row is inserted, too
        with duckdb.connect(path) as duck:
            duck.execute(f"CREATE TABLE t(i BIGINT, slow BOOLEAN, z AS ({slow}))")
            duck.execute("INSERT INTO t SELECT i, false FROM range(200000) r(i); UPDATE t SET slow = true")
    monkeypatch.setattr(copying, "SECONDS", 0.3)
    started = monotonic()
    with pytest.raises(DatabaseError, match=r"slow: no shuffled copy: it takes over 0.3 s"):
        shuffled_copy(as_database(path, dialect), tmp_path / "copies", seed=0)
    assert monotonic() - started < 5
    assert list((tmp_path / "copies").iterdir()) == []
