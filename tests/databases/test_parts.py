"""Tables of a folder that are written in parts: by Hive's convention, or as Spark, Dask and DuckDB write them."""

from __future__ import annotations

import base64
import os
import shutil
import zlib
from itertools import permutations
from pathlib import Path

import duckdb
import pytest
from database_files import csv_file, found, parquet_file

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.discovery.content import content_hash
from agro_data.databases.files import file_tables
from agro_data.databases.files.data_files import DataTable, data_files
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.opening import open_duckdb, stamp
from agro_data.databases.trusted.connections import open_database
from agro_data.exports.export import write_files
from agro_data.profiling.profiler import profile_database
from agro_data.verify.chance.shuffled_copy import shuffled_copy


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """`orders` by year and country, `customer` as Spark writes it, `city` in one file."""
    folder = tmp_path / "env=prod" / "shop lake"
    rows = "SELECT i AS id, i % 7 AS customer_id, i * 1.5 AS total, 2023 + i % 2 AS year, 'n' || i % 3 AS country"
    folder.mkdir(parents=True)
    duckdb.sql(f"{rows} FROM range(60) r(i)").write_parquet(str(folder / "orders"), partition_by=["year", "country"])
    (folder / "orders" / "_SUCCESS").write_text("")
    parquet_file(folder / "orders" / "_temporary" / "year=1999" / "country=x" / "torn.parquet")
    for part in range(2):
        rows = f"SELECT i AS id, 'c' || i AS name{', i > 5 AS vip' * part} FROM range({4 * part}, {4 * part + 4}) r(i)"
        parquet_file(folder / "customer" / f"part-0000{part}-ab.snappy.parquet", rows)
    csv_file(folder / "city.csv", "name,people\nOslo,7\nBonn,3\n")
    return folder


def test_a_table_in_parts_is_one(lake: Path) -> None:
    database = found(lake.parent)
    assert (database.db_id, database.layout) == ("shop_lake", "files")
    with open_database(database) as connection:
        tables = {table.name: [column.name for column in table.columns] for table in connection.objects()}
        years = connection.execute("SELECT year, count(*) FROM orders GROUP BY year ORDER BY year")
        assert not connection.problems + connection.unread
    assert tables == {
        "city": ["name", "people"],
        "customer": ["id", "name", "vip"],  # a part that was written later has a further column
        "orders": ["id", "customer_id", "total", "country", "year"],  # and none of what lies above the folder
    }
    assert years == [(2023, 30), (2024, 30)]
    assert {(k.table, k.columns, k.ref_table) for k in profile_database(database).foreign_keys} == {
        ("orders", ("customer_id",), "customer")
    }


def test_parts_run_in_the_sandbox_and_nothing_beside_them(lake: Path) -> None:
    secret = parquet_file(lake.parent / "secret.parquet")
    with Sandbox() as sandbox:
        counted, refused = sandbox.run(
            found(lake),
            ["SELECT count(*), sum(year) FROM orders JOIN customer c ON c.id = customer_id", f"FROM '{secret}'"],
            want="rows",
        )
    assert counted.rows == ((60, 121_410),)
    assert refused.status == "error"


def test_any_part_counts_for_the_identity(lake: Path, tmp_path: Path) -> None:
    before = content_hash(lake, "files"), stamp(lake, "files")
    copy = shutil.copytree(lake, tmp_path / "elsewhere" / "shop lake")
    assert content_hash(copy, "files") == before[0]
    (lake / "orders" / "_SUCCESS").write_text("again")
    assert (content_hash(lake, "files"), stamp(lake, "files")) == before
    os.rename(lake / "orders" / "year=2023", lake / "orders" / "year=2022")
    assert content_hash(lake, "files") != before[0]
    assert stamp(lake, "files") != before[1]


