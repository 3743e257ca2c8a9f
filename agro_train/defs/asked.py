"""Which models an evaluation asks, how they read and what about: as the trainings before it have left things."""

from __future__ import annotations

from typing import Any

import dagster as dg

from agro_data.defs.place import Place
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.hashing import stable_hash
from agro_data.publish.read import Version
from agro_train.defs.configs import ModelEvaluationConfig
from agro_train.defs.settings import evaluation_settings, refuse_unknown, usable
from agro_train.defs.training import Training
from agro_train.evaluate import EvaluationConfig
from agro_train.programs.settings import training_code_version
from agro_train.runs.corpora import contents_of, seen_by
from agro_train.runs.prompt_format import trained_limits, trained_prompt_format
from agro_train.runs.store import PROMOTED, ModelRun, NoRun, find_run


def last_made(context: dg.AssetExecutionContext, training: Training, asset: str) -> ModelRun | None:
    """The run that an asset made here, in this run of Dagster or one that it goes on with; else the one it made last,
    or its newest below the folder of models where Dagster remembers none. Runs take turns at the GPU: while this one
    waited, another may have made a model by other settings."""
    event = context.instance.get_latest_materialization_event(dg.AssetKey(asset))
    last = event.asset_materialization if event else None
    made = _made_here(context, asset) or last
    names = [str(made.metadata["run"].value)] if made and "run" in made.metadata else []
    for name in [*names, asset.removesuffix("_model").replace("_", "-")]:
        try:
            return find_run(training.models_root, name)
        except NoRun:
            continue
    return None


def _made_here(context: dg.AssetExecutionContext, asset: str) -> dg.AssetMaterialization | None:
    """What an asset made in this run of Dagster, else in the run whose steps this one repeats, and so on."""
    made, kind = dg.AssetKey(asset), dg.DagsterEventType.ASSET_MATERIALIZATION
    run: dg.DagsterRun | None = context.run
    while run is not None:
        for record in context.instance.get_records_for_run(run.run_id, of_type=kind, ascending=False).records:
            event = record.event_log_entry.dagster_event
            if event is not None and event.asset_key == made:
                found: dg.AssetMaterialization | None = record.asset_materialization
                return found
        run = context.instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None
    return None


def evaluations(
    context: dg.AssetExecutionContext,
    config: ModelEvaluationConfig,
    cold_start: ModelRun | None,
    grpo: ModelRun | None,
    place: Place,
    training: Training,
) -> list[EvaluationConfig]:
    """What the program is run with: once on the corpus, and once on files of questions, where there are any.

    Each has a folder named by all that decides what comes out, so that what was asked is not asked again. Raises
    `dg.Failure` for settings that do not fit and models that are none, before one is asked, which takes minutes.
    """
    refuse_unknown(config.models, training.models_root)
    newest = grpo or cold_start
    learnt_from = newest.corpus if newest and not training.corpus else None
    corpus = training.corpus_of(learnt_from, place) if learnt_from else training.corpus_in(context, place)
    models = config.models or _side_by_side(cold_start, grpo, corpus, training)
    common = (as_trained(cold_start, grpo) | evaluation_settings(config)) | {
        "models": models,
        "models_root": str(training.models_root),
        "cache": str(place.cache),
    }
    asked = [common | {"corpus": str(corpus.path), "databases": str(training.databases_of(corpus))}]
    if config.questions:
        asked.append(common | {"questions": config.questions, "databases": config.questions_databases})
    made_by = [_weights(models, training), training_code_version()]
    folders = [place.cache / "evaluations" / stable_hash([settings, made_by])[:16] for settings in asked]
    return [
        usable(EvaluationConfig, {"workers": place.workers} | settings | {"out": str(folder)})
        for settings, folder in zip(asked, folders, strict=True)
    ]


def as_trained(*runs: ModelRun | None) -> dict[str, Any]:
    """How schemas are read and how much may be written, so that all are held to what the model trained last is: a turn
    is as long as those that it learnt from its attempts at, or as a turn of any model without such."""
    made = [run for run in runs if run is not None]
    if not made:
        return {}
    style, budget = trained_prompt_format(made[-1])
    limits = [trained_limits(run) for run in made]
    return {
        "style": style,
        "budget": budget,
        "turns": limits[-1].turns,
        "turn_tokens": made[-1].settings.get("turn_tokens", limits[-1].turn),
        "rollout_tokens": max(one.rollout for one in limits),
    }


def _side_by_side(cold_start: ModelRun | None, grpo: ModelRun | None, corpus: Version, training: Training) -> list[str]:
    """Base, cold start, GRPO, and the promoted model if it is another and has not seen what the corpus holds back.

    Raises `dg.Failure` when nothing is trained.
    """
    runs = [run for run in (cold_start, grpo) if run is not None]
    if not runs:
        raise dg.Failure(
            description=f"no model is trained below {training.models_root}: run `dagster job execute -j train_grpo`, "
            "or name models in the asset's config",
            allow_retries=False,
        )
    names = [runs[0].base_model, *(run.name for run in runs)]
    try:
        promoted = find_run(training.models_root, PROMOTED)
    except NoRun:
        return names
    same = corpus.manifest["split"]["mark"] == SAME_DATABASE
    unseen = same or seen_by(promoted).isdisjoint(contents_of(corpus, "test").values())
    return [*names, promoted.name] if unseen and promoted.name not in names else names


def _weights(models: list[str], training: Training) -> list[str]:
    """What tells the models from others of the same name."""
    found: list[str] = []
    for name in models:
        try:
            found.append(str(find_run(training.models_root, name).manifest["model_sha256"]))
        except NoRun:
            found.append(name)
    return found
