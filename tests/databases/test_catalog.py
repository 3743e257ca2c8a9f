from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from database_files import csv_file, duckdb_file, found, parquet_file, sqlite_file
from hypothesis import given
from hypothesis import strategies as st
from making import database_at, hashes_and_times

from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import EXPORT, find_databases, usable_databases
from agro_data.databases.discovery.identity import ID, database_id, database_identity, distinct_ids
from agro_data.databases.trusted.connections import open_database
from agro_data.databases.types import Catalog
from agro_data.hashing import stable_hash
from agro_data.profiling.profiler import profile_database

SHARED = Path(__file__).resolve().parents[2] / "../shared/data"


def ids(catalog: Catalog) -> list[str]:
    return [database.db_id for database in catalog.databases]


def left_out(catalog: Catalog) -> dict[str, str]:
    return {problem.path: problem.reason for problem in catalog.problems if problem.left_out}


def test_a_single_file(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "my shop.db")
    sqlite_file(tmp_path / "other.db")
    catalog = find_databases(str(path))
    (database,) = catalog.databases
    assert (database.db_id, database.dialect, database.layout) == ("my_shop", "sqlite", "sqlite")
    assert (database.path, database.relative_path, catalog.root) == (path, "my shop.db", tmp_path)
    assert database.content_hash == hashlib.sha256(path.read_bytes()).hexdigest()
    assert catalog.problems == ()


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "a.data")
    sqlite_file(tmp_path / "deep" / "down" / "b")
    duckdb_file(tmp_path / "c.sqlite")
    csv_file(tmp_path / "sales" / "t.csv")
    parquet_file(tmp_path / "sales" / "u.parquet")
    (tmp_path / "README.md").write_text("not a database")
    sqlite_file(tmp_path / ".hidden" / "d.sqlite")
    catalog = find_databases(tmp_path)
    assert [(d.db_id, d.layout, d.dialect, d.relative_path) for d in catalog.databases] == [
        ("a", "sqlite", "sqlite", "a.data"),
        ("b", "sqlite", "sqlite", "deep/down/b"),
        ("c", "duckdb", "duckdb", "c.sqlite"),
        ("sales", "files", "duckdb", "sales"),
    ]
    assert catalog.problems == ()


def test_the_spider_layout(tmp_path: Path) -> None:
    for name in ("concert", "pets"):
        sqlite_file(tmp_path / "database" / name / f"{name}.sqlite")
        (tmp_path / "database" / name / "schema.sql").write_text("CREATE TABLE t(a)")
    tables = tmp_path / "tables.json"
    tables.write_text(json.dumps([{"db_id": "concert"}]))
    for given_path in (tmp_path, tmp_path / "database", tmp_path / "database/concert"):
        first = database_at(given_path)
        assert (first.db_id, first.spider_tables) == ("concert", tables)
    assert find_databases(tmp_path).databases[1].spider_tables is None


def test_the_bird_layout(tmp_path: Path) -> None:
    folder = tmp_path / "dev_databases" / "school"
    sqlite_file(folder / "school.sqlite")
    csv_file(folder / "database_description" / "t.csv", "original_column_name,column_description\na,number\n")
    (tmp_path / "dev_tables.json").write_text(json.dumps([{"db_id": "school"}]))
    catalog = find_databases(tmp_path)
    (school,) = catalog.databases
    assert school.descriptions == folder / "database_description"
    assert school.spider_tables == tmp_path / "dev_tables.json"
    assert catalog.problems == ()


def test_semantics_beside_a_database(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "many" / "a.db")
    sqlite_file(tmp_path / "many" / "b.db")
    sqlite_file(tmp_path / "own" / "c.db")
    csv_file(tmp_path / "sales" / "t.csv")
    for name in ("many/a.semantics.yml", "many/semantics.yml", "own/semantics.yml", "sales/semantics.yml"):
        (tmp_path / name).write_text("tables: {}")
    catalog = find_databases(tmp_path)
    semantics = {d.db_id: d.semantics and d.semantics.relative_to(tmp_path).as_posix() for d in catalog.databases}
    assert semantics == {
        "a": "many/a.semantics.yml",
        "b": None,
        "c": "own/semantics.yml",
        "sales": "sales/semantics.yml",
    }
    (problem,) = catalog.problems
    assert problem.path == "many/semantics.yml"
    assert not problem.left_out


