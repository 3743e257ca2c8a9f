"""Predictions in the forms in which people keep them, and the gold that each is held against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation.question_files import ROWS, write

from agro_data.evaluation.load import load_pairs, load_predictions
from agro_data.evaluation.loaded import LoadedPredictions
from agro_data.rows import UnreadableInput


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="is a folder, a file was expected"):
        load_predictions(tmp_path)


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


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1,\n  (SELECT 2)\nFROM a;\nSELECT 3;\nSELECT 4\nUNION\nSELECT 5;\n",
        "SELECT 1\nFROM a\n\nSELECT 3\n\n\nSELECT 4\n  WHERE b\n",
    ],
)
def test_statements_of_several_lines_are_put_together(tmp_path: Path, text: str) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("SELECT 1\td\nSELECT 2\td\nSELECT 3\te\n", encoding="utf-8")
    file = tmp_path / "pred.sql"
    file.write_text(text, encoding="utf-8")
    loaded = load_predictions(file, gold)
    assert [" ".join(p.predictions[0].split())[:8] for p in loaded.predictions] == ["SELECT 1", "SELECT 3", "SELECT 4"]
    assert "official scripts read one a line" in loaded.notes[0]
    file.write_text(text + "SELECT 6\n", encoding="utf-8")
    with pytest.raises(UnreadableInput, match=r"pred.sql, line \d begins no statement"):
        load_predictions(file, gold)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_field_that_is_called_line_is_no_line_of_sql(tmp_path: Path, suffix: str) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    given = write(tmp_path / f"p{suffix}", [{"line": n, "sql": f"SELECT {n}"} for n in range(len(ROWS))])
    loaded = load_predictions(given, gold)
    assert [p.predictions for p in loaded.predictions] == [(f"SELECT {n}",) for n in range(len(ROWS))]
    rows = [{**row, "query": row["query"] if n < 2 else "", "line": n} for n, row in enumerate(ROWS)]
    lacking = load_pairs(write(tmp_path / f"q{suffix}", rows))
    assert [str(one).partition(": ")[2] for one in lacking.problems] == ["no SQL in this row"]


def test_one_list_may_hold_all_predictions(tmp_path: Path) -> None:
    gold, file = write(tmp_path / "dev.json", ROWS[:2]), tmp_path / "p.json"
    file.write_text(json.dumps({"model": "m", "predictions": ["SELECT a", "SELECT b"]}), encoding="utf-8")
    assert [p.predictions for p in load_predictions(file, gold).predictions] == [("SELECT a",), ("SELECT b",)]


@pytest.mark.parametrize("name", ["generated_query", "final_sql", "SQL_pred", "llm sql"])
def test_whoever_wrote_it_predicted_it(tmp_path: Path, name: str) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    loaded = load_predictions(write(tmp_path / "p.csv", [{**row, name: "SELECT 8"} for row in ROWS]), gold)
    assert {p.predictions for p in loaded.predictions} == {("SELECT 8",)}


@pytest.mark.parametrize(
    "beside", [{"response": "It is SELECT 8"}, {"output": "SELECT 9"}, {"sql_model": "gpt"}, {"query_llm": "gpt"}]
)
def test_a_field_of_sql_counts_before_one_that_may_have_words_or_a_name(tmp_path: Path, beside: dict[str, str]) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    name = "sql" if "gpt" in beside.values() else "final_sql"
    loaded = load_predictions(write(tmp_path / "p.jsonl", [{**beside, name: "SELECT 8"} for _ in ROWS]), gold)
    assert {p.predictions for p in loaded.predictions} == {("SELECT 8",)}


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


def test_numbers_that_count_otherwise_are_not_taken_for_places_in_silence(tmp_path: Path) -> None:
    """Number 3 is no question of three: whether one was left out, or they count from 1, the file does not say."""
    answers = [{"0": "SELECT a", "2": "SELECT b", "3": "SELECT c"}, {"1": "SELECT a", "2": "SELECT b", "3": "SELECT c"}]
    gold = write(tmp_path / "dev.json", [{**row, "db_id": "shop", "question_id": n} for n, row in enumerate(ROWS)])
    for given in answers:
        with pytest.raises(UnreadableInput, match=r"p\.json, number . has the id ., but the gold at its place"):
            load_predictions(numbered(tmp_path / "p.json", given), gold)
    bare = write(tmp_path / "bare.json", [{**row, "db_id": "shop"} for row in ROWS])
    for given in answers:
        loaded = load_predictions(numbered(tmp_path / "p.json", given), bare)
        assert "p.json: the gold has no ids; rows are matched by their place" in loaded.notes


def test_a_second_answer_says_which_one_counts(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", ROWS)
    given = [{"db_id": ROWS[n]["db_id"], "question": ROWS[n]["question"], "pred": f"SELECT {n}"} for n in (0, 1, 0)]
    loaded = load_predictions(write(tmp_path / "p.json", given), gold)
    told = "p.json, row 3: answers what p.json, row 1 answered, which is what counts: passed over"
    assert [str(problem) for problem in loaded.problems] == [told]


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
    with pytest.raises(UnreadableInput, match="1 prediction for 2"):  # number 1 is the first that is left
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


def numbered_rows(tmp_path: Path) -> Path:
    """`ROWS` with the ids 0 to 2."""
    return write(tmp_path / "dev.json", [{**row, "id": n} for n, row in enumerate(ROWS)])


def test_ids_that_are_not_all_known_match_nothing(tmp_path: Path) -> None:
    gold = numbered_rows(tmp_path)
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


def test_ids_count_the_questions_of_a_gold_without_ids(tmp_path: Path) -> None:
    """And where they do not, rows are matched by their place, which a note says."""
    gold = write(tmp_path / "dev.json", ROWS)
    told = []
    for ids in ([2, 0, 1], [0, 1, 2], [3, 1, 2], [0, 1, 1]):
        given = [{"id": n, "pred": f"SELECT {n}"} for n in ids]
        loaded = load_predictions(write(tmp_path / "p.json", given), gold)
        in_turn = sorted(ids) if sorted(ids) == [0, 1, 2] else ids
        assert [p.predictions for p in loaded.predictions] == [(f"SELECT {n}",) for n in in_turn]
        told.append(loaded.notes)
    named = write(tmp_path / "named.json", [{**row, "example_id": f"e{n}"} for n, row in enumerate(ROWS)])
    own = load_predictions(write(tmp_path / "p.json", [{"id": n, "pred": f"SELECT {n}"} for n in (2, 0, 1)]), named)
    assert [p.predictions for p in own.predictions] == [("SELECT 0",), ("SELECT 1",), ("SELECT 2",)]
    assert "no id in it is one of the gold's; the ids in it are taken for the places" in own.notes[0]
    by_place = ("p.json: the gold has no ids; rows are matched by their place",)
    counted = ("p.json: the gold has no ids; the ids in it are taken for the places of the questions there, from 0",)
    assert told == [counted, (), by_place, by_place]
    broken = write(tmp_path / "broken.json", [ROWS[0], {"db_id": "shop"}, *ROWS[1:]])
    given = [{"id": n, "pred": f"SELECT {n}"} for n in (2, 0, 1)]
    loaded = load_predictions(write(tmp_path / "p.json", given), broken)  # number 1 may be the one left out
    assert [p.predictions for p in loaded.predictions] == [("SELECT 2",), ("SELECT 0",), ("SELECT 1",)]
    assert loaded.notes == by_place


@pytest.mark.parametrize("key", ["question", "id", None])
def test_a_database_may_be_named_by_its_id(tmp_path: Path, key: str | None) -> None:
    """Not by a name that gives the same id, as all Chinese ones do."""
    names = ("a b", "c d", "学校")
    rows = [{**row, "id": n, "db_id": name} for n, (row, name) in enumerate(zip(ROWS, names, strict=True))]
    gold = write(tmp_path / "dev.json", rows)

    def loaded(*databases: str) -> LoadedPredictions:
        kept = [{key: row[key]} if key else {} for row in rows]
        given = [{**one, "db_id": name, "pred": "SELECT 1"} for one, name in zip(kept, databases, strict=True)]
        return load_predictions(write(tmp_path / "p.json", given), gold)

    found = loaded("a_b", "C_D", "_")
    assert all(p.predictions for p in found.predictions), found.problems
    if key == "question":
        assert [p.predictions for p in loaded("a_b", "c_d", "商店").predictions][2] == ()
    else:
        with pytest.raises(UnreadableInput, match="is of database 商店, but its gold"):
            loaded("a_b", "c_d", "商店")


def test_the_id_for_which_ids_match_nothing_is_named(tmp_path: Path) -> None:
    many = [{"id": n, "pred": f"SELECT {n}"} for n in (0, 1, 2, 77)]
    with pytest.raises(UnreadableInput, match=r"\(p\.json, row 4 has the id 77, which no questions of the gold have\)"):
        load_predictions(write(tmp_path / "p.json", many), numbered_rows(tmp_path))


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
    gold = numbered_rows(tmp_path)
    given = [{"id": float(n), "pred": f"SELECT {n}"} for n in (2, 0, 1)]
    loaded = load_predictions(write(tmp_path / f"p{suffix}", given), gold)
    assert [p.predictions for p in loaded.predictions] == [("SELECT 0",), ("SELECT 1",), ("SELECT 2",)]
    gapped = load_predictions(write(tmp_path / "q.json", [{"id": float("nan"), "pred": "SELECT 1"}] * 3), gold)
    assert all(p.predictions == ("SELECT 1",) for p in gapped.predictions)


def test_a_question_of_several_databases_needs_its_database(tmp_path: Path) -> None:
    gold = write(tmp_path / "dev.json", restarting(("a", 0), ("b", 0), ("b", 1), question="How many?"))
    given = [{"question": "how  many?", "pred": "SELECT 1"}]
    with pytest.raises(UnreadableInput, match="1 prediction for 3 questions"):
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
    given = [{"id": 0, "pred": "SELECT 1"}, {"id": 1, "db_id": "zoo", "pred": "SELECT 1"}]
    with pytest.raises(UnreadableInput, match=r"p\.json, row 2 is of database zoo, but its gold \(dev\.json, row 2\)"):
        load_predictions(write(tmp_path / "p.json", given), numbered_rows(tmp_path))


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


@pytest.mark.parametrize(
    ("pred", "kind"), [({"sql": "SELECT 1"}, "an object"), ([None, {"a": 1}], "a list with an object"), (7, "a number")]
)
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
    predictions.write_text(json.dumps({"0": "SELECT 1\t----- bird -----\tshop"}))
    with pytest.raises(UnreadableInput, match="nothing to hold it against; give the questions' file with --gold"):
        load_predictions(predictions)
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


def test_real_files(shared_data: Path) -> None:
    sets = sorted((shared_data / "predictions" / "spider_dev").glob("*.json"))
    loaded = [load_predictions(file) for file in sets]
    assert sum(len(one.predictions) for one in loaded) == 7794
    assert not any(one.problems for one in loaded)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_questions_without_one_answer_are_left_out(tmp_path: Path, suffix: str) -> None:
    """Of a corpus version's rows, and of `agro predict`'s lines: its table does not count them, either."""
    rows = [{**row, "answerable": number != 1} for number, row in enumerate(ROWS)]
    why = "`answerable` is false, or `is_impossible` true"
    said = f"left out, since no SQL can be right there: 1 question without one answer ({why})"
    own = [{"pred": f"SELECT {n}", "question": row["question"], "db_id": row["db_id"]} for n, row in enumerate(ROWS)]
    loaded = load_predictions(write(tmp_path / "p.json", own), write(tmp_path / f"gold{suffix}", rows))
    alone = load_predictions(
        write(tmp_path / f"p{suffix}", [{**row, **one} for row, one in zip(rows, own, strict=True)])
    )
    for found in (loaded, alone):
        assert [one.predictions for one in found.predictions] == [("SELECT 0",), ("SELECT 2",)]
        assert said in found.notes
        assert not found.problems
    with pytest.raises(UnreadableInput, match="nothing to score; left out"):
        load_predictions(write(tmp_path / "p.json", own), write(tmp_path / "g.json", [{**rows[1]}]))


def test_sql_by_the_id_of_its_question(tmp_path: Path) -> None:
    """As EHRSQL keeps it: an object from id to SQL, "null" where the model abstained; one question has no answer."""
    rows = [{**row, "id": f"e{n}9d", "is_impossible": n == 2} for n, row in enumerate(ROWS)]
    rows[2]["query"] = "null"
    gold = write(tmp_path / "valid.json", rows)
    predictions = tmp_path / "prediction.json"
    predictions.write_text(json.dumps({"e29d": "null", "e19d": "SELECT 1", "e09d": None}), encoding="utf-8")
    loaded = load_predictions(predictions, gold)
    assert [(one.identity, one.predictions) for one in loaded.predictions] == [("e09d", ()), ("e19d", ("SELECT 1",))]
    assert not loaded.problems
    assert [(pair.identity, pair.answerable) for pair in load_pairs(gold).pairs][1:] == [
        ("e19d", True),
        ("e29d", False),
    ]


def test_one_row_is_no_object_of_sql(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"db_id": "d", "gold": "SELECT 1", "pred": "SELECT 2"}), encoding="utf-8")
    assert [one.predictions for one in load_predictions(file).predictions] == [("SELECT 2",)]
