"""Supervised fine-tuning by TRL's SFTTrainer on tokens that are ready: which of them are learnt is decided before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from agro_data.progress import time_left
from agro_train.finetuning.config import FineTuning
from agro_train.finetuning.trainer import make_trainer
from agro_train.language_model.fused_layers import unfuse
from agro_train.language_model.loading import LanguageModel, load_tokenizer, make_savable, sees
from agro_train.language_model.memory import give_back
from agro_train.language_model.tokens import Example
from agro_train.programs.settings import SettingsError
from agro_train.runs.store import Draft, append_metrics, forget_metrics, read_metrics, step_of

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

    Of several processes (`accelerate launch`) the first one saves; the others give nothing. `batch` is of each.

    A draft that holds checkpoints is continued from its last one, and its losses are those of a run without a break.
    """
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, PrinterCallback  # noqa: PLC0415

    tokenizer = load_tokenizer(base)
    half = tuning.precision == "bfloat16"
    torch.manual_seed(tuning.seed)
    module = AutoModelForCausalLM.from_pretrained(
        base,
        dtype=torch.bfloat16 if half else torch.float32,
        attn_implementation="sdpa" if tuning.share_prompts else None,
    )
    make_savable(module)
    longest = max(len(example.ids) for example in examples)
    if tuning.share_prompts and longest > sees(module.config):
        raise SettingsError(
            f"{base}: its layers look back on {sees(module.config)} tokens, and a trajectory has {longest}: rows that "
            "share prompts would show it more; set share_prompts to false, or lower max_length"
        )
    callbacks = [_callback(draft, tuning, len(examples), tokenizer, check, report)]
    trainer = make_trainer(module, tokenizer, examples, tuning, draft.path, callbacks)
    trainer.remove_callback(PrinterCallback)  # standard output is the caller's
    started = time.monotonic()
    resumed = draft.last_checkpoint()
    if trainer.is_world_process_zero():
        forget_metrics(draft.metrics, after=step_of(resumed) if resumed else 0)
    before = _seconds(draft)
    outcome = trainer.train(resume_from_checkpoint=str(resumed) if resumed else None)
    trainer.accelerator.wait_for_everyone()
    if not trainer.is_world_process_zero():
        return {}
    whole = _saved(trainer, tuning, draft.model)
    learnt = sum(sum(e.mask) for e in examples)
    last = dict(check(LanguageModel(base.name, draft.model, whole.eval(), tokenizer))) if check else {}
    # Of the lines: transformers' own mean leaves out the steps before a break, and divides by all.
    losses = [line["loss"] for line in read_metrics(draft.metrics) if "learning_rate" in line]
    loss = fmean(losses or [outcome.training_loss])
    line = {"step": outcome.global_step, "phase": "cold_start", "loss": loss, **last, "final": True}
    append_metrics(draft.metrics, line)
    report(line)
    return {
        "steps": outcome.global_step,
        "tokens": {"all": sum(len(e.ids) for e in examples), "learnt": learnt, "examples": len(examples)},
        "seconds": round(before + time.monotonic() - started, 1),
        "resumed_from": resumed and resumed.name,
        "summary": line,
    }


def _seconds(draft: Draft) -> float:
    """What the steps of a draft took, up to the checkpoint that it goes on from."""
    return max((line["seconds"] for line in read_metrics(draft.metrics) if "seconds" in line), default=0.0)


def _saved(trainer: Any, tuning: FineTuning, folder: Path) -> Any:
    """The trained module, adapters merged, as it is saved in `folder` with its tokenizer: in bfloat16."""
    trained = trainer.accelerator.unwrap_model(trainer.model)
    unfuse(trained)
    whole = trained.merge_and_unload() if tuning.lora else trained
    whole.bfloat16().save_pretrained(folder)
    trainer.processing_class.save_pretrained(folder)
    return whole


def _callback(
    draft: Draft,
    tuning: FineTuning,
    examples: int,
    tokenizer: Any,
    check: Check | None,
    report: Callable[[Mapping[str, Any]], object],
) -> Any:
    """Writes a line of metrics at each log of the trainer, and looks at what the model writes meanwhile."""
    from transformers import TrainerCallback  # noqa: PLC0415

    class Lines(TrainerCallback):  # type: ignore[misc]
        started = 0.0
        first = 0
        before = 0.0

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.started, self.first, self.before = time.monotonic(), state.global_step, _seconds(draft)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            if not logs or "loss" not in logs or not state.is_world_process_zero:
                return
            seconds = time.monotonic() - self.started
            done, total = state.global_step - self.first, state.max_steps - self.first
            learnt_from = examples * tuning.epochs * done / state.max_steps
            line = {
                "step": state.global_step,
                "steps": state.max_steps,
                "phase": "cold_start",
                "loss": logs["loss"],
                "token_accuracy": logs.get("mean_token_accuracy", math.nan),
                "learning_rate": logs["learning_rate"],
                "seconds": round(self.before + seconds, 1),
                "seconds_left": round(time_left(seconds, done, total), 1),
                "tokens_per_second": round(logs.get("num_tokens", 0.0) / max(seconds, 1e-9), 1),
                "trajectories_per_second": round(learnt_from / max(seconds, 1e-9), 3),
            }
            self.write(line)

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            give_back(args.device)
            every = tuning.check_every
            last = state.global_step == state.max_steps
            if check is None or not every or state.global_step % every or last or not state.is_world_process_zero:
                return
            found = check(LanguageModel("training", draft.model, model, tokenizer))
            self.write({"step": state.global_step, "phase": "check", **found})

        def write(self, line: dict[str, Any]) -> None:
            append_metrics(draft.metrics, line)
            report(line)

    return Lines()
