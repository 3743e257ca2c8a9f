"""Two runs that take turns at the GPU: each evaluates and promotes the models that it has made itself.

(No postponed annotations here: Dagster reads the type of a context from them.)
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg

from agro_train.defs.asked import last_made
from agro_train.defs.training import Training
from agro_train.runs.store import ModelRun, begin


@dg.asset
def grpo_model(context: dg.AssetExecutionContext, training: Training) -> dg.MaterializeResult:  # type: ignore[type-arg]
    who = context.run.tags["who"]
    draft = begin(training.models_root, "grpo", who.encode().hex() * 8)
    run = draft if isinstance(draft, ModelRun) else draft.finish({})
    training.models_root.joinpath(f"made by {who}").write_text(run.name)
    return dg.MaterializeResult(metadata={"run": run.name})


@dg.asset(deps=[grpo_model])
def waits_for_the_pool(context: dg.AssetExecutionContext, training: Training) -> None:
    """Another run makes the model by its settings while this one is here."""
    if context.run.tags["who"] == "slow":
        assert execute("quick", context.instance, training.models_root, "grpo_model").success


@dg.asset(deps=[waits_for_the_pool])
def evaluation(context: dg.AssetExecutionContext, training: Training) -> None:
    found = last_made(context, training, "grpo_model")
    assert found is not None
    training.models_root.joinpath(f"asked by {context.run.tags['who']}").write_text(found.name)


ALL = [grpo_model, waits_for_the_pool, evaluation]
CHAIN = dg.Definitions(ALL, resources={"training": Training()})


def execute(who: str, instance: dg.DagsterInstance, models: Path, *assets: str) -> dg.ExecuteInProcessResult:
    selection = [dg.AssetKey(name) for name in assets] or [asset.key for asset in ALL]
    settings = {"resources": {"training": {"config": {"models": str(models)}}}}
    job = CHAIN.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(
        settings, instance, tags={"who": who}, asset_selection=selection, raise_on_error=False
    )


def read(models: Path, what: str) -> str:
    return (models / what).read_text()


def test_a_run_asks_the_model_that_it_made(tmp_path: Path) -> None:
    with dg.instance_for_test() as instance:
        assert execute("slow", instance, tmp_path).success
        assert execute("later", instance, tmp_path, "evaluation").success
    assert read(tmp_path, "asked by slow") == read(tmp_path, "made by slow")
    assert read(tmp_path, "asked by later") == read(tmp_path, "made by quick")  # it makes none: what was made last


def test_a_run_from_where_another_failed_asks_what_that_one_made(tmp_path: Path) -> None:
    with dg.instance_for_test() as instance:
        broken = execute("broken", instance, tmp_path, "grpo_model")
        assert execute("quick", instance, tmp_path, "grpo_model").success
        again = dg.DagsterRun("chain", parent_run_id=broken.run_id, root_run_id=broken.run_id)
        context: Any = SimpleNamespace(instance=instance, run=again)
        found = last_made(context, Training(models=str(tmp_path)), "grpo_model")
    assert found is not None
    assert found.name == read(tmp_path, "made by broken")
