"""A model asked: opened, its answers taken and scored, and let go, so that the next one has the memory to itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from agro_data.progress import Reporter
from agro_train.agents.opening import PROMPT_FORMAT, Found, open_agent
from agro_train.comparison.scoring import Scored, Suite, scored_by
from agro_train.decoding import GREEDY, LIMITS, Decoding
from agro_train.predict import predict
from agro_train.programs.usual import BATCH, Engine
from agro_train.questions import PromptFormat, Questions
from agro_train.rollouts import Limits


@dataclass(frozen=True)
class Asked:
    """Questions, what answers to them are judged on, and the file that answers are kept in (see `predict`)."""

    questions: Questions
    suite: Suite
    out: Path


@dataclass(frozen=True)
class How:
    """How models are opened (see `open_agent`), how they answer, and the processes that run their SQL."""

    models: Path
    cache: Path
    _: KW_ONLY
    prompt_format: PromptFormat = PROMPT_FORMAT
    limits: Limits = LIMITS
    decoding: Decoding = GREEDY
    engine: Engine = "transformers"
    dtype: str = "float32"
    batch: int = BATCH
    seed: int = 0
    workers: int = 1


def scored_on(name: str, who: Found, asked: Sequence[Asked], how: How, progress: Reporter) -> list[Scored]:
    """The scores of a model, here called `name`, on each set of questions.

    Nothing holds the model when this returns: several are asked one after the other in the memory of one. Raises like
    `open_agent` and `predict`.
    """
    opened = open_agent(
        who,
        how.models,
        how.cache,
        prompt_format=how.prompt_format,
        dtype=how.dtype,
        engine=how.engine,
        limits=how.limits,
        batch=how.batch,
    )
    agent = replace(opened, name=name)
    with closing(agent):
        answers = [
            predict(
                one.questions,
                agent,
                one.out,
                decoding=how.decoding,
                seed=how.seed,
                workers=how.workers,
                progress=progress,
            )
            for one in asked
        ]
    return [
        scored_by(one.questions, agent, found, one.suite, how.cache, workers=how.workers, progress=progress)
        for one, found in zip(asked, answers, strict=True)
    ]
