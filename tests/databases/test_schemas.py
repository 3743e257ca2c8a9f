"""DuckDB files with several schemas: tables are called by their bare names."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from database_files import duckdb_file, found, tables

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.opening import precedence
from agro_data.databases.trusted.connections import open_database

pytestmark = pytest.mark.ci


SCHEMAS = """
CREATE TABLE t(a INT PRIMARY KEY); INSERT INTO t VALUES (1);
CREATE SCHEMA "odd, ""name"; CREATE TABLE "odd, ""name".u(b INT); INSERT INTO "odd, ""name".u VALUES (2);
CREATE SCHEMA raw; CREATE TABLE raw.T(c INT PRIMARY KEY); CREATE TABLE raw.own(c INT PRIMARY KEY);
CREATE TABLE raw.child(c INT REFERENCES raw.own(c), d INT REFERENCES raw.T(c)); CREATE SCHEMA empty;
CREATE VIEW raw.v AS SELECT a + b AS total FROM main.t, "odd, ""name".u
"""


def test_tables_of_all_schemas_are_called_by_their_bare_names(tmp_path: Path) -> None:
    with open_database(found(duckdb_file(tmp_path / "x.duckdb", SCHEMAS))) as connection:
        seen = tables(connection)
        assert list(seen) == ["child", "own", "t", "u", "v"]
        assert [seen[name].namespace for name in "tuv"] == ["", 'odd, "name', "raw"]
        assert connection.problems == ["raw.T: main.T has the name already; left out, rename one of them"]
        assert [column.name for column in seen["t"].columns] == ["a"]
        assert seen["v"].is_view
        assert seen["own"].primary_key == ("c",)
        # raw.T is not the t that is read, so the key to it leads nowhere
        assert [(key.columns, key.ref_table) for key in seen["child"].foreign_keys] == [(("c",), "own")]
        assert connection.execute("SELECT a, b, total FROM t, u, v") == [(1, 2, 3)]


def test_what_a_pipeline_makes_for_people_comes_before_what_it_loaded(tmp_path: Path) -> None:
    schemas = ("bronze", "other", "silver", "gold", "dev_marts", "raw_crm")
    more = (f"CREATE TABLE {schema}.t{n}(a INT)" for schema in ("bronze", "gold") for n in range(3))
    each = (f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.orders AS SELECT '{schema}' AS a" for schema in schemas)
    path = duckdb_file(tmp_path / "x.duckdb", "; ".join([*each, "CREATE TABLE silver.days AS SELECT 1 AS d", *more]))
    expected = ["dev_marts", "gold", "other", "silver", "bronze", "raw_crm"]
    assert sorted(schemas, key=precedence) == expected
    with open_database(found(path)) as connection:
        assert {name: table.namespace for name, table in tables(connection).items()} == {
            "orders": "dev_marts",
            "days": "silver",
            **dict.fromkeys(("t0", "t1", "t2"), "gold"),
        }
        alone = [
            f"{s}.orders: dev_marts.orders has the name already; left out, rename one of them" for s in expected[1:]
        ]
        together = "bronze: t0, t1, t2 have the names of tables in gold; left out"
        assert sorted(connection.problems) == sorted([*alone, together])
        assert connection.execute("SELECT a FROM orders") == [("dev_marts",)]
    with Sandbox(workers=1) as sandbox:
        [seen] = sandbox.run(found(path), ["SELECT a FROM orders"], want="rows")
    assert seen.rows == (("dev_marts",),)


def test_generated_sql_sees_the_tables_of_all_schemas(tmp_path: Path) -> None:
    database = found(duckdb_file(tmp_path / "x.duckdb", SCHEMAS))
    with Sandbox(workers=1) as sandbox:
        bare, hidden = sandbox.run(database, ["SELECT total FROM v", "SELECT c FROM T"], want="rows")
        [full] = sandbox.run(database, ["SELECT raw.v.total FROM raw.v JOIN main.t ON a = 1"], want="rows")
    assert (bare.status, bare.rows) == (full.status, full.rows) == ("ok", ((3,),))
    assert hidden.status == "error"  # t is that of main


@pytest.mark.parametrize("name", ["shop", "memory", "temp", "agro"])
def test_schemas_may_be_called_as_the_file_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.duckdb"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH '{path}' AS x")
        for number, schema in enumerate((name, "agro", "system")):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS x.{schema}")
            connection.execute(f"CREATE TABLE x.{schema}.t{number} AS SELECT {number} AS a")
    with open_database(found(path)) as opened:
        assert list(tables(opened)) == ["t0", "t1", "t2"]
        assert not opened.problems
        assert opened.execute("SELECT t0.a, t1.a, t2.a FROM t0, t1, t2") == [(0, 1, 2)]


def test_a_table_may_be_called_as_a_view_of_duckdbs_own(tmp_path: Path) -> None:
    """In a folder. In a file its bare name means DuckDB's, which is said."""
    path = duckdb_file(tmp_path / "x.duckdb", "CREATE TABLE duckdb_tables(a INT); CREATE TABLE t AS SELECT 1 AS a")
    with open_database(found(path)) as connection:
        assert list(tables(connection)) == ["t"]
        [problem] = connection.problems
        assert "system.main.duckdb_tables has the name already" in problem
    (tmp_path / "folder").mkdir()
    for name in ("duckdb_tables", "sqlite_master"):
        (tmp_path / "folder" / f"{name}.csv").write_text("id,name\n1,a\n")
    with open_database(found(tmp_path / "folder")) as connection:
        seen = tables(connection)
        assert [[column.name for column in seen[name].columns] for name in seen] == [["id", "name"]] * 2
        assert not connection.problems
