"""TRL's SFTTrainer on rows that share their prompts. Importing this module imports torch and trl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trl import SFTConfig, SFTTrainer

from agro_train.finetuning.config import FineTuning
from agro_train.language_model.shared_prompts import collate, lay_row, schedule
from agro_train.language_model.tokens import Example
from agro_train.runs.ranks import on_one_gpu
from datasets import Dataset


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
) -> SharingTrainer:
    """The data set is the schedule of the whole training: an entry is a micro batch, in order, and epochs lie one
    after the other, so that a run that was killed goes on with the rows it would have had."""
    batches = schedule(examples, tuning.epochs, tuning.micro_batch, tuning.row_examples, tuning.seed)

    def rows_of(batch: list[dict[str, Any]]) -> dict[str, Any]:
        rows = [lay_row([examples[place] for place in places]) for one in batch for places in one["rows"]]
        return collate(rows)

    settings = SFTConfig(
        **common,
        num_train_epochs=1,
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    for facts in (module.config, module.generation_config):  # as TRL does where it pads itself
        facts.pad_token_id = given["processing_class"].pad_token_id
    data = Dataset.from_dict({"rows": [[list(places) for places in rows] for rows in batches]})
    return SharingTrainer(model=module, args=on_one_gpu(settings), train_dataset=data, data_collator=rows_of, **given)
