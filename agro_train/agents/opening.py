"""Agents by name: a trained run, a model of the Hub or a folder, or a server; each with the way it reads a schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agro_train.agents.agent import Agent
from agro_train.agents.endpoint import Server, find_server
from agro_train.agents.engine import EngineSampler, load_engine
from agro_train.decoding import LIMITS
from agro_train.language_model.loading import LanguageModel, framing_of, hash_as_read, load, load_tokenizer
from agro_train.language_model.tokens import token_counter
from agro_train.programs.usual import BATCH, Engine
from agro_train.rollouts import Limits
from agro_train.runs.corpora import seen_by
from agro_train.runs.named import Address, Folder, find_named
from agro_train.runs.prompt_format import check_framing, trained_limits, trained_prompt_format
from agro_train.runs.store import ModelRun
from agro_train.sampling.module import ModuleSampler
from agro_train.tasks import PROMPT_FORMAT, PromptFormat

Found = ModelRun | Folder | Server
_LOADERS: Mapping[Engine, Callable[..., LanguageModel]] = {"transformers": load, "vllm": load_engine}


def find_agent(name: str, models: Path, cache: Path) -> Found:
    """The run, folder or server with this name, as `find_named` finds it. A server must answer first.

    Raises `NoRun`, `ModelMissing`, and `EndpointError` when the server does not answer.
    """
    named = find_named(name, models, cache)
    return find_server(named.url) if isinstance(named, Address) else named


def open_agent(
    who: str | Found,
    models: Path,
    cache: Path,
    *,
    prompt_format: PromptFormat = PROMPT_FORMAT,
    dtype: str = "float32",
    engine: Engine = "transformers",
    limits: Limits = LIMITS,
    batch: int = BATCH,
) -> Agent:
    """The agent of a name (see `find_named`), or of what was found by it.

    A run reads prompts of the format that it was trained on, whatever `prompt_format` says, and has as many turns; what
    it could write in training it may write where `limits` are lower, too. `engine` generates, unless it is a server;
    transformers writes `batch` turns together: a GPU has room for more, and takes as long for them. Raises like
    `find_agent`, `SerialiserMismatch`, and `ConfigError` where the engine is not installed.
    """
    found = find_agent(who, models, cache) if isinstance(who, str) else who
    run = found if isinstance(found, ModelRun) else None
    if run is None and prompt_format.direct:
        limits = limits.at_once
    if isinstance(found, Server):
        return found.agent(prompt_format, limits)
    folder = found.model if isinstance(found, ModelRun) else found.path
    if run is not None:  # refused before its weights are read, or an engine is started
        style, budget = trained_prompt_format(run)
        check_framing(run, framing_of(load_tokenizer(folder)))
        prompt_format, limits = PromptFormat(style, budget, clarify=run.clarify), trained_limits(run, limits)
    model = replace(_LOADERS[engine](str(folder), cache, dtype=dtype), name=found.name)
    agent = agent_of(model, prompt_format, limits, engine, batch)
    return agent if run is None else replace(agent, trained_on=seen_by(run), run=run)


def agent_of(model: LanguageModel, prompt_format: PromptFormat, limits: Limits, engine: Engine, batch: int) -> Agent:
    """The agent of a model that `engine` has loaded. Schemas are counted by its own tokenizer."""
    own = replace(prompt_format, count_tokens=token_counter(model.tokenizer), turns=limits.turns)
    network: Any = model.network
    writes = (network, model.tokenizer)
    sampler = EngineSampler(*writes) if engine == "vllm" else ModuleSampler(*writes, batch)
    held = (network.llm_engine.model_config if engine == "vllm" else network).dtype
    return Agent(
        model.name,
        sampler,
        model.tokenizer,
        own,
        hash_as_read(model.path),
        limits,
        engine=engine,
        dtype=str(held).removeprefix("torch."),
        batch=batch,
    )
