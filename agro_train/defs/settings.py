"""From an asset's config to its program's settings: refused where they contradict each other, and written to a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import dagster as dg

from agro_data.config import ConfigError
from agro_data.defs.failures import failure, said
from agro_data.defs.place import Place
from agro_data.files import write_json
from agro_data.hashing import stable_hash
from agro_data.models import ModelMissing
from agro_data.publish.read import NoVersion, Version
from agro_train.cold_start import ColdStartConfig
from agro_train.defs.child import has, python
from agro_train.defs.configs import (
    CALLED,
    ColdStartModelConfig,
    GrpoModelConfig,
    ModelEvaluationConfig,
    TrajectoriesConfig,
)
from agro_train.defs.training import Training
from agro_train.evaluate import EvaluationConfig
from agro_train.programs.settings import Settings, settings_from, settings_to
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.named import check_named
from agro_train.runs.store import NoRun
from agro_train.trajectories.config import TrajectoriesConfig as Making

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Launchpad = TypeVar("Launchpad", bound=dg.Config)
PLACED = frozenset(("corpus", "databases", "models", "cache", "model", "learn_from", "trajectories"))  # said elsewhere
_BOTH = {"seed", "workers"}
MAKING = frozenset(field.name for field in fields(Making)) - _BOTH  # settings of what is learnt from
LEARNING = frozenset(field.name for field in fields(ColdStartConfig)) - MAKING - _BOTH  # and of learning from it
PROMPT_FORMAT = ("style", "budget", "turns")  # said once, by what a model learns from first
ASKED = ("models", "questions", "questions_databases")  # of an evaluation's config: no settings of its program
IDLE_IN_EVALUATION = ("models_root", "out")


def settings_of(config: dg.Config, *without: str, idle: Iterable[str] = ()) -> dict[str, Any]:
    """An asset's own settings with the further ones on top, by the names of the program's settings.

    Raises `dg.Failure` for a further setting that the asset, or the resource `training`, sets itself, and for an `idle`
    one: it is a setting of the program, but has no effect on this asset.
    """
    values: dict[str, Any] = config.model_dump()
    further: dict[str, Any] = values.pop("settings")
    if theirs := sorted(further.keys() & PLACED.union(idle)):
        raise dg.Failure(
            description=f"settings: {', '.join(theirs)} cannot be given here; the resource training says which corpus, "
            "databases and model, what an asset is made from says how schemas are read, and trajectories and learning "
            "have settings of their own",
            allow_retries=False,
        )
    return {name: value for name, value in values.items() if name not in without} | further


def evaluation_settings(config: ModelEvaluationConfig) -> dict[str, Any]:
    """How models are asked. One that was not trained here is asked for a query at once, unless what is asked of all
    needs turns: in turns, of which it knows nothing, a base would look worse, and the gain over it greater, than it is.
    """
    found = settings_of(config, *ASKED, idle=IDLE_IN_EVALUATION)
    return found | ({"direct": False} if found["names"] or found["decoding"] == "tree" else {})


def refuse_unusable(run_config: Mapping[str, Any], training: Training) -> None:
    """Raise `dg.Failure` for settings, of whichever asset of a run, that its program cannot use: those of GRPO would
    else be found when the cold start is trained. What a run finds out, as where the corpus lies, stands open; each of
    the models that are evaluated has to be among the trained ones, or one that the run makes, or found elsewhere."""
    training.check()
    with _said_of("cold_start_trajectories"):
        making = _given(run_config, "cold_start_trajectories", TrajectoriesConfig)
        usable(ColdStartConfig, settings_of(making, idle=LEARNING))
    with _said_of("cold_start_model"):
        learning = _given(run_config, "cold_start_model", ColdStartModelConfig)
        cold = usable(ColdStartConfig, settings_of(learning, idle=MAKING))
    with _said_of("grpo_model"):
        grpo = usable(GrpoConfig, settings_of(_given(run_config, "grpo_model", GrpoModelConfig)))
        if grpo.use_vllm and not has("vllm"):
            raise failure(f"use_vllm: {python()} has no vLLM: docs/reference.md says how to install it, or unset this")
    with _said_of("model_evaluation"):
        evaluation = _given(run_config, "model_evaluation", ModelEvaluationConfig)
        further = evaluation_settings(evaluation) | {"models": evaluation.models or ["promoted"]}
        usable(EvaluationConfig, further | {"corpus": "corpus"})
        if evaluation.questions:
            about = {"questions": evaluation.questions, "databases": evaluation.questions_databases}
            usable(EvaluationConfig, further | about)
            _refuse_gone("questions", *evaluation.questions)
            _refuse_gone("questions_databases", evaluation.questions_databases)
        refuse_unknown((name for name in evaluation.models if name not in (cold.name, grpo.name)), training.models_root)


def refuse_unasked(context: dg.AssetExecutionContext, corpus: Version) -> None:
    """Raise `dg.Failure` where a run evaluates models in the end, on a split of which the corpus has no row."""
    if "model_evaluation" not in {node.name for node in context.job_def.nodes}:
        return
    config = _given(context.run.run_config, "model_evaluation", ModelEvaluationConfig)
    with _said_of("model_evaluation"):
        try:
            corpus.examples(config.settings.get("split", EvaluationConfig.split))
        except NoVersion as error:
            raise failure(f"split: {error}") from None


def _refuse_gone(name: str, *paths: str) -> None:
    if gone := [path for path in paths if not Path(path).exists()]:
        raise failure(f"{name}: {gone[0]}: there is no such file or folder")


@contextmanager
def _said_of(op: str) -> Iterator[None]:
    """Failures name the asset whose settings they are about: the step that fails is another one."""
    try:
        yield
    except dg.Failure as error:
        raise dg.Failure(description=f"{op}: {error.description}", allow_retries=False) from None


def refuse_unknown(names: Iterable[str], models: Path) -> None:
    """Raise `dg.Failure` for the first name of a model that is neither a run below `models`, a folder, the address of a
    server nor of the form of a Hub id."""
    for name in names:
        try:
            check_named(name, models)
        except (NoRun, ModelMissing) as error:
            raise failure(str(error), CALLED) from None


def refuse_other_format(run_config: Mapping[str, Any], learnt: Mapping[str, Any]) -> None:
    """Raise `dg.Failure` where a run's settings of GRPO say other prompts than its cold start, by its settings, has
    `learnt` from: else that would be found when the cold start is trained."""
    asked = settings_of(_given(run_config, "grpo_model", GrpoModelConfig))
    form = {name: learnt[name] for name in PROMPT_FORMAT}
    if unlike := sorted(name for name, value in form.items() if asked.get(name, value) != value):
        raise dg.Failure(
            description=f"settings of grpo_model: {', '.join(unlike)} is said by what its cold start learns from: "
            f"{form}; cold_start_trajectories has the setting",
            allow_retries=False,
        )


def _given(run_config: Mapping[str, Any], op: str, kind: type[Launchpad]) -> Launchpad:
    """An asset's config as a run gives it; what an environment variable says, which is read later, is left out."""
    config = (run_config.get("ops", {}).get(op) or {}).get("config") or {}
    read = {name: value for name, value in config.items() if name == "settings" or not isinstance(value, dict)}
    return kind(**read)


def usable(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings of a program. Raises `dg.Failure`, which says what is wrong with them."""
    try:
        return settings_from(kind, values)
    except ConfigError as error:
        raise failure(str(error), CALLED) from None


def written(config: DataclassInstance, place: Place) -> Path:
    """The settings as a file for the program, named by what it holds. Raises `dg.Failure` where none can be written."""
    values = settings_to(config)
    path = place.cache / "settings" / f"{type(config).__name__}-{stable_hash(values)[:16]}.json"
    with said():
        write_json(path, values)
    return path
