"""An agent: a model with its tokenizer, the form in which it reads a schema, and the limits of what it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agro_train.agents.engine import EngineSampler
from agro_train.decoding import LIMITS
from agro_train.programs.usual import BATCH, Engine
from agro_train.rollouts import Limits, Policy
from agro_train.runs.store import ModelRun
from agro_train.sampling.types import Sampler
from agro_train.tasks import PromptFormat

Unit = Literal["tokens", "estimated tokens"]


@dataclass(frozen=True)
class Agent:
    """`weights` tells its weights, and how they are read, from others; `dtype` is how they are held; `trained_on` are
    content hashes of databases; `unit` is of its cost."""

    name: str
    sampler: Sampler
    tokenizer: Any
    prompt_format: PromptFormat
    weights: str
    limits: Limits = LIMITS
    trained_on: frozenset[str] = frozenset()
    run: ModelRun | None = None
    unit: Unit = "tokens"
    engine: Engine = "transformers"
    dtype: str = "float32"  # as torch names it
    batch: int = BATCH  # turns that it writes together: at least so many rollouts are worth working on at a time

    @property
    def policy(self) -> Policy:
        """How it writes, where nothing else is said."""
        return Policy(self.sampler, self.tokenizer, self.limits)

    def close(self) -> None:
        """Give back what it holds beside this process's memory: an engine."""
        if isinstance(self.sampler, EngineSampler):
            self.sampler.close()