def test_a_dbt_manifest_belongs_to_what_a_database_is(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.db")
    (tmp_path / "target").mkdir()
    manifest = tmp_path / "target" / "manifest.json"
    seen = []
    for text in (
        '{"name": "of another program"}',
        '{"metadata": {"dbt_schema_version": 1}}',
        '{"dbt_schema_version": 2}',
    ):
        manifest.write_text(text)
        (database,) = find_databases(tmp_path).databases
        seen.append((database.dbt_manifest, stable_hash(database_identity(database))))
    assert [path for path, _ in seen] == [None, manifest, manifest]
    assert len({identity for _, identity in seen}) == 3


def test_two_files_with_one_id_are_told_apart_and_named(tmp_path: Path) -> None:
    for name in ("a/shop.db", "b/shop.db", "b/shop.sqlite", "b/Shop.x", "c/alone.db"):
        sqlite_file(tmp_path / name)
    catalog = find_databases(tmp_path)
    assert ids(catalog) == ["a.shop", "alone", "b.Shop.x", "b.shop.db", "b.shop.sqlite"]
    notes = [problem for problem in catalog.problems if not problem.left_out]
    assert sorted(note.path for note in notes) == ["a/shop.db", "b/Shop.x", "b/shop.db", "b/shop.sqlite"]
    assert all("a/shop.db" in note.reason and "b/shop.sqlite" in note.reason for note in notes)
    assert ids(find_databases(tmp_path)) == ids(catalog)


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
def test_ids_are_valid_and_distinct(names: list[str]) -> None:
    places = [(name.replace("/", "|"), name.replace("/", "|")) for name in names]
    places = list(dict.fromkeys(places))
    given_ids = distinct_ids(places)
    assert len({db_id.lower() for db_id in given_ids}) == len(places)
    assert all(ID.fullmatch(db_id) for db_id in given_ids)
    assert sorted(distinct_ids(places[::-1])) == sorted(given_ids)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("car_1", "car_1"), ("my shop (1)", "my_shop_1"), ("..x", "x"), ("日本", "_"), ("a.b-c", "a.b-c"), ("x_", "x_")],
)
def test_names_become_ids(name: str, expected: str) -> None:
    assert database_id(name) == expected
    assert database_id(expected) == expected


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        find_databases(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://me:s3cret@localhost/shop",
        "mysql+pymysql://me:s3cret@db/shop",
        "jdbc:postgresql://db/shop?user=me&password=s3cret",
        "jdbc:oracle:thin:me/s3cret@db:1521/shop",
    ],
)
def test_an_address_of_a_server_is_told_and_not_repeated(given: str) -> None:
    for path in (given, Path(given)):
        with pytest.raises(ConfigError, match="agro snapshot") as refused:
            usable_databases(path)
        assert "s3cret" not in str(refused.value)
    with pytest.raises(ConfigError, match=r"^C:/shops: no such file or folder$"):
        usable_databases("C:/shops")


def test_a_script_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text("CREATE TABLE item (id int);")
    with pytest.raises(ConfigError, match=r"shop\.sql: a script of SQL, not a database \(run it"):
        usable_databases(tmp_path / "shop.sql")


def test_an_empty_folder_says_what_to_give(tmp_path: Path) -> None:
    catalog = find_databases(tmp_path)
    assert catalog.databases == ()
    assert "holds no database" in str(catalog.problems[0])


def test_where_nothing_can_be_used_the_reasons_are_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere: no such file or folder; --databases names it$"):
        usable_databases(tmp_path / "nowhere", "--databases names it")
    with pytest.raises(ConfigError, match=rf"^{tmp_path}: holds no database \(give"):
        usable_databases(tmp_path)
    for name in ("a.db", "b.db"):
        (tmp_path / name).touch()
    with pytest.raises(ConfigError, match=r"no database that can be used\n  a\.db: empty file\n  b\.db: empty file$"):
        usable_databases(tmp_path)
    with pytest.raises(ConfigError, match=rf"^{tmp_path}/a\.db: empty file$"):  # one reason is said at once
        usable_databases(tmp_path / "a.db")


