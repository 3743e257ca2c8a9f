"""Keys in a snapshot: declared, beside the file, or noted."""

from __future__ import annotations

from pathlib import Path

import yaml
from snapshot.server import further

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.trusted.connections import open_database
from agro_data.profiling.profiler import profile_database
from agro_data.snapshot.copying import take_snapshot


def test_keys_come_along_declared_or_beside_the_file(url: str, tmp_path: Path) -> None:
    made = take_snapshot(url, tmp_path / "shop.duckdb")
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        tables = {table.name: table for table in connection.objects()}
        assert not connection.problems
    assert tables["line"].primary_key == ("year", "number", "place")
    [key] = tables["line"].foreign_keys
    assert (key.columns, key.ref_table, key.ref_columns) == (("year", "number"), "sale", ("year", "number"))
    assert {key.ref_table for key in tables["sale"].foreign_keys} == {"customer"}
    assert len(tables["sale"].foreign_keys) == 2
    assert ("mail",) in tables["customer"].unique_keys
    assert [key.ref_table for key in tables["part"].foreign_keys] == ["item"]
    keys = {(key.columns, key.ref_table) for key in tables["box"].foreign_keys}
    assert keys == {(("shelf",), "shelf"), (("customer",), "customer")}  # though of other types than these
    semantics = yaml.safe_load((tmp_path / "shop.semantics.yml").read_text(encoding="utf-8"))
    joins = {(join["from"], join["to"]) for join in semantics["joins"]}
    circle = {("staff.leads", "team.id"), ("team.head", "staff.id")}
    assert joins - circle == {("staff.boss", "staff.id"), ("item.owner", "customer.id")}
    assert len(joins & circle) == 1  # the other is declared
    assert semantics["tables"] == {
        "customer": {
            "description": "Who has bought something.",
            "columns": {"code": {"description": "The branch's code"}},
        }
    }


COMPOSITE = """
CREATE TABLE node (a int, b int, PRIMARY KEY (a, b), pa int, pb int, FOREIGN KEY (pb, pa) REFERENCES node (b, a));
INSERT INTO node VALUES (1, 2, NULL, NULL), (1, 3, 1, 2);
CREATE TABLE turned (x int, y int, FOREIGN KEY (y, x) REFERENCES node (b, a));
INSERT INTO turned VALUES (1, 2);
"""


def test_keys_of_several_columns_in_any_order(url: str, tmp_path: Path) -> None:
    with further(url, COMPOSITE):
        made = take_snapshot(url, tmp_path / "shop.duckdb", schemas=["further"])
    assert (made.lost, made.notes) == ([], [])
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        [key] = next(table for table in connection.objects() if table.name == "turned").foreign_keys
    assert (key.columns, key.ref_columns) == (("x", "y"), ("a", "b"))
    semantics = yaml.safe_load((tmp_path / "shop.semantics.yml").read_text(encoding="utf-8"))
    assert semantics["joins"] == [{"from": ["node.pa", "node.pb"], "to": ["node.a", "node.b"]}]
    keys = {(key.table, key.columns, key.ref_columns) for key in profile_database(database).foreign_keys}
    assert keys == {("node", ("pa", "pb"), ("a", "b")), ("turned", ("x", "y"), ("a", "b"))}


REFUSED = """
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent);
INSERT INTO parent VALUES (1), (2);
INSERT INTO child VALUES (1, 1), (2, 2);
ALTER TABLE parent ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON parent USING (id = 1);
CREATE TABLE wide (id numeric PRIMARY KEY);
INSERT INTO wide VALUES (1e40), (1e40 + 1);
"""


def test_a_key_that_duckdb_does_not_take_costs_the_key_alone(url: str, tmp_path: Path) -> None:
    with further(url, REFUSED):
        made = take_snapshot(url.replace("user=postgres", "user=reader"), tmp_path / "shop.duckdb", schemas=["further"])
    assert {one.name.split(".")[1]: one.rows for one in made.tables} == {"parent": 1, "child": 2, "wide": 2}
    assert not made.lost
    assert any(one.startswith("further.parent: row level security") for one in made.notes)
    assert any(one.startswith("further.child: its foreign keys are not declared but joins") for one in made.notes)
    assert any(one.startswith("further.wide: its keys are not declared") for one in made.notes)
    [database] = find_databases(made.path).databases
    with open_database(database) as connection:
        keys = {table.name: table.primary_key for table in connection.objects()}
    assert keys == {"parent": ("id",), "child": ("id",), "wide": ()}
    semantics = yaml.safe_load((tmp_path / "shop.semantics.yml").read_text(encoding="utf-8"))
    assert semantics["joins"] == [{"from": "child.parent", "to": "parent.id"}]


def test_a_key_to_a_table_that_is_lost_is_noted(url: str, tmp_path: Path) -> None:
    lost = """CREATE TABLE odd (id int PRIMARY KEY, part numeric(3, 2)); INSERT INTO odd VALUES (1, 'NaN');
              CREATE TABLE child (odd int REFERENCES odd); INSERT INTO child VALUES (1)"""
    with further(url, lost):
        made = take_snapshot(url, tmp_path / "shop.duckdb", schemas=["further"])
    assert made.notes == ["further.child: its key (odd) is left out with further.odd"]
