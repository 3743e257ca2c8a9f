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
from sqlglot import parse_one

from agro_data.databases.catalog import find_databases
from agro_data.databases.types import Cell
from agro_data.populate.instances import compose, focus_of, instance_schema, instances, random_rows, witnesses
from agro_data.populate.instances.proposal import PartialRow, Proposal
from agro_data.populate.instances.values import above, holds, later_that_day
from agro_data.populate.instances.views import Stretch, view_of
from agro_data.populate.schema import ColumnSpec, Rows, Schema
from agro_data.populate.writer import write_duckdb, write_sqlite
from agro_data.profiling.profile import DatabaseProfile, Kind
from agro_data.profiling.profiler import profile_database
from agro_data.sql.parse import parse_select
from agro_data.sql.scope import Resolution, resolve

SCHOOL = """
CREATE TABLE student (id INTEGER PRIMARY KEY, name TEXT, age INT, home TEXT, mentor INT REFERENCES student (id));
CREATE TABLE pet (pet_id INTEGER PRIMARY KEY, kind TEXT, weight REAL);
CREATE TABLE has_pet (student_id INT REFERENCES student (id), pet_id INT REFERENCES pet (pet_id),
  PRIMARY KEY (student_id, pet_id));
INSERT INTO student VALUES (1, 'Ann', 20, 'Rome', NULL), (2, 'Bob', 21, 'Oslo', 1), (3, 'Cid', 19, 'Rome', 1);
INSERT INTO pet VALUES (1, 'cat', 3.5), (2, 'dog', 9.25), (3, 'dog', 12.0);
INSERT INTO has_pet VALUES (1, 1), (1, 2), (2, 3);
"""
QUERIES = (
    "SELECT name FROM student WHERE age > 19 AND home = 'Rome'",
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


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("school")
    con = sqlite3.connect(folder / "school.sqlite")
    con.executescript(SCHOOL)
    con.close()
    return profile_database(find_databases(folder).databases[0])


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
    profile = profile_database(find_databases(tmp_path).databases[0])
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


def read(profile: DatabaseProfile, sql: str) -> Resolution:
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    assert not found.problems
    return found


def check(schema: Schema, rows: Rows) -> None:
    """Keys unique, foreign keys whole, NULL only where allowed."""
    for table in schema.tables:
        columns = rows[table.name]
        assert list(columns) == [column.name for column in table.columns]
        for column in table.columns:
            assert column.nullable or None not in columns[column.name], f"{table.name}.{column.name}"
        for key in table.keys:
            values = [v for v in zip(*(columns[c] for c in key), strict=True) if None not in v]
            assert len(values) == len(set(values)), f"{table.name} {key}"
    for foreign in schema.foreign_keys:
        parents = set(zip(*(rows[foreign.ref_table][c] for c in foreign.ref_columns), strict=True))
        children = zip(*(rows[foreign.table][c] for c in foreign.columns), strict=True)
        assert all(value in parents for value in children if None not in value), foreign


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


def test_random_rows_obey_the_schema(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    rows = random_rows(schema, school, 1, 12, focus_of(read(school, QUERIES[0]), schema))
    check(schema, rows)
    assert len(rows["student"]["id"]) == 12
    assert 19 in rows["student"]["age"] or 20 in rows["student"]["age"]


def test_a_reference_of_base_rows_that_points_nowhere_is_drawn_again(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    base: Rows = {
        "student": {"id": [7], "name": ["Eve"], "age": [30], "home": ["Bonn"], "mentor": [99]},
        "has_pet": {"student_id": [7, 8], "pet_id": [50, 51]},
    }
    check(schema, compose(schema, school, base, [], seed=1))


def test_a_proposed_null_is_drawn_where_there_is_none(school: DatabaseProfile) -> None:
    """As where a set operation wants the row of a table with NULL in a table without."""
    schema = instance_schema(school)
    wanted = Proposal("set", "", (PartialRow("student", {"id": 7, "home": None, "mentor": None}),))
    made = compose(schema, school, {}, [wanted], seed=1)
    check(schema, made)
    assert made["student"]["id"] == [7]
    assert made["student"]["mentor"] == [None]


def test_against_adds_rows_for_the_other_query(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    gold, other = read(school, QUERIES[0]), read(school, "SELECT name FROM student WHERE home = 'Lima'")
    alone = witnesses(gold, schema, school, 1)
    both = witnesses(gold, schema, school, 1, against=other)
    assert both[: len(alone)] == alone
    assert any(row.cells.get("home") == "Lima" for proposal in both for row in proposal.rows)


def test_the_group_that_is_kept_may_be_that_of_null(school: DatabaseProfile) -> None:
    """Else `COUNT(mentor)` and `WHERE NOT mentor IS NULL` would give what the query gives."""
    schema = instance_schema(school)  # mentor is NULL somewhere, home is not
    for column, held in (("mentor", True), ("home", False)):
        query = read(school, f"SELECT {column}, COUNT(*) FROM student GROUP BY {column} ORDER BY COUNT(*) DESC LIMIT 1")
        largest = [
            max((p.rows for p in witnesses(query, schema, school, seed) if p.kind == "group"), key=len)
            for seed in range(20)
        ]
        unknown = [all(row.cells.get(column, 0) is None for row in rows) for rows in largest]
        assert any(unknown) == held
        assert not all(unknown)


def test_what_misses_a_bound_is_often_the_bound_and_lies_alone_beyond_an_end(school: DatabaseProfile) -> None:
    schema = instance_schema(school)
    gold, other = (read(school, f"SELECT MAX(weight) FROM pet WHERE weight {sign} 4") for sign in (">", ">="))
    at_bound = alone = 0
    for seed in range(40):
        made = witnesses(gold, schema, school, seed, against=other)
        misses = [p for p in made if p.kind == "miss" and p.why == "differs in weight > 4"]
        at_bound += any(row.cells.get("weight") == 4 for p in misses for row in p.rows)
        alone += sum(p.kind == "extreme" for p in made) <= 1
    assert at_bound >= 15
    assert alone >= 10


def test_duckdb_accepts_instances(school: DatabaseProfile, tmp_path: Path) -> None:
    profile = replace(school, dialect="duckdb")
    schema = instance_schema(profile)
    for number, rows in enumerate(islice(instances(read(profile, QUERIES[3]), schema, profile, seed=1), 3)):
        assert write_duckdb(schema, rows, tmp_path / f"{number}.duckdb").stat().st_size


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
    profile = profile_database(find_databases(tmp_path).databases[0])
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
    profile = profile_database(find_databases(tmp_path).databases[0])
    schema, sql = instance_schema(profile), "SELECT id FROM offer WHERE odd = 18446744073709551615"
    rows = next(instances(read(profile, sql), schema, profile, 7))
    with duckdb.connect(write_duckdb(schema, rows, tmp_path / "made.duckdb")) as con:
        assert con.execute(sql).fetchall()


def test_a_column_that_no_invented_value_fits_is_empty_where_it_may_be(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "odd.duckdb") as con:
        con.execute("CREATE TABLE offer (id INTEGER PRIMARY KEY, odd DECIMAL(2, 2))")
        con.execute("INSERT INTO offer VALUES (1, 0.25), (2, NULL)")
    profile = profile_database(find_databases(tmp_path).databases[0], values=False)
    schema = instance_schema(profile)
    rows = next(instances(read(profile, "SELECT id FROM offer"), schema, profile, 7))
    with duckdb.connect(write_duckdb(schema, rows, tmp_path / "made.duckdb")) as con:
        assert con.execute("SELECT DISTINCT odd FROM offer").fetchall() == [(None,)]


def test_a_uuid_of_sqlite_may_be_any_text(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "any.sqlite")) as con:
        con.execute("CREATE TABLE person (id UUID PRIMARY KEY, name TEXT)")
        con.executemany("INSERT INTO person VALUES (?, ?)", [(f"p-{n}", f"name {n}") for n in range(9)])
        con.commit()
    profile = profile_database(find_databases(tmp_path).databases[0])
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
    profile = profile_database(find_databases(tmp_path).databases[0], values=values)
    schema = instance_schema(profile)
    for seed in range(3):
        rows = random_rows(schema, profile, seed, {"person": 150, "visit": 150})
        assert len(rows["person"]["id"]) >= 75  # an age has 256 values, of which not each is found
        with duckdb.connect(write_duckdb(schema, rows, tmp_path / f"made-{seed}.duckdb")) as con:
            assert con.execute("SELECT count(*) > 50 FROM visit JOIN person ON who = id").fetchone() == (True,)


@pytest.mark.parametrize(
    ("declared", "kind", "value", "held"),
    [
        ("DATE", "date", "2019", False),
        ("DATE", "date", "2019-02-28", True),
        ("DATE", "date", "2019-02-30", False),
        ("TIMESTAMP", "datetime", "2019-02-28 10:00:00", True),
        ("DECIMAL(6,4)", "real", 120.0, False),
        ("DECIMAL(6,4)", "real", 12.5, True),
        ("TINYINT", "integer", 300, False),
        ("UBIGINT", "integer", -2, False),
        ("UTINYINT", "integer", 7, True),
        ("UBIGINT", "integer", 2**64 - 1, True),
        ("UBIGINT", "integer", 2**64, False),
        ("BIGINT", "integer", 2**63, False),
        ("DECIMAL(20,0)", "real", 10**20 - 1, True),
        ("DECIMAL(20,0)", "real", 10**20, False),
        ("BOOLEAN", "boolean", 2, False),
        ("INTEGER", "integer", "birch", False),
        ("VARCHAR", "text", "birch", True),
        ("UUID", "text", "birch", False),
        ("DATE", "date", None, True),
    ],
)
def test_what_a_column_of_duckdb_holds(declared: str, kind: Kind, value: Cell, held: bool) -> None:
    assert holds(value, ColumnSpec("c", declared, kind, typed=True)) == held


@pytest.mark.parametrize(
    "text", ["SUBSTR(x, '1', 4)", "SUBSTR(x, 1.5, 2)", "SUBSTR(x, -2, 2)", "SUBSTR(x, 3, -1)", "SUBSTR(x, 2)"]
)
def test_a_stretch_without_plain_bounds_is_no_view(text: str) -> None:
    assert view_of(parse_one(text, read="sqlite"))[1] is None


def test_a_letter_that_is_a_digit_and_no_number_shows_none() -> None:
    assert Stretch(1, 1, number=True).of("²5") is None
    assert Stretch(1, 2, number=True).of("25") == 25


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
    profile = profile_database(find_databases(tmp_path).databases[0])
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
    ("declared", "value", "near"),
    [
        ("REAL", 5, [5.01]),
        ("REAL", 62.5, [62.501]),
        ("REAL", 1e-07, []),
        ("REAL", 1e-05, [0.000011]),
        ("DECIMAL(10,2)", 5, [5.01]),
        ("DECIMAL(10,1)", 5, [5.1]),
        ("DECIMAL(10,2)", 62.55, []),
        ("DECIMAL(10)", 5, []),
    ],
)
def test_next_to_a_number_stands_what_the_type_holds(declared: str, value: float, near: list[Cell]) -> None:
    assert above(value, ColumnSpec("c", declared, "real"))[3:] == near


def test_a_day_is_told_from_a_moment_of_it_where_a_column_tells_the_time() -> None:
    assert later_that_day("2015-06-01", ["2014-01-02 10:30:00"]) == ["2015-06-01 00:10:00"]
    assert later_that_day("2015-06-01", ["2014-01-02T10:30"]) == ["2015-06-01T00:10:00"]
    for others in (["2014-01-02 00:00:00"], ["2014-01-02"], []):
        assert later_that_day("2015-06-01", others) == []


def test_a_row_that_takes_over_the_key_of_a_third_takes_that_in_too(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "team.sqlite")) as con:
        con.executescript("CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT UNIQUE, goals INT);")
        con.executemany("INSERT INTO player VALUES (?, ?, ?)", [(n, f"n{n}", n) for n in range(9)])
        con.commit()
    profile = profile_database(find_databases(tmp_path).databases[0])
    schema = instance_schema(profile)
    cells: list[dict[str, Cell]] = [{"name": "Ann"}, {"id": 71, "goals": 3}, {"id": 71, "name": "Ann"}]
    wanted = Proposal("witness", "", tuple(PartialRow("player", {**row}) for row in cells))
    rows = compose(schema, profile, {}, [wanted], seed=1)
    check(schema, rows)
    assert (71, "Ann", 3) in zip(*rows["player"].values(), strict=True)


GROUNDS = """
CREATE TABLE ground (ground_id INTEGER PRIMARY KEY, built INT);
CREATE TABLE team (team_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  ground_id INT NOT NULL UNIQUE REFERENCES ground (ground_id));
CREATE TABLE game (game_id INTEGER PRIMARY KEY, home INT NOT NULL REFERENCES team (team_id), goals INT);
INSERT INTO ground VALUES (1, 1901), (2, 1923), (3, 1950);
INSERT INTO team VALUES (1, 'Reds', 1), (2, 'Blues', 2);
INSERT INTO game VALUES (1, 1, 3), (2, 2, 0), (3, 1, 1);
"""


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    folder = tmp_path_factory.mktemp("grounds")
    with closing(sqlite3.connect(folder / "grounds.sqlite")) as con:
        con.executescript(GROUNDS)
    return profile_database(find_databases(folder).databases[0])


def test_what_referred_to_a_row_that_became_another_refers_to_that(grounds: DatabaseProfile) -> None:
    """Else the games of a team that two queries name would be another team's for one of them."""
    schema = instance_schema(grounds)
    readings = [
        Proposal(
            "witness",
            "",
            (
                PartialRow("team", {"team_id": number, "name": "Reds"}),
                PartialRow("game", {"game_id": number, "home": number}),
            ),
        )
        for number in (41, 52, 63)
    ]
    rows = compose(schema, grounds, {}, readings, seed=1)
    check(schema, rows)
    assert rows["team"]["name"] == ["Reds"]
    assert rows["game"]["home"] == rows["team"]["team_id"] * 3


def test_a_row_whose_parent_may_have_no_other_takes_none_that_has_no_child(grounds: DatabaseProfile) -> None:
    """Else every ground that a query is about would have its team, as long as there are teams enough."""
    schema = instance_schema(grounds)
    empty = [PartialRow("ground", {"built": 1800 + number}) for number in range(5)]
    teams = [PartialRow("game", {"goals": 7, "home": 100 + number}) for number in range(20)]
    rows = compose(schema, grounds, {}, [Proposal("noise", "", (*empty, *teams))], seed=1)
    check(schema, rows)
    assert len(rows["team"]["team_id"]) == 20
    built = dict(zip(rows["ground"]["ground_id"], rows["ground"]["built"], strict=True))
    assert not {built[ground] for ground in rows["team"]["ground_id"]} & {1800 + number for number in range(5)}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM student WHERE mentor > 0 GROUP BY name ORDER BY COUNT(mentor) DESC LIMIT 1",
        "SELECT a.name, COUNT(b.mentor) FROM student AS a JOIN student AS b ON a.id = b.mentor GROUP BY a.name",
        "SELECT mentor, COUNT(mentor) FROM student GROUP BY mentor",
    ],
)
def test_a_counted_column_that_is_asked_about_is_null_in_no_further_row(school: DatabaseProfile, query: str) -> None:
    """Else no value would meet what is asked, or all groups would be that of NULL."""
    schema, gold = instance_schema(school), read(school, query)
    for seed in range(4):
        made = [p.rows for p in witnesses(gold, schema, school, seed) if p.kind == "group"]
        unknown = [rows for rows in made if any(row.cells.get("mentor", 0) is None for row in rows)]
        assert len(made) > 2
        assert len(unknown) <= 1


