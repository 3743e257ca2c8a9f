"""Models side by side: each is opened, asked, scored and let go, so that the next one has the memory to itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from agro_data.progress import Reporter
from agro_train.agents.opening import Found, open_agent
from agro_train.comparison.figures import Compared, compare
from agro_train.comparison.scoring import Scored, Suite, answerable, scored_by
from agro_train.decoding import GREEDY, LIMITS, Decoding
from agro_train.predict import predict
from agro_train.programs.usual import BATCH, Engine
from agro_train.questions import Questions
from agro_train.rollouts import Limits
from agro_train.tasks import PROMPT_FORMAT, PromptFormat


@dataclass(frozen=True)
class Asked:
    """Questions, what answers to them are judged on, and the file that those of a model are kept in (see `predict`), by
    what the model is called."""

    questions: Questions
    suite: Suite
    out: Callable[[str], Path]


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


def side_by_side(
    models: Mapping[str, Found], asked: Sequence[Asked], how: How, progress: Reporter
) -> tuple[Compared, ...]:
    """Models, by what each is called (`told_apart`), on each set of questions.

    One is asked after the other in the memory of one. Raises like `open_agent` and `predict`.
    """
    by_model = [_scored_on(name, who, asked, how, progress) for name, who in models.items()]
    compared = []
    for one, scored in zip(asked, zip(*by_model, strict=True), strict=True):
        questions = answerable(one.questions)
        compared.append(Compared(questions, scored, compare(questions, scored, how.seed)))
    return tuple(compared)


def _scored_on(name: str, who: Found, asked: Sequence[Asked], how: How, progress: Reporter) -> list[Scored]:
    """The scores of a model, here called `name`, on each set of questions. Nothing holds it when this returns."""
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
                one.out(name),
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
