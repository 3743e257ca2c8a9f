from __future__ import annotations

import gzip
import math
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from database_files import csv_file, duckdb_file, fingerprint, found, parquet_file, sqlite_file, unchecked

from agro_data.databases import apart
from agro_data.databases.connections import (
    ColumnInfo,
    Connection,
    ForeignKeyInfo,
    TableInfo,
    open_database,
)
from agro_data.databases.errors import DatabaseError
from agro_data.databases.opening import open_duckdb, precedence
from agro_data.databases.sandbox import Sandbox

pytestmark = pytest.mark.ci

SHOP = """
CREATE TABLE customer(id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id));
CREATE TABLE line(sale_id INTEGER, number INTEGER, PRIMARY KEY (sale_id, number),
                  FOREIGN KEY (sale_id) REFERENCES sale(id));
CREATE VIEW buyer AS SELECT email FROM customer;
"""
ONE = "INSERT INTO customer VALUES (1, 'a@b.c');"


def tables(connection: Connection) -> dict[str, TableInfo]:
    return {table.name: table for table in connection.objects()}


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
    monkeypatch.setattr("agro_data.databases.connections.SECONDS", 0.3)
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
        before = fingerprint(tmp_path)
        with open_database(found(path)) as connection, pytest.raises(DatabaseError):
            connection.execute("INSERT INTO t VALUES (9, 'x')")
        assert fingerprint(tmp_path) == before
    with open_database(found(folder)) as connection, pytest.raises(DatabaseError, match="disabled by configuration"):
        connection.execute(f"COPY t TO '{tmp_path}/x.csv'")


@pytest.mark.parametrize("kind", ["wal", "hot journal", "duckdb log"])
def test_logs_and_journals_are_worked_in_and_nothing_appears(kind: str, tmp_path: Path) -> None:
    """The source is left as a writer that was killed leaves it: with its log or journal beside it."""
    if kind == "duckdb log":
        name, expected = "db.duckdb", [(1,), (2,)]
        program = (
            "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE t(a INTEGER)');"
            "c.execute('INSERT INTO t VALUES (1)'); c.execute('CHECKPOINT');"
            "c.execute('INSERT INTO t VALUES (2)'); os._exit(0)"
        )
    else:
        name = "db.sqlite"
        expected = [(1,), (2,)] if kind == "wal" else [(i,) for i in range(2000)]
        change = (
            "c.execute('PRAGMA journal_mode=WAL'); c.execute('CREATE TABLE t(a)');"
            "c.execute('INSERT INTO t VALUES (1)');"
            "c.execute('INSERT INTO t VALUES (2)')"
            if kind == "wal"
            else "c.execute('CREATE TABLE t(a)'); c.execute('BEGIN');"
            "c.executemany('INSERT INTO t VALUES (?)', ((i,) for i in range(2000))); c.execute('COMMIT');"
            "c.execute('PRAGMA cache_size=1'); c.execute('BEGIN'); c.execute('UPDATE t SET a = -1')"
        )
        program = (
            f"import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); {change}; os._exit(0)"
        )
    source = tmp_path / "source"
    source.mkdir()
    subprocess.run([sys.executable, "-c", program, str(source / name)], check=True)
    before = fingerprint(source)
    assert len(before) >= 2, "the writer left neither log nor journal"
    source.chmod(0o555)
    try:
        with open_database(found(source)) as connection:
            assert connection.execute("SELECT a FROM t ORDER BY a") == expected
        assert fingerprint(source) == before
    finally:
        source.chmod(0o755)


