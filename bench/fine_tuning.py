"""How fast fine-tuning is: `python -m bench.fine_tuning --trajectories VERSION --model FOLDER`.

Three ways to train on the same trajectories, in turn within one process, so that other work on the machine touches all
alike: TRL's SFTTrainer as it comes, ours with every prompt read, ours with shared prompts read once. The first step of
each is not counted. Trajectories are those of the first micro batches of a whole version's schedule, so that they share
as much as they do in a training on all of it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agro_data.publish.read import open_version
from agro_train.cold_start import ColdStartConfig
from agro_train.finetuning.config import FineTuning
from agro_train.finetuning.schedule import sharing
from agro_train.finetuning.trainer import make_trainer
from agro_train.language_model.loading import load_tokenizer
from agro_train.language_model.shared_prompts import lay_row
from agro_train.language_model.tokens import Example
from agro_train.trajectories.material import encode_rows
from bench.parts.machine import description
from bench.parts.tables import show

BARE, APART, SHARED = "bare TRL", "ours, prompts apart", "ours, prompts shared"


@dataclass
class Timed:
    """Seconds on the clock and of the processor, in the steps that count, and how many trajectories they learnt."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    trajectories: int = 0
    losses: list[float] = field(default_factory=list)

    def add(self, seconds: float, cpu_seconds: float, trajectories: int) -> None:
        """One more step."""
        self.seconds += seconds
        self.cpu_seconds += cpu_seconds
        self.trajectories += trajectories


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trajectories", type=Path, required=True, help="a version that agro_train.teach made")
    parser.add_argument("--model", type=Path, required=True, help="folder of safetensors")
    parser.add_argument("--examples", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--row-examples", type=int, default=ColdStartConfig().row_examples)
    parser.add_argument("--precision", default=ColdStartConfig().precision)
    parser.add_argument("--ways", nargs="+", default=[BARE, APART, SHARED], choices=[BARE, APART, SHARED])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    defaults = ColdStartConfig()
    tuning = FineTuning(
        epochs=1.0,
        learning_rate=defaults.learning_rate,
        batch=options.batch,
        micro_batch=options.micro_batch,
        max_length=defaults.max_length,
        packing=False,
        lora=0,
        precision=options.precision,
        check_every=0,
        save_every=10**6,
        seed=defaults.seed,
        row_examples=options.row_examples,
    )
    tokenizer = load_tokenizer(options.model)
    stored = encode_rows(open_version(options.trajectories).examples().collect(), tokenizer)
    everything = [one for one in stored if len(one.ids) <= tuning.max_length]
    found = measure(options.model, everything, tuning, options.examples, options.rounds, options.ways)
    print(json.dumps(found) if options.json else description())
    if options.json:
        return
    show("What is read", ["of", "trajectories", "tokens apart", "tokens shared", "share"], found["tokens"])
    columns = ["way", "trajectories", "a second", "CPU seconds each", "times bare TRL, clock", "CPU", "mean loss"]
    show("Fine-tuning", columns, found["ways"])


def measure(
    model: Path, everything: Sequence[Example], tuning: FineTuning, size: int, rounds: int, ways: Sequence[str]
) -> dict[str, Any]:
    """Tokens that are read, and the speed of each way beside the first."""
    batches = sharing(everything, 1.0, tuning.micro_batch, tuning.row_examples, tuning.seed)
    places = [place for rows in batches for row in rows for place in row][:size]
    chosen = [everything[place] for place in places]
    timed: dict[str, Timed] = defaultdict(Timed)
    for _ in range(rounds):
        for way in ways:
            train(way, model, chosen, tuning, timed[way])
    first = timed[ways[0]]
    return {
        "tokens": [["the version", *tokens(everything, tuning)], ["trained on here", *tokens(chosen, tuning)]],
        "ways": [
            [
                way,
                one.trajectories,
                round(one.trajectories / one.seconds, 3),
                round(one.cpu_seconds / one.trajectories, 3),
                round(one.trajectories / one.seconds * first.seconds / first.trajectories, 2),
                round(one.trajectories / one.cpu_seconds * first.cpu_seconds / first.trajectories, 2),
                round(sum(one.losses) / len(one.losses), 4),
            ]
            for way, one in timed.items()
        ],
    }


def tokens(examples: Sequence[Example], tuning: FineTuning) -> list[Any]:
    """Trajectories, tokens when each is read whole, tokens in rows that share, and their ratio."""
    batches = sharing(examples, 1.0, tuning.micro_batch, tuning.row_examples, tuning.seed)
    apart = sum(len(one.ids) for one in examples)
    shared = sum(len(lay_row([examples[place] for place in row]).ids) for rows in batches for row in rows)
    return [len(examples), apart, shared, round(shared / apart, 3)]


def train(way: str, model: Path, examples: Sequence[Example], tuning: FineTuning, timed: Timed) -> None:
    """Train one epoch from the start and add what it took to `timed`."""
    import torch
    import trl.trainer.utils as trl_utils
    from transformers import AutoModelForCausalLM, TrainerCallback

    class Clock(TrainerCallback):  # type: ignore[misc]
        started = (0.0, 0.0)

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.started = (time.perf_counter(), time.process_time())

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step > 1:  # the first one warms up
                learnt = min(tuning.batch, len(examples) - tuning.batch * (state.global_step - 1))
                timed.add(time.perf_counter() - self.started[0], time.process_time() - self.started[1], learnt)

    torch.manual_seed(tuning.seed)
    module = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    tokenizer = load_tokenizer(model)
    as_it_comes = trl_utils._use_triton
    with TemporaryDirectory() as folder:
        place = Path(folder)
        if way == BARE:
            trainer = bare_trainer(module, tokenizer, examples, tuning, place, [Clock()])
        else:
            asked = replace(tuning, share_prompts=way == SHARED)
            trainer = make_trainer(module, tokenizer, examples, asked, place, [Clock()])
        try:
            timed.losses.append(trainer.train().training_loss)
        finally:
            trl_utils._use_triton = as_it_comes


def bare_trainer(
    module: Any, tokenizer: Any, examples: Sequence[Example], tuning: FineTuning, folder: Path, callbacks: Sequence[Any]
) -> Any:
    """TRL's trainer with the settings that say what is learnt, and its defaults in everything else."""
    import torch
    from trl import SFTConfig, SFTTrainer

    from datasets import Dataset

    settings = SFTConfig(
        output_dir=str(folder),
        num_train_epochs=tuning.epochs,
        learning_rate=tuning.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=tuning.warmup,
        per_device_train_batch_size=tuning.micro_batch,
        gradient_accumulation_steps=tuning.batch // tuning.micro_batch,
        max_length=tuning.max_length,
        gradient_checkpointing=False,
        bf16=tuning.mixed,
        use_cpu=not torch.cuda.is_available(),
        save_strategy="no",
        seed=tuning.seed,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    rows = Dataset.from_dict({"input_ids": [e.ids for e in examples], "labels": [e.labels for e in examples]})
    return SFTTrainer(
        model=module, args=settings, train_dataset=rows, processing_class=tokenizer, callbacks=list(callbacks)
    )


if __name__ == "__main__":
    main()
