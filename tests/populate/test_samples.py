"""The shipped domains: what a company's database looks like, the same bytes each time."""

from __future__ import annotations

import sqlite3
from hashlib import sha256

import duckdb
import pytest
import yaml
from making import fan_out

from agro_data.databases.discovery.catalog import find_databases
from agro_data.populate.domain import domain_names, load_domain
from agro_data.populate.hints import read_table
from agro_data.populate.samples import build_sample, build_samples
from agro_data.populate.schema import PopulateError
from agro_data.populate.writer import write_duckdb, write_sqlite
from agro_data.profiling.profiler import profile_database

NAMES = domain_names()
SQLITE = [name for name in NAMES if load_domain(name).engine == "sqlite"]
DUCKDB = [name for name in NAMES if load_domain(name).engine == "duckdb"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("samples")
    build_samples(path)
    return path


@pytest.fixture(scope="module")
def rows():
    return {name: load_domain(name).rows(7) for name in NAMES}


def digest(path):
    return sha256(path.read_bytes()).hexdigest()


def test_there_are_ten_domains_or_more_on_both_engines():
    assert len(NAMES) >= 10
    assert len(SQLITE) >= 8
    assert len(DUCKDB) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_has_4_to_15_tables_of_realistic_size(name, rows):
    tables = load_domain(name).schema.tables
    assert 4 <= len(tables) <= 15
    sizes = {table: len(next(iter(columns.values()))) for table, columns in rows[name].items()}
    assert max(sizes.values()) >= 600
    assert max(sizes.values()) <= 3200
    assert min(sizes.values()) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_some_parents_have_no_child_some_one_some_many(name, rows):
    spread = [fan_out(rows[name], key) for key in load_domain(name).schema.foreign_keys]
    assert any(counts[0] and counts[1] and max(counts) >= 5 for counts in spread)


@pytest.mark.parametrize("name", NAMES)
def test_measures_have_few_ties(name, rows):
    """ "Top 3" needs one answer: most tables with reals have one with nearly as many values as rows."""
    schema = load_domain(name).schema
    good = 0
    for table in schema.tables:
        for column in table.columns:
            values = [v for v in rows[name][table.name][column.name] if v is not None]
            if column.kind in ("real", "integer") and len(values) >= 20 and column.name not in table.primary_key:
                referring = any(column.name in key.columns for key in schema.keys_of(table.name))
                good += not referring and len(set(values)) >= 0.9 * len(values)
    assert good >= 3


@pytest.mark.ci
@pytest.mark.parametrize("name", SQLITE)
def test_sqlite_keys_hold(name, folder):
    con = sqlite3.connect(folder / f"{name}.sqlite")
    assert con.execute("PRAGMA foreign_key_check").fetchall() == []
    assert con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    con.close()


@pytest.mark.parametrize("name", DUCKDB)
def test_duckdb_types_and_keys_hold(name, folder):
    con = duckdb.connect(str(folder / f"{name}.duckdb"), read_only=True)
    types = {row[0] for row in con.execute("SELECT data_type FROM information_schema.columns").fetchall()}
    assert types & {"DATE", "TIMESTAMP"}
    assert any(kind.startswith("DECIMAL") for kind in types)
    for key in load_domain(name).schema.foreign_keys:
        child, parent = key.columns[0], key.ref_columns[0]
        orphans = con.execute(
            f"SELECT count(*) FROM {key.table} WHERE {child} NOT IN (SELECT {parent} FROM {key.ref_table})"
        ).fetchone()
        assert orphans == (0,)
    con.close()


@pytest.mark.parametrize("name", SQLITE[:3])
def test_same_seed_same_bytes_and_another_seed_others(name, tmp_path):
    domain = load_domain(name)
    first = write_sqlite(domain.schema, domain.rows(7), tmp_path / "a.sqlite")
    second = write_sqlite(domain.schema, domain.rows(7), tmp_path / "b.sqlite")
    other = write_sqlite(domain.schema, domain.rows(8), tmp_path / "c.sqlite")
    assert digest(first) == digest(second)
    assert digest(first) != digest(other)


def test_same_seed_same_duckdb_content(tmp_path):
    domain = load_domain(DUCKDB[0])
    paths = [write_duckdb(domain.schema, domain.rows(7), tmp_path / f"{i}.duckdb") for i in range(2)]
    contents = []
    for path in paths:
        con = duckdb.connect(str(path), read_only=True)
        contents.append([con.execute(f'SELECT * FROM "{t.name}"').fetchall() for t in domain.schema.tables])
        con.close()
    assert contents[0] == contents[1]


def test_right_content_is_kept_and_wrong_content_is_made_again(tmp_path):
    name = SQLITE[0]
    path, written = build_sample(name, tmp_path)
    assert written
    before = path.stat().st_mtime_ns
    assert build_sample(name, tmp_path) == (path, False)
    assert path.stat().st_mtime_ns == before
    right = digest(path)
    path.write_bytes(b"broken")
    assert build_sample(name, tmp_path) == (path, True)
    assert digest(path) == right
    assert build_sample(name, tmp_path, seed=8)[1]
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


@pytest.mark.parametrize("name", NAMES)
def test_semantics_name_what_exists(name, folder):
    notes = yaml.safe_load((folder / f"{name}.semantics.yml").read_text())
    schema = load_domain(name).schema
    assert notes["domain"]
    for table, entry in notes["tables"].items():
        assert set(entry.get("columns", {})) <= set(schema.by_name[table].by_name)
    assert notes["metrics"]


def test_profiles_of_the_samples_have_no_problems(folder):
    found = find_databases(folder)
    assert found.problems == ()
    assert [database.db_id for database in found.databases] == list(NAMES)
    for name in (SQLITE[0], DUCKDB[0], "insurance_claims"):
        (database,) = [d for d in found.databases if d.db_id == name]
        profile = profile_database(database)
        assert [said for said in profile.problems if not said.startswith("private of people")] == []
        assert len(profile.metrics) == len(load_domain(name).semantics["metrics"])


@pytest.mark.parametrize("name", NAMES)
def test_metrics_run_on_their_engine(name, folder):
    domain = load_domain(name)
    for metric in domain.semantics["metrics"].values():
        statement = f'SELECT {metric["sql"]} FROM "{metric["table"]}"'
        if domain.engine == "sqlite":
            con = sqlite3.connect(folder / f"{name}.sqlite")
        else:
            con = duckdb.connect(str(folder / f"{name}.duckdb"), read_only=True)
        assert con.execute(statement).fetchone()[0] is not None
        con.close()


@pytest.mark.parametrize("name", NAMES)
def test_code_meanings_cover_the_stored_codes(name, rows):
    for table, entry in load_domain(name).semantics["tables"].items():
        for column, facts in entry.get("columns", {}).items():
            if "codes" in facts:
                stored = {str(v) for v in rows[name][table][column] if v is not None}
                assert stored <= {str(code) for code in facts["codes"]}


def test_a_text_that_yaml_takes_for_false_is_said() -> None:
    with pytest.raises(PopulateError, match=r"country\.code: .* write a text in quotes"):
        read_table({"records": [["code", "open"], ["SE", True], [False, False]]}, "country")
    assert read_table({"records": [["code", "open"], ["SE", True], ["NO", False]]}, "country").rows == 2
