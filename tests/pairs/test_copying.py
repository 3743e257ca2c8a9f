"""Copies in every layout: the changed row keeps its old SQL, the others stay, the source is never touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from agro_data.cli import data
from agro_data.config import ConfigError
from agro_data.evaluation.load import load_pairs
from agro_data.pairs.copying import corrected_copy
from agro_data.rows import Row, read_rows

OLD, OTHER, NEW = "SELECT nane FROM stall", "SELECT count(*) FROM stall", "SELECT name FROM stall"
ROWS = [
    {"db_id": "market", "question": "Wie viele Stände?", "query": OTHER},
    {"db_id": "market", "question": "Names?", "query": OLD},
]


def write(file: Path) -> Path:
    if file.suffix == ".json":
        file.write_text(json.dumps(ROWS, indent=1, ensure_ascii=False), encoding="utf-8")
    elif file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(row) + "\n\n" for row in ROWS), encoding="utf-8")
    elif file.suffix in (".csv", ".tsv"):
        pl.DataFrame(ROWS).write_csv(file, separator="\t" if file.suffix == ".tsv" else ",")
    elif file.suffix == ".parquet":
        pl.DataFrame(ROWS).write_parquet(file)
    else:
        file.write_text("".join(f"{row['query']}\tmarket\n" for row in ROWS), encoding="utf-8")
    return file


def test_pairs_that_are_called_like_the_report_are_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "report.jsonl")
    verb = ["audit", source, "--databases", tmp_path, "--out", tmp_path / "out"]
    done = CliRunner().invoke(data, [str(word) for word in verb])
    assert isinstance(done.exception, ConfigError)
    assert "rename it" in str(done.exception)


@pytest.mark.parametrize("suffix", ["json", "jsonl", "parquet"])
def test_of_several_golds_the_first_is_mended(tmp_path: Path, suffix: str) -> None:
    rows = [{**row, "query": [row["query"], OTHER]} for row in ROWS]
    source = tmp_path / f"pairs.{suffix}"
    if suffix == "parquet":
        pl.DataFrame(rows).write_parquet(source)
    else:
        source.write_text(json.dumps(rows) if suffix == "json" else "".join(json.dumps(row) + "\n" for row in rows))
    [copy] = corrected_copy(source, tmp_path / "out", {load_pairs(source).pairs[1].place: NEW})
    assert [(pair.sql, pair.alternatives) for pair in load_pairs(copy).pairs] == [(OTHER, ()), (NEW, (OTHER,))]
    fields = [item.fields for item in read_rows(copy) if isinstance(item, Row)]
    assert list(fields[1]["query_original"]) == [OLD, OTHER]


def test_a_cell_with_a_list_stays_one(tmp_path: Path) -> None:
    source = tmp_path / "pairs.csv"
    pl.DataFrame([{**row, "query": json.dumps([row["query"], OTHER])} for row in ROWS]).write_csv(source)
    [copy] = corrected_copy(source, tmp_path / "out", {load_pairs(source).pairs[1].place: NEW})
    assert [(pair.sql, pair.alternatives) for pair in load_pairs(copy).pairs] == [(OTHER, ()), (NEW, (OTHER,))]
    fields = [item.fields for item in read_rows(copy) if isinstance(item, Row)]
    assert json.loads(fields[1]["query_original"]) == [OLD, OTHER]


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "parquet", "sql"])
def test_a_copy_has_the_new_sql_and_the_old_beside_it(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"pairs.{suffix}")
    before = source.read_bytes()
    pairs = load_pairs(source).pairs
    written = corrected_copy(source, tmp_path / "out", {pairs[1].place: NEW})
    assert source.read_bytes() == before
    copy = load_pairs(written[0]).pairs
    assert [pair.sql for pair in copy] == [OTHER, NEW]
    assert [(pair.place, pair.db_id, pair.question) for pair in copy] == [
        (pair.place, pair.db_id, pair.question) for pair in pairs
    ]
    beside = (written[1] if suffix == "sql" else written[0]).read_bytes()
    assert suffix == "parquet" or OLD.encode() in beside
    if suffix == "parquet":
        assert pl.read_parquet(written[0])["query_original"].to_list() == [None, OLD]
    if suffix == "jsonl":
        assert written[0].read_text(encoding="utf-8").split("\n")[0] == json.dumps(ROWS[0])


def test_marks_that_are_text_between_tabs_stay_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "pairs.tsv"
    source.write_text(f'db_id\tquestion\tquery\nmarket\t"Names" of all?\t{OLD}\n')
    (copy,) = corrected_copy(source, tmp_path / "out", {load_pairs(source).pairs[0].place: NEW.replace(" F", "\nF")})
    assert copy.read_text().splitlines()[1] == f'market\t"Names" of all?\t{NEW}\t{OLD}'


BIRD = f"{OLD}\t----- bird -----\tmarket"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.json", json.dumps([f"{OTHER}\tmarket", f"{OLD}\tmarket"]), [f"{OTHER}\tmarket", f"{NEW}\tmarket"]),
        ("a.json", json.dumps({"1": OTHER + BIRD[len(OLD) :], "0": BIRD}), {"1": OTHER + BIRD[len(OLD) :], "0": BIRD}),
        ("a.json", json.dumps({"rows": [ROWS[0], BIRD], "of": "us"}), {"rows": [ROWS[0], BIRD], "of": "us"}),
        ("a.jsonl", f"{json.dumps(ROWS[0])}\n{json.dumps(BIRD)}\n", f"{json.dumps(ROWS[0])}\n{json.dumps(BIRD)}\n"),
        ("a.sql", f"{OTHER}\tmarket\r\n{BIRD}\r\n", f"{OTHER}\tmarket\r\n{BIRD}\r\n"),
    ],
)
def test_a_row_that_is_a_text_stays_one(tmp_path: Path, name: str, content: str, expected: Any) -> None:
    source = tmp_path / name
    source.write_bytes(content.encode())
    [old] = [pair.place for pair in load_pairs(source).pairs if pair.sql == OLD]
    copy = corrected_copy(source, tmp_path / "out", {old: NEW})[0]
    text = copy.read_bytes().decode()
    if isinstance(expected, str):
        assert text == expected.replace(OLD, NEW)
    else:
        assert json.loads(text) == json.loads(json.dumps(expected).replace(OLD, NEW))


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "sql"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_line_ends_and_the_byte_order_mark_stay(tmp_path: Path, suffix: str, encoding: str) -> None:
    """Without its mark Excel reads a file of UTF-8 as one of its own code page."""
    source = write(tmp_path / f"pairs.{suffix}")
    source.write_bytes(source.read_text(encoding="utf-8").replace("\n", "\r\n").encode(encoding))
    copy = corrected_copy(source, tmp_path / "out", {load_pairs(source).pairs[1].place: NEW})[0]
    assert [pair.sql for pair in load_pairs(copy).pairs] == [OTHER, NEW]
    text = copy.read_bytes().decode(encoding)
    assert copy.read_bytes() == text.encode(encoding)  # begins with the mark
    assert text.count("\n") == text.count("\r\n") >= len(ROWS)


@pytest.mark.parametrize("suffix", ["json", "jsonl", "sql"])
def test_what_an_audit_wrote_is_read_without_its_report(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"pairs.{suffix}")
    out = tmp_path / "out"
    corrected_copy(source, out, {load_pairs(source).pairs[1].place: NEW})
    report = write(out / "report.jsonl")
    found = load_pairs(out)
    assert [(pair.place.split(",")[0], pair.sql) for pair in found.pairs] == [(source.name, OTHER), (source.name, NEW)]
    assert found.notes[:1] == ("report.jsonl: passed over as an audit's report; give the file itself to read it",)
    assert len(load_pairs(report).pairs) == 2


def test_a_report_by_itself_is_somebodys_pairs(tmp_path: Path) -> None:
    write(tmp_path / "report.jsonl")
    assert len(load_pairs(tmp_path).pairs) == 2


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_of_two_sets_in_one_table_each_row_is_mended_where_its_sql_stands(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"db_id": "market", "question": "Names?", "query": None, "SQL": OLD, "query_original": None},
        {"db_id": "market", "question": "Count?", "query": OTHER, "SQL": None, "query_original": "SELECT 1"},
        {"db_id": "market", "question": "All?", "query": OLD, "SQL": None, "query_original": None},
    ]
    source = tmp_path / f"pairs.{suffix}"
    frame = pl.DataFrame(rows)
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[suffix](source)
    pairs = load_pairs(source).pairs
    (copy,) = corrected_copy(source, tmp_path / "out", {pair.place: NEW for pair in pairs})
    assert [pair.sql for pair in load_pairs(copy).pairs] == [NEW, NEW, NEW]
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[suffix](copy)
    kept = [one or None for one in read["query_original"]], [one or None for one in read["SQL_original"]]
    assert kept == ([None, "SELECT 1", OLD], [OLD, None, None])


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_half_a_character_is_copied_as_it_was_spelt(tmp_path: Path, suffix: str) -> None:
    row = {**ROWS[1], "question": "Names? \ud83d"}
    source = tmp_path / f"pairs.{suffix}"
    source.write_text(json.dumps([row] if suffix == "json" else row), encoding="utf-8")
    (copy,) = corrected_copy(source, tmp_path / "out", {load_pairs(source).pairs[0].place: NEW})
    copied = json.loads(copy.read_text(encoding="utf-8"))
    assert ([copied] if suffix == "jsonl" else copied) == [{**row, "query": NEW, "query_original": OLD}]


def test_what_spider_derives_from_the_old_sql_does_not_stand_beside_the_new(tmp_path: Path) -> None:
    row = ROWS[1] | {"query_toks": ["SELECT"], "sql": {"select": []}}
    (tmp_path / "train.json").write_text(json.dumps([row]), encoding="utf-8")
    (copy,) = corrected_copy(tmp_path, tmp_path / "out", {"train.json, row 1": NEW})
    assert json.loads(copy.read_text(encoding="utf-8")) == [
        {
            "db_id": "market",
            "question": "Names?",
            "query": NEW,
            "query_original": OLD,
            "query_toks_original": ["SELECT"],
            "sql_original": {"select": []},
        }
    ]


def test_the_source_is_refused_as_target(tmp_path: Path) -> None:
    source = write(tmp_path / "pairs.json")
    with pytest.raises(ConfigError, match=r"holds pairs\.json itself"):
        corrected_copy(source, tmp_path, {"pairs.json, row 2": NEW})
    assert json.loads(source.read_text(encoding="utf-8")) == ROWS


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "parquet", "sql"])
def test_a_file_without_a_change_is_copied_as_it_is_over_what_an_earlier_run_mended(
    tmp_path: Path, suffix: str
) -> None:
    source = write(tmp_path / f"pairs.{suffix}")
    fresh = corrected_copy(source, tmp_path / "fresh", {})
    assert fresh[0] == tmp_path / "fresh" / source.name
    earlier = corrected_copy(source, tmp_path / "out", {load_pairs(source).pairs[1].place: NEW})
    assert earlier[0].read_bytes() != source.read_bytes()
    again = corrected_copy(source, tmp_path / "out", {})
    assert [path.name for path in again] == [path.name for path in earlier] == [path.name for path in fresh]
    for path in (*fresh, *again):
        assert path.read_bytes() == source.read_bytes()


def test_of_a_folder_each_file_is_copied(tmp_path: Path) -> None:
    for name in ("train.json", "dev.json"):
        (tmp_path / name).write_text(json.dumps(ROWS), encoding="utf-8")
    written = corrected_copy(tmp_path, tmp_path / "out", {"dev.json, row 2": NEW})
    assert sorted(path.name for path in written) == ["dev.json", "train.json"]
    assert (tmp_path / "out" / "train.json").read_bytes() == (tmp_path / "train.json").read_bytes()
    assert [pair.sql for pair in load_pairs(tmp_path / "out" / "dev.json").pairs] == [OTHER, NEW]
