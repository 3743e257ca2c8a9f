"""The cold start: supervised fine-tuning on trajectories of a corpus, before any reward.

    python -m agro_train.cold_start --config settings.json

Trajectories are made of a corpus' train split (or of pairs that people wrote), chosen for their diversity, tokenised
as a rollout sees them, and learnt by TRL's SFTTrainer: L = -sum m_t log pi(y_t | y_<t, x) / sum m_t, with m_t = 1 on
the agent's own tokens and 0 on prompt and observations (2512.23366), and on turns that go wrong on purpose (ours).
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

import polars as pl

from agro_data.config import DEFAULT_MODEL
from agro_data.databases.sandbox import Sandbox
from agro_data.diversity.embeddings import load_encoder
from agro_data.fingerprint import seed_of, stable_hash
from agro_data.models import DEFAULT_WRITER
from agro_data.profiling.serialise import Style, serialiser
from agro_data.protocol import before_question
from agro_data.publish.read import Version, open_version
from agro_data.verify.grade import GoldResults
from agro_train.acting import Attempts, Teacher, act
from agro_train.agents import is_url, open_agent
from agro_train.finetuning import Check, FineTuning, fine_tune
from agro_train.lineage import manifest_of, start_of
from agro_train.loading import LanguageModel, load_tokenizer, model_hash
from agro_train.questions import COLUMNS, Questions, Reading, questions_of_file, questions_of_version
from agro_train.ranks import is_first, written_by_first
from agro_train.rewards import ENDED
from agro_train.rollouts import Limits, roll
from agro_train.runs import ModelRun, begin
from agro_train.sampling.module import ModuleSampler
from agro_train.selection import Chosen, choose, hybrid_vectors
from agro_train.settings import SettingsError, read_settings, settings_to, training_code_version
from agro_train.sql_env import score
from agro_train.tasks import COMPACT, PROMPT_BUDGET
from agro_train.teachers import TEACHER, Habits, make_trajectories
from agro_train.tokens import OUTSIDE, Example, encode, encode_steps
from agro_train.trajectories import DROPPED, TRAJECTORY, steps_of, write_trajectories

Report = Callable[[Mapping[str, Any]], object]
TeacherKind = Literal["decomposition", "model", "both"]
MAKING = (  # settings that decide which trajectories there are, beside the corpus
    *("model", "examples", "pool", "selection", "embedding_model", "decompose", "explore", "mistake", "rehearse"),
    *("link", "turns", "style", "budget", "seed"),
    *("teacher", "teacher_model", "teacher_samples", "teacher_temperature", "teacher_keep", "teacher_dtype"),
)


@dataclass(frozen=True)
class ColdStartConfig:
    """Settings. `corpus` is the folder of a version, `databases` the folder its databases lie in.

    `pairs` (a file of questions with SQL) is learnt from instead of the corpus; or beside it, when `corpus` is given
    too. `examples` is how many trajectories are learnt from, out of `pool` times as many that are made; where the
    teacher is a model, out of its right attempts at that many questions.
    """

    corpus: str = ""  # a version's folder
    databases: str = ""  # the folder of its databases
    pairs: str = ""  # a file of questions with SQL, learnt from instead of the corpus, or beside it
    learn_from: str = ""  # folder of a trajectories version (`agro_train.teach`): none are made
    trajectories: str = "datasets"  # where their version is written
    models: str = "models"  # where runs lie
    name: str = "cold-start"  # the model's name there
    cache: str = ".agro-cache"  # profiles, unpacked models, a teacher's attempts
    model: str = DEFAULT_WRITER  # what training starts from: a Hub id, a folder, a run
    examples: int = 2_000  # trajectories to learn from
    pool: float = 1.5  # how many times as many are made to choose from
    selection: str = "diverse"  # diverse or random
    embedding_model: str = DEFAULT_MODEL  # what diversity is told by: a Hub id, a path, or structural
    decompose: float = 0.25  # share of trajectories that take the example's steps
    explore: float = 0.1  # share that look first
    mistake: float = 0.05  # share that go wrong first, and recover
    rehearse: float = 0.1  # share that run the answer before they give it
    link: float = 1.0  # share that say tables and columns of a query before they write it
    teacher: TeacherKind = "decomposition"  # the examples' steps, a model's right attempts, or both
    teacher_model: str = ""  # a run, folder, Hub id or URL; empty: the model that training starts from
    teacher_samples: int = 4  # attempts at each of `examples` times `pool` questions
    teacher_temperature: float = 0.7  # how they are sampled
    teacher_keep: int = 1  # right attempts of a question that are kept, at most: the first that differ
    teacher_dtype: str = "float32"  # type of its weights
    turns: int = 4  # turns of a trajectory at most
    style: Style = COMPACT  # how a schema is written
    budget: int = PROMPT_BUDGET  # tokens of a schema at most
    epochs: float = 1.0  # passes over the trajectories
    learning_rate: float = 2e-4  # the highest; it falls as a cosine
    batch: int = 8  # trajectories of a step, on each GPU
    micro_batch: int = 4  # go through the model together; 8 of 1,000 tokens take SmolLM2-135M's process to 19 GiB
    max_length: int = 1_024  # tokens; a longer trajectory is left out
    packing: bool = False  # several in one row that share nothing, instead of `share_prompts`
    share_prompts: bool = True  # trajectories whose prompts begin alike lie in one row, which reads that once
    row_examples: int = 4  # trajectories in such a row at most, and at most `micro_batch`
    row_tokens: int = 1_024  # tokens of such a row at most
    lora: int = 0  # rank of adapters; 0 trains every weight
    precision: str = "mixed"  # mixed, bfloat16 or float32
    check_every: int = 0  # steps between two looks at format and execution rate; 0: only at the end
    check_questions: int = 40  # questions of such a look
    save_every: int = 200  # steps between two checkpoints
    seed: int = 0  # same seed, same training

    def __post_init__(self) -> None:
        if self.teacher not in get_args(TeacherKind):
            raise SettingsError(f"there is no teacher {self.teacher!r}; use {', '.join(get_args(TeacherKind))}")

    @property
    def attempts(self) -> Attempts:
        return Attempts(self.teacher_samples, self.teacher_temperature, self.teacher_keep)

    @property
    def habits(self) -> Habits:
        return Habits(self.explore, self.mistake, self.rehearse, self.turns, self.decompose, self.link)


def main() -> None:
    """Train as a settings file says; metrics go to standard output."""
    parser = ArgumentParser(prog="python -m agro_train.cold_start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", type=Path, required=True, help="JSON file of ColdStartConfig")
    config = read_settings(ColdStartConfig, parser.parse_args().config)
    run = train(config, report=lambda line: print(json.dumps(line), flush=True))
    if is_first():
        print(f"cold start: {run.path}", flush=True)


def train(config: ColdStartConfig, report: Report = lambda line: None) -> ModelRun:
    """Train, or continue where it was interrupted, or give the run that these settings have made before.

    Raises `NoTask`, `NoVersion`, `ModelMissing` and `ValueError`, in words for a person.
    """
    parent, base = start_of(config.model, Path(config.models), Path(config.cache))
    corpus = open_version(Path(config.corpus)) if config.corpus else None
    weights = [model_hash(base), teacher_hash(config)]
    identity = [settings_to(config), corpus and corpus.fingerprint, *weights, training_code_version()]
    draft = begin(Path(config.models), config.name, stable_hash(identity))
    if isinstance(draft, ModelRun):
        return draft
    tokenizer = load_tokenizer(base)
    sources = sources_of(config, corpus)
    with Sandbox(workers=2) as sandbox:
        material = (
            read_material(config, corpus)
            if config.learn_from
            else teach(config, corpus, sources, tokenizer, sandbox, report if is_first() else lambda line: None)
        )
        examples = encode_rows(material.trajectories, tokenizer, config.max_length)
        if is_first():
            report({"phase": "trajectories", "learnt": len(examples), "dropped": sum(material.dropped.values())})
        tuning = FineTuning(
            epochs=config.epochs,
            learning_rate=config.learning_rate,
            batch=config.batch,
            micro_batch=config.micro_batch,
            max_length=config.max_length,
            packing=config.packing,
            share_prompts=config.share_prompts,
            row_examples=config.row_examples,
            row_tokens=config.row_tokens,
            lora=config.lora,
            precision=config.precision,
            check_every=config.check_every,
            save_every=config.save_every,
            seed=config.seed,
        )
        check = _check(config, corpus, sandbox)
        learnt = fine_tune(base, examples, tuning, draft, check, report)
    if not is_first():
        return written_by_first(Path(config.models), config.name, draft.fingerprint)
    manifest = manifest_of(
        "cold_start",
        config,
        model=config.model,
        start=(parent, base),
        trained=draft.model,
        corpus=corpus,
        sources=sources,
        reading=(config.style, config.budget),
        seed=config.seed,
        also_seen=material.acting["databases"] if material.acting else (),
    )
    made = {
        "pairs": config.pairs or None,
        "teacher": material.teacher,
        "acting": material.acting,
        "trajectories": material.stored and f"{material.stored.parent.name}/{material.stored.name}",
        "selection": material.selection,
        "dropped": material.dropped,
    }
    return draft.finish({**manifest, **made, **learnt})


@dataclass(frozen=True)
class Material:
    """`trajectories` that are learnt from and where they are stored; how they were chosen, and why others dropped.

    `teacher` names who made them; `acting` are the facts of `acting.Teacher` where a model did.
    """

    trajectories: pl.DataFrame
    stored: Path | None
    selection: dict[str, Any]
    dropped: dict[str, int]
    teacher: str = TEACHER
    acting: dict[str, Any] | None = None


def teach(
    config: ColdStartConfig,
    corpus: Version | None,
    sources: Sequence[Questions],
    tokenizer: Any,
    sandbox: Sandbox,
    report: Report = lambda line: None,
) -> Material:
    """Make trajectories, choose among them, and store them as a version where there is a corpus to name."""
    teacher = open_teacher(config)
    made, dropped, chosen = make_material(config, sources, tokenizer, sandbox, teacher, report)
    selection = {
        "kind": config.selection,
        "made": made.height,
        "radius_95": chosen.radius.percentile_95,
        "radius_95_random": chosen.random.percentile_95,
        "strata": chosen.strata,
    }
    kept = made[chosen.rows]
    reasons = dict(dropped["reason"].value_counts().sort("reason").iter_rows())
    by = " and ".join(
        [*([TEACHER] if config.teacher != "model" else []), *([teacher.agent.name] if teacher is not None else [])]
    )
    material = Material(kept, None, selection, reasons, by, teacher.facts() if teacher is not None else None)
    return replace(material, stored=_store(config, corpus, material, dropped))


def open_teacher(config: ColdStartConfig) -> Teacher | None:
    """The model whose right answers are learnt from; None where the examples' own steps are all. Raises like
    `agents.open_agent`."""
    if config.teacher == "decomposition":
        return None
    name, models, cache = config.teacher_model or config.model, Path(config.models), Path(config.cache)
    reading = Reading(config.style, config.budget)
    agent = open_agent(name, models, cache, reading=reading, dtype=config.teacher_dtype)
    return Teacher.of(agent, config.attempts, config.turns)


def teacher_hash(config: ColdStartConfig) -> str:
    """Which weights teach, or which server; "" where no model does."""
    name = config.teacher_model or config.model
    if config.learn_from or config.teacher == "decomposition":
        return ""
    return name if is_url(name) else model_hash(start_of(name, Path(config.models), Path(config.cache))[1])


def read_material(config: ColdStartConfig, corpus: Version | None) -> Material:
    """The trajectories of `config.learn_from`. Raises `SettingsError` when they are of another corpus or reading."""
    stored = open_version(Path(config.learn_from))
    of, made = stored.manifest["of_corpus"], stored.manifest["settings"]
    if corpus is None or of["fingerprint"] != corpus.fingerprint:
        raise SettingsError(f"{stored.path}: made of corpus {of['name']} {of['version']}; give that one as `corpus`")
    wanted = {name: getattr(config, name) for name in ("style", "budget", "turns")}
    if wanted != {name: made["config"][name] for name in wanted}:
        raise SettingsError(f"{stored.path}: made with {made['config']}, but the settings say {wanted}")
    rows = stored.examples().collect()
    facts = stored.manifest
    dropped = facts["counts"]["dropped"]
    return Material(rows, stored.path, facts["selection"], dropped, facts["teacher"], made.get("acting"))


def make_material(
    config: ColdStartConfig,
    sources: Sequence[Questions],
    tokenizer: Any,
    sandbox: Sandbox,
    teacher: Teacher | None = None,
    report: Report = lambda line: None,
) -> tuple[pl.DataFrame, pl.DataFrame, Chosen]:
    """Trajectories made for real, those that were dropped, and which of the first are learnt from.

    Of several sources each gives its share by rows. Where there are two teachers, both are given the same questions.
    Raises `SettingsError` when the model that teaches is right on none of them.
    """
    reading = _reading(config, tokenizer)
    asked = sum(len(source.rows) for source in sources)
    wanted = min(asked, round(config.examples * max(1.0, config.pool)))
    drawn = [_drawn(source, round(wanted * len(source.rows) / asked), config.seed) for source in sources]
    made, dropped = [pl.DataFrame(schema=TRAJECTORY)], [pl.DataFrame(schema=DROPPED)]
    if config.teacher != "model":
        for one in drawn:
            kept, lost = make_trajectories(
                one.rows, one.tasks(reading), one.sources, sandbox, seed=config.seed, habits=config.habits
            )
            made.append(kept)
            dropped.append(lost)
    if teacher is not None:
        kept, lost = _act(teacher, drawn, reading, sandbox, config, report)
        made.append(kept)
        dropped.append(lost)
    candidates = pl.concat(made).unique("trajectory_id", keep="first", maintain_order=True)
    lost = pl.concat(dropped)
    if candidates.is_empty():
        first = lost.row(0, named=True)
        raise ValueError(f"none of {wanted} trajectories is right, the first for {first['reason']}: {first['detail']}")
    return candidates, lost, select(candidates, config)


def _act(
    teacher: Teacher,
    drawn: Sequence[Questions],
    reading: Reading,
    sandbox: Sandbox,
    config: ColdStartConfig,
    report: Report,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    found = [
        act(
            one.rows,
            [task.prompt for task in one.tasks(reading)],
            one.tasks(teacher.agent.reading),
            teacher,
            sandbox,
            Path(config.cache),
            seed=config.seed,
            tell=report,
        )
        for one in drawn
    ]
    kept, lost = (pl.concat(frames) for frames in zip(*found, strict=True))
    if kept.is_empty():
        raise SettingsError(
            f"{teacher.agent.name} is right on none of {sum(len(one.rows) for one in drawn)} questions, "
            f"{teacher.attempts.samples} attempts at each ({_tally(lost)}): there is nothing to learn from it. "
            "Let it learn from decompositions first (teacher decomposition), or name a stronger teacher_model"
        )
    return kept, lost


def _tally(dropped: pl.DataFrame) -> str:
    counted = dropped["reason"].value_counts().sort("count", "reason", descending=[True, False])
    return ", ".join(f"{reason} {count}" for reason, count in counted.iter_rows())


def _drawn(source: Questions, size: int, seed: int) -> Questions:
    order = Random(seed_of(seed, "questions", source.name)).sample(range(len(source.rows)), size)
    return replace(source, rows=tuple(source.rows[place] for place in sorted(order)))


def sources_of(config: ColdStartConfig, corpus: Version | None) -> list[Questions]:
    """What there is to learn from: the corpus' train split, the pairs, or both."""
    databases, cache = Path(config.databases), Path(config.cache)
    found: list[Questions] = []
    if corpus is not None:
        found.append(questions_of_version(corpus, databases, cache, "train", columns=(*COLUMNS, "steps", "split")))
    if config.pairs:
        pairs = questions_of_file(Path(config.pairs), databases, cache)
        rows = tuple({**row, "steps": [], "split": "train"} for row in pairs.rows)
        found.append(replace(pairs, rows=rows))
    if not found:
        raise SettingsError("nothing to learn from: give `corpus` (a version) or `pairs` (a file of questions)")
    clarify = any(one.clarify for one in found)  # one model reads one kind of prompt
    return [replace(one, clarify=clarify) for one in found]


