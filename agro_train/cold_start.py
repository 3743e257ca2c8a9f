"""The cold start: supervised fine-tuning on trajectories of a corpus, before any reward.

    python -m agro_train.cold_start --config settings.json

Trajectories are made of a corpus' train split (or of pairs that people wrote), chosen for their diversity, tokenised
as a rollout sees them, and learnt by TRL's SFTTrainer: L = -sum m_t log pi(y_t | y_<t, x) / sum m_t, with m_t = 1 on
the agent's own tokens and 0 on prompt and observations (2512.23366), and on turns that go wrong on purpose (ours).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.evaluation.load import files_of
from agro_data.hashing import file_hash, stable_hash
from agro_data.publish.read import NoVersion, Version, open_version
from agro_data.verify.golds import GoldResults
from agro_train.finetuning.config import FineTuning
from agro_train.finetuning.fine_tune import Check, fine_tune
from agro_train.language_model.loading import (
    LanguageModel,
    check_trainable,
    load_tokenizer,
    read_config,
)
from agro_train.language_model.memory import enough_memory
from agro_train.language_model.precision import settled
from agro_train.language_model.reach import reads
from agro_train.programs.settings import (
    SettingsError,
    check_counts,
    settings_of_program,
    settings_to,
    training_code_version,
)
from agro_train.questions import Questions, SeenInTraining, questions_of_version
from agro_train.rewards import ENDED
from agro_train.rollouts import Limits, Policy, roll
from agro_train.runs.corpora import held_back, seen_by
from agro_train.runs.lineage import facts_of, manifest_of, start_hash, start_of
from agro_train.runs.ranks import finished, is_first, processes, refuse_shared_gpus, writing
from agro_train.runs.store import Draft, ModelRun, begin, check_name
from agro_train.sampling.module import ModuleSampler
from agro_train.sql_env import SQL_LIMITS, score
from agro_train.trajectories.config import PLACES as MADE_FROM
from agro_train.trajectories.config import TrajectoriesConfig
from agro_train.trajectories.material import (
    Material,
    Report,
    check_paths,
    encoded,
    read_material,
    sources_of,
    teach,
    teacher_hash,
)

# Settings that do not decide what is learnt; what lies there is asked for by its content.
PLACES = (*MADE_FROM, "learn_from", "model", "teacher_model", "save_every")


@dataclass(frozen=True)
class ColdStartConfig(TrajectoriesConfig):
    """Settings of the trajectories, and of how a model learns from them."""

    learn_from: str = ""  # folder of a trajectories version (`agro_train.teach`): none are made
    name: str = "cold-start"  # the model's name below `models`
    allow_evaluated: bool = False  # whether `pairs` may be about databases that the corpus evaluates on
    epochs: float = 1.0  # passes over the trajectories
    learning_rate: float = 5e-4  # the highest; it falls as a cosine. Larger models want less
    batch: int = 8  # trajectories of a step, on each GPU; a few hundred teach more in steps of four
    micro_batch: int = 4  # trajectories that go through the model together at most; as many as part a batch evenly
    max_length: int = 1_024  # tokens; a longer trajectory is left out, as is one that the model cannot read
    packing: bool = False  # several in one row that share nothing, instead of `share_prompts`
    share_prompts: bool = True  # those whose prompts begin alike lie in one row, which is read once, if a model can
    row_examples: int = 4  # trajectories in such a row at most, and at most `micro_batch`
    compile: bool = False  # norms and feed-forward layers become kernels at the first step: for long runs on a GPU
    lora: int = 0  # rank of adapters; 0: none
    freeze: float = 0.0  # share of the layers, from the first, that stay as they are with the embeddings; 0 trains all
    precision: str = "auto"  # mixed, bfloat16, float32, or auto: mixed or float32, whichever is faster here
    check_every: int = 0  # steps between two looks at format and execution rate; 0: only at the end
    check_questions: int = 40  # questions of such a look
    save_every: int = 200  # steps between two checkpoints; one process also makes one every ten minutes

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "check_questions", least=0)
        check_name(self.name)
        _ = self.tuning  # what is wrong with it is said before trajectories are made, which takes minutes

    @property
    def tuning(self) -> FineTuning:
        return FineTuning(
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            batch=self.batch,
            micro_batch=self.micro_batch,
            max_length=self.max_length,
            packing=self.packing,
            share_prompts=self.share_prompts,
            row_examples=self.row_examples,
            compile=self.compile,
            lora=self.lora,
            freeze=self.freeze,
            precision=self.precision,
            check_every=self.check_every,
            save_every=self.save_every,
            seed=self.seed,
        )


def main() -> None:
    """Train as a settings file says; metrics go to standard output."""
    config = settings_of_program(ColdStartConfig, "agro_train.cold_start", __doc__)
    run = train(config, report=lambda line: print(json.dumps(line), flush=True))
    if is_first():
        print(f"cold start: {run.path}", flush=True)


def train(config: ColdStartConfig, report: Report = lambda line: None) -> ModelRun:
    """Train, or continue where it was interrupted, or give the run that these settings have made before.

    Raises `NoTask`, `NoVersion`, `ModelMissing`, `SeenInTraining`, `ConfigError` and `Locked`, in words for a person.
    """
    refuse_shared_gpus()
    config = replace(config, precision=settled(config.precision))  # part of what a run is
    corpus = open_version(Path(config.corpus)) if config.corpus else None
    check_paths(config)
    _refuse_many_teachers(config)
    parent, base = start = start_of(config.model, Path(config.models), Path(config.cache))
    check_trainable(base)
    sources = sources_of(config, corpus)
    draft = begin(Path(config.models), config.name, _fingerprint(config, corpus, sources, start))
    if isinstance(draft, ModelRun):
        return draft
    with draft.begun():
        if corpus is not None and not config.allow_evaluated:
            _refuse_held_back(corpus, parent, sources)
        with writing(draft):
            with enough_memory("micro_batch (the steps stay the same) or max_length, or set freeze or lora"):
                learnt, material = _learn(config, corpus, sources, base, draft, report)
            return finished(draft, lambda: _facts(config, corpus, sources, material, start, draft) | learnt)


def _refuse_many_teachers(config: ColdStartConfig) -> None:
    """Raise `SettingsError` where each of several processes would load a teacher and learn from attempts of its own."""
    if processes() > 1 and config.taught_by and not config.learn_from:
        raise SettingsError(
            f"teacher={config.teacher!r}: each of the {processes()} processes would load the model that teaches, and "
            "learn from its own attempts; run `python -m agro_train.teach` with these settings first, in one process, "
            "and give the folder that it names as learn_from"
        )


def _refuse_held_back(corpus: Version, parent: ModelRun | None, sources: Sequence[Questions]) -> None:
    """Raise `SeenInTraining` where pairs, or the model before, are about databases that the corpus evaluates on."""
    if corpus.manifest["split"]["mark"] == SAME_DATABASE:
        return
    seen = {fact["content_hash"] for fact in facts_of(sources)} | (seen_by(parent) if parent else frozenset())
    if held := held_back(corpus, seen):
        raise SeenInTraining(
            f"`pairs`, or the model that training starts from, are about {len(held)} databases that {corpus.corpus} "
            f"{corpus.name} holds back for evaluation ({', '.join(held[:3])}): what is scored there would say nothing "
            "of unseen ones. Leave them out, or set allow_evaluated"
        )


def _learn(
    config: ColdStartConfig,
    corpus: Version | None,
    sources: Sequence[Questions],
    base: Path,
    draft: Draft,
    report: Report,
) -> tuple[dict[str, Any], Material]:
    """Make trajectories, or read those that were made, and train on them; gives the figures of the manifest."""
    tokenizer, longest = load_tokenizer(base), int(min(config.max_length, reads(read_config(base))))
    tell: Report = report if is_first() else lambda line: None
    with Sandbox(config.workers, SQL_LIMITS) as sandbox:
        check = _check(config, corpus, tokenizer, sandbox)  # what it cannot ask is said before hours of training
        if config.learn_from:
            material = read_material(Path(config.learn_from), config, corpus)
        else:
            material = teach(config, corpus, sources, tokenizer, sandbox, tell, longest)
        material, examples = encoded(material, tokenizer, longest, tell)
        short = {} if config.learn_from or len(examples) >= config.examples else {"asked_for": config.examples}
        told = {"learnt": len(examples), **short, "dropped": sum(material.dropped.values())}
        tell({"phase": "trajectories", **told})
        return fine_tune(base, examples, config.tuning, draft, check, report), material


def _facts(
    config: ColdStartConfig,
    corpus: Version | None,
    sources: Sequence[Questions],
    material: Material,
    start: tuple[ModelRun | None, Path],
    draft: Draft,
) -> dict[str, Any]:
    """What the manifest says beside the figures of training: where the model comes from, and what it learnt from."""
    taught_on = material.acting["databases"] if material.acting else []
    return {
        **manifest_of(
            "cold_start",
            config,
            model=config.model,
            start=start,
            trained=draft.model,
            corpus=corpus,
            databases=[*material.databases, *taught_on],
            clarify=any(one.clarify for one in sources),
            prompt_format=(config.style, config.budget),
            seed=config.seed,
        ),
        "pairs": config.pairs or None,
        "teacher": material.teacher,
        "acting": material.acting,
        "trajectories": material.stored and f"{material.stored.parent.name}/{material.stored.name}",
        "selection": material.selection,
        "dropped": material.dropped,
    }


def _fingerprint(
    config: ColdStartConfig,
    corpus: Version | None,
    sources: Sequence[Questions],
    start: tuple[ModelRun | None, Path],
) -> str:
    """The settings and inputs that decide the weights, without paths."""
    decides = {name: value for name, value in settings_to(config).items() if name not in PLACES}
    given = [
        corpus and corpus.fingerprint,
        config.pairs and [file_hash(file) for file in files_of(Path(config.pairs))[0]],
        [source.identities() for source in sources],  # a corpus names its databases, a file of pairs does not
        config.learn_from and open_version(Path(config.learn_from)).fingerprint,
    ]
    teacher = "" if config.learn_from else teacher_hash(config)
    return stable_hash([decides, *given, start_hash(start), teacher, training_code_version(), processes()])


def _check(config: ColdStartConfig, corpus: Version | None, tokenizer: Any, sandbox: Sandbox) -> Check | None:
    """How the model under training does on questions of databases that it does not learn from."""
    if corpus is None or not config.check_questions:
        return None
    try:
        held = questions_of_version(corpus, Path(config.databases), Path(config.cache), "validation")
    except NoVersion:  # a small corpus may have no rows in that split
        return None
    tasks = held.first(config.check_questions).tasks(config.prompt_format(tokenizer))

    def check(model: LanguageModel) -> dict[str, float]:
        sampler = ModuleSampler(model.network, model.tokenizer)
        policy = Policy(sampler, model.tokenizer, Limits(turns=config.turns))
        rollouts = roll(tasks, policy, sandbox, [config.seed] * len(tasks))
        shown = score([one.env for one in rollouts], sandbox, GoldResults())
        return {
            "format_rate": sum(one.outcome in ENDED for one in shown) / len(shown),
            "execution_rate": sum(one.executed for one in shown) / len(shown),
            "right": sum(one.right for one in shown) / len(shown),
        }

    return check


if __name__ == "__main__":
    main()