def test_a_link_is_read_with_the_log_of_what_it_leads_to(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "real" / "x.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(a)")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "shop.db").symlink_to(path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO t VALUES (1)")
        writer.commit()
        with open_database(found(tmp_path / "links")) as connection:
            assert connection.execute("SELECT a FROM t") == [(1,)]
        assert found(tmp_path / "links").content_hash == found(path).content_hash
        assert os.listdir(tmp_path / "links") == ["shop.db"]


def test_a_wal_database_without_its_log(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "db.sqlite", "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    before = fingerprint(tmp_path)
    with open_database(found(path)) as connection:
        assert connection.execute("SELECT a FROM t") == [(1,)]
    assert list(before) == ["db.sqlite"]
    assert fingerprint(tmp_path) == before


def test_the_private_copy_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    path = sqlite_file(tmp_path / "db.sqlite", "PRAGMA journal_mode=WAL; CREATE TABLE t(a)")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO t VALUES (2)")
        writer.commit()
        with open_database(found(path)) as connection:
            assert connection.execute("SELECT a FROM t") == [(2,)]
            assert os.listdir(private) != []
    assert os.listdir(private) == []


def test_a_folder_of_files_is_a_database(tmp_path: Path) -> None:
    csv_file(tmp_path / "shop" / "it's.csv")
    parquet_file(tmp_path / "shop" / "customers.parquet", "SELECT range AS id FROM range(3)")
    with open_database(found(tmp_path / "shop")) as connection:
        shop = tables(connection)
        assert {name: table.is_view for name, table in shop.items()} == {"customers": False, "it's": False}
        assert connection.dialect == "duckdb"
        assert connection.execute("""SELECT count(*) FROM "it's" """) == [(3,)]
        assert connection.execute("SELECT sum(id) FROM customers") == [(3,)]


def test_each_file_is_read_by_itself_wherever_it_lies(tmp_path: Path) -> None:
    """Names that are patterns to DuckDB, a suffix in capitals, a folder that looks like a partition."""
    shop = csv_file(tmp_path / "year=2024" / "a 1.csv", "x\n1\n2\n").parent
    csv_file(shop / "a [1].csv", "x\n3\n")
    csv_file(shop / "a*1.csv", "x\n4\n")
    parquet_file(shop / "P.parquet").rename(shop / "P.PARQUET")
    parquet_file(shop / "q.parquet").rename(shop / "q?[1].parquet")
    with open_database(found(shop)) as connection:
        seen = {name: [column.name for column in table.columns] for name, table in tables(connection).items()}
        assert seen == {"a 1": ["x"], "a [1]": ["x"], "a*1": ["x"], "P": ["a", "b"], "q?[1]": ["a", "b"]}
        assert [connection.execute(f'SELECT x FROM "{name}"') for name in ("a 1", "a [1]", "a*1")] == [
            [(1,), (2,)],
            [(3,)],
            [(4,)],
        ]
        assert connection.problems == []


def load_at_most(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where databases are opened."""
    command = f"from agro_data.databases import apart, file_tables; file_tables.CSV_LOADED = {size}; apart.main()"
    monkeypatch.setattr(apart, "COMMAND", command)
    monkeypatch.setattr(apart, "_waiting", [])


def test_large_csv_files_are_views_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_at_most(4, monkeypatch)
    csv_file(tmp_path / "shop" / "t.csv")
    csv_file(tmp_path / "other.txt", "secret\n1\n")
    with open_database(found(tmp_path / "shop")) as connection:
        (table,) = connection.objects()
        assert not table.is_view
        assert connection.execute("SELECT sum(a) FROM t") == [(6,)]
        with pytest.raises(DatabaseError):
            connection.execute(f"SELECT * FROM read_csv('{tmp_path}/other.txt')")


def kinds(folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """Which tables of a folder are loaded, and which are views over the files."""
    connection, problems, _ = open_duckdb(folder, "files", settings)
    with closing(connection):
        assert problems == []
        return dict(connection.execute("SELECT table_name, table_type FROM information_schema.tables").fetchall())


def test_csv_files_are_loaded_as_long_as_all_are_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed ones by what they are unpacked."""
    monkeypatch.setattr("agro_data.databases.file_tables.CSV_LOADED", 3000)
    for name in "cab":
        csv_file(tmp_path / f"{name}.csv", "x\n" + "1\n" * 600)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(b"x\n" + b"1\n" * 5000))
    loaded, viewed = "BASE TABLE", "VIEW"
    assert kinds(tmp_path, {}) == {"a": viewed, "b": viewed, "c": viewed, "packed": viewed}  # the smallest file first
    monkeypatch.setattr("agro_data.databases.file_tables.CSV_LOADED", 12_500)
    assert kinds(tmp_path, {}) == {"a": loaded, "b": loaded, "c": viewed, "packed": loaded}


def test_a_csv_for_which_memory_is_short_is_a_view(tmp_path: Path) -> None:
    csv_file(tmp_path / "t.csv", "a,b\n" + "".join(f"{i},{i * 7919 % 1_000_003}\n" for i in range(400_000)))
    assert kinds(tmp_path, {"memory_limit": "8MiB"}) == {"t": "VIEW"}
    assert kinds(tmp_path, {"memory_limit": "1GiB"}) == {"t": "BASE TABLE"}


def test_files_that_are_no_tables_are_reported(tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "t.csv").parent
    parquet_file(shop / "T.parquet")
    (shop / "noise.parquet").write_bytes(b"noise")
    (shop / "latin.csv").write_bytes("a,b\n1,é\n".encode("latin-1") * 2000)
    with open_database(found(shop)) as connection:
        assert list(tables(connection)) == ["T"]
        assert connection.problems == []
        assert sorted(reason.split(":")[0] for reason in connection.unread) == [
            "latin.csv",
            "noise.parquet",
            "t.csv",
        ]


@pytest.mark.parametrize("loaded", [2**20, 0])
def test_a_csv_with_ragged_rows_is_no_table_of_one_column(
    loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_at_most(loaded, monkeypatch)
    shop = csv_file(tmp_path / "shop" / "ragged.csv", "id,name\n1,a\n2,b,c\n3,d\n").parent
    csv_file(shop / "good.csv", "remark\nfair, or so\nbad\n")
    with open_database(found(shop)) as connection:
        assert list(tables(connection)) == ["good"]
        (problem,) = connection.unread
        assert problem.startswith("ragged.csv: would be one column with ',' in its name")


SCHEMAS = """
CREATE TABLE t(a INT PRIMARY KEY); INSERT INTO t VALUES (1);
CREATE SCHEMA "odd, ""name"; CREATE TABLE "odd, ""name".u(b INT); INSERT INTO "odd, ""name".u VALUES (2);
CREATE SCHEMA raw; CREATE TABLE raw.T(c INT PRIMARY KEY); CREATE TABLE raw.own(c INT PRIMARY KEY);
CREATE TABLE raw.child(c INT REFERENCES raw.own(c), d INT REFERENCES raw.T(c)); CREATE SCHEMA empty;
CREATE VIEW raw.v AS SELECT a + b AS total FROM main.t, "odd, ""name".u
"""


def test_tables_of_all_schemas_are_called_by_their_bare_names(tmp_path: Path) -> None:
    with open_database(found(duckdb_file(tmp_path / "x.duckdb", SCHEMAS))) as connection:
        seen = tables(connection)
        assert list(seen) == ["child", "own", "t", "u", "v"]
        assert [seen[name].namespace for name in "tuv"] == ["", 'odd, "name', "raw"]
        assert connection.problems == ["raw.T: main.T has the name already; left out, rename one of them"]
        assert [column.name for column in seen["t"].columns] == ["a"]
        assert seen["v"].is_view
        assert seen["own"].primary_key == ("c",)
        # raw.T is not the t that is read, so the key to it leads nowhere
        assert [(key.columns, key.ref_table) for key in seen["child"].foreign_keys] == [(("c",), "own")]
        assert connection.execute("SELECT a, b, total FROM t, u, v") == [(1, 2, 3)]


def test_what_a_pipeline_makes_for_people_comes_before_what_it_loaded(tmp_path: Path) -> None:
    schemas = ("bronze", "other", "silver", "gold", "dev_marts", "raw_crm")
    more = (f"CREATE TABLE {schema}.t{n}(a INT)" for schema in ("bronze", "gold") for n in range(3))
    each = (f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.orders AS SELECT '{schema}' AS a" for schema in schemas)
    path = duckdb_file(tmp_path / "x.duckdb", "; ".join([*each, "CREATE TABLE silver.days AS SELECT 1 AS d", *more]))
    expected = ["dev_marts", "gold", "other", "silver", "bronze", "raw_crm"]
    assert sorted(schemas, key=precedence) == expected
    with open_database(found(path)) as connection:
        assert {name: table.namespace for name, table in tables(connection).items()} == {
            "orders": "dev_marts",
            "days": "silver",
            **dict.fromkeys(("t0", "t1", "t2"), "gold"),
        }
        alone = [
            f"{s}.orders: dev_marts.orders has the name already; left out, rename one of them" for s in expected[1:]
        ]
        together = "bronze: t0, t1, t2 have the names of tables in gold; left out"
        assert sorted(connection.problems) == sorted([*alone, together])
        assert connection.execute("SELECT a FROM orders") == [("dev_marts",)]
    with Sandbox(workers=1) as sandbox:
        [seen] = sandbox.run(found(path), ["SELECT a FROM orders"], want="rows")
    assert seen.rows == (("dev_marts",),)


def test_generated_sql_sees_the_tables_of_all_schemas(tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "x.duckdb", SCHEMAS))
    with Sandbox(workers=1) as sandbox:
        bare, hidden = sandbox.run(database, ["SELECT total FROM v", "SELECT c FROM T"], want="rows")
        [full] = sandbox.run(database, ["SELECT raw.v.total FROM raw.v JOIN main.t ON a = 1"], want="rows")
    assert (bare.status, bare.rows) == (full.status, full.rows) == ("ok", ((3,),))
    assert hidden.status == "error"  # t is that of main


@pytest.mark.parametrize("name", ["shop", "memory", "temp", "agro"])
def test_schemas_may_be_called_as_the_file_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.duckdb"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{path}' AS x")
        for number, schema in enumerate((name, "agro", "system")):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS x.{schema}")
            connection.execute(f"CREATE TABLE x.{schema}.t{number} AS SELECT {number} AS a")
    with open_database(found(path)) as opened:
        assert list(tables(opened)) == ["t0", "t1", "t2"]
        assert not opened.problems
        assert opened.execute("SELECT t0.a, t1.a, t2.a FROM t0, t1, t2") == [(0, 1, 2)]


def test_a_table_may_be_called_as_a_view_of_duckdbs_own(tmp_path: Path) -> None:
    """In a folder. In a file its bare name means DuckDB's, which is said."""
    path = duckdb_file(tmp_path / "x.duckdb", "CREATE TABLE duckdb_tables(a INT); CREATE TABLE t AS SELECT 1 AS a")
    with open_database(found(path)) as connection:
        assert list(tables(connection)) == ["t"]
        [problem] = connection.problems
        assert "system.main.duckdb_tables has the name already" in problem
    (tmp_path / "folder").mkdir()
    for name in ("duckdb_tables", "sqlite_master"):
        (tmp_path / "folder" / f"{name}.csv").write_text("id,name\n1,a\n")
    with open_database(found(tmp_path / "folder")) as connection:
        seen = tables(connection)
        assert [[column.name for column in seen[name].columns] for name in seen] == [["id", "name"]] * 2
        assert not connection.problems


@pytest.mark.parametrize("name", ["shop", "memory", "Main", "temp", "information_schema", 'it\'s a "shop"'])
def test_a_duckdb_file_that_a_person_reads_meanwhile_can_be_read(name: str, tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / f"{name}.duckdb", SHOP + ONE)
    with duckdb.connect(path, read_only=True) as own, open_database(found(path)) as connection:
        assert set(tables(connection)) == {"customer", "sale", "line", "buyer"}
        assert own.execute("SELECT current_setting('lock_configuration')").fetchone() == (False,)  # theirs is as it was


def test_threads_may_read_one_duckdb_file(tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "shop.duckdb", SHOP + ONE))

    def read(_: int) -> frozenset[str]:
        with open_database(database) as connection:
            return frozenset(tables(connection))

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(read, range(16))) == {frozenset({"customer", "sale", "line", "buyer"})}


def test_a_duckdb_file_that_is_written_to_meanwhile_says_what_to_do(tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "shop.duckdb", SHOP + ONE))
    refused = pytest.raises(
        DatabaseError, match="another program, or this one, has it open to write to; close it there, or give"
    )
    with duckdb.connect(database.path), refused, open_database(database):
        pass


def test_what_cannot_be_opened_says_so(tmp_path: Path) -> None:
    (tmp_path / "noise.duckdb").write_bytes(b"noise" * 1000)
    with (
        pytest.raises(DatabaseError, match="noise: cannot be opened"),
        open_database(unchecked(tmp_path / "noise.duckdb", "duckdb")),
    ):
        raise AssertionError("was opened")
    path = duckdb_file(tmp_path / "busy.duckdb")
    writer = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", writer, str(path)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with (
                pytest.raises(DatabaseError, match="another program, or this one, has it open"),
                open_database(unchecked(path, "duckdb")),
            ):
                raise AssertionError("was opened")
        finally:
            process.kill()
    assert duckdb.connect(path, read_only=True).execute("SELECT count(*) FROM t").fetchall() == [(3,)]


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
