"""Tables whose rows are versions of a thing, from real rows: which are known, and which row is current."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiled_databases import sqlite_database

from agro_data.profiling.cache import decode, encode
from agro_data.profiling.profile import Versions
from agro_data.profiling.profiler import profile_database


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


@pytest.mark.parametrize("never", ["NULL", "'9999-12-31'", "'2999-12-31 00:00:00'"])
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
