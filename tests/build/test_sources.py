"""Every kind of source, from files to examples: they replay on the plain engine, and questions use people's names."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from making import build_corpus, one_worker
from sources import bird_layout, coded_sqlite, csv_shop, duckdb_shop, parquet_shop, spider_layout

import agro_data
from agro_data.databases.cells import plain_rows
from agro_data.databases.digest import result_digest
from agro_data.databases.discovery.content import content_hash
from agro_data.publish.read import Version

build = partial(build_corpus, size=120)


Run = Callable[[str], list[tuple[Any, ...]]]


@contextmanager
def plain_engine(path: Path) -> Iterator[Run]:
    """The engine as anyone would use it, with nothing of ours around it."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            yield lambda sql: connection.execute(sql).fetchall()
        return
    with duckdb.connect(path if path.is_file() else ":memory:", read_only=path.is_file()) as connection:
        for file in sorted(path.iterdir()) if path.is_dir() else []:
            connection.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM '{file}'")
        yield lambda sql: plain_rows(connection.execute(sql).fetchall())


def replayed(result: agro_data.Build, place: Callable[[str], Path]) -> pl.DataFrame:
    """The examples, once every one of them and every step of them has run again."""
    frame = result.version.examples().collect()
    for db_id in frame["db_id"].unique().sort():
        with plain_engine(place(db_id)) as run:
            for row in frame.filter(pl.col("db_id") == db_id).iter_rows(named=True):
                answer = run(row["sql"])
                assert result_digest(row["result_columns"], answer, row["order_matters"]) == row["result_digest"], row[
                    "sql"
                ]
                for step in row["steps"]:
                    run(step["sql"])
    return frame


def constructs(frame: pl.DataFrame) -> set[str]:
    return set(frame["constructs"].explode())


@pytest.mark.slow
@pytest.mark.parametrize("make", [duckdb_shop, parquet_shop, csv_shop])
def test_duckdb_files_and_folders_of_tables(make: Callable[[Path], Path], tmp_path: Path) -> None:
    source = make(tmp_path / ("shop.duckdb" if make is duckdb_shop else "shop"))
    result = build(tmp_path, source, size=300)  # the rarest shapes have one draw in 200
    frame = replayed(result, lambda _: source)
    assert result.complete
    assert not result.problems
    assert set(frame["dialect"]) == {"duckdb"}
    assert set(frame["tables"].explode()) == {"customer", "purchase"}
    assert {"date_part", "window", "join_2", "group_by", "having", "scalar_subquery"} <= constructs(frame)
    used = set(frame["columns"].explode())
    assert {"customer.birth_date", "customer.loyal", "purchase.bought_at", "purchase.total", "purchase.via"} <= used
    questions = "\n".join(frame["question"])
    assert "_" not in questions
    assert "bought time" in questions
    for row in frame.filter(pl.col("sql").str.contains("loyal = (TRUE|FALSE)")).iter_rows(named=True):
        assert re.search(r"\b(true|false)\b", row["question"]), row["question"]


@pytest.mark.slow
def test_a_duckdb_file_written_again_gives_the_same_examples(tmp_path: Path) -> None:
    first = build(tmp_path / "1", duckdb_shop(tmp_path / "shop.duckdb"), size=40)
    (tmp_path / "again").mkdir()
    second = build(tmp_path / "2", duckdb_shop(tmp_path / "again" / "shop.duckdb"), size=40)
    ids = first.version.examples().collect()["example_id"].to_list()
    assert second.version.examples().collect()["example_id"].to_list() == ids
    assert first.version.fingerprint == second.version.fingerprint


@pytest.mark.ci
@pytest.mark.parametrize("layout", [spider_layout, bird_layout])
def test_benchmark_layouts_lend_their_names(layout: Callable[[Path], Path], tmp_path: Path) -> None:
    root = layout(tmp_path / "bench")
    (source,) = root.rglob("*.sqlite")
    result = build(tmp_path, root, certify=False)
    frame = replayed(result, lambda _: source)
    assert set(frame["db_id"]) == {"stable"}
    questions = "\n".join(frame["question"]).lower()
    assert re.search(r"\b(prize money|prizes? money)", questions)
    assert re.search(r"\bbreeds?\b", questions)
    assert re.search(r"\byears?\b", questions)
    columns, tables = [r"\bprz\b", r"\bbrd\b", r"\bht cm\b", r"\byr\b"], [r"\bhrs\b", r"\brce\b"]
    if layout is spider_layout:
        assert "race horse" in questions
        columns += tables  # BIRD says nothing of tables
    for identifier in columns:
        assert not re.search(identifier, questions), identifier


@pytest.mark.ci
def test_bird_descriptions_give_codes_their_meaning(tmp_path: Path) -> None:
    root = bird_layout(tmp_path / "bench")
    frame = build(tmp_path, root, size=200, certify=False).version.examples().collect()
    coded = frame.filter(pl.col("sql").str.contains("'[WFD]'"))
    assert coded.height > 5
    for row in coded.iter_rows(named=True):
        assert row["evidence"], row["question"]
        assert "means" in row["evidence"]
        assert re.search("won|finish", row["question"]), row["question"]


@pytest.mark.slow
def test_a_mixed_folder(tmp_path: Path) -> None:
    root = tmp_path / "mixed"
    coded_sqlite(root / "stable.sqlite")
    duckdb_shop(root / "shop.duckdb")
    parquet_shop(root / "lake")
    csv_shop(root / "sheets")
    places = {path.stem: path for path in root.iterdir()}
    before = sorted((p.relative_to(root), p.stat().st_mtime_ns, p.stat().st_size) for p in root.rglob("*"))
    result = build(tmp_path, root, size=160)
    frame = replayed(result, lambda db_id: places[db_id])
    assert not result.problems
    assert dict(frame.group_by("db_id").agg(pl.col("dialect").unique().first()).iter_rows()) == {
        "stable": "sqlite", "shop": "duckdb", "lake": "duckdb", "sheets": "duckdb",
    }  # fmt: skip
    assert frame.group_by("db_id").len()["len"].min() >= 20
    assert sorted((p.relative_to(root), p.stat().st_mtime_ns, p.stat().st_size) for p in root.rglob("*")) == before


def test_a_duckdb_file_is_free_when_its_build_is_done(tmp_path: Path) -> None:
    source = duckdb_shop(tmp_path / "shop.duckdb")
    with duckdb.connect(source, read_only=True):  # as in a notebook
        assert build(tmp_path, source, size=20, certify=False).complete
    with duckdb.connect(source) as connection:
        connection.execute("CREATE TABLE more (a INTEGER)")


@pytest.mark.slow
def test_a_manifest_repeats_a_build_of_duckdb(tmp_path: Path) -> None:
    source = duckdb_shop(tmp_path / "shop.duckdb")
    first = build(tmp_path / "1", source, size=30)
    config = agro_data.BuildConfig.from_file(first.version.path / "manifest.json")
    shutil.rmtree(tmp_path / "1" / "cache")
    again = agro_data.build(config=config, run=one_worker(tmp_path / "2"))
    assert again.version.verify_hashes() == []
    assert told(again.version) == told(first.version)


def told(version: Version) -> tuple[dict[str, Any], dict[str, str]]:
    """Hashes of a version's files; of DuckDB files, which are never written twice alike, those of their content."""
    files = version.manifest["files"]
    duck = {name for name in files if name.endswith(".duckdb")}
    assert duck
    plain = {name: facts for name, facts in files.items() if name not in duck}
    return plain, {name: content_hash(version.path / name, "duckdb") for name in sorted(duck)}
