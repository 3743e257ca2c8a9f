"""Predictions and evaluations on real databases, with scripted and with tiny models."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from making import make_school
from train.scripted import Scripted, agent, turn
from train.small import make_corpus
from train.tiny import make_tiny_model

from agro_data.config import ConfigError
from agro_data.evaluation.load import load_predictions
from agro_data.evaluation.rows import UnreadableInput
from agro_data.models import ModelMissing, fastest_precision
from agro_data.profiling.serialise import SerialiserMismatch, serialiser
from agro_train import evaluate
from agro_train.agents.agent import open_agent, trained_reading
from agro_train.agents.choosing import told_apart
from agro_train.answers import Answer
from agro_train.cli import agro
from agro_train.decoding import Decoding
from agro_train.evaluate import Compared, EvaluationConfig, Scored, compare, evaluate_models, score, scored_by, table
from agro_train.language_model.loading import load
from agro_train.predict import predict
from agro_train.programs.settings import SettingsError, settings_from, settings_to
from agro_train.promotion import decide
from agro_train.questions import Questions, Reading, SeenInTraining, questions_of_file, questions_of_version
from agro_train.rollouts import Limits
from agro_train.runs.store import ModelRun, NoRun, begin

ROWS = [
    ("school", "How many schools are there?", "SELECT COUNT(*) FROM school"),
    ("school", "Name the schools.", "SELECT name FROM school"),
    ("college", "How many teachers are there?", "SELECT COUNT(*) FROM teacher"),
    ("college", "List the cities of the schools, oldest first.", "SELECT city FROM school ORDER BY founded"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two databases with different contents, and questions about them."""
    folder = tmp_path_factory.mktemp("predict")
    for name, tag in (("school", ""), ("college", " college")):
        (folder / "databases" / name).mkdir(parents=True)
        make_school(folder / "databases" / name / f"{name}.sqlite", tag)
    rows = [{"db_id": db_id, "question": question, "query": sql} for db_id, question, sql in ROWS]
    (folder / "questions.json").write_text(json.dumps(rows))
    bare = [{"db_id": db_id, "question": question} for db_id, question, _ in ROWS]
    (folder / "bare.json").write_text(json.dumps(bare))
    make_tiny_model(folder / "tiny")
    return folder


@pytest.fixture(scope="module")
def questions(place: Path) -> Questions:
    return questions_of_file(place / "questions.json", place / "databases", place / "cache")


def gold_of(text: str) -> str:
    return next(sql for _, question, sql in ROWS if question in text)


def knows(text: str, number: int, seed: int) -> str:
    return turn("solution", gold_of(text))


def counts(text: str, number: int, seed: int) -> str:
    return turn("solution", "SELECT COUNT(*) FROM school") if "How many" in text else "no idea"


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
    with pytest.raises(ConfigError, match="those of one"):
        predict(questions, agent(Scripted(knows), "two"), out)
    with pytest.raises(ConfigError, match="give another --out"):
        predict(questions, agent(Scripted(knows), "one"), out, decoding=Decoding("vote", 2, 1.0))
    (tmp_path / "mine.jsonl").write_text('{"pred": "SELECT 1"}\n')
    with pytest.raises(ConfigError, match="not written by this verb"):
        predict(questions, agent(Scripted(knows)), tmp_path / "mine.jsonl")


def test_models_are_scored_side_by_side(questions: Questions, place: Path, tmp_path: Path) -> None:
    scored = []
    for name, say in (("counts", counts), ("knows", knows)):
        answers = predict(questions, agent(Scripted(say), name), tmp_path / f"{name}.jsonl")
        scored.append(Scored(name, "tokens", tuple(answers), score(questions, answers, None, place / "cache")))
    figures = compare(questions, scored)
    first, second = figures["models"]
    assert (first["format_rate"], second["format_rate"]) == (0.5, 1.0)
    assert first["metrics"]["strict"]["score"]["mean"] == 0.25  # one of two counts is right
    assert second["metrics"]["spider-ex"]["score"]["mean"] == 1.0
    assert first["execution_rate"] == 0.5
    assert first["error_classes"] == {"missing": 2, "wrong_rows": 1}
    strict = next(pair for pair in figures["pairs"] if pair["metric"] == "strict")
    assert (strict["challenger"], strict["won"], strict["lost"]) == ("knows", 3, 0)
    assert strict["gain"]["mean"] == 0.75
    assert first["unopposed_rate"] is None
    json.dumps(figures, allow_nan=False)
    assert decide(scored[1].verdicts("strict"), scored[0].verdicts("strict")).promoted


