"""The example files of run config: they fit the job, and the programs' settings, and say what the defaults are."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import Failure, validate_run_config

from agro_data.defs.assets import CorpusConfig
from agro_data.defs.place import Place
from agro_data.defs.pools import GPU, pools_of
from agro_train.aligning import AlignConfig
from agro_train.cold_start import ColdStartConfig
from agro_train.definitions import defs
from agro_train.defs.configs import ColdStartModelConfig, GrpoModelConfig, ModelEvaluationConfig, TrajectoriesConfig
from agro_train.defs.settings import (
    LEARNING,
    MAKING,
    evaluation_settings,
    refuse_other_format,
    refuse_unusable,
    settings_of,
    usable,
    written,
)
from agro_train.defs.training import Training
from agro_train.evaluate import EvaluationConfig
from agro_train.finetuning.config import FineTuning
from agro_train.programs.settings import settings_from, settings_to
from agro_train.reinforcement.config import GrpoConfig

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
TRAINING = sorted(CONFIGS.glob("train_*.yaml"))
SCHEMAS = {
    "cold_start_trajectories": TrajectoriesConfig,
    "cold_start_model": ColdStartModelConfig,
    "grpo_model": GrpoModelConfig,
    "model_evaluation": ModelEvaluationConfig,
}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def of_op(config: dict[str, Any], op: str) -> dict[str, Any]:
    """What the asset gives to its program: its own settings, and the further ones."""
    given = dict(config["ops"].get(op, {}).get("config", {}))
    return given | given.pop("settings", {})


def test_there_are_examples_for_cpus_a_gpu_and_eight() -> None:
    processes = {path.stem: read(path)["resources"]["training"]["config"]["processes"] for path in TRAINING}
    assert processes == {
        "train_135m_80gb": 1,
        "train_135m_cpu": 1,
        "train_8b_80gb": 1,
        "train_8b_8gpu": 8,
        "train_cpu": 1,
    }


@pytest.mark.parametrize("path", TRAINING, ids=lambda path: path.stem)
def test_an_example_fits_the_job_and_the_programs(path: Path) -> None:
    config = read(path)
    assert validate_run_config(defs.resolve_job_def("train_grpo"), config)
    model = config["resources"]["training"]["config"]["model"]
    cold = settings_from(
        ColdStartConfig,
        {**of_op(config, "cold_start_trajectories"), **of_op(config, "cold_start_model"), "model": model},
    )
    names = (
        "epochs",
        "learning_rate",
        "batch",
        "micro_batch",
        "max_length",
        "packing",
        "share_prompts",
        "lora",
        "precision",
    )
    FineTuning(**{name: getattr(cold, name) for name in (*names, "check_every", "save_every", "seed")})
    grpo = settings_from(GrpoConfig, of_op(config, "grpo_model"))
    assert grpo.candidates >= grpo.prompts >= grpo.prompts_per_step
    assert cold.max_length >= cold.budget
    asked = of_op(config, "model_evaluation") | {"models": ["promoted"], "corpus": "corpus", "databases": "databases"}
    assert settings_from(EvaluationConfig, asked).decoded


def test_examples_of_models_that_write_and_check() -> None:
    build, align = read(CONFIGS / "build_14b_80gb.yaml"), read(CONFIGS / "align_14b_80gb.yaml")
    assert validate_run_config(defs.resolve_job_def("build_corpus"), build)
    config = CorpusConfig(**of_op(build, "databases")).settings(CONFIGS)
    assert {pool for stage in ("candidates", "questions") for pool in pools_of(config, stage)} == {GPU}
    assert validate_run_config(defs.resolve_job_def("align_corpus"), align)
    places = {"corpus": "corpus", "databases": "databases"}
    asked = settings_from(AlignConfig, of_op(align, "aligned_corpus") | places)
    assert asked.need <= len(asked.solvers) * asked.samples


def test_a_misspelt_setting_is_refused() -> None:
    config = read(CONFIGS / "train_cpu.yaml")
    config["ops"]["grpo_model"]["config"]["stepz"] = 4
    with pytest.raises(Exception, match="stepz"):
        validate_run_config(defs.resolve_job_def("train_grpo"), config)


def test_further_settings_that_cannot_be_used_fail_in_words() -> None:
    with pytest.raises(Failure, match="did you mean 'steps'"):
        usable(GrpoConfig, {"stepz": 4})
    with pytest.raises(Failure, match="databases are: `questions_databases`"):
        usable(EvaluationConfig, {"models": ["promoted"], "questions": ["dev.json"]})


@pytest.mark.parametrize(
    ("given", "direct"),
    [
        ({}, True),
        ({"direct": False}, False),
        ({"decoding": "vote"}, True),
        ({"decoding": "tree"}, False),
        ({"names": True}, False),
        ({"settings": {"names": True}}, False),
    ],
)
def test_a_base_is_asked_at_once_unless_what_all_are_asked_needs_turns(given: dict[str, Any], direct: bool) -> None:
    settings = evaluation_settings(ModelEvaluationConfig(**given))
    config = usable(EvaluationConfig, settings | {"models": ["org/base"], "corpus": "corpus"})
    assert config.prompt_format.direct is direct


@pytest.mark.parametrize(
    ("op", "config", "said"),
    [
        ("cold_start_trajectories", {"settings": {"teacher": "nobody"}}, "there is no teacher 'nobody'"),
        ("cold_start_model", {"settings": {"precision": "double"}}, "precision"),
        ("cold_start_model", {"settings": {"max_lenght": 9}}, "did you mean 'max_length'"),
        ("grpo_model", {"settings": {"reward": "foo"}}, "reward='foo'"),
        ("grpo_model", {"micro_batch": 0}, "micro_batch is 0"),
        ("grpo_model", {"settings": {"model": "other"}}, "model cannot be given here"),
        ("model_evaluation", {"settings": {"decoding": "bar"}}, "bar"),
        ("model_evaluation", {"questions": ["dev.json"]}, "databases are: `questions_databases`$"),
        ("model_evaluation", {"seed": {"env": "SEED"}, "limit": -1}, "limit is -1"),
        (
            "model_evaluation",
            {"questions": ["/gone/dev.json"], "questions_databases": "/"},
            "questions: /gone/dev.json: there is no such file or folder$",
        ),
        (
            "model_evaluation",
            {"questions": [__file__], "questions_databases": "/gone"},
            "questions_databases: /gone: there is no such file or folder$",
        ),
    ],
)
def test_what_a_later_step_cannot_use_is_told_before_the_first(
    op: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(Failure, match=rf"^{op}: .*{said}"):  # another step fails: it says whose setting that is
        refuse_unusable({"ops": {op: {"config": config}}}, Training(models=str(tmp_path)))


def test_a_model_that_nothing_can_be_meant_by_is_told_before_the_first_step(tmp_path: Path) -> None:
    def given(*models: str) -> dict[str, Any]:
        return {"ops": {"model_evaluation": {"config": {"models": models}}}}

    training = Training(models=str(tmp_path))
    refuse_unusable(given("cold-start", "grpo", "org/name", "http://host/v1"), training)  # the first two this run makes
    for name, said in (
        ("cold-strat", "nor a Hub id"),
        ("promoted", r"no model is promoted .* which is called cold-start"),
        ("./gone", "no such folder"),
    ):
        with pytest.raises(Failure, match=said):
            refuse_unusable(given("org/name", name), training)


def test_prompts_that_no_cold_start_has_learnt_from_are_told_before_the_first() -> None:
    learnt = settings_to(ColdStartConfig(budget=320, turns=4))

    def given(**further: Any) -> dict[str, Any]:
        return {"ops": {"grpo_model": {"config": {"settings": further}}}}

    refuse_other_format({}, learnt)
    refuse_other_format(given(budget=320, turns=4), learnt)
    with pytest.raises(Failure, match="grpo_model: budget, style is said by what its cold start learns from"):
        refuse_other_format(given(budget=250, style="ddl", turns=4), learnt)


def test_what_can_be_used_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGRO_TRAIN_PYTHON", "true")  # asked whether it has vLLM, it ends well
    training = Training(models=str(tmp_path))
    refuse_unusable({}, training)
    for path in TRAINING:
        refuse_unusable(read(path), training)
    with pytest.raises(Failure, match="processes is 0"):
        refuse_unusable({}, Training(processes=0))


def test_an_engine_that_is_not_installed_is_told_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the interpreter that trains, which may be another one."""
    asked = {"ops": {"grpo_model": {"config": {"use_vllm": True}}}}
    for answer, installed in ((0, True), (1, False)):
        (other := tmp_path / f"python{answer}").write_text(f"#!/bin/sh\nexit {answer}\n")
        other.chmod(0o755)
        monkeypatch.setenv("AGRO_TRAIN_PYTHON", str(other))
        refuse_unusable({}, Training())
        said = pytest.raises(Failure, match=r"grpo_model: use_vllm: .*python1 has no vLLM: .* or unset this$")
        with nullcontext() if installed else said:
            refuse_unusable(asked, Training())


