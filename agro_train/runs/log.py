"""What a trainer logs, as lines of a run's metrics. Importing this module imports transformers."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from agro_data.progress import time_left
from agro_train.language_model.memory import give_back
from agro_train.programs.settings import SettingsError
from agro_train.runs.store import append_metrics

Report = Callable[[dict[str, Any]], object]


class MetricsLog(TrainerCallback, ABC):  # type: ignore[misc]
    """Writes a line to `path` whenever the trainer logs a loss, and reports it; gives back memory after each step.
    Ends a training that has lost its model, before it is saved.

    A line says which step of how many it is and the `phase`; what else, `figures` says.
    """

    phase: str

    def __init__(self, path: Path, report: Report) -> None:
        self.path = path
        self.report = report
        self.began = (0.0, 0)  # when, and the step that this process began at

    @abstractmethod
    def figures(self, state: Any, logs: Mapping[str, Any]) -> dict[str, Any]:
        """The figures of a line, from what the trainer logs."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.began = (time.perf_counter(), state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        give_back(args.device)
        if state.global_step == state.max_steps:
            control.should_log = True  # no line follows that would tell of it

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        if logs is None or "loss" not in logs:  # the summary at the end
            return
        _refuse_lost(state.global_step, logs)  # in every process: none waits for one that has ended
        if not state.is_world_process_zero:
            return
        line = {"step": state.global_step, "steps": state.max_steps, "phase": self.phase}
        self.write(line | self.figures(state, logs))

    def write(self, line: dict[str, Any]) -> None:
        """Add a line, and report it."""
        append_metrics(self.path, line)
        self.report(line)

    def seconds(self) -> float:
        """Since this process began to train."""
        return time.perf_counter() - self.began[0]

    def seconds_left(self, state: Any) -> float:
        """The time of the remaining steps, if they take as long as this process' steps so far."""
        first = self.began[1]
        return round(time_left(self.seconds(), state.global_step - first, state.max_steps - first), 1)


def _refuse_lost(step: int, logs: Mapping[str, Any]) -> None:
    """Raise `SettingsError` where a step has left no numbers in the weights: no later step brings them back."""
    for key, what in (("loss", "loss"), ("grad_norm", "gradient")):
        if not math.isfinite(logs.get(key, 0.0)):
            raise SettingsError(
                f"step {step}: the {what} is no number ({logs[key]}), and the model is lost: lower learning_rate; what "
                "has another begins anew"
            )
