"""Who answers: a trained run, a model of the Hub or a folder, or a server; each with the way it reads a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from agro_data.config import ConfigError
from agro_data.models import ModelMissing
from agro_data.profiling.serialise import SerialiserMismatch, Style, check_serialiser
from agro_data.protocol import VERSION as PROTOCOL
from agro_train.agents.engine import EngineSampler, load_engine
from agro_train.decoding import LIMITS
from agro_train.language_model.loading import LanguageModel, load, model_hash
from agro_train.language_model.tokens import encode
from agro_train.programs.settings import SettingsError
from agro_train.programs.usual import BATCH, Engine
from agro_train.questions import Reading
from agro_train.rollouts import Limits
from agro_train.runs.corpora import seen_by
from agro_train.runs.store import ModelRun, NoRun, find_run
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.types import Sampler
from agro_train.tasks import NoTask

READING = Reading()
Unit = Literal["tokens", "estimated tokens"]
_LOADERS: Mapping[Engine, Callable[..., LanguageModel]] = {"transformers": load, "vllm": load_engine}
IN_WORDS = (NoRun, NoTask, SerialiserMismatch, SettingsError)  # errors that speak to a person


@dataclass(frozen=True)
class Agent:
    """`weights` tells its weights from others, `dtype` how they are held; `trained_on` are content hashes of databases;
    `unit` is of its cost."""

    name: str
    sampler: Sampler
    tokenizer: Any
    reading: Reading
    weights: str
    limits: Limits = LIMITS
    trained_on: frozenset[str] = frozenset()
    run: ModelRun | None = None
    unit: Unit = "tokens"
    engine: Engine = "transformers"
    dtype: str = "float32"  # as torch names it
    batch: int = BATCH  # turns that it writes together: at least so many rollouts are worth working on at a time

    def close(self) -> None:
        """Give back what it holds beside this process's memory: an engine."""
        if isinstance(self.sampler, EngineSampler):
            self.sampler.close()


def open_agent(
    name: str,
    models: Path,
    cache: Path,
    *,
    reading: Reading = READING,
    dtype: str = "float32",
    engine: Engine = "transformers",
    limits: Limits = LIMITS,
    batch: int = BATCH,
) -> Agent:
    """The agent of a name: `promoted`, a run below `models` or its path, a folder, a Hub id, or a server's URL.

    A run reads schemas as it was trained to, whatever `reading` says, and has as many turns; what it could write in
    training it may write where `limits` are lower, too. `engine` generates, unless it is a server; transformers writes
    `batch` turns together: a GPU has room for more, and takes as long for them. Raises `NoRun`, `ModelMissing`,
    `SerialiserMismatch`, `ConfigError` where the engine is not installed, and `EndpointError` when the server does not
    answer.
    """
    if is_url(name):
        from agro_train.agents.endpoint import open_endpoint  # noqa: PLC0415 (imports this module)

        return open_endpoint(name, reading, limits)
    try:
        run = find_run(models, name)
    except NoRun as missing:
        if missing.ours:
            raise
        model = _load(name, cache, dtype, engine, missing)
        own = replace(model, name=model.path.name) if Path(name).is_dir() else model
        return agent_of(own, reading, limits, engine, batch)
    model = replace(_LOADERS[engine](str(run.model), cache, dtype=dtype), name=run.name)
    return _of_run(run, model, engine, limits, batch)


def is_url(name: str) -> bool:
    """Whether `name` is that of a server."""
    return name.startswith(("http://", "https://"))


def agent_of(model: LanguageModel, reading: Reading, limits: Limits, engine: Engine, batch: int = BATCH) -> Agent:
    """The agent of a model that `engine` has loaded. Schemas are counted by its own tokenizer."""
    own = replace(reading, count_tokens=_counter(model.tokenizer), turns=limits.turns)
    network: Any = model.network
    writes = (network, model.tokenizer)
    sampler = EngineSampler(*writes) if engine == "vllm" else ModuleSampler(*writes, batch)
    held = (network.llm_engine.model_config if engine == "vllm" else network).dtype
    return Agent(
        model.name,
        sampler,
        model.tokenizer,
        own,
        model_hash(model.path),
        limits,
        engine=engine,
        dtype=str(held).removeprefix("torch."),
        batch=batch,
    )


def reading_named(style: str, budget: int) -> Reading:
    """How a model that was not trained here is to read schemas. Raises `ConfigError` for an unknown style."""
    if style not in get_args(Style):
        raise ConfigError(f"there is no schema style {style!r}; use {', '.join(get_args(Style))}")
    return Reading(cast(Style, style), budget)


def _of_run(run: ModelRun, model: LanguageModel, engine: Engine, limits: Limits, batch: int) -> Agent:
    style, budget = trained_reading(run)
    check_framing(run, model.framing)
    reading = Reading(style, budget, clarify=bool(run.manifest.get("clarify")))
    agent = agent_of(model, reading, trained_limits(run, limits), engine, batch)
    return replace(agent, trained_on=seen_by(run), run=run)


def trained_limits(run: ModelRun, limits: Limits = LIMITS) -> Limits:
    """`limits` with the turns that a run was trained to take, and no lower than what it could write then."""
    config = run.manifest["config"]
    return replace(
        limits,
        turn=max(limits.turn, config.get("turn_tokens", 0)),
        rollout=max(limits.rollout, config.get("rollout_tokens", 0)),
        turns=config.get("turns", limits.turns),  # the prompt says how many there are
    )


def trained_reading(run: ModelRun) -> tuple[Style, int]:
    """Style and budget of the schemas that a run was trained on.

    Raises `SerialiserMismatch` where prompts are written otherwise now.
    """
    if (protocol := run.manifest.get("protocol", PROTOCOL)) != PROTOCOL:
        raise SerialiserMismatch(
            f"{run.name}: trained on protocol {protocol}, this is {PROTOCOL}: a model reads only prompts "
            "written as it was trained. Use the version of agro-sql that made it, or train it again"
        )
    stored = dict(run.manifest["serialiser"])
    budget = int(stored.pop("budget"))
    if stored.get("name") not in get_args(Style):
        raise SerialiserMismatch(
            f"{run.name}: made with schema serialiser {stored.get('name')}, which is not known here"
        )
    style = cast(Style, stored["name"])
    check_serialiser(stored, style, where=run.name)
    return style, budget


def check_framing(run: ModelRun, framing: str) -> None:
    """Raise `SerialiserMismatch` unless its tokenizer puts what a model reads into the frame that it was trained in."""
    trained = run.manifest.get("framing", framing)
    if framing != trained:
        raise SerialiserMismatch(
            f"{run.name}: trained with the framing {trained}, but its tokenizer's is {framing}: "
            "the model's folder has been changed; train it again"
        )


def _load(name: str, cache: Path, dtype: str, engine: Engine, missing: NoRun) -> LanguageModel:
    try:
        return _LOADERS[engine](name, cache, dtype=dtype)
    except ModelMissing as error:
        raise ModelMissing(f"{error}; and {missing}") from error


def _counter(tokenizer: Any) -> Callable[[str], int]:
    return lambda text: len(encode(text, tokenizer))
