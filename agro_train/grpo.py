"""Agentic GRPO (2512.23366, 2402.03300): a model learns from its own rollouts against databases, by TRL's trainer.

    python -m agro_train.grpo --config settings.json

Rewards are graded on all instances of an example. Before a step is taken, the gold of every prompt has earned the
highest reward. A run that was killed and is started again with the same settings goes on at its last checkpoint, and
takes the same steps as one that was not killed.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from agro_data.databases.sandbox import Sandbox
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.fingerprint import stable_hash
from agro_data.profiling.serialise import Style
from agro_data.publish.read import Version, open_version
from agro_data.work import write_json
from agro_train.advantages import Loss, Scale
from agro_train.agents import trained_reading
from agro_train.corpora import seen_by
from agro_train.credit import ESTIMATORS, Estimator
from agro_train.episodes import Player
from agro_train.lineage import manifest_of, start_of
from agro_train.loading import load, model_hash
from agro_train.prompts import Selection, Share, Wanted, schedule, select, shuffled
from agro_train.questions import Questions, Reading, SeenInTraining, questions_of_version
from agro_train.ranks import finished, is_first, processes
from agro_train.rewards import PRESETS
from agro_train.rollouts import Limits
from agro_train.runs import Draft, ModelRun, begin, forget_metrics, read_metrics, step_of
from agro_train.sampling.module import ModuleSampler
from agro_train.settings import SettingsError, check_counts, read_settings, settings_to, training_code_version
from agro_train.tasks import COMPACT, PROMPT_BUDGET, Task
from agro_train.tokens import encode

Report = Callable[[dict[str, Any]], object]

SELECTION = "prompts.json"
PLACES = ("corpus", "databases", "models", "cache", "workers")  # settings that do not decide what is learnt


@dataclass(frozen=True)
class GrpoConfig:
    """Settings. `corpus` is the folder of a version, `databases` the folder its databases lie in.

    `model` is a run below `models` (the cold start), its path, a folder, or a Hub id. A step plays `group` rollouts of
    each of `prompts_per_step` prompts (on each GPU), and learns from them `micro_batch` at a time.
    """

    corpus: str = ""  # a version's folder
    databases: str = ""  # the folder of its databases
    models: str = "models"  # where runs lie
    name: str = "grpo"  # the model's name there
    cache: str = ".agro-cache"  # profiles and unpacked models
    model: str = "cold-start"  # what training starts from: a run (cold-start), a Hub id, a folder
    split: str = "train"  # the split whose questions are learnt from
    seed: int = 0  # same seed, same training
    workers: int = 2  # of the sandbox
    # prompts
    prompts: int = 256  # questions that are learnt from
    candidates: int = 2_000  # at most so many are tried to find them
    select_rollouts: int = 8  # attempts that decide on a question; 0: any whose gold holds
    solve_rate_low: float = 0.125  # a question is kept when at least this share of them is right
    solve_rate_high: float = 0.875  # and at most this share
    bad_golds: str = "refuse"  # where a gold does not earn the full reward: refuse or drop
    allow_evaluated: bool = False  # whether databases of the evaluated splits may be trained on
    style: Style = COMPACT  # how a schema is written
    budget: int = PROMPT_BUDGET  # tokens of a schema at most
    # rollouts
    prompts_per_step: int = 8  # questions of a step, on each GPU
    group: int = 8  # attempts at each
    temperature: float = 1.0  # how they are sampled
    turns: int = 4  # turns of an attempt at most
    turn_tokens: int = 160  # tokens of a turn at most
    rollout_tokens: int = 512  # tokens after the prompt at most
    sample_batch: int = 64  # attempts that are written together
    resample: int = 0  # times that groups which teach nothing are replaced by other prompts
    reward: str = "agro"  # preset of reward terms: agro, reex, skyrl, arctic
    instances: float = 1.0  # share of an example's instances that rewards are graded on; 0: on its database alone
    # learning
    steps: int = 100  # of the optimiser
    micro_batch: int = 8  # attempts that go through the model together
    row_tokens: int = 2_048  # of a row of attempts that share their prompt (more pays with larger models); 0: none
    iterations: int = 1  # optimiser steps on the same attempts
    learning_rate: float = 5e-6  # after the warm-up
    warmup_steps: int = 0  # over which it rises
    schedule: str = "constant_with_warmup"  # of the learning rate, by transformers' name
    max_grad_norm: float = 1.0  # gradients are clipped to it
    loss_type: Loss = "dapo"  # TRL's name of the loss
    epsilon: float = 0.2  # clipping of the ratio below
    epsilon_high: float = 0.28  # and above
    beta: float = 0.0  # weight of the KL distance from the model before
    scale: Scale = "group"  # what advantages are divided by
    lora: int = 0  # rank of adapters; 0 trains every weight
    precision: str = "mixed"  # mixed, bfloat16 or float32
    gradient_checkpointing: bool = False  # less memory, more time
    use_vllm: bool = False  # vLLM in the training process writes the attempts
    vllm_memory: float = 0.3  # its share of the GPU's memory
    # credit
    advantage: Estimator = "grpo"  # who gets the credit: grpo, gigpo, spa, pav
    gamma: float = 0.95  # GiGPO's discount of later rewards
    omega: float = 1.0  # weight of GiGPO's step advantage
    spa_alpha: float = 1.0  # SPA-RL: weight of a turn's progress
    spa_beta: float = 0.5  # SPA-RL: weight of whether its query ran
    spa_learning_rate: float = 1e-3  # of the progress head
    spa_updates: int = 4  # of the progress head, each batch
    pav_rollouts: int = 4  # from each prefix
    pav_groups: int = 2  # at most so many groups a step
    pav_best_of: int = 4  # PAV's prover: the best of so many attempts
    pav_alpha: float = 3.0  # weight of PAV's progress
    # what is kept
    save_steps: int = 10  # steps between two checkpoints
    keep: int = 2  # checkpoints that are kept
    log_steps: int = 1  # steps between two lines of metrics
    kl_every: int = 10  # steps between two looks at the distance from the model before; 0: none, and no copy of it
    tensorboard: bool = True  # write TensorBoard files beside the metrics

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingsError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}")
        positive = ("steps", "prompts", "prompts_per_step", "micro_batch", "turns", "turn_tokens", "save_steps", "keep")
        also = ("log_steps", "iterations", "sample_batch", "rollout_tokens", "workers", "pav_rollouts", "pav_best_of")
        check_counts(self, *positive, *also)
        if self.prompts < self.prompts_per_step:
            raise SettingsError(
                f"prompts={self.prompts}: a step takes more; expected at least prompts_per_step={self.prompts_per_step}"
            )
        if self.group < 2:
            raise SettingsError(f"group={self.group}: a group of one has no advantage; expected at least 2")
        if self.temperature <= 0:
            raise SettingsError(f"temperature={self.temperature}: rollouts of a group must differ; expected above 0")
        if not 0 <= self.instances <= 1:
            raise SettingsError(f"instances={self.instances}: expected a share between 0 and 1")
        if not 0 <= self.solve_rate_low <= self.solve_rate_high <= 1:
            raise SettingsError("solve_rate_low and solve_rate_high: expected 0 <= low <= high <= 1")
        if (self.prompts_per_step * self.group) % self.micro_batch:
            raise SettingsError(
                f"micro_batch={self.micro_batch} does not divide the {self.prompts_per_step * self.group} rollouts of "
                f"a step (prompts_per_step x group)"
            )
        if self.save_steps % self.iterations or self.steps % self.iterations:
            raise SettingsError(
                f"save_steps={self.save_steps} and steps={self.steps}: expected multiples of "
                f"iterations={self.iterations}, since a checkpoint holds no half-used rollouts"
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
    "reward": tuple(PRESETS),
    "loss_type": get_args(Loss),
    "scale": get_args(Scale),
    "advantage": ESTIMATORS,
    "precision": ("float32", "mixed", "bfloat16"),
    "bad_golds": ("refuse", "drop"),
    "style": get_args(Style),
    "split": ("train", "validation", "test"),
}


def main() -> None:
    """Train as a settings file says; metrics go to standard output, one JSON line each."""
    parser = ArgumentParser(prog="python -m agro_train.grpo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", type=Path, required=True, help="JSON file of GrpoConfig")
    config = read_settings(GrpoConfig, parser.parse_args().config)
    run = train(config, report=lambda line: print(json.dumps(line), flush=True))
    if is_first():
        print(f"grpo: {run.path}", flush=True)


def train(config: GrpoConfig, report: Report = lambda _: None) -> ModelRun:
    """Train, or continue where it was interrupted, or give the run that these settings have made before.

    Raises `NoTask`, `NoVersion`, `ModelMissing`, `BadGolds`, `SeenInTraining` and `SettingsError`, in words for a
    person.
    """
    version = open_version(Path(config.corpus))
    parent, base = start_of(config.model, Path(config.models), Path(config.cache))
    draft = begin(Path(config.models), config.name, _fingerprint(config, version, base))
    if isinstance(draft, ModelRun):
        return draft
    if parent is not None:
        _check_parent(config, parent, version)
    questions = questions_of_version(version, Path(config.databases), Path(config.cache), config.split)
    with Sandbox(workers=config.workers) as sandbox:
        learnt, kept = _learn(config, base, questions, sandbox, draft, report)
    return finished(draft, lambda: _manifest(config, version, (parent, base), draft, learnt, kept))


def _manifest(
    config: GrpoConfig,
    version: Version,
    start: tuple[ModelRun | None, Path],
    draft: Draft,
    learnt: Mapping[str, Any],
    kept: Questions,
) -> dict[str, Any]:
    facts = manifest_of(
        "grpo",
        config,
        model=config.model,
        start=start,
        trained=draft.model,
        corpus=version,
        sources=[kept],
        reading=(config.style, config.budget),
        seed=config.seed,
    )
    parent, _ = start
    return {**facts, "trajectories": parent.manifest["trajectories"] if parent else None, **learnt}


def _learn(
    config: GrpoConfig, base: Path, questions: Questions, sandbox: Sandbox, draft: Draft, report: Report
) -> tuple[dict[str, Any], Questions]:
    """Choose prompts, train, save; gives the figures of the manifest and the questions that were trained on."""
    from accelerate import PartialState  # noqa: PLC0415

    from agro_train.grpo_trainer import Log, make_trainer, save, share_of  # noqa: PLC0415

    state = PartialState()  # with several processes, says which GPU is this one's, before a model is put there
    model = load(str(base), Path(config.cache), dtype="bfloat16" if config.precision == "bfloat16" else "float32")
    player = Player(
        ModuleSampler(model.network, model.tokenizer, config.sample_batch),
        model.tokenizer,
        sandbox,
        PRESETS[config.reward],
        config.limits,
        config.temperature,
    )
    trainer = make_trainer(config, model, player, draft, Log(player, draft.metrics, report))
    rows = {row["example_id"]: row for row in questions.rows}
    reading = Reading(config.style, config.budget, lambda text: len(encode(text, model.tokenizer)), turns=config.turns)

    def make(keys: Sequence[str]) -> list[Task]:
        tasks = replace(questions, rows=tuple(rows[key] for key in keys)).tasks(reading)
        return [task.graded_on(config.instances) for task in tasks]

    checkpoint = draft.last_checkpoint()
    selection = _select(config, list(rows), make, player, draft, report, share_of(trainer))
    kept = replace(questions, rows=tuple(rows[key] for key in selection.kept))
    tasks = {task.example_id: task for task in make(selection.kept)}
    trainer.schedule = [tasks[key] for key in schedule(selection.kept, len(trainer.train_dataset), config.seed)]
    trainer.spares = [tasks[key] for key in selection.kept]
    if state.is_main_process:
        forget_metrics(draft.metrics, after=step_of(checkpoint) if checkpoint else 0)
    before = sum(line["seconds"] for line in read_metrics(draft.metrics))
    started = time.monotonic()
    outcome = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    save(trainer, base, draft.model)
    return {
        "steps": outcome.global_step,
        "tokens": int(trainer.state.num_input_tokens_seen),
        "seconds": round(before + time.monotonic() - started, 1),
        "resumed_from": checkpoint and checkpoint.name,
        "selection": selection.facts(),
        "summary": next(reversed(list(read_metrics(draft.metrics))), {}),
    }, kept


def _select(
    config: GrpoConfig,
    keys: Sequence[str],
    make: Callable[[Sequence[str]], list[Task]],
    player: Player,
    draft: Draft,
    report: Report,
    share: Share,
) -> Selection:
    """The prompts that this draft trains on; chosen once, and then the same whenever it is continued."""
    stored = draft.path / SELECTION
    if stored.is_file():
        return Selection.from_json(json.loads(stored.read_text(encoding="utf-8")))
    candidates = shuffled(keys, "candidates", config.seed)[: config.candidates]
    found = select(candidates, make, player, config.wanted, report if not share.rank else lambda _: None, share)
    if len(found.kept) < config.prompts_per_step:
        raise SettingsError(
            f"{len(found.kept)} of {len(candidates)} candidates can be trained on ({found.facts()}), and a step takes "
            f"prompts_per_step={config.prompts_per_step}: raise candidates, widen solve_rate_low and solve_rate_high, "
            "or train a cold start first"
        )
    if not share.rank:
        write_json(stored, found.to_json())
    return found


def _check_parent(config: GrpoConfig, parent: ModelRun, version: Version) -> None:
    """The parent reads schemas as this run will, and has not been trained on what the corpus evaluates on."""
    style, budget = trained_reading(parent)
    turns = parent.manifest["config"].get("turns", config.turns)
    if (style, budget, turns) != (config.style, config.budget, config.turns):
        raise SettingsError(
            f"{parent.name} was trained with style={style!r}, budget={budget}, turns={turns}; found "
            f"{config.style!r}, {config.budget}, {config.turns}: use its settings, or another model"
        )
    split = version.manifest["split"]
    if config.allow_evaluated or split["mark"] == SAME_DATABASE:
        return
    hashes = {fact["db_id"]: fact["content_hash"] for fact in version.manifest["databases"]}
    seen = seen_by(parent)
    held = sorted(name for name, part in split["databases"].items() if part != "train" and hashes.get(name) in seen)
    if held:
        raise SeenInTraining(
            f"{parent.name} was trained on {len(held)} databases that {version.corpus} {version.name} holds back for "
            f"evaluation ({', '.join(held[:3])}): what it scores there would say nothing of unseen ones. Start from "
            "another model, or set allow_evaluated"
        )


def _fingerprint(config: GrpoConfig, version: Version, base: Path) -> str:
    decides = {name: value for name, value in settings_to(config).items() if name not in PLACES}
    return stable_hash([decides, version.fingerprint, model_hash(base), training_code_version(), processes()])


if __name__ == "__main__":
    main()
