"""Instances of a database: constraints hold whatever is asked, and a query's rows are there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path

import duckdb
import pytest
from making import profile_of, run_sqlite
from small_databases import OF_ROME, check, read

from agro_data.databases.types import Cell
from agro_data.populate.instances import instance_schema, instances, random_rows
from agro_data.populate.writer import write_duckdb, write_sqlite
from agro_data.profiling.profile import DatabaseProfile

QUERIES = (
    OF_ROME,
    "SELECT s.name, COUNT(*) FROM student s JOIN has_pet h ON s.id = h.student_id "
    "GROUP BY s.id ORDER BY 2 DESC LIMIT 1",
    "SELECT home FROM student GROUP BY home HAVING COUNT(*) >= 2",
    "SELECT name FROM student WHERE id NOT IN (SELECT student_id FROM has_pet)",
    "SELECT s.name FROM student s JOIN has_pet h ON s.id = h.student_id JOIN pet p USING (pet_id) WHERE p.kind = 'cat' "
    "INTERSECT SELECT s.name FROM student s JOIN has_pet h ON s.id = h.student_id JOIN pet p USING (pet_id) "
    "WHERE p.kind = 'dog'",
    "SELECT name FROM student s WHERE EXISTS (SELECT 1 FROM has_pet h JOIN pet p ON h.pet_id = p.pet_id "
    "WHERE h.student_id = s.id AND p.weight BETWEEN 3 AND 10)",
    "WITH old AS (SELECT id, name FROM student WHERE age >= 20) SELECT name FROM old WHERE name LIKE '%n%'",
    "SELECT name FROM student WHERE age > (SELECT AVG(age) FROM student) OR home IN ('Oslo', 'Bergen')",
)


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("DATE", ["9999-12-31"] * 4),  # for ever
        ("DATE", ["0000-00-00", "2020-01-01", "9999-12-31"]),
        ("DATETIME", ["2020-01-01 25:61:00", "2020-01-02 10:00:00"]),
        ("BIGINT", [2**63 - 1, -(2**63), 5]),
        ("REAL", [float("inf"), float("-inf"), 1.5]),
    ],
)
def test_values_at_the_end_of_their_kind_cost_no_instance(tmp_path: Path, declared: str, values: list[Cell]) -> None:
    con = sqlite3.connect(tmp_path / "odd.sqlite")
    con.execute(f"CREATE TABLE offer (id INTEGER PRIMARY KEY, name TEXT, until {declared})")
    con.executemany("INSERT INTO offer (name, until) VALUES ('a', ?)", [(value,) for value in values])
    con.commit()
    con.close()
    profile = profile_of(tmp_path)
    schema = instance_schema(profile)
    literal = repr(values[0]) if values[0] != float("inf") else "9e999"
    for sql in (
        f"SELECT name FROM offer WHERE until = {literal} AND id > 1",
        f"SELECT name FROM offer WHERE until < {literal} ORDER BY until DESC LIMIT 1",
        "SELECT strftime('%Y-%m', until), COUNT(*) FROM offer WHERE strftime('%Y-%m', until) = '9999-12' GROUP BY 1",
    ):
        made = list(islice(instances(read(profile, sql), schema, profile, 7), 6))
        assert len(made) == 6
        for number, rows in enumerate(made):
            write_sqlite(schema, rows, tmp_path / f"made-{number}.sqlite")


@pytest.mark.parametrize("sql", QUERIES)
def test_every_instance_obeys_the_schema_and_the_first_ones_answer(
    school: DatabaseProfile, tmp_path: Path, sql: str
) -> None:
    schema = instance_schema(school)
    answered = 0
    for number, rows in enumerate(islice(instances(read(school, sql), schema, school, seed=3), 8)):
        check(schema, rows)
        con = sqlite3.connect(write_sqlite(schema, rows, tmp_path / f"{number}.sqlite"))
        answered += bool(con.execute(sql).fetchall())
        con.close()
    assert answered >= 6


def test_what_a_profile_calls_a_key_no_instance_repeats(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    keys = [(table.name, key) for table in school.tables for key in school.keys(table.name)]
    assert keys
    assert all(schema.by_name[table].is_unique(key) for table, key in keys)


def test_same_seed_same_rows(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    made = [list(islice(instances(read(school, QUERIES[1]), schema, school, seed=seed), 3)) for seed in (5, 5, 6)]
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_null_only_where_the_source_has_it(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    nullable = [(t.name, c.name) for t in schema.tables for c in t.columns if c.nullable]
    assert nullable == [("student", "mentor")]


def test_null_also_where_a_sample_of_the_source_met_none(school: DatabaseProfile) -> None:
    sampled = replace(school, tables=tuple(replace(table, sampled=True) for table in school.tables))
    nullable = {(t.name, c.name) for t in instance_schema(sampled).tables for c in t.columns if c.nullable}
    declared = {(t.name, c.name) for t in school.tables for c in t.columns if c.nullable}
    assert nullable == declared > {("student", "mentor")}


def test_duckdb_accepts_instances(school: DatabaseProfile, tmp_path: Path) -> None:
    profile = replace(school, dialect="duckdb")
    schema = instance_schema(profile)
    for number, rows in enumerate(islice(instances(read(profile, QUERIES[3]), schema, profile, seed=1), 3)):
        assert write_duckdb(schema, rows, tmp_path / f"{number}.duckdb").stat().st_size


@pytest.mark.ci
@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("UBIGINT", ["18446744073709551615", "18446744073709551614", "9223372036854775808"]),
        ("HUGEINT", ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105727", "2"]),
        ("DECIMAL(20,0)", ["99999999999999999999", "98999999999999999999", "99899999999999999999"]),
        ("DECIMAL(38,0)", ["99999999999999999999999999999999999999", "1", "2"]),
        ("BIGNUM", ["9" * 70, "1", "2"]),
        ("DATE", ["'0044-03-15 (BC)'", "'0100-03-15 (BC)'", "'0010-03-15 (BC)'"]),
        ("DATE", ["'12020-01-01'", "'22020-01-01'", "'32020-01-01'"]),
    ],
)
@pytest.mark.parametrize("key", [False, True])
def test_what_only_duckdb_holds_costs_no_instance(tmp_path: Path, declared: str, values: list[str], key: bool) -> None:
    with duckdb.connect(tmp_path / "odd.duckdb") as con:
        con.execute(f"CREATE TABLE offer (id INTEGER, name VARCHAR, odd {declared} {'PRIMARY KEY' if key else ''})")
        for number, value in enumerate(values):
            con.execute(f"INSERT INTO offer VALUES ({number}, 'name {number}', {value})")
    profile = profile_of(tmp_path)
    schema = instance_schema(profile)
    for sql in (
        "SELECT name FROM offer WHERE id > 1",
        "SELECT name, odd FROM offer ORDER BY odd DESC LIMIT 1",
        f"SELECT name FROM offer WHERE odd = {values[0]}",
    ):
        for number, rows in enumerate(islice(instances(read(profile, sql), schema, profile, 7), 6)):
            with duckdb.connect(write_duckdb(schema, rows, tmp_path / f"made-{number}.duckdb")) as con:
                stored = con.execute("SELECT CAST(odd AS VARCHAR) FROM offer ORDER BY odd").fetchall()
            if declared != "DATE":
                assert sorted(int(value) for (value,) in stored) == sorted(int(v) for v in rows["offer"]["odd"])


def test_what_a_query_asks_of_a_wide_column_is_found(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "odd.duckdb") as con:
        con.execute("CREATE TABLE offer (id INTEGER PRIMARY KEY, odd UBIGINT)")
        con.execute("INSERT INTO offer VALUES (1, 18446744073709551615), (2, 18446744073709551000)")
    profile = profile_of(tmp_path)
    schema, sql = instance_schema(profile), "SELECT id FROM offer WHERE odd = 18446744073709551615"
    rows = next(instances(read(profile, sql), schema, profile, 7))
    with duckdb.connect(write_duckdb(schema, rows, tmp_path / "made.duckdb")) as con:
        assert con.execute(sql).fetchall()


def test_a_narrow_column_of_which_no_value_is_known_gets_what_its_type_holds(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "odd.duckdb") as con:
        con.execute("CREATE TABLE offer (id INTEGER PRIMARY KEY, odd DECIMAL(2, 2))")
        con.execute("INSERT INTO offer VALUES (1, 0.25), (2, NULL)")
    profile = profile_of(tmp_path, values=False)
    schema = instance_schema(profile)
    rows = next(instances(read(profile, "SELECT id FROM offer"), schema, profile, 7))
    with duckdb.connect(write_duckdb(schema, rows, tmp_path / "made.duckdb")) as con:
        (given,) = con.execute("SELECT count(DISTINCT odd) FROM offer").fetchall()
    assert given[0] > 1


def test_a_uuid_of_sqlite_may_be_any_text(tmp_path: Path) -> None:
    run_sqlite(
        tmp_path / "any.sqlite",
        "CREATE TABLE person (id UUID PRIMARY KEY, name TEXT)",
        {"person": [(f"p-{n}", f"name {n}") for n in range(9)]},
    )
    profile = profile_of(tmp_path)
    schema = instance_schema(profile)
    rows = random_rows(schema, profile, 1, 40)
    assert len(set(rows["person"]["id"])) == len(rows["person"]["id"]) > 30
    check(schema, rows)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize(
    ("declared", "cell"), [("UUID", "uuid()"), ("UTINYINT", "i"), ("DATE", "DATE '2024-01-01' + i::INTEGER")]
)
def test_a_key_of_any_kind_gives_rows_enough(tmp_path: Path, declared: str, cell: str, values: bool) -> None:
    with duckdb.connect(tmp_path / "keyed.duckdb") as con:
        con.execute(f"CREATE TABLE person (id {declared} PRIMARY KEY, name VARCHAR, age UTINYINT UNIQUE)")
        con.execute(
            f"CREATE TABLE visit (number INTEGER PRIMARY KEY, who {declared} REFERENCES person(id), cost DOUBLE)"
        )
        con.execute(f"INSERT INTO person SELECT {cell}, 'name ' || i % 40, i FROM range(1, 121) r(i)")
        con.execute("INSERT INTO visit SELECT row_number() OVER (), id, age * 1.5 FROM person")
    profile = profile_of(tmp_path, values=values)
    schema = instance_schema(profile)
    for seed in range(3):
        rows = random_rows(schema, profile, seed, {"person": 150, "visit": 150})
        assert len(rows["person"]["id"]) >= 75  # an age has 256 values, of which not each is found
        with duckdb.connect(write_duckdb(schema, rows, tmp_path / f"made-{seed}.duckdb")) as con:
            assert con.execute("SELECT count(*) > 50 FROM visit JOIN person ON who = id").fetchone() == (True,)


@pytest.mark.parametrize("declared", ["DATE", "TEXT", "TIMESTAMP"])
def test_columns_of_dates_hold_nothing_else_so_that_a_year_may_be_asked_for_in_any_way(
    tmp_path: Path, declared: str
) -> None:
    clock = " 10:30:00" if declared == "TIMESTAMP" else ""
    with closing(sqlite3.connect(tmp_path / "staff.sqlite")) as con:
        con.execute(f"CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, hired {declared})")
        days = [f"{2003 + n % 5}-{1 + n % 12:02}-{1 + n % 28:02}{clock}" for n in range(40)]
        con.executemany("INSERT INTO staff (name, hired) VALUES (?, ?)", [(f"n{n}", day) for n, day in enumerate(days)])
        con.commit()
    profile = profile_of(tmp_path)
    schema = instance_schema(profile)
    ways = (
        "STRFTIME('%Y', hired) = '2005'",
        "SUBSTR(hired, 1, 4) = '2005'",
        "hired LIKE '2005%'",
        "hired >= '2005-01-01' AND hired < '2006-01-01'",
        f"hired BETWEEN '2005-01-01' AND '2005-12-31{clock and ' 23:59:59'}'",
    )
    for asked in ways:
        query = read(profile, f"SELECT name FROM staff WHERE {asked}")
        made = list(islice(instances(query, schema, profile, 7), 8))
        assert len(made) == 8
        found = []
        for number, rows in enumerate(made):
            assert all(date.fromisoformat(str(cell)[:10]) for cell in rows["staff"]["hired"] if cell is not None)
            path = write_sqlite(schema, rows, tmp_path / f"{ways.index(asked)}-{number}.db")
            with closing(sqlite3.connect(path)) as con:
                found.append([sorted(con.execute(f"SELECT id FROM staff WHERE {way}")) for way in ways])
        assert all(way == one[0] for one in found for way in one)
        assert any(one[0] for one in found)


@pytest.mark.parametrize(
    ("condition", "once"),
    [
        ("student_id = (SELECT id FROM student WHERE name = 'Ann')", True),
        ("student_id > 1 + (SELECT id FROM student WHERE name = 'Ann')", True),
        ("student_id = (SELECT MAX(id) FROM student WHERE name = 'Ann')", False),
        ("student_id IN (SELECT id FROM student WHERE name = 'Ann')", False),
        ("student_id = (SELECT id FROM student WHERE name = 'Ann' AND age > 3)", False),
    ],
)
def test_a_name_by_which_a_value_is_looked_up_stands_once(school: DatabaseProfile, condition: str, once: bool) -> None:
    query = read(school, f"SELECT pet_id FROM has_pet WHERE {condition}")
    schema = instance_schema(school)
    found = []
    for rows in islice(instances(query, schema, school, seed=1), 12):
        check(schema, rows)
        found.append([name for name in rows["student"]["name"] if name is not None])
    assert all(len(names) == len(set(names)) for names in found) == once
    assert sum("Ann" in names for names in found) >= 6


def test_columns_may_tie_in_an_order_that_ends_with_a_key(school: DatabaseProfile) -> None:
    """Only then a key behind them decides anything."""
    tied = {}
    for order in ("age", "age, id", "age, name"):
        query = read(school, f"SELECT name FROM student ORDER BY {order}")
        tied[order] = any(
            len(set(ages)) < len(ages)
            for rows in islice(instances(query, instance_schema(school), school, seed=2), 8)
            for ages in [[age for age in rows["student"]["age"] if age is not None]]
        )
    assert tied["age, id"]
    assert not tied["age"]


def test_what_another_query_alone_reads_is_mostly_unknown_in_some(school: DatabaseProfile) -> None:
    """Else one that joins along a reference, or asks that it be known, keeps every row that the first one keeps."""
    query = read(school, "SELECT home, COUNT(*) FROM student GROUP BY home ORDER BY 2 DESC LIMIT 1")
    other = read(school, query.tree.sql("sqlite").replace("FROM student", "FROM student WHERE NOT mentor IS NULL"))
    shares = []
    for rows in islice(instances(query, instance_schema(school), school, seed=3, against=other), 12):
        check(instance_schema(school), rows)
        mentors = rows["student"]["mentor"]
        shares.append(mentors.count(None) / max(len(mentors), 1))
    assert sum(share > 0.5 for share in shares) >= 4
    assert sum(share < 0.4 for share in shares) >= 2
