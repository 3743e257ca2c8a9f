"""What GRPO logs. Importing this module imports transformers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agro_train.reinforcement.episodes import Player
from agro_train.runs.log import MetricsLog, Report

_OURS = {  # names of TRL's own figures that go into the log
    "loss": "loss",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "entropy": "entropy",
    "kl": "kl",
    "clip_ratio/region_mean": "clip_ratio",
    "sampling/sampling_logp_difference/mean": "sampling_difference",
}


class GrpoLog(MetricsLog):
    """A line at each log of the trainer, with the seconds and tokens since the last one."""

    phase = "grpo"

    def __init__(self, player: Player, path: Path, report: Report) -> None:
        super().__init__(path, report)
        self.player = player
        self._since = (0.0, 0.0, 0.0, 0)

    def on_train_begin(self, args: Any, state: Any, control: Any, **named: Any) -> None:
        super().on_train_begin(args, state, control, **named)
        self._since = self._now(state)

    def figures(self, state: Any, logs: Mapping[str, Any]) -> dict[str, Any]:
        before, self._since = self._since, self._now(state)
        seconds, generation, environment, tokens = (new - old for new, old in zip(self._since, before, strict=True))
        line = {name: logs[key] for key, name in _OURS.items() if logs.get(key) is not None}
        line |= {key.removeprefix("agro/"): value for key, value in logs.items() if key.startswith("agro/")}
        return {
            **line,
            "seconds": seconds,
            "seconds_left": self.seconds_left(state),
            "generation_seconds": generation,
            "environment_seconds": environment,
            "loss_seconds": max(0.0, seconds - generation - environment),
            "environment_share": environment / max(seconds, 1e-9),
            "tokens_per_second": tokens / max(seconds, 1e-9),
        }

    def _now(self, state: Any) -> tuple[float, float, float, int]:
        player = self.player
        return time.perf_counter(), player.generation, player.environment, int(state.num_input_tokens_seen)
