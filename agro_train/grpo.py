"""Agentic GRPO (2512.23366, 2402.03300): a model learns from its own rollouts against databases, by TRL's trainer.

    python -m agro_train.grpo --config settings.json

Rewards are graded on all instances of an example. Before a step is taken, the gold of every prompt has earned the
highest reward. A run that was killed and is started again with the same settings goes on at its last checkpoint, and
takes the same steps as one that was not killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.files import write_json
from agro_data.hashing import stable_hash
from agro_data.publish.read import Version, open_version
from agro_train.agents.engine import refuse_without_vllm
from agro_train.language_model.loading import framing_of, load, load_tokenizer, refuse_recurrent
from agro_train.language_model.memory import enough_memory
from agro_train.language_model.precision import settled
from agro_train.language_model.reach import reads
from agro_train.language_model.tokens import token_counter
from agro_train.programs.settings import (
    SettingsError,
    settings_of_program,
    settings_to,
    training_code_version,
)
from agro_train.questions import Questions, SeenInTraining, questions_of_version
from agro_train.reinforcement.config import GrpoConfig
from agro_train.reinforcement.episodes import Player
from agro_train.reinforcement.prompts import Selection, Share, schedule, select, shuffled
from agro_train.rewards import PRESETS
from agro_train.runs.corpora import held_back, seen_by
from agro_train.runs.lineage import facts_of, manifest_of, start_hash, start_of
from agro_train.runs.prompt_format import check_framing, trained_prompt_format
from agro_train.runs.ranks import PATIENCE, finished, is_first, processes, refuse_shared_gpus, writing
from agro_train.runs.store import Draft, ModelRun, begin, forget_metrics, read_metrics, step_of
from agro_train.sampling.module import ModuleSampler
from agro_train.sql_env import SQL_LIMITS
from agro_train.tasks import PromptFormat, Task

Report = Callable[[dict[str, Any]], object]

SELECTION = "prompts.json"
LOWER = (
    "micro_batch (the steps stay the same) or sample_batch, or set gradient_checkpointing, freeze or lora; what has "
    "other settings begins anew"
)
# Settings that do not decide what is learnt; what `model` names is asked for by its content.
PLACES = (
    *("corpus", "databases", "models", "model", "cache", "workers", "vllm_memory"),
    *("save_steps", "keep", "log_steps", "kl_every", "tensorboard"),
)


def main() -> None:
    """Train as a settings file says; metrics go to standard output, one JSON line each."""
    config = settings_of_program(GrpoConfig, "agro_train.grpo", __doc__)
    run = train(config, report=lambda line: print(json.dumps(line), flush=True))
    if is_first():
        print(f"grpo: {run.path}", flush=True)


def train(config: GrpoConfig, report: Report = lambda _: None) -> ModelRun:
    """Train, or continue where it was interrupted, or give the run that these settings have made before.

    Raises `NoTask`, `NoVersion`, `ModelMissing`, `BadGolds`, `SeenInTraining`, `ConfigError` and `Locked`, in words
    for a person.
    """
    refuse_shared_gpus()
    if config.use_vllm:
        refuse_without_vllm("unset use_vllm")
    config = replace(config, precision=settled(config.precision))  # part of what a run is
    version = open_version(Path(config.corpus))
    parent, base = start = start_of(config.model, Path(config.models), Path(config.cache))
    refuse_recurrent(base)
    draft = begin(Path(config.models), config.name, _fingerprint(config, version, start))
    if isinstance(draft, ModelRun):
        return draft
    with draft.begun():
        _check_split(config, version)
        questions = questions_of_version(version, Path(config.databases), Path(config.cache), config.split)
        if parent is not None:
            _check_parent(config, parent, version)
            questions = replace(questions, clarify=questions.clarify or parent.clarify)
        with writing(draft):
            with Sandbox(config.workers, SQL_LIMITS) as sandbox, enough_memory(LOWER):
                learnt, kept = _learn(config, parent, base, questions, sandbox, draft, report)
            return finished(draft, lambda: _manifest(config, version, start, draft, learnt, kept))


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
        databases=facts_of([kept]),
        clarify=kept.clarify,
        prompt_format=(config.style, config.budget),
        seed=config.seed,
    )
    parent, _ = start
    return {**facts, "trajectories": parent.manifest["trajectories"] if parent else None, **learnt}


def _candidates(config: GrpoConfig, parent: ModelRun | None, questions: Questions) -> list[str]:
    """Ids in the order in which they are tried: those about databases that the parent has not read come first."""
    unread = questions.without(seen_by(parent)) if config.unread and parent else replace(questions, rows=())
    first = {row["example_id"] for row in unread.rows}
    others = [row["example_id"] for row in questions.rows if row["example_id"] not in first]
    ordered = [key for keys in (sorted(first), others) for key in shuffled(keys, "candidates", config.seed)]
    return ordered[: config.candidates]


def _learn(
    config: GrpoConfig,
    parent: ModelRun | None,
    base: Path,
    questions: Questions,
    sandbox: Sandbox,
    draft: Draft,
    report: Report,
) -> tuple[dict[str, Any], Questions]:
    """Choose prompts, train, save; gives the figures of the manifest and the questions that were trained on."""
    import torch  # noqa: PLC0415
    from accelerate import PartialState  # noqa: PLC0415

    from agro_train.reinforcement.log import GrpoLog  # noqa: PLC0415
    from agro_train.reinforcement.setup import make_trainer, save, share_of  # noqa: PLC0415

    # With several processes, says which GPU is this one's, before a model is put there.
    state = PartialState(timeout=PATIENCE)
    model = load(str(base), Path(config.cache), dtype="bfloat16" if config.precision == "bfloat16" else "float32")
    player = Player(
        ModuleSampler(model.network, model.tokenizer, config.sample_batch),
        model.tokenizer,
        sandbox,
        preset=PRESETS[config.reward],
        limits=config.limits,
        temperature=config.temperature,
        names=config.names,
        comparison=config.comparison,
        reads=reads(model.network.config),
    )
    torch.manual_seed(config.seed)  # adapters are drawn before transformers sets it
    trainer = make_trainer(config, model, player, draft, GrpoLog(player, draft.metrics, report))
    rows = {row["example_id"]: row for row in questions.rows}
    prompt_format = PromptFormat(config.style, config.budget, token_counter(model.tokenizer), turns=config.turns)

    def make(keys: Sequence[str]) -> list[Task]:
        tasks = replace(questions, rows=tuple(rows[key] for key in keys)).tasks(prompt_format)
        return [task.graded_on(config.instances) for task in tasks]

    checkpoint = draft.last_checkpoint()
    candidates = _candidates(config, parent, questions)
    selection = _select(config, candidates, make, player, draft, report, share_of(trainer))
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
        "selection": {**selection.facts(), "unread": len(kept.without(seen_by(parent)).rows) if parent else None},
        # The last of each figure: a step on attempts that were made before it says nothing new of them.
        "summary": {name: value for line in read_metrics(draft.metrics) for name, value in line.items()},
    }, kept


def _select(
    config: GrpoConfig,
    candidates: Sequence[str],
    make: Callable[[Sequence[str]], list[Task]],
    player: Player,
    draft: Draft,
    report: Report,
    share: Share,
) -> Selection:
    """The prompts that this draft trains on; chosen once, and then the same whenever it is continued.

    What is known of candidates is kept as they are tried, which may take as long as the training.
    """
    stored = draft.path / SELECTION
    before = Selection.from_json(json.loads(stored.read_text(encoding="utf-8"))) if stored.is_file() else Selection()
    first = not share.rank

    def store(some: Selection) -> None:
        if first:
            write_json(stored, some.to_json())

    told = report if first else lambda _: None
    found = select(candidates, make, player, config.wanted, told, share, before, store)
    if len(found.kept) < config.prompts_per_step:
        raise SettingsError(
            f"{len(found.kept)} of {len(candidates)} candidates can be trained on ({found.facts()}), and a step takes "
            f"prompts_per_step={config.prompts_per_step}: raise candidates, widen solve_rate_low and solve_rate_high, "
            "lower budget where prompts are too long for the model, or train a cold start first"
        )
    return found


def _check_split(config: GrpoConfig, version: Version) -> None:
    """Databases that the corpus evaluates on are used for training only if the settings allow it."""
    if config.split != "train" and not config.allow_evaluated:
        what = "questions" if version.manifest["split"]["mark"] == SAME_DATABASE else "databases"
        raise SeenInTraining(
            f"split={config.split!r}: {version.corpus} {version.name} holds its {what} back for evaluation; what a "
            "model scores there would say nothing of unseen ones. Train on the train split, or set allow_evaluated"
        )


def _check_parent(config: GrpoConfig, parent: ModelRun, version: Version) -> None:
    """The parent reads prompts as this run will, and has not been trained on what the corpus evaluates on."""
    style, budget = trained_prompt_format(parent)
    check_framing(parent, framing_of(load_tokenizer(parent.model)))
    turns = parent.settings.get("turns", config.turns)
    if (style, budget, turns) != (config.style, config.budget, config.turns):
        raise SettingsError(
            f"{parent.name} was trained with style={style!r}, budget={budget}, turns={turns}; found "
            f"{config.style!r}, {config.budget}, {config.turns}: use its settings, or another model"
        )
    split = version.manifest["split"]
    if config.allow_evaluated or split["mark"] == SAME_DATABASE:
        return
    held = held_back(version, seen_by(parent))
    if held:
        raise SeenInTraining(
            f"{parent.name} was trained on {len(held)} databases that {version.corpus} {version.name} holds back for "
            f"evaluation ({', '.join(held[:3])}): what it scores there would say nothing of unseen ones. Start from "
            "another model, or set allow_evaluated"
        )


def _fingerprint(config: GrpoConfig, version: Version, start: tuple[ModelRun | None, Path]) -> str:
    decides = {name: value for name, value in settings_to(config).items() if name not in PLACES}
    return stable_hash([decides, version.fingerprint, start_hash(start), training_code_version(), processes()])


if __name__ == "__main__":
    main()
