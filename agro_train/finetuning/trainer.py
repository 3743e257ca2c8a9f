"""TRL's SFTTrainer on examples that are tokens already: as they are, packed, or in rows that share their prompts.

Imports torch and trl when called, never when imported.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agro_train.finetuning.config import FineTuning
from agro_train.language_model.attention import fold_heads
from agro_train.language_model.fused_head import score_only_what_is_learnt
from agro_train.language_model.fused_layers import fuse
from agro_train.language_model.loading import adapters
from agro_train.language_model.shared_prompts import collate, lay_row, schedule
from agro_train.language_model.tokens import Example
from agro_train.runs.ranks import on_one_gpu


def make_trainer(
    module: Any, tokenizer: Any, examples: Sequence[Example], tuning: FineTuning, folder: Path, callbacks: Sequence[Any]
) -> Any:
    """A trainer of `module` that writes below `folder`. To share prompts `module` must attend by sdpa."""
    import torch  # noqa: PLC0415
    from trl import SFTConfig, SFTTrainer  # noqa: PLC0415

    from datasets import Dataset  # noqa: PLC0415

    score_only_what_is_learnt()
    fold_heads(module)
    if tuning.compile:
        fuse(module)
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "tensorboard")
    steps = math.ceil(len(examples) * tuning.epochs / tuning.batch)
    common: dict[str, Any] = {
        "output_dir": str(folder / "checkpoints"),
        "learning_rate": tuning.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": tuning.warmup,
        "gradient_accumulation_steps": tuning.batch // tuning.micro_batch,
        "max_length": tuning.max_length,
        "gradient_checkpointing": False,
        "bf16": tuning.mixed,
        "use_cpu": not torch.cuda.is_available(),
        "logging_steps": max(1, min(5, steps // 10)),  # a short run has a curve, too
        "save_strategy": "steps",
        "save_steps": tuning.save_every,
        "save_total_limit": 2,
        "seed": tuning.seed,
        "report_to": ["tensorboard"],
        "disable_tqdm": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }
    given = {"processing_class": tokenizer, "peft_config": adapters(tuning.lora), "callbacks": list(callbacks)}
    if tuning.share_prompts:
        return _sharing(module, tokenizer, examples, tuning, common, given)
    settings = SFTConfig(
        **common,
        num_train_epochs=tuning.epochs,
        per_device_train_batch_size=tuning.micro_batch,
        packing=tuning.packing,
        train_sampling_strategy="random" if tuning.packing else "group_by_length",
    )
    rows = Dataset.from_dict({"input_ids": [e.ids for e in examples], "labels": [e.labels for e in examples]})
    return SFTTrainer(model=module, args=on_one_gpu(settings), train_dataset=rows, **given)


def _sharing(
    module: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    tuning: FineTuning,
    common: dict[str, Any],
    given: dict[str, Any],
) -> Any:
    """The data set is the schedule of the whole training: an entry is a micro batch, in order, and epochs lie one
    after the other, so that a run that was killed goes on with the rows it would have had."""
    from trl import SFTConfig, SFTTrainer  # noqa: PLC0415

    from datasets import Dataset  # noqa: PLC0415

    batches = schedule(examples, tuning.epochs, tuning.micro_batch, tuning.row_examples, tuning.seed)

    class Sharing(SFTTrainer):  # type: ignore[misc]
        """TRL counts the ones of the mask, which here holds spans: counted another way."""

        read = 0

        def training_step(self, model: Any, inputs: dict[str, Any], *others: Any, **named: Any) -> Any:
            self.read += inputs["input_ids"].numel() * self.args.world_size
            return super().training_step(model, inputs, *others, **named)

        def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
            self._metrics["train"]["num_tokens"] = [self.read]
            super().log(logs, start_time)

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
        facts.pad_token_id = tokenizer.pad_token_id
    data = Dataset.from_dict({"rows": [[list(places) for places in rows] for rows in batches]})
    return Sharing(model=module, args=on_one_gpu(settings), train_dataset=data, data_collator=rows_of, **given)
