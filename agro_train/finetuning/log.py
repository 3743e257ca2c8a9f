"""What supervised fine-tuning logs. Importing this module imports transformers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from agro_train.finetuning.config import FineTuning
from agro_train.runs.log import MetricsLog, Report
from agro_train.runs.store import Draft, read_metrics

Look = Callable[[Any], Mapping[str, float]]  # at what a module writes, under training


class FineTuningLog(MetricsLog):
    """A line at each log of the trainer, and between them what a `look` at the model says; `examples` are a pass."""

    phase = "cold_start"

    def __init__(self, draft: Draft, tuning: FineTuning, examples: int, look: Look | None, report: Report) -> None:
        super().__init__(draft.metrics, report)
        self.draft = draft
        self.tuning = tuning
        self.examples = examples
        self.look = look
        self.before = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        super().on_train_begin(args, state, control, **named)
        self.before = seconds_of(self.draft)

    def figures(self, state: Any, logs: Mapping[str, Any]) -> dict[str, Any]:
        seconds = self.seconds()
        learnt_from = self.examples * self.tuning.epochs * (state.global_step - self.began[1]) / state.max_steps
        return {
            "loss": logs["loss"],
            "token_accuracy": logs.get("mean_token_accuracy", math.nan),
            "learning_rate": logs["learning_rate"],
            "seconds": round(self.before + seconds, 1),
            "seconds_left": self.seconds_left(state),
            "tokens_per_second": round(logs.get("num_tokens", 0.0) / max(seconds, 1e-9), 1),
            "trajectories_per_second": round(learnt_from / max(seconds, 1e-9), 3),
        }

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **named: Any) -> None:
        super().on_step_end(args, state, control, **named)
        every = self.tuning.check_every
        last = state.global_step == state.max_steps
        if self.look is None or not every or state.global_step % every or last or not state.is_world_process_zero:
            return
        self.write({"step": state.global_step, "phase": "check", **self.look(model)})


def seconds_of(draft: Draft) -> float:
    """What the steps of a draft took, up to the checkpoint that it goes on from."""
    return max((line["seconds"] for line in read_metrics(draft.metrics) if "seconds" in line), default=0.0)