def test_settings_whose_lines_are_all_comments_are_the_defaults() -> None:
    empty = {op: {"config": {"settings": None}} for op in SCHEMAS}
    assert validate_run_config(defs.resolve_job_def("train_grpo"), {"ops": empty})
    for kind in SCHEMAS.values():
        assert kind(settings=None).settings == kind().settings
    refuse_unusable({"ops": empty}, Training())


def test_a_cache_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure, match=r"file.*: Not a directory"):
        written(GrpoConfig(), Place(cache_folder=str(tmp_path / "file")))


def test_settings_without_effect_are_refused() -> None:
    """Trajectories are made by one asset and learnt from by another; where results go is not theirs to say."""
    with pytest.raises(Failure, match="learning_rate, lora cannot be given here"):
        settings_of(TrajectoriesConfig(settings={"learning_rate": 1.0, "lora": 64}), idle=LEARNING)
    with pytest.raises(Failure, match="explore, teacher cannot be given here"):
        settings_of(ColdStartModelConfig(settings={"explore": 0.9, "teacher": "model"}), idle=MAKING)
    found = settings_of(ColdStartModelConfig(settings={"max_length": 9, "seed": 3, "workers": 4}), idle=MAKING)
    assert (found["max_length"], found["seed"]) == (9, 3)
    for path in TRAINING:
        ops = read(path)["ops"]
        for op, idle in (("cold_start_trajectories", LEARNING), ("cold_start_model", MAKING)):
            settings_of(SCHEMAS[op](**ops[op]["config"]), idle=idle)


def test_the_file_for_a_cpu_says_the_defaults() -> None:
    for op, values in read(CONFIGS / "train_cpu.yaml")["ops"].items():
        for name, value in values["config"].items():
            assert SCHEMAS[op].model_fields[name].default == value, f"{op}: {name}"
