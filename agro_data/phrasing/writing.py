"""Questions from a model: several tries at each, those without a fault, and of them the central one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agro_data.llm.client import Client
from agro_data.llm.prompt import Unparsed, ask
from agro_data.llm.types import Sampling
from agro_data.phrasing.central import most_central
from agro_data.phrasing.faults import Meaning, fault_of
from agro_data.progress import Reporter, silent
from agro_data.prompts.write_question import WRITE_QUESTION, QuestionWanted, WrittenQuestion

STAGE = "questions"

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Dropped:
    """A reply that is no question for its query: as it came, and why."""

    reply: str
    why: Unparsed


@dataclass(frozen=True)
class Phrasing:
    """The outcome for one query: the question that is kept, if any, out of `good` ones; and the dropped replies."""

    kept: WrittenQuestion | None
    good: int
    dropped: tuple[Dropped, ...]


def phrase(
    wanted: Sequence[QuestionWanted],
    meanings: Sequence[Meaning],
    client: Client,
    sampling: Sampling,
    samples: int,
    embed: Embed,
    progress: Reporter = silent,
) -> list[Phrasing]:
    """One phrasing for each wanted question, in order, out of `samples` replies each.

    Evidence that the plain question needs stays with whatever is said instead of it.
    """
    asked = ask(client, WRITE_QUESTION, wanted, sampling, samples=samples, stage=STAGE, progress=progress)
    good: list[list[WrittenQuestion]] = [[] for _ in wanted]
    dropped: list[list[Dropped]] = [[] for _ in wanted]
    for one in asked:
        answer = one.answer
        if not isinstance(answer, Unparsed):
            answer = _with_evidence(answer, wanted[one.place].evidence)
            answer = fault_of(answer, meanings[one.place]) or answer
        if isinstance(answer, Unparsed):
            dropped[one.place].append(Dropped(one.completion.text, answer))
        else:
            good[one.place].append(answer)
    return [
        Phrasing(_central(questions, embed), len(questions), tuple(lost))
        for questions, lost in zip(good, dropped, strict=True)
    ]


def _central(questions: Sequence[WrittenQuestion], embed: Embed) -> WrittenQuestion | None:
    if len(questions) < 3:  # of two, neither is more central than the other
        return questions[0] if questions else None
    return questions[most_central(embed([one.question for one in questions]))]


def _with_evidence(written: WrittenQuestion, needed: str) -> WrittenQuestion:
    if not needed or needed in (written.evidence or ""):
        return written
    return WrittenQuestion(written.question, " ".join(filter(None, (needed, written.evidence))))
