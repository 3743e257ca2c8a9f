"""What runs take turns at: a step of a pool waits for the others, `dagster_home/dagster.yaml` says how many may run.

A run that was killed keeps its slots, and what comes after would wait for them for ever: so each run first gives back
what runs hold whose process is gone.
"""

import os

import dagster as dg

DATABASE = "database"  # queries in the source databases, by as many workers as the machine has cores
NETWORK = "network"  # what is sent to others
GPU = "gpu"  # models that are trained or asked


def free_dead(instance: dg.DagsterInstance) -> list[str]:
    """Give back the slots of runs whose process on this machine is gone, and call these runs failed; their ids."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return []
    dead = [run_id for run_id in sorted(storage.get_concurrency_run_ids()) if _is_dead(instance, run_id)]
    for run_id in dead:
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
