"""A model that says what a script says: a sampler over characters, so that no tokenizer is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from making import database_at

from agro_data.databases.types import Database
from agro_train.agents.agent import Agent
from agro_train.agents.endpoint import Characters
from agro_train.rollouts import Limits
from agro_train.sampling.types import Sampled
from agro_train.tasks import PromptFormat

LIMITS = Limits(turn=2_000, rollout=8_000)


def turn(action: str, sql: str, thought: str = "so") -> str:
    return f"<think>{thought}</think>\n<{action}>{sql}</{action}>"


class Scripted:
    """Writes `say(text so far, number of the continuation of that text, seed)`, and remembers what it was asked.

    The seed is 0 where the likeliest turn is asked for. With a `refusal` it is a server that writes nothing. `likely`
    gives the log-probability of each token of a turn.
    """

    def __init__(
        self, say: Callable[[str, int, int], str], likely: Callable[[str], float] = lambda written: 0.0
    ) -> None:
        self.say, self.likely = say, likely
        self.calls: list[list[str]] = []
        self.refusal = ""

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int | None]
    ) -> list[Sampled]:
        texts = [Characters().decode(prefix) for prefix in prefixes]
        self.calls.append(texts)
        if self.refusal:
            return [Sampled([], [], cut=True, refusal=self.refusal) for _ in texts]
        often: dict[str, int] = {}
        turns = []
        for text, seed in zip(texts, seeds, strict=True):
            number = often.get(text, 0)
            often[text] = number + 1
            written = self.say(text, number, seed or 0)
            ids = Characters()(written)["input_ids"]
            logprobs = [self.likely(written)] * min(len(ids), max_tokens)
            turns.append(Sampled(ids[:max_tokens], logprobs, len(ids) > max_tokens))
        return turns


def agent(sampler: Scripted, name: str = "scripted", **changes: object) -> Agent:
    return Agent(name, sampler, Characters(), PromptFormat(budget=2_000), f"weights of {name}", LIMITS, **changes)  # type: ignore[arg-type]


def one_database(path: Path) -> Database:
    return database_at(path)