def test_the_leaves_of_a_tree_are_scored_with_their_votes(questions: Questions, place: Path, tmp_path: Path) -> None:
    def say(text: str, number: int, seed: int) -> str:
        if "SELECT 1" in text:
            return turn("solution", gold_of(text))
        if number:
            return turn("sql", "SELECT 1")  # two branches see the same, and become one with the votes of both
        return turn("solution", "SELECT 'wrong'")

    answers = predict(questions, agent(Scripted(say)), tmp_path / "preds.jsonl", decoding=Decoding("tree", 5, 1.0, 3))
    assert {one.votes for one in answers} == {(2, 2, 1, 1)}
    found = score(questions, answers, None, place / "cache")["strict"]
    assert [verdict.votes for verdict in found.verdicts] == [(2, 2, 1, 1)] * 4
    assert found.summary["score"]["mean"] > 0
    assert found.summary["attempts"]["majority"]["mean"] == found.summary["score"]["mean"]
    assert found.summary["attempts"]["pass_at"] == {}


def test_instances_tell_a_lucky_answer(questions: Questions, place: Path, tmp_path: Path) -> None:
    """There are 6 schools: whoever says 6 is right on the database, and wrong on an instance with 5."""
    (tmp_path / "instances" / "school").mkdir(parents=True)
    other = tmp_path / "instances" / "school" / "less.sqlite"
    other.write_bytes((place / "databases" / "school" / "school.sqlite").read_bytes())
    with sqlite3.connect(other) as connection:
        connection.execute("DELETE FROM school WHERE school_id = 6")
    connection.close()

    def lucky(text: str, number: int, seed: int) -> str:
        return turn("solution", "SELECT 6" if "How many schools" in text else gold_of(text))

    answers = predict(questions, agent(Scripted(lucky)), tmp_path / "preds.jsonl")
    found = score(questions, answers, tmp_path / "instances", place / "cache")
    assert [verdict.score for verdict in found["strict"].verdicts] == [1, 1, 1, 1]
    assert [verdict.score for verdict in found["strict-ts"].verdicts] == [0, 1, 1, 1]


def test_a_model_is_refused_on_what_it_was_trained_on_by_content(questions: Questions) -> None:
    content = questions.sources["college"].database.content_hash
    with pytest.raises(SeenInTraining, match=r"trained on 1 of the 2 databases of questions.json \(college\)"):
        questions.refuse_seen([content], "this model")
    questions.refuse_seen(["0" * 64], "this model")
    only = Questions("school only", questions.rows[:2], questions.sources, questions.databases)
    only.refuse_seen([content], "this model")  # not asked about


def test_some_questions_are_spread_over_all(questions: Questions) -> None:
    assert [row["db_id"] for row in questions.first(2).rows] == ["school", "college"]
    assert questions.first(9) is questions


def test_a_budget_without_room_is_said_with_its_question(questions: Questions) -> None:
    with pytest.raises(ConfigError, match=r"questions.json, .*no table fits into 3 tokens"):
        questions.tasks(Reading(budget=3))


