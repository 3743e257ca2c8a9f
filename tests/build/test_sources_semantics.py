"""`semantics.yml` from the file to the examples: what it names is said, what it hides is nowhere."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from making import build_corpus

import agro_data
from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.types import Database
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.publish.report import render_report

pytestmark = pytest.mark.ci

SEMANTICS = """
domain: freight
tables:
  cust: {name: client, description: Whoever ships with us., synonyms: [shipper]}
  shp:
    name: consignment
    label: [ref]
    columns:
      st: {name: status, codes: {P: in transit, D: delivered, L: lost}}
      kg: {name: weight, unit: kg, role: measure}
      qmargin: {hidden: true}
  zpayroll: {hidden: true}
metrics:
  freight revenue:
    table: shp
    sql: SUM(kg * rate)
    definition: Freight revenue is weight times rate.
joins:
  - {from: shp.payer, to: cust.cid, avoid: true}
  - {from: shp.sender, to: cust.cid, verb: sent by}
"""


def freight(folder: Path, semantics: str = SEMANTICS) -> Path:
    """Consignments between clients, with a column and a table that nobody may see."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "freight.sqlite")) as connection:
        connection.executescript(
            """
            CREATE TABLE cust (cid INTEGER PRIMARY KEY, nm TEXT NOT NULL, town TEXT NOT NULL);
            CREATE TABLE shp (
                sid INTEGER PRIMARY KEY, ref TEXT NOT NULL, sender INTEGER, payer INTEGER REFERENCES cust(cid),
                st TEXT NOT NULL, kg REAL NOT NULL, rate REAL NOT NULL, qmargin REAL NOT NULL);
            CREATE TABLE zpayroll (pid INTEGER PRIMARY KEY, zperson TEXT, zsalary REAL);
            """
        )
        towns, names = ["Oslo", "Lyon", "Graz", "Turin"], ["Acorn", "Birch", "Cedar", "Drift", "Elm", "Fern"]
        connection.executemany(
            "INSERT INTO cust VALUES (?,?,?)",
            [(n, f"{names[n % 6]} {chr(64 + n)}", towns[n % 4]) for n in range(1, 21)],
        )
        connection.executemany(
            "INSERT INTO shp VALUES (?,?,?,?,?,?,?,?)",
            [
                (n, f"R-{n:03d}", 1 + (n * n) % 19, 1 + n % 7, "PDL"[n % 3], 10 + 2.5 * n, 1 + n % 5 / 4, 77_000 + n)
                for n in range(1, 121)
            ],
        )
        connection.executemany(
            "INSERT INTO zpayroll VALUES (?,?,?)", [(n, f"Zebulon {n}", 88_000 + n) for n in range(1, 31)]
        )
        connection.commit()
    if semantics:
        (folder / "semantics.yml").write_text(semantics)
    return folder / "freight.sqlite"


build = partial(build_corpus, size=80)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> agro_data.Build:
    folder = tmp_path_factory.mktemp("freight")
    return build(folder, freight(folder / "source"))


@pytest.fixture(scope="module")
def examples(built: agro_data.Build) -> pl.DataFrame:
    assert not built.problems
    return built.version.examples().collect()


def test_names_are_those_a_person_gave(examples: pl.DataFrame) -> None:
    questions = "\n".join(examples["question"]).lower()
    assert re.search(r"\bclients?\b", questions)
    assert re.search(r"\bconsignments?\b", questions)
    for identifier in (r"\bcust\b", r"\bshp\b", r"\bcustomers?\b", r"\bshipments?\b"):
        assert not re.search(identifier, questions), identifier


def test_codes_are_said_by_meaning_with_the_code_as_evidence(examples: pl.DataFrame) -> None:
    meanings = {"P": "in transit", "D": "delivered", "L": "lost"}
    seen = set()
    for row in examples.iter_rows(named=True):
        for code in re.findall(r"\bst = '([PDL])'", row["sql"]):
            seen.add(code)
            assert meanings[code] in row["question"], row
            assert f"'{code}' means {meanings[code]}" in row["evidence"], row
    assert len(seen) >= 2