def test_bad_files_are_named_and_the_others_go_on(tmp_path: Path) -> None:
    good = sqlite_file(tmp_path / "good.db", "CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    whole = sqlite_file(tmp_path / "cut.db", "CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(50000))")
    whole.write_bytes(whole.read_bytes()[:20_000])
    tiny = sqlite_file(tmp_path / "stub.db")
    tiny.write_bytes(tiny.read_bytes()[:40])
    rotten = bytearray(good.read_bytes())
    rotten[100:2000] = b"\xaa" * 1900
    (tmp_path / "rotten.db").write_bytes(rotten)
    duck = duckdb_file(tmp_path / "cut.duckdb")
    duck.write_bytes(duck.read_bytes()[:5000])
    (tmp_path / "noise.sqlite").write_bytes(os.urandom(5000))
    (tmp_path / "empty.db").write_bytes(b"")
    sqlite_file(tmp_path / "no tables.db", "PRAGMA user_version=1")
    sqlite_file(tmp_path / "no rows.db", "CREATE TABLE t(a); CREATE TABLE u(a)")
    sqlite_file(tmp_path / "new\nline.db")
    sqlite_file(tmp_path / os.fsdecode(b"caf\xe9.db"))
    sqlite_file(tmp_path / os.fsdecode(b"caf\xe9") / "x.db")
    (tmp_path / "dangling.db").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.db")
    csv_file(tmp_path / "bad files" / "t.csv").with_name("t.parquet").write_bytes(b"noise")
    (tmp_path / "bad files" / "t.csv").unlink()
    before = hashes_and_times(tmp_path / "bad files")
    catalog = find_databases(tmp_path)
    assert ids(catalog) == ["good"]
    reasons = left_out(catalog)
    expected = {
        "cut.db": "truncated SQLite file: 20000 of",
        "stub.db": "truncated SQLite file",
        "rotten.db": "malformed|not a database",
        "cut.duckdb": "cannot be opened",
        "noise.sqlite": "not a database",
        "empty.db": "empty file",
        "no tables.db": "no table",
        "no rows.db": "no table has a row",
        "new\\nline.db": "newline",
        "caf\\udce9.db": "not UTF-8",
        "caf\\udce9/x.db": "not UTF-8",
        "dangling.db": "cannot be read",
        "pipe.db": "not a regular file",
        "bad files": "no table",
        "bad files/t.parquet": "cannot be read as a table",
    }
    assert sorted(reasons) == sorted(expected)
    for path, pattern in expected.items():
        assert re.search(pattern, reasons[path]), f"{path}: {reasons[path]}"
    assert all("\n" not in str(problem) for problem in catalog.problems)
    assert hashes_and_times(tmp_path / "bad files") == before


