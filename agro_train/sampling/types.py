"""What samplers are asked, and what they give: transformers' own module (`module`), or vLLM's engine (`engine`).

They return the tokens as sampled, so that nothing is tokenised again, with the log-probability of each under the
distribution it was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from agro_train.naming.writing import Restriction


@dataclass(frozen=True)
class Usage:
    """What one turn of a server cost: tokens as it counts them, read before the turn and written, and the `seconds`
    from request to reply."""

    read: int
    written: int
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Sampled:
    """One turn. `cut`: it ends because `max_tokens` were written, or it repeated itself, not because the turn was over.

    `usage` is given where `ids` are not the model's own tokens. `refusal` is why there is no turn: what a
    server said, or that there is more to be read than the model can.
    `turned` are the places of tokens that a restriction chose, since it refused what the model drew.
    """

    ids: list[int]
    logprobs: list[float]
    cut: bool
    usage: Usage | None = None
    refusal: str = ""
    turned: set[int] = field(default_factory=set)


def too_long(tokens: int, context: float) -> Sampled:
    """The turn of a prefix of so many `tokens` by a model that reads no more than `context`."""
    said = f"{tokens} tokens were to be read, and the model reads {context:.0f}"
    mends = "lower the budget of schemas, or shorten the question where it takes most of them"
    return Sampled([], [], cut=True, refusal=f"{said}: {mends}")


def rooms(prefixes: Sequence[Sequence[int]], most: int, context: float) -> dict[int, int]:
    """Tokens, at most `most`, that may be written behind each prefix that a model with this `context` can read at all,
    by its place."""
    fitting = [place for place, prefix in enumerate(prefixes) if len(prefix) < context]
    return {place: int(min(most, context - len(prefixes[place]))) for place in fitting}


class Sampler(Protocol):
    """Writes one turn for each prefix. `seeds`: one for each; the same give the same turn on the same machine. Without
    a seed, and at `temperature` 0, a turn takes the likeliest token each time; log-probabilities are those at
    `temperature` all the same, where it is 0 those at 1.

    At most `max_tokens` are written, and no more than the model can read.
    """

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int | None]
    ) -> list[Sampled]: ...


@runtime_checkable
class Remembering(Protocol):
    """A sampler that can remember what it has read from one turn to the next."""

    def remembering(self) -> AbstractContextManager[None]: ...


def remembering(sampler: Sampler) -> AbstractContextManager[None]:
    """Meanwhile `sampler` does not read again what it has read, if it can do so; its weights must stay as they are."""
    return sampler.remembering() if isinstance(sampler, Remembering) else nullcontext()


def restricted(sampler: Sampler) -> RestrictedSampler:
    """The sampler as one that can be held to a restriction. Raises `TypeError` when it cannot."""
    if not isinstance(sampler, RestrictedSampler):
        raise TypeError(f"{type(sampler).__name__} cannot be held to the names of a schema")
    return sampler


@runtime_checkable
class RestrictedSampler(Sampler, Protocol):
    """A sampler that can also keep each turn to what a restriction of its own allows.

    `beams`: at temperature 0, how many beginnings of a turn are kept under way, by their probability; where there are
    several and none comes to an end, as many turns are drawn, and the likeliest that ends is taken. Above it a token is
    drawn as without a restriction, and has that log-probability; where it is refused another one is drawn among the
    allowed, with its share of them, and `turned` has its place (without a seed it is the likeliest of them).
    """

    def within(
        self,
        restrictions: Sequence[Restriction],
        prefixes: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int | None],
        beams: int = 1,
    ) -> list[Sampled]: ...