def test_a_metric_is_asked_with_its_definition(examples: pl.DataFrame) -> None:
    asked = examples.filter(pl.col("question").str.contains("freight revenue"))
    assert asked.height > 0
    for row in asked.iter_rows(named=True):
        assert "Freight revenue is weight times rate" in row["evidence"]
        assert "kg * " in row["sql"].replace("T1.", "").replace("shp.", "")


def test_joins_go_where_they_are_preferred(examples: pl.DataFrame) -> None:
    joined = examples.filter(pl.col("constructs").list.contains("join_2"))["sql"].to_list()
    assert joined
    for sql in joined:
        if re.search(r"FROM (\w+) AS \w+ JOIN \1 AS", sql):
            continue  # pairs of rows of one table go along no key
        assert "sender" in sql, sql
        assert not re.search(r"payer = \w+\.\w|= (\w+\.)?payer", sql), sql  # a payer asked for by number is no join


def test_what_is_hidden_is_nowhere(built: agro_data.Build) -> None:
    """Neither names nor values: not in data, rejected rows, manifest, card, report, nor in any file of the cache."""
    canaries = ("qmargin", "zpayroll", "zperson", "zsalary", "Zebulon", "88001", "77001")
    texts = [render_report(built.version)]
    root = built.version.path.parents[2]
    for file in sorted([*(root / "out").rglob("*"), *(root / "cache").rglob("*")]):
        if file.suffix == ".parquet":
            texts.append(pl.read_parquet(file, glob=False).write_json())
        elif file.suffix in (".json", ".md"):
            texts.append(file.read_text())
    assert len(texts) > 10
    for text in texts:
        told = re.sub(r"\b[0-9a-f]{16,}\b", "", text.lower())  # a digest may have any five digits in a row
        for canary in canaries:
            assert canary.lower() not in told, f"{canary} in {text[:200]}"


def shares(result: agro_data.Build) -> dict[str, float]:
    rows = result.version.examples().collect()
    counts = rows["constructs"].explode().value_counts()
    return {name: count / rows.height for name, count in counts.iter_rows()}


@pytest.mark.slow
def test_weights_change_what_is_asked(tmp_path: Path) -> None:
    more = freight(tmp_path / "more" / "source", "prior: {superlative: 8, window: 0, top_per_group: 0}\n")
    usual = freight(tmp_path / "usual" / "source", "")
    weighted, plain = shares(build(tmp_path / "more", more)), shares(build(tmp_path / "usual", usual))
    assert weighted["limit"] > 1.5 * plain["limit"]
    assert plain["window"] > 0
    assert "window" not in weighted


def profiled(path: Path) -> DatabaseProfile:
    (database,) = find_databases(path).databases
    assert isinstance(database, Database)
    return profile_database(database)


def test_a_draft_is_accepted_back_and_changes_nothing(tmp_path: Path) -> None:
    path = freight(tmp_path / "source", "")
    command = [sys.executable, "-c", "from agro_train.cli import main; main()", "databases", str(path), "--draft"]
    draft = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    before = profiled(path)
    (path.parent / "semantics.yml").write_text(draft)
    after = profiled(path)
    assert after.problems == before.problems
    for table in before.tables:
        other = after.table(table.name)
        assert (other.singular, other.plural, other.kind, other.label_columns) == (
            table.singular, table.plural, table.kind, table.label_columns,
        )  # fmt: skip
        assert [(c.name, c.phrase, c.role, c.codes) for c in other.columns] == [
            (c.name, c.phrase, c.role, c.codes) for c in table.columns
        ]
    assert after.foreign_keys == before.foreign_keys
    assert after.metrics == before.metrics
    plain = build(tmp_path / "plain", freight(tmp_path / "plain" / "source", ""), size=40, certify=False)
    drafted = build(tmp_path / "drafted", freight(tmp_path / "drafted" / "source", draft), size=40, certify=False)
    for column in ("sql", "question", "evidence"):
        assert drafted.version.examples().collect()[column].to_list() == (
            plain.version.examples().collect()[column].to_list()
        )
