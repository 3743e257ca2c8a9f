"""The assets of training, left to right after the corpus: each one runs a program in a child process and shows what it
made. What flows between them is a path. (No postponed annotations here: Dagster reads the config's type from them.)
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from agro_data.config import ConfigError
from agro_data.defs.assets import FRESH
from agro_data.defs.place import Place
from agro_data.defs.pools import GPU
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.fingerprint import stable_hash
from agro_data.publish.read import DERIVED, Version, open_version
from agro_data.terminal import FAILED_SOME
from agro_data.work import write_json
from agro_train.agents.agent import trained_limits, trained_reading
from agro_train.cold_start import ColdStartConfig
from agro_train.comparison.figures import table
from agro_train.defs import metadata
from agro_train.defs.child import program, run_child
from agro_train.defs.training import Training
from agro_train.evaluate import EvaluationConfig
from agro_train.programs.settings import Settings, settings_from, settings_to, training_code_version
from agro_train.promotion import consider
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.corpora import contents_of, seen_by
from agro_train.runs.store import PROMOTED, ModelRun, NoRun, find_run
from agro_train.tasks import COMPACT
from agro_train.trajectories.config import TrajectoriesConfig as Making

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GROUP = "training"
OWNER = "team:agro"
# A new parent is followed once nothing of it is under way and its blocking checks have passed: what failed one is
# neither learnt from, nor evaluated, nor promoted. A parent that is asked for in the same run has its checks there.
CHECKED = dg.AutomationCondition.all_checks_match(dg.AutomationCondition.check_passed(), blocking_only=True)
AFTER_CHECKS = (
    dg.AutomationCondition.eager()
    & dg.AutomationCondition.all_deps_match(CHECKED | dg.AutomationCondition.will_be_requested())
).with_label("a parent is new, and its checks passed")
PLACED = frozenset(("corpus", "databases", "models", "cache", "model", "learn_from", "trajectories"))  # said elsewhere
MAKING = frozenset(field.name for field in fields(Making)) - {"seed"}  # settings of what is learnt from
LEARNING = frozenset(field.name for field in fields(ColdStartConfig)) - MAKING - {"seed"}  # and of learning from it
FURTHER = "Any further setting of `python -m agro_train.{}`, by name."
PRECISION = "mixed, bfloat16, float32, or auto: mixed or float32, whichever is faster here."

Result = dg.MaterializeResult[str]


class TrajectoriesConfig(dg.Config):
    """What the cold start learns from. The defaults suit two CPU cores."""

    examples: int = Field(200, description="Trajectories, chosen for their diversity.")
    pool: float = Field(1.5, description="How many times as many are made to choose from.")
    selection: str = Field("diverse", description="diverse, or random.")
    embedding_model: str = Field("structural", description="Of actions and thoughts: a Hub id; structural needs none.")
    teacher: str = Field("decomposition", description="decomposition, model (its right attempts), or both.")
    teacher_model: str = Field("", description="A run, folder, Hub id or URL; the model that is trained, if empty.")
    teacher_samples: int = Field(4, description="Attempts of that model at each question.")
    style: str = Field(COMPACT, description="How a schema is written: compact, ddl or mschema.")
    budget: int = Field(320, description="Tokens of a schema at most; where it fits whole, questions share it.")
    turns: int = Field(4, description="Turns of a trajectory at most.")
    seed: int = Field(0, description="Same seed, same trajectories.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("cold_start"))


class ColdStartModelConfig(dg.Config):
    """How the cold start is learnt."""

    epochs: float = Field(1.0, description="Passes over the trajectories; 1 or 2.")
    learning_rate: float = Field(5e-4, description="The highest; it falls as a cosine. Larger models want less.")
    batch: int = Field(8, description="Trajectories of a step.")
    micro_batch: int = Field(4, description="Of these, how many go through the model together.")
    lora: int = Field(0, description="Rank of adapters; 0 trains every weight.")
    precision: str = Field("auto", description=PRECISION)
    settings: dict[str, Any] = Field({}, description=FURTHER.format("cold_start"))


class GrpoModelConfig(dg.Config):
    """How the model learns from its own attempts."""

    steps: int = Field(4, description="Steps of the optimiser.")
    prompts: int = Field(16, description="Questions that are learnt from, of those solved now and then.")
    candidates: int = Field(32, description="Questions that are tried to find them, at most.")
    select_rollouts: int = Field(0, description="Attempts that decide on a question; 0 takes any whose gold holds.")
    prompts_per_step: int = Field(4, description="Questions of a step, on each GPU.")
    group: int = Field(4, description="Attempts at each question of a step.")
    micro_batch: int = Field(8, description="Attempts that go through the model together.")
    learning_rate: float = Field(5e-6, description="Constant after the warm-up.")
    reward: str = Field(
        "arctic", description="Preset of reward terms: agro, reex, skyrl or arctic (which pays a little for what runs)."
    )
    advantage: str = Field("grpo", description="Credit: grpo, gigpo, spa or pav.")
    lora: int = Field(0, description="Rank of adapters; 0 trains every weight.")
    precision: str = Field("auto", description=PRECISION)
    use_vllm: bool = Field(False, description="Write the attempts by vLLM, in the same process.")
    seed: int = Field(0, description="Same seed, same steps.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("grpo"))


class ModelEvaluationConfig(dg.Config):
    """Who is asked what. No `models`: the base, the cold start and the GRPO model last made, and the promoted one."""

    models: list[str] = Field([], description="Runs, folders, Hub ids; the first is what others are held to.")
    limit: int = Field(64, description="Questions of each set at most, spread over it; 0: all.")
    questions: list[str] = Field(
        [], description="Question files beside the corpus' test split, such as spider/dev.json."
    )
    questions_databases: str = Field("", description="The databases that those files are about.")
    decoding: str = Field("greedy", description="greedy, vote, adaptive or tree.")
    names: bool = Field(False, description="SQL may name only tables and columns of the schema.")
    dtype: str = Field(
        "auto",
        description="Type of the weights; auto: the fastest here. Only float32 tells GRPO's smallest steps apart.",
    )
    seed: int = Field(0, description="Of samples and intervals.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("evaluate"))


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"parquet", "sqlite"},
    deps=[dg.AssetKey("corpus")],
    pool=GPU,
    automation_condition=AFTER_CHECKS,
)
def cold_start_trajectories(
    context: dg.AssetExecutionContext,
    config: TrajectoriesConfig,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """Trajectories of the newest corpus version: steps taken for real against its databases, a diverse choice."""
    _refuse_unknown(context.run.run_config)
    corpus = training.corpus_in(place)
    settings = _settings(config, idle=LEARNING) | _places(corpus, place, training)
    settings |= {"trajectories": str(place.out), "model": training.model}
    context.log.info(f"corpus: {corpus.corpus} {corpus.name}; model: {training.model}; {config.examples} trajectories")
    file = written_settings(usable(ColdStartConfig, settings), place)
    made = open_version(_made(run_child(context, pipes, program("agro_train.teach", "--config", str(file)))))
    return dg.MaterializeResult(value=str(made.path), metadata=metadata.of_trajectories(made))


@dg.asset(
    group_name=GROUP, owners=[OWNER], kinds={"pytorch", "huggingface"}, pool=GPU, automation_condition=AFTER_CHECKS
)
def cold_start_model(
    context: dg.AssetExecutionContext,
    config: ColdStartModelConfig,
    cold_start_trajectories: str,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """The model after supervised fine-tuning on the trajectories, with the loss on its own tokens only."""
    _refuse_unknown(context.run.run_config)
    made = open_version(Path(cold_start_trajectories))
    corpus = training.corpus_of(made.manifest[DERIVED], place)
    own = _settings(config, idle=MAKING)
    settings = made.manifest["settings"]["config"] | own | _places(corpus, place, training)
    settings |= {"learn_from": str(made.path)}
    if settings["model"] != training.model:
        context.log.warning(
            f"the trajectories are made for {settings['model']}, which is trained; for {training.model} materialize "
            "cold_start_trajectories, too"
        )
    return _train(context, pipes, "agro_train.cold_start", usable(ColdStartConfig, settings), place, training)


@dg.asset(
    group_name=GROUP, owners=[OWNER], kinds={"pytorch", "huggingface"}, pool=GPU, automation_condition=AFTER_CHECKS
)
def grpo_model(
    context: dg.AssetExecutionContext,
    config: GrpoModelConfig,
    cold_start_model: str,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """The model after agentic GRPO from the cold start: its own rollouts, rewarded when right on all instances."""
    start = ModelRun(Path(cold_start_model))
    corpus = training.corpus_of(start.manifest["corpus"], place)
    style, budget = trained_reading(start)
    settings = _settings(config) | _places(corpus, place, training)
    reading = {"style": style, "budget": budget, "turns": start.manifest["config"]["turns"]}
    if unlike := sorted(name for name, value in reading.items() if settings.get(name, value) != value):
        raise dg.Failure(
            description=f"settings: {', '.join(unlike)} is said by what {start.name} has learnt from: {reading}",
            allow_retries=False,
        )
    settings |= {"model": str(start.path), **reading}
    return _train(context, pipes, "agro_train.grpo", usable(GrpoConfig, settings), place, training)


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"pytorch", "sqlite"},
    deps=[cold_start_model, grpo_model],
    pool=GPU,
    automation_condition=AFTER_CHECKS,
    freshness_policy=FRESH,
)
def model_evaluation(
    context: dg.AssetExecutionContext,
    config: ModelEvaluationConfig,
    place: Place,
    training: Training,
    pipes: dg.PipesSubprocessClient,
) -> Result:
    """Models side by side on databases that none of them was trained on: metrics, intervals, cost, transcripts."""
    cold_start, grpo = (_last_made(context, training, asset) for asset in ("cold_start_model", "grpo_model"))
    newest = grpo or cold_start
    learnt_from = newest.manifest["corpus"] if newest and not training.corpus else None
    corpus = training.corpus_of(learnt_from, place) if learnt_from else training.corpus_in(place)
    models = config.models or _side_by_side(cold_start, grpo, corpus, training)
    further = _settings(config, "models", "questions", "questions_databases", idle=("models_root", "out"))
    common = (_as_trained(cold_start, grpo) | further) | {
        "models": models,
        "models_root": str(training.models_root),
        "cache": str(place.cache),
    }
    on_corpus = common | {"corpus": str(corpus.path), "databases": str(training.databases_of(corpus))}
    asked = [on_corpus]
    if config.questions:
        asked.append(common | {"questions": config.questions, "databases": config.questions_databases})
    made_by = [_weights(models, training), training_code_version()]
    named = [(settings, place.cache / "evaluations" / stable_hash([settings, made_by])[:16]) for settings in asked]
    # All are looked at before the first model is asked, which takes minutes.
    configs = [usable(EvaluationConfig, settings | {"out": str(folder)}) for settings, folder in named]
    found: dict[str, Any] = {}
    for one in configs:
        command = program("agro_train.evaluate", "--config", str(written_settings(one, place)))
        run_child(context, pipes, command, ends=(0, FAILED_SOME))
        summary = _read(Path(one.out) / "summary.json")
        for problem in (said for figured in summary["sets"] for said in figured["problems"]):
            context.log.warning(problem)
        tables = {figured["questions"]: table(figured) for figured in summary["sets"]}
        for name, rows in tables.items():
            for row in rows:
                context.log.info(f"{name}: " + ", ".join(f"{what} {value}" for what, value in row.items()))
        found |= metadata.of_evaluation(summary, tables)
    first = configs[0].out
    shown = {"folder": dg.MetadataValue.path(first), "page": dg.MetadataValue.path(f"{first}/index.html")}
    return dg.MaterializeResult(value=first, metadata=shown | found)


@dg.asset(
    group_name=GROUP,
    owners=[OWNER],
    kinds={"python"},
    deps=[cold_start_model, grpo_model],
    automation_condition=AFTER_CHECKS,
)
def promoted_model(
    context: dg.AssetExecutionContext, model_evaluation: str, place: Place, training: Training
) -> Result:
    """Which model answers from now on: a new one only if the lower bound of its paired gain is not below zero."""
    made = [_last_made(context, training, asset) for asset in ("cold_start_model", "grpo_model")]
    runs = [run for run in made if run is not None]
    decisions = consider(Path(model_evaluation), runs, training.models_root)
    for decision in decisions:
        context.log.info(f"promotion, by {decision.metric} on {decision.rows} questions: {decision.reason}")
    try:
        now = find_run(training.models_root, PROMOTED).name
    except NoRun:
        now = "none"
    context.log.info(f"promoted model: {now}")
    return dg.MaterializeResult(
        value=now,
        metadata={
            "promoted": now,
            "verdict": "; ".join(decision.reason for decision in decisions),
            "decisions": metadata.of_decisions(decisions),
        },
    )


PROGRAMS: Mapping[str, type[ColdStartConfig] | type[GrpoConfig] | type[EvaluationConfig]] = {
    "cold_start_trajectories": ColdStartConfig,
    "cold_start_model": ColdStartConfig,
    "grpo_model": GrpoConfig,
    "model_evaluation": EvaluationConfig,
}
ASSETS = [cold_start_trajectories, cold_start_model, grpo_model, model_evaluation, promoted_model]


def _train(
    context: dg.AssetExecutionContext,
    pipes: dg.PipesSubprocessClient,
    module: str,
    config: ColdStartConfig | GrpoConfig,
    place: Place,
    training: Training,
) -> Result:
    """Run a training program to its end, with its curves drawn meanwhile."""
    context.log.info(f"{module}: from {config.model}, on {config.corpus}")
    command = program(module, "--config", str(written_settings(config, place)), processes=training.processes)
    run = ModelRun(_made(run_child(context, pipes, command, metrics=training.models_root / config.name)))
    facts = run.manifest
    moved = facts["parameters_moved"]
    context.log.info(
        f"{run.name}: {facts['steps']} steps in {facts['seconds']:,.0f} s, {moved['share']:.0%} of tensors changed"
    )
    return dg.MaterializeResult(value=str(run.path), metadata=metadata.of_run(run))


def _settings(config: dg.Config, *without: str, idle: Iterable[str] = ()) -> dict[str, Any]:
    """An asset's own settings with the further ones on top, by the names of the program's settings.

    Raises `dg.Failure` for a further one that the asset, or the resource `training`, says itself, and for one that is
    `idle`: of the program's settings, but without effect on this asset.
    """
    values: dict[str, Any] = config.model_dump()
    further: dict[str, Any] = values.pop("settings")
    if theirs := sorted(further.keys() & PLACED.union(idle)):
        raise dg.Failure(
            description=f"settings: {', '.join(theirs)} cannot be given here; the resource training says which corpus, "
            "databases and model, what an asset is made from says how schemas are read, and trajectories and learning "
            "have settings of their own",
            allow_retries=False,
        )
    return {name: value for name, value in values.items() if name not in without} | further


def _refuse_unknown(run_config: Mapping[str, Any]) -> None:
    """Raise `dg.Failure` for a further setting, of whichever asset of a run, that its program does not have: that of
    GRPO would else be found when the cold start is trained."""
    for op, kind in PROGRAMS.items():
        further = run_config.get("ops", {}).get(op, {}).get("config", {}).get("settings", {})
        if further.keys() - {field.name for field in fields(kind)}:
            usable(kind, further)


def usable(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings of a program. Raises `dg.Failure`, which says what is wrong with them."""
    try:
        return settings_from(kind, values)
    except ConfigError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from None


