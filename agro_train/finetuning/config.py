"""Settings of supervised fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from agro_train.language_model.precision import Precision, settled
from agro_train.programs.settings import SettingsError, check_counts, check_seed, check_shares, fit_parts


@dataclass(frozen=True)
class FineTuning:
    """How to train. `batch` examples make a step, `micro_batch` of them go through the model together, or fewer
    where that many do not part it evenly.

    `share_prompts`: examples of a micro batch that begin alike lie in one row, at most `row_examples`, and their
    common beginning is read once, if the model can read such rows. `packing`: several examples that share nothing lie
    in one row. `compile`: norms and the layers between attention are kernels that PyTorch makes at the first step, in
    seconds on a GPU, where a step then takes less time and memory. `precision`: `mixed` keeps the weights in float32
    and computes in bfloat16; `bfloat16` has half the memory, and loses updates that are small beside their weight.
    `auto` is `mixed` or `float32`, whichever is faster here. `freeze`: share of the layers, from the first, that stay
    as they are, adapters too, with the embeddings (`language_model.freezing`).
    """

    epochs: float
    learning_rate: float
    batch: int
    micro_batch: int
    max_length: int
    packing: bool
    lora: int
    precision: str
    check_every: int
    save_every: int
    seed: int
    warmup: float = 0.05
    share_prompts: bool = True
    row_examples: int = 4
    compile: bool = False
    freeze: float = 0.0

    def __post_init__(self) -> None:
        check_counts(self, "batch", "micro_batch", "max_length", "save_every", "row_examples")
        check_counts(self, "learning_rate", "lora", "check_every", least=0)
        check_shares(self, "freeze")
        check_seed(self)
        if not self.epochs > 0:
            raise SettingsError(f"epochs is {self.epochs:g}: expected above 0")
        fit_parts(self, "micro_batch", self.batch)
        if self.packing and self.share_prompts:
            raise SettingsError(
                "packing and share_prompts are two ways to lay examples in rows: set one of them to false"
            )
        if self.precision not in get_args(Precision):
            raise SettingsError(f"precision {self.precision!r}: use {', '.join(get_args(Precision))}")

    @property
    def mixed(self) -> bool:
        """Whether weights in float32 are computed with in bfloat16."""
        return settled(self.precision) == "mixed"
