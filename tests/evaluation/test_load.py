"""Pairs and predictions in the forms in which people keep them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agro_data.evaluation.load import load_pairs, load_predictions, load_questions
from agro_data.evaluation.rows import UnreadableInput

ROWS = [
    {"db_id": "shop", "question": "How many orders?", "query": "SELECT count(*) FROM orders"},
    {"db_id": "shop", "question": "Names, please; “all” of them", "query": "SELECT name,\n id FROM customer"},
    {"db_id": "zoo", "question": "Größte Tiere?", "query": "SELECT name FROM animal WHERE note = 'a, \"b\"'"},
]


def write(path: Path, rows: list[dict[str, Any]], encoding: str = "utf-8") -> Path:
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
        return path
    with path.open("w", encoding=encoding, newline="") as file:
        if path.suffix == ".json":
            json.dump(rows, file, ensure_ascii=False)
        elif path.suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".tsv", ".parquet"])
def test_every_form_gives_the_same_pairs(tmp_path: Path, suffix: str) -> None:
    loaded = load_pairs(write(tmp_path / f"train{suffix}", ROWS))
    assert not loaded.problems
    assert [(p.db_id, p.question, p.sql) for p in loaded.pairs] == [tuple(row.values()) for row in ROWS]
    assert {p.split for p in loaded.pairs} == {"train"}
    assert "3" in loaded.pairs[2].place


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
    with pytest.raises(UnreadableInput, match=r"a\.csv: line 2 cannot be read as cp1252 \(byte 0x9d"):
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


def test_a_corpus_version(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    row = {"example_id": "ab", "db_id": "d", "question": "q", "sql": "SELECT 1", "split": "test", "evidence": None}
    write(tmp_path / "data" / "test-00000.parquet", [{**row, "alternatives": ["SELECT 2"]}])
    (pair,) = load_pairs(tmp_path).pairs
    assert (pair.identity, pair.split, pair.evidence, pair.alternatives) == ("ab", "test", "", ("SELECT 2",))


def test_alternatives_are_found_in_any_letter_case(tmp_path: Path) -> None:
    row = {"DB_ID": "d", "Question": "q", "SQL": "SELECT 1", "Alternatives": ["SELECT 2"]}
    (pair,) = load_pairs(write(tmp_path / "pairs.json", [row])).pairs
    assert pair.alternatives == ("SELECT 2",)


# --- predictions -------------------------------------------------------------------------------------------------


def test_predictions_with_their_gold(tmp_path: Path) -> None:
    row = {"db_id": "d", "question": "q", "gold": "SELECT 1", "pred": "SELECT 2"}
    several = {"db_id": "d", "question": "q", "gold": "SELECT 1", "pred": ["SELECT 2", "", "SELECT 3"]}
    missing = {"db_id": "d", "question": "q", "gold": "SELECT 1", "pred": None}
    loaded = load_predictions(write(tmp_path / "a.jsonl", [row, several, missing]))
    assert [p.predictions for p in loaded.predictions] == [("SELECT 2",), ("SELECT 2", "", "SELECT 3"), ()]
    assert {p.gold for p in loaded.predictions} == {"SELECT 1"}


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".parquet"])
def test_a_gold_beside_the_predictions_is_no_prediction(tmp_path: Path, suffix: str) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    given = [
        {**row, "pred": pred, "output": "SELECT 8"} for row, pred in zip(ROWS, ["SELECT 1", None, ""], strict=True)
    ]
    loaded = load_predictions(write(tmp_path / f"p{suffix}", given), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 1",), (), ()]
    without = [{name: value for name, value in row.items() if name != "pred"} for row in ROWS]
    loaded = load_predictions(write(tmp_path / "q.json", [given[0], *without[1:]]), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 1",), (), ()]
    loaded = load_predictions(write(tmp_path / "all.json", [{**row, "pred": None} for row in ROWS]), gold)
    assert not any(p.predictions for p in loaded.predictions)


@pytest.mark.parametrize("blank", [False, True])
def test_official_prediction_files(tmp_path: Path, blank: bool) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("SELECT 1\td\nSELECT 2\td\nSELECT 3\te\n", encoding="utf-8")
    file = tmp_path / "pred.txt"
    second = "" if blank else "SELECT 22"
    file.write_text(f"SELECT 11\n{second}\nSELECT 33\n", encoding="utf-8")
    loaded = load_predictions(file, gold)
    expected = [("SELECT 11",), () if blank else ("SELECT 22",), ("SELECT 33",)]
    assert [p.predictions for p in loaded.predictions] == expected
    assert [p.gold for p in loaded.predictions] == ["SELECT 1", "SELECT 2", "SELECT 3"]


def test_bird_predictions(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS[:2])
    mark = "\t----- bird -----\t"
    answers = {"1": f"SELECT b{mark}shop", "0": f"SELECT a{mark}shop"}
    file = tmp_path / "predict_dev.json"
    file.write_text(json.dumps(answers), encoding="utf-8")
    assert [p.predictions for p in load_predictions(file, gold).predictions] == [("SELECT a",), ("SELECT b",)]


def test_predictions_are_matched_by_question_whatever_their_order(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    given = [{"db_id": r["db_id"], "question": r["question"], "sql": f"SELECT {n}"} for n, r in enumerate(ROWS)]
    stray = {"db_id": "shop", "question": "Who?", "sql": "SELECT 9"}
    loaded = load_predictions(write(tmp_path / "p.json", [given[2], stray, given[0]]), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 0",), (), ("SELECT 2",)]
    assert [str(problem) for problem in loaded.problems] == ["p.json, row 2: no such question in the gold file"]


def numbered(path: Path, answers: dict[str, str | None], db_id: str = "shop") -> Path:
    mark = "\t----- bird -----\t"
    path.write_text(json.dumps({key: sql and f"{sql}{mark}{db_id}" for key, sql in answers.items()}), encoding="utf-8")
    return path


@pytest.mark.parametrize("ids", [["", "", ""], ["0", "1", "2"], ["1471", "1472", "0"]])
def test_a_number_that_bird_predictions_lack_is_no_prediction(tmp_path: Path, ids: list[str]) -> None:
    rows = [{**row, "db_id": "shop", "question_id": one} for row, one in zip(ROWS, ids, strict=True)]
    gold = write(tmp_path / "dev.json", rows)
    loaded = load_predictions(numbered(tmp_path / "p.json", {"2": "SELECT c", "0": "SELECT a"}), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT a",), (), ("SELECT c",)]
    assert not loaded.problems
    loaded = load_predictions(numbered(tmp_path / "p.json", {"1": None, "2": "SELECT c"}), gold)
    assert [p.predictions for p in loaded.predictions] == [(), (), ("SELECT c",)]
    assert [problem.place for problem in loaded.problems] == ["p.json, number 1"]


def test_numbers_that_are_ids_are_matched_as_ids(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", [{**row, "db_id": "shop", "question_id": 7 - n} for n, row in enumerate(ROWS)])
    loaded = load_predictions(numbered(tmp_path / "p.json", {"7": "SELECT a", "5": "SELECT c"}), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT a",), (), ("SELECT c",)]


def test_numbers_that_cannot_be_told_are_refused(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    for answers, why in (({"1": "SELECT 1", "3": "SELECT 3"}, "2 predictions for 3"), ({"2": "SELECT c"}, "of zoo")):
        with pytest.raises(UnreadableInput, match=why):
            load_predictions(numbered(tmp_path / "p.json", answers), gold)
    broken = write(tmp_path / "broken.json", [{"db_id": "shop", "question": "q"}, *ROWS[:2]])
    with pytest.raises(UnreadableInput, match="1 predictions for 2"):  # number 1 is the first that is left
        load_predictions(numbered(tmp_path / "p.json", {"1": "SELECT a"}), broken)


def restarting(*places: tuple[str, int], **fields: str) -> list[dict[str, Any]]:
    return [{"db_id": db_id, "id": n, "query": f"SELECT '{db_id}{n}'", **fields} for db_id, n in places]


def test_ids_that_restart_in_each_database_are_matched_within_it(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.json", restarting(("a", 0), ("a", 1), ("b", 0), ("b", 1)))
    given = restarting(("b", 0), ("b", 1), ("A", 0), ("A", 1))
    loaded = load_predictions(write(tmp_path / "p.json", given), gold)
    assert all(p.predictions == (p.gold.replace("'a", "'A"),) for p in loaded.predictions)
    loaded = load_predictions(write(tmp_path / "q.json", given[1:2]), gold)
    assert [p.predictions for p in loaded.predictions] == [(), (), (), ("SELECT 'b1'",)]


def test_ids_of_several_questions_are_of_use_only_in_order(tmp_path: Path) -> None:
    places = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    gold = write(tmp_path / "gold.json", restarting(*places))
    bare = [{"id": n, "pred": f"SELECT '{db_id}{n}'"} for db_id, n in places]
    loaded = load_predictions(write(tmp_path / "p.json", bare), gold)
    assert all(p.predictions == (p.gold,) for p in loaded.predictions)
    for rows, why in (([bare[0], bare[2], bare[1], bare[3]], "not in the same order"), (bare[:3], "3 predictions")):
        with pytest.raises(UnreadableInput, match=why):
            load_predictions(write(tmp_path / "q.json", rows), gold)


def test_ids_that_are_not_all_known_match_nothing(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", [{**row, "id": n} for n, row in enumerate(ROWS)])
    shifted = [{"id": n + 1, "pred": f"SELECT {n}"} for n in range(3)]
    for rows, why in ((shifted, "has the id 1, but the gold .* has 0"), (shifted[1:], "2 predictions for 3")):
        with pytest.raises(UnreadableInput, match=why):
            load_predictions(write(tmp_path / "p.json", rows), gold)
    for names in (("question",), ("question", "db_id")):
        asked = [{**one, **{name: row[name] for name in names}} for one, row in zip(shifted, ROWS, strict=True)]
        loaded = load_predictions(write(tmp_path / "p.json", asked[::-1]), gold)
        assert [p.predictions for p in loaded.predictions] == [("SELECT 0",), ("SELECT 1",), ("SELECT 2",)]
    own = [{"id": f"mine-{n}", "pred": f"SELECT {n}"} for n in range(3)]
    loaded = load_predictions(write(tmp_path / "p.json", own), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 0",), ("SELECT 1",), ("SELECT 2",)]
    assert loaded.notes == ("p.json: no id in it is one of the gold's; rows are matched by their place",)


def test_the_id_for_which_ids_match_nothing_is_named(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", [{**row, "id": n} for n, row in enumerate(ROWS)])
    many = [{"id": n, "pred": f"SELECT {n}"} for n in (0, 1, 2, 77)]
    with pytest.raises(UnreadableInput, match=r"\(p\.json, row 4 has the id 77, which no questions of the gold have\)"):
        load_predictions(write(tmp_path / "p.json", many), gold)


def test_a_tab_in_a_line_of_predictions_is_of_the_statement_where_it_names_no_database(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    file = tmp_path / "p.sql"
    file.write_text("SELECT name FROM\tbranch\nSELECT 2\tshop\nSELECT 3\n", encoding="utf-8")
    loaded = load_predictions(file, gold)
    assert [one.predictions for one in loaded.predictions] == [
        ("SELECT name FROM\tbranch",),
        ("SELECT 2",),
        ("SELECT 3",),
    ]
    file.write_text("SELECT 1\tshop\nSELECT 2\tshop\nSELECT 3\tshop\n", encoding="utf-8")
    with pytest.raises(UnreadableInput, match=r"p\.sql, line 3 is of database shop, but its gold .* is of zoo"):
        load_predictions(file, gold)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_ids_of_a_table_with_gaps_are_whole_numbers(tmp_path: Path, suffix: str) -> None:
    gold = write(tmp_path / "dev.json", [{**row, "id": n} for n, row in enumerate(ROWS)])
    given = [{"id": float(n), "pred": f"SELECT {n}"} for n in (2, 0, 1)]
    loaded = load_predictions(write(tmp_path / f"p{suffix}", given), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 0",), ("SELECT 1",), ("SELECT 2",)]
    gapped = load_predictions(write(tmp_path / "q.json", [{"id": float("nan"), "pred": "SELECT 1"}] * 3), gold)
    assert all(p.predictions == ("SELECT 1",) for p in gapped.predictions)


def test_a_question_of_several_databases_needs_its_database(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", restarting(("a", 0), ("b", 0), ("b", 1), question="How many?"))
    given = [{"question": "how  many?", "pred": "SELECT 1"}]
    with pytest.raises(UnreadableInput, match="1 predictions for 3 questions"):
        load_predictions(write(tmp_path / "p.json", given), gold)
    loaded = load_predictions(write(tmp_path / "p.json", [{**given[0], "db_id": "b"}]), gold)
    assert [p.predictions for p in loaded.predictions] == [(), ("SELECT 1",), ()]


def test_another_question_than_the_gold_is_told_once(tmp_path: Path) -> None:
    rows = [{**row, "id": n} for n, row in enumerate(ROWS)]
    given = [{"id": n, "question": row["question"].upper(), "pred": f"SELECT {n}"} for n, row in enumerate(ROWS)]
    gold = write(tmp_path / "dev.json", rows)
    assert not load_predictions(write(tmp_path / "p.json", given), gold).problems
    swapped = [given[0], {**given[1], "id": 2}, {**given[2], "id": 1}]
    loaded = load_predictions(write(tmp_path / "p.json", swapped), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 0",), ("SELECT 2",), ("SELECT 1",)]
    (problem,) = map(str, loaded.problems)
    assert problem == "p.json, row 2: its question is not that of its gold (dev.json, row 3), and so for 1 more"
    by_place = [{"question": "Who?", "pred": "SELECT 1"} for _ in ROWS]
    (problem,) = map(str, load_predictions(write(tmp_path / "p.json", by_place), gold).problems)
    assert problem.startswith("p.json, row 1: its question is not that of its gold")


def test_an_id_whose_database_is_another_is_refused(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", [{**row, "id": n} for n, row in enumerate(ROWS)])
    given = [{"id": 0, "pred": "SELECT 1"}, {"id": 1, "db_id": "zoo", "pred": "SELECT 1"}]
    with pytest.raises(UnreadableInput, match=r"p\.json, row 2 is of database zoo, but its gold \(dev\.json, row 2\)"):
        load_predictions(write(tmp_path / "p.json", given), gold)


def test_as_many_predictions_in_another_order_are_refused(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    file = tmp_path / "p.txt"
    file.write_text("SELECT 1\tzoo\nSELECT 2\tshop\nSELECT 3\tshop\n", encoding="utf-8")
    with pytest.raises(UnreadableInput, match="not in the same order"):
        load_predictions(file, gold)


def test_too_few_predictions_that_say_nothing_of_their_question(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    file = tmp_path / "p.txt"
    file.write_text("SELECT 1\nSELECT 2\n", encoding="utf-8")
    with pytest.raises(UnreadableInput, match="2 predictions for 3 questions"):
        load_predictions(file, gold)


def test_real_files(shared_data: Path) -> None:
    train = load_pairs(shared_data / "spider" / "train.json")
    assert len(train.pairs) == 5110
    assert not train.problems
    dev = load_pairs(shared_data / "spider")
    assert {p.split for p in dev.pairs} == {"train", "dev"}
    sets = sorted((shared_data / "predictions" / "spider_dev").glob("*.json"))
    loaded = [load_predictions(file) for file in sets]
    assert sum(len(one.predictions) for one in loaded) == 7794
    assert not any(one.problems for one in loaded)


@pytest.mark.parametrize(("pred", "kind"), [({"sql": "SELECT 1"}, "dict"), ([None, {"a": 1}], "a list of dict")])
def test_a_prediction_in_another_form_is_not_passed_over(tmp_path: Path, pred: object, kind: str) -> None:
    rows = [{"db_id": "d", "gold": "SELECT 1", "pred": one} for one in ("SELECT 1", None, float("nan"), pred, pred)]
    for gold in (None, write(tmp_path / "gold.json", [{"db_id": "d", "query": "SELECT 1"}] * len(rows))):
        loaded = load_predictions(write(tmp_path / "p.json", rows), gold)
        assert [p.predictions for p in loaded.predictions] == [("SELECT 1",), (), (), (), ()]
        (problem,) = map(str, loaded.problems)
        assert problem == (
            f"p.json, row 4: its prediction is neither text nor a list of texts, but {kind}: it scores 0, "
            "and so for 1 more"
        )


def test_predictions_of_which_none_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"db_id" "d"}\n{"pred": "SELECT 1"\n', encoding="utf-8")
    with pytest.raises(UnreadableInput, match=r"first: p\.jsonl, line 1: not JSON"):
        load_predictions(file)


def test_a_file_without_predictions_is_told_at_once(tmp_path: Path) -> None:
    gold = tmp_path / "dev.json"
    gold.write_text(json.dumps([{"db_id": "shop", "question": "Who?", "query": "SELECT 1"}]))
    predictions = tmp_path / "pred.json"
    predictions.write_text(json.dumps([{"db_id": "shop", "question": "Who?", "foo": "SELECT 1"}]))
    with pytest.raises(UnreadableInput, match=r"no prediction field; expected `pred` .* found: db_id, question, foo"):
        load_predictions(predictions, gold)
    predictions.write_text("")
    with pytest.raises(UnreadableInput, match="no predictions to evaluate"):
        load_predictions(predictions, gold)


def test_rows_that_ask_again_are_told_and_paraphrases_are_not(tmp_path: Path) -> None:
    rows = [{"db_id": "shop", "question": question, "gold": "SELECT 1", "pred": "SELECT 2"} for question in "aABbb"]
    loaded = load_predictions(write(tmp_path / "p.json", rows))
    assert len(loaded.predictions) == 5
    assert loaded.notes == ("p.json, row 2 asks what p.json, row 1 asked: each is counted, and so for 2 more",)
    others = [{"db_id": "shop", "gold": "SELECT 1", "pred": "SELECT 2"}] * 3
    assert not load_predictions(write(tmp_path / "q.json", others)).notes
    numbered = [{**row, "question_id": number} for number, row in enumerate(rows)]
    assert not load_predictions(write(tmp_path / "r.json", numbered)).notes