def test_copies_have_all_parts(lake: Path, tmp_path: Path) -> None:
    database = found(lake)
    write_files(tmp_path / "export", {"db/shop lake": lake})
    assert content_hash(tmp_path / "export" / "db" / "shop lake", "files") == database.content_hash
    with open_database(shuffled_copy(database, tmp_path, 1)) as connection:
        assert connection.execute("SELECT count(DISTINCT year), count(*) FROM orders") == [(2, 60)]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("orders", "is one table in parts, not a database"),
        ("delta", "is a table of Delta Lake: its files also hold rows that were deleted since"),
    ],
)
def test_what_is_no_database_is_told(lake: Path, place: str, reason: str) -> None:
    parquet_file(lake / "delta" / "part-00000-a.parquet")
    (lake / "delta" / "_delta_log").mkdir()
    (problem,) = find_databases(lake / place).problems
    assert problem.reason == reason
    catalog = find_databases(lake)
    assert [(p.path, p.remedy) for p in catalog.problems] == [
        ("delta", "write what it holds now as Parquet, or into a DuckDB file")
    ]
    with open_database(catalog.databases[0]) as connection:
        assert [table.name for table in connection.objects()] == ["city", "customer", "orders"]


def test_a_torn_part_is_named(lake: Path) -> None:
    part = next((lake / "orders" / "year=2024").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-10])
    (problem,) = [p for p in find_databases(lake).problems if p.left_out]
    assert problem.path == "orders"
    assert f"{part.relative_to(lake).as_posix()} does not end as a Parquet file does" in problem.reason


def test_parts_behind_links_are_read_and_told(lake: Path, tmp_path: Path) -> None:
    """One that leads back to where it lies is not: it would have the same rows again."""
    year = lake / "orders" / "year=2024"
    year.rename(tmp_path / "year=2024")
    year.symlink_to(tmp_path / "year=2024")
    (lake / "orders" / "year=2025").symlink_to(lake / "orders")
    with open_database(found(lake.parent)) as connection:
        assert connection.execute("SELECT year, count(*) FROM orders GROUP BY year ORDER BY year") == [
            (2023, 30),
            (2024, 30),
        ]
    assert "links that lead out of the folder: orders/year=2024/" in str(find_databases(lake.parent).problems[0])


def test_links_among_many_folders_of_parts_come_to_an_end(tmp_path: Path) -> None:
    years = [tmp_path / "shop" / "orders" / f"year={2010 + number}" for number in range(5)]
    for year in years:
        csv_file(year / "part-0.csv")
    for year, other in permutations(years, 2):
        (year / f"next={other.name[-4:]}").symlink_to(other)
    assert len(data_files(tmp_path / "shop")) < 200  # of 1,300 ways to them


def test_folders_of_databases_are_no_partitions(tmp_path: Path) -> None:
    csv_file(tmp_path / "env=prod" / "shop" / "t.csv")
    assert [database.db_id for database in find_databases(tmp_path).databases] == ["shop"]
    csv_file(tmp_path / "notes" / "u.csv")
    assert [database.db_id for database in find_databases(tmp_path).databases] == ["notes", "shop"]


def test_files_that_are_not_called_parts_are_tables(tmp_path: Path) -> None:
    for name in ("data_1.csv", "data_2.csv", "party.parquet", "part.csv"):
        (csv_file if name.endswith("csv") else parquet_file)(tmp_path / "shop" / name)
    with open_database(found(tmp_path)) as connection:
        assert [table.name for table in connection.objects()] == ["data_1", "data_2", "part", "party"]


def test_a_pipe_is_no_part(tmp_path: Path) -> None:
    """Whoever opened it would wait for ever."""
    shop = csv_file(tmp_path / "shop" / "t" / "year=2024" / "a.csv").parents[2]
    csv_file(shop / "u" / "part-0.csv")
    for place in ("t/year=2024/b.csv", "u/part-1.csv.gz", "x.parquet"):
        os.mkfifo(shop / place)
    (shop / "v").mkdir()
    os.mkfifo(shop / "v" / "part-0.csv")
    with open_database(found(tmp_path)) as connection:
        assert [(table.name, len(table.columns)) for table in connection.objects()] == [("t", 3), ("u", 2)]
        assert connection.unread == []