def test_questions_without_sql_can_be_asked_and_not_scored(place: Path, tmp_path: Path) -> None:
    bare = questions_of_file(place / "bare.json", place / "databases", place / "cache")
    answers = predict(bare, agent(Scripted(knows)), tmp_path / "preds.jsonl")
    assert [one.predictions[0] for one in answers] == [sql for _, _, sql in ROWS]
    figures = compare(bare, [scored_by(bare, agent(Scripted(knows)), answers, None, place / "cache")])
    assert figures["models"][0]["execution_rate"] is None
    assert figures["pairs"] == []
    config = EvaluationConfig(("x",), str(place / "databases"), questions=(str(place / "bare.json"),))
    with pytest.raises(ConfigError, match="4 of 4 questions have no SQL"):
        evaluate_models(config)
    (tmp_path / "none.json").write_text('[{"db_id": "school", "question": ""}]')
    with pytest.raises(UnreadableInput):
        questions_of_file(tmp_path / "none.json", place / "databases", place / "cache")


def test_the_tiny_model_is_evaluated_from_end_to_end(place: Path, tmp_path: Path) -> None:
    config = EvaluationConfig(
        models=(str(place / "tiny"),),
        databases=str(place / "databases"),
        questions=(str(place / "questions.json"),),
        out=str(tmp_path / "out"),
        cache=str(place / "cache"),
        limit=2,
        budget=2_000,
    )
    assert settings_from(EvaluationConfig, settings_to(config)) == settings_from(
        EvaluationConfig, json.loads(json.dumps(settings_to(config)))
    )
    [compared] = evaluate_models(config)
    assert compared.models[0].model == "tiny"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    [model] = summary["sets"][0]["models"]
    assert model["metrics"]["strict"]["predictions"] == 2
    assert model["tokens_written"] > 0
    folder = tmp_path / "out" / "questions.json" / "tiny"
    assert len((folder / "strict.jsonl").read_text().splitlines()) == 2
    before = (folder / "answers.jsonl").read_bytes()
    evaluate_models(config)
    assert (folder / "answers.jsonl").read_bytes() == before
    page = (tmp_path / "out" / "index.html").read_text()
    assert "tiny" in page
    assert "questions.json" in page


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="which models"):
        EvaluationConfig()
    with pytest.raises(ConfigError, match="what to ask"):
        EvaluationConfig(("x",), "here")
    with pytest.raises(SettingsError, match="did you mean 'questions'"):
        settings_from(EvaluationConfig, {"models": ["x"], "qestions": []})


def test_options_come_on_top_of_a_file_that_leaves_out_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[EvaluationConfig] = []

    def take(config: EvaluationConfig, progress: object) -> tuple[Compared, ...]:
        seen.append(config)
        return ()

    monkeypatch.setattr(evaluate, "evaluate_models", take)
    (tmp_path / "settings.json").write_text('{"databases": "here", "questions": ["dev.json"], "limit": 5}')
    options = ["--config", str(tmp_path / "settings.json"), "--model", "promoted", "--limit", "7"]
    done = CliRunner().invoke(evaluate.main, options)
    assert done.exit_code == 0, done.exception
    assert [(one.models, one.databases, one.limit) for one in seen] == [(["promoted"], "here", 7)]


def trained(root: Path, tiny: Path, **changes: Any) -> ModelRun:
    draft = begin(root, "small", "cd" * 32)
    assert not isinstance(draft, ModelRun)
    make_tiny_model(draft.model)
    manifest = {
        "serialiser": {**serialiser("compact"), "budget": 700},
        "framing": "chat",
        "databases": [{"db_id": "x", "content_hash": "11" * 32}],
        "config": {"turns": 3},
    }
    return draft.finish({**manifest, **changes})


def test_a_run_reads_as_it_was_trained_to(place: Path, tmp_path: Path) -> None:
    run = trained(tmp_path, place / "tiny")
    found = open_agent("small", tmp_path, place / "cache")
    assert found.name == run.name
    assert (found.reading.style, found.reading.budget, found.reading.turns) == ("compact", 700, 3)
    assert found.limits.turns == 3
    assert found.trained_on == {"11" * 32}
    assert found.reading.count_tokens("SELECT name") == len(found.tokenizer("SELECT name")["input_ids"])
    with pytest.raises(ConfigError, match="no type 'float99'; use float32"):
        open_agent("small", tmp_path, place / "cache", dtype="float99")
    fast = load(str(place / "tiny"), place / "cache", dtype="auto").network
    assert str(next(fast.parameters()).dtype) == f"torch.{fastest_precision('cpu')}"
    with pytest.raises(NoRun, match="no model is promoted"):
        open_agent("promoted", tmp_path, place / "cache")


