"""Checks of training. All block: a model that learned nothing is neither evaluated nor promoted."""

import json
from pathlib import Path

import dagster as dg

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.defs.checks import result
from agro_data.defs.place import Place
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.publish.read import DERIVED, open_version
from agro_data.verify.golds import GoldResults
from agro_train.defs.training import Training
from agro_train.programs.telling import why_nothing_was_learned
from agro_train.questions import questions_of_version
from agro_train.runs.corpora import contents_of, seen_by
from agro_train.runs.store import ModelRun, NoRun, find_run
from agro_train.sql_env import SQL_LIMITS, check_golds
from agro_train.tasks import PromptFormat

GOLDS = 200
WINDOW = 3  # losses are compared by the mean of a third of the run, at its begin and at its end


@dg.asset_check(asset="cold_start_trajectories", blocking=True)
def golds_earn_the_reward(cold_start_trajectories: str, place: Place, training: Training) -> dg.AssetCheckResult:
    """A sample of the golds, played through the environment, earns the highest reward on all instances."""
    corpus = training.corpus_of(open_version(Path(cold_start_trajectories)).manifest[DERIVED], place)
    questions = questions_of_version(corpus, training.databases_of(corpus), place.cache, "train").first(GOLDS)
    with Sandbox(place.workers, SQL_LIMITS) as sandbox:
        faults = check_golds(questions.tasks(PromptFormat()), sandbox, GoldResults())
    return result(
        not faults,
        f"{len(questions.rows) - len(faults):,} of {len(questions.rows):,} golds earn the highest reward",
        f"; not {'; '.join(map(str, faults[:3]))}" if faults else "",
        golds=len(questions.rows),
        faults=len(faults),
    )


@dg.asset_check(asset="cold_start_model", blocking=True)
def loss_went_down(cold_start_model: str) -> dg.AssetCheckResult:
    """The loss of the last third of the steps is below the loss of the first third."""
    run = ModelRun(Path(cold_start_model))
    losses = [float(line["loss"]) for line in run.metrics() if "loss" in line and not line.get("final")]
    third = max(1, len(losses) // WINDOW)
    first, last = (sum(part) / len(part) if part else float("nan") for part in (losses[:third], losses[-third:]))
    return result(
        len(losses) > 1 and last < first,
        f"loss {first:.3f} at the begin, {last:.3f} at the end, over {run.manifest['steps']:,} steps",
        "" if len(losses) > 1 else "; too few steps to tell: take more trajectories or a smaller batch",
        first=first,
        last=last,
    )


@dg.asset_check(asset="cold_start_model", blocking=True)
def cold_start_parameters_moved(cold_start_model: str) -> dg.AssetCheckResult:
    """Training changed the model."""
    return _moved(cold_start_model)


@dg.asset_check(asset="grpo_model", blocking=True)
def grpo_parameters_moved(grpo_model: str) -> dg.AssetCheckResult:
    """Training changed the model: at least one step had a group whose rollouts earned different rewards."""
    return _moved(grpo_model)


@dg.asset_check(asset="model_evaluation", blocking=True)
def evaluation_is_on_unseen_databases(model_evaluation: str, place: Place, training: Training) -> dg.AssetCheckResult:
    """No model was trained on a database that it was asked about, by content. If a corpus has so few databases that it
    holds questions back instead, the check says so.
    """
    summary = json.loads((Path(model_evaluation) / "summary.json").read_text(encoding="utf-8"))
    corpus = open_version(Path(summary["config"]["corpus"]))
    asked = contents_of(corpus, summary["config"]["split"])
    seen: list[str] = []
    trained = 0
    for name in summary["config"]["models"]:
        try:
            run = find_run(training.models_root, name)
        except NoRun:  # a base model: trained on nothing of ours
            continue
        trained += 1
        contents = seen_by(run)
        seen += [f"{run.name} on {db_id}" for db_id, content in asked.items() if content in contents]
    few = corpus.manifest["split"]["mark"] == SAME_DATABASE
    return result(
        few or not seen,
        f"{trained} trained models on {len(asked)} databases of {corpus.corpus} {corpus.name}",
        "; too few to hold any back: it is questions that the corpus holds back"
        if few
        else f"; trained {', '.join(seen[:5])}"
        if seen
        else "",
        databases=len(asked),
        seen=len(seen),
    )


CHECKS = [
    golds_earn_the_reward,
    loss_went_down,
    cold_start_parameters_moved,
    grpo_parameters_moved,
    evaluation_is_on_unseen_databases,
]


def _moved(path: str) -> dg.AssetCheckResult:
    run = ModelRun(Path(path))
    moved = run.moved
    return result(
        bool(moved["moved"]),
        f"{run.name}: {moved['changed']:,} of {moved['tensors']:,} tensors changed, by {moved['largest']:.2g} at most",
        "" if moved["moved"] else f"; nothing was learned: {why_nothing_was_learned(run.metrics())}",
        changed=moved["changed"],
        tensors=moved["tensors"],
    )
