"""How a model that was trained is asked: it reads as it learnt to, and about nothing that it has read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from train.asked import make_place
from train.tiny import make_tiny_model

from agro_data.config import ConfigError
from agro_data.hashing import file_hash
from agro_data.models import fastest_precision
from agro_data.profiling.serialising.serialise import SerialiserMismatch, serialiser
from agro_train.agents import opening
from agro_train.agents.choosing import told_apart
from agro_train.agents.opening import open_agent
from agro_train.defs.asked import as_trained
from agro_train.language_model import loading
from agro_train.language_model.loading import load
from agro_train.predict import predict
from agro_train.questions import Questions, SeenInTraining, questions_of_file
from agro_train.rollouts import Limits
from agro_train.runs.named import Folder
from agro_train.runs.store import ModelRun, NoRun, begin
from agro_train.solving import facts_of
from agro_train.tasks import PromptFormat
from agro_train.trajectories.acting import Attempts, Teacher


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_place(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def questions(place: Path) -> Questions:
    return questions_of_file(place / "questions.json", place / "databases", place / "cache")


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
    assert (found.prompt_format.style, found.prompt_format.budget, found.prompt_format.turns) == ("compact", 700, 3)
    assert found.limits.turns == 3
    assert found.trained_on == {"11" * 32}
    assert found.prompt_format.count_tokens("SELECT name") == len(found.tokenizer("SELECT name")["input_ids"])
    with pytest.raises(ConfigError, match="no type 'float99'; use float32"):
        open_agent("small", tmp_path, place / "cache", dtype="float99")
    fast = load(str(place / "tiny"), place / "cache", dtype="auto").network
    assert str(next(fast.parameters()).dtype) == f"torch.{fastest_precision('cpu')}"
    with pytest.raises(NoRun, match="no model is promoted"):
        open_agent("promoted", tmp_path, place / "cache")


@pytest.mark.parametrize("file", ["chat_template.jinja", "tokenizer_config.json", "tokenizer.json", "config.json"])
def test_weights_that_are_read_otherwise_are_another_model(
    place: Path, questions: Questions, tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers are none of the one from before, here, in an alignment and as a teacher's."""
    folder = tmp_path / "tiny"
    shutil.copytree(place / "tiny", folder)
    read: list[str] = []

    def counted(path: Path) -> str:
        read.append(path.name)
        return file_hash(path)

    monkeypatch.setattr(loading, "file_hash", counted)
    before = open_agent(str(folder), tmp_path, place / "cache", prompt_format=PromptFormat(budget=2_000))
    assert read.count("model.safetensors") == 1, "weights are long"
    few = questions.first(1)
    predict(few, before, tmp_path / "out.jsonl")
    with (folder / file).open("a", encoding="utf-8") as edited:
        edited.write("\n")
    after = open_agent(str(folder), tmp_path, place / "cache", prompt_format=PromptFormat(budget=2_000))
    with pytest.raises(ConfigError, match=r"of tiny, made otherwise \(other weights, tokenizer, chat template or conf"):
        predict(few, after, tmp_path / "out.jsonl")
    assert facts_of(before, 2, 0.7) != facts_of(after, 2, 0.7)
    assert len({str(Teacher.of(one, Attempts(), 3).facts()) for one in (before, after)}) == 2


@pytest.mark.parametrize("stored", [{"name": "compact", "version": 0}, {"name": "poem", "version": 1}])
def test_a_run_of_another_serialiser_is_refused_before_its_weights_are_read(
    place: Path, tmp_path: Path, stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(tmp_path, place / "tiny", serialiser={**stored, "budget": 700})
    monkeypatch.setattr(opening, "_LOADERS", {})
    with pytest.raises(SerialiserMismatch, match=r"small/r0001"):
        open_agent("small", tmp_path, place / "cache")


# --- verbs -------------------------------------------------------------------------------------------------------


def test_models_have_names_of_their_own(place: Path, tmp_path: Path) -> None:
    run = trained(tmp_path / "models", place / "tiny")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shutil.copytree(place / "tiny", tmp_path / "a" / "m")
    shutil.copytree(place / "tiny", tmp_path / "b" / "m")
    names = ["small", run.name, str(tmp_path / "a" / "m"), str(tmp_path / "b" / "m"), str(tmp_path / "a" / "m")]
    found = told_apart(names, tmp_path / "models", tmp_path / "cache")
    assert list(found) == [run.name, "m", "m 2"]
    again = [str(run.model), str(tmp_path / "b" / ".." / "a" / "m")]
    assert told_apart([*names, *again], tmp_path / "models", tmp_path / "cache") == found
    assert list(found.values()) == [run, Folder(Path(names[2]), "m"), Folder(Path(names[3]), "m")]


def test_what_a_run_could_write_it_may_write(place: Path, tmp_path: Path) -> None:
    trained(tmp_path, place / "tiny", config={"turns": 3, "turn_tokens": 512, "rollout_tokens": 600})
    found = open_agent("small", tmp_path, place / "cache")
    assert (found.limits.turn, found.limits.rollout, found.limits.turns) == (512, 768, 3)
    wider = open_agent("small", tmp_path, place / "cache", limits=Limits(100, 3_000, 9))
    assert (wider.limits.turn, wider.limits.rollout, wider.limits.turns) == (512, 3_000, 3)


def test_an_evaluation_writes_turns_as_long_as_those_that_were_learnt_from_last(place: Path, tmp_path: Path) -> None:
    cold_start = trained(tmp_path / "cold", place / "tiny", config={"turns": 3})
    grpo = trained(tmp_path / "grpo", place / "tiny", config={"turns": 3, "turn_tokens": 160})
    assert as_trained(cold_start, None)["turn_tokens"] == Limits().turn
    assert as_trained(cold_start, grpo)["turn_tokens"] == 160


def test_a_model_is_refused_on_what_it_was_trained_on_by_content(questions: Questions) -> None:
    content = questions.sources["college"].database.content_hash
    with pytest.raises(SeenInTraining, match=r"trained on 1 of the 2 databases of questions.json \(college\)"):
        questions.refuse_seen([content], "this model")
    questions.refuse_seen(["0" * 64], "this model")
    only = Questions("school only", questions.rows[:2], questions.sources, questions.databases)
    only.refuse_seen([content], "this model")  # not asked about
