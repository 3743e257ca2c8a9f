"""The assets of training, left to right after the corpus: each one runs a program in a child process and shows what it
made. What flows between them is a path. (No postponed annotations here: Dagster reads the config's type from them.)
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import dagster as dg

from agro_data.defs.assets import FRESH, NO_SETTINGS
from agro_data.defs.place import Place
from agro_data.defs.pools import holding, pool_of
from agro_data.publish.read import DERIVED, Version, open_version
from agro_data.terminal.running import FAILED_SOME
from agro_train.cold_start import ColdStartConfig
from agro_train.comparison.figures import table
from agro_train.defs import metadata
from agro_train.defs.asked import evaluations, last_made
from agro_train.defs.child import program, run_child
from agro_train.defs.configs import ColdStartModelConfig, GrpoModelConfig, ModelEvaluationConfig, TrajectoriesConfig
from agro_train.defs.settings import (
    LEARNING,
    MAKING,
    refuse_other_format,
    refuse_unasked,
    refuse_unusable,
    settings_of,
    usable,
    written,
)
from agro_train.defs.training import Training
from agro_train.programs.settings import Settings, settings_to
from agro_train.promotion import consider, promoted
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.prompt_format import trained_prompt_format
from agro_train.runs.store import PROMOTED, ModelRun

GROUP = "training"
OWNER = "team:agro"
# A new parent is followed once nothing of it is under way and its blocking checks have passed: what failed one is
# neither learnt from, nor evaluated, nor promoted. A parent that is asked for in the same run has its checks there.
CHECKED = dg.AutomationCondition.all_checks_match(dg.AutomationCondition.check_passed(), blocking_only=True)
AFTER_CHECKS = (
    dg.AutomationCondition.eager()
    & dg.AutomationCondition.all_deps_match(CHECKED | dg.AutomationCondition.will_be_requested())
).with_label("a parent is new, and its checks passed")


class Common(TypedDict):
    """What the assets have in common."""

    group_name: str
    owners: list[str]
    automation_condition: dg.AutomationCondition[Any]


COMMON = Common(group_name=GROUP, owners=[OWNER], automation_condition=AFTER_CHECKS)
Result = dg.MaterializeResult[str]


@dg.asset(kinds={"parquet", "sqlite"}, deps=[dg.AssetKey("corpus")], **COMMON)
def cold_start_trajectories(
    context: dg.AssetExecutionContext,
    config: TrajectoriesConfig,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """Trajectories of the corpus version last built: steps taken for real against its databases, a diverse choice."""
    refuse_unusable(context.run.run_config, training)
    corpus = training.corpus_in(context, place)
    refuse_unasked(context, corpus)
    training.check_start()
    settings = _machine(place) | settings_of(config, idle=LEARNING) | _places(corpus, place, training)
    settings |= {"trajectories": str(place.out), "model": training.model}
    context.log.info(f"corpus: {corpus.corpus} {corpus.name}; model: {training.model}; {config.examples} trajectories")
    making = _settled(context, ColdStartConfig, settings)
    command = program("agro_train.teach", "--config", str(written(making, place)))
    made = open_version(_made(run_child(context, pipes, command, models=filter(None, [making.taught_by]))))
    return dg.MaterializeResult(value=str(made.path), metadata=metadata.of_trajectories(made))


@dg.asset(kinds={"pytorch", "huggingface"}, **COMMON)
def cold_start_model(
    context: dg.AssetExecutionContext,
    config: ColdStartModelConfig,
    cold_start_trajectories: str,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """The model after supervised fine-tuning on the trajectories, with the loss on its own tokens only."""
    refuse_unusable(context.run.run_config, training)
    made = open_version(Path(cold_start_trajectories))
    corpus = training.corpus_of(made.manifest[DERIVED], place)
    own = settings_of(config, idle=MAKING)
    settings = made.manifest["settings"]["config"] | _machine(place) | own | _places(corpus, place, training)
    settings |= {"learn_from": str(made.path)}
    if settings["model"] != training.model:
        context.log.warning(
            f"the trajectories are made for {settings['model']}, which is trained; for {training.model} materialize "
            "cold_start_trajectories, too"
        )
    learning = _settled(context, ColdStartConfig, settings)
    return _train(context, pipes, "agro_train.cold_start", learning, place, training)


@dg.asset(kinds={"pytorch", "huggingface"}, **COMMON)
def grpo_model(
    context: dg.AssetExecutionContext,
    config: GrpoModelConfig,
    cold_start_model: str,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """The model after agentic GRPO from the cold start: its own rollouts, rewarded when right on all instances."""
    refuse_unusable(context.run.run_config, training)
    start = ModelRun(Path(cold_start_model))
    corpus = training.corpus_of(start.manifest["corpus"], place)
    style, budget = trained_prompt_format(start)
    settings = _machine(place) | settings_of(config) | _places(corpus, place, training) | {"model": str(start.path)}
    settings |= {"style": style, "budget": budget, "turns": start.settings["turns"]}
    return _train(context, pipes, "agro_train.grpo", _settled(context, GrpoConfig, settings), place, training)


@dg.asset(kinds={"pytorch", "sqlite"}, deps=[cold_start_model, grpo_model], freshness_policy=FRESH, **COMMON)
def model_evaluation(
    context: dg.AssetExecutionContext,
    config: ModelEvaluationConfig,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """Models side by side on databases that none of them was trained on: metrics, intervals, cost, transcripts."""
    refuse_unusable(context.run.run_config, training)
    with holding(context, {pool_of(name) for name in config.models or [PROMOTED]}):  # then it is known what is promoted
        cold_start, grpo = (last_made(context, training, asset) for asset in ("cold_start_model", "grpo_model"))
        configs = evaluations(context, config, cold_start, grpo, place, training)
        made = {"cold start": cold_start, "GRPO": grpo, "promoted": promoted(training.models_root)}
        found: dict[str, Any] = {}
        for one in configs:
            about = ", ".join(one.questions) or " ".join(Path(one.corpus).parts[-2:])
            most = f"{one.limit:,} questions at most" if one.limit else "all questions"
            context.log.info(f"asked: {', '.join(one.models)}; about: {about}; {most}")
            command = program("agro_train.evaluate", "--config", str(written(one, place)))
            run_child(context, pipes, command, ends=(0, FAILED_SOME))
            summary = _read(Path(one.out) / "summary.json")
            for problem in (said for figured in summary["sets"] for said in figured["problems"]):
                context.log.warning(problem)
            tables = {figured["questions"]: table(figured) for figured in summary["sets"]}
            found |= metadata.of_evaluation(summary, tables, made)
    first = configs[0].out
    shown = {"folder": dg.MetadataValue.path(first), "page": dg.MetadataValue.path(f"{first}/index.html")}
    return dg.MaterializeResult(value=first, metadata=shown | found)


@dg.asset(config_schema=NO_SETTINGS, kinds={"python"}, deps=[cold_start_model, grpo_model], **COMMON)
def promoted_model(
    context: dg.AssetExecutionContext, model_evaluation: str, place: Place, training: Training
) -> Result:
    """Which model answers from now on: a new one only if the lower bound of its paired gain is not below zero; a first
    one, too, if it gains over what it was trained from and loses no question.
    """
    made = [last_made(context, training, asset) for asset in ("cold_start_model", "grpo_model")]
    runs = [run for run in made if run is not None]
    decisions = consider(Path(model_evaluation), runs, training.models_root)
    for decision in decisions:
        context.log.info(f"promotion, by {decision.metric} on {decision.rows} questions: {decision.reason}")
    run = promoted(training.models_root)
    now = run.name if run else "none"
    context.log.info(f"promoted model: {now}")
    return dg.MaterializeResult(
        value=now,
        metadata={
            "promoted": now,
            "verdict": "; ".join(decision.reason for decision in decisions),
            "decisions": metadata.of_decisions(decisions),
        },
    )


ASSETS = [cold_start_trajectories, cold_start_model, grpo_model, model_evaluation, promoted_model]


def _train(
    context: dg.AssetExecutionContext,
    pipes: dg.PipesSubprocessClient,
    module: str,
    config: ColdStartConfig | GrpoConfig,
    place: Place,
    training: Training,
) -> Result:
    """Run a training program to its end, with its curves drawn meanwhile."""
    context.log.info(f"{module}: from {config.model}, on {config.corpus}")
    command = program(module, "--config", str(written(config, place)), processes=training.processes)
    followed = training.models_root / config.name
    run = ModelRun(_made(run_child(context, pipes, command, models=[config.model], metrics=followed)))
    facts = run.manifest
    context.log.info(
        f"{run.name}: {facts['steps']} steps in {facts['seconds']:,.0f} s, {run.moved['share']:.0%} of tensors changed"
    )
    return dg.MaterializeResult(value=str(run.path), metadata=metadata.of_run(run))


def _settled(context: dg.AssetExecutionContext, kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings of a program of training. Raises `dg.Failure` where they cannot be used, or the run's GRPO would read
    other prompts."""
    found = usable(kind, values)
    refuse_other_format(context.run.run_config, settings_to(found))
    return found


def _machine(place: Place) -> dict[str, int]:
    """What this machine has for a program of training, unless its asset's settings say otherwise."""
    return {"workers": place.workers}


def _places(corpus: Version, place: Place, training: Training) -> dict[str, str]:
    """Where a training program finds a corpus, and where it keeps what it makes."""
    return {
        "corpus": str(corpus.path),
        "databases": str(training.databases_of(corpus)),
        "models": str(training.models_root),
        "cache": str(place.cache),
    }


def _made(last_line: str) -> Path:
    """The path that a program prints at the end, after its name and a colon."""
    return Path(last_line.partition(": ")[2])


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
