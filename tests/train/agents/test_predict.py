"""Files of predictions: what is asked, kept, gone on with and asked anew; the verb that writes them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from making import add_damaged, run_sqlite
from train.asked import ROWS, knows, make_place
from train.scripted import Scripted, agent, turn
from train.tiny import make_tiny_model

from agro_data.config import ConfigError
from agro_data.evaluation.load import load_predictions
from agro_data.locking import Locked
from agro_data.models import ModelMissing
from agro_train.agents.opening import open_agent
from agro_train.answers import Answer
from agro_train.cli import agro
from agro_train.decoding import Decoding
from agro_train.predict import kept_beside, predict
from agro_train.questions import Questions, questions_of_file
from agro_train.tasks import PromptFormat
from agro_train.verbs.predict import _endings


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_place(tmp_path_factory.mktemp("predict"))


@pytest.fixture(scope="module")
def questions(place: Path) -> Questions:
    return questions_of_file(place / "questions.json", place / "databases", place / "cache")


def test_answers_are_kept_and_not_asked_again(questions: Questions, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    sampler = Scripted(knows)
    answers = predict(questions, agent(sampler), out)
    assert [one.predictions for one in answers] == [(sql,) for _, _, sql in ROWS]
    assert all(one.outcomes == ("answered",) and one.written and one.read for one in answers)
    assert "<solution>" in answers[0].transcripts[0]
    lines = out.read_text().splitlines(keepends=True)
    assert [Answer.from_dict(json.loads(line)) for line in lines] == answers
    short = lines[2][:40].encode() + "ü".encode()[:1]  # killed while it wrote, within a character
    out.write_bytes("".join(lines[:2]).encode() + short)
    again = Scripted(knows)
    assert [one.predictions for one in predict(questions, agent(again), out)] == [one.predictions for one in answers]
    assert sum(map(len, again.calls)) == 2
    assert len(out.read_text().splitlines()) == 4
    loaded = load_predictions(out)
    assert [row.predictions[0] for row in loaded.predictions] == [sql for _, _, sql in ROWS]
    assert [row.gold for row in loaded.predictions] == [sql for _, _, sql in ROWS]


def test_two_do_not_write_one_file(questions: Questions, tmp_path: Path) -> None:
    """Each would write over what the other has kept."""
    out, told = tmp_path / "preds.jsonl", list[str]()

    def late(*asked: Any) -> str:
        with pytest.raises(Locked) as refused:
            predict(questions, agent(Scripted(knows)), out)
        told.append(str(refused.value))
        return knows(*asked)

    assert len(predict(questions, agent(Scripted(late)), out)) == len(ROWS)
    assert f"process {os.getpid()} on" in told[0]
    assert "is writing preds.jsonl" in told[0]
    predict(questions, agent(Scripted(knows)), out)  # who is done holds nobody off


def test_on_a_cpu_answers_are_kept_by_the_batch(questions: Questions, place: Path, tmp_path: Path) -> None:
    out, kept = tmp_path / "preds.jsonl", list[int]()

    def count(*_: object) -> None:
        kept.append(len(out.read_text().splitlines()) if out.exists() else 0)

    one = open_agent(str(place / "tiny"), tmp_path, tmp_path, prompt_format=PromptFormat(budget=2_000), batch=2)
    at_once = predict(questions, replace(one, batch=8), tmp_path / "at_once.jsonl")
    answers = predict(questions, one, out, progress=count)
    assert kept == [0, 2, 4]
    assert [one.transcripts for one in answers] == [one.transcripts for one in at_once]


def test_a_question_that_was_changed_under_its_id_is_asked_anew(place: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "mine.json", tmp_path / "preds.jsonl"

    def asked(rows: Sequence[tuple[str, str, str]]) -> Questions:
        names = ("db_id", "question", "query")
        listed = [{"question_id": f"q{n}", **dict(zip(names, row, strict=True))} for n, row in enumerate(rows)]
        file.write_text(json.dumps(listed))
        return questions_of_file(file, place / "databases", place / "cache")

    predict(asked(ROWS), agent(Scripted(knows)), out)
    reworded, mended = (*ROWS[0][:1], "How many are there of the schools?", ROWS[0][2]), (*ROWS[1][:2], "SELECT 1")
    again = Scripted(lambda *_: turn("solution", "SELECT 2"))
    answers = predict(asked([reworded, mended, *ROWS[2:]]), agent(again), out)
    assert sum(map(len, again.calls)) == 2
    assert [one.predictions[0] for one in answers] == ["SELECT 2", "SELECT 2", ROWS[2][2], ROWS[3][2]]
    loaded = load_predictions(out).predictions
    assert {row.gold for row in loaded} == {ROWS[0][2], "SELECT 1", ROWS[2][2], ROWS[3][2]}
    assert len(loaded) == 4


def test_a_file_holds_what_was_asked_and_no_more(place: Path, tmp_path: Path) -> None:
    """A row before the others does not rename them; what is not asked now is kept for when it is."""
    file, out = tmp_path / "mine.json", tmp_path / "preds.jsonl"

    def asked(rows: Sequence[tuple[str, str, str]]) -> Questions:
        file.write_text(json.dumps([dict(zip(("db_id", "question", "query"), row, strict=True)) for row in rows]))
        return questions_of_file(file, place / "databases", place / "cache")

    first = Scripted(knows)
    predict(asked(ROWS[:2]), agent(first), out)
    second = Scripted(knows)
    predict(asked([ROWS[2], *ROWS[:2]]), agent(second), out)
    assert sum(map(len, second.calls)) == 1
    assert [row.question for row in load_predictions(out).predictions] == [ROWS[n][1] for n in (2, 0, 1)]
    predict(asked(ROWS[3:]), agent(Scripted(knows)), out)
    assert [row.question for row in load_predictions(out).predictions] == [ROWS[3][1]]
    last = Scripted(knows)
    predict(asked([*ROWS, ROWS[0]]), agent(last), out)  # the last is there twice
    assert sum(map(len, last.calls)) == 1
    assert [row.question for row in load_predictions(out).predictions] == [row[1] for row in (*ROWS, ROWS[0])]
    assert (tmp_path / "preds.jsonl.others").read_text() == ""


def test_answers_beside_a_file_that_was_removed_are_no_answers(questions: Questions, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(questions, agent(Scripted(knows), "one"), out)
    predict(questions.first(2), agent(Scripted(knows), "one"), out)  # two lie beside it now
    out.unlink()
    predict(questions.first(2), agent(Scripted(knows), "two"), out)
    again = Scripted(knows)
    predict(questions, agent(again, "two"), out)
    assert sum(map(len, again.calls)) == 2


def test_what_looks_like_the_end_of_a_line_is_none(questions: Questions, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    odd = "SELECT 'a\u2028b\x85c'"
    first = predict(questions, agent(Scripted(lambda *_: turn("solution", odd))), out)
    again = Scripted(knows)
    assert predict(questions, agent(again), out) == first
    assert again.calls == []
    assert {one.predictions for one in first} == {(odd,)}


def test_answers_of_another_model_or_decoding_are_not_gone_on_with(questions: Questions, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(questions, agent(Scripted(knows), "one"), out)
    with pytest.raises(ConfigError, match=r"those of one, made otherwise \(model was one, is two\)"):
        predict(questions, agent(Scripted(knows), "two"), out)
    with pytest.raises(ConfigError, match=r"decoding.samples was 1, is 2.*give another --out"):
        predict(questions, agent(Scripted(knows), "one"), out, decoding=Decoding("vote", 2, 1.0))
    with pytest.raises(ConfigError, match=r"\(dtype was float32, is bfloat16\)"):
        predict(questions, agent(Scripted(knows), "one", dtype="bfloat16"), out)
    with pytest.raises(ConfigError, match=r"\(other weights, tokenizer, chat template or configuration\)"):
        predict(questions, replace(agent(Scripted(knows), "one"), weights="others"), out)
    (tmp_path / "mine.jsonl").write_text('{"pred": "SELECT 1"}\n')
    with pytest.raises(ConfigError, match=r"not written by this verb, which would overwrite it; give another --out$"):
        predict(questions, agent(Scripted(knows)), tmp_path / "mine.jsonl")


@pytest.mark.parametrize(
    ("line", "told"),
    [("{", "Expecting property name"), ("[1]", "mapping"), ('{"example_id": "x"}', "it has no 'db_id'")],
)
def test_a_line_that_is_no_answer_is_named(questions: Questions, tmp_path: Path, line: str, told: str) -> None:
    out = tmp_path / "preds.jsonl"
    predict(questions, agent(Scripted(knows)), out)
    out.write_text(out.read_text() + line + "\n")
    with pytest.raises(ConfigError, match=rf"preds\.jsonl, line 5: no answer as this verb writes it \(.*{told}"):
        predict(questions, agent(Scripted(knows)), out)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"predictions": []}, "not empty"),
        ({"predictions": None}, "`predictions`: expected a list"),
        ({"predictions": "SELECT 1"}, "`predictions`: expected a list"),
        ({"predictions": [1]}, "`predictions`: expected a list of texts"),
        ({"votes": [1, 2]}, "lists of one length"),
        ({"read": "7"}, "`read`: expected a number"),
        ({"gold": None}, "`gold`: expected text"),
        ({"pred": "SELECT 5"}, "`pred` is not the first of `predictions`"),
    ],
)
def test_a_line_that_was_changed_by_hand_is_not_read_otherwise(
    questions: Questions, tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    """What `agro evaluate` reads of it and what is gone on with are one."""
    out = tmp_path / "preds.jsonl"
    predict(questions, agent(Scripted(knows)), out)
    first, rest = out.read_text().split("\n", 1)
    out.write_text(json.dumps({**json.loads(first), **changed}) + "\n" + rest)
    before = out.read_bytes()
    with pytest.raises(ConfigError, match=rf"preds\.jsonl, line 1: no answer as this verb writes it \(.*{told}"):
        predict(questions, agent(Scripted(knows)), out)
    assert out.read_bytes() == before


def test_nothing_of_others_is_written_over_or_deleted(questions: Questions, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    settings, others = tmp_path / "preds.jsonl.settings.json", tmp_path / "preds.jsonl.others"
    settings.write_text('{"mine": 1}')
    with pytest.raises(ConfigError, match=r"preds\.jsonl\.settings\.json: not written by this verb"):
        predict(questions, agent(Scripted(knows)), out)
    assert settings.read_text() == '{"mine": 1}'
    settings.unlink()
    others.write_text("mine\n")
    out.touch()  # as mktemp does
    predict(questions, agent(Scripted(knows)), out)
    assert (tmp_path / "preds.jsonl.others.1").read_text() == "mine\n"


def test_answers_beside_a_file_are_told_and_kept_when_it_is_renamed(questions: Questions, tmp_path: Path) -> None:
    out = tmp_path / "preds.jsonl"
    predict(questions, agent(Scripted(knows)), out)
    assert kept_beside(out) == []
    predict(questions.first(1), agent(Scripted(knows)), out)
    assert kept_beside(out) == [f"{out}.others: 3 further answers"]
    out.rename(tmp_path / "keep.jsonl")
    predict(questions.first(1), agent(Scripted(knows)), out)
    assert kept_beside(out) == [f"{out}.others.1: 3 further answers"]


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_settings_beside_a_file_that_were_changed_are_named(questions: Questions, tmp_path: Path, text: str) -> None:
    predict(questions, agent(Scripted(knows)), tmp_path / "preds.jsonl")
    (tmp_path / "preds.jsonl.settings.json").write_text(text)
    with pytest.raises(ConfigError, match=r"preds\.jsonl\.settings\.json: expected settings"):
        predict(questions, agent(Scripted(knows)), tmp_path / "preds.jsonl")


def test_what_cannot_be_used_is_told_before_a_model_is_opened(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(place / "cache"))
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "empty" / "school").mkdir(parents=True)

    def told(*more: str) -> str:
        asked = ["--questions", str(place / "questions.json"), "--databases", str(place / "databases")]
        done = run_verb("predict", *asked, "--model", str(tmp_path / "no_model"), *more)
        assert isinstance(done.exception, ConfigError)
        return str(done.exception)

    assert "a folder; expected the name of a file" in told("--out", str(tmp_path / "empty"))
    assert "file: nothing can be written there" in told("--out", str(tmp_path / "file" / "p.jsonl"))
    assert f"give {tmp_path / 'p.jsonl'}" in told("--out", str(tmp_path / "p"))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "gone" / "p.jsonl")
    assert "gone/p.jsonl, whose folder is not there" in told("--out", str(tmp_path / "link.jsonl"))
    given = told("--out", str(tmp_path / "p.jsonl"), "--instances", str(tmp_path / "empty"))
    assert "no files empty/<db_id>/*.sqlite for any of the 2 databases" in given


def test_some_questions_are_spread_over_all(questions: Questions) -> None:
    assert [row["db_id"] for row in questions.first(2).rows] == ["school", "college"]
    assert questions.first(9) is questions


def test_a_budget_without_room_is_said_with_its_question(questions: Questions) -> None:
    with pytest.raises(ConfigError, match=r"questions.json, .*no table fits into 3 tokens"):
        questions.tasks(PromptFormat(budget=3))


def test_attempts_without_a_prediction_are_said_with_how_they_ended() -> None:
    def ended(how: str, transcript: str = "", refusal: str = "") -> Answer:
        return Answer("e", "d", "q", "", ("",), (how,), (transcript,), (1,), (0,), 1, 1, 0.1, refusal=refusal)

    bare = "<solution>SELECT 1</solution>"
    answers = [ended("truncated"), ended("malformed", bare), ended("malformed", "SELECT 1")]
    told = "<solution> without a <think> before it"
    limits = "(by --turn-tokens, --rollout-tokens or the number of turns)"
    assert _endings(answers) == f"2 malformed ({told}), 1 truncated {limits}"
    refused = [ended("truncated", refusal="too long a prompt"), ended("clarified")]
    assert _endings(refused) == "1 refused (too long a prompt), 1 clarified"


def run_verb(*arguments: str) -> Any:
    return CliRunner().invoke(agro, list(arguments))


def test_predict_from_the_command_line(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(place / "cache"))
    make_tiny_model(tmp_path / "other", seed=1)
    asked = ["--questions", str(place / "questions.json"), "--databases", str(place / "databases"), "--limit", "2"]
    models = ["--model", str(place / "tiny"), "--model", str(tmp_path / "other"), "--budget", "2000"]
    done = run_verb("predict", *asked, *models, "--out", str(tmp_path / "preds.jsonl"), "--json")
    assert done.exit_code == 1, done.output  # random weights answer nothing, and that is said
    figures = json.loads(done.stdout)
    assert [one["model"] for one in figures["models"]] == ["tiny", "other"]
    assert {pair["metric"] for pair in figures["pairs"]} == {"strict", "strict-ts", "spider-ex", "bird-ex"}
    assert (tmp_path / "preds-tiny.jsonl").is_file()
    assert (tmp_path / "preds-other.jsonl").is_file()
    assert "no prediction for 2 of 2 questions" in done.stderr
    refused = run_verb("predict", "--model", "x", "--out", str(tmp_path / "y"))
    assert isinstance(refused.exception, ConfigError)
    assert "either --corpus VERSION or --questions FILE" in str(refused.exception)


def test_rows_that_cannot_be_asked_or_scored_are_told(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(place / "cache"))
    rows = [dict(zip(("db_id", "question", "query"), row, strict=True)) for row in ROWS[:2]]
    mine = json.dumps([*rows, {**rows[1], "query": ""}, {"question": "Which café?"}], ensure_ascii=False)
    (tmp_path / "mine.json").write_text(mine, encoding="cp1252")
    asked = ["--questions", str(tmp_path / "mine.json"), "--databases", str(place / "databases")]
    done = run_verb(
        *("predict", *asked, "--model", str(place / "tiny"), "--budget", "2000"),
        *("--out", str(tmp_path / "p.jsonl"), "--json"),
    )
    figures = json.loads(done.stdout)
    assert done.exit_code == 1
    assert figures["models"][0]["metrics"]["strict"]["predictions"] == 2
    assert "1 of 3 questions have no SQL to be scored against" in done.stderr
    assert "row 4" in done.stderr
    assert "mine.json: not UTF-8, read as Windows-1252" in done.stderr


def test_a_database_that_cannot_be_read_costs_only_its_rows(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    databases = tmp_path / "databases"
    shutil.copytree(place / "databases", databases)
    add_damaged(databases / "bad.sqlite", "a")
    add_damaged(databases / "college" / "college.sqlite", "b")
    rows = [{"db_id": db_id, "question": question, "query": sql} for db_id, question, sql in ROWS]
    bad = {"db_id": "bad", "question": "How many a?", "query": "SELECT COUNT(*) FROM a"}
    (tmp_path / "q.json").write_text(json.dumps([rows[0], bad, *rows[1:]]))
    asked = questions_of_file(tmp_path / "q.json", databases, tmp_path / "cache")
    answers = predict(asked, agent(Scripted(knows)), tmp_path / "p.jsonl")
    assert [one.predictions for one in answers] == [(sql,) for _, _, sql in ROWS]
    [problem], [note] = asked.problems, asked.notes
    unread = "cannot be read, left out: "
    assert problem.startswith(f"q.json, row 2: bad: none of its tables can be read (table 'a': {unread}")
    assert note.startswith(f"college: table 'b': {unread}")
    (tmp_path / "only.json").write_text(json.dumps([bad, bad | {"question": "Which a?"}]))
    verb = ["--questions", str(tmp_path / "only.json"), "--databases", str(databases), "--model", str(place / "tiny")]
    done = run_verb("predict", *verb, "--out", str(tmp_path / "only.jsonl"))
    assert isinstance(done.exception, ConfigError)
    assert [line.partition(" (")[0] for line in str(done.exception).splitlines()] == [
        f"only.json, row {number}: bad: none of its tables can be read" for number in (1, 2)
    ]


def test_a_database_without_tables_costs_only_its_rows(place: Path, tmp_path: Path) -> None:
    databases = tmp_path / "databases"
    shutil.copytree(place / "databases", databases)
    run_sqlite(databases / "bare" / "bare.sqlite", "CREATE TABLE a (x INT); DROP TABLE a")
    rows = [{"db_id": db_id, "question": question, "query": sql} for db_id, question, sql in ROWS]
    bare = {"db_id": "bare", "question": "How many a?", "query": "SELECT 1"}
    (tmp_path / "q.json").write_text(json.dumps([bare, *rows]))
    asked = questions_of_file(tmp_path / "q.json", databases, tmp_path / "cache")
    assert [row["question"] for row in asked.rows] == [question for _, question, _ in ROWS]
    assert asked.problems == (
        "q.json, row 1: bare/bare.sqlite: no table that can be read (give a database with at least one table)",
    )
    (tmp_path / "only.json").write_text(json.dumps([bare]))
    with pytest.raises(ConfigError, match=r"^only\.json, row 1: bare/bare\.sqlite: no table that can be read"):
        questions_of_file(tmp_path / "only.json", databases, tmp_path / "cache")


def test_predictions_name_the_database_as_the_questions_do(place: Path, tmp_path: Path) -> None:
    (tmp_path / "databases").mkdir()
    shutil.copy(place / "databases" / "school" / "school.sqlite", tmp_path / "databases" / "my school.sqlite")
    (tmp_path / "mine.json").write_text(
        json.dumps([{"db_id": "my school", "question": ROWS[0][1], "query": ROWS[0][2]}])
    )
    asked = questions_of_file(tmp_path / "mine.json", tmp_path / "databases", tmp_path / "cache")
    predict(asked, agent(Scripted(knows)), tmp_path / "p.jsonl")
    loaded = load_predictions(tmp_path / "p.jsonl", tmp_path / "mine.json")
    assert json.loads((tmp_path / "p.jsonl").read_text())["db_id"] == "my school"
    assert loaded.predictions[0].predictions == (ROWS[0][2],)


def test_questions_that_name_no_database_are_about_the_one_that_is_given(place: Path, tmp_path: Path) -> None:
    school = place / "databases" / "school" / "school.sqlite"
    (tmp_path / "mine.csv").write_text("question\nHow many schools are there?\nWhich?\n")
    asked = questions_of_file(tmp_path / "mine.csv", school, tmp_path / "cache")
    assert [(row["db_id"], row["question"]) for row in asked.rows] == [
        ("school", "How many schools are there?"),
        ("school", "Which?"),
    ]
    with pytest.raises(ConfigError, match="no database field"):
        questions_of_file(tmp_path / "mine.csv", place / "databases", tmp_path / "cache")  # a folder may hold several


def test_rows_about_a_database_that_is_not_there_are_named(place: Path, tmp_path: Path) -> None:
    """And what else is wrong with the file."""
    rows = [{"db_id": db_id, "question": "Which?"} for db_id in ("scool", "school", "scool", "colege")]
    (tmp_path / "mine.json").write_text(json.dumps([*rows, {"question": "Which?"}]))
    with pytest.raises(ConfigError) as refused:
        questions_of_file(tmp_path / "mine.json", place / "databases", tmp_path / "cache")
    one, other, further = str(refused.value).splitlines()
    assert one.startswith("mine.json, row 4: no database 'colege' in ")
    assert one.endswith("there are college, school")
    assert other.startswith("mine.json, row 1 and 1 more: no database 'scool' in ")
    assert other.endswith("there are school, college")
    assert further.startswith("mine.json, row 5: no ")


def test_a_model_that_is_not_there_is_told_before_the_first_is_asked(place: Path, tmp_path: Path) -> None:
    models = ["--model", str(place / "tiny"), "--model", str(tmp_path / "typo")]
    asked = ["--questions", str(place / "questions.json"), "--databases", str(place / "databases")]
    done = run_verb("predict", *asked, *models, "--out", str(tmp_path / "p.jsonl"))
    assert isinstance(done.exception, ModelMissing)
    assert not list(tmp_path.glob("p*"))


def test_every_file_is_looked_at_before_the_first_model_is_asked(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(place / "cache"))
    make_tiny_model(tmp_path / "other", seed=1)
    shutil.copy(place / "questions.json", tmp_path / "q.json")
    asked = ["predict", "--questions", str(tmp_path / "q.json"), "--databases", str(place / "databases")]
    models = ["--model", str(place / "tiny"), "--model", str(tmp_path / "other")]
    (tmp_path / "p-other.jsonl").write_text('{"pred": "SELECT 1"}\n')
    done = run_verb(*asked, *models, "--out", str(tmp_path / "p.jsonl"))
    assert "p-other.jsonl: not written by this verb" in str(done.exception)
    (tmp_path / "q.json.settings.json").write_text('{"model": "m", "weights": "w"}')
    done = run_verb(*asked, *models[:2], "--out", str(tmp_path / "q.json"))
    assert "q.json: is read by this very command" in str(done.exception)
    assert not list(tmp_path.glob("p-tiny*"))


def test_a_database_or_evidence_that_was_changed_is_asked_about_anew(place: Path, tmp_path: Path) -> None:
    databases, out = tmp_path / "databases", tmp_path / "preds.jsonl"
    shutil.copytree(place / "databases", databases)
    rows = [{"question_id": n, "db_id": d, "question": q, "query": s} for n, (d, q, s) in enumerate(ROWS)]

    def asked(rows: Sequence[dict[str, Any]]) -> Questions:
        (tmp_path / "mine.json").write_text(json.dumps(rows))
        return questions_of_file(tmp_path / "mine.json", databases, tmp_path / "cache")

    predict(asked(rows), agent(Scripted(knows)), out)
    run_sqlite(databases / "school" / "school.sqlite", "UPDATE school SET founded = founded + 1")
    rows[3]["evidence"] = "oldest means founded first"
    again = Scripted(knows)
    predict(asked(rows), agent(again), out)
    assert sum(map(len, again.calls)) == 3  # two about the school, one with new evidence
