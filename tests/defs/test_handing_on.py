"""Runs at the same time: each goes on with what it made itself.

(No postponed annotations here: Dagster reads the type of a context from them.)
"""

import dagster as dg
import pytest

from agro_data.defs.handing_on import handing_on
from agro_train.definitions import defs

SEEN: dict[str, str] = {}


@dg.asset
def first(context: dg.AssetExecutionContext) -> str:
    return context.run.tags["who"]


@dg.asset
def between(context: dg.AssetExecutionContext, first: str) -> None:
    """Another run makes `first` anew while this one is here."""
    if context.run.tags["who"] == "slow":
        assert run("quick", context.instance, "first").success


@dg.asset(deps=[between])
def last(context: dg.AssetExecutionContext, first: str) -> None:
    SEEN[context.run.tags["who"]] = first


@dg.asset_check(asset=first, additional_deps=[between])
def looked_at(context: dg.AssetCheckExecutionContext, first: str) -> dg.AssetCheckResult:
    SEEN[f"check of {context.run.tags['who']}"] = first
    return dg.AssetCheckResult(passed=True)


CHAIN = dg.Definitions([first, between, last], asset_checks=[looked_at], resources={"io_manager": handing_on})


def run(who: str, instance: dg.DagsterInstance, *assets: str) -> dg.ExecuteInProcessResult:
    job = CHAIN.resolve_implicit_global_asset_job_def()
    selection = [dg.AssetKey(name) for name in assets or ("first", "between", "last")]
    return job.execute_in_process(instance=instance, tags={"who": who}, asset_selection=selection, raise_on_error=False)


@pytest.fixture
def seen() -> dict[str, str]:
    SEEN.clear()
    return SEEN


def test_a_run_goes_on_with_what_it_made(seen: dict[str, str]) -> None:
    with dg.instance_for_test() as instance:
        assert run("slow", instance).success
    assert seen == {"slow": "slow", "check of slow": "slow", "check of quick": "quick"}


def test_a_run_that_makes_nothing_gets_what_was_made_last(seen: dict[str, str]) -> None:
    with dg.instance_for_test() as instance:
        assert run("slow", instance).success
        assert run("later", instance, "last").success
    assert seen["later"] == "quick"


def test_what_nobody_made_yet_is_named(seen: dict[str, str]) -> None:
    with dg.instance_for_test() as instance:
        (failure,) = run("early", instance, "last").get_step_failure_events()
    assert failure.event_specific_data.user_failure_data.description == (  # type: ignore[union-attr]
        "Dagster has not made the asset first yet: materialize it first"
    )
    assert not seen


def test_the_house_hands_on_by_run() -> None:
    assert defs.resources is not None
    assert defs.resources["io_manager"] is handing_on
