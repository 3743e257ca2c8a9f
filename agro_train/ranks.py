"""Training in several processes, one a GPU, as `accelerate launch` starts them: all train, the first one writes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agro_train.runs import ModelRun, runs_of

PATIENCE = 600.0  # seconds that the others wait for the first to write the run
LOOK = 0.5


def is_first() -> bool:
    """Whether this process writes: metrics, model and manifest."""
    return os.environ.get("RANK", "0") == "0"


def written_by_first(root: Path, name: str, fingerprint: str) -> ModelRun:
    """The run of this fingerprint, once the first process has written it. Raises `TimeoutError` when it does not."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for run in runs_of(root, name):
            if run.manifest.get("fingerprint") == fingerprint:
                return run
        time.sleep(LOOK)
    raise TimeoutError(
        f"the first training process has not written a run of {name} within {PATIENCE:.0f} s; see its log"
    )