@pytest.mark.parametrize("stored", [{"name": "compact", "version": 0}, {"name": "poem", "version": 1}])
def test_a_run_of_another_serialiser_is_refused(place: Path, tmp_path: Path, stored: dict[str, Any]) -> None:
    run = trained(tmp_path, place / "tiny", serialiser={**stored, "budget": 700})
    with pytest.raises(SerialiserMismatch, match=r"small/r0001"):
        trained_reading(run)


# --- verbs -------------------------------------------------------------------------------------------------------


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
    assert {pair["metric"] for pair in figures["pairs"]} == {"strict", "spider-ex", "bird-ex"}
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
    (tmp_path / "mine.json").write_text(json.dumps([*rows, {**rows[1], "query": ""}, {"question": "Which?"}]))
    asked = ["--questions", str(tmp_path / "mine.json"), "--databases", str(place / "databases")]
    done = run_verb(
        "predict", *asked, "--model", str(place / "tiny"), "--budget", "2000", "--out", str(tmp_path / "p"), "--json"
    )
    figures = json.loads(done.stdout)
    assert done.exit_code == 1
    assert figures["models"][0]["metrics"]["strict"]["predictions"] == 2
    assert "1 of 3 questions have no SQL to be scored against" in done.stderr
    assert "row 4" in done.stderr


def test_a_model_that_is_not_there_is_told_before_the_first_is_asked(place: Path, tmp_path: Path) -> None:
    models = ["--model", str(place / "tiny"), "--model", str(tmp_path / "typo")]
    asked = ["--questions", str(place / "questions.json"), "--databases", str(place / "databases")]
    done = run_verb("predict", *asked, *models, "--out", str(tmp_path / "p.jsonl"))
    assert isinstance(done.exception, ModelMissing)
    assert not list(tmp_path.glob("p*"))


def test_models_have_names_of_their_own(place: Path, tmp_path: Path) -> None:
    run = trained(tmp_path / "models", place / "tiny")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shutil.copytree(place / "tiny", tmp_path / "a" / "m")
    shutil.copytree(place / "tiny", tmp_path / "b" / "m")
    names = ["small", run.name, str(tmp_path / "a" / "m"), str(tmp_path / "b" / "m"), str(tmp_path / "a" / "m")]
    found = told_apart(names, tmp_path / "models", tmp_path / "cache")
    assert found == {"small": run.name, names[2]: "m", names[3]: "m 2"}


def test_a_corpus_of_few_databases_is_evaluated_on_them(place: Path, tmp_path: Path) -> None:
    """Its questions are held back, and not its databases: that is said, and is no reason to refuse."""
    version = make_corpus(tmp_path, split={"mark": "same-database", "databases": {}})
    train = version.path / "data" / "train-00000.parquet"
    shutil.copy(train, train.with_name("test-00000.parquet"))
    asked = questions_of_version(version, tmp_path / "databases", tmp_path / "cache", "test")
    asked.refuse_seen(asked.contents().values(), "this model")
    learnt = questions_of_version(version, tmp_path / "databases", tmp_path / "cache", "train")
    with pytest.raises(SeenInTraining):
        learnt.refuse_seen(asked.contents().values(), "this model")
    one = agent(Scripted(lambda *_: turn("solution", "SELECT name FROM school")))
    answers = predict(asked, one, tmp_path / "p.jsonl")
    figures = compare(asked, [scored_by(asked, one, answers, asked.instances, tmp_path / "cache")])
    assert "has read those databases" in " ".join(figures["notes"])


