"""Builds that come to nothing say why: which database was left out, what took the candidates."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from making import build_corpus, make_school

import agro_data
from agro_data.config import ConfigError
from agro_data.populate.schema import PopulateError
from agro_data.publish.version import NotWritten

pytestmark = pytest.mark.ci


def build(databases: Path, **more: object) -> agro_data.Build:
    return build_corpus(databases.parent, databases, **{"size": 10} | more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "databases"
    made.mkdir()
    return made


def test_a_database_that_hides_all_its_tables_is_named(folder: Path) -> None:
    make_school(folder / "school.sqlite")
    hidden = {"tables": {name: {"hidden": True} for name in ("school", "teacher", "lesson")}}
    (folder / "school.semantics.yml").write_text(json.dumps(hidden), encoding="utf-8")
    (folder / "torn.sqlite").write_bytes(b"SQLite format 3\0" + b"\1" * 200)
    with pytest.raises(ConfigError, match="no database that can be used") as raised:
        build(folder)
    assert "\n  school: no table with rows, left out" in str(raised.value)
    assert "\n  torn.sqlite: " in str(raised.value)


def test_a_database_of_which_no_synthetic_copy_can_be_made_is_named(folder: Path) -> None:
    with duckdb.connect(folder / "flags.duckdb") as con:
        con.execute("CREATE TABLE flag (up BOOLEAN PRIMARY KEY, name VARCHAR)")  # a key of two values
        con.execute("INSERT INTO flag VALUES (true, 'a'), (false, 'b')")
    with pytest.raises(ConfigError, match="no database that can be used") as raised:
        build(folder, values="synthetic")
    assert "flags.duckdb: no synthetic copy could be made (PopulateError)" in str(raised.value)


def test_a_build_without_an_example_says_what_was_said_of_the_first_and_what_was_left_out(folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "city.csv").write_text("name\nBonn\n", encoding="utf-8")
    (folder / "torn.sqlite").write_bytes(b"SQLite format 3\0" + b"\1" * 200)
    first = build(folder)
    known = folder.parent / "known.jsonl"
    first.version.examples().select("question", "sql").collect().write_ndjson(known)
    with pytest.raises(NotWritten, match="no example is left") as raised:
        build(folder, exclude=[str(known)])
    said = str(raised.value)
    assert "; torn.sqlite: " in said
    counted = pl.concat([pl.read_parquet(path) for path in _refused(folder.parent)])
    reason = counted["reason"].mode()[0]
    first_of = said.partition(f"; the first of {reason}: ")[2].partition(";")[0]
    assert first_of
    assert any(first_of in " ".join(detail.split()) for detail in counted["detail"] if detail)


def test_why_instances_could_not_be_made_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PopulateError("school: lesson: Conversion Error")

    monkeypatch.setattr("agro_data.verify.certificates.making.write_instance", refuse)
    make_school(folder / "school.sqlite")
    with pytest.raises(
        NotWritten, match=r"; the first of uncertifiable: .*; school: \d+ instances? could not be made: "
    ):
        build(folder)


def _refused(place: Path) -> list[Path]:
    """What the last build dropped before selection."""
    works = sorted((place / "cache" / "work").iterdir(), key=lambda folder: folder.stat().st_mtime)
    return [path for path in works[-1].glob("*/rejected/*.parquet") if not path.name.startswith(".")]
