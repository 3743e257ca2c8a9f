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
from agro_train.language_model.attention import fold_heads, switch_off_cudnn_attention
from agro_train.language_model.fused_head import score_only_what_is_learnt
from agro_train.language_model.fused_layers import fuse
from agro_train.language_model.loading import adapters
from agro_train.language_model.tokens import Example
from agro_train.runs.ranks import PATIENCE, on_one_gpu, processes


def make_trainer(
    module: Any, tokenizer: Any, examples: Sequence[Example], tuning: FineTuning, folder: Path, callbacks: Sequence[Any]
) -> Any:
    """A trainer of `module` that writes below `folder`. To share prompts `module` must attend by sdpa."""
    import torch  # noqa: PLC0415
    from trl import SFTConfig, SFTTrainer  # noqa: PLC0415

    from datasets import Dataset  # noqa: PLC0415

    score_only_what_is_learnt()
    fold_heads(module)
    switch_off_cudnn_attention()
    if tuning.compile:
        fuse(module)
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "tensorboard")
    steps = math.ceil(len(examples) * tuning.epochs / (tuning.batch * processes()))
    common: dict[str, Any] = {
        "output_dir": str(folder / "checkpoints"),
        "learning_rate": tuning.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": _warmup(steps, tuning.warmup),
        "gradient_accumulation_steps": tuning.batch // tuning.micro_batch,
        "max_length": tuning.max_length,
        "gradient_checkpointing": False,
        "bf16": tuning.mixed,
        "use_cpu": not torch.cuda.is_available(),
        "logging_steps": _between_lines(steps, tuning.save_every),
        "logging_nan_inf_filter": False,  # it puts the mean of other losses in place of one that is no number
        "save_strategy": "steps",
        "save_steps": tuning.save_every,
        "save_total_limit": 2,
        "seed": tuning.seed,
        "report_to": ["tensorboard"],
        "disable_tqdm": True,
        "ddp_timeout": int(PATIENCE.total_seconds()),
        "dataloader_pin_memory": torch.cuda.is_available(),
    }
    given = {"processing_class": tokenizer, "peft_config": adapters(tuning.lora), "callbacks": list(callbacks)}
    if not tuning.packing:
        from agro_train.finetuning.planned import padding_trainer  # noqa: PLC0415
        from agro_train.finetuning.sharing import sharing_trainer  # noqa: PLC0415

        make = sharing_trainer if tuning.share_prompts else padding_trainer
        return make(module, examples, tuning, common, given)
    settings = SFTConfig(
        **common,
        num_train_epochs=tuning.epochs,
        per_device_train_batch_size=tuning.micro_batch,
        packing=True,
        train_sampling_strategy="random",
    )
    rows = Dataset.from_dict({"input_ids": [e.ids for e in examples], "labels": [e.labels for e in examples]})
    return SFTTrainer(model=module, args=on_one_gpu(settings), train_dataset=rows, **given)


def _warmup(steps: int, share: float) -> float:
    """The share of the steps over which the learning rate rises. It rises from 0: where it would do so for one step,
    that step taught nothing, and there is none."""
    return share if steps * share > 1 else 0.0


def _between_lines(steps: int, save_every: int) -> int:
    """Steps between two lines of metrics: few, so that a short run has a curve, too, and none at a checkpoint, since a
    run that goes on from there begins a line."""
    return max(few for few in range(1, max(1, min(5, steps // 10)) + 1) if save_every % few == 0)