def test_a_file_asked_for_by_name_is_answered_for(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all")
    assert "not a database" in left_out(find_databases(text))["notes.txt"]
    table = csv_file(tmp_path / "t.csv")
    assert "one table" in left_out(find_databases(table))["t.csv"]


def test_tables_without_rows_are_noted(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "x.db", "CREATE TABLE a(v); CREATE TABLE b(v); INSERT INTO a VALUES (1)")
    catalog = find_databases(tmp_path)
    assert ids(catalog) == ["x"]
    assert [str(problem) for problem in catalog.problems] == ["x.db: 1 of 2 tables have no rows: b"]
    assert left_out(catalog) == {}


def test_data_files_that_are_no_tables_are_left_out(tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "GOOD.csv").parent
    csv_file(shop / "good.csv")
    (shop / "latin.csv").write_bytes("a,b\n1,\xe9\n".encode("latin-1"))
    (shop / "utf16.csv").write_bytes("a,b\n1,\xe9\n".encode("utf-16"))
    csv_file(shop / "ragged.csv", "id,name\n1,a\n2,b,c\n3,d\n")
    for given_path, above in ((shop, ""), (tmp_path, "shop/")):
        catalog = find_databases(given_path)
        assert ids(catalog) == ["shop"]
        lost = left_out(catalog)
        assert set(lost) == {above + name for name in ("good.csv", "latin.csv", "utf16.csv", "ragged.csv")}
        assert len(catalog.problems) == len(lost)
        assert "already, from GOOD.csv" in lost[f"{above}good.csv"]
        assert "save it as CSV in UTF-8" in lost[f"{above}utf16.csv"]


@pytest.mark.parametrize("other", ["archive/old.parquet", "shop.sqlite", "deep/down/x.duckdb"])
def test_data_files_beside_or_above_a_database_are_named(other: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    parquet_file(data / "customer.parquet")
    csv_file(data / "orders.csv")
    make = {".parquet": parquet_file, ".sqlite": sqlite_file, ".duckdb": duckdb_file}[Path(other).suffix]
    make(data / other)
    for given_path, path in ((data, "."), (tmp_path, "data")):
        catalog = find_databases(given_path)
        assert len(catalog.databases) == 1
        assert catalog.databases[0].path.is_relative_to(data / other if make is not parquet_file else data / "archive")
        lost = left_out(catalog)
        assert list(lost) == [path]
        assert "customer.parquet, orders.csv" in lost[path]


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "real" / "shop" / "shop.db")
    csv_file(tmp_path / "real" / "sales" / "t.csv")
    links = tmp_path / "links"
    links.mkdir()
    for name, target in (("shop", "../real/shop"), ("sales", "../real/sales"), ("twin", "../real/shop")):
        (links / name).symlink_to(target)
    catalog = find_databases(links)
    assert [database.relative_path for database in catalog.databases] == ["sales", "shop/shop.db"]
    assert catalog.problems == ()
    with open_database(catalog.databases[0]) as connection:
        assert connection.execute("SELECT count(*) FROM t") == [(3,)]
    above = find_databases(tmp_path)
    assert [database.relative_path for database in above.databases] == ["real/sales", "real/shop/shop.db"]
    assert above.problems == ()
    hashes = [[database.content_hash for database in found_.databases] for found_ in (catalog, above)]
    assert hashes[0] == hashes[1]


def test_links_of_data_files_that_lead_out_are_told(tmp_path: Path) -> None:
    shop = csv_file(tmp_path / "shop" / "t.csv").parent
    (shop / "again.csv").symlink_to("t.csv")
    (shop / "items.csv").symlink_to(csv_file(tmp_path / "elsewhere" / "private.csv"))
    catalog = find_databases(shop)
    (problem,) = catalog.problems
    assert (problem.left_out, problem.reason) == (False, "data files are links that lead out of the folder: items.csv")
    (tmp_path / "link").symlink_to("shop")
    assert find_databases(tmp_path / "link").problems[0].reason == problem.reason


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    root = tmp_path / "root"
    sqlite_file(root / "a" / "x.db")
    sqlite_file(tmp_path / "outside" / "y.db")
    sqlite_file(tmp_path / "above.db")
    (root / "a" / "self").symlink_to(".")
    (root / "up").symlink_to("..")
    (root / "out").symlink_to("../outside")
    (tmp_path / "outside" / "back").symlink_to("../root")
    (root / "loop").symlink_to("loop")
    catalog = find_databases(root)
    assert [database.relative_path for database in catalog.databases] == ["a/x.db", "out/y.db"]
    assert [(problem.path, problem.left_out) for problem in catalog.problems] == [("a/self", False), ("up", False)]


def test_what_the_profile_says_is_not_said_before(tmp_path: Path) -> None:
    script = "CREATE TABLE t(a); INSERT INTO t VALUES (1);"
    path = sqlite_file(tmp_path / "x.db", script + "CREATE VIEW v AS SELECT * FROM nowhere")
    assert find_databases(path).problems == ()
    assert any("'v': cannot be read" in problem for problem in profile_database(found(path)).problems)
    only_view = sqlite_file(tmp_path / "y.db", "CREATE VIEW v AS SELECT * FROM nowhere")
    assert any("'v': cannot be read" in str(problem) for problem in find_databases(only_view).problems)


def test_a_locked_file_is_named(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "busy.db")
    sqlite_file(tmp_path / "free.db")
    writer = (
        "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN EXCLUSIVE'); print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", writer, str(path)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            catalog = find_databases(tmp_path)
        finally:
            process.kill()
    assert ids(catalog) == ["free"]
    assert "locked" in left_out(catalog)["busy.db"]


def test_files_and_folders_without_permission() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sqlite_file(folder / "good.db")
        sqlite_file(folder / "secret.db").chmod(0)
        sqlite_file(folder / "closed" / "x.db")
        (folder / "closed").chmod(0)
        sqlite_file(folder / "listed" / "x.db")
        (folder / "listed").chmod(0o444)
        (folder / "manifest.json").touch(0)  # perhaps dbt's: who reads it says that it cannot be read
        folder.chmod(0o755)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # root may read everything
        try:
            catalog = find_databases(folder)
            assert database_identity(catalog.databases[0])[-1] == ""
        finally:
            os.seteuid(user)
        (folder / "closed").chmod(0o755)
        (folder / "listed").chmod(0o755)
    assert ids(catalog) == ["good"]
    reasons = left_out(catalog)
    assert set(reasons) == {"secret.db", "closed", "listed"}
    assert "Permission denied" in reasons["secret.db"]
    assert "cannot be listed" in reasons["closed"]


@pytest.mark.parametrize("text", ["{broken", "[" * 100_000], ids=["broken", "deep"])
def test_a_broken_tables_json_is_noted(text: str, tmp_path: Path) -> None:
    sqlite_file(tmp_path / "x.db")
    (tmp_path / "tables.json").write_text(text)
    catalog = find_databases(tmp_path)
    assert ids(catalog) == ["x"]
    assert [problem.path for problem in catalog.problems] == ["tables.json"]


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    def hashes() -> dict[str, str]:
        return {database.db_id: database.content_hash for database in find_databases(tmp_path).databases}

    csv_file(tmp_path / "sales" / "t.csv")
    sqlite_file(tmp_path / "x.db", "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    first = hashes()
    shutil.copytree(tmp_path / "sales", tmp_path / "copy")
    assert hashes()["copy"] == first["sales"]
    (tmp_path / "copy" / "t.csv").rename(tmp_path / "copy" / "u.csv")
    assert hashes()["copy"] != first["sales"]
    with closing(sqlite3.connect(tmp_path / "x.db")) as writer:
        writer.execute("INSERT INTO t VALUES (2)")
        writer.commit()
        assert hashes()["x"] != first["x"], "what stands only in the log is content too"


@pytest.mark.parametrize("size", [300 * 2**20, pytest.param(2 * 2**30, marks=pytest.mark.slow)])
def test_a_large_file_is_hashed_in_little_memory(size: int, tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "big.db")
    with path.open("r+b") as stream:
        stream.truncate(size)  # sparse: SQLite ignores what follows its pages
    program = (
        "import sys; from agro_data.databases.discovery.catalog import find_databases;"
        "(d,) = find_databases(sys.argv[1]).databases;"
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'));"
        "print(d.content_hash, peak)"  # ru_maxrss would be at least that of the process which runs the tests
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-c", program, str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()
    assert len(output[0]) == 64
    assert int(output[1]) < 200_000, "kilobytes"


def test_the_spider_databases() -> None:
    if not (SHARED / "spider/database").exists():
        pytest.skip("the Spider data is not beside the repository")
    catalog = find_databases(SHARED / "spider")
    assert len(catalog.databases) == 116
    assert all(database.spider_tables for database in catalog.databases)
    assert left_out(catalog) == {}


def test_a_corpus_among_the_databases_is_no_database(tmp_path: Path) -> None:
    version = tmp_path / "demo" / "v0001-0123abcd"
    (version / "data").mkdir(parents=True)
    (version / "manifest.json").write_text("{}")
    (tmp_path / "demo" / "latest").write_text(version.name)
    for folder in (version / "data", tmp_path / "plain"):
        folder.mkdir(exist_ok=True)
        (folder / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "current").symlink_to(version / "data")
    assert [database.db_id for database in find_databases(tmp_path).databases] == ["plain"]


def test_an_export_among_the_databases_is_no_database(tmp_path: Path) -> None:
    """Its rows, and the copies of databases in it, must not be what the next build asks about."""
    copy = tmp_path / "export" / "database" / "shop" / "shop.sqlite"
    copy.parent.mkdir(parents=True)
    for file in (tmp_path / "shop.sqlite", copy):
        sqlite_file(file)
    assert [database.db_id for database in find_databases(tmp_path).databases] != ["shop"]
    (tmp_path / "export" / EXPORT).write_text("{}", encoding="utf-8")
    assert [database.db_id for database in find_databases(tmp_path).databases] == ["shop"]
    inside = find_databases(tmp_path / "export")  # asked for by itself, as Spider's scripts are given it
    assert [database.db_id for database in inside.databases] == ["shop"]


def test_a_corpus_with_the_name_of_the_folder_of_its_databases_is_not_built_from(tmp_path: Path) -> None:
    instances = tmp_path / "v0001-0123abcd" / "instances" / "shop"
    instances.mkdir(parents=True)
    (tmp_path / "v0001-0123abcd" / "manifest.json").write_text("{}")
    (tmp_path / "latest").write_text("v0001-0123abcd")
    for file in (tmp_path / "shop.sqlite", instances / "00-01.sqlite"):
        sqlite_file(file)
    assert [database.db_id for database in find_databases(tmp_path).databases] == ["shop"]
    assert [database.db_id for database in find_databases(instances).databases] == ["00-01"]  # asked for by name
