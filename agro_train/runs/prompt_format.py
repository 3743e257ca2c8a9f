"""How prompts are written for models: for a run as it was trained, for others as they are told."""

from __future__ import annotations

from dataclasses import replace
from typing import cast, get_args

from agro_data.config import ConfigError
from agro_data.profiling.serialising.serialise import SerialiserMismatch, Style, check_serialiser
from agro_data.protocol import VERSION as PROTOCOL
from agro_train.decoding import LIMITS
from agro_train.rollouts import Limits
from agro_train.runs.store import ModelRun
from agro_train.tasks import PromptFormat


def prompt_format_named(style: str, budget: int, *, direct: bool = False) -> PromptFormat:
    """The prompts of a model that was not trained here. Raises `ConfigError` for an unknown style."""
    if style not in get_args(Style):
        raise ConfigError(f"there is no schema style {style!r}; use {', '.join(get_args(Style))}")
    return PromptFormat(cast(Style, style), budget, direct=direct)


def trained_limits(run: ModelRun, limits: Limits = LIMITS) -> Limits:
    """`limits` with the turns that a run was trained to take, and no lower than what it could write then."""
    config = run.settings
    return replace(
        limits,
        turn=max(limits.turn, config.get("turn_tokens", 0)),
        rollout=max(limits.rollout, config.get("rollout_tokens", 0)),
        turns=config.get("turns", limits.turns),  # the prompt says how many there are
    )


def trained_prompt_format(run: ModelRun) -> tuple[Style, int]:
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
