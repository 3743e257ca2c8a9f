"""A profile from real engines: keys, roles, names and statistics of small databases made here."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from profiled_databases import csv_database, sqlite_database, texts_database

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database
from agro_data.intent.sampling.atlas import is_iso_date
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
