"""Turns from a model: many prefixes at once, each up to the tag that ends a turn.

Samplers have one signature: here transformers' own module, as it stands in the trainer; vLLM's engine in `engine.py`.
They return the tokens as sampled, so that nothing is tokenised again, with the log-probability of each under the
distribution it was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agro_data.protocol import STOPS
from agro_train.naming.writing import Restriction

if TYPE_CHECKING:
    import torch

_TAIL = 12  # tokens in which the end of a closing tag lies
_GREEDY = 1e-6
_TOP = 64  # tokens that a restriction is asked about first, and all that are drawn from under one
_MASS = 0.999  # of the probability, which fewer tokens usually have


@dataclass(frozen=True)
class Usage:
    """Tokens of one turn as a server counts them: read before it, and written."""

    read: int
    written: int


@dataclass(frozen=True)
class Sampled:
    """One turn. `cut`: it ends because `max_tokens` were written, not because the turn was over.

    `usage` is given where `ids` are not the model's own tokens.
    """

    ids: list[int]
    logprobs: list[float]
    cut: bool
    usage: Usage | None = None


class Sampler(Protocol):
    """Writes one turn for each prefix. `seeds`: one for each; the same give the same turn on the same machine.

    `temperature` 0 takes the likeliest token. At most `max_tokens` are written.
    """

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]: ...


@runtime_checkable
class RestrictedSampler(Sampler, Protocol):
    """A sampler that can also keep each turn to what a restriction of its own allows.

    Log-probabilities are then of the restricted distribution, not of the policy: nothing to learn from.
    """

    def within(
        self,
        restrictions: Sequence[Restriction],
        prefixes: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]: ...


@dataclass
class ModuleSampler:
    """Samples from a torch module. Prefixes that are alike are read once: the rollouts of a group share a prompt.

    `batch` is how many turns are written together; `written` and `read` count tokens, for cost. Of restrictions:
    `turned` tokens were taken instead of one that was not allowed, `dead_ends` where nothing was allowed; asking took
    `checking` seconds.
    """

    module: Any
    tokenizer: Any
    batch: int = 64
    read: int = field(default=0, init=False)
    written: int = field(default=0, init=False)
    turned: int = field(default=0, init=False)
    dead_ends: int = field(default=0, init=False)
    checking: float = field(default=0.0, init=False)
    _pieces: dict[int, str] = field(default_factory=dict, init=False, repr=False)
    _anchor: list[int] = field(default_factory=list, init=False, repr=False)
    _special: frozenset[int] = field(default=frozenset(), init=False, repr=False)

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]:
        return self._sample(None, prefixes, temperature, max_tokens, seeds)

    def within(
        self,
        restrictions: Sequence[Restriction],
        prefixes: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        return self._sample(restrictions, prefixes, temperature, max_tokens, seeds)

    def _sample(
        self,
        restrictions: Sequence[Restriction] | None,
        prefixes: Sequence[Sequence[int]],
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        import torch  # noqa: PLC0415

        found: dict[int, Sampled] = {}
        order = sorted(range(len(prefixes)), key=lambda place: (len(prefixes[place]), tuple(prefixes[place])))
        training = self.module.training
        self.module.eval()  # dropout off
        try:
            with torch.inference_mode():
                for start in range(0, len(order), self.batch):
                    places = order[start : start + self.batch]
                    held = None if restrictions is None else [restrictions[p] for p in places]
                    rows = self._write(
                        [prefixes[p] for p in places], temperature, max_tokens, [seeds[p] for p in places], held
                    )
                    found |= dict(zip(places, rows, strict=True))
        finally:
            self.module.train(training)
        return [found[place] for place in range(len(prefixes))]

    def _write(
        self,
        prefixes: Sequence[Sequence[int]],
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
        restrictions: Sequence[Restriction] | None,
    ) -> list[Sampled]:
        import torch  # noqa: PLC0415

        device = next(self.module.parameters()).device
        logits, cache, mask = self._read(prefixes, device)
        chances = [torch.Generator().manual_seed(seed % 2**63) for seed in seeds]
        ids: list[list[int]] = [[] for _ in prefixes]
        logprobs: list[list[float]] = [[] for _ in prefixes]
        cut = [True] * len(prefixes)
        active = list(range(len(prefixes)))
        for written in range(max_tokens):
            drawn, scores = _draw(logits, temperature, [chances[row] for row in active])
            if restrictions is not None:
                for place, row in enumerate(active):
                    if restrictions[row].active:
                        drawn[place], scores[place] = self._held(
                            restrictions[row], logits[place], temperature, chances[row], drawn[place], scores[place]
                        )
                    restrictions[row].go_on(self.tokenizer.decode([*ids[row], drawn[place]]))
            going: list[int] = []
            for place, row in enumerate(active):
                token = drawn[place]
                ids[row].append(token)
                logprobs[row].append(scores[place])
                if self._over(ids[row]):
                    cut[row] = False
                else:
                    going.append(place)
            if not going or written + 1 == max_tokens:
                break
            if len(going) < len(active):  # rows that are done are not read on
                keep = torch.tensor(going, device=device)
                cache.batch_select_indices(keep)
                mask = mask[keep]
                active, drawn = [active[place] for place in going], [drawn[place] for place in going]
            mask = torch.cat([mask, mask.new_ones(len(active), 1)], dim=1)
            last = torch.tensor(drawn, device=device).unsqueeze(1)
            place_ids = mask.sum(dim=1, keepdim=True) - 1
            out = self.module(
                input_ids=last, attention_mask=mask, position_ids=place_ids, past_key_values=cache, use_cache=True
            )
            logits, cache = out.logits[:, -1], out.past_key_values
        self.written += sum(map(len, ids))
        return [Sampled(*row) for row in zip(ids, logprobs, cut, strict=True)]

    def _read(self, prefixes: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, Any, torch.Tensor]:
        """Logits after each prefix, the cache and the attention mask; padding stands on the left."""
        import torch  # noqa: PLC0415

        unique = list(dict.fromkeys(map(tuple, prefixes)))
        longest = max(map(len, unique))
        rows = [[self.tokenizer.pad_token_id] * (longest - len(prefix)) + list(prefix) for prefix in unique]
        ids = torch.tensor(rows, device=device)
        mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in unique], device=device)
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        out = self.module(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1)
        self.read += int(mask.sum())
        index = {prefix: place for place, prefix in enumerate(unique)}
        take = torch.tensor([index[tuple(prefix)] for prefix in prefixes], device=device)
        out.past_key_values.batch_select_indices(take)
        return out.logits[take, -1], out.past_key_values, mask[take]

    def _held(
        self,
        restriction: Restriction,
        logits: torch.Tensor,
        temperature: float,
        chance: torch.Generator,
        drawn: int,
        score: float,
    ) -> tuple[int, float]:
        """A token that `restriction` allows, and its log-probability among those.

        Greedy: the likeliest, and its log-probability among all. Else one of the likeliest, at most `_TOP`, that have
        `_MASS` of the probability. Where nothing is allowed, `drawn` as it was.
        """
        import torch  # noqa: PLC0415

        began = perf_counter()
        try:
            greedy = temperature < _GREEDY
            if greedy and self._allows(restriction, drawn):
                return drawn, score
            logprobs = torch.log_softmax(logits.float() / (1.0 if greedy else temperature), dim=-1)
            top = logprobs.topk(min(_TOP, len(logprobs)))
            likely = list(zip(top.indices.tolist(), top.values.tolist(), strict=True))
            if not greedy:
                before = (top.values.exp().cumsum(0) - top.values.exp()).tolist()
                near = [pair for pair, mass in zip(likely, before, strict=True) if mass < _MASS]
                allowed = [pair for pair in near if self._allows(restriction, pair[0])]
                if allowed:
                    token, logprob = _among(allowed, chance)
                    self.turned += token != drawn
                    return token, logprob
            found = next((pair for pair in likely if self._allows(restriction, pair[0])), None)
            if found is None:
                rest = logprobs.argsort(descending=True)[_TOP:].tolist()
                found = next(
                    ((token, float(logprobs[token])) for token in rest if self._allows(restriction, token)), None
                )
            if found is None:
                self.dead_ends += 1
                return drawn, score
            self.turned += found[0] != drawn
            return found[0], found[1] if greedy else 0.0  # the only token that may be drawn
        finally:
            self.checking += perf_counter() - began

    def _allows(self, restriction: Restriction, token: int) -> bool:
        """Whether a token's text may follow. Special tokens end no SQL, and may not."""
        if not self._anchor:
            self._anchor = self.tokenizer("a", add_special_tokens=False)["input_ids"]
            self._special = frozenset(self.tokenizer.all_special_ids)
        if token in self._special:
            return False
        piece = self._pieces.get(token)
        if piece is None:  # behind another token, because some tokenizers drop a space that begins a text
            before = self.tokenizer.decode(self._anchor)
            piece = self._pieces[token] = self.tokenizer.decode([*self._anchor, token])[len(before) :]
        return piece != "" and restriction.allows(piece)

    def _over(self, ids: Sequence[int]) -> bool:
        if ids[-1] == self.tokenizer.eos_token_id:
            return True
        tail = self.tokenizer.decode(ids[-_TAIL:])
        return any(stop in tail for stop in STOPS)


