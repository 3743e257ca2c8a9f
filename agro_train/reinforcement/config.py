"""Settings of GRPO: prompts, rollouts, learning, credit, and what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from agro_data.profiling.serialising.serialise import Style
from agro_data.verify.equivalence import Mode
from agro_train.advantages import Loss, Scale
from agro_train.language_model.precision import Precision
from agro_train.programs.settings import (
    SettingsError,
    check_counts,
    check_finite,
    check_seed,
    check_shares,
    find_cache,
    fit_parts,
)
from agro_train.programs.usual import COMPACT, PROMPT_BUDGET
from agro_train.reinforcement.credit import ESTIMATORS, Estimator
from agro_train.reinforcement.prompts import Wanted
from agro_train.rewards import PRESETS, PresetName
from agro_train.rollouts import Limits
from agro_train.runs.store import check_name

# The schedules of transformers that need only the steps of the warm-up.
Schedule = Literal[
    "constant_with_warmup", "constant", "linear", "cosine", "cosine_with_restarts", "polynomial", "inverse_sqrt"
]


@dataclass(frozen=True)
class GrpoConfig:
    """Settings. `corpus` is the folder of a version, `databases` the folder its databases lie in.

    `model` is a run below `models` (the cold start), its path, a folder, or a Hub id. A step plays `group` rollouts of
    each of `prompts_per_step` prompts (on each GPU), and learns from them `micro_batch` at a time, or fewer where that
    many do not part them evenly.
    """

    corpus: str = ""  # a version's folder
    databases: str = ""  # the folder of its databases
    models: str = "models"  # where runs lie
    name: str = "grpo"  # the model's name there
    cache: str = ""  # profiles and unpacked models; `$AGRO_CACHE` or .agro-cache, if empty
    model: str = "cold-start"  # what training starts from: a run (cold-start), a Hub id, a folder
    split: str = "train"  # the split whose questions are learnt from
    seed: int = 0  # same seed, same training
    workers: int = 2  # processes that run SQL
    # prompts
    prompts: int = 256  # questions that are learnt from
    candidates: int = 2_000  # questions tried at most to find them
    select_rollouts: int = 8  # attempts that decide on a question; 0: any whose gold holds
    solve_rate_low: float = 0.125  # a question is kept when at least this share of them is right
    solve_rate_high: float = 0.875  # and at most this share
    bad_golds: str = "refuse"  # where a gold does not earn the full reward: refuse or drop
    unread: bool = True  # asks first about databases that the model was not trained on, if there are any
    allow_evaluated: bool = False  # whether databases of the evaluated splits may be trained on
    style: Style = COMPACT  # how a schema is written
    budget: int = PROMPT_BUDGET  # tokens of a schema at most
    # rollouts
    prompts_per_step: int = 8  # questions of a step, on each GPU
    group: int = 8  # attempts at each
    temperature: float = 0.85  # how they are sampled; at 1.0 hardly any attempt of a small model is right (E4)
    names: bool = False  # SQL of an attempt may name only what its schema has
    turns: int = 4  # turns of an attempt at most
    turn_tokens: int = 200  # tokens of a turn at most; a hundredth of what it learnt from is longer
    rollout_tokens: int = 512  # tokens after the prompt at most
    sample_batch: int = 64  # attempts at different prompts that are written together; more if they share a prompt
    resample: int = 0  # times that groups which teach nothing are replaced by other prompts
    reward: PresetName = "agro"  # preset of reward terms
    instances: float = 1.0  # share of an example's instances that rewards are graded on; 0: on its database alone
    comparison: Mode = "strict"  # how rewards compare results; weaker ways are there to show what they pay for (E7)
    # learning
    steps: int = 100  # of the optimiser
    micro_batch: int = 8  # attempts that go through the model together at most; as many as part a step evenly
    share_prompts: bool = True  # attempts at one question lie in one row; its prompt is read once
    iterations: int = 1  # optimiser steps on the same attempts
    learning_rate: float = 5e-6  # after the warm-up
    warmup_steps: int = 0  # steps over which the learning rate rises
    schedule: Schedule = "constant_with_warmup"  # schedule of the learning rate, by transformers' name
    max_grad_norm: float = 1.0  # gradients are clipped to it
    loss_type: Loss = "dapo"  # TRL's name of the loss; dr_grpo is Dr.GRPO only with scale none
    epsilon: float = 0.2  # clipping of the ratio below
    epsilon_high: float = 0.28  # and above
    beta: float = 0.0  # weight of the KL distance from the model before
    scale: Scale = "group"  # divides advantages: the deviation of their group, or nothing (none), as in Dr.GRPO
    lora: int = 0  # rank of adapters; 0: none
    freeze: float = 0.0  # share of the layers, from the first, that stay as they are with the embeddings; 0 trains all
    precision: str = "auto"  # mixed, bfloat16, float32, or auto: mixed or float32, whichever is faster here
    gradient_checkpointing: bool = False  # less memory, more time
    use_vllm: bool = False  # vLLM in the training process writes the attempts
    vllm_memory: float = 0.3  # its share of the GPU's memory
    # credit
    advantage: Estimator = "grpo"  # who gets the credit: grpo, gigpo, spa, pav
    gamma: float = 0.95  # GiGPO's discount of later rewards
    omega: float = 1.0  # weight of GiGPO's step advantage
    spa_alpha: float = 1.0  # SPA-RL: weight of a turn's progress
    spa_beta: float = 0.5  # SPA-RL: weight of queries that run, if all turns are such; below what being right earns
    spa_learning_rate: float = 1e-3  # of the progress head
    spa_updates: int = 4  # of the progress head, each batch
    pav_rollouts: int = 8  # PAV: attempts from each state, more than `pav_best_of`; each attempt costs time
    pav_groups: int = 2  # at most so many groups a step
    pav_best_of: int = 4  # PAV's prover: the best of so many attempts
    pav_alpha: float = 3.0  # weight of PAV's progress; the advantage of a turn is divided by 1 and this
    # what is kept
    save_steps: int = 10  # steps between two checkpoints
    keep: int = 2  # checkpoints that are kept
    log_steps: int = 1  # steps between two lines of metrics; the last step has one, too
    kl_every: int = 10  # steps between two looks at the distance from the model before, and one at the end; 0: none
    tensorboard: bool = True  # write TensorBoard files beside the metrics

    def __post_init__(self) -> None:
        find_cache(self)
        check_finite(self)
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingsError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}")
        positive = ("steps", "prompts", "prompts_per_step", "micro_batch", "turns", "turn_tokens", "save_steps", "keep")
        also = ("log_steps", "iterations", "sample_batch", "rollout_tokens", "workers", "candidates", "budget")
        check_counts(self, *positive, *also, "pav_rollouts", "pav_groups", "pav_best_of")
        weights = ("learning_rate", "max_grad_norm", "epsilon", "epsilon_high", "beta", "spa_learning_rate")
        credit = ("omega", "spa_alpha", "spa_beta", "pav_alpha")
        counts = ("warmup_steps", "lora", "select_rollouts", "resample", "spa_updates", "kl_every")
        check_counts(self, *weights, *credit, *counts, least=0)
        check_shares(self, "instances", "gamma", "freeze")
        check_seed(self)
        check_name(self.name)
        if self.prompts < self.prompts_per_step:
            raise SettingsError(
                f"prompts={self.prompts}: a step takes more; expected at least prompts_per_step={self.prompts_per_step}"
            )
        if self.group < 2:
            raise SettingsError(f"group={self.group}: a group of one has no advantage; expected at least 2")
        if not self.temperature > 0:
            raise SettingsError(f"temperature={self.temperature}: rollouts of a group must differ; expected above 0")
        if not 0 < self.vllm_memory <= 1:
            raise SettingsError(f"vllm_memory={self.vllm_memory}: expected a share above 0, and at most 1")
        if not 0 <= self.solve_rate_low <= self.solve_rate_high <= 1:
            raise SettingsError("solve_rate_low and solve_rate_high: expected 0 <= low <= high <= 1")
        fit_parts(self, "micro_batch", self.prompts_per_step * self.group)
        if self.save_steps % self.iterations or self.steps % self.iterations:
            raise SettingsError(
                f"save_steps={self.save_steps} and steps={self.steps}: expected multiples of "
                f"iterations={self.iterations}, since a checkpoint holds no half-used rollouts"
            )
        if self.kl_every % self.iterations:
            raise SettingsError(
                f"kl_every={self.kl_every}: expected 0, or a multiple of iterations={self.iterations}, since the "
                "distance is looked at in steps that play rollouts"
            )
        if self.save_steps % self.log_steps:
            raise SettingsError(
                f"save_steps={self.save_steps}: expected a multiple of log_steps={self.log_steps}, since a run that "
                "goes on from a checkpoint begins a line of metrics there"
            )
        if self.precision == "bfloat16" and not self.lora:
            raise SettingsError(
                "precision='bfloat16' trains adapters: of a weight with 8 bits, the steps of GRPO are too small to "
                "change anything; set lora, or precision to mixed"
            )
        if self.names and self.use_vllm:
            raise SettingsError("names=true: SQL is held to the names of a schema in transformers only; unset use_vllm")
        if self.advantage == "pav" and self.resample:
            raise SettingsError("advantage='pav' learns from groups that resample would replace; set resample to 0")
        right = self.spa_alpha * PRESETS[self.reward].correctness
        if self.advantage == "spa" and not self.spa_beta < right:
            raise SettingsError(
                f"spa_beta={self.spa_beta:g}: expected below {right:g}, what a right answer earns (spa_alpha times its "
                f"weight in the reward {self.reward}), or looking around is worth more"
            )
        if self.advantage == "pav" and self.pav_rollouts <= self.pav_best_of:
            raise SettingsError(
                f"pav_rollouts={self.pav_rollouts}: expected more than pav_best_of={self.pav_best_of}, since no more "
                "attempts than that say of the prover's chance only 0 or 1; twice as many tell it, in twice the time"
            )

    @property
    def limits(self) -> Limits:
        return Limits(turn=self.turn_tokens, rollout=self.rollout_tokens, turns=self.turns)

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            prompts=self.prompts,
            tries=self.select_rollouts,
            low=self.solve_rate_low,
            high=self.solve_rate_high,
            drop=self.bad_golds == "drop",
            seed=self.seed,
        )


_CHOICES: Mapping[str, Sequence[str]] = {
    "reward": get_args(PresetName),
    "loss_type": get_args(Loss),
    "scale": get_args(Scale),
    "schedule": get_args(Schedule),
    "advantage": ESTIMATORS,
    "precision": get_args(Precision),
    "bad_golds": ("refuse", "drop"),
    "style": get_args(Style),
    "split": ("train", "validation", "test"),
    "comparison": get_args(Mode),
}
