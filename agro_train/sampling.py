"""Turns from a model: many prefixes at once, each up to the tag that ends a turn.

Two samplers with one signature: transformers' own module, as it stands in the trainer, and vLLM's engine. Both return
the tokens as sampled, so that nothing is tokenised again, with the log-probability of each under the distribution it
was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agro_data.protocol import STOPS

if TYPE_CHECKING:
    import torch

_TAIL = 12  # tokens in which the end of a closing tag lies
_GREEDY = 1e-6


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


@dataclass
class ModuleSampler:
    """Samples from a torch module. Prefixes that are alike are read once: the rollouts of a group share a prompt.

    `batch` is how many turns are written together; `written` and `read` count tokens, for cost.
    """

    module: Any
    tokenizer: Any
    batch: int = 64
    read: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
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
                    rows = self._write(
                        [prefixes[p] for p in places], temperature, max_tokens, [seeds[p] for p in places]
                    )
                    found |= dict(zip(places, rows, strict=True))
        finally:
            self.module.train(training)
        return [found[place] for place in range(len(prefixes))]

    def _write(
        self, prefixes: Sequence[Sequence[int]], temperature: float, max_tokens: int, seeds: Sequence[int]
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


@dataclass
class EngineSampler:
    """Samples from a vLLM engine (`vllm.LLM`), which batches and shares prefixes itself."""

    engine: Any
    tokenizer: Any
    read: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[Sampled]:
        from vllm import SamplingParams  # noqa: PLC0415

        asked = [
            SamplingParams(
                temperature=temperature,
                max_tokens=max_tokens,
                seed=seed % 2**31,
                stop=list(STOPS),
                include_stop_str_in_output=True,
                logprobs=0,
            )
            for seed in seeds
        ]
        prompts = [{"prompt_token_ids": list(prefix)} for prefix in prefixes]
        answers = self.engine.generate(prompts, asked, use_tqdm=False)
        turns = [_from_engine(answer.outputs[0]) for answer in answers]
        self.read += sum(map(len, prefixes))
        self.written += sum(len(turn.ids) for turn in turns)
        return turns


def _from_engine(output: Any) -> Sampled:
    ids = list(output.token_ids)
    logprobs = [at[token].logprob for token, at in zip(ids, output.logprobs, strict=True)]
    return Sampled(ids, logprobs, output.finish_reason == "length")
