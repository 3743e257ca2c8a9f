from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from agro_data.diversity.decontamination import decontaminate, exclusion
from agro_data.diversity.excluded import UnreadableExclusion, read_excluded
from agro_data.diversity.normal_forms import literals, normal_sql

Make = Callable[..., pl.DataFrame]
HELD_OUT = [
    {"db_id": "x", "question": "How many singers do we have?", "query": "SELECT count(*) FROM singer"},
    {
        "db_id": "x",
        "question": "List the name, country and age of all singers ordered by age from the oldest to the youngest.",
        "query": "SELECT T1.name, T1.country FROM singer AS T1 WHERE T1.age > 20 ORDER BY T1.age DESC",
    },
]


def write(folder: Path, suffix: str) -> Path:
    path = folder / f"dev{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(HELD_OUT))
    elif suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in HELD_OUT))
    elif suffix == ".csv":
        pl.DataFrame(HELD_OUT).write_csv(path)
    else:
        pl.DataFrame(HELD_OUT).write_parquet(path)
    return path


def test_files_are_read_as_those_of_predictions_are(tmp_path: Path) -> None:
    """Names in any case; a separator of lines within a text ends no row; what cannot be read is not passed over."""
    path = tmp_path / "held.jsonl"
    path.write_text(json.dumps({"Question": "Who\u2028sings?", "Gold_SQL": "SELECT 1"}, ensure_ascii=False) + "\n")
    assert [(row.question, row.sql) for row in read_excluded([path])] == [("Who\u2028sings?", "SELECT 1")]
    path.write_text(json.dumps({"query": "Who sings?", "sql": "SELECT 1"}))
    assert [(row.question, row.sql) for row in read_excluded([path])] == [("Who sings?", "SELECT 1")]
    path.write_text('{"question": "Who?"}\n7\n')
    with pytest.raises(UnreadableExclusion, match=r"held\.jsonl, line 2: expected an object"):
        read_excluded([path])


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".parquet"])
def test_every_kind_of_file_is_read(tmp_path: Path, suffix: str) -> None:
    rows = read_excluded([write(tmp_path, suffix)])
    assert [row.sql for row in rows] == [row["query"] for row in HELD_OUT]
    assert rows[1].row == 2


def test_a_spider_folder_is_read_without_its_schema_file(tmp_path: Path) -> None:
    write(tmp_path, ".json")
    (tmp_path / "tables.json").write_text(json.dumps([{"db_id": "x", "table_names": ["singer"]}]))
    assert len(read_excluded([tmp_path])) == 2


@pytest.mark.parametrize("suffix", [".JSON", ".Jsonl", ".CSV", ".PARQUET"])
def test_files_of_a_folder_are_found_in_any_letter_case(tmp_path: Path, suffix: str) -> None:
    write(tmp_path, suffix.lower()).rename(tmp_path / f"DEV{suffix}")
    assert [row.sql for row in read_excluded([tmp_path])] == [row["query"] for row in HELD_OUT]


@pytest.mark.parametrize("name", ["dev_gold.sql", "dev_gold.TXT"])
def test_lines_of_sql_are_read_and_prose_is_not(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("\n".join(f"{row['query']}\tx" for row in HELD_OUT) + "\n\n")
    (tmp_path / "README.txt").write_text("The questions of a benchmark.\n")
    rows = read_excluded([tmp_path])
    assert [(row.source, row.row, row.sql) for row in rows] == [
        (name, number, row["query"]) for number, row in enumerate(HELD_OUT, 1)
    ]
    (tmp_path / name).unlink()
    for path in (tmp_path, tmp_path / "README.txt"):
        with pytest.raises(UnreadableExclusion, match="no line of SQL"):
            read_excluded([path])


def test_all_lists_of_an_object_are_read(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    path.write_text(json.dumps({"version": 1, "train": HELD_OUT[:1], "none": [], "dev": HELD_OUT[1:]}))
    assert [(row.row, row.sql) for row in read_excluded([path])] == [
        (number, row["query"]) for number, row in enumerate(HELD_OUT, 1)
    ]
    path.write_text(json.dumps({"train": HELD_OUT, "dev": [None, HELD_OUT[0]]}))
    with pytest.raises(UnreadableExclusion, match="row 3: expected an object"):
        read_excluded([path])


def test_files_that_cannot_serve_are_named(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('[{"text": "x"}]')
    (tmp_path / "broken.json").write_text("[{")
    for name, message in (("notes.json", "column named"), ("broken.json", "cannot be read"), ("no.csv", "no such")):
        with pytest.raises(UnreadableExclusion, match=f"{name}.*{message}"):
            read_excluded([tmp_path / name])


def test_equal_and_nearly_equal_questions_and_sql_are_dropped_with_what_they_match(
    questions: Make, tmp_path: Path
) -> None:
    frame = questions(6, 1).with_columns(
        question=pl.Series(
            [
                "how many singers do we have",
                "List the name, country and age of all singers ordered by age from the oldest.",
                "Which one?",
                "And which other?",
                "Who else?",
                "How many singers do they have?",
            ]
        ),
        sql=pl.Series(
            [
                "SELECT 1",
                "SELECT 2",
                'select "name", s.country from singer as s where s.age > 20 order by s.age desc;',
                "SELECT COUNT( * ) FROM Singer",
                "SELECT count(*) FROM stadium",
                "SELECT 3",
            ]
        ),
    )
    kept, rejected = decontaminate(frame, exclusion([write(tmp_path, ".json")]))
    assert kept["sql"].to_list() == ["SELECT count(*) FROM stadium", "SELECT 3"]
    assert rejected["reason"].to_list() == ["excluded_question"] * 2 + ["excluded_sql"] * 2
    assert rejected["detail"][0] == "equals row 1 of dev.json"
    assert "8-grams with row 2 of dev.json" in rejected["detail"][1]


def test_files_to_exclude_are_read_again_only_where_they_have_changed(tmp_path: Path) -> None:
    """Each shard asks for them."""
    folder = tmp_path / "held"
    folder.mkdir()
    paths = [write(tmp_path, ".json"), folder]
    write(folder, ".jsonl")
    first = exclusion(paths)
    assert exclusion(list(paths)) is first
    (folder / "more.sql").write_text("SELECT 7 FROM stadium")
    assert first.match("Seven?", "SELECT 7 FROM stadium") is None
    assert exclusion(paths).match("Seven?", "SELECT 7 FROM stadium") == ("excluded_sql", "equals row 1 of more.sql")
    paths[0].unlink()
    with pytest.raises(UnreadableExclusion, match="no such file"):
        exclusion(paths)


def test_sql_normal_form_and_literals() -> None:
    assert normal_sql("SELECT T1.`Name` FROM singer AS T1") == normal_sql("select name from singer;")
    assert normal_sql("SELECT a FROM t WHERE b <> 'X'") == normal_sql('select a from t where b != "x" -- why')
    assert normal_sql("SELECT CAST(x AS REAL) FROM t") != normal_sql("SELECT x FROM t")
    sql = "SELECT a1, -b FROM t2 WHERE c = 'O''Hara' AND d > -1.5 AND e BETWEEN 1e3 AND 7 - 2 LIMIT 3 OFFSET 4"
    assert literals(sql) == ("O'Hara", "-1.5", "1e3", "7", "2", "3", "4")
    assert literals(sql, limits=False) == ("O'Hara", "-1.5", "1e3", "7", "2")
    assert literals('SELECT "1st", [2nd] FROM t -- 5') == ()