# A Parquet file with four bytes changed: over it DuckDB 2.0 fails for good, and takes no statement on others any more.
SPOILING = (
    b"c-oazO=uHQ5Ptj9HIy~9#kbj&h33#M@z9zI29+)Nwr!g9N1I%1p@+mxSZiw<lh(!3LrxWK#eg0>3W9jkljn+py;wv+ya-<ESy0f6"
    b";G6fh8*A&Kk7Y9Rz4^YG*<mw9@&j1GCN^hrQ^E*LI|WdesYl)*e)LG-APprBKs!6BX-Yyvl(z&V0z@SmGOo2mqafO8rcgqxq;#>8"
    b"+$D9da~)BdFO<%{+}cFL1ywm3AJEbrzkYV(#?E(Dy}L0v@pjE_Lw&2a7JhU6H3Lt#^byyGrpiLB<4LULLDT!u{q@~KrhF_mZEYvV"
    b"?!ABfBQZ#Sdfp*-{@MC@g_V3E;Y_Qf8jd7f)`jB#26~N-+|Is|M6}cKdG!<YE*rC_k*?I;E9GlN9HBt3sEczYgjMPY^<Fe#vOIv7"
    b">I)lPrp+YTy;PcWgAA=H8KyB|A(LwMD(wcSV41?&Q-MBK#6Hv(4U<mRjzwgjPz;L>LtzkCsd&_&opJ4LS=$t>=YqXwn~WR<vi3+Z"
    b"_VA%OWWX$3;K6b2t6+T-?L)1L6+j1fryA_NaQTL;-50Envi;X;7+GcA(U%tTwL3jDwj$b>HkzWVB%i-{=^WpT{!lsz=ceZnLUM$k"
    b"aYB6JcqC1TM}|CxIW%Deoca{a_gN~7SHO(16c=ooxrB@ok|kt@I6j$#INj2BoIG=rU@{Eay&_PWlJnIWANXES#|!HfS$!5Vum*AJ"
    b"Dm7;S8)r$5ALjFu1u*F{7+UjSzR}=vm|O_?Y0mfl;e+d}1fz`v{pN_1BSTEjr6S=aKe;R<eb_f2NRKYe^QL^@XM*{d0?!;AM0&hh"
    b"tX*F&FZH?AYG1KdTlC{M%C-93VkLem)t~GiFyIRbAGA!jJw^ZQ{s1-2`=<"
)


def test_a_damaged_parquet_file_takes_no_other_with_it(tmp_path: Path) -> None:
    good = parquet_file(tmp_path / "shop" / "good.parquet")
    for name in ("a.parquet", "z.parquet"):
        good.with_name(name).write_bytes(zlib.decompress(base64.b85decode(SPOILING)))
    csv_file(good.with_name("u.csv"))
    catalog = find_databases(tmp_path)
    assert [problem.path for problem in catalog.problems] == ["shop/a.parquet", "shop/z.parquet"]
    assert all("it is damaged: INTERNAL Error" in problem.reason for problem in catalog.problems)
    with open_database(catalog.databases[0]) as connection:
        assert [table.name for table in connection.objects()] == ["good", "u"]
    with open_database(shuffled_copy(catalog.databases[0], tmp_path, 1)) as connection:
        assert [table.name for table in connection.objects()] == ["good", "u"]


def test_a_parquet_file_is_probed_once_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = parquet_file(tmp_path / "shop" / "good.parquet").parent
    bad = folder / "bad.parquet"
    bad.write_bytes(zlib.decompress(base64.b85decode(SPOILING)))
    read: list[str] = []
    looked = file_tables._query

    def counted(engine: duckdb.DuckDBPyConnection, table: DataTable) -> tuple[str, list[str]]:
        read.append(table.name)
        return looked(engine, table)

    monkeypatch.setattr(file_tables, "_query", counted)
    seen: list[list[str]] = []
    for changed in (False, False, True):
        if changed:
            bad.write_bytes(bad.read_bytes())
        connection, unread, _ = open_duckdb(folder, "files", {})
        connection.close()
        assert len(unread) == 1
        seen.append(sorted(read))
        read.clear()
    assert seen == [["bad", "good", "good"], ["good"], ["bad", "good"]]  # once more, to make the table of it