def written_settings(config: "DataclassInstance", place: Place) -> Path:
    """The settings as a file for the program, named by what it holds."""
    values = settings_to(config)
    path = place.cache / "settings" / f"{type(config).__name__}-{stable_hash(values)[:16]}.json"
    write_json(path, values)
    return path


def _places(corpus: Version, place: Place, training: Training) -> dict[str, str]:
    """Where a training program finds a corpus, and where it keeps what it makes."""
    return {
        "corpus": str(corpus.path),
        "databases": str(training.databases_of(corpus)),
        "models": str(training.models_root),
        "cache": str(place.cache),
    }


def _made(last_line: str) -> Path:
    """The path that a program prints at the end, after its name and a colon."""
    return Path(last_line.partition(": ")[2])


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _last_made(context: dg.AssetExecutionContext, training: Training, asset: str) -> ModelRun | None:
    """The run that an asset made last; its newest below the folder of models where Dagster remembers none."""
    event = context.instance.get_latest_materialization_event(dg.AssetKey(asset))
    made = event.asset_materialization if event else None
    names = [str(made.metadata["run"].value)] if made and "run" in made.metadata else []
    for name in [*names, asset.removesuffix("_model").replace("_", "-")]:
        try:
            return find_run(training.models_root, name)
        except NoRun:
            continue
    return None


