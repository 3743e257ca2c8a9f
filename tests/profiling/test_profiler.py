"""A profile from real engines: keys, roles, names and statistics of small databases made here."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest
from making import add_damaged

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database
from agro_data.intent.questions.relatives import linked as linked_ends
from agro_data.intent.sampling.atlas import Atlas, is_iso_date
from agro_data.profiling.cache import decode, encode
from agro_data.profiling.profile import Versions, Within
from agro_data.profiling.profiler import profile_database

SHOP = """
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, cust_fname TEXT, cust_lname TEXT, phone INTEGER, vip TEXT);
CREATE TABLE tbl_orders (id INTEGER PRIMARY KEY, customer_id INTEGER, order_date TEXT, amt REAL, yr INTEGER);
CREATE TABLE order_items (order_id INTEGER, line_no INTEGER, qty INTEGER, PRIMARY KEY (order_id, line_no),
  FOREIGN KEY (order_id) REFERENCES tbl_orders(id));
INSERT INTO customers VALUES (1,'Ann','Lee',5550001,'Y'),(2,'Bo','Ek',5550002,'N'),(3,'Cy','Fox',5550003,'N');
INSERT INTO tbl_orders VALUES (10,1,'2021-03-04',9.5,2021),(11,1,'2021-04-04',1.5,2021),(12,3,'2022-01-01',4.0,2022);
INSERT INTO order_items VALUES (10,1,2),(10,2,5),(11,1,1);
"""


def sqlite_database(path: Path, script: str, **sides: Path) -> Database:
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Database(path.stem, "sqlite", "sqlite", path, digest, path.name, **sides)


@pytest.fixture
def shop(tmp_path: Path) -> Database:
    return sqlite_database(tmp_path / "shop.sqlite", SHOP)


def test_names_are_those_of_people(shop: Database) -> None:
    profile = profile_database(shop)
    assert (profile.table("tbl_orders").singular, profile.table("tbl_orders").plural) == ("order", "orders")
    assert [column.phrase for column in profile.table("customers").columns] == [
        "ID",
        "first name",
        "last name",
        "phone",
        "VIP",
    ]
    assert profile.table("tbl_orders").column("amt").phrase == "amount"
    assert profile.table("customers").label_columns == ("cust_fname", "cust_lname")


def test_roles_follow_names_keys_and_values(shop: Database) -> None:
    profile = profile_database(shop)
    roles = {column.name: column.role for table in profile.tables for column in table.columns}
    assert roles["phone"] == "identifier"
    assert roles["vip"] == "boolean"
    assert roles["amt"] == "measure"
    assert roles["yr"] == "year"
    assert roles["order_date"] == "date"
    assert profile.table("tbl_orders").column("order_date").date_format == "iso"


def test_keys_are_declared_or_inferred(shop: Database) -> None:
    keys = {(key.table, key.columns): key for key in profile_database(shop).foreign_keys}
    assert keys["order_items", ("order_id",)].declared
    inferred = keys["tbl_orders", ("customer_id",)]
    assert not inferred.declared
    assert inferred.ref_table == "customers"
    assert 0.6 <= inferred.confidence < 1


def test_values_that_do_not_fit_infer_nothing(tmp_path: Path) -> None:
    script = SHOP + "UPDATE tbl_orders SET customer_id = 900 + id;"
    profile = profile_database(sqlite_database(tmp_path / "loose.sqlite", script))
    assert ("tbl_orders", ("customer_id",)) not in {(key.table, key.columns) for key in profile.foreign_keys}


def test_without_values_nothing_of_the_cells_stays(shop: Database) -> None:
    profile = profile_database(shop, values=False)
    text = repr(profile)
    for canary in ("Ann", "Fox", "5550001", "2021-03-04", "9.5", "2022"):
        assert canary not in text
    assert profile.table("customers").column("phone").distinct == 3


def test_the_same_database_gives_the_same_profile(shop: Database) -> None:
    assert profile_database(shop) == profile_database(shop)


def csv_database(folder: Path, **tables: str) -> Database:
    """A folder of CSV files, their lines parted by blanks."""
    folder.mkdir()
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines.split()) + "\n")
    return find_databases(folder).databases[0]


def texts_database(path: Path, table: str, columns: str, rows: Iterable[str]) -> Database:
    """A database of one table of texts, as a CSV is imported that is not looked at."""
    made = ", ".join(f"{column} TEXT" for column in columns.split(","))
    values = ", ".join("(" + ", ".join(f"'{cell}'" for cell in row.split(",")) + ")" for row in rows)
    return sqlite_database(path, f"CREATE TABLE {table} ({made}); INSERT INTO {table} VALUES {values};")


def flights() -> str:
    """Rows of five carriers and a hundred planes."""
    rows = (f"{n},{'ABCDE'[n % 5]}X,N{n % 100:03},{n}" for n in range(400))
    return " ".join(["flight,carrier,tailnum,distance", *rows])


def test_files_without_keys_refer_by_name_and_values(tmp_path: Path) -> None:
    """A few planes are in no register, which the texts of all others outweigh; a number proves nothing."""
    database = csv_database(
        tmp_path / "air",
        flights=flights(),
        airlines=" ".join(["carrier,name", *(f"{letter}X,Air{letter}" for letter in "ABCDE")]),
        planes=" ".join(["tailnum,seats", *(f"N{n:03},{n}" for n in range(85))]),
        gates=" ".join(["distance,wing", *(f"{n},W{n % 3}" for n in range(500))]),
    )
    profile = profile_database(database)
    keys = {(key.table, key.columns): (key.ref_table, key.orphan_share) for key in profile.foreign_keys}
    assert keys == {("flights", ("carrier",)): ("airlines", 0.0), ("flights", ("tailnum",)): ("planes", 0.15)}
    assert len(Atlas(profile).edges) == 2
    assert profile.problems == ()


def test_numbers_refer_only_where_they_are_named_as_keys_are(tmp_path: Path) -> None:
    database = csv_database(
        tmp_path / "shop",
        goods=" ".join(["item_number,weight", *(f"{n},{n % 7}" for n in range(1, 30))]),
        sold=" ".join(["day,item_number,weight", *(f"{n % 5},{n % 20 + 1},{n}" for n in range(100))]),
        trucks=" ".join(["weight,wheels", *(f"{n},{n % 3}" for n in range(200))]),
    )
    keys = [(key.table, key.columns, key.ref_table) for key in profile_database(database).foreign_keys]
    assert keys == [("sold", ("item_number",), "goods")]


def test_keys_of_a_few_letters_are_keys(tmp_path: Path) -> None:
    """What `apid` counts is nothing: it is never summed, and routes start and end at airports."""
    database = csv_database(
        tmp_path / "flights",
        airports=" ".join(["apid,name", *(f"{n},Port{n}" for n in range(1, 40))]),
        airlines=" ".join(["alid,name", *(f"{n},Air{n}" for n in range(1, 9))]),
        routes=" ".join(["alid,src_apid,dst_apid", *(f"{n % 8 + 1},{n % 39 + 1},{n % 7 + 1}" for n in range(200))]),
    )
    profile = profile_database(database)
    assert {(key.columns, key.ref_table) for key in profile.foreign_keys} == {
        (("alid",), "airlines"), (("src_apid",), "airports"), (("dst_apid",), "airports"),
    }  # fmt: skip
    assert len(Atlas(profile).edges) == 3
    assert {c.role for t in profile.tables for c in t.columns if c.name.endswith("id")} == {"identifier"}


def test_tables_without_any_key_between_them_are_told(tmp_path: Path) -> None:
    database = csv_database(tmp_path / "loose", cats="name,age Tom,3 Kit,4", mills="mill,year Red,1900 Blue,1910")
    [said] = profile_database(database).problems
    assert "between its 2 tables" in said
    assert "semantics.yml" in said


def test_numbers_that_are_no_quantities(tmp_path: Path) -> None:
    """Times of the day as 1745, directions, parts of a date, and IDs and numbers that a name says in another way."""
    numbers = [
        (n + 1000, n % 12 + 1, n % 24, n * 7 % 60, n * 7 % 24 * 100 + n * 13 % 60, n * 37 % 900, n % 36 * 10, n)
        for n in range(200)
    ]
    rows = [",".join(map(str, row)) for row in numbers]
    heads = "flight,month,hour,minute,dep_time,air_time,wind_dir,concept_id_1"
    profile = profile_database(csv_database(tmp_path / "air", flights=" ".join([heads, *rows])))
    columns = profile.table("flights").columns
    assert {column.name: column.role for column in columns} == {
        "flight": "identifier",
        "month": "category",
        "hour": "category",
        "minute": "category",
        "dep_time": "identifier",
        "air_time": "measure",
        "wind_dir": "category",
        "concept_id_1": "identifier",
    }
    assert columns[0].phrase == "flight number"


def test_numbers_that_stand_for_rows_of_another_table(tmp_path: Path) -> None:
    """An employee and a trainer are numbers that such rows have. Several employees are a quantity."""
    database = csv_database(
        tmp_path / "firm",
        employee_list=" ".join(["emp_no,title", *(f"{n},Title{n % 7}" for n in range(1, 91))]),
        products=" ".join(["nr,label", *(f"{n},Thing{n}" for n in range(100, 190))]),
        leave=" ".join(["emp,trainer,product,budget", *(f"{n % 83 + 1},{n % 50 + 2},{n % 50},7" for n in range(200))]),
        site=" ".join(["town,employees,trainee", *(f"Town{n},{n * 7 % 80 + 1},{n * 5 % 999}" for n in range(60))]),
    )
    profile = profile_database(database)
    roles = {(t.name, c.name): c.role for t in profile.tables for c in t.columns}
    assert (roles["leave", "emp"], roles["leave", "trainer"]) == ("identifier", "identifier")
    assert roles["leave", "product"] == "measure"  # no product has such a number
    assert (roles["site", "employees"], roles["site", "trainee"]) == ("measure", "measure")


def test_a_key_of_more_words_is_referred_to_by_fewer(tmp_path: Path) -> None:
    script = """
    CREATE TABLE "Employee List" ("Emp No" INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE "Leave" (emp INTEGER, days REAL);
    INSERT INTO "Employee List" VALUES (1, 'a'), (2, 'b'), (3, 'c');
    INSERT INTO "Leave" VALUES (3, 1.5), (1, 2), (3, 4);
    """
    profile = profile_database(sqlite_database(tmp_path / "firm.sqlite", script))
    found = [(key.table, key.columns, key.ref_table, key.ref_columns) for key in profile.foreign_keys]
    assert found == [("Leave", ("emp",), "Employee List", ("Emp No",))]


def test_what_is_called_as_its_table_or_in_two_words(tmp_path: Path) -> None:
    """Whether there are differences is no sum of them; and a year that is a key of nothing is a year."""
    rows = [f"{n % 2},{1990 + n % 30},{n * 100},Road{n}" for n in range(60)]
    heads = "has_gender_differences,year_id,{0},note"
    database = csv_database(
        tmp_path / "mixed",
        salary=" ".join([heads.format("salary"), *rows]),
        address=" ".join(["address,city", *(f"Road{n},Town{n % 7}" for n in range(60))]),
        note=" ".join(["note,stars", *(f"Fine{n},{n % 5}" for n in range(60))]),
    )
    profile = profile_database(database)
    columns = profile.table("salary").columns
    assert [(c.phrase, c.role) for c in columns[:3]] == [
        ("has gender differences", "boolean"), ("year", "year"), ("amount", "measure"),
    ]  # fmt: skip
    assert [profile.table(t).columns[0].phrase for t in ("address", "note")] == ["street", "text"]


def test_decimals_that_a_marker_makes_texts_are_shown_at_most(tmp_path: Path) -> None:
    rows = [f"{'NA' if n % 9 == 0 else n / 4},{'NA' if n % 7 == 0 else n % 5},{n}" for n in range(60)]
    profile = profile_database(texts_database(tmp_path / "air.sqlite", "weather", "temp,stars,day", rows))
    roles = {column.name: column.role for column in profile.table("weather").columns}
    assert (roles["temp"], roles["stars"]) == ("other", "category")


def test_a_day_beside_its_month_is_one_of_the_month(tmp_path: Path) -> None:
    """The day with the most flights would be one of the calendar, and the numbers pool those of all months."""
    rows = [f"{2012 + n % 3},{n % 12 + 1},{n % 28 + 1}" for n in range(100)]
    flights = profile_database(csv_database(tmp_path / "air", flights=" ".join(["year,month,day", *rows])))
    assert [column.phrase for column in flights.table("flights").columns] == ["year", "month", "day of the month"]
    days = profile_database(csv_database(tmp_path / "days", shifts=" ".join(["day,staff", "1,3", "2,4", "3,1"])))
    assert days.table("shifts").column("day").phrase == "day"


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


def test_moments_that_know_their_time_zone_are_dates(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "log.duckdb") as connection:
        connection.execute(
            "CREATE TABLE visit AS SELECT n AS id, TIMESTAMPTZ '2023-11-01 08:00:00+02' + n * INTERVAL '90 minutes' AS "
            "began, '2023-11-0' || (n % 9 + 1) || ' 08:00:00+02:00' AS told FROM range(2000) r(n)"
        )
    profile = profile_database(find_databases(tmp_path / "log.duckdb").databases[0])
    began, told = (profile.table("visit").by_name[name] for name in ("began", "told"))
    assert (is_iso_date(began), began.minimum) == (True, "2023-11-01 06:00:00+00:00")
    assert not is_iso_date(told)  # texts of another zone do not sort by time, and no function reads them
    assert [text for text in profile.problems if "'began'" in text] == []
    assert {value.partition(" ")[0] for value in began.quantiles} >= {"2023-11-01", began.maximum[:10]}


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


def test_a_date_dimension_is_looked_up(tmp_path: Path) -> None:
    script = """
    CREATE TABLE dim_date (date_key INTEGER PRIMARY KEY, full_date TEXT, year INTEGER, quarter INTEGER, month INTEGER,
        month_name TEXT, day_of_week TEXT);
    CREATE TABLE weather (day TEXT, month INTEGER, year INTEGER, rain REAL, wind REAL, snow REAL, station TEXT);
    INSERT INTO dim_date VALUES (1, '2024-01-01', 2024, 1, 1, 'January', 'Monday'),
        (2, '2024-04-02', 2024, 2, 4, 'April', 'Tuesday'), (3, '2025-07-03', 2025, 3, 7, 'July', 'Thursday');
    INSERT INTO weather VALUES ('2024-01-01', 1, 2024, 0.5, 1.5, 0.0, 'Bern'),
        ('2024-01-02', 1, 2024, 0.1, 2.5, 1.0, 'Oslo');
    """
    profile = profile_database(sqlite_database(tmp_path / "sales.sqlite", script))
    assert {table.name: table.kind for table in profile.tables} == {"dim_date": "lookup", "weather": "entity"}


def test_the_pair_that_a_file_links_is_its_key(tmp_path: Path) -> None:
    """So a monster has types, and no monster types; not where a pair stands twice, or rows are called otherwise."""
    linked = [f"{n},{n % 5}" for n in range(30)]
    tables = {
        "monsters": " ".join(["monster_id,name", *(f"{n},Mon{n}" for n in range(30))]),
        "types": " ".join(["type_id,name", *(f"{n},Kind{n}" for n in range(5))]),
        "monster_types": " ".join(["monster_id,type_id", *linked, "3,4"]),
        "battles": " ".join(["monster_id,type_id", *linked]),
    }
    profile = profile_database(csv_database(tmp_path / "once", **tables))
    assert profile.table("monster_types").primary_key == ("monster_id", "type_id")
    assert profile.table("monster_types").kind == "bridge"
    assert profile.table("battles").primary_key == ()
    assert linked_ends(profile, profile.table("monster_types")).keys() == {"monsters", "types"}
    twice = {**tables, "monster_types": tables["monster_types"] + " 3,4"}
    assert profile_database(csv_database(tmp_path / "twice", **twice)).table("monster_types").primary_key == ()


def test_rows_of_a_slowly_changing_dimension_are_versions(tmp_path: Path) -> None:
    """ "How many customers" was 58 where there are 27."""
    script = """
    CREATE TABLE dim_customer (customer_sk INTEGER PRIMARY KEY, customer_id TEXT, customer_name TEXT, valid_from TEXT,
        valid_to TEXT, is_current INTEGER);
    CREATE TABLE price (price_id INTEGER PRIMARY KEY, product_id TEXT, valid_from TEXT, valid_to TEXT, amount REAL);
    INSERT INTO dim_customer VALUES (1, 'C1', 'Ann', '2020-01-01', '2021-05-01', 0),
        (2, 'C1', 'Ann', '2021-05-01', NULL, 1), (3, 'C2', 'Bo', '2020-01-01', NULL, 1);
    INSERT INTO price VALUES (1, 'P1', '2020-01-01', '2021-01-01', 9.5), (2, 'P1', '2021-01-01', NULL, 10.5);
    """
    profile = profile_database(sqlite_database(tmp_path / "mart.sqlite", script))
    assert {table.plural for table in profile.tables} == {"customer versions", "prices"}
    assert profile.table("dim_customer").label_columns == ("customer_name",)
    assert any("'dim_customer': each row is a version" in said for said in profile.problems)
    known = profile.table("dim_customer").versions
    assert known == Versions(
        "customer", "customers", "customer_id", "is_current", 1, (), known.validity if known else ()
    )
    assert known is not None
    assert set(known.validity) == {"valid_from", "valid_to", "is_current"}
    assert profile.table("dim_customer").partial_keys == ((("customer_id",), '"is_current" = 1'),)
    assert profile.table("price").versions is None
    assert decode(encode(profile)) == profile


def test_versions_are_known_only_where_rows_prove_them(tmp_path: Path) -> None:
    """Two current rows of one customer prove nothing; columns that no version changes are seen with a few things."""
    table = """
    CREATE TABLE dim_customer (customer_key INTEGER PRIMARY KEY, customer_id TEXT, name TEXT NOT NULL,
        city TEXT NOT NULL, valid_from TEXT, valid_to TEXT, current_flag TEXT);
    """
    rows = [
        (2 * n + version, f"C{n}", f"Ann {n}", f"city {n + version}", "2020-01-01", "9999-12-31", "NY"[version])
        for n in range(6)
        for version in (0, 1)
    ]
    script = table + "".join(f"INSERT INTO dim_customer VALUES {row!r};" for row in rows)
    known = profile_database(sqlite_database(tmp_path / "mart.sqlite", script)).table("dim_customer").versions
    assert known is not None
    assert (known.current, known.steady) == ("Y", ("name", "valid_from", "valid_to"))
    double = script + "INSERT INTO dim_customer VALUES (99, 'C1', 'Ann 1', 'Rome', '2020-01-01', NULL, 'Y');"
    assert profile_database(sqlite_database(tmp_path / "two.sqlite", double)).table("dim_customer").versions is None


@pytest.mark.parametrize("never", ["NULL", "'9999-12-31'"])
def test_what_has_no_end_is_current_where_no_column_says_so(tmp_path: Path, never: str) -> None:
    script = f"""
    CREATE TABLE dim_tariff (tariff_sk INTEGER PRIMARY KEY, tariff_code TEXT, fee REAL, eff_from TEXT, eff_to TEXT);
    CREATE TABLE price (price_id INTEGER PRIMARY KEY, product_id TEXT, amount REAL, valid_from TEXT, valid_to TEXT);
    INSERT INTO dim_tariff VALUES (1, 'T1', 5, '2020-01-01', '2021-05-01'), (2, 'T1', 6, '2021-05-01', {never}),
        (3, 'T2', 7, '2020-01-01', '2020-09-01'), (4, 'T2', 8, '2020-09-01', {never});
    INSERT INTO price SELECT * FROM dim_tariff;
    """
    profile = profile_database(sqlite_database(tmp_path / "mart.sqlite", script))
    known = profile.table("dim_tariff").versions
    assert known is not None
    assert (known.key, known.column, known.current) == (
        "tariff_code",
        "eff_to",
        never.strip("'") if "9" in never else None,
    )
    assert profile.table("price").versions is None


def test_a_snapshot_by_dbt_is_current_where_nothing_has_followed(tmp_path: Path) -> None:
    script = """
    CREATE TABLE orders_snapshot (order_id TEXT, status TEXT, dbt_scd_id TEXT, dbt_valid_from TEXT, dbt_valid_to TEXT);
    INSERT INTO orders_snapshot VALUES ('O-1', 'new', 'a', '2020-01-01', '2020-01-05'),
        ('O-1', 'paid', 'b', '2020-01-05', NULL), ('O-2', 'new', 'c', '2020-01-02', NULL);
    """
    table = profile_database(sqlite_database(tmp_path / "mart.sqlite", script)).table("orders_snapshot")
    assert table.versions is not None
    assert (table.versions.column, table.versions.current) == ("dbt_valid_to", None)
    assert table.partial_keys == ((("order_id",), '"dbt_valid_to" IS NULL'),)
    assert table.column("dbt_valid_to").phrase == "end of validity"


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


def test_a_key_that_numbers_lines_is_no_count(tmp_path: Path) -> None:
    script = """
    CREATE TABLE lignes (id_commande INTEGER, no_ligne INTEGER, prix REAL, PRIMARY KEY (id_commande, no_ligne));
    INSERT INTO lignes VALUES (1, 1, 2.5), (1, 2, 3.5), (2, 1, 1.5), (2, 2, 9.5), (2, 3, 4.5);
    """
    column = profile_database(sqlite_database(tmp_path / "achats.sqlite", script)).table("lignes").by_name["no_ligne"]
    assert (column.role, column.phrase) == ("identifier", "ligne number")


def test_codes_that_a_title_explains_are_said_so(tmp_path: Path) -> None:
    script = 'CREATE TABLE accidents (id INTEGER PRIMARY KEY, "Severity (1=fatal, 2=serious 3=slight)" INTEGER);'
    column = profile_database(sqlite_database(tmp_path / "roads.sqlite", script)).table("accidents").columns[1]
    assert (column.phrase, column.codes) == ("severity", (("1", "fatal"), ("2", "serious"), ("3", "slight")))
