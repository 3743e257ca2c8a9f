"""Which tokens a restriction lets follow: asked from the likeliest on, and only as far as it must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp
from typing import TYPE_CHECKING, Any

from agro_train.naming.writing import PARTIAL, Restriction

if TYPE_CHECKING:
    import torch

TOP = 64  # tokens that a restriction is asked about first
_MASS = 0.999  # of the probability, which fewer tokens usually have
_BYTES = 4  # of a character at most

Scored = tuple[int, float]  # a token and its log-probability


@dataclass
class Held:
    """`refused` tokens were not allowed, in `dead_ends` places none was."""

    tokenizer: Any
    refused: int = 0
    dead_ends: int = 0
    _pieces: dict[tuple[int, ...], str] = field(default_factory=dict, repr=False)
    _anchor: list[int] = field(default_factory=list, repr=False)
    _special: frozenset[int] = field(default=frozenset(), repr=False)

    def draw(
        self, restriction: Restriction, logprobs: torch.Tensor, chance: torch.Generator | None, begun: tuple[int, ...]
    ) -> Scored | None:
        """For a token that was refused: one of the allowed among the likeliest, at most `TOP`, that have `_MASS` of the
        probability, with its share of theirs; without a chance the likeliest of them.

        Where none of them is, the likeliest that is (log-probability 0); None where nothing is.
        """
        [likeliest] = likely(logprobs.unsqueeze(0))
        before = accumulate((exp(logprob) for _, logprob in likeliest), initial=0.0)
        near = [pair for pair, mass in zip(likeliest, before, strict=False) if mass < _MASS]
        allowed = [pair for pair in near if self.allows(restriction, pair[0], begun)]
        if allowed:
            return _among(allowed, chance)
        further = (pair for pair in likeliest[len(near) :] if self.allows(restriction, pair[0], begun))
        found = next(further, None) or self.unlikely(restriction, logprobs, begun)
        return None if found is None else (found[0], 0.0)

    def unlikely(self, restriction: Restriction, logprobs: torch.Tensor, begun: tuple[int, ...]) -> Scored | None:
        """The likeliest of the allowed that are not among the `TOP` likeliest; None where nothing is."""
        for token in logprobs.argsort(descending=True)[TOP:].tolist():
            if self.allows(restriction, token, begun):
                return token, float(logprobs[token])
        self.dead_ends += 1
        return None

    def allows(self, restriction: Restriction, token: int, begun: tuple[int, ...] = ()) -> bool:
        """Whether a token's text may follow, behind the character that is `begun`. Special tokens end no SQL, and may
        not."""
        if not restriction.active:
            return True
        piece = self._piece((*begun, token))
        allowed = piece != "" and restriction.allows(piece)
        self.refused += not allowed
        return allowed

    def begun(self, written: Sequence[int]) -> tuple[int, ...]:
        """The last of the tokens `written` whose bytes are no whole character yet; mostly none."""
        recent = tuple(written[-2 * _BYTES :])
        for end in range(len(recent), max(0, len(recent) - _BYTES), -1):
            if not self.tokenizer.decode(recent[:end]).endswith(PARTIAL):
                return recent[end:]
        return recent[-_BYTES:]

    def _piece(self, tokens: tuple[int, ...]) -> str:
        """What the last of `tokens` adds to the whole characters of those before it; "" for a special token."""
        if not self._anchor:
            self._anchor = self.tokenizer("a", add_special_tokens=False)["input_ids"]
            self._special = frozenset(self.tokenizer.all_special_ids)
        if tokens[-1] in self._special:
            return ""
        if tokens not in self._pieces:  # behind another token: some tokenizers drop a space that begins a text
            before = self.tokenizer.decode([*self._anchor, *tokens[:-1]]).rstrip(PARTIAL)
            self._pieces[tokens] = self.tokenizer.decode([*self._anchor, *tokens])[len(before) :]
        return self._pieces[tokens]


def likely(logprobs: torch.Tensor) -> list[list[Scored]]:
    """The `TOP` likeliest tokens of each row of `logprobs` (rows, vocabulary), from the likeliest on."""
    top = logprobs.topk(min(TOP, logprobs.shape[1]))
    rows = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return [list(zip(tokens, scores, strict=True)) for tokens, scores in rows]


def _among(likely: list[Scored], chance: torch.Generator | None) -> Scored:
    """One of them by what they have together, without a chance the first, and its share of that as a logarithm."""
    import torch  # noqa: PLC0415

    scores = torch.log_softmax(torch.tensor([score for _, score in likely], dtype=torch.float64), dim=0)
    if chance is None:
        return likely[0][0], float(scores[0])
    level = torch.rand(1, generator=chance, dtype=torch.float64)
    place = min(int(torch.searchsorted(scores.exp().cumsum(0), level)), len(likely) - 1)
    return likely[place][0], float(scores[place])
