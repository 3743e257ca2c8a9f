"""Pairs in the forms in which people keep them."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
from pathlib import Path

import pytest
from evaluation.question_files import ROWS, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.evaluation.load import load_pairs, load_predictions, load_questions
from agro_data.rows import UnreadableInput


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".tsv", ".parquet"])
def test_every_form_gives_the_same_pairs(tmp_path: Path, suffix: str) -> None:
    loaded = load_pairs(write(tmp_path / f"train{suffix}", ROWS))
    assert not loaded.problems
    assert [(p.db_id, p.question, p.sql) for p in loaded.pairs] == [tuple(row.values()) for row in ROWS]
    assert {p.split for p in loaded.pairs} == {"train"}
    assert "3" in loaded.pairs[2].place


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_a_list_of_golds_is_the_gold_and_what_is_right_too(tmp_path: Path, suffix: str) -> None:
    rows = [{**row, "query": [row["query"], "SELECT 1"], "alternatives": ["SELECT 2", "SELECT 1"]} for row in ROWS]
    loaded = load_pairs(write(tmp_path / f"train{suffix}", rows))
    assert [pair.sql for pair in loaded.pairs] == [row["query"] for row in ROWS]
    assert {pair.alternatives for pair in loaded.pairs} == {("SELECT 1", "SELECT 2")}


def test_a_cell_holds_a_list_as_json(tmp_path: Path) -> None:
    rows = [{**row, "query": json.dumps([row["query"], "SELECT 1"]), "alternatives": '["SELECT 2"]'} for row in ROWS]
    rows.append({**ROWS[0], "query": "[not json]", "alternatives": ""})
    loaded = load_pairs(write(tmp_path / "train.csv", rows))
    assert [pair.sql for pair in loaded.pairs] == [*(row["query"] for row in ROWS), "[not json]"]
    assert [pair.alternatives for pair in loaded.pairs] == [("SELECT 1", "SELECT 2")] * len(ROWS) + [()]


def test_names_of_fields_may_have_spaces(tmp_path: Path) -> None:
    names = {"db_id": "Database Name", "question": "Natural Language  Question", "query": "Gold SQL"}
    rows = [{names.get(name, name): value for name, value in row.items()} for row in ROWS]
    loaded = load_pairs(write(tmp_path / "train.csv", rows))
    assert [(p.db_id, p.question, p.sql) for p in loaded.pairs] == [tuple(row.values()) for row in ROWS]


def test_other_fields_are_no_lists(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "evidence": ["one", "two"], "split": ["train"]}]
    [pair] = load_pairs(write(tmp_path / "a.json", rows)).pairs
    assert (pair.evidence, pair.split, pair.alternatives) == ("", "", ())


def test_a_prompt_for_sql_is_the_question(tmp_path: Path) -> None:
    rows = [
        {"db_id": "d", "sql_prompt": "How many?", "sql_context": "CREATE TABLE t (a)", "sql": "SELECT COUNT(*) FROM t"}
    ]
    [pair] = load_pairs(write(tmp_path / "a.jsonl", rows)).pairs
    assert (pair.question, pair.sql) == ("How many?", "SELECT COUNT(*) FROM t")


def test_instructions_are_evidence(tmp_path: Path) -> None:
    rows = [{**row, "instructions": "MoM is the change by month"} for row in ROWS]
    assert {pair.evidence for pair in load_pairs(write(tmp_path / "a.csv", rows)).pairs} == {rows[0]["instructions"]}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le-bom", "utf-32", "cp1252"])
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv"])
def test_encodings(tmp_path: Path, suffix: str, encoding: str) -> None:
    file = tmp_path / f"pairs{suffix}"
    if encoding == "utf-16-le-bom":
        write(file, ROWS)
        file.write_bytes(b"\xff\xfe" + file.read_text(encoding="utf-8").encode("utf-16-le"))
    else:
        write(file, ROWS, encoding)
    assert [p.question for p in load_pairs(file).pairs] == [row["question"] for row in ROWS]


def test_a_name_that_is_not_utf8_is_told_before_anything_is_graded(tmp_path: Path) -> None:
    file = write(tmp_path / "caf\udce9.json", ROWS)
    with pytest.raises(UnreadableInput, match="its name is not UTF-8; rename it"):
        load_pairs(file)


def test_a_code_page_that_nothing_says_is_told(tmp_path: Path) -> None:
    file = write(tmp_path / "pairs.csv", [{**ROWS[0], "question": "Süd?"}], "cp1252")
    assert load_pairs(file).notes == ("pairs.csv: not UTF-8, read as Windows-1252",)
    assert load_questions(file).notes == load_pairs(file).notes
    assert not load_pairs(write(tmp_path / "utf8.csv", ROWS)).notes


@pytest.mark.parametrize("text", ["", "\t\t\n\t\n"])
def test_an_empty_file_is_said_to_be_one(tmp_path: Path, text: str) -> None:
    file = tmp_path / "gold.sql"
    file.write_text(text)
    for load in (load_pairs, load_questions, load_predictions):
        with pytest.raises(UnreadableInput, match=r"gold\.sql: the file is empty"):
            load(file)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (b"caf\xe9", r"pairs\.csv: line 3 cannot be read as utf-8 \(byte 0xe9: .*\); save the file as UTF-8"),
        (b"\xff" * 3, r"line 3 cannot be read as utf-8 \(byte 0xff"),
    ],
)
def test_one_byte_that_is_not_utf8_makes_no_code_page_of_a_file(tmp_path: Path, damage: bytes, says: str) -> None:
    file = tmp_path / "pairs.csv"
    file.write_bytes("db_id,question,sql\nshop,日本?,SELECT 1\nshop,".encode() + damage + b",SELECT 2\n")
    with pytest.raises(UnreadableInput, match=says):
        load_pairs(file)


def test_what_no_code_page_holds_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"db_id,question,sql\nshop,a\x9d,SELECT 1\n")
    with pytest.raises(UnreadableInput, match=r"a\.csv: line 2 is neither UTF-8 nor Windows-1252 \(byte 0x9d\)"):
        load_pairs(tmp_path / "a.csv")


def test_marks_between_tabs_are_text_where_they_quote_no_cell(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    for marked in ('"SELECT name FROM branch', '"Hello" is what?'):
        file.write_text(f"db_id\tpred\nshop\tSELECT 1\nshop\t{marked}\nshop\tSELECT 2\n")
        assert [one.predictions for one in load_predictions(file).predictions] == [
            ("SELECT 1",),
            (marked,),
            ("SELECT 2",),
        ]


def test_a_mark_without_its_partner_swallows_no_rows_unsaid(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('db_id,question,sql\nshop,q,SELECT 1\nshop,"q,SELECT 2\nshop,q,SELECT 3\n')
    with pytest.raises(UnreadableInput, match=r"a\.csv: a quotation mark at or after line 3 has no partner"):
        load_pairs(file)
    file.write_text('db_id,question,sql\nshop,"q,SELECT 1\nshop,q,SELECT 2\nshop,"q",SELECT 3\nshop,q,SELECT 4\n')
    loaded = load_pairs(file)
    assert [(one.place, one.sql) for one in loaded.pairs] == [("a.csv, row 1", "SELECT 4")]
    assert [one.place for one in loaded.problems] == ["a.csv, lines 2 to 4"]


def test_of_columns_with_one_name_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("db_id,question,question,sql\nshop,one,two,SELECT 1\n")
    with pytest.raises(UnreadableInput, match=r"a\.csv: two columns are called 'question'; rename one"):
        load_pairs(file)
    file.write_text("db_id,question,sql,,\nshop,one,SELECT 1,,\n")  # as Excel leaves columns that are empty
    assert len(load_pairs(file).pairs) == 1


def test_lists_in_lists_without_end_are_no_json(tmp_path: Path) -> None:
    deep = "[" * 100_000
    (tmp_path / "deep.json").write_text(deep)
    with pytest.raises(UnreadableInput, match=r"deep\.json: not JSON"):
        load_pairs(tmp_path / "deep.json")
    (tmp_path / "lines.jsonl").write_text(json.dumps(ROWS[0]) + "\n" + deep + "\n")
    loaded = load_pairs(tmp_path / "lines.jsonl")
    assert len(loaded.pairs) == 1
    assert [(one.place, one.reason[:8]) for one in loaded.problems] == [("lines.jsonl, line 2", "not JSON")]


@pytest.mark.parametrize("name", ["p.jsonl.gz", "p.jsonl", "p.csv", "p.sql"])
def test_a_packed_file_is_said_to_be_packed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b'{"db_id": "shop", "gold": "SELECT 1", "pred": "SELECT 1"}'))
    with pytest.raises(UnreadableInput, match=r"p\..*: is packed \(gzip\), and text was expected; unpack it"):
        load_predictions(tmp_path / name)


@pytest.mark.parametrize("text", [b"", b"db_id,gold\nshop,SELECT 1\n"])
def test_a_text_may_begin_as_the_magic_of_bzip2_does(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "p.csv").write_bytes(bz2.compress(text))
    with pytest.raises(UnreadableInput, match=r"p\.csv: is packed \(bzip2\)"):
        load_pairs(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_bytes(b"BZhId,db_id,gold,pred\n1,shop,SELECT 1,SELECT 2\n")
    assert len(load_pairs(tmp_path / "p.csv").pairs) == 1


def test_bytes_that_are_no_text_are_of_no_code_page(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(b'{"db_id": "shop", "pred": "\x00\x00\xe4"}\n')
    with pytest.raises(UnreadableInput, match=r"p\.jsonl: line 1 cannot be read as utf-8"):
        load_predictions(tmp_path / "p.jsonl")


@pytest.mark.parametrize(("item", "kind"), [(None, "null"), (3, "a number"), (True, "true or false"), ([1], "a list")])
def test_what_stands_in_place_of_a_row_is_named_in_words(tmp_path: Path, item: object, kind: str) -> None:
    (tmp_path / "p.json").write_text(json.dumps([ROWS[0], item]))
    [problem] = load_pairs(tmp_path / "p.json").problems
    assert str(problem) == f"p.json, row 2: expected an object, or SQL as a text, found {kind}"


def test_an_object_of_nothing_is_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("{}")
    with pytest.raises(UnreadableInput, match="the file is empty"):
        load_predictions(tmp_path / "p.json")


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_any_text_survives_json_lines_and_csv(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    whole = [{"db_id": "d", "question": question, "sql": sql} for question, sql in rows]
    expected = [(question.strip(), sql.strip()) for question, sql in rows]
    for suffix in (".json", ".jsonl", ".csv", ".tsv"):
        loaded = load_pairs(write(tmp_path / f"x{suffix}", whole))
        assert [(p.question, p.sql) for p in loaded.pairs] == expected, suffix


@pytest.mark.parametrize(
    "names", [("db", "Question", "SQL"), ("database", "utterance", "gold_sql"), ("DB_ID", "nl", "Query")]
)
def test_common_spellings(tmp_path: Path, names: tuple[str, str, str]) -> None:
    rows = [dict(zip(names, row.values(), strict=True)) for row in ROWS]
    assert [p.sql for p in load_pairs(write(tmp_path / "a.json", rows)).pairs] == [row["query"] for row in ROWS]


def test_parse_trees_are_not_taken_for_sql(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "sql": {"select": [False, []]}, "query_toks": ["SELECT"]}]
    assert load_pairs(write(tmp_path / "train_spider.json", rows)).pairs[0].sql == ROWS[0]["query"]


@pytest.mark.parametrize("names", [("query", "sql"), ("Query", "SQL")])
@pytest.mark.parametrize("suffix", [".json", ".csv", ".parquet"])
def test_a_query_beside_sql_is_the_question(tmp_path: Path, names: tuple[str, str], suffix: str) -> None:
    rows = [{names[0]: r["question"], "db_id": r["db_id"], names[1]: r["query"]} for r in ROWS]
    file = write(tmp_path / f"a{suffix}", rows)
    expected = [(row["question"], row["query"]) for row in ROWS]
    assert [(p.question, p.sql) for p in load_pairs(file).pairs] == expected
    assert [(p.question, p.sql) for p in load_questions(file).pairs] == expected
    given = [{**row, "pred": "SELECT 1"} for row in rows]
    loaded = load_predictions(write(tmp_path / f"p{suffix}", given))
    assert [(p.question, p.gold) for p in loaded.predictions] == expected
    loaded = load_predictions(file, write(tmp_path / "dev.json", ROWS))
    assert [p.predictions for p in loaded.predictions] == [(row["query"],) for row in ROWS]


def test_a_query_beside_sql_and_a_question_is_sql(tmp_path: Path) -> None:
    rows = [{**row, "sql": "SELECT 2"} for row in ROWS]
    assert [p.sql for p in load_pairs(write(tmp_path / "a.json", rows)).pairs] == [row["query"] for row in ROWS]
    tree = {"db_id": "shop", "query": "SELECT 1", "sql": {"select": [False, []]}}
    assert load_pairs(write(tmp_path / "b.json", [tree])).pairs[0].sql == "SELECT 1"


def test_a_query_beside_sql_that_is_null_is_no_sql(tmp_path: Path) -> None:
    rows = [{"db_id": "shop", "query": "How many?", "sql": sql} for sql in ("SELECT 1", None)]
    loaded = load_pairs(write(tmp_path / "a.json", rows))
    assert [(p.question, p.sql) for p in loaded.pairs] == [("How many?", "SELECT 1")]
    assert [str(problem) for problem in loaded.problems] == ["a.json, row 2: no SQL in this row"]


def test_a_file_without_sql_says_what_it_has(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", [{"db_id": "shop", "request": "x", "statement": "SELECT 1"}])
    with pytest.raises(UnreadableInput, match=r"no SQL field; expected `query`.*found: db_id, request, statement"):
        load_pairs(file)


@pytest.mark.parametrize("content", ["", "\n\n", "[]", "{}", "null", "3"])
def test_nothing_in_a_file_is_said(tmp_path: Path, content: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UnreadableInput, match=r"a\.json"):
        load_pairs(file)


def test_a_version_without_one_of_its_files_is_no_smaller_version(tmp_path: Path) -> None:
    names = ["train-00000-of-00001.parquet", "test-00000-of-00001.parquet"]
    (tmp_path / "data").mkdir()
    for name in names:
        write(tmp_path / "data" / name, ROWS)
    for manifest in ({"files": {f"data/{name}": {} for name in names}}, {"files": 3}, [], {}):
        (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        assert len(load_pairs(tmp_path).pairs) == 2 * len(ROWS)
    whole = {"files": {f"data/{name}": {} for name in names}}
    (tmp_path / "manifest.json").write_text(json.dumps(whole), encoding="utf-8")
    (tmp_path / "data" / names[1]).unlink()
    with pytest.raises(UnreadableInput, match=rf"damaged: data/{names[1]} is missing"):
        load_pairs(tmp_path)


def test_all_lists_of_an_object_are_read_in_order(tmp_path: Path) -> None:
    file = tmp_path / "splits.json"
    file.write_text(json.dumps({"train": ROWS[1:], "version": [1], "dev": ROWS[:1]}), encoding="utf-8")
    assert [p.sql for p in load_pairs(file).pairs] == [row["query"] for row in (*ROWS[1:], ROWS[0])]


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    lines = [json.dumps(ROWS[0]), '{"db_id": "shop", ', json.dumps({"db_id": "shop", "question": "q"}), "7", ""]
    file.write_text("\n".join([*lines, json.dumps(ROWS[2])]), encoding="utf-8")
    loaded = load_pairs(file)
    assert [p.place for p in loaded.pairs] == ["a.jsonl, line 1", "a.jsonl, line 6"]
    assert [p.place for p in loaded.problems] == ["a.jsonl, line 2", "a.jsonl, line 3", "a.jsonl, line 4"]
    assert "no SQL" in loaded.problems[1].reason


def test_long_cells_are_read_and_other_readers_keep_their_bound(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (tmp_path / "long.csv").write_text(f'db_id,question,query\nshop,"{"x" * 200_000}",SELECT 1\n')
    assert len(load_pairs(tmp_path / "long.csv").pairs[0].question) == 200_000
    assert csv.field_size_limit() == before


def test_a_row_of_csv_with_too_few_cells(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("db_id,question,sql\nshop,q,SELECT 1\nshop,q\nshop,q,SELECT 2\n", encoding="utf-8")
    loaded = load_pairs(file)
    assert [p.sql for p in loaded.pairs] == ["SELECT 1", "SELECT 2"]
    assert "row 2 (line 3): 2 cells, expected 3" in str(loaded.problems[0])


def test_lines_of_sql_with_database(tmp_path: Path) -> None:
    file = tmp_path / "gold.txt"
    file.write_text("SELECT 1\tshop\nSELECT\t2\tzoo\n\nSELECT 3\tshop\r\n", encoding="utf-8")
    assert [(p.sql, p.db_id) for p in load_pairs(file).pairs] == [
        ("SELECT 1", "shop"),
        ("SELECT\t2", "zoo"),
        ("SELECT 3", "shop"),
    ]


def test_a_spider_folder(tmp_path: Path) -> None:
    write(tmp_path / "train_spider.json", ROWS[:1])
    write(tmp_path / "train_others.json", ROWS[1:2])
    write(tmp_path / "dev.json", ROWS[2:])
    write(tmp_path / "realistic.json", ROWS[2:])
    (tmp_path / "tables.json").write_text('[{"db_id": "shop", "table_names": []}]', encoding="utf-8")
    loaded = load_pairs(tmp_path)
    assert [(p.split, p.db_id) for p in loaded.pairs] == [("train", "shop"), ("train", "shop"), ("dev", "zoo")]
    assert any("realistic.json" in note for note in loaded.notes)


def test_a_bird_folder(tmp_path: Path) -> None:
    row = {"question_id": 7, "db_id": "shop", "question": "q", "evidence": "big means size > 3", "SQL": "SELECT 1"}
    write(tmp_path / "dev.json", [row])
    (tmp_path / "dev_tables.json").write_text("[]", encoding="utf-8")
    (pair,) = load_pairs(tmp_path).pairs
    assert (pair.evidence, pair.sql, pair.identity, pair.split) == ("big means size > 3", "SELECT 1", "7", "dev")


def test_a_folder_without_pairs_names_those_below_that_have_some(tmp_path: Path) -> None:
    """BIRD's root is one: `train/`, `dev/`."""
    for name in ("train", "dev", "empty", ".part"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / ("tables.json" if name == "empty" else "dev.json"), ROWS)
    with pytest.raises(UnreadableInput, match=r"in this folder; there are some in dev, train: give one of these$"):
        load_pairs(tmp_path)
    with pytest.raises(UnreadableInput, match=r"in this folder$"):
        load_pairs(tmp_path / "empty")


