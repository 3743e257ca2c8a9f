"""Models side by side: scores, what nothing speaks against, settings; scripted and tiny models on real databases."""

from __future__ import annotations

import json
import shutil
import sqlite3
import weakref
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from train.asked import ROWS, counts, gold_of, knows, make_place
from train.scripted import Scripted, agent, turn
from train.small import make_corpus, make_split_corpus

from agro_data.config import ConfigError
from agro_data.publish.read import NoVersion
from agro_data.rows import UnreadableInput
from agro_train import evaluate
from agro_train.agents.agent import Agent
from agro_train.agents.choosing import slug
from agro_train.agents.opening import open_agent
from agro_train.comparison import asking
from agro_train.comparison.figures import Compared, compare, table
from agro_train.comparison.scoring import BUILT, NONE, Scored, score, scored_by, suite_of
from agro_train.decoding import Decoding
from agro_train.defs.metadata import of_evaluation
from agro_train.evaluate import EvaluationConfig, evaluate_models
from agro_train.predict import predict
from agro_train.programs.settings import SettingsError, settings_from, settings_to
from agro_train.promotion import decide
from agro_train.questions import Questions, SeenInTraining, questions_of_file, questions_of_version
from agro_train.runs.store import ModelRun
from agro_train.sampling.module import ModuleSampler


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_place(tmp_path_factory.mktemp("evaluate"))


@pytest.fixture(scope="module")
def questions(place: Path) -> Questions:
    return questions_of_file(place / "questions.json", place / "databases", place / "cache")


def test_models_are_scored_side_by_side(questions: Questions, place: Path, tmp_path: Path) -> None:
    scored = []
    for name, say in (("counts", counts), ("knows", knows)):
        answers = predict(questions, agent(Scripted(say), name), tmp_path / f"{name}.jsonl")
        scored.append(Scored(name, "tokens", tuple(answers), score(questions, answers, NONE, place / "cache")))
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
    assert "counts: 2 of 4 questions have no prediction; they score 0" in figures["notes"]
    json.dumps(figures, allow_nan=False)
    assert decide(scored[1].verdicts("strict"), scored[0].verdicts("strict"), first=True).promoted


def test_what_the_ui_shows_of_an_evaluation_has_names_that_no_build_changes(
    questions: Questions, place: Path, tmp_path: Path
) -> None:
    names = ("org/base", "cold-start/r0001-01234567")
    scored = []
    for name, say in zip(names, (counts, knows), strict=True):
        answers = predict(questions, agent(Scripted(say), name), tmp_path / f"{slug(name)}.jsonl")
        scored.append(Scored(name, "tokens", tuple(answers), score(questions, answers, NONE, place / "cache")))
    figures = compare(questions, scored)
    summary = {"config": {"corpus": "demo/v0001"}, "sets": [figures]}
    made = {"cold start": ModelRun(Path(names[1])), "GRPO": None}
    found = of_evaluation(summary, {figures["questions"]: table(figures)}, made)
    assert {name: value for name, value in found.items() if isinstance(value, float)} == {"right: cold start": 1.0}
    assert found.pop("corpus") == figures["questions"]
    assert not [name for name in found if figures["questions"] in name]
    (gain,) = found["gains on the corpus"].records
    assert next(iter(gain.data)) == "gain in strict (95 % interval)"
    assert (gain.data["model"], gain.data["against"]) == (names[1], "base")


def test_the_leaves_of_a_tree_are_scored_with_their_votes(questions: Questions, place: Path, tmp_path: Path) -> None:
    def say(text: str, number: int, seed: int) -> str:
        if "SELECT 1" in text:
            return turn("solution", gold_of(text))
        if number:
            return turn("sql", "SELECT 1")  # two branches see the same, and become one with the votes of both
        return turn("solution", "SELECT 'wrong'")

    answers = predict(questions, agent(Scripted(say)), tmp_path / "preds.jsonl", decoding=Decoding("tree", 5, 1.0, 3))
    assert {one.votes for one in answers} == {(2, 2, 1, 1)}
    found = score(questions, answers, NONE, place / "cache")["strict"]
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


def test_instances_are_built_where_none_are_given(questions: Questions, place: Path, tmp_path: Path) -> None:
    def lucky(text: str, number: int, seed: int) -> str:
        return turn("solution", "SELECT 6" if "How many schools" in text else gold_of(text))

    assert suite_of(questions, EvaluationConfig.instances) == BUILT
    answers = predict(questions, agent(Scripted(lucky)), tmp_path / "preds.jsonl")
    found = score(questions, answers, BUILT, tmp_path / "cache")
    assert [verdict.score for verdict in found["strict"].verdicts] == [1, 1, 1, 1]
    assert [verdict.score for verdict in found["strict-ts"].verdicts] == [0, 1, 1, 1]
    assert "strict-ts" not in score(questions, answers, NONE, tmp_path / "cache")
    with pytest.raises(ConfigError, match=r"nowhere: no such folder of instances"):
        suite_of(questions, "nowhere")


