"""What a snapshot of a real PostgreSQL server holds."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from snapshot.server import further, rows

from agro_data.cli import data
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.errors import DatabaseError
from agro_data.databases.trusted.connections import open_database
from agro_data.profiling.profiler import profile_database
from agro_data.snapshot import copying
from agro_data.snapshot.copying import take_snapshot

psycopg = pytest.importorskip("psycopg", reason="needs psycopg (agro-sql[postgres])")


NAMES = (
    *("customer", "staff", "team", "sale", "line", "visit", "place", "city", 'Odd " name'),
    *("late", "odd", "bytes", "shelf", "box"),
    *("stock.item", "stock.part", "stock.visit"),
)


def test_what_is_copied_and_what_is_not(url: str, tmp_path: Path) -> None:
    said: list[str] = []
    made = take_snapshot(url, tmp_path / "shop.duckdb", only=[*NAMES, "broken"], report=said.append)
    copied = {one.name: one.rows for one in made.tables}
    assert copied == {
        "customer": 3, "staff": 3, "team": 1, "sale": 2000, "line": 2000, "visit": 2, "place": 2, "city": 1,
        'Odd " name': 1, "late": 2, "stock.item": 1, "stock.part": 2, "stock.visit": 0, "shelf": 2, "box": 2,
    }  # fmt: skip
    assert len(said) == len(copied)
    assert sorted(one.split(":")[0] for one in made.lost) == ["broken", "bytes", "odd"]
    assert "broken: division by zero" in made.lost
    assert any(one.startswith("odd: part: DuckDB's DECIMAL(3,2) has no place for") for one in made.lost)
    assert {one.split(":")[0] for one in made.notes} >= {"customer.photo", 'Odd " name.A "B', "bytes.raw"}
    assert {path.name for path in tmp_path.iterdir()} == {"shop.duckdb", "shop.semantics.yml"}


@pytest.mark.parametrize("name", ["year=2024/shop", "year=2024", "a [1]*?", "it's"])
def test_the_file_may_be_called_as_anything_is(url: str, tmp_path: Path, name: str) -> None:
    made = take_snapshot(url, tmp_path / f"{name}.duckdb", only=["city"])
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        for called in ("city", "public.city"):  # as the server's queries write it
            assert connection.execute(f"SELECT * FROM {called}") == [(2, 100)]


def test_a_server_that_goes_leaves_nothing(url: str, tmp_path: Path) -> None:
    """Not the tables that were copied before."""

    def end(said: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agro'")

    with pytest.raises(DatabaseError, match="PostgreSQL: "):
        take_snapshot(url, tmp_path / "shop.duckdb", report=end)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["shop", "part", "temp", "system", "memory"])
def test_a_schema_may_have_any_name(url: str, tmp_path: Path, name: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(f'ALTER SCHEMA stock RENAME TO "{name}"; COMMIT')
        try:
            made = take_snapshot(url, tmp_path / f"{name}.duckdb", schemas=[name])
        finally:
            connection.execute(f'ALTER SCHEMA "{name}" RENAME TO stock; COMMIT')
    assert not made.lost
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        assert [table.name for table in connection.objects()] == ["item", "part", "visit"]
        assert connection.execute("SELECT owner FROM item") == [(1,)]


INHERITED = """
CREATE TABLE parent (id int PRIMARY KEY, day date);
CREATE TABLE part_1 () INHERITS (parent);
CREATE TABLE part_2 (LIKE parent);
ALTER TABLE part_2 INHERIT parent;
CREATE TABLE with_more (more text) INHERITS (part_1);
INSERT INTO parent VALUES (1, NULL);
INSERT INTO part_1 VALUES (2, NULL);
INSERT INTO part_2 VALUES (3, NULL);
INSERT INTO with_more VALUES (3, NULL, 'x');
"""


def test_a_table_has_the_rows_of_those_that_inherit_from_it(url: str, tmp_path: Path) -> None:
    """As the server gives them; what has no columns of its own is a part of it."""
    with further(url, INHERITED):
        made = take_snapshot(url, tmp_path / "all.duckdb", schemas=["further"])
        named = take_snapshot(url, tmp_path / "one.duckdb", only=["part_1"])
    assert {one.name.split(".")[1]: one.rows for one in made.tables} == {"parent": 4, "with_more": 1}
    assert "left out, as the tables that they inherit from give their rows: further.part_1, further.part_2" in (
        made.notes
    )
    assert any(one.startswith("further.parent: its keys are not declared") for one in made.notes)  # 3 is there twice
    assert [one.rows for one in named.tables] == [2]


def test_what_is_said_repeats_no_value(url: str, tmp_path: Path) -> None:
    secret = """CREATE TABLE parent (mail text PRIMARY KEY); CREATE TABLE child (mail text REFERENCES parent);
                INSERT INTO parent VALUES ('ann@x'); INSERT INTO child VALUES ('ann@x');
                ALTER TABLE parent ENABLE ROW LEVEL SECURITY; CREATE POLICY none ON parent USING (false);
                CREATE TABLE odd (part numeric(3, 2), said text);
                INSERT INTO odd VALUES ('NaN', E'\\nError when converting column "c9". ann@x');
                CREATE TABLE fine (id int); INSERT INTO fine VALUES (1);
                CREATE VIEW bad AS SELECT mail::int FROM child"""
    with further(url, secret):
        made = take_snapshot(
            url.replace("user=postgres", "user=reader"), tmp_path / "shop.duckdb", schemas=["further"], views=True
        )
    assert "ann@x" not in "".join(made.lost + made.notes)
    assert "further.bad: invalid input syntax for type integer: (a value)" in made.lost


def test_a_row_that_is_too_long_is_said(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_CSV", copying._CSV.replace(str(copying.LONGEST_ROW), str(2**21)))
    with further(url, f"CREATE TABLE long AS SELECT repeat('x', {2**22}) AS said; CREATE TABLE fine AS SELECT 1 AS id"):
        made = take_snapshot(url, tmp_path / "shop.duckdb", schemas=["further"])
    assert made.lost == ["further.long: a row is longer than 64 MiB, the most that is copied"]


def test_a_corpus_can_be_made_of_it(url: str, tmp_path: Path) -> None:
    take_snapshot(url, tmp_path / "shop.duckdb", schemas=["public"])
    [database] = find_databases(tmp_path / "shop.duckdb").databases
    profile = profile_database(database)
    keys = {(key.table, key.ref_table) for key in profile.foreign_keys}
    assert {("sale", "customer"), ("line", "sale"), ("staff", "staff")} <= keys
    numbers, tokens = profile.problems
    assert "NaN" in numbers
    assert "'token': passwords" in tokens


def test_views_are_copied_where_they_are_asked_for(url: str, tmp_path: Path) -> None:
    made = take_snapshot(url, tmp_path / "all.duckdb", views=True, schemas=["public"])
    assert rows(made.path, "SELECT * FROM best") == [("Ana",)]
    made = take_snapshot(url, tmp_path / "one.duckdb", only=["best"])
    assert [one.name for one in made.tables] == ["best"]


FOREIGN = """
CREATE FOREIGN DATA WRAPPER dummy;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER dummy;
CREATE FOREIGN TABLE away (id int) SERVER elsewhere;
CREATE VIEW seen AS SELECT 1 AS id;
CREATE TABLE fine AS SELECT 1 AS id;
CREATE TABLE "FINE" AS SELECT 1 AS id;
"""


def test_foreign_tables_are_asked_by_name_alone(url: str, tmp_path: Path) -> None:
    said: list[str] = []
    with further(url, FOREIGN):
        made = take_snapshot(url, tmp_path / "a.duckdb", schemas=["further"], report=said.append)
        viewed = take_snapshot(url, tmp_path / "b.duckdb", schemas=["further"], views=True)
        with pytest.raises(DatabaseError, match=r"away: foreign-data wrapper .* has no handler"):
            take_snapshot(url, tmp_path / "c.duckdb", only=["away"])
        with psycopg.connect(url) as connection:
            connection.execute("DROP FOREIGN DATA WRAPPER dummy CASCADE")
    foreign = "foreign tables left out: further.away; --only copies what they give, as tables"
    other = "further.fine: kept as further_fine, as another table has its name"
    assert made.notes == [other, "views left out: 1; --views copies what they give, as tables", foreign]
    assert said[0] == "further.FINE: 1 rows (1 of 2 tables)"
    assert [one.name for one in viewed.tables] == ["further.FINE", "further.fine", "further.seen"]
    assert (viewed.notes, viewed.lost) == ([other, foreign], [])


def test_tables_of_one_name_are_all_kept(url: str, tmp_path: Path) -> None:
    """The file knows tables by their name alone; keys and comments follow to the name that one has there."""
    alike = """CREATE TABLE visit (id int PRIMARY KEY, day date); INSERT INTO visit VALUES (1, '2024-05-01');
        CREATE TABLE further_item (id int); CREATE TABLE "Item" (id int PRIMARY KEY, price int);
        CREATE TABLE item (id int PRIMARY KEY, "of" int REFERENCES "Item", visit int REFERENCES visit);
        INSERT INTO "Item" VALUES (7, 70); INSERT INTO item VALUES (1, 7, 1); COMMENT ON TABLE item IS 'Bought things';
        CREATE TABLE public.bought (item int REFERENCES further.item); INSERT INTO public.bought VALUES (1)"""
    with further(url, alike):
        made = take_snapshot(url, tmp_path / "alike.duckdb", schemas=["public", "further"])
        with psycopg.connect(url) as connection:
            connection.execute("DROP TABLE public.bought")
    assert [one for one in made.notes if "kept as" in one and "name" in one] == [
        "further.item: kept as further_item_2, as another table has its name",
        "further.visit: kept as further_visit, as another table has its name",
    ]
    joined = "SELECT day, price FROM further.further_item_2 i JOIN further.further_visit v ON v.id = i.visit "
    assert rows(made.path, joined + 'JOIN further."Item" o ON o.id = i."of"') == [(date(2024, 5, 1), 70)]
    assert made.semantics is not None
    said = yaml.safe_load(made.semantics.read_text(encoding="utf-8"))
    assert said["tables"]["further_item_2"] == {"description": "Bought things"}
    assert {"from": "bought.item", "to": "further_item_2.id"} in said["joins"]


def test_what_a_pipeline_makes_for_people_keeps_its_name(url: str, tmp_path: Path) -> None:
    layers = ("bronze", "gold", "silver")
    with psycopg.connect(url) as connection:
        for layer in layers:
            connection.execute(f"CREATE SCHEMA {layer}; CREATE TABLE {layer}.delivery AS SELECT '{layer}' AS layer")
        connection.commit()
        try:
            made = take_snapshot(url, tmp_path / "layers.duckdb", schemas=layers)
        finally:
            connection.execute("DROP SCHEMA bronze, gold, silver CASCADE")
    names = {"bronze": "bronze_delivery", "gold": "delivery", "silver": "silver_delivery"}
    for layer, name in names.items():
        assert rows(made.path, f"SELECT layer FROM {layer}.{name}") == [(layer,)]


def test_a_file_that_cannot_be_written_is_said(url: str, tmp_path: Path) -> None:
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2**15, 2**15)); "
        "from agro_data.cli import data; data()"
    )
    target = tmp_path / "shop.duckdb"
    command = [sys.executable, "-c", limited, "snapshot", url, "--out", str(target), "--only", "sale"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert f"{target}: cannot be written, and nothing of it is kept: File too large" in done.stderr
    assert not [*tmp_path.iterdir()]


def test_a_role_gets_what_it_may_read_and_changes_nothing(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "CREATE ROLE reader LOGIN; GRANT SELECT ON customer TO reader;GRANT SELECT (id) ON staff TO reader"
        )
        connection.commit()
        try:
            made = take_snapshot(url.replace("user=postgres", "user=reader"), tmp_path / "few.duckdb")
        finally:
            connection.execute("DROP OWNED BY reader; DROP ROLE reader")
    assert [(one.name, one.columns) for one in made.tables] == [("customer", 17), ("staff", 1)]
    assert "staff.boss: the role may not read it, left out" in made.notes
    assert any(one.startswith("the role may not read ") and one.endswith(" more") for one in made.notes)
    assert made.lost == []


def test_one_moment(url: str, tmp_path: Path) -> None:
    """What is written while the tables are copied is not in any of them."""

    def write(said: str) -> None:
        if "customer" in said:
            with psycopg.connect(url) as connection:
                connection.execute("INSERT INTO place VALUES (99)")

    made = take_snapshot(url, tmp_path / "shop.duckdb", only=["customer", "place"], report=write)
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM place WHERE id = 99")
    assert rows(made.path, "SELECT * FROM place ORDER BY id") == [(1,), (2,)]


def test_a_snapshot_is_whole_or_absent(url: str, tmp_path: Path) -> None:
    target = tmp_path / "shop.duckdb"
    with pytest.raises(DatabaseError, match=r"nothing could be copied.*bytes"):
        take_snapshot(url, target, only=["bytes"])
    assert not [*tmp_path.iterdir()]
    take_snapshot(url, target, only=["place"])
    with pytest.raises(DatabaseError, match="--replace"):
        take_snapshot(url, target, only=["city"])
    with pytest.raises(DatabaseError, match="nothing could be copied"):
        take_snapshot(url, target, only=["bytes"], replace=True)
    assert rows(target, "SELECT * FROM place ORDER BY id") == [(1,), (2,)]
    assert rows(take_snapshot(url, target, only=["city"], replace=True).path, "SELECT people FROM city") == [(100,)]


def test_a_persons_words_stay(url: str, tmp_path: Path) -> None:
    (tmp_path / "shop.semantics.yml").write_text("domain: retail\n")
    made = take_snapshot(url, tmp_path / "shop.duckdb", only=["customer"])
    assert any("left as it is" in one for one in made.notes)
    assert (tmp_path / "shop.semantics.yml").read_text() == "domain: retail\n"


def test_what_a_snapshot_has_written_beside_it_follows_the_server(url: str, tmp_path: Path) -> None:
    target, beside = tmp_path / "shop.duckdb", tmp_path / "shop.semantics.yml"
    take_snapshot(url, target, only=["customer", "staff"])
    assert {"customer", "staff.boss"} <= {*re.findall(r"\w+\.?\w*", beside.read_text())}
    made = take_snapshot(url, target, only=["staff"], replace=True)
    assert (made.semantics, made.notes) == (beside, [])
    assert "customer" not in beside.read_text()
    made = take_snapshot(url, target, only=["place"], replace=True)
    assert (made.semantics, beside.exists()) == (None, False)
    take_snapshot(url, target, only=["staff"], replace=True)
    beside.write_text(changed := beside.read_text().replace("staff.boss", "staff.leads"))
    for only in ("staff", "place"):
        made = take_snapshot(url, target, only=[only], replace=True)
        assert any("left as it is" in one for one in made.notes)
        assert beside.read_text() == changed


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"only": ["nothing"]}, "no table nothing"),
        ({"schemas": ["nowhere"]}, "no schema nowhere"),
    ],
)
def test_what_is_not_there_is_said(url: str, tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(DatabaseError, match=said):
        take_snapshot(url, tmp_path / "shop.duckdb", **asked)


def test_the_verb(url: str, tmp_path: Path) -> None:
    target = tmp_path / "shop.duckdb"
    done = CliRunner().invoke(data, ["snapshot", url, "--out", str(target), "--only", "customer", "--only", "sale"])
    assert done.exit_code == 0, done.output
    assert "2,000" in done.output
    lost = CliRunner().invoke(data, ["snapshot", url, "--out", str(target), "--replace", "--json"])
    assert lost.exit_code == 1


def test_names_of_a_server_do_not_steer_the_terminal(url: str, tmp_path: Path) -> None:
    with further(url, 'CREATE TABLE "\x1b]0;pwned\x07" AS SELECT 1 AS id'):
        done = CliRunner().invoke(data, ["snapshot", url, "--out", str(tmp_path / "a.duckdb"), "--schema", "further"])
    assert done.exit_code == 0, done.output
    assert r"further.\x1b]0;pwned\x07: 1 rows" in done.output
    assert "\x1b" not in done.output


def test_of_two_schemas_the_table_that_others_refer_to_keeps_its_name(url: str, tmp_path: Path) -> None:
    places = """CREATE TABLE town (id int PRIMARY KEY, name text);
        CREATE SCHEMA earlier; CREATE TABLE earlier.town (id int PRIMARY KEY REFERENCES further.town);
        CREATE TABLE shop (id int PRIMARY KEY, town int REFERENCES further.town)"""
    with further(url, places):
        made = take_snapshot(url, tmp_path / "towns.duckdb", schemas=["earlier", "further"])
        with psycopg.connect(url) as connection:
            connection.execute("DROP SCHEMA earlier CASCADE")
    assert made.notes == ["earlier.town: kept as earlier_town, as another table has its name"]


def test_arrays_of_an_enum_are_lists(url: str, tmp_path: Path) -> None:
    offers = """CREATE DOMAIN felt AS mood[];
        CREATE TABLE offer (id int PRIMARY KEY, moods mood[], felt felt, one mood);
        INSERT INTO offer VALUES (1, '{sad,glad}', '{glad}', 'sad'), (2, '{}', NULL, 'glad')"""
    with further(url, offers):
        made = take_snapshot(url, tmp_path / "offers.duckdb", schemas=["further"])
    assert made.notes == []
    assert rows(made.path, "SELECT moods, felt, one FROM further.offer ORDER BY id") == [
        (["sad", "glad"], ["glad"], "sad"),
        ([], None, "glad"),
    ]