def test_a_corpus_version(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    row = {"example_id": "ab", "db_id": "d", "question": "q", "sql": "SELECT 1", "split": "test", "evidence": None}
    write(tmp_path / "data" / "test-00000.parquet", [{**row, "alternatives": ["SELECT 2"]}])
    (pair,) = load_pairs(tmp_path).pairs
    assert (pair.identity, pair.split, pair.evidence, pair.alternatives) == ("ab", "test", "", ("SELECT 2",))


def test_three_bars_separate_golds(tmp_path: Path) -> None:
    row = {"db_id": "d", "query": "SELECT a || '|||' ||| SELECT b ||| (SELECT c)"}
    (pair,) = load_pairs(write(tmp_path / "a.csv", [row])).pairs
    assert (pair.sql, pair.alternatives) == ("SELECT a || '|||'", ("SELECT b", "(SELECT c)"))


def test_alternatives_are_found_in_any_letter_case(tmp_path: Path) -> None:
    row = {"DB_ID": "d", "Question": "q", "SQL": "SELECT 1", "Alternatives": ["SELECT 2"]}
    (pair,) = load_pairs(write(tmp_path / "pairs.json", [row])).pairs
    assert pair.alternatives == ("SELECT 2",)


def test_real_files(shared_data: Path) -> None:
    train = load_pairs(shared_data / "spider" / "train.json")
    assert len(train.pairs) == 5110
    assert not train.problems
    dev = load_pairs(shared_data / "spider")
    assert {p.split for p in dev.pairs} == {"train", "dev"}
