"""A checkpoint every ten minutes, too: on two cores two hundred steps may take an hour, which a break would cost.

Importing this module imports transformers.
"""

from __future__ import annotations

import time
from typing import Any

from transformers import TrainerCallback

SECONDS = 600.0  # a checkpoint takes seconds of them


class SavedInTime(TrainerCallback):  # type: ignore[misc]
    """Has the trainer save where so long has passed since it did, at the next line of metrics.

    Of several processes each has a clock of its own, and all must save together: there `save_every` alone counts.
    """

    def __init__(self) -> None:
        self._saved = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._saved = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        late = time.monotonic() - self._saved >= SECONDS
        if late and args.world_size == 1 and state.global_step % args.logging_steps == 0:
            control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._saved = time.monotonic()
