"""Pools, in which runs take turns: a step waits for other steps of its pool; `dagster_home/dagster.yaml` says how many
may run.

A killed run keeps its slots, and later runs would wait for them for ever; a killed run without slots would be shown as
under way for ever. So each run first gives back what runs hold whose process is gone, and calls them failed.

A step has one pool, known when definitions are loaded. Which models a run asks, its settings say: what they need it
holds beside that (`holding`). Steps of the pool of models never wait for another one, so no two wait for each other.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import dagster as dg

from agro_data.config import BuildConfig
from agro_data.llm.writers import is_address

DATABASE = "database"  # queries in the source databases, by as many workers as the machine has cores
NETWORK = "network"  # what is sent to others
GPU = "gpu"  # models that are trained or asked
WRITES = frozenset({"candidates", "verified", "certified"})  # stages that make candidates, the last two by topping up
WORDS = frozenset({"questions", "certified"})
UNDER_WAY = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
LOOK = 1.0  # seconds between two looks at a pool that is full


def pool_of(model: str) -> str:
    """The pool for asking a model: the network's for a server's address; any other model runs here."""
    return NETWORK if is_address(model) else GPU


def pools_of(config: BuildConfig, stage: str) -> set[str]:
    """The pools that a stage of a build holds for the model that it asks; empty if it asks none."""
    writes = stage in WRITES and config.generator in ("llm", "both")
    asks = bool(config.writer) and (writes or stage in WORDS)
    return {pool_of(config.writer)} if asks else set()


@contextmanager
def holding(context: dg.AssetExecutionContext, pools: Iterable[str]) -> Iterator[None]:
    """Hold a slot of each pool while the block runs; wait for those that others hold."""
    storage = context.instance.event_log_storage
    held: list[str] = []
    try:
        for pool in sorted(pools) if storage.supports_global_concurrency_limits else ():
            if _is_limited(context.instance, pool):
                step = f"{context.asset_key.to_user_string()} ({pool})"  # not the step itself, which may hold another
                held.append(step)
                _claim(context, pool, step)
        yield
    finally:
        for step in held:
            storage.free_concurrency_slot_for_step(context.run.run_id, step)


def _is_limited(instance: dg.DagsterInstance, pool: str) -> bool:
    """Whether a pool has a limit; one that nobody has named yet gets the instance's default."""
    storage = instance.event_log_storage
    if any(known.name == pool for known in storage.get_pool_limits()):
        return True
    if storage.get_pool_config().default_pool_limit is None:
        return False
    return storage.initialize_concurrency_limit_to_default(pool)


def _claim(context: dg.AssetExecutionContext, pool: str, step: str) -> None:
    storage = context.instance.event_log_storage
    if storage.claim_concurrency_slot(pool, context.run.run_id, step).is_claimed:
        return
    context.log.info(f"waits for the pool {pool}, which others hold")
    while not storage.claim_concurrency_slot(pool, context.run.run_id, step).is_claimed:
        time.sleep(LOOK)
        free_dead(context.instance)  # who holds it may be killed meanwhile


def free_dead(instance: dg.DagsterInstance) -> list[str]:
    """Give back the slots of runs whose process on this machine is gone, and call these runs failed; their ids."""
    storage = instance.event_log_storage
    slots = storage.supports_global_concurrency_limits
    begun = {run.run_id for run in instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY))}
    begun |= storage.get_concurrency_run_ids() if slots else set()
    dead = [run_id for run_id in sorted(begun) if _is_dead(instance, run_id)]
    for run_id in dead:
        if slots:
            storage.free_concurrency_slots_for_run(run_id)
        run = instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            instance.report_run_failed(run, "its process is gone: it was killed, or the machine was switched off")
    return dead


def _is_dead(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    if run is None or run.is_finished:
        return True
    engine = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT).records
    events = [record.event_log_entry.dagster_event for record in engine]
    pids = [
        int(str(e.engine_event_data.metadata["pid"].value))
        for e in events
        if e and "pid" in e.engine_event_data.metadata
    ]
    return bool(pids) and not any(_is_there(pid) for pid in pids)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
