"""Which tokens a restriction lets follow: asked from the likeliest on, and only as far as it must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agro_train.naming.writing import Restriction

if TYPE_CHECKING:
    import torch

TOP = 64  # tokens that a restriction is asked about first
_MASS = 0.999  # of the probability, which fewer tokens usually have

Scored = tuple[int, float]  # a token and its log-probability


@dataclass
class Held:
    """`refused` tokens were not allowed, in `dead_ends` places none was; asking took `checking` seconds."""

    tokenizer: Any
    refused: int = 0
    dead_ends: int = 0
    checking: float = 0.0
    _pieces: dict[int, str] = field(default_factory=dict, repr=False)
    _anchor: list[int] = field(default_factory=list, repr=False)
    _special: frozenset[int] = field(default=frozenset(), repr=False)

    def draw(self, restriction: Restriction, logprobs: torch.Tensor, chance: torch.Generator) -> Scored | None:
        """One of the allowed among the likeliest, at most `TOP`, that have `_MASS` of the probability, with its share.

        Where none of them is, the likeliest that is (log-probability 0); None where nothing is.
        """
        mass, likely = 0.0, []
        for token, logprob in _top(logprobs):
            if mass < _MASS:
                likely.append((token, logprob))
            mass += exp(logprob)
        allowed = [pair for pair in likely if self.allows(restriction, pair[0])]
        if allowed:
            return _among(allowed, chance)
        found = next(self.allowed(restriction, logprobs), None)
        return None if found is None else (found[0], 0.0)

    def near(self, restriction: Restriction, logprobs: torch.Tensor) -> Iterator[Scored]:
        """What may follow of the `TOP` likeliest tokens, from the likeliest on."""
        return (pair for pair in _top(logprobs) if self.allows(restriction, pair[0]))

    def allowed(self, restriction: Restriction, logprobs: torch.Tensor) -> Iterator[Scored]:
        """All that may follow, from the likeliest on."""
        yield from self.near(restriction, logprobs)
        for token in logprobs.argsort(descending=True)[TOP:].tolist():
            if self.allows(restriction, token):
                yield token, float(logprobs[token])

    def allows(self, restriction: Restriction, token: int) -> bool:
        """Whether a token's text may follow. Special tokens end no SQL, and may not."""
        if not restriction.active:
            return True
        began = perf_counter()
        piece = self._piece(token)
        allowed = piece != "" and restriction.allows(piece)
        self.checking += perf_counter() - began
        self.refused += not allowed
        return allowed

    def _piece(self, token: int) -> str:
        if not self._anchor:
            self._anchor = self.tokenizer("a", add_special_tokens=False)["input_ids"]
            self._special = frozenset(self.tokenizer.all_special_ids)
        if token in self._special:
            return ""
        if token not in self._pieces:  # behind another token: some tokenizers drop a space that begins a text
            before = self.tokenizer.decode(self._anchor)
            self._pieces[token] = self.tokenizer.decode([*self._anchor, token])[len(before) :]
        return self._pieces[token]


def _top(logprobs: torch.Tensor) -> list[Scored]:
    top = logprobs.topk(min(TOP, len(logprobs)))
    return list(zip(top.indices.tolist(), top.values.tolist(), strict=True))


def _among(likely: list[Scored], chance: torch.Generator) -> Scored:
    """One of them by what they have together, and its share of that as a logarithm."""
    import torch  # noqa: PLC0415

    scores = torch.log_softmax(torch.tensor([score for _, score in likely], dtype=torch.float64), dim=0)
    level = torch.rand(1, generator=chance, dtype=torch.float64)
    place = min(int(torch.searchsorted(scores.exp().cumsum(0), level)), len(likely) - 1)
    return likely[place][0], float(scores[place])
