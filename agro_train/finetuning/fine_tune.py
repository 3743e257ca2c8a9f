"""Supervised fine-tuning by TRL's SFTTrainer on tokens that are ready: which of them are learnt is decided before."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from agro_data.models import fastest_precision
from agro_train.finetuning.config import FineTuning
from agro_train.finetuning.trainer import make_trainer
from agro_train.language_model.freezing import freeze
from agro_train.language_model.fused_layers import unfuse
from agro_train.language_model.loading import LanguageModel, load_tokenizer, read_module, shares_prompts
from agro_train.language_model.tokens import Example
from agro_train.runs.store import Draft, forget_metrics, read_metrics, step_of

Check = Callable[[LanguageModel], Mapping[str, float]]


def fine_tune(
    base: Path,
    examples: Sequence[Example],
    tuning: FineTuning,
    draft: Draft,
    check: Check | None = None,
    report: Callable[[Mapping[str, Any]], object] = lambda line: None,
) -> dict[str, Any]:
    """Train the model in folder `base` and save it in `draft.model`; gives the figures of the manifest.

    With several processes (`accelerate launch`) the first one saves, and the others give nothing; `batch` is for each
    process.

    Where the model cannot read rows that share prompts, each example has one of its own.

    A draft that holds checkpoints is continued from its last one, and its losses are the same as in a run without a
    break.
    """
    import torch  # noqa: PLC0415
    from transformers import PrinterCallback  # noqa: PLC0415

    from agro_train.finetuning.log import FineTuningLog, seconds_of  # noqa: PLC0415
    from agro_train.finetuning.saving import SavedInTime  # noqa: PLC0415

    tokenizer = load_tokenizer(base)
    kind = torch.bfloat16 if tuning.precision == "bfloat16" else torch.float32
    torch.manual_seed(tuning.seed)
    share = tuning.share_prompts and shares_prompts(base, max(len(example.ids) for example in examples))
    tuning = replace(tuning, share_prompts=share)
    module = read_module(base, tokenizer, kind, attention="sdpa" if share else None)

    def look(module: Any) -> Mapping[str, float]:
        return check(LanguageModel(base.name, draft.model, module, tokenizer)) if check else {}

    def look_under_way(module: Any) -> Mapping[str, float]:
        with trainer.accelerator.autocast():  # in the numbers of the steps
            return look(module)

    log = FineTuningLog(draft, tuning, len(examples), look_under_way if check else None, report)
    trainer = make_trainer(module, tokenizer, examples, tuning, draft.path, [log, SavedInTime()])
    freeze(trainer.model, tuning.freeze)
    trainer.remove_callback(PrinterCallback)  # standard output is the caller's
    started = time.monotonic()
    resumed = draft.last_checkpoint()
    if trainer.is_world_process_zero():
        forget_metrics(draft.metrics, after=step_of(resumed) if resumed else 0)
    before = seconds_of(draft)
    outcome = trainer.train(resume_from_checkpoint=str(resumed) if resumed else None)
    trainer.accelerator.wait_for_everyone()
    if not trainer.is_world_process_zero():
        return {}
    whole = _saved(trainer, tuning, draft.model)
    learnt = sum(sum(e.mask) for e in examples)
    last = dict(look(_fastest(whole).eval())) if check else {}
    # Of the lines: transformers' own mean leaves out the steps before a break, and divides by all.
    losses = [line["loss"] for line in read_metrics(draft.metrics) if "learning_rate" in line]
    loss = fmean(losses or [outcome.training_loss])
    line = {"step": outcome.global_step, "phase": "cold_start", "loss": loss, **last, "final": True}
    log.write(line)
    return {
        "steps": outcome.global_step,
        "shared_prompts": share,
        "tokens": {"all": sum(len(e.ids) for e in examples), "learnt": learnt, "examples": len(examples)},
        "seconds": round(before + time.monotonic() - started, 1),
        "resumed_from": resumed and resumed.name,
        "summary": line,
    }


def _fastest(module: Any) -> Any:
    """The saved weights in the type in which this machine writes soonest: one without bfloat16 takes minutes in it."""
    import torch  # noqa: PLC0415

    return module.to(getattr(torch, fastest_precision(module.device.type)))


def _saved(trainer: Any, tuning: FineTuning, folder: Path) -> Any:
    """The trained module, adapters merged, as it is saved in `folder` with its tokenizer: in bfloat16."""
    trained = trainer.accelerator.unwrap_model(trainer.model)
    unfuse(trained)
    whole = trained.merge_and_unload() if tuning.lora else trained
    whole.bfloat16().save_pretrained(folder)
    trainer.processing_class.save_pretrained(folder)
    return whole