def test_questions_without_sql_can_be_asked_and_not_scored(place: Path, tmp_path: Path) -> None:
    bare = questions_of_file(place / "bare.json", place / "databases", place / "cache")
    answers = predict(bare, agent(Scripted(knows)), tmp_path / "preds.jsonl")
    assert [one.predictions[0] for one in answers] == [sql for _, _, sql in ROWS]
    figures = compare(bare, [scored_by(bare, agent(Scripted(knows)), answers, NONE, place / "cache")])
    assert figures["models"][0]["execution_rate"] == 1
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


def test_a_model_is_let_go_before_the_next_is_opened(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def watched(*given: Any, **named: Any) -> Agent:
        alive.append(sum(one() is not None for one in opened))
        found = open_agent(*given, **named)
        assert isinstance(found.sampler, ModuleSampler)
        opened.append(weakref.ref(found.sampler.module))
        return found

    monkeypatch.setattr(asking, "open_agent", watched)
    shutil.copytree(place / "tiny", tmp_path / "other")
    config = EvaluationConfig(
        models=(str(place / "tiny"), str(tmp_path / "other")),
        databases=str(place / "databases"),
        questions=(str(place / "questions.json"),),
        instances=NONE,
        out=str(tmp_path / "out"),
        cache=str(place / "cache"),
        limit=1,
        turns=1,
        turn_tokens=4,
        budget=2_000,
    )
    [compared] = evaluate_models(config)
    assert [one.model for one in compared.models] == ["tiny", "other"]
    assert alive == [0, 0]


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="which models"):
        EvaluationConfig()
    with pytest.raises(ConfigError, match="what to ask"):
        EvaluationConfig(("x",), "here")
    with pytest.raises(SettingsError, match="did you mean 'questions'"):
        settings_from(EvaluationConfig, {"models": ["x"], "qestions": []})


@pytest.mark.parametrize("names", [("dev_1.json", "dev-1.json"), ("вопросы.json", "запросы.json")])
def test_files_of_questions_whose_verdicts_would_lie_in_one_folder_are_refused(
    place: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    files = [str(shutil.copy(place / "questions.json", tmp_path / name)) for name in names]
    config = EvaluationConfig(("tiny",), str(place / "databases"), questions=files, cache=str(place / "cache"))
    with pytest.raises(ConfigError, match=f"{names[0]} and {names[1]}: .*rename one"):
        evaluate_models(config)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        *(({name: 0}, f"{name} is 0: expected at least 1") for name in ("workers", "turns", "budget", "turn_tokens")),
        ({"rollout_tokens": 0}, "rollout_tokens is 0"),
        ({"limit": -1}, "limit is -1: expected at least 0"),
        ({"seed": -5}, "seed is -5"),
        ({"decoding": "gready"}, "no decoding 'gready'"),
        ({"style": "dll"}, "no schema style 'dll'"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        settings_from(EvaluationConfig, {"models": ["x"], "databases": "d", "corpus": "c", **changes})


def test_a_corpus_is_named_and_knows_its_databases(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGRO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    make_split_corpus(tmp_path)
    options = ["--data", ".", "--model", str(place / "tiny"), "--limit", "1", "--instances", "none", "--out", "out"]
    done = CliRunner().invoke(evaluate.main, ["--corpus", "school", *options])
    assert "out: written" in done.stderr, done.exception
    done = CliRunner().invoke(evaluate.main, ["--corpus", "college", *options])
    assert isinstance(done.exception, NoVersion)


def test_no_questions_at_most_is_refused() -> None:
    done = CliRunner().invoke(evaluate.main, ["--model", "x", "--limit", "-1"])
    assert "'--limit': -1 is not in the range x>=1" in str(done.output)


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
    figures = compare(asked, [scored_by(asked, one, answers, suite_of(asked, NONE), tmp_path / "cache")])
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
    found = scored_by(asked, one, answers, NONE, place / "cache")
    assert [[finding.kind for finding in some] for some in found.findings or ()] == [["unknown_name"], [], [], []]
    figures = compare(asked, [found])
    assert figures["models"][0]["unopposed_rate"] == 0.5
    assert (table(figures)[0]["unopposed"], table(figures)[0]["run"]) == ("50.0%", "50.0%")


def test_golds_that_fail_say_nothing_of_whether_answers_run(place: Path, tmp_path: Path) -> None:
    rows = [{"db_id": db_id, "question": question, "query": sql} for db_id, question, sql in ROWS]
    for row in rows[:2]:
        row["query"] = "SELECT nothing FROM nowhere"
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    asked = questions_of_file(tmp_path / "mine.json", place / "databases", place / "cache")
    one = agent(Scripted(counts))  # answers those that ask how many, of which one gold is left
    answers = predict(asked, one, tmp_path / "p.jsonl")
    scored = scored_by(asked, one, answers, NONE, place / "cache")
    assert compare(asked, [scored])["models"][0]["execution_rate"] == 0.5


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
    found = scored_by(asked, one, answers, suite_of(asked, NONE), tmp_path / "cache")
    assert "strict" in found.by_metric
    assert "strict-ts" not in found.by_metric