def _as_trained(*runs: ModelRun | None) -> dict[str, Any]:
    """How schemas are read and how much may be written, so that the base is held to what the trained models are."""
    made = [run for run in runs if run is not None]
    if not made:
        return {}
    style, budget = trained_reading(made[-1])
    limits = [trained_limits(run) for run in made]
    return {
        "style": style,
        "budget": budget,
        "turns": limits[-1].turns,
        "turn_tokens": max(one.turn for one in limits),
        "rollout_tokens": max(one.rollout for one in limits),
    }


def _side_by_side(cold_start: ModelRun | None, grpo: ModelRun | None, corpus: Version, training: Training) -> list[str]:
    """Base, cold start, GRPO, and the promoted model if it is another and has not seen what the corpus holds back.

    Raises `dg.Failure` when nothing is trained.
    """
    runs = [run for run in (cold_start, grpo) if run is not None]
    if not runs:
        raise dg.Failure(
            description=f"no model is trained below {training.models_root}: run `dagster job execute -j train_grpo`, "
            "or name models in the asset's config",
            allow_retries=False,
        )
    names = [str(runs[0].manifest["base_model"]), *(run.name for run in runs)]
    try:
        promoted = find_run(training.models_root, PROMOTED)
    except NoRun:
        return names
    same = corpus.manifest["split"]["mark"] == SAME_DATABASE
    unseen = same or seen_by(promoted).isdisjoint(contents_of(corpus, "test").values())
    return [*names, promoted.name] if unseen and promoted.name not in names else names


def _weights(models: list[str], training: Training) -> list[str]:
    """What tells the models from others of the same name."""
    found: list[str] = []
    for name in models:
        try:
            found.append(str(find_run(training.models_root, name).manifest["model_sha256"]))
        except NoRun:
            found.append(name)
    return found