def test_groups_are_ranked_otherwise_by_what_holds_null(school: DatabaseProfile) -> None:
    """A query that counts a column leaves rows out that one counting all rows counts."""
    schema = instance_schema(school)
    query = "SELECT home FROM student GROUP BY home ORDER BY COUNT({}) DESC LIMIT 1"
    gold, other = read(school, query.format("*")), read(school, query.format("mentor"))
    apart = 0
    for seed in range(10):
        groups = [p.rows for p in witnesses(gold, schema, school, seed, against=other) if p.kind == "group"]
        first = max(groups, key=len)
        apart += sum(row.cells.get("mentor", 0) is None for row in first) > 1
    assert apart > 1


def test_a_type_with_few_values_and_rows_already_there_cost_no_instance_its_parents(
    grounds: DatabaseProfile, tmp_path: Path
) -> None:
    with closing(duckdb.connect(tmp_path / "small.duckdb")) as con:
        con.execute(GROUNDS.replace("ground_id INT", "ground_id TINYINT").replace("TINYINTEGER", "TINYINT"))
    small = profile_database(find_databases(tmp_path).databases[0])
    teams = Proposal("noise", "", tuple(PartialRow("team", {}) for _ in range(200)))
    rows = compose(instance_schema(small), small, {}, [teams], seed=1)
    check(instance_schema(small), rows)
    assert len(rows["team"]["team_id"]) > 100
    schema = instance_schema(grounds)
    base = random_rows(schema, grounds, 1, 12)
    check(schema, compose(schema, grounds, base, [teams], seed=1))
