"""TRL's SFTTrainer on rows that share their prompts. Importing this module imports torch and trl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trl import SFTTrainer

from agro_train.finetuning.config import FineTuning
from agro_train.finetuning.planned import Rows, planned_trainer
from agro_train.finetuning.schedule import sharing
from agro_train.language_model.shared_prompts import collate, lay_row
from agro_train.language_model.tokens import Example


class SharingTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL counts the ones of the mask, which here holds spans: counted another way."""

    read = 0

    def training_step(self, model: Any, inputs: dict[str, Any], *others: Any, **named: Any) -> Any:
        self.read += inputs["input_ids"].numel() * self.args.world_size
        return super().training_step(model, inputs, *others, **named)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        self._metrics["train"]["num_tokens"] = [self.read]
        super().log(logs, start_time)


def sharing_trainer(
    module: Any, examples: Sequence[Example], tuning: FineTuning, common: dict[str, Any], given: dict[str, Any]
) -> Any:
    """On rows of the trajectories that begin alike."""
    batches = sharing(examples, tuning.epochs, tuning.micro_batch, tuning.row_examples, tuning.seed)

    def rows_of(rows: list[list[int]]) -> Rows:
        return collate([lay_row([examples[place] for place in places]) for places in rows])

    return planned_trainer(SharingTrainer, module, batches, rows_of, common, given)