def _draw(
    logits: torch.Tensor, temperature: float, chances: Sequence[torch.Generator]
) -> tuple[list[int], list[float]]:
    """A token for each row of `logits` (rows, vocabulary), each by its own generator, and its log-probability."""
    import torch  # noqa: PLC0415

    greedy = temperature < _GREEDY
    logprobs = torch.log_softmax(logits.float() / (1.0 if greedy else temperature), dim=-1)
    if greedy:
        drawn = logprobs.argmax(dim=-1)
    else:  # by inversion: one uniform number a token, drawn on the CPU, so that a seed means the same on any device
        level = torch.stack([torch.rand(1, generator=chance, dtype=torch.float64) for chance in chances])
        mass = logprobs.double().exp().cumsum(dim=-1)
        drawn = torch.searchsorted(mass, level.to(mass.device) * mass[:, -1:]).squeeze(1).clamp(max=mass.shape[1] - 1)
    scores = logprobs.gather(1, drawn.unsqueeze(1)).squeeze(1)
    return drawn.tolist(), scores.tolist()


def _among(likely: Sequence[tuple[int, float]], chance: torch.Generator) -> tuple[int, float]:
    """One of (token, log-probability) by what they have together, and its share of that as a logarithm."""
    import torch  # noqa: PLC0415

    scores = torch.log_softmax(torch.tensor([score for _, score in likely], dtype=torch.float64), dim=0)
    level = torch.rand(1, generator=chance, dtype=torch.float64)
    place = min(int(torch.searchsorted(scores.exp().cumsum(0), level)), len(likely) - 1)
    return likely[place][0], float(scores[place])
