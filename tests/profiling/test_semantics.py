"""`semantics.yml`, its draft, and what Spider, BIRD and dbt files add."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from agro_data.databases.types import Database
from agro_data.intent.tree import Shape
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.hidden.concealing import asked_about
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.side_files.semantics import SHAPES, draft_semantics

SCRIPT = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, cust INTEGER, status TEXT, whisper TEXT, margin REAL);
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, orders_seen INTEGER);
CREATE TABLE audit (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id), line TEXT);
INSERT INTO orders VALUES (1, 7, 'P', 'hush', 2.5), (2, 7, 'S', 'hush', 1.5), (3, 8, 'P', 'quiet', 0.5);
INSERT INTO customers VALUES (7, 'Ann', 1), (8, 'Bo', 2);
INSERT INTO audit VALUES (1, 1, 'beheld');
"""
SEMANTICS = """
domain: retail
tables:
  Orders:
    name: purchase
    synonyms: [order]
    columns:
      status: {name: state, codes: {P: paid, S: shipped}, description: where it is}
      whisper: {hidden: true}
  audit: {hidden: true}
metrics:
  margin total: {table: orders, sql: SUM(margin), definition: The margin is summed.}
joins:
  - {from: orders.cust, to: customers.id, verb: placed by}
prior: {count: 2}
"""


@pytest.fixture
def database(tmp_path: Path) -> Database:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(SCRIPT)
    connection.close()
    return Database("shop", "sqlite", "sqlite", path, hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


def with_semantics(database: Database, text: str) -> Database:
    path = database.path.parent / "semantics.yml"
    path.write_text(text, encoding="utf-8")
    return dataclasses.replace(database, semantics=path)


def test_all_of_it_is_used(database: Database) -> None:
    profile = profile_database(with_semantics(database, SEMANTICS))
    assert profile.problems == ()
    assert profile.domain == "retail"
    orders = profile.table("orders")
    assert (orders.singular, orders.plural, orders.synonyms) == ("purchase", "purchases", ("order",))
    assert orders.column("status").phrase == "state"
    assert orders.column("status").codes == (("P", "paid"), ("S", "shipped"))
    assert profile.metrics[0].sql == "SUM(margin)"
    [key] = profile.foreign_keys
    assert (key.table, key.ref_table, key.verb, key.confidence) == ("orders", "customers", "placed by", 1.0)
    assert profile.construct_prior == (("count", 2.0),)


def test_hidden_is_gone_everywhere(database: Database) -> None:
    profile = profile_database(with_semantics(database, SEMANTICS))
    text = repr(profile)
    for trace in ("hush", "quiet", "whisper", "audit", "beheld"):
        assert trace not in text
    assert all(len(row) == len(profile.table("orders").columns) for row in profile.table("orders").sample_rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tables: {ordres: {}}", "tables.ordres: there is no table 'ordres'; did you mean 'orders'?"),
        ("tables: {orders: {columns: {statu: {}}}}", "tables.orders.columns.statu: there is no column 'statu'"),
        ("tables: {orders: {colums: {}}}", "tables.orders.colums: unknown key; did you mean 'columns'?"),
        ("tables: {orders: {kind: thing}}", "tables.orders.kind: must be one of"),
        ("tables: [orders]", "tables: must be a mapping"),
        ("metrics: {m: {table: orders, sql: SUM(nothing)}}", "metrics.m.sql: there is no column 'nothing'"),
        ("metrics: {m: {table: orders, sql: margin}}", "metrics.m.sql: must aggregate"),
        ("metrics: {m: {table: orders, sql: 'SUM('}}", "metrics.m.sql: is not SQL"),
        ("metrics: {m: {table: orders, sql: '(SELECT SUM(margin) FROM orders)'}}", "without FROM"),
        ("joins: [{from: orders.x, to: customers.id}]", "joins[0].from: there is no table.column 'orders.x'"),
        ("joins: [{from: [orders.id, orders.cust], to: customers.id}]", "equally many"),
        ("prior: {cuont: 1}", "prior.cuont: there is no shape 'cuont'; did you mean 'count'?"),
        ("prior: {count: -1}", "prior.count: must be a number"),
        ("domain: [a]", "domain: must be text"),
        ("a: b: c", "is not valid YAML"),
        ("- 1", "must be a mapping"),
    ],
)
def test_what_is_wrong_is_named_and_the_rest_is_used(database: Database, text: str, said: str) -> None:
    profile = profile_database(with_semantics(database, text))
    assert len(profile.problems) == 1
    assert profile.problems[0].startswith("semantics.yml: ")
    assert said in profile.problems[0]
    assert len(profile.tables) == 3


def test_a_metric_may_not_use_what_is_hidden(database: Database) -> None:
    text = "tables: {orders: {columns: {margin: {hidden: true}}}}\nmetrics: {m: {table: orders, sql: SUM(margin)}}"
    profile = profile_database(with_semantics(database, text))
    assert profile.metrics == ()
    assert "which is hidden" in profile.problems[0]