def test_of_answers_without_a_gold_it_is_known_which_nothing_speaks_against(place: Path, tmp_path: Path) -> None:
    """One names a table that is not there, one gives no answer."""
    asked = questions_of_file(place / "bare.json", place / "databases", place / "cache")
    said = {"How many schools": "SELECT COUNT(*) FROM schools", "Name the": ""}

    def say(text: str, number: int, seed: int) -> str:
        sql = next((sql for words, sql in said.items() if words in text), gold_of(text))
        return turn("solution", sql) if sql else "well"

    one = agent(Scripted(say))
    answers = predict(asked, one, tmp_path / "p.jsonl")
    found = scored_by(asked, one, answers, None, place / "cache")
    assert [[finding.kind for finding in some] for some in found.findings or ()] == [["unknown_name"], [], [], []]
    figures = compare(asked, [found])
    assert figures["models"][0]["unopposed_rate"] == 0.5
    assert table(figures)[0]["unopposed"] == "50.0%"


def test_what_a_run_could_write_it_may_write(place: Path, tmp_path: Path) -> None:
    trained(tmp_path, place / "tiny", config={"turns": 3, "turn_tokens": 512, "rollout_tokens": 600})
    found = open_agent("small", tmp_path, place / "cache")
    assert (found.limits.turn, found.limits.rollout, found.limits.turns) == (512, 768, 3)
    wider = open_agent("small", tmp_path, place / "cache", limits=Limits(100, 3_000, 9))
    assert (wider.limits.turn, wider.limits.rollout, wider.limits.turns) == (512, 3_000, 3)


def test_ask_without_a_trained_model_says_what_to_run(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(place / "cache"))
    database = str(place / "databases" / "school" / "school.sqlite")
    done = run_verb("ask", "--database", database, "--models", str(tmp_path), "How many schools are there?")
    assert isinstance(done.exception, NoRun)
    assert "dagster job execute -j train_grpo" in str(done.exception)
    several = run_verb("ask", "--database", str(place / "databases"), "--models", str(tmp_path), "How many?")
    assert "2 databases are here" in str(several.exception)


def test_a_database_or_evidence_that_was_changed_is_asked_about_anew(place: Path, tmp_path: Path) -> None:
    databases, out = tmp_path / "databases", tmp_path / "preds.jsonl"
    shutil.copytree(place / "databases", databases)
    rows = [{"question_id": n, "db_id": d, "question": q, "query": s} for n, (d, q, s) in enumerate(ROWS)]

    def asked(rows: Sequence[dict[str, Any]]) -> Questions:
        (tmp_path / "mine.json").write_text(json.dumps(rows))
        return questions_of_file(tmp_path / "mine.json", databases, tmp_path / "cache")

    predict(asked(rows), agent(Scripted(knows)), out)
    with closing(sqlite3.connect(databases / "school" / "school.sqlite")) as connection:
        connection.execute("UPDATE school SET founded = founded + 1")
        connection.commit()
    rows[3]["evidence"] = "oldest means founded first"
    again = Scripted(knows)
    predict(asked(rows), agent(again), out)
    assert sum(map(len, again.calls)) == 3  # two about the school, one with new evidence


def test_a_corpus_without_certificates_is_evaluated_on_its_databases(place: Path, tmp_path: Path) -> None:
    version = make_corpus(tmp_path)
    file = version.path / "data" / "train-00000.parquet"
    rows = pl.read_parquet(file)
    rows.with_columns(instances=pl.lit([], dtype=rows.schema["instances"])).write_parquet(file)
    shutil.rmtree(version.path / "instances")
    asked = questions_of_version(version, tmp_path / "databases", tmp_path / "cache", "train")
    assert asked.instances is None
    one = agent(Scripted(lambda *_: turn("solution", "SELECT name FROM school")))
    answers = predict(asked, one, tmp_path / "p.jsonl")
    found = scored_by(asked, one, answers, asked.instances, tmp_path / "cache")
    assert "strict" in found.by_metric
    assert "strict-ts" not in found.by_metric