def select(made: pl.DataFrame, config: ColdStartConfig) -> Chosen:
    """Those of the trajectories made that are learnt from."""
    structural = config.embedding_model == "structural"
    vectors = hybrid_vectors(made, None if structural else load_encoder(config.embedding_model))
    return choose(made, vectors, config.examples, config.seed, diverse=config.selection == "diverse")


def encode_rows(trajectories: pl.DataFrame, tokenizer: Any, max_length: int) -> list[Example]:
    """Tokens of each trajectory that is no longer than `max_length`; a longer one is left out, never cut.

    Learnt are the agent's own, but for turns that go wrong.
    """
    found: list[Example] = []
    for row in trajectories.iter_rows(named=True):
        tokens = encode_steps(row["prompt"], steps_of(row), tokenizer)
        if len(tokens.so_far) <= max_length:
            opening = f"{row['db_id']}\n{before_question(row['prompt'])}"
            learnt = [turn != OUTSIDE and row["turns"][turn]["learnt"] for turn in tokens.turns]
            found.append(Example(tokens.so_far, [0] * len(tokens.prompt) + list(map(int, learnt)), opening))
    if not found:
        raise ValueError(f"no trajectory has at most {max_length} tokens; raise max_length or lower budget")
    return found


def _reading(config: ColdStartConfig, tokenizer: Any) -> Reading:
    return Reading(config.style, config.budget, lambda text: len(encode(text, tokenizer)), config.turns)