def test_a_key_that_goes_with_a_hidden_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "erp.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("""
    CREATE TABLE mara (mandt TEXT, matnr TEXT, PRIMARY KEY (mandt, matnr));
    CREATE TABLE vbap (mandt TEXT, vbeln TEXT, material TEXT, PRIMARY KEY (mandt, vbeln),
        FOREIGN KEY (mandt, material) REFERENCES mara (mandt, matnr));
    INSERT INTO mara VALUES ('100', 'A1');
    INSERT INTO vbap VALUES ('100', '1', 'A1');
    """)
    connection.close()
    erp = Database("erp", "sqlite", "sqlite", path, "erp", path.name)
    text = """
    tables: {vbap: {columns: {mandt: {hidden: true}}}}
    joins: [{from: [vbap.mandt, vbap.material], to: [mara.mandt, mara.matnr]}]
    """
    profile = profile_database(with_semantics(erp, text))
    stated, declared = profile.problems[:2]
    assert stated.endswith("joins[0]: uses vbap.mandt, which is hidden; the join is unused")
    assert declared.startswith("hiding vbap.mandt takes away the key by which vbap refers to mara")


def test_a_frameworks_own_tables_are_asked_about_where_they_are_described(database: Database) -> None:
    with closing(sqlite3.connect(database.path)) as connection:
        connection.executescript("""
        CREATE TABLE schema_migrations (version TEXT PRIMARY KEY);
        CREATE TABLE versions (id INTEGER PRIMARY KEY, item_type TEXT, item_id INTEGER, event TEXT, whodunnit TEXT);
        INSERT INTO schema_migrations VALUES ('20240101');
        INSERT INTO versions VALUES (1, 'order', 1, 'create', 'Ann');
        """)
    profile = profile_database(database)
    tables = {"orders", "customers", "audit"}
    assert set(asked_about(profile).by_name) == tables
    assert any("'schema_migrations', 'versions': a framework's own" in problem for problem in profile.problems)
    described = "tables: {versions: {description: Changes of orders.}}"
    assert set(asked_about(profile_database(with_semantics(database, described))).by_name) == {*tables, "versions"}


def test_a_join_can_be_avoided(database: Database) -> None:
    text = "joins: [{from: orders.cust, to: customers.id, avoid: true}]"
    keys = profile_database(with_semantics(database, text)).foreign_keys
    assert not any(key.ref_table == "customers" for key in keys)


def test_the_draft_loads_and_changes_no_name(database: Database) -> None:
    before = profile_database(database)
    draft = draft_semantics(before)
    assert yaml.safe_load(draft)["tables"]["orders"]["name"] == "order"
    after = profile_database(with_semantics(database, draft))
    assert after.problems == ()
    assert tuple(dataclasses.replace(table, described=False) for table in after.tables) == before.tables


def test_a_view_is_asked_about_where_it_is_described_or_is_all_there_is(database: Database) -> None:
    def asked(text: str) -> set[str]:
        return set(asked_about(profile_database(with_semantics(database, text))).by_name)

    with closing(sqlite3.connect(database.path)) as connection:
        connection.executescript(
            "CREATE VIEW paid AS SELECT * FROM orders; CREATE VIEW names AS SELECT name FROM customers"
        )
    tables = {"orders", "customers", "audit"}
    assert asked("") == tables
    assert asked("tables: {paid: {description: Orders that are paid.}}") == {*tables, "paid"}
    hidden = "tables: {orders: {hidden: true}, customers: {hidden: true}, audit: {hidden: true}}"
    assert asked(hidden) == {"paid", "names"}
    draft = draft_semantics(profile_database(database))
    assert set(yaml.safe_load(draft)["tables"]) == tables
    assert re.search(r"# Views .* are asked about where they stand here: .*names.*paid|paid.*names", draft)


def test_shapes_are_those_of_the_intent_tree() -> None:
    assert set(SHAPES) == set(Shape.__args__)  # type: ignore[attr-defined]


def test_bird_descriptions(database: Database) -> None:
    folder = database.path.parent / "database_description"
    folder.mkdir()
    lines = [
        "original_column_name,column_name,column_description,data_format,value_description",
        'status,order state,the state of the order,text,"P: paid\nS: shipped"',
        "nope,x,y,z,",
    ]
    (folder / "orders.csv").write_text("\n".join(lines), encoding="cp1252")
    (folder / "ghost.csv").write_text(lines[0], encoding="utf-8")
    described = dataclasses.replace(database, descriptions=folder)
    profile = profile_database(described)
    status = profile.table("orders").column("status")
    assert (status.phrase, status.description) == ("state", "the state of the order")
    assert status.codes == (("P", "paid"), ("S", "shipped"))
    assert any("no table 'ghost'" in problem for problem in profile.problems)
    assert any("no column 'nope'" in problem for problem in profile.problems)
    assert profile_database(described, values=False).table("orders").column("status").codes == ()


def test_spider_tables(database: Database) -> None:
    path = database.path.parent / "tables.json"
    entry = {
        "db_id": "shop",
        "table_names_original": ["orders", "customers"],
        "table_names": ["customer orders", "customers"],
        "column_names_original": [[-1, "*"], [0, "id"], [0, "cust"], [1, "id"]],
        "column_names": [[-1, "*"], [0, "order id"], [0, "customer id"], [1, "id"]],
        "column_types": ["text"] * 4,
        "primary_keys": [1, 3],
        "foreign_keys": [[2, 3]],
    }
    path.write_text(json.dumps([entry]), encoding="utf-8")
    profile = profile_database(dataclasses.replace(database, spider_tables=path))
    assert profile.table("orders").singular == "customer order"
    assert profile.table("orders").column("cust").phrase == "customer ID"
    assert ("orders", "customers") in {(key.table, key.ref_table) for key in profile.foreign_keys}
    path.write_text('[{"db_id": "shop"}]', encoding="utf-8")
    assert "not as Spider writes it" in profile_database(dataclasses.replace(database, spider_tables=path)).problems[0]


def test_dbt_manifest(database: Database) -> None:
    manifest = {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"},
        "nodes": {
            "model.shop.orders": {
                "resource_type": "model",
                "name": "orders",
                "description": "One row an order.",
                "columns": {
                    "status": {"description": "State.", "meta": {"codes": {"P": "paid"}, "synonyms": ["state"]}},
                    "whisper": {"config": {"meta": {"hidden": True}}},
                },
            },
            "model.shop.customers": {"resource_type": "model", "name": "customers", "columns": {}},
            "test.shop.rel": {
                "resource_type": "test",
                "attached_node": "model.shop.orders",
                "column_name": "cust",
                "test_metadata": {"name": "relationships", "kwargs": {"to": "ref('customers')", "field": "id"}},
            },
            "test.shop.uni": {
                "resource_type": "test",
                "attached_node": "model.shop.customers",
                "column_name": "name",
                "test_metadata": {"name": "unique", "kwargs": {}},
            },
        },
        "sources": {},
    }
    path = database.path.parent / "manifest.json"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    profile = profile_database(dataclasses.replace(database, dbt_manifest=path))
    assert profile.table("orders").description == "One row an order."
    assert profile.table("orders").column("status").codes == (("P", "paid"),)
    assert "whisper" not in profile.table("orders").by_name
    assert ("orders", "customers") in {(key.table, key.ref_table) for key in profile.foreign_keys}
    assert profile.table("customers").unique_keys == (("name",),)


def test_a_date_that_is_no_day_may_be_a_code(database: Database) -> None:
    text = "tables: {orders: {columns: {status: {codes: {0000-00-00: unknown, 2020-01-31: early}}}}}"
    status = profile_database(with_semantics(database, text)).table("orders").column("status")
    assert status.codes == (("0000-00-00", "unknown"), ("2020-01-31", "early"))


def test_metrics_are_read_in_the_engines_own_quotes(database: Database) -> None:
    text = "metrics: {m: {table: orders, sql: SUM(`margin` * 2)}, n: {table: orders, sql: 'SUM(id = 5)'}}"
    named = with_semantics(database, text)
    assert [metric.name for metric in profile_database(named).metrics] == ["m", "n"]
    assert [metric.name for metric in profile_database(named, values=False).metrics] == ["m"]


def test_a_description_that_cannot_be_read_leaves_the_others(database: Database, tmp_path: Path) -> None:
    folder = tmp_path / "database_description"
    folder.mkdir()
    head = "original_column_name,column_name,column_description,data_format,value_description\n"
    (folder / "orders.csv").write_text(f'{head}cust,"{"x" * 200_000}\n')
    (folder / "customers.csv").write_text(f"{head}name,,What they are called,text,\n")
    profile = profile_database(dataclasses.replace(database, descriptions=folder))
    assert profile.table("customers").column("name").description == "What they are called"
    assert any("orders.csv: cannot be read" in problem for problem in profile.problems)


def test_cache_follows_what_it_depends_on(database: Database, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = cached_profile(database, cache)
    [file] = cache.iterdir()
    assert cached_profile(database, cache) == first
    assert [*cache.iterdir()] == [file]
    named = with_semantics(database, SEMANTICS)
    assert cached_profile(named, cache).table("orders").singular == "purchase"
    with_semantics(database, SEMANTICS.replace("purchase", "buy"))
    assert cached_profile(named, cache).table("orders").singular == "buy"
    assert len([*cache.iterdir()]) == 3
    file.write_text("{", encoding="utf-8")
    assert cached_profile(database, cache) == first


def test_cache_without_values_holds_none(database: Database, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cached_profile(database, cache, values=False)
    text = "".join(file.read_text() for file in cache.iterdir())
    for canary in ("hush", "quiet", "Ann", "beheld", "2.5"):
        assert canary not in text
