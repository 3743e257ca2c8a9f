"""Training in several processes, one a GPU, as `accelerate launch` starts them: all train, the first one writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

from agro_train.programs.settings import SettingsError
from agro_train.runs.store import Draft, ModelRun, begin

# How long the others wait for the first one, which alone looks at answers, merges adapters, and compares and hashes
# weights: the half hour, or the ten minutes, that libraries wait may be too short.
PATIENCE = timedelta(hours=6)


def is_first() -> bool:
    """Whether this process writes: metrics, model and manifest."""
    return os.environ.get("RANK", "0") == "0"


def processes() -> int:
    """How many train together. They learn from so many times as much in a step, which makes another model."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def refuse_shared_gpus() -> None:
    """Raise `SettingsError` where more processes train on this machine than it has GPUs, if it has any."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if here == 1:
        return  # and a run that is there already is found without torch

    import torch  # noqa: PLC0415

    there = torch.cuda.device_count()
    if 0 < there < here:
        raise SettingsError(f"processes is {here}: a process trains on a GPU of its own, and this machine has {there}")


def on_one_gpu(args: Any) -> Any:
    """A trainer's arguments for a process that has one GPU, whatever the machine has: TRL takes no DataParallel."""
    if args.n_gpu > 1:
        args._n_gpu = 1
    return args


def writing(draft: Draft) -> AbstractContextManager[None]:
    """Around all that is written in a draft: the first process holds it. Raises `Locked`."""
    return draft.alone() if is_first() else nullcontext()


def finished(draft: Draft, manifest: Callable[[], dict[str, Any]]) -> ModelRun:
    """The run, put in its place by the first process when all are done with the draft; only that one asks `manifest`.

    Raises `RuntimeError` in the others when the first has not finished the run.
    """
    from accelerate import PartialState  # noqa: PLC0415 (imports torch)

    state = PartialState()
    state.wait_for_everyone()
    if state.is_main_process:
        draft.finish(manifest())
    state.wait_for_everyone()
    run = begin(draft.path.parents[1], draft.path.parent.name, draft.fingerprint)
    if not isinstance(run, ModelRun):
        raise RuntimeError(f"{draft.path}: the first process has not finished this run; see what it says")
    return run