def _store(config: ColdStartConfig, corpus: Version | None, material: Material, dropped: pl.DataFrame) -> Path | None:
    """Write the trajectories as a version beside the corpus; those of pairs have no corpus to name."""
    if corpus is None:
        return None
    made_by = {name: value for name, value in settings_to(config).items() if name in MAKING}
    settings = {
        "config": made_by,
        "pairs": bool(config.pairs),
        "serialiser": serialiser(config.style),
        "acting": material.acting,
    }
    return write_trajectories(
        Path(config.trajectories),
        corpus,
        material.trajectories,
        dropped,
        teacher=material.teacher,
        settings=settings,
        selection=material.selection,
    )


def _check(config: ColdStartConfig, corpus: Version | None, sandbox: Sandbox) -> Check | None:
    """How the model under training does on questions of databases that it does not learn from."""
    if corpus is None or not config.check_questions:
        return None
    held = questions_of_version(corpus, Path(config.databases), Path(config.cache), "validation")
    if not held.rows:
        return None

    def check(model: LanguageModel) -> dict[str, float]:
        reading = _reading(config, model.tokenizer)
        tasks = held.first(config.check_questions).tasks(reading)
        limits = Limits(turns=config.turns)
        sampler = ModuleSampler(model.network, model.tokenizer)
        rollouts = roll(tasks, sampler, model.tokenizer, sandbox, seeds=[config.seed] * len(tasks), limits=limits)
        shown = score([one.env for one in rollouts], sandbox, GoldResults())
        return {
            "format_rate": sum(one.outcome in ENDED for one in shown) / len(shown),
            "execution_rate": sum(one.executed for one in shown) / len(shown),
            "right": sum(one.right for one in shown) / len(shown),
        }

    return check


if __name__ == "__main__":
    main()
